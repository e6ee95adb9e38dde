//! The trace, replayed forwards.

use super::allocation::Allocation;
use super::layout::{Holder, Layout, Placed, SMALL};
use super::mapped::{PrivateSegment, kind_in};
use super::start::State;
use super::usage::{Peaks, Usage, UsageColumns};
use super::{Oom, Timeline};
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::{BlockState, PoolId};
use crate::snapshot::settings::Settings;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::{Action, Entry};
use crate::warning::{WarningKind, Warnings};
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

/// Failed allocations whose holes are looked at; a program that fails more often is told by these.
const OOMS_WITH_HOLES: usize = 256;

/// What the program holds at an address.
#[derive(Clone, Copy, Debug)]
struct Live {
    allocation: u32,
    is_pending: bool,
}

struct Replay<'a> {
    snapshot: &'a Snapshot,
    device: u32,
    settings: Settings,
    pools: Vec<PrivateSegment>,
    layout: Layout,
    live: FxHashMap<u64, Live>,
    usage: Usage,
    last_time: i64,
    timeline: Timeline,
}

/// Replays `device` from `start` on.
pub(super) fn run(
    snapshot: &Snapshot,
    device: u32,
    start: State,
    warnings: &mut Warnings,
) -> Timeline {
    let trace = snapshot.trace(device);
    let mut replay = Replay {
        snapshot,
        device,
        settings: snapshot.settings.clone().unwrap_or_default(),
        pools: PrivateSegment::all(snapshot, device),
        layout: start.layout,
        live: FxHashMap::default(),
        usage: start.usage,
        last_time: i64::MIN,
        timeline: Timeline {
            device,
            older: start.older.len(),
            start: start.usage,
            peaks: Peaks::from(start.usage),
            usage: UsageColumns::with_capacity(trace.len()),
            ..Timeline::default()
        },
    };
    for ((allocation, is_pending), id) in start.older.iter().zip(&start.pending).zip(0..) {
        replay.live.insert(allocation.address, Live { allocation: id, is_pending: *is_pending });
    }
    replay.timeline.allocations = start.older;
    for (allocation, is_pending) in replay.timeline.allocations.iter_mut().zip(&start.pending) {
        if *is_pending {
            // Released before the trace: the program holds it at no entry.
            allocation.free_requested = 0;
        }
    }
    let made = trace.clone().filter(|place| snapshot.entries.action(*place) == Some(Action::Alloc));
    replay.timeline.allocations.reserve_exact(made.count());
    replay.timeline.allocation_of = Vec::with_capacity(trace.len());
    for_each((0..).zip(trace), |(index, place)| replay.step(index, place, warnings));
    replay.timeline.end = replay
        .timeline
        .usage
        .get(replay.timeline.usage.reserved.len().saturating_sub(1))
        .unwrap_or(start.usage);
    replay.timeline.awaits |= replay.live.values().any(|live| live.is_pending);
    replay.compare_end(warnings);
    replay.timeline
}

