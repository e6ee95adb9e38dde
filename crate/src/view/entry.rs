//! One entry, as the pointer reads it off the timeline.

use super::frames::{FrameView, stack_view};
use crate::findings::category::Category;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::timeline::allocation::Allocation;
use crate::units::Count;
use serde::Serialize;

/// An entry with the state after it.
#[derive(Clone, Debug, Serialize)]
pub struct EntryView {
    /// Its index.
    pub entry: u32,
    /// Its action, as PyTorch spells it.
    pub action: &'static str,
    /// Its size.
    pub size_bytes: u64,
    /// The totals after it.
    pub requested_bytes: u64,
    /// The totals after it.
    pub allocated_bytes: u64,
    /// The totals after it.
    pub active_bytes: u64,
    /// The totals after it.
    pub reserved_bytes: u64,
    /// Its time, where the file has a clock.
    pub time_us: Option<i64>,
    /// The raw stream handle.
    pub stream: String,
    /// What its allocation is for.
    pub category: Option<Category>,
    /// How long its allocation lives, in a few words.
    pub lifetime: Option<String>,
    /// The annotated ranges around it, outermost first.
    pub annotations: Vec<String>,
    /// Its stack, innermost first; empty where none was recorded.
    pub frames: Vec<FrameView>,
    /// Allocated bytes by category after it.
    pub bands: Vec<BandBytes>,
}

/// The bytes of one category.
#[derive(Clone, Debug, Serialize)]
pub struct BandBytes {
    category: &'static str,
    bytes: u64,
}

impl EntryView {
    /// Reads an entry; `None` where the device has none such.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        findings: &Findings,
        device: &Device,
        entry: u32,
    ) -> Option<EntryView> {
        let timeline = &device.timeline;
        let recorded = snapshot.entry(timeline.device, entry)?;
        let usage = timeline.usage_after(entry);
        let allocation = timeline.allocation_of(entry);
        let around = device.spans.iter().filter(|span| span.begin <= entry && entry < span.end);
        Some(EntryView {
            entry,
            action: recorded.action.name(),
            size_bytes: recorded.size,
            requested_bytes: usage.requested,
            allocated_bytes: usage.allocated,
            active_bytes: usage.active,
            reserved_bytes: usage.reserved,
            time_us: recorded.time_us,
            stream: format!("{:#x}", snapshot.stream(&recorded)),
            category: allocation.map(|id| device.category(id)),
            lifetime: allocation.and_then(|id| timeline.allocation(id)).map(lifetime),
            annotations: around.map(|span| span.name.clone()).collect(),
            frames: stack_view(snapshot, &findings.kinds, recorded.stack),
            bands: Category::ALL
                .iter()
                .zip(device.composition(entry))
                .filter(|(_, bytes)| *bytes > 0)
                .map(|(category, bytes)| BandBytes { category: category.name(), bytes })
                .collect(),
        })
    }
}

pub(super) fn lifetime(allocation: &Allocation) -> String {
    let entry = |entry: u32| Count(u64::from(entry));
    match (allocation.begin(), allocation.free_requested()) {
        (Some(begin), Some(free)) => {
            format!("lives from entry {} to {}", entry(begin), entry(free))
        }
        (Some(begin), None) => format!("lives from entry {} to the end", entry(begin)),
        (None, Some(free)) => format!("older than the recording, lives to entry {}", entry(free)),
        (None, None) => "older than the recording, lives to the end".to_owned(),
    }
}
