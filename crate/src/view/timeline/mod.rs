//! The timeline of one device, cut down to pixel columns.

pub mod axis;
pub mod groups;
mod marks;
pub mod pixels;

use crate::findings::Device;
pub use crate::findings::spans::Span;
use crate::snapshot::Snapshot;
use crate::timeline::allocation::AllocationId;
use crate::timeline::usage::Usage;
use axis::{Along, Axis};
use groups::Groups;
pub use marks::Mark;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A range of places of the axis as columns of at most the picture's width.
///
/// A place is an entry, or a tick of time. Column `c` covers the places from
/// `begin + c * (end - begin) / columns` up to the next column's first. All byte columns hold
/// `columns` numbers; bytes are `f64`, exact up to 2^53.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimelineView {
    /// The device whose trace this is.
    pub device: u32,
    /// What lies along the axis.
    pub along: Along,
    /// Microseconds of one place; 1 where places are entries.
    pub tick_us: f64,
    /// Entries of the whole trace.
    pub entries: u32,
    /// Places of the whole axis.
    pub length: u32,
    /// First place shown.
    pub begin: u32,
    /// One past the last place shown.
    pub end: u32,
    /// Pixel columns; never more than places shown.
    pub columns: u32,
    /// The bands, lowest first; a band without a byte in the whole trace is left out.
    pub bands: Vec<Band>,
    /// Largest number of bytes to make room for: the largest reserved of the whole trace, or the
    /// limit where that is little more.
    pub top_bytes: f64,
    /// What refused a request, if it is near enough to be drawn.
    pub limit_bytes: Option<f64>,
    /// Points of interest inside the range, in order; `place` is where they lie.
    pub marks: Vec<Mark>,
    /// The places where segments went back to the driver, at most one a column.
    pub returned: Vec<u32>,
    /// The shape of the usage in the first lane, then the annotated ranges, as far as they overlap
    /// the range shown. Begin and end are places.
    pub spans: Vec<Span>,
    /// Whether freed blocks ever await another stream.
    pub awaits: bool,
    /// First and one past the last entry shown.
    pub shown_entries: (u32, u32),
    /// Time of the first and the last entry shown, µs since the Unix epoch; absent where the file
    /// has no clock.
    pub time_us: Option<(f64, f64)>,
    /// The first entry of each column, and one past the last of all: `columns + 1` numbers.
    #[serde(skip)]
    pub column_entries: Vec<u32>,
    /// The fullest entry of each column; of a column without one, the entry before it.
    #[serde(skip)]
    pub moments: Vec<u32>,
    /// Allocated bytes of each band at the fullest entry of each column: band after band, each of
    /// `columns` numbers.
    #[serde(skip)]
    pub band_bytes: Vec<f64>,
    /// Active bytes at the same entries: what is allocated, and what was freed and is awaited by
    /// another stream.
    #[serde(skip)]
    pub active_bytes: Vec<f64>,
    /// The largest reserved bytes of each column.
    #[serde(skip)]
    pub reserved_bytes: Vec<f64>,
    /// What a replay under other settings reserves, by column; shorter where it ran out, empty where
    /// none is shown.
    #[serde(skip)]
    pub overlay_bytes: Vec<f64>,
}

/// One colour of the stack.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Band {
    /// Its colour: a category, spelled as in the report (`weights`, `gradients`, …), or a line's.
    pub key: String,
    /// What it stands for, for people.
    pub label: String,
    /// What the stacks of a line contain; absent for a category.
    pub text: Option<String>,
}

/// Spans shown at once; a trace of annotated kernels has thousands.
const SPANS: usize = 400;

/// A limit further above the largest reserved would press the picture flat.
const LIMIT_NEAR: f64 = 1.35;

