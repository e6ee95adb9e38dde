//! Memory back to the driver: garbage collection, the oversize step, the full release.

use super::block::{Block, State};
use super::cache::{Allocator, SegmentLine};
use super::shelf::{DEFAULT_POOLS, LARGE};
use crate::snapshot::trace::Action;
use std::collections::BTreeSet;

/// A cached block that a release would give back, and the line that it would write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) block: u32,
    pub(super) line: SegmentLine,
}

impl Allocator<'_> {
    /// What a full release would give back of what is cached now and not `gone`
    /// (`release_cached_blocks`): whole segments, then whole pages. Private pools belong to a graph
    /// that may run again, and are left alone.
    pub(super) fn plan_full(&self, gone: &BTreeSet<u32>) -> Vec<Planned> {
        let mut plan = Vec::new();
        for pool in DEFAULT_POOLS {
            let mut pages = Vec::new();
            for id in self.shelves.cached(pool).filter(|id| !gone.contains(id)) {
                let block = self.blocks.get(id);
                if !block.is_expandable() {
                    if !block.is_split() {
                        plan.push(self.planned(id));
                    }
                } else if let (from, to) = self.pages_inside(block)
                    && from < to
                {
                    let (action, size) = (Action::SegmentUnmap, to - from);
                    pages.push(Planned {
                        block: id,
                        line: SegmentLine { action, address: from, size },
                    });
                }
            }
            plan.append(&mut pages);
        }
        plan
    }

    /// The plan to give one whole segment back.
    fn planned(&self, block: u32) -> Planned {
        let Block { address, size, .. } = *self.blocks.get(block);
        let line = SegmentLine { action: Action::SegmentFree, address, size };
        Planned { block, line }
    }

    /// The whole pages inside a block of an expandable segment, from and to.
    fn pages_inside(&self, block: &Block) -> (u64, u64) {
        let range = self.ranges[block.range as usize];
        let whole = |address: u64| address.saturating_sub(range.base) / range.page * range.page;
        let from = whole(block.address.saturating_add(range.page - 1));
        (range.base.saturating_add(from), range.base.saturating_add(whole(block.end())))
    }

    /// Gives back what can be of a cached block.
    pub(super) fn give(&mut self, id: u32) {
        if self.blocks.get(id).is_expandable() {
            self.unmap(id);
            return;
        }
        let Block { address, size, .. } = *self.blocks.get(id);
        self.take(id);
        self.blocks.remove(id);
        self.driver.free(address, size);
        self.totals.reserved = self.totals.reserved.saturating_sub(size);
        self.note(Action::SegmentFree, address, size);
    }

    /// Gives back what the lines say as far as it is cached, whatever rule that may follow.
    pub(super) fn give_literally(&mut self, lines: &[SegmentLine]) {
        for line in lines {
            let end = line.address.saturating_add(line.size);
            let covers = |id: &u32| {
                let block = self.blocks.get(*id);
                block.state == State::Inactive
                    && block.address <= line.address
                    && end <= block.end()
                    && (block.is_expandable() || !block.is_split())
            };
            let found = self.blocks.ids().find(covers);
            if let Some(id) = found {
                self.give(id);
            }
        }
    }

    fn unmap(&mut self, id: u32) {
        let block = *self.blocks.get(id);
        let (from, to) = self.pages_inside(&block);
        if from >= to {
            return;
        }
        self.take(id);
        if from > block.address {
            let front = self.blocks.cut_front(id, from - block.address);
            self.cache(front);
        }
        if to < block.end() {
            let rest = id;
            let middle = self.blocks.cut_front(rest, to - from);
            self.cache(rest);
            self.unmap_whole(middle);
        } else {
            self.unmap_whole(id);
        }
        self.totals.reserved = self.totals.reserved.saturating_sub(to - from);
        self.note(Action::SegmentUnmap, from, to - from);
    }

    /// A block of whole pages, in no set, loses its memory.
    fn unmap_whole(&mut self, id: u32) {
        self.blocks.get_mut(id).state = State::Unmapped;
        self.merge(id);
        let Block { address, shelf, .. } = *self.blocks.get(id);
        if self.blocks.get(id).is_split() {
            self.shelves.get_mut(shelf).unmapped.insert((address, id));
        } else {
            // Nothing of the segment is mapped: its address space goes back too.
            self.blocks.remove(id);
        }
    }

    /// The cached blocks that the oversize step would give back for a request, and whether that is
    /// enough by its own rule (`release_available_cached_blocks`).
    pub(super) fn plan_oversize(
        &self,
        shelf: u32,
        rounded: u64,
        gone: &BTreeSet<u32>,
    ) -> (Vec<Planned>, bool) {
        let Some(max_split) = self.settings.max_split_size else { return (Vec::new(), false) };
        let key = rounded.max(max_split);
        let shelf = self.shelves.get(shelf);
        // Settings that PyTorch accepts can leave a piece of a segment this large; only whole ones
        // can go back.
        let is_whole = |id: u32| {
            let block = self.blocks.get(id);
            !block.is_expandable() && !block.is_split()
        };
        let fitting = shelf.at_least(key).find(|id| !gone.contains(id));
        if let Some(id) = fitting.filter(|id| is_whole(*id)) {
            return (vec![self.planned(id)], true);
        }
        let (mut plan, mut sum) = (Vec::new(), 0_u64);
        for id in shelf.below(key).filter(|id| !gone.contains(id)) {
            let size = self.blocks.get(id).size;
            if sum >= key || size < max_split {
                break;
            }
            if is_whole(id) {
                sum = sum.saturating_add(size);
                plan.push(self.planned(id));
            }
        }
        (plan, sum >= key)
    }

    /// Does the oversize step; whether it gave enough back.
    pub(super) fn release_oversize(&mut self, shelf: u32, rounded: u64) -> bool {
        let (plan, is_enough) = self.plan_oversize(shelf, rounded, &BTreeSet::new());
        for planned in plan {
            self.give(planned.block);
        }
        is_enough
    }

    /// The rounds of garbage collection that the present state allows
    /// (`garbage_collect_cached_blocks`).
    pub(super) fn garbage(&self) -> Rounds {
        let lookups = self.shelves.lookups(LARGE);
        let mut rounds = Rounds { candidates: Vec::new(), ages: 0, count: 0 };
        for id in self.shelves.cached(LARGE) {
            let block = self.blocks.get(id);
            if block.is_split() {
                continue;
            }
            let age = lookups.saturating_sub(block.cached_at);
            // Expandable ones cannot be returned as a whole, but count in the mean.
            rounds.ages += u128::from(age);
            rounds.count += 1;
            if !block.is_expandable() {
                rounds.candidates.push((age, self.planned(id)));
            }
        }
        rounds
    }

    /// Collects garbage if a limit and the threshold ask for it.
    pub(super) fn collect_garbage(&mut self) {
        let threshold = self.settings.garbage_collection_threshold;
        if threshold <= 0.0 {
            return;
        }
        let Some(limit) = self.bounds.limit else {
            // Nothing is collected; that the recorded run collected nothing bounds its limit.
            if self.released_for != Some(self.entry)
                && self.totals.reserved > self.uncollected
                && self.garbage().next().is_some()
            {
                self.uncollected = self.totals.reserved;
            }
            return;
        };
        let target = self.totals.reserved.saturating_sub((threshold * limit as f64) as u64);
        if target == 0 {
            return;
        }
        let mut collected = 0_u64;
        for round in self.garbage() {
            for planned in round {
                collected = collected.saturating_add(planned.line.size);
                self.give(planned.block);
            }
            self.totals.collections += 1;
            if collected >= target {
                break;
            }
        }
        self.totals.collected = self.totals.collected.saturating_add(collected);
    }
}

