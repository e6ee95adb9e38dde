//! More memory from the driver: whole segments, or pages of expandable ones.

use super::block::{Block, NONE, State};
use super::cache::{Allocator, Range, SegmentLine};
use super::driver::VIRTUAL_RANGE;
use crate::snapshot::trace::Action;

impl Allocator<'_> {
    /// New memory for a request (`alloc_block`): a block that is in no set.
    pub(super) fn grow(&mut self, shelf: u32, rounded: u64) -> Option<u32> {
        let wanted = self.settings.segment_size(rounded);
        // The limit is tested with a whole segment in mind, even where pages would do.
        let grown = self.totals.reserved.saturating_add(wanted);
        if self.bounds.limit.is_some_and(|limit| grown > limit) {
            return None;
        }
        self.totals.allowed_growth = self.totals.allowed_growth.max(grown);
        if self.settings.expandable_segments {
            return self.expand(shelf, rounded);
        }
        if !self.has(wanted) {
            return None;
        }
        let address = self.driver.allocate(self.entry, wanted);
        self.reserve(Action::SegmentAlloc, address, wanted);
        Some(self.blocks.add(Block::new(address, wanted, shelf, NONE, State::Inactive)))
    }

    /// Whether the driver can give so many bytes more.
    fn has(&self, size: u64) -> bool {
        let reserved = self.totals.reserved.saturating_add(size);
        self.bounds.capacity.is_none_or(|capacity| reserved <= capacity)
    }

    pub(super) fn reserve(&mut self, action: Action, address: u64, size: u64) {
        let totals = &mut self.totals;
        totals.reserved = totals.reserved.saturating_add(size);
        if totals.reserved > totals.peak_reserved {
            totals.peak_reserved = totals.reserved;
            totals.active_at_peak = totals.active;
        }
        self.note(action, address, size);
    }

    pub(super) fn note(&mut self, action: Action, address: u64, size: u64) {
        if let Some(log) = &mut self.log {
            log.push(SegmentLine { action, address, size });
        }
    }

    /// Maps as many pages as the request lacks (`try_allocate_expandable_block`).
    fn expand(&mut self, shelf: u32, rounded: u64) -> Option<u32> {
        let mut block = self.room(shelf, rounded)?;
        let Block { size, state, .. } = *self.blocks.get(block);
        if state == State::Unmapped && !self.map(block, size.min(rounded)) {
            return None;
        }
        loop {
            let Block { size, after, .. } = *self.blocks.get(block);
            if size >= rounded {
                break;
            }
            if after == NONE {
                return None;
            }
            let missing = (rounded - size).min(self.blocks.get(after).size);
            if !self.map(after, missing) {
                // What was mapped for this request so far stays, as a cached block.
                return None;
            }
            block = after;
        }
        self.take(block);
        Some(block)
    }

    /// The first place with room for the request: an unmapped block or the cached one before it
    /// (`find_expandable_block`).
    fn room(&mut self, shelf: u32, rounded: u64) -> Option<u32> {
        let is_free = |id: u32| {
            id != NONE && matches!(self.blocks.get(id).state, State::Inactive | State::Unmapped)
        };
        for (_, unmapped) in &self.shelves.get(shelf).unmapped {
            let before = self.blocks.get(*unmapped).before;
            let first = if is_free(before) { before } else { *unmapped };
            let (mut size, mut next) = (0_u64, first);
            while size < rounded && is_free(next) {
                size = size.saturating_add(self.blocks.get(next).size);
                next = self.blocks.get(next).after;
            }
            if size >= rounded {
                return Some(first);
            }
        }
        if rounded > VIRTUAL_RANGE {
            return None;
        }
        let base = self.driver.reserve(self.entry);
        let (range, size) = self.add_range(shelf, base);
        let block = self.blocks.add(Block::new(base, size, shelf, range, State::Unmapped));
        self.shelves.get_mut(shelf).unmapped.insert((base, block));
        Some(block)
    }

    /// A new expandable segment without any block yet; answers its number and its size.
    pub(super) fn add_range(&mut self, shelf: u32, base: u64) -> (u32, u64) {
        let page = self.settings.page(self.shelves.is_small(shelf));
        self.ranges.push(Range { base, page });
        let size = VIRTUAL_RANGE.checked_next_multiple_of(page).unwrap_or(VIRTUAL_RANGE);
        (u32::try_from(self.ranges.len() - 1).unwrap_or(NONE), size)
    }

    /// Maps the first `size` bytes of an unmapped block, rounded up to pages, and caches them. False
    /// where the driver has no more.
    fn map(&mut self, id: u32, size: u64) -> bool {
        let Block { address, size: whole, shelf, range, .. } = *self.blocks.get(id);
        let page = self.ranges[range as usize].page;
        let size = size.checked_next_multiple_of(page).unwrap_or(size).min(whole);
        if !self.has(size) {
            return false;
        }
        self.shelves.get_mut(shelf).unmapped.remove(&(address, id));
        if size < whole {
            // The rest keeps being unmapped under a new id.
            let front = self.blocks.cut_front(id, size);
            self.swap_ids(front, id);
            let rest = self.blocks.get(front).address;
            self.shelves.get_mut(shelf).unmapped.insert((rest, front));
        }
        self.blocks.get_mut(id).state = State::Inactive;
        self.merge(id);
        self.cache(id);
        self.reserve(Action::SegmentMap, address, size);
        true
    }

    /// Two neighbours, `before` and `after`, exchange their ids.
    fn swap_ids(&mut self, before: u32, after: u32) {
        let (first, second) = (*self.blocks.get(before), *self.blocks.get(after));
        *self.blocks.get_mut(after) = Block { after: before, ..first };
        *self.blocks.get_mut(before) = Block { before: after, ..second };
        if first.before != NONE {
            self.blocks.get_mut(first.before).after = after;
        }
        if second.after != NONE {
            self.blocks.get_mut(second.after).before = before;
        }
    }
}
