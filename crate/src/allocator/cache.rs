//! The allocator itself: requests and frees in, blocks and segments out
//! (`c10/cuda/CUDACachingAllocator.cpp` of PyTorch 2.11).

use super::block::{Block, Blocks, NONE, State};
use super::driver::Driver;
use super::program::Request;
use super::settings::{GRANULE, SMALL, Settings};
use super::shelf::Shelves;
use crate::snapshot::trace::Action;
use std::collections::BTreeSet;

/// What the process may reserve.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bounds {
    /// Bytes that a memory fraction allows; the allocator itself refuses to pass them.
    pub limit: Option<u64>,
    /// Bytes that the driver can give to this process in all.
    pub capacity: Option<u64>,
}

impl Bounds {
    /// Neither limit nor capacity: nothing fails.
    pub const NONE: Bounds = Bounds { limit: None, capacity: None };

    /// Whether anything can fail.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.limit.is_some() || self.capacity.is_some()
    }
}

/// A request that failed for good.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refused {
    /// Bytes requested, rounded to a block.
    pub request_bytes: u64,
    /// Reserved bytes at that moment.
    pub reserved_bytes: u64,
    /// Active bytes at that moment.
    pub active_bytes: u64,
}

/// A segment, or pages of one, that came or went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SegmentLine {
    /// One of the four `segment_…` actions.
    pub action: Action,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// What was counted over a run. Bytes, unless told otherwise.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Obtained from the driver.
    pub reserved: u64,
    /// Of active blocks.
    pub active: u64,
    /// The most ever reserved.
    pub peak_reserved: u64,
    /// The active bytes when that was first reached.
    pub active_at_peak: u64,
    /// The most ever active.
    pub peak_active: u64,
    /// Times that the whole cache was released for a request (`num_alloc_retries`).
    pub retries: u64,
    /// Requests that failed for good (`num_ooms`).
    pub ooms: u64,
    /// Rounds of garbage collection.
    pub collections: u64,
    /// What they returned.
    pub collected: u64,
    /// The largest sum of reserved bytes and segment request that was allowed to grow.
    pub allowed_growth: u64,
}

/// An expandable segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) base: u64,
    pub(super) page: u64,
}

/// The allocator's state under given settings. Requests are known by a number of the caller's.
pub struct Allocator<'a> {
    pub(super) settings: Settings,
    pub(super) bounds: Bounds,
    pub(super) driver: Box<dyn Driver + 'a>,
    pub(super) blocks: Blocks,
    pub(super) shelves: Shelves,
    pub(super) ranges: Vec<Range>,
    /// The block of each request, or [`NONE`].
    held: Vec<u32>,
    pub(super) pending: BTreeSet<u32>,
    pub(super) totals: Totals,
    /// Every segment line, where asked for.
    pub(super) log: Option<Vec<SegmentLine>>,
    /// The entry of the request being served.
    pub(super) entry: u32,
    /// The largest reserved at a miss that collected nothing although it could have, and the
    /// request whose release was replayed by other means.
    pub(super) uncollected: u64,
    pub(super) released_for: Option<u32>,
}

