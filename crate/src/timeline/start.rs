//! The state before the first entry, worked out from the end.
//!
//! Segments: the file's own, walked backwards through the segment entries. Blocks: those that the
//! trace frees without having allocated them, and those in the file's segments that the trace
//! never mentions.

use super::allocation::Allocation;
use super::layout::{Layout, SMALL};
use super::mapped::{Range, ranges_before};
use super::usage::Usage;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::{BlockState, PoolId};
use crate::snapshot::settings::Settings;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::{Action, Entry};
use crate::warning::Warnings;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How much larger than the request a block may be that is not split (`kLargeBuffer`).
const LARGE_BUFFER: u64 = 20 << 20;

/// The state before the first entry.
#[derive(Debug)]
pub(super) struct State {
    pub(super) layout: Layout,
    /// The allocations older than the trace, in the order of their addresses.
    pub(super) older: Vec<Allocation>,
    /// Of those, the ones whose free was requested before the trace and completed in it.
    pub(super) pending: Vec<bool>,
    pub(super) usage: Usage,
}

/// What the trace says of an address that it did not allocate first.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// Its first entry is an `alloc`, at this index.
    Allocated(u32),
    /// Its first entry is a free: it was live before, with this request and stream.
    Older { requested: u64, stream: u16, is_pending: bool },
}

impl State {
    pub(super) fn before_trace(snapshot: &Snapshot, device: u32) -> (State, Warnings) {
        let settings = snapshot.settings.clone().unwrap_or_default();
        let mut warnings = Warnings::default();
        let trace = snapshot.trace(device);
        let seen = first_seen(trace.clone().filter_map(|index| snapshot.entries.get(index)));
        let ranges = ranges_before(snapshot, device, &mut warnings);

        let mut older: Vec<(Allocation, bool)> = Vec::new();
        for (address, how) in sorted(&seen) {
            if let Seen::Older { requested, stream, is_pending, .. } = how {
                let mut allocation = Allocation::new(
                    address,
                    settings.rounded(requested),
                    requested,
                    StackId::ABSENT,
                );
                allocation.stream = stream;
                older.push((allocation, is_pending));
            }
        }
        for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
            for block in snapshot.blocks_of(segment) {
                if block.state == BlockState::Inactive || seen.contains_key(&block.address) {
                    continue;
                }
                let mut allocation =
                    Allocation::new(block.address, block.size, block.requested_size, block.stack);
                allocation.stream = stream_place(snapshot, segment.stream);
                allocation.is_private = segment.pool != PoolId::DEFAULT;
                older.push((allocation, block.state == BlockState::ActivePendingFree));
            }
        }
        older.sort_by_key(|(allocation, _)| allocation.address);

        let mut layout = Layout::new(settings.max_split_size, trace.len());
        for (address, range) in &ranges {
            layout.add_range(*address, range.size, range.kind);
        }
        let mut state =
            State { layout, older: Vec::new(), pending: Vec::new(), usage: Usage::default() };
        for (allocation, is_pending) in older {
            state.add(allocation, is_pending, &ranges);
        }
        state.find_slack(&seen, &settings);
        for (allocation, is_pending) in state.older.iter().zip(&state.pending) {
            state.usage.active = state.usage.active.saturating_add(allocation.size);
            if !is_pending {
                state.usage.allocated = state.usage.allocated.saturating_add(allocation.size);
                state.usage.requested = state.usage.requested.saturating_add(allocation.requested);
            }
        }
        state.usage.reserved = state.layout.reserved;
        (state, warnings)
    }

    fn add(&mut self, mut allocation: Allocation, is_pending: bool, ranges: &BTreeMap<u64, Range>) {
        let id = u32::try_from(self.older.len()).unwrap_or(u32::MAX);
        self.layout.place_exactly(allocation.address, allocation.size, id);
        let range = ranges.range(..=allocation.address).next_back();
        allocation.is_private |= range.is_some_and(|(_, range)| range.kind.pool != PoolId::DEFAULT);
        self.older.push(allocation);
        self.pending.push(is_pending);
    }

    /// In a segment of cudaMalloc the large pool leaves up to 1 MiB unsplit behind a block. Behind
    /// blocks whose size is only known from their request, a hole that small is such slack; and
    /// where the trace's first allocation in a larger hole does not begin at its start, the bytes
    /// before it are.
    fn find_slack(&mut self, seen: &FxHashMap<u64, Seen>, settings: &Settings) {
        let mut firsts: Vec<(u64, u32)> = sorted(seen)
            .into_iter()
            .filter_map(|(address, how)| match how {
                Seen::Allocated(entry) => Some((address, entry)),
                Seen::Older { .. } => None,
            })
            .collect();
        firsts.sort_unstable();
        for allocation in &mut self.older {
            let is_estimate = matches!(seen.get(&allocation.address), Some(Seen::Older { .. }));
            let rounded = settings.rounded(allocation.requested);
            if !is_estimate || rounded <= SMALL {
                continue;
            }
            // Blocks from `max_split_size` on are never split, and serve only what is nearly as large.
            let most = match settings.max_split_size {
                Some(least) if rounded >= least => LARGE_BUFFER,
                _ => SMALL,
            };
            let Some((hole, size, kind)) = self.layout.hole_after(allocation.address) else {
                continue;
            };
            if kind.is_expandable {
                continue;
            }
            let slack = if size <= most {
                size
            } else {
                let from = firsts.partition_point(|(address, _)| *address < hole);
                let inside = firsts
                    .iter()
                    .skip(from)
                    .take_while(|(address, _)| *address < hole.saturating_add(size))
                    .take(4096);
                let earliest = inside.min_by_key(|(_, entry)| *entry);
                earliest.map_or(0, |(address, _)| address.saturating_sub(hole))
            };
            if slack > 0 && slack <= most {
                self.layout.extend(allocation.address, slack);
                allocation.size = allocation.size.saturating_add(slack);
            }
        }
    }
}

fn first_seen(entries: impl Iterator<Item = Entry>) -> FxHashMap<u64, Seen> {
    let mut seen = FxHashMap::default();
    for_each((0..).zip(entries), |(index, entry)| {
        let how = match entry.action {
            Action::Alloc => Seen::Allocated(index),
            Action::FreeRequested | Action::FreeCompleted => Seen::Older {
                requested: entry.size,
                stream: entry.stream,
                is_pending: entry.action == Action::FreeCompleted,
            },
            _ => return,
        };
        seen.entry(entry.address).or_insert(how);
    });
    seen
}

fn sorted(seen: &FxHashMap<u64, Seen>) -> Vec<(u64, Seen)> {
    let mut all: Vec<(u64, Seen)> = seen.iter().map(|(address, how)| (*address, *how)).collect();
    all.sort_unstable_by_key(|(address, _)| *address);
    all
}

fn stream_place(snapshot: &Snapshot, stream: u64) -> u16 {
    let place = snapshot.streams.iter().position(|known| *known == stream);
    place.and_then(|place| u16::try_from(place).ok()).unwrap_or(0)
}