impl TimelineView {
    /// The places of `device` from `begin` to `end` (exclusive; cut to the axis) in at most
    /// `width_px` columns. Without a trace there is one column, the state at the end.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        device: &Device,
        groups: &Groups,
        along: Along,
        (begin, end): (u32, u32),
        width_px: u32,
    ) -> TimelineView {
        let timeline = &device.timeline;
        let entries = timeline.entries();
        let axis = Axis::of(snapshot, timeline.device, entries, along);
        let end = end.min(axis.length()).max(1);
        let begin = begin.min(end - 1);
        let columns = width_px.clamp(1, 1 << 14).min(end - begin);
        let edges = axis.edges(&(begin..end), columns);
        let (first, last) = (edges[0], edges[columns as usize].max(edges[0]));
        let time = |entry: u32| {
            snapshot
                .entry(timeline.device, entry)
                .and_then(|entry| entry.time_us)
                .map(|time| time as f64)
        };
        let peak = timeline.peaks.reserved;
        let limit = limit_bytes(snapshot, device)
            .map(|bytes| bytes as f64)
            .filter(|bytes| *bytes <= LIMIT_NEAR * peak.bytes as f64);
        let mut view = TimelineView {
            device: timeline.device,
            along: axis.along(),
            tick_us: axis.tick_us() as f64,
            entries,
            length: axis.length(),
            begin,
            end,
            columns,
            bands: groups.bands.clone(),
            top_bytes: limit.unwrap_or(0.0).max(peak.bytes as f64),
            limit_bytes: limit,
            marks: marks::marks(timeline, &axis, first..last),
            returned: marks::returned(timeline, &axis, &edges),
            spans: spans(device, &axis, begin..end),
            awaits: timeline.awaits,
            shown_entries: (first, last),
            time_us: time(first).zip(time(last.saturating_sub(1))),
            ..TimelineView::default()
        };
        view.fill(device, groups, &edges);
        view.column_entries = edges;
        view
    }

    /// The bytes of the columns whose entries lie between `edges`.
    fn fill(&mut self, device: &Device, groups: &Groups, edges: &[u32]) {
        let timeline = &device.timeline;
        let columns = self.columns as usize;
        let first = edges.first().copied().unwrap_or(0);
        let mut held = held_before(device, groups, first);
        let mut usage = match first.checked_sub(1) {
            Some(before) => timeline.usage_after(before),
            None => timeline.start,
        };
        self.band_bytes = vec![0.0; groups.bands.len() * columns];
        self.active_bytes = vec![0.0; columns];
        self.moments = vec![0; columns];
        self.reserved_bytes = vec![0.0; columns];
        for column in 0..columns {
            let range = edges[column]..edges[column + 1];
            self.fill_column(device, groups, column, range, &mut held, &mut usage);
        }
    }

    /// The bytes of one column; `held` and `usage` go on from the state before it to the one after.
    // Never inlined: see `crate::batches`.
    #[inline(never)]
    fn fill_column(
        &mut self,
        device: &Device,
        groups: &Groups,
        column: usize,
        Range { start: from, end: to }: Range<u32>,
        held: &mut [u64],
        usage: &mut Usage,
    ) {
        let columns = self.columns as usize;
        let mut fullest: Option<u64> = None;
        let mut reserved = 0;
        // A column without an entry shows what the entry before it left. So does a device without a
        // trace.
        for entry in from..to.max(from + 1) {
            if entry < to {
                self.change(device, groups, entry, held);
                *usage = device.timeline.usage_after(entry);
            }
            reserved = usage.reserved.max(reserved);
            if fullest.is_none_or(|fullest| usage.allocated > fullest) {
                fullest = Some(usage.allocated);
                for (band, bytes) in held.iter().enumerate() {
                    self.band_bytes[band * columns + column] = *bytes as f64;
                }
                self.active_bytes[column] = usage.active as f64;
                self.moments[column] = if entry < to { entry } else { from.saturating_sub(1) };
            }
        }
        self.reserved_bytes[column] = reserved as f64;
    }

    /// What an entry adds to or takes from what the program holds.
    fn change(&self, device: &Device, groups: &Groups, entry: u32, held: &mut [u64]) {
        let Some(id) = device.timeline.allocation_of(entry) else { return };
        let Some(allocation) = device.timeline.allocation(id) else { return };
        let Some(bytes) = held.get_mut(groups.get(id)) else { return };
        if allocation.begin() == Some(entry) {
            *bytes = bytes.saturating_add(allocation.size);
        } else if allocation.free_requested() == Some(entry) {
            *bytes = bytes.saturating_sub(allocation.size);
        }
    }

    /// The entry that stands at a place: of a time, the fullest of its column.
    #[must_use]
    pub fn entry_at(&self, place: u32) -> u32 {
        let last = self.entries.saturating_sub(1);
        if self.along == Along::Entries {
            return place.min(last);
        }
        let shown = self.end.saturating_sub(self.begin).max(1);
        let inside = place.clamp(self.begin, self.end.saturating_sub(1)) - self.begin;
        let column = axis::share(inside, self.columns, shown) as usize;
        self.moments.get(column).map_or(last, |entry| (*entry).min(last))
    }

    /// The place of an entry; of one outside of the times shown, none.
    #[must_use]
    pub fn place_of(&self, entry: u32) -> Option<u32> {
        if self.along == Along::Entries {
            return Some(entry);
        }
        let after = self.column_entries.partition_point(|first| *first <= entry);
        let column = u32::try_from(after.checked_sub(1)?).ok().filter(|it| *it < self.columns)?;
        let length = self.end - self.begin;
        let (from, to) = (column, column + 1);
        let place = |column| self.begin + axis::share(column, length, self.columns);
        Some(place(from) + (place(to) - place(from)) / 2)
    }

    /// The places of a range of entries, the end exclusive, as far as it is shown.
    #[must_use]
    pub fn range_of(&self, begin: u32, end: u32) -> Option<(u32, u32)> {
        if self.along == Along::Entries {
            return Some((begin, end));
        }
        let (first, last) = self.shown_entries;
        (begin < last && end > first).then(|| {
            let from = self.place_of(begin).unwrap_or(self.begin);
            let to = self.place_of(end.saturating_sub(1)).unwrap_or(self.end);
            (from, to.max(from + 1))
        })
    }

    /// Lays what a replay reserved after each entry over the picture.
    pub fn overlay(&mut self, reserved: &[u64]) {
        let highest = reserved.iter().copied().max().unwrap_or(0);
        self.top_bytes = self.top_bytes.max(highest as f64);
        let edges = self.column_entries.windows(2);
        self.overlay_bytes = edges
            .map_while(|edge| {
                let from = edge[0].min(self.entries.saturating_sub(1)) as usize;
                let to = (edge[1] as usize).clamp(from + 1, reserved.len().max(from + 1));
                reserved.get(from..to)?.iter().max().map(|bytes| *bytes as f64)
            })
            .collect();
    }
}