impl<'a> Allocator<'a> {
    /// An allocator that holds nothing yet.
    #[must_use]
    pub fn new(settings: Settings, bounds: Bounds, driver: Box<dyn Driver + 'a>) -> Self {
        Allocator {
            settings,
            bounds,
            driver,
            blocks: Blocks::default(),
            shelves: Shelves::default(),
            ranges: Vec::new(),
            held: Vec::new(),
            pending: BTreeSet::new(),
            totals: Totals::default(),
            log: None,
            entry: 0,
            uncollected: 0,
            released_for: None,
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Serves `request`, which its caller will name by `id`; `entry` is its place in the trace.
    ///
    /// # Errors
    /// [`Refused`] where the request still fails after everything was released that may be.
    pub fn allocate(&mut self, entry: u32, id: u32, request: Request) -> Result<(), Refused> {
        self.entry = entry;
        let rounded = self.settings.rounded(request.size);
        let shelf = self.shelves.of(request.pool, rounded <= SMALL, request.stream);
        let found = match self.find(shelf, rounded) {
            Some(found) => Some(found),
            None => self.obtain(shelf, rounded),
        };
        let Some(found) = found else {
            self.totals.ooms += 1;
            return Err(Refused {
                request_bytes: rounded,
                reserved_bytes: self.totals.reserved,
                active_bytes: self.totals.active,
            });
        };
        let block = self.carve(found, rounded);
        self.hold(id, block);
        Ok(())
    }

    /// The program releases the block of `id`; it stays active until [`complete`](Self::complete).
    pub fn release(&mut self, id: u32) {
        let block = self.block_of(id);
        if block != NONE && self.blocks.get(block).state == State::Allocated {
            self.blocks.get_mut(block).state = State::Pending;
            self.pending.insert(block);
        }
    }

    /// The block of `id` becomes reusable, unless a blocking release has made it so already.
    pub fn complete(&mut self, id: u32) {
        let block = self.block_of(id);
        if block == NONE {
            return;
        }
        if self.blocks.get(block).state == State::Pending {
            self.pending.remove(&block);
        }
        self.finish(block);
    }

    /// Waits for what is pending and returns all cached segments (`empty_cache`).
    pub fn release_cached(&mut self) {
        while let Some(block) = self.pending.pop_first() {
            self.finish(block);
        }
        for planned in self.plan_full(&BTreeSet::new()) {
            self.give(planned.block);
        }
    }

    /// The address of the block that serves `id`.
    #[must_use]
    pub fn address_of(&self, id: u32) -> Option<u64> {
        let block = self.block_of(id);
        (block != NONE).then(|| self.blocks.get(block).address)
    }

    /// The blocks of each segment by address: address, size, state. Expandable segments include
    /// what is unmapped.
    pub fn segments(&self) -> impl Iterator<Item = Vec<(u64, u64, State)>> + '_ {
        let firsts = self.blocks.ids().filter(|id| self.blocks.get(*id).before == NONE);
        firsts.map(|first| {
            let chain = std::iter::successors(Some(first), |id| {
                Some(self.blocks.get(*id).after).filter(|after| *after != NONE)
            });
            let block = |id| self.blocks.get(id);
            chain.map(block).map(|block| (block.address, block.size, block.state)).collect()
        })
    }

    fn block_of(&self, id: u32) -> u32 {
        self.held.get(id as usize).copied().unwrap_or(NONE)
    }

    /// `block` serves `id` from now on.
    pub(super) fn hold(&mut self, id: u32, block: u32) {
        let place = id as usize;
        if self.held.len() <= place {
            self.held.resize(place + 1, NONE);
        }
        self.held[place] = block;
        let block = self.blocks.get_mut(block);
        block.owner = id;
        block.state = State::Allocated;
        self.totals.active = self.totals.active.saturating_add(block.size);
        self.totals.peak_active = self.totals.peak_active.max(self.totals.active);
    }

    /// An active block becomes a cached one, and one with its neighbours.
    fn finish(&mut self, id: u32) {
        let block = *self.blocks.get(id);
        self.totals.active = self.totals.active.saturating_sub(block.size);
        if let Some(held) = self.held.get_mut(block.owner as usize) {
            *held = NONE;
        }
        self.blocks.get_mut(id).state = State::Inactive;
        self.merge(id);
        self.cache(id);
    }

    /// Puts an inactive block into its free set, as one just used.
    pub(super) fn cache(&mut self, id: u32) {
        let shelf = self.blocks.get(id).shelf;
        let lookups = self.shelves.pool_of(shelf).lookups;
        self.blocks.get_mut(id).cached_at = lookups;
        self.shelves.get_mut(shelf).add(&self.blocks, id);
    }

    /// Takes an inactive block out of its free set.
    pub(super) fn take(&mut self, id: u32) {
        let shelf = self.blocks.get(id).shelf;
        self.shelves.get_mut(shelf).remove(&self.blocks, id);
    }

    /// Makes one block of this one, which is in no set, and its neighbours in the same state.
    pub(super) fn merge(&mut self, id: u32) {
        let block = *self.blocks.get(id);
        for neighbour in [block.before, block.after] {
            if neighbour == NONE || self.blocks.get(neighbour).state != block.state {
                continue;
            }
            if block.state == State::Unmapped {
                let address = self.blocks.get(neighbour).address;
                self.shelves.get_mut(block.shelf).unmapped.remove(&(address, neighbour));
            } else {
                self.take(neighbour);
            }
            self.blocks.absorb(id, neighbour);
        }
    }

    /// The cached block that serves a request best, taken out of its set (`get_free_block`).
    fn find(&mut self, shelf: u32, rounded: u64) -> Option<u32> {
        if self.settings.garbage_collection_threshold > 0.0 {
            self.shelves.pool_of(shelf).lookups += 1;
        }
        let mut candidates = self.shelves.get(shelf).at_least(rounded);
        let mut found = candidates.next()?;
        if self.blocks.get(found).is_expandable() {
            if self.settings.expandable_segments {
                // The tail of what is mapped counts as large as it can grow, so that holes are
                // filled first even where the tail fits better.
                while self.blocks.get(found).is_expandable() {
                    match candidates.next() {
                        Some(next) if self.growable(next) < self.growable(found) => found = next,
                        _ => break,
                    }
                }
            } else {
                found = candidates.find(|id| !self.blocks.get(*id).is_expandable())?;
            }
        }
        drop(candidates);
        let size = self.blocks.get(found).size;
        if let Some(max_split) = self.settings.max_split_size {
            let most = rounded.saturating_add(self.settings.max_non_split_rounding);
            // The search ends here: no other block is tried.
            if if rounded < max_split { size >= max_split } else { size >= most } {
                return None;
            }
        }
        self.take(found);
        Some(found)
    }

    /// A block's size with the unmapped piece behind it.
    fn growable(&self, id: u32) -> u64 {
        let block = self.blocks.get(id);
        let behind = match block.after {
            NONE => 0,
            after if self.blocks.get(after).state == State::Unmapped => self.blocks.get(after).size,
            _ => 0,
        };
        block.size.saturating_add(behind)
    }

    /// Memory for a request that no cached block serves, by ever harsher means.
    fn obtain(&mut self, shelf: u32, rounded: u64) -> Option<u32> {
        self.collect_garbage();
        if let Some(block) = self.grow(shelf, rounded) {
            return Some(block);
        }
        if self.release_oversize(shelf, rounded)
            && let Some(block) = self.grow(shelf, rounded)
        {
            return Some(block);
        }
        self.totals.retries += 1;
        self.release_cached();
        // The free set is not searched again: a block that only completed in this release and
        // whose segment stays is not considered.
        self.grow(shelf, rounded)
    }

    /// Splits what the request does not need off a block that is in no set.
    fn carve(&mut self, found: u32, rounded: u64) -> u32 {
        let block: &Block = self.blocks.get(found);
        let remainder = block.size.saturating_sub(rounded);
        let splits = if self.shelves.is_small(block.shelf) || self.settings.expandable_segments {
            remainder >= GRANULE
        } else {
            remainder > SMALL && self.settings.max_split_size.is_none_or(|max| rounded < max)
        };
        if !splits {
            return found;
        }
        let front = self.blocks.cut_front(found, rounded);
        self.cache(found);
        front
    }
}