impl Replay<'_> {
    fn place(&self, entry: u32) -> String {
        format!("device {}, entry {entry}", self.device)
    }

    /// Does the entry at `place` of the snapshot.
    fn step(&mut self, index: u32, place: usize, warnings: &mut Warnings) {
        let Some(entry) = self.snapshot.entries.get(place) else { return };
        if let Some(time) = entry.time_us {
            if time < self.last_time {
                warnings.add(WarningKind::TimeRunsBack, || self.place(index));
            }
            self.last_time = time;
        }
        let allocation = self.applied(index, &entry, warnings);
        self.timeline.allocation_of.push(allocation);
        self.usage.reserved = self.layout.reserved;
        self.timeline.usage.push(self.usage);
        self.timeline.peaks.see(index, &self.usage);
    }

    /// Applies one entry; answers its allocation.
    fn applied(&mut self, index: u32, entry: &Entry, warnings: &mut Warnings) -> u32 {
        match entry.action {
            Action::Alloc => return self.alloc(index, entry, warnings),
            Action::FreeRequested => return self.free_requested(index, entry, warnings),
            Action::FreeCompleted => return self.free_completed(index, entry, warnings),
            Action::SegmentAlloc | Action::SegmentMap => {
                let kind = kind_in(self.snapshot, &self.pools, index, entry);
                if !self.layout.add_range(entry.address, entry.size, kind) {
                    warnings.add(WarningKind::SegmentContradiction, || self.place(index));
                }
            }
            Action::SegmentFree | Action::SegmentUnmap => {
                self.timeline.returns.push(index);
                match self.layout.remove_range(entry.address, entry.size) {
                    Some(held) if held.is_empty() => {}
                    _ => warnings.add(WarningKind::SegmentContradiction, || self.place(index)),
                }
            }
            Action::Oom => self.oom(index, entry),
            Action::Snapshot => self.timeline.dumps.push(index),
            Action::Annotate | Action::Other => {}
        }
        NONE
    }

    fn alloc(&mut self, index: u32, entry: &Entry, warnings: &mut Warnings) -> u32 {
        let id = u32::try_from(self.timeline.allocations.len()).unwrap_or(NONE);
        let live = Live { allocation: id, is_pending: false };
        if let Some(old) = self.live.insert(entry.address, live) {
            warnings.add(WarningKind::AllocationOverLive, || self.place(index));
            self.end(old, entry.address, index);
        }
        let rounded = self.settings.rounded(entry.size);
        let size = match self.layout.place(entry.address, rounded, id) {
            Placed::InHole(size) => size,
            Placed::Inside(size) => {
                warnings.add(WarningKind::NoHole, || self.place(index));
                size
            }
            Placed::Held(_) => {
                warnings.add(WarningKind::NoHole, || self.place(index));
                rounded
            }
            Placed::Outside => {
                warnings.add(WarningKind::OutsideSegments, || self.place(index));
                rounded
            }
        };
        let mut allocation = Allocation::new(entry.address, size, entry.size, entry.stack);
        allocation.begin = index;
        allocation.stream = entry.stream;
        allocation.is_private =
            self.layout.pool_at(entry.address).is_some_and(|pool| pool != PoolId::DEFAULT);
        self.timeline.allocations.push(allocation);
        self.usage.requested = self.usage.requested.saturating_add(entry.size);
        self.usage.allocated = self.usage.allocated.saturating_add(size);
        self.usage.active = self.usage.active.saturating_add(size);
        id
    }

    fn free_requested(&mut self, index: u32, entry: &Entry, warnings: &mut Warnings) -> u32 {
        match self.live.get_mut(&entry.address) {
            Some(live) if !live.is_pending => {
                live.is_pending = true;
                let id = live.allocation;
                self.released(id, index);
                id
            }
            _ => {
                warnings.add(WarningKind::FreeOfUnknown, || self.place(index));
                NONE
            }
        }
    }

    fn free_completed(&mut self, index: u32, entry: &Entry, warnings: &mut Warnings) -> u32 {
        let Some(live) = self.live.remove(&entry.address) else {
            warnings.add(WarningKind::FreeOfUnknown, || self.place(index));
            return NONE;
        };
        if !live.is_pending {
            warnings.add(WarningKind::FreeNotRequested, || self.place(index));
        }
        self.end(live, entry.address, index);
        live.allocation
    }

    /// The program no longer holds an allocation.
    fn released(&mut self, id: u32, index: u32) {
        if let Some(allocation) = self.timeline.allocations.get_mut(id as usize) {
            allocation.free_requested = index;
            self.usage.requested = self.usage.requested.saturating_sub(allocation.requested);
            self.usage.allocated = self.usage.allocated.saturating_sub(allocation.size);
        }
    }

    /// The block of an allocation that is live no more becomes a hole.
    fn end(&mut self, live: Live, address: u64, index: u32) {
        if !live.is_pending {
            self.released(live.allocation, index);
        }
        if let Some(allocation) = self.timeline.allocations.get_mut(live.allocation as usize) {
            allocation.free_completed = index;
            // Without another stream, the entry after the request completes the free.
            self.timeline.awaits |= index > allocation.free_requested.saturating_add(1);
            self.usage.active = self.usage.active.saturating_sub(allocation.size);
        }
        self.layout.release(address);
    }

    fn oom(&mut self, index: u32, entry: &Entry) {
        let mut oom = Oom {
            entry: index,
            request_bytes: entry.size,
            device_free_bytes: Some(entry.address).filter(|free| *free > 0),
            usage: Usage { reserved: self.layout.reserved, ..self.usage },
            ..Oom::default()
        };
        if self.timeline.ooms.len() < OOMS_WITH_HOLES {
            let stream = self.snapshot.stream(entry);
            let pool = entry
                .pool
                .and_then(|pool| self.snapshot.pools.get(usize::from(pool)))
                .copied()
                .unwrap_or_default();
            let is_small = entry.size <= SMALL;
            let holes = self.layout.holes(|kind| {
                kind.stream == stream && kind.is_small == is_small && kind.pool == pool
            });
            (oom.idle_bytes, oom.largest_hole_bytes) = (holes.total, holes.largest);
            oom.private_idle_bytes = self.layout.holes(|kind| kind.pool != PoolId::DEFAULT).total;
        }
        self.timeline.ooms.push(oom);
    }

    /// The replayed layout should be the file's own.
    fn compare_end(&self, warnings: &mut Warnings) {
        if self.snapshot.trace(self.device).is_empty() {
            return;
        }
        let mut replayed: FxHashMap<u64, (u64, bool)> = FxHashMap::default();
        replayed.reserve(self.layout.len());
        for (address, size, holder) in self.layout.by_address() {
            replayed.insert(address, (size, holder != Holder::Nobody));
        }
        for segment in self.snapshot.segments.iter().filter(|segment| segment.device == self.device)
        {
            for block in self.snapshot.blocks_of(segment) {
                let expected = (block.size, block.state != BlockState::Inactive);
                if replayed.get(&block.address) != Some(&expected) {
                    warnings.add(WarningKind::EndsElsewhere, || {
                        format!("device {}, block {:#x}", self.device, block.address)
                    });
                }
            }
        }
    }
}

impl Allocation {
    /// Whether any stack is known.
    #[must_use]
    pub fn has_stack(&self) -> bool {
        self.stack != StackId::ABSENT && self.stack != StackId::EMPTY
    }
}
