//! What became of a range of entries: made, freed, and what it left behind.

use crate::findings::Device;
use serde::Serialize;

/// Bytes of blocks, and how many.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Sum {
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Number of allocations.
    pub count: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.count += 1;
    }
}

/// The sums of a range of entries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct RangeView {
    /// First entry.
    pub begin: u32,
    /// One past the last entry.
    pub end: u32,
    /// Made in the range.
    pub allocated: Sum,
    /// Let go by the program in the range, whenever it was made.
    pub freed: Sum,
    /// Made in the range and held after it.
    pub kept: Sum,
    /// What the program held before the range.
    pub before_bytes: u64,
    /// What it held after the range.
    pub after_bytes: u64,
    /// The most that it held in the range.
    pub peak_bytes: u64,
}

impl RangeView {
    /// The sums from `begin` up to `end`, both cut to the trace.
    #[must_use]
    pub fn of(device: &Device, begin: u32, end: u32) -> RangeView {
        let timeline = &device.timeline;
        let end = end.min(timeline.entries());
        let begin = begin.min(end);
        let before = match begin.checked_sub(1) {
            Some(before) => timeline.usage_after(before),
            None => timeline.start,
        };
        let mut view = RangeView {
            begin,
            end,
            before_bytes: before.allocated,
            after_bytes: before.allocated,
            peak_bytes: before.allocated,
            ..RangeView::default()
        };
        for entry in begin..end {
            let allocated = timeline.usage_after(entry).allocated;
            // A block released before the trace has the entry 0 for its release, too.
            let sinks = allocated < view.after_bytes;
            view.after_bytes = allocated;
            view.peak_bytes = view.peak_bytes.max(allocated);
            let Some(allocation) =
                timeline.allocation_of(entry).and_then(|id| timeline.allocation(id))
            else {
                continue;
            };
            if allocation.begin() == Some(entry) {
                view.allocated.add(allocation.size);
                if allocation.last_entry() >= end {
                    view.kept.add(allocation.size);
                }
            } else if sinks && allocation.free_requested() == Some(entry) {
                view.freed.add(allocation.size);
            }
        }
        view
    }
}

/// The next entry after `entry` (or the last before it) at which a step begins or a request failed.
#[must_use]
pub fn stop(device: &Device, entry: u32, forward: bool) -> Option<u32> {
    let steps = device.steps.iter().map(|step| step.begin);
    let stops = steps.chain(device.timeline.ooms.iter().map(|oom| oom.entry));
    if forward {
        stops.filter(|stop| *stop > entry).min()
    } else {
        stops.filter(|stop| *stop < entry).max()
    }
}
