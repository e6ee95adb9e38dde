//! The state at every entry of one device's trace. In goes a snapshot, out comes a [`Timeline`]:
//! allocations with their begin and end, and what was requested, allocated, active and reserved
//! after each entry.
//!
//! A trace usually lacks its beginning, so the state before it is worked out backwards from the
//! segments, which describe the end ([`start`]). From there the trace is replayed forwards on the
//! layout of blocks ([`layout`]), since the entries state requests and only the allocator's rule
//! for splitting says how large a block each of them got.

pub mod allocation;
mod layout;
pub mod mapped;
mod replay;
mod start;
pub mod usage;

pub use mapped::{MappedRange, mapped_after, mapped_before};

use crate::snapshot::Snapshot;
use crate::warning::Warnings;
use allocation::{Allocation, AllocationId};
use usage::{Peaks, Usage, UsageColumns};

/// What a device's memory went through.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The device.
    pub device: u32,
    /// All allocations: those older than the trace first, then in the order of their entries.
    pub allocations: Vec<Allocation>,
    /// How many of them are older than the trace.
    pub older: usize,
    /// The state before the first entry.
    pub start: Usage,
    /// The state after each entry; empty without a trace.
    pub usage: UsageColumns,
    /// The highest of each total.
    pub peaks: Peaks,
    /// The state after the last entry, or `start` without one. Where this is not the state of the
    /// file's own segments, a warning says so.
    pub end: Usage,
    /// The allocations that failed for good, in order.
    pub ooms: Vec<Oom>,
    /// The entries that earlier dumps of the same process left, in order.
    pub dumps: Vec<u32>,
    /// The entries at which memory went back to the driver, in order.
    pub returns: Vec<u32>,
    /// Whether a block that was freed ever awaits another stream.
    pub awaits: bool,
    /// What was odd.
    pub warnings: Warnings,
    allocation_of: Vec<u32>,
}

/// A failed allocation, with the state in which it failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Oom {
    /// Its entry.
    pub entry: u32,
    /// Bytes requested, rounded to a block.
    pub request_bytes: u64,
    /// Bytes that the driver had free, where the file tells.
    pub device_free_bytes: Option<u64>,
    /// The state.
    pub usage: Usage,
    /// Inactive bytes that the request could have used: of its pool and stream.
    pub idle_bytes: u64,
    /// The largest single hole among them.
    pub largest_hole_bytes: u64,
    /// Inactive bytes in private pools of CUDA graphs, which no ordinary request may use.
    pub private_idle_bytes: u64,
}

impl Timeline {
    /// Replays the trace of `device`.
    #[must_use]
    pub fn replay(snapshot: &Snapshot, device: u32) -> Timeline {
        let (start, mut warnings) = start::State::before_trace(snapshot, device);
        let mut timeline = replay::run(snapshot, device, start, &mut warnings);
        timeline.warnings = warnings;
        timeline
    }

    /// Number of entries.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.allocation_of.len().try_into().unwrap_or(u32::MAX)
    }

    /// The allocation that `entry` begins or ends.
    #[must_use]
    pub fn allocation_of(&self, entry: u32) -> Option<AllocationId> {
        self.allocation_of
            .get(entry as usize)
            .copied()
            .filter(|id| *id != u32::MAX)
            .map(AllocationId)
    }

    /// The allocation behind `id`.
    #[must_use]
    pub fn allocation(&self, id: AllocationId) -> Option<&Allocation> {
        self.allocations.get(id.0 as usize)
    }

    /// The state after `entry`; the state at the end where there is no such entry.
    #[must_use]
    pub fn usage_after(&self, entry: u32) -> Usage {
        self.usage.get(entry as usize).unwrap_or(self.end)
    }

    /// The allocations whose blocks were in use after `entry`, those pending free among them.
    pub fn active_after(&self, entry: u32) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        (0..)
            .map(AllocationId)
            .zip(&self.allocations)
            .filter(move |(_, allocation)| allocation.is_active_after(entry))
    }

    /// The allocations whose memory the program held after `entry`.
    pub fn live_after(&self, entry: u32) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        (0..)
            .map(AllocationId)
            .zip(&self.allocations)
            .filter(move |(_, allocation)| allocation.is_live_after(entry))
    }
}
