//! Annotated ranges, placed on a device's entries by their times.

use crate::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// An annotated range (`record_function`) of the trace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Span {
    /// The annotation's name.
    pub name: String,
    /// First entry after its start.
    pub begin: u32,
    /// One past the last entry before its end.
    pub end: u32,
    /// Nesting level, outermost 0.
    pub lane: u32,
}

/// The ranges of `record_function` as ranges of entries, in order of their begin.
///
/// Ranges of several threads interleave, so an end is paired with the latest open start of its
/// name; a range without a start began before the recording, one without an end outlived it.
#[must_use]
pub fn spans_of(snapshot: &Snapshot, device: u32) -> Vec<Span> {
    let trace = snapshot.trace(device);
    let count = u32::try_from(trace.len()).unwrap_or(u32::MAX);
    if snapshot.annotations.is_empty() || snapshot.entries.time_us(trace.start).is_none() {
        return Vec::new();
    }
    let times: Vec<i64> =
        trace.clone().map(|index| snapshot.entries.time_us(index).unwrap_or(i64::MIN)).collect();
    let first_at =
        |time: i64| u32::try_from(times.partition_point(|entry| *entry < time)).unwrap_or(count);
    let mut order: Vec<usize> = (0..snapshot.annotations.len()).collect();
    order.sort_by_key(|place| snapshot.annotations[*place].time_us);
    let mut open: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    let mut spans: Vec<Span> = Vec::new();
    for place in order {
        let annotation = snapshot.annotations[place];
        let entry = first_at(annotation.time_us);
        if annotation.is_start {
            open.entry(annotation.name).or_default().push(spans.len());
            spans.push(Span {
                name: snapshot.texts.get(annotation.name).to_owned(),
                begin: entry,
                end: count,
                lane: 0,
            });
        } else if let Some(span) = open.get_mut(&annotation.name).and_then(Vec::pop) {
            spans[span].end = entry;
        } else {
            spans.push(Span {
                name: snapshot.texts.get(annotation.name).to_owned(),
                begin: 0,
                end: entry,
                lane: 0,
            });
        }
    }
    spans.sort_by(|a, b| a.begin.cmp(&b.begin).then(b.end.cmp(&a.end)));
    // Lanes: each span below the ones that are still going on.
    let mut ends: Vec<u32> = Vec::new();
    for span in &mut spans {
        let lane = ends.iter().position(|end| *end <= span.begin).unwrap_or(ends.len());
        if lane == ends.len() {
            ends.push(span.end);
        } else {
            ends[lane] = span.end;
        }
        span.lane = u32::try_from(lane).unwrap_or(u32::MAX);
    }
    spans
}
