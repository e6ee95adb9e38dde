//! The timeline of one device, cut down to pixel columns.

use crate::findings::Device;
use crate::findings::category::Category;
pub use crate::findings::spans::Span;
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::allocation::AllocationId;
use crate::timeline::usage::UsageColumns;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A range of trace entries as columns of at most the picture's width.
///
/// Column `c` covers the entries from `begin + c * (end - begin) / columns` up to the next column's
/// first. All byte columns hold `columns` numbers; bytes are `f64`, exact up to 2^53.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimelineView {
    /// The device whose trace this is.
    pub device: u32,
    /// Entries of the whole trace.
    pub entries: u32,
    /// First entry shown.
    pub begin: u32,
    /// One past the last entry shown.
    pub end: u32,
    /// Pixel columns; never more than entries shown.
    pub columns: u32,
    /// The bands, lowest first; a band without a byte in the whole trace is left out.
    pub bands: Vec<Band>,
    /// Largest number of bytes to make room for: the largest reserved of the whole trace.
    pub top_bytes: f64,
    /// Points of interest inside the range, in entry order.
    pub marks: Vec<Mark>,
    /// The shape of the usage in the first lane, then the annotated ranges, as far as they overlap
    /// the range shown.
    pub spans: Vec<Span>,
    /// Time of the first and the last entry shown, µs since the Unix epoch; absent where the file
    /// has no clock.
    pub time_us: Option<(f64, f64)>,
    /// Allocated bytes of each band at the fullest entry of each column: band after band, each of
    /// `columns` numbers.
    #[serde(skip)]
    pub band_bytes: Vec<f64>,
    /// The largest reserved bytes of each column.
    #[serde(skip)]
    pub reserved_bytes: Vec<f64>,
    /// What a replay under other settings reserves, by column; shorter where it ran out, empty where
    /// none is shown.
    #[serde(skip)]
    pub overlay_bytes: Vec<f64>,
}

/// One colour of the stack.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Band {
    /// The category, spelled as in the report: `weights`, `gradients`, …
    pub category: String,
    /// The same for people.
    pub label: String,
}

/// One entry worth a mark.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Mark {
    /// `oom`, `peak` or `snapshot`.
    pub kind: String,
    /// The entry.
    pub entry: u32,
    /// What to write beside it.
    pub label: String,
}

/// Spans shown at once; a trace of annotated kernels has thousands.
const SPANS: usize = 400;

impl TimelineView {
    /// The entries of `device` from `begin` to `end` (exclusive; cut to the trace) in at most
    /// `width_px` columns. Without a trace there is one column, the state at the end.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        device: &Device,
        begin: u32,
        end: u32,
        width_px: u32,
    ) -> TimelineView {
        let timeline = &device.timeline;
        let entries = timeline.entries();
        let end = end.min(entries).max(1);
        let begin = begin.min(end - 1);
        let columns = width_px.clamp(1, 1 << 14).min(end - begin);
        let mut composition: Vec<u64> = composition_before(device, begin);
        let mut stacked = vec![0_u64; 10 * columns as usize];
        let mut reserved = vec![timeline.start.reserved; columns as usize];
        for column in 0..columns {
            let from = begin + share(column, end - begin, columns);
            let to = begin + share(column + 1, end - begin, columns);
            let mut fullest: Option<u64> = None;
            for entry in from..to {
                if let Some((category, bytes, is_begin)) = change(device, entry) {
                    let total = &mut composition[category.place()];
                    *total = if is_begin {
                        total.saturating_add(bytes)
                    } else {
                        total.saturating_sub(bytes)
                    };
                }
                let usage = timeline.usage_after(entry);
                let highest = &mut reserved[column as usize];
                *highest = usage.reserved.max(if entry == from { 0 } else { *highest });
                if fullest.is_none_or(|fullest| usage.allocated > fullest) {
                    fullest = Some(usage.allocated);
                    for (band, bytes) in composition.iter().enumerate() {
                        stacked[band * columns as usize + column as usize] = *bytes;
                    }
                }
            }
        }
        let shown = shown_bands(device);
        let band_bytes = shown
            .iter()
            .flat_map(|band| &stacked[band * columns as usize..(band + 1) * columns as usize])
            .map(|bytes| *bytes as f64)
            .collect();
        let spans = device
            .shape
            .map(|shape| Span {
                name: shape.form.label().to_owned(),
                begin: shape.begin,
                end: shape.end,
                lane: 0,
            })
            .into_iter()
            // Below the shape's lane.
            .chain(device.spans.iter().map(|span| Span { lane: span.lane + 1, ..span.clone() }))
            .filter(|span| span.begin < end && span.end > begin)
            .take(SPANS)
            .collect();
        let time = |entry: u32| {
            snapshot
                .entry(timeline.device, entry)
                .and_then(|entry| entry.time_us)
                .map(|time| time as f64)
        };
        TimelineView {
            device: timeline.device,
            entries,
            begin,
            end,
            columns,
            bands: shown
                .iter()
                .map(|band| Category::ALL[*band])
                .map(|category| Band {
                    category: category.name().to_owned(),
                    label: category.label().to_owned(),
                })
                .collect(),
            top_bytes: UsageColumns::peak(&timeline.usage.reserved, timeline.start.reserved).bytes
                as f64,
            marks: marks(snapshot, device, begin, end),
            spans,
            time_us: time(begin).zip(time(end - 1)),
            band_bytes,
            reserved_bytes: reserved.into_iter().map(|bytes| bytes as f64).collect(),
            overlay_bytes: Vec::new(),
        }
    }

    /// Lays what a replay reserved after each entry over the picture.
    pub fn overlay(&mut self, reserved: &[u64]) {
        let highest = reserved.iter().copied().max().unwrap_or(0);
        self.top_bytes = self.top_bytes.max(highest as f64);
        let length = self.end - self.begin;
        self.overlay_bytes = (0..self.columns)
            .map_while(|column| {
                let from = self.begin + share(column, length, self.columns);
                let to = self.begin + share(column + 1, length, self.columns);
                let shown = reserved.get(from as usize..(to as usize).min(reserved.len()))?;
                shown.iter().max().map(|bytes| *bytes as f64)
            })
            .collect();
    }
}

