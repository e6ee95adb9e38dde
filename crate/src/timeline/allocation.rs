//! One allocation: an `alloc` with its frees, as far as they are recorded.

use crate::snapshot::stack::StackId;

/// An allocation of its timeline.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AllocationId(pub u32);

const NONE: u32 = u32::MAX;

/// One allocation. Its identity is its place in the timeline: addresses are used again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// First byte.
    pub address: u64,
    /// Bytes of its block: the request, rounded, with whatever was not worth splitting off.
    pub size: u64,
    /// Bytes requested.
    pub requested: u64,
    /// Where it was allocated; [`StackId::ABSENT`] where not recorded. For allocations older than
    /// the trace this comes from the file's segments.
    pub stack: StackId,
    /// Index into [`Snapshot::streams`](crate::snapshot::Snapshot::streams).
    pub stream: u16,
    /// Whether it lies in a private pool of a CUDA graph or a `MemPool`.
    pub is_private: bool,
    pub(super) begin: u32,
    pub(super) free_requested: u32,
    pub(super) free_completed: u32,
}

impl Allocation {
    pub(super) fn new(address: u64, size: u64, requested: u64, stack: StackId) -> Self {
        Allocation {
            address,
            size,
            requested,
            stack,
            stream: 0,
            is_private: false,
            begin: NONE,
            free_requested: NONE,
            free_completed: NONE,
        }
    }

    /// The entry of its `alloc`; `None` for one older than the trace.
    #[must_use]
    pub fn begin(&self) -> Option<u32> {
        Some(self.begin).filter(|entry| *entry != NONE)
    }

    /// The entry at which the program released it; `None` for one alive at the end, 0 for one
    /// released before the trace.
    #[must_use]
    pub fn free_requested(&self) -> Option<u32> {
        Some(self.free_requested).filter(|entry| *entry != NONE)
    }

    /// The entry at which its block became reusable; `None` where that never came.
    #[must_use]
    pub fn free_completed(&self) -> Option<u32> {
        Some(self.free_completed).filter(|entry| *entry != NONE)
    }

    /// The first entry at which it counts: 0 for one older than the trace.
    #[must_use]
    pub fn first_entry(&self) -> u32 {
        self.begin().unwrap_or(0)
    }

    /// The entry at which it no longer counts; past every entry for one alive at the end.
    #[must_use]
    pub fn last_entry(&self) -> u32 {
        self.free_requested
    }

    /// Whether the program held it after `entry`.
    #[must_use]
    pub fn is_live_after(&self, entry: u32) -> bool {
        self.first_entry() <= entry && entry < self.free_requested
    }

    /// Whether its block was in use after `entry`: held by the program, or released by it and
    /// awaited by another stream.
    #[must_use]
    pub fn is_active_after(&self, entry: u32) -> bool {
        self.first_entry() <= entry && entry < self.free_completed
    }
}
