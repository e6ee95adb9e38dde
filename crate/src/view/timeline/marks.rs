//! Points of interest on a timeline.

use super::axis::Axis;
use crate::findings::Device;
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::usage::UsageColumns;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One entry worth a mark.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Mark {
    /// `oom`, `peak` or `snapshot`.
    pub kind: String,
    /// The entry.
    pub entry: u32,
    /// Where it lies on the axis.
    pub place: u32,
    /// What to write beside it.
    pub label: String,
}

/// Marks of one kind shown at once.
const MOST: usize = 64;

/// The marks of the entries shown, in their order.
pub(super) fn marks(
    snapshot: &Snapshot,
    device: &Device,
    axis: &Axis<'_>,
    shown: Range<u32>,
) -> Vec<Mark> {
    let timeline = &device.timeline;
    let mark = |kind: &str, entry: u32, label: String| Mark {
        kind: kind.to_owned(),
        entry,
        place: axis.place_of(entry),
        label,
    };
    let ooms = timeline.ooms.iter().filter(|oom| shown.contains(&oom.entry)).take(MOST);
    let mut marks: Vec<Mark> = ooms
        .map(|oom| mark("oom", oom.entry, format!("out of memory: {}", Bytes(oom.request_bytes))))
        .collect();
    let peak = UsageColumns::peak(&timeline.usage.allocated, timeline.start.allocated);
    if shown.contains(&peak.entry) && timeline.entries() > 0 {
        marks.push(mark("peak", peak.entry, format!("peak: {}", Bytes(peak.bytes))));
    }
    let first = snapshot.trace(timeline.device).start;
    let is_dump =
        |entry: &u32| snapshot.entries.action(first + *entry as usize) == Some(Action::Snapshot);
    let dumps = shown.filter(is_dump).take(MOST);
    marks.extend(dumps.map(|entry| mark("snapshot", entry, "earlier snapshot".into())));
    marks.sort_by_key(|mark| mark.entry);
    marks
}

/// Where segments went back to the driver, as places of the axis; of each column the first.
pub(super) fn returned(
    snapshot: &Snapshot,
    device: u32,
    axis: &Axis<'_>,
    edges: &[u32],
) -> Vec<u32> {
    let first = snapshot.trace(device).start;
    let goes = |entry: &u32| {
        let action = snapshot.entries.action(first + *entry as usize);
        matches!(action, Some(Action::SegmentFree | Action::SegmentUnmap))
    };
    let columns = edges.windows(2);
    columns
        .filter_map(|edge| (edge[0]..edge[1]).find(goes))
        .map(|entry| axis.place_of(entry))
        .collect()
}