/// Rounds of garbage collection. Each gives back the cached segments of at least mean age, however
/// many these are; the mean is then taken anew.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// Ages and blocks, in the allocator's order.
    candidates: Vec<(u64, Planned)>,
    ages: u128,
    count: u128,
}

impl Iterator for Rounds {
    type Item = Vec<Planned>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.count == 0 {
            return None;
        }
        let (ages, count) = (self.ages, self.count);
        let (old, young): (Vec<_>, Vec<_>) = std::mem::take(&mut self.candidates)
            .into_iter()
            .partition(|(age, _)| u128::from(*age) * count >= ages);
        self.candidates = young;
        for (age, _) in &old {
            self.ages -= u128::from(*age);
            self.count -= 1;
        }
        let round: Vec<Planned> = old.into_iter().map(|(_, planned)| planned).collect();
        (!round.is_empty()).then_some(round)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::Bounds;
    use super::super::driver::Reservations;
    use super::super::program::Request;
    use super::super::settings::{MIB, Settings};
    use super::*;

    fn allocator(conf: &str, limit: Option<u64>, capacity: Option<u64>) -> Allocator<'static> {
        let bytes = |mebibytes: u64| mebibytes * MIB;
        let bounds = Bounds { limit: limit.map(bytes), capacity: capacity.map(bytes) };
        let settings = Settings::parse(conf).unwrap().settings;
        Allocator::new(settings, bounds, Box::new(Reservations::default()))
    }

    /// Asks for so many MiB; whether they were given.
    fn ask(allocator: &mut Allocator<'_>, id: u32, mebibytes: u64, stream: u16) -> bool {
        let request = Request { size: mebibytes * MIB, stream, pool: 0 };
        allocator.allocate(0, id, request).is_ok()
    }

    fn reserved(allocator: &Allocator<'_>) -> u64 {
        allocator.totals().reserved / MIB
    }

    #[test]
    fn a_request_over_capacity_empties_the_cache_and_tries_again() {
        let mut allocator = allocator("", None, Some(300));
        assert!(ask(&mut allocator, 0, 200, 0));
        allocator.complete(0);
        assert!(ask(&mut allocator, 1, 250, 0));
        assert_eq!((reserved(&allocator), allocator.totals().retries), (250, 1));
    }

    #[test]
    fn an_oversize_block_serves_only_what_is_nearly_as_large() {
        let mut allocator = allocator("max_split_size_mb:128", None, None);
        ask(&mut allocator, 0, 256, 0);
        allocator.complete(0);
        ask(&mut allocator, 1, 64, 0);
        assert_eq!(reserved(&allocator), 320, "too small a request for that block");
        ask(&mut allocator, 2, 250, 0);
        assert_eq!(reserved(&allocator), 320, "within 20 MiB of its size, and unsplit");
        assert_eq!(allocator.totals().active / MIB, 320);
    }

    #[test]
    fn the_oversize_step_returns_the_largest_blocks_and_is_no_retry() {
        let mut allocator = allocator("max_split_size_mb:128", Some(600), None);
        for (id, size) in [(0, 150), (1, 200), (2, 20)] {
            ask(&mut allocator, id, size, 0);
            allocator.complete(id);
        }
        assert!(ask(&mut allocator, 3, 300, 0));
        // The two large ones together make up for the request; the small one stays.
        assert_eq!((reserved(&allocator), allocator.totals().retries), (320, 0));
    }

    #[test]
    fn garbage_collection_returns_segments_of_at_least_mean_age() {
        let mut allocator = allocator("garbage_collection_threshold:0.5", Some(400), None);
        for id in 0..3 {
            ask(&mut allocator, id, 100, 0);
        }
        allocator.complete(0);
        ask(&mut allocator, 3, 20, 1);
        // 300 MiB are over half of the limit, although 20 more would have been allowed.
        assert_eq!((reserved(&allocator), allocator.totals().collections), (220, 1));
        allocator.complete(3);
        ask(&mut allocator, 4, 20, 1);
        allocator.complete(1);
        // Only one block is cached, so it is as old as the mean.
        assert!(ask(&mut allocator, 5, 20, 1));
        assert_eq!((reserved(&allocator), allocator.totals().collections), (140, 2));
    }

    #[test]
    fn without_a_limit_nothing_is_collected() {
        let mut allocator = allocator("garbage_collection_threshold:0.1", None, Some(400));
        ask(&mut allocator, 0, 100, 0);
        allocator.complete(0);
        ask(&mut allocator, 1, 200, 1);
        assert_eq!((reserved(&allocator), allocator.totals().collections), (300, 0));
    }

    /// A block that only the release itself has made reusable is not looked at: the request fails
    /// although it would fit, and the same request right after succeeds.
    #[test]
    fn what_a_release_completes_serves_the_next_request_only() {
        let mut allocator = allocator("", None, Some(20));
        assert!(ask(&mut allocator, 0, 9, 0) && ask(&mut allocator, 1, 6, 0));
        allocator.release(0);
        assert!(!ask(&mut allocator, 2, 9, 0));
        assert!(ask(&mut allocator, 3, 9, 0));
    }

    #[test]
    fn whole_pages_are_unmapped_and_partly_used_ones_stay() {
        let mut allocator = allocator("expandable_segments:True", None, None);
        ask(&mut allocator, 0, 70, 0);
        ask(&mut allocator, 1, 5, 0);
        assert_eq!(reserved(&allocator), 80);
        allocator.complete(0);
        allocator.release_cached();
        assert_eq!(reserved(&allocator), 20, "the page that ends in the second block");
        allocator.complete(1);
        allocator.release_cached();
        assert_eq!((reserved(&allocator), allocator.segments().count()), (0, 0));
    }
}