/// What the program holds before an entry, by group.
fn held_before(device: &Device, groups: &Groups, entry: u32) -> Vec<u64> {
    let timeline = &device.timeline;
    let mut held = vec![0_u64; groups.bands.len()];
    let mut add = |id: AllocationId, bytes: u64| {
        if let Some(sum) = held.get_mut(groups.get(id)) {
            *sum = sum.saturating_add(bytes);
        }
    };
    if let Some(before) = entry.checked_sub(1) {
        timeline.live_after(before).for_each(|(id, allocation)| add(id, allocation.size));
    } else if timeline.entries() == 0 {
        timeline.live_after(0).for_each(|(id, allocation)| add(id, allocation.size));
    } else {
        let older = (0..).map(AllocationId).zip(&timeline.allocations).take(timeline.older);
        for (id, allocation) in older {
            // Released at entry 0 by that entry itself, or before the trace.
            if allocation.free_requested() != Some(0) || timeline.allocation_of(0) == Some(id) {
                add(id, allocation.size);
            }
        }
    }
    held
}

/// The most that the device gave where it refused a request; `None` where nothing failed.
fn limit_bytes(snapshot: &Snapshot, device: &Device) -> Option<u64> {
    let oom = device.timeline.ooms.last()?;
    let known = device.recording(snapshot).verification.limit;
    Some(known.at_least.max(oom.usage.reserved))
}

fn spans(device: &Device, axis: &Axis<'_>, shown: Range<u32>) -> Vec<Span> {
    let shape = device.shape.map(|shape| Span {
        name: shape.form.label().to_owned(),
        begin: shape.begin,
        end: shape.end,
        lane: 0,
    });
    // Below the shape's lane.
    let annotated = device.spans.iter().map(|span| Span { lane: span.lane + 1, ..span.clone() });
    shape
        .into_iter()
        .chain(annotated)
        .map(|span| Span { begin: axis.place_of(span.begin), end: axis.place_of(span.end), ..span })
        .filter(|span| span.begin < shown.end && span.end > shown.start)
        .take(SPANS)
        .collect()
}
