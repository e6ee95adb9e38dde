//! Who returned memory: the program, garbage collection, the oversize step or a full release. A run
//! of `segment_free` and `segment_unmap` entries names no author, but each of them returns exactly
//! what its rule says.

use super::cache::{Allocator, SegmentLine};
use super::program::Request;
use super::release::Planned;
use super::settings::SMALL;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use std::collections::BTreeSet;

/// Entries without stacks belong to one call if no more time passes between them, in µs.
pub(super) const SAME_CALL_US: i64 = 20_000;

/// A run of releases without anything else but completed frees in between.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    /// Its first entry.
    pub(super) entry: u32,
    pub(super) lines: Vec<SegmentLine>,
    /// Whether the program emptied the cache, or else the allocator needed memory.
    pub(super) by_program: bool,
    /// The request for which it was, with its entry.
    pub(super) request: Option<(u32, Request)>,
}

/// Whether the stack is one of emptying the cache; `None` without a stack.
pub(super) fn named_by(snapshot: &Snapshot, stack: StackId) -> Option<bool> {
    let frames = snapshot.stacks.frames_of(stack);
    let empties = frames.iter().filter_map(|id| snapshot.stacks.frame(*id)).any(|frame| {
        let name = snapshot.texts.get(frame.name);
        name.contains("empty_cache") || name.contains("emptyCache")
    });
    (!frames.is_empty()).then_some(empties)
}

/// The rules by which a burst came about; within one request they follow each other in this order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Authors {
    pub(super) collection: bool,
    pub(super) oversize: bool,
    pub(super) full: bool,
}

/// A burst, explained.
#[derive(Clone, Debug)]
pub(super) struct Explanation {
    pub(super) authors: Authors,
    /// The blocks in the order of the recorded lines.
    pub(super) blocks: Vec<u32>,
    /// What it says of the limit: at least, and less than.
    pub(super) limit: (u64, u64),
}

/// One combination of rules, and what it would return.
struct Attempt {
    authors: Authors,
    plan: Vec<Planned>,
    limit: (u64, u64),
}

