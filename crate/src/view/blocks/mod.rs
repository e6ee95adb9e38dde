//! The map of a device's memory after one entry: its segments, each filled by its blocks and holes.
//!
//! Where the blocks lay follows from the timeline: each allocation has an address, a size, and the
//! entries between which its block was in use. So any entry is answered without a replay.

mod cells;
pub mod picture;
pub mod pins;
pub mod placement;
pub mod pools;
pub mod reading;
pub mod walk;

use crate::findings::Device;
use crate::findings::category::Category;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::{BlockState, PoolId};
use crate::snapshot::stack::StackId;
use crate::timeline::allocation::AllocationId;
use crate::timeline::{MappedRange, mapped_after};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// All segments of a device after one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMap {
    /// The device.
    pub device: u32,
    /// The entry; 0 for a device without a trace, whose only state is that of the file's end.
    pub entry: u32,
    /// The segments, most bytes first, then by address.
    pub segments: Vec<Segment>,
    /// Bytes of active blocks that lie in no segment, or over another block: what a damaged trace
    /// contradicts itself in. 0 where the recording is sound.
    pub stray_bytes: u64,
}

/// Who may use the holes of a segment: requests of one size class, one pool and one stream.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Owner {
    /// Its pool; all but [`PoolId::DEFAULT`] are private to a CUDA graph or a `MemPool`.
    pub pool: PoolId,
    /// Raw stream handle; 0 is the default stream.
    pub stream: u64,
    /// Whether it serves requests of at most 1 MiB (the small pool).
    pub is_small: bool,
}

/// A segment: a range obtained from the driver, or all that is mapped of an expandable one.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// First byte.
    pub address: u64,
    /// Bytes obtained, or mapped.
    pub bytes: u64,
    /// Who may use its holes.
    pub owner: Owner,
    /// Whether it grows and shrinks by pages.
    pub is_expandable: bool,
    /// The ranges mapped, by address, none next to another; one, but for expandable segments.
    pub mapped: Vec<Range<u64>>,
    /// Its blocks by address; they fill the ranges mapped, holes included.
    pub blocks: Vec<Block>,
}

/// A block, or a hole between blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// What it is doing.
    pub state: BlockState,
    /// The allocation in it; `None` for a hole.
    pub allocation: Option<Held>,
}

/// The allocation in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Which of its timeline.
    pub id: AllocationId,
    /// Bytes requested.
    pub requested: u64,
    /// What it is for.
    pub category: Category,
    /// Where it was allocated.
    pub stack: StackId,
}

impl Segment {
    /// Bytes of its active blocks.
    #[must_use]
    pub fn active_bytes(&self) -> u64 {
        self.active().map(|block| block.bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of its holes.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.active_bytes())
    }

    /// Its active blocks by address.
    pub fn active(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.state != BlockState::Inactive)
    }

    /// Its holes by address.
    pub fn holes(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.state == BlockState::Inactive)
    }
}

impl BlockMap {
    /// The map of `device` after `entry`; after the last where there is no such entry.
    #[must_use]
    pub fn of(snapshot: &Snapshot, device: &Device, entry: u32) -> BlockMap {
        let timeline = &device.timeline;
        let entry = entry.min(device.last_entry());
        let mut blocks: Vec<Block> = timeline
            .active_after(entry)
            .map(|(id, allocation)| Block {
                address: allocation.address,
                bytes: allocation.size,
                state: if allocation.is_live_after(entry) {
                    BlockState::ActiveAllocated
                } else {
                    BlockState::ActivePendingFree
                },
                allocation: Some(Held {
                    id,
                    requested: allocation.requested,
                    category: device.category(id),
                    stack: allocation.stack,
                }),
            })
            .collect();
        blocks.sort_by_key(|block| block.address);

        let mut map = BlockMap { device: timeline.device, entry, ..BlockMap::default() };
        let mut left = blocks.iter().peekable();
        let mut grown: FxHashMap<Owner, usize> = FxHashMap::default();
        for (range, owner, is_expandable) in runs(mapped_after(snapshot, timeline.device, entry)) {
            let mut filled = Vec::new();
            let mut end = range.start;
            while let Some(block) = left.next_if(|block| block.address < range.end) {
                let block_end = block.address.saturating_add(block.bytes);
                if block.address < end || block_end > range.end {
                    map.stray_bytes = map.stray_bytes.saturating_add(block.bytes);
                    continue;
                }
                push_hole(&mut filled, end..block.address);
                filled.push(*block);
                end = block_end;
            }
            push_hole(&mut filled, end..range.end);
            let bytes = range.end - range.start;
            // One expandable segment serves a pool and stream, whatever of it is mapped.
            let place = if is_expandable { grown.get(&owner).copied() } else { None };
            match place.and_then(|place| map.segments.get_mut(place)) {
                Some(segment) => {
                    segment.bytes = segment.bytes.saturating_add(bytes);
                    segment.mapped.push(range);
                    segment.blocks.append(&mut filled);
                }
                None => {
                    if is_expandable {
                        grown.insert(owner, map.segments.len());
                    }
                    map.segments.push(Segment {
                        address: range.start,
                        bytes,
                        owner,
                        is_expandable,
                        mapped: vec![range],
                        blocks: filled,
                    });
                }
            }
        }
        map.stray_bytes = left.map(|block| block.bytes).fold(map.stray_bytes, u64::saturating_add);
        map.segments.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.address.cmp(&b.address)));
        map
    }
}

fn push_hole(blocks: &mut Vec<Block>, range: Range<u64>) {
    if range.start < range.end {
        blocks.push(Block {
            address: range.start,
            bytes: range.end - range.start,
            state: BlockState::Inactive,
            allocation: None,
        });
    }
}

/// Ranges as blocks see them: those of one expandable segment that touch are one.
fn runs(mapped: Vec<MappedRange>) -> Vec<(Range<u64>, Owner, bool)> {
    let mut runs: Vec<(Range<u64>, Owner, bool)> = Vec::new();
    for range in mapped {
        let owner = Owner { pool: range.pool, stream: range.stream, is_small: range.is_small };
        let end = range.address.saturating_add(range.size);
        match runs.last_mut() {
            Some((last, of, true))
                if range.is_expandable && *of == owner && last.end == range.address =>
            {
                last.end = end;
            }
            _ => runs.push((range.address..end, owner, range.is_expandable)),
        }
    }
    runs
}
