//! The timeline of one device, cut down to pixel columns.

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
    /// Annotated ranges that overlap the range shown, in order of their begin.
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
