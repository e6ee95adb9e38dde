//! What lies along a timeline: its entries, or their times.

use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What makes the width of a stretch of the timeline.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// The number of its entries.
    #[default]
    Entries,
    /// The time it took.
    Time,
}

/// More places than this are too many for an axis; a longer time has coarser ticks.
const PLACES: u64 = 1 << 31;

/// The axis of a device's trace. Its *places* are entries, or ticks of time since the first entry.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    snapshot: &'a Snapshot,
    trace: (usize, u32),
    along: Along,
    start_us: i64,
    tick_us: u64,
    length: u32,
}

impl<'a> Axis<'a> {
    /// The axis of a trace of so many entries. Where the file has no clock, or all entries have one
    /// time, there is none but that of the entries.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot, device: u32, entries: u32, along: Along) -> Axis<'a> {
        let trace = (snapshot.trace(device).start, entries);
        let plain = Axis {
            snapshot,
            trace,
            along: Along::Entries,
            start_us: 0,
            tick_us: 1,
            length: entries,
        };
        let time = |entry: u32| snapshot.entries.time_us(trace.0 + entry as usize);
        let last = entries.saturating_sub(1);
        match (along, time(0).zip(time(last)).filter(|_| entries > 0)) {
            (Along::Time, Some((start_us, end_us))) if end_us > start_us => {
                let us = start_us.abs_diff(end_us);
                let tick_us = us.div_ceil(PLACES).max(1);
                let length = u32::try_from(us / tick_us + 1).unwrap_or(u32::MAX);
                Axis { along, start_us, tick_us, length, ..plain }
            }
            _ => plain,
        }
    }

    /// What the places are.
    #[must_use]
    pub fn along(&self) -> Along {
        self.along
    }

    /// Number of places.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Microseconds of one place; 1 where places are entries.
    #[must_use]
    pub fn tick_us(&self) -> u64 {
        self.tick_us
    }

    /// The first entry at or after a place; the number of entries past the last.
    #[must_use]
    pub fn entry_from(&self, place: u32) -> u32 {
        let (_, entries) = self.trace;
        if self.along == Along::Entries {
            return place.min(entries);
        }
        // Clocks of several threads may disagree by a little, which a search survives.
        let (mut low, mut high) = (0, entries);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.place_of(middle) < place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The place of an entry.
    #[must_use]
    pub fn place_of(&self, entry: u32) -> u32 {
        let (first, entries) = self.trace;
        if self.along == Along::Entries {
            return entry;
        }
        if entry >= entries {
            return self.length;
        }
        let time = self.snapshot.entries.time_us(first + entry as usize).unwrap_or(self.start_us);
        let us = time.saturating_sub(self.start_us).max(0).unsigned_abs();
        u32::try_from(us / self.tick_us).unwrap_or(u32::MAX).min(self.length - 1)
    }

    /// The entries of the columns that the places of `shown` are cut into: each column's first
    /// entry, and one past the last entry of all. A column in which nothing happened has none.
    #[must_use]
    pub fn edges(&self, shown: &Range<u32>, columns: u32) -> Vec<u32> {
        let length = shown.end - shown.start;
        let mut last = 0;
        (0..=columns)
            .map(|column| {
                last = self.entry_from(shown.start + share(column, length, columns)).max(last);
                last
            })
            .collect()
    }
}

/// `part` of `whole` parts of `length`, rounded down.
pub(super) fn share(part: u32, length: u32, whole: u32) -> u32 {
    u32::try_from(u64::from(part) * u64::from(length) / u64::from(whole.max(1))).unwrap_or(length)
}
