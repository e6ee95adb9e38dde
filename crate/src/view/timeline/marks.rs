//! Points of interest on a timeline.

use super::axis::Axis;
use crate::timeline::Timeline;
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
pub(super) fn marks(timeline: &Timeline, axis: &Axis<'_>, shown: Range<u32>) -> Vec<Mark> {
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
    let peak = timeline.peaks.allocated;
    if shown.contains(&peak.entry) && timeline.entries() > 0 {
        marks.push(mark("peak", peak.entry, format!("peak: {}", Bytes(peak.bytes))));
    }
    let dumps = timeline.dumps.iter().filter(|entry| shown.contains(entry)).take(MOST);
    marks.extend(dumps.map(|entry| mark("snapshot", *entry, "earlier snapshot".into())));
    marks.sort_by_key(|mark| mark.entry);
    marks
}

/// Where segments went back to the driver, as places of the axis; of each column the first.
pub(super) fn returned(timeline: &Timeline, axis: &Axis<'_>, edges: &[u32]) -> Vec<u32> {
    let first_in = |edge: &[u32]| {
        let from = timeline.returns.partition_point(|entry| *entry < edge[0]);
        timeline.returns.get(from).copied().filter(|entry| *entry < edge[1])
    };
    edges.windows(2).filter_map(first_in).map(|entry| axis.place_of(entry)).collect()
}
