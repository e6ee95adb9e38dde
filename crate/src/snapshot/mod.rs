//! The snapshot: what the file says, in one layout whatever PyTorch version wrote it. In go a
//! file's bytes, out comes a [`Snapshot`]; nothing is judged here.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

mod assemble;
mod decode;
mod fields;
mod json;
mod keys;
mod mended;
mod read;
mod records;
pub mod segment;
pub mod settings;
pub mod stack;
pub mod text;
pub mod trace;

pub use read::{Reading, Source, read};

use crate::container::Container;
use crate::pickle::TextId;
use crate::warning::Warnings;
use segment::{Block, PoolId, Segment};
use settings::Settings;
use stack::Stacks;
use std::ops::Range;
use text::Texts;
use trace::{Entries, Entry};

/// How the file was wrapped and written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrapping {
    /// The outermost wrapping.
    pub container: Container,
    /// The pickle's protocol; `None` for JSON.
    pub protocol: Option<u8>,
}

/// A `record_function` range's start or end (`external_annotations`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Annotation {
    /// Start, or else end.
    pub is_start: bool,
    /// The range's name, such as `Optimizer.step#AdamW.step`.
    pub name: TextId,
    /// The device current at that moment, not necessarily the one used.
    pub device: Option<u32>,
    /// µs since the Unix epoch.
    pub time_us: i64,
}

/// Everything that the file says.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// How it was wrapped.
    pub wrapping: Wrapping,
    /// All texts.
    pub texts: Texts,
    /// All frames and stacks.
    pub stacks: Stacks,
    /// The segments of all devices, as the file lists them; empty where no memory was in use.
    pub segments: Vec<Segment>,
    /// The blocks of all segments.
    pub blocks: Vec<Block>,
    /// The entries of all devices.
    pub entries: Entries,
    /// Each device's entries in `entries`, oldest first; empty where nothing was recorded.
    pub traces: Vec<Range<usize>>,
    /// Distinct raw stream handles, which [`Entry::stream`] counts into.
    pub streams: Vec<u64>,
    /// Distinct pools, which [`Entry::pool`] counts into.
    pub pools: Vec<PoolId>,
    /// Annotations of all devices, as the file lists them.
    pub annotations: Vec<Annotation>,
    /// The allocator's settings; `None` before PyTorch 2.3.
    pub settings: Option<Settings>,
    /// Bytes of pinned host memory in use, where that was recorded (PyTorch 2.14 on).
    pub pinned_host_bytes: u64,
    /// What was odd.
    pub warnings: Warnings,
}

impl Snapshot {
    /// Devices that have a trace or a segment: indices from 0 below this.
    #[must_use]
    pub fn device_count(&self) -> u32 {
        let with_segments =
            self.segments.iter().map(|segment| segment.device.saturating_add(1)).max().unwrap_or(0);
        with_segments.max(u32::try_from(self.traces.len()).unwrap_or(u32::MAX))
    }

    /// The entries of `device`, as a range of [`entries`](Snapshot::entries).
    #[must_use]
    pub fn trace(&self, device: u32) -> Range<usize> {
        self.traces.get(device as usize).cloned().unwrap_or(0..0)
    }

    /// Entry `entry` of `device`, counted from 0.
    #[must_use]
    pub fn entry(&self, device: u32, entry: u32) -> Option<Entry> {
        let trace = self.trace(device);
        let index = trace.start.checked_add(entry as usize)?;
        if index < trace.end { self.entries.get(index) } else { None }
    }

    /// The blocks of `segment`.
    #[must_use]
    pub fn blocks_of(&self, segment: &Segment) -> &[Block] {
        self.blocks.get(segment.blocks.clone()).unwrap_or_default()
    }

    /// The raw handle of an entry's stream.
    #[must_use]
    pub fn stream(&self, entry: &Entry) -> u64 {
        self.streams.get(usize::from(entry.stream)).copied().unwrap_or(0)
    }
}