/// `part` of `whole` parts of `length`, rounded down.
fn share(part: u32, length: u32, whole: u32) -> u32 {
    u32::try_from(u64::from(part) * u64::from(length) / u64::from(whole.max(1))).unwrap_or(length)
}

/// What an entry adds to or takes from what the program holds.
fn change(device: &Device, entry: u32) -> Option<(Category, u64, bool)> {
    let id = device.timeline.allocation_of(entry)?;
    let allocation = device.timeline.allocation(id)?;
    let is_begin = allocation.begin() == Some(entry);
    (is_begin || allocation.free_requested() == Some(entry))
        .then(|| (device.category(id), allocation.size, is_begin))
}

/// The composition before `entry`.
fn composition_before(device: &Device, entry: u32) -> Vec<u64> {
    if let Some(before) = entry.checked_sub(1) {
        return device.composition(before).to_vec();
    }
    let mut composition = vec![0; 10];
    if device.timeline.entries() == 0 {
        return device.composition(0).to_vec();
    }
    for (id, allocation) in
        (0..).map(AllocationId).zip(&device.timeline.allocations).take(device.timeline.older)
    {
        // Released at entry 0 by that entry itself, or before the trace.
        if allocation.free_requested() != Some(0) || device.timeline.allocation_of(0) == Some(id) {
            composition[device.category(id).place()] += allocation.size;
        }
    }
    composition
}

/// The categories that hold anything at any time, by their place.
fn shown_bands(device: &Device) -> Vec<usize> {
    let mut seen = [false; 10];
    for class in &device.classes {
        seen[class.category.place()] = true;
    }
    (0..10).filter(|band| seen[*band]).collect()
}

fn marks(snapshot: &Snapshot, device: &Device, begin: u32, end: u32) -> Vec<Mark> {
    let timeline = &device.timeline;
    let is_inside = |entry: u32| (begin..end).contains(&entry);
    let mut marks: Vec<Mark> = timeline
        .ooms
        .iter()
        .filter(|oom| is_inside(oom.entry))
        .take(64)
        .map(|oom| Mark {
            kind: "oom".to_owned(),
            entry: oom.entry,
            label: format!("out of memory: {}", Bytes(oom.request_bytes)),
        })
        .collect();
    let peak = UsageColumns::peak(&timeline.usage.allocated, timeline.start.allocated);
    if is_inside(peak.entry) && timeline.entries() > 0 {
        marks.push(Mark {
            kind: "peak".to_owned(),
            entry: peak.entry,
            label: format!("peak: {}", Bytes(peak.bytes)),
        });
    }
    let snapshots = (begin..end).filter(|entry| {
        snapshot
            .entry(timeline.device, *entry)
            .is_some_and(|entry| entry.action == Action::Snapshot)
    });
    marks.extend(snapshots.take(64).map(|entry| Mark {
        kind: "snapshot".to_owned(),
        entry,
        label: "earlier snapshot".to_owned(),
    }));
    marks.sort_by_key(|mark| mark.entry);
    marks
}
