//! Segments and blocks: the allocator's state when the file was written.

use super::stack::StackId;
use std::ops::Range;

/// The pool pair `segment_pool_id`: (0, 0) is the default pool, all else is private to a CUDA graph
/// or a `MemPool`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PoolId(pub u64, pub u64);

impl PoolId {
    /// The pool of ordinary allocations.
    pub const DEFAULT: PoolId = PoolId(0, 0);
}

/// A range obtained from the driver, or a contiguous mapped range of an expandable segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Device, as the process numbers them.
    pub device: u32,
    /// First byte.
    pub address: u64,
    /// Bytes obtained.
    pub total_size: u64,
    /// Raw stream handle of the owner; 0 is the default stream.
    pub stream: u64,
    /// Serves requests of at most 1 MiB (the small pool), whatever its own length.
    pub is_small: bool,
    /// Its pool.
    pub pool: PoolId,
    /// Whether it grows and shrinks by pages.
    pub is_expandable: bool,
    /// Where it was obtained.
    pub stack: StackId,
    /// Its blocks in [`Snapshot::blocks`](super::Snapshot::blocks), by ascending address; they fill
    /// it. Never empty.
    pub blocks: Range<usize>,
}

/// What a block is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlockState {
    /// Owned by the program.
    ActiveAllocated,
    /// Released by the program, still awaited by another stream or a graph capture. PyTorch's
    /// documentation calls it `active_awaiting_free`, its writer `active_pending_free`.
    ActivePendingFree,
    /// Cached: reusable inside its pool and stream.
    Inactive,
}

/// One block of a segment.
///
/// `requested_size` is what the program asked for and `size` what the allocator set aside, so the
/// difference is lost to rounding. An [inactive](BlockState::Inactive) block keeps the
/// `requested_size` of whichever allocation it served last, which means nothing any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// First byte.
    pub address: u64,
    /// Bytes set aside.
    pub size: u64,
    /// Bytes asked for.
    pub requested_size: u64,
    /// What it is doing.
    pub state: BlockState,
    /// Where it was allocated; [`StackId::ABSENT`] or empty where not recorded.
    pub stack: StackId,
}