impl Allocator<'_> {
    /// Finds the rules that return exactly the burst's lines from the present state. `None` where
    /// no combination does.
    pub(super) fn explain(&mut self, burst: &Burst) -> Option<Explanation> {
        let attempts = self.attempts(burst);
        let in_order =
            |attempt: &&Attempt| attempt.plan.iter().map(|planned| &planned.line).eq(&burst.lines);
        let mut found: Vec<&Attempt> = attempts.iter().filter(in_order).collect();
        if found.is_empty() {
            // Some versions write the same lines in another order.
            let lines: BTreeSet<_> = burst.lines.iter().map(sort_key).collect();
            let as_set = |attempt: &&Attempt| {
                attempt.plan.len() == burst.lines.len()
                    && attempt.plan.iter().all(|planned| lines.contains(&sort_key(&planned.line)))
            };
            found = attempts.iter().filter(as_set).collect();
        }
        let first = found.first()?;
        // Each block is returned once, even where an odd file has two at one address.
        let mut left = first.plan.clone();
        let mut blocks = Vec::with_capacity(left.len());
        for line in &burst.lines {
            if let Some(place) = left.iter().position(|planned| planned.line == *line) {
                blocks.push(left.remove(place).block);
            }
        }
        let at_least = found.iter().map(|attempt| attempt.limit.0).min().unwrap_or(0);
        let below = found.iter().map(|attempt| attempt.limit.1).max().unwrap_or(u64::MAX);
        Some(Explanation { authors: first.authors, blocks, limit: (at_least, below) })
    }

    /// All combinations of rules that do not contradict themselves about the limit.
    fn attempts(&mut self, burst: &Burst) -> Vec<Attempt> {
        let threshold = self.settings.garbage_collection_threshold;
        let reserved = self.totals.reserved;
        // What stands behind a number of rounds of collection: plan, bytes before the last round.
        let mut heads = vec![(Vec::new(), 0_u64, 0_u64)];
        let mut has_more = false;
        if !burst.by_program && threshold > 0.0 {
            let mut plan: Vec<Planned> = Vec::new();
            for round in self.garbage() {
                if plan.len() > burst.lines.len() {
                    has_more = true;
                    break;
                }
                let before = bytes_of(&plan);
                plan.extend(round);
                let bytes = bytes_of(&plan);
                heads.push((plan.clone(), before, bytes));
            }
        }
        let request = burst.request.filter(|_| !burst.by_program).map(|(_, request)| {
            let rounded = self.settings.rounded(request.size);
            (self.shelves.of(request.pool, rounded <= SMALL, request.stream), rounded)
        });
        let scaled = |bytes: u64| (bytes as f64 / threshold).ceil() as u64;
        let rounds = heads.len() - 1;
        heads.rotate_left(1);
        let mut attempts = Vec::new();
        for (place, (plan, before, bytes)) in heads.into_iter().enumerate() {
            let collection = !plan.is_empty();
            let mut limit = (0, u64::MAX);
            if collection {
                // The threshold lay below what was reserved, and not below what was left.
                limit.1 = scaled(reserved.saturating_sub(before));
                if place + 1 < rounds || has_more {
                    limit.0 = scaled(reserved.saturating_sub(bytes));
                }
            } else if rounds > 0 {
                limit.0 = scaled(reserved);
            }
            let gone: BTreeSet<u32> = plan.iter().map(|planned| planned.block).collect();
            let oversize = request
                .map_or(Vec::new(), |(shelf, rounded)| self.plan_oversize(shelf, rounded, &gone).0);
            let gone_too: BTreeSet<u32> =
                gone.iter().copied().chain(oversize.iter().map(|planned| planned.block)).collect();
            let mut tails = vec![(false, false, Vec::new())];
            if !oversize.is_empty() {
                tails.push((true, false, oversize.clone()));
                tails.push((true, true, [oversize, self.plan_full(&gone_too)].concat()));
            }
            tails.push((false, true, self.plan_full(&gone)));
            for (oversize, full, tail) in tails {
                let mut limit = limit;
                if (oversize || full)
                    && let Some((_, rounded)) = request
                {
                    let wanted = self.settings.segment_size(rounded);
                    let refused = reserved.saturating_sub(bytes).saturating_add(wanted);
                    limit.1 = limit.1.min(refused);
                }
                let authors = Authors { collection, oversize, full };
                if authors != Authors::default() && limit.0 < limit.1 {
                    attempts.push(Attempt { authors, plan: [&plan[..], &tail].concat(), limit });
                }
            }
        }
        attempts
    }
}

fn bytes_of(plan: &[Planned]) -> u64 {
    plan.iter().map(|planned| planned.line.size).fold(0, u64::saturating_add)
}

fn sort_key(line: &SegmentLine) -> (&'static str, u64, u64) {
    (line.action.name(), line.address, line.size)
}

#[cfg(test)]
mod tests {
    use super::super::cache::Bounds;
    use super::super::driver::Reservations;
    use super::super::settings::{MIB, Settings};
    use super::*;
    use crate::snapshot::trace::Action;

    fn request(mebibytes: u64, stream: u16) -> Request {
        Request { size: mebibytes * MIB, stream, pool: 0 }
    }

    /// An allocator that collects from half of its limit on, in MiB. It has 320 MiB reserved and
    /// two blocks of 100 MiB cached, of which one is older than the mean.
    fn twin(limit: Option<u64>) -> Allocator<'static> {
        let settings = Settings::parse("garbage_collection_threshold:0.5").unwrap().settings;
        let bounds = Bounds { limit: limit.map(|limit| limit * MIB), capacity: None };
        let mut twin = Allocator::new(settings, bounds, Box::new(Reservations::default()));
        let ask = |twin: &mut Allocator<'_>, id, size, stream| {
            twin.allocate(0, id, request(size, stream)).unwrap();
        };
        for id in 0..3 {
            ask(&mut twin, id, 100, 0);
        }
        ask(&mut twin, 3, 20, 1);
        twin.complete(0);
        // Looking for a block makes those that are cached older.
        twin.complete(3);
        ask(&mut twin, 4, 20, 1);
        twin.complete(1);
        twin
    }

    /// What a request of so many MiB makes the allocator return.
    fn returned(limit: u64, wanted: u64) -> Vec<SegmentLine> {
        let mut twin = twin(Some(limit));
        twin.log = Some(Vec::new());
        let _ = twin.allocate(1, 9, request(wanted, 1));
        let mut lines = twin.log.unwrap();
        lines.retain(|line| line.action == Action::SegmentFree);
        lines
    }

    /// How one that knows no limit explains that, with the limit's bounds in MiB.
    fn explained(lines: Vec<SegmentLine>, wanted: u64) -> Option<(Authors, (u64, u64))> {
        let request = Some((1, request(wanted, 1)));
        let burst = Burst { entry: 0, lines, by_program: false, request };
        let found = twin(None).explain(&burst)?;
        assert_eq!(found.blocks.len(), burst.lines.len());
        Some((found.authors, (found.limit.0 / MIB, found.limit.1 / MIB)))
    }

    const COLLECTED: Authors = Authors { collection: true, oversize: false, full: false };

    #[test]
    fn one_round_of_collection_bounds_the_limit_on_both_sides() {
        // From 640 MiB on nothing is collected; from 440 MiB on the 220 left are no more than half.
        for limit in [440, 600, 639] {
            let lines = returned(limit, 40);
            assert_eq!(lines.len(), 1, "{limit}");
            assert_eq!(explained(lines, 40), Some((COLLECTED, (440, 640))), "{limit}");
        }
        assert_eq!(returned(640, 40), []);
    }

    #[test]
    fn a_second_round_shows_that_the_first_was_not_enough() {
        for limit in [380, 439] {
            let lines = returned(limit, 40);
            assert_eq!(lines.len(), 2, "{limit}");
            assert_eq!(explained(lines, 40), Some((COLLECTED, (0, 440))), "{limit}");
        }
    }

    #[test]
    fn what_more_than_one_rule_would_have_returned_bounds_the_limit_by_all_of_them() {
        // One round and then a full release, since 220 + 450 MiB are too much; or two rounds.
        let lines = returned(600, 450);
        assert_eq!(lines.len(), 2);
        let authors = Authors { full: true, ..COLLECTED };
        assert_eq!(explained(lines.clone(), 450), Some((authors, (0, 640))));
        // From 640 MiB on nothing is collected, and a full release goes by addresses.
        let by_address = returned(700, 450);
        assert!(by_address.iter().eq(lines.iter().rev()));
        let authors = Authors { full: true, ..Authors::default() };
        assert_eq!(explained(by_address, 450), Some((authors, (640, 770))));
    }

    #[test]
    fn the_true_limit_lies_within_the_bounds() {
        for wanted in [40, 150, 300, 450] {
            for limit in (320..900).step_by(7) {
                let lines = returned(limit, wanted);
                if lines.is_empty() {
                    continue;
                }
                let (_, (at_least, below)) = explained(lines, wanted).expect("it has an author");
                assert!(at_least <= limit && limit < below, "{wanted} in {limit}");
            }
        }
    }

    #[test]
    fn what_no_rule_returns_has_no_author() {
        let mut lines = returned(600, 40);
        lines[0].size += MIB;
        assert_eq!(explained(lines, 40), None);
        // The younger of the two alone.
        let young = returned(400, 40).split_off(1);
        assert_eq!(explained(young, 40), None);
    }

    #[test]
    fn emptying_the_cache_says_nothing_of_the_limit() {
        let lines = returned(400, 40);
        let backwards = lines.iter().rev().copied().collect();
        for lines in [lines, backwards] {
            let burst = Burst { entry: 0, lines, by_program: true, request: None };
            let found = twin(None).explain(&burst).unwrap();
            assert_eq!(found.authors, Authors { full: true, ..Authors::default() });
            assert_eq!((found.limit, found.blocks.len()), ((0, u64::MAX), 2));
        }
    }
}
