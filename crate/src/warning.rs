//! What was odd but survivable: counted by kind, each with its first place.

use serde::Serialize;

/// A kind of oddity that the reader lives with.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// A key that no known PyTorch version writes.
    UnknownKey,
    /// A trace entry's action that is not known; it is left out of the accounting.
    UnknownAction,
    /// A block's state that is not known; it counts as allocated.
    UnknownState,
    /// Something other than the expected records stands in a list; it is left out.
    StrayValue,
    /// A segment whose blocks do not fill it exactly.
    BlocksDoNotFillSegment,
    /// A segment's own totals disagree with its blocks.
    SegmentTotalsDisagree,
    /// Memory was allocated at an address that was live.
    AllocationOverLive,
    /// Something was freed that was not live and cannot have been.
    FreeOfUnknown,
    /// A free was completed that was never requested.
    FreeNotRequested,
    /// An allocation lies in no known segment.
    OutsideSegments,
    /// An allocation lies where the layout has no hole for it.
    NoHole,
    /// A segment entry contradicts the segments known at that moment.
    SegmentContradiction,
    /// The trace, replayed, does not end in the file's own segments.
    EndsElsewhere,
    /// Times run backwards.
    TimeRunsBack,
    /// Bytes follow the end of the pickle.
    TrailingBytes,
}

impl WarningKind {
    /// One clause for people; the count and the first place are shown beside it.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            WarningKind::UnknownKey => "keys that no known PyTorch version writes were skipped",
            WarningKind::UnknownAction => {
                "entries with an unknown action were left out of the accounting"
            }
            WarningKind::UnknownState => "blocks in an unknown state were counted as allocated",
            WarningKind::StrayValue => "values of an unexpected kind in a list were skipped",
            WarningKind::BlocksDoNotFillSegment => {
                "segments are not filled exactly by their blocks"
            }
            WarningKind::SegmentTotalsDisagree => {
                "segments state totals that differ from their blocks"
            }
            WarningKind::AllocationOverLive => {
                "allocations were made at an address still live: a free was not recorded"
            }
            WarningKind::FreeOfUnknown => "frees name an address that was not live",
            WarningKind::FreeNotRequested => "frees were completed without having been requested",
            WarningKind::OutsideSegments => "allocations lie outside every known segment",
            WarningKind::NoHole => {
                "allocations lie where no hole was known; their rounding is estimated"
            }
            WarningKind::SegmentContradiction => {
                "segment entries contradict the segments known at that moment"
            }
            WarningKind::EndsElsewhere => {
                "blocks at the end of the replayed trace differ from the file's segments"
            }
            WarningKind::TimeRunsBack => "entries are older than the one before them",
            WarningKind::TrailingBytes => "bytes after the end of the pickle were ignored",
        }
    }
}

/// How often one oddity was met, and where first.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Warning {
    /// What was odd.
    pub kind: WarningKind,
    /// How many times.
    pub count: u64,
    /// The first place: a path into the file, or a device and entry.
    pub first: String,
}

/// The oddities met so far, one [`Warning`] a kind, in the order first met.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Counts one more `kind`; `place` is asked for the first only.
    pub fn add(&mut self, kind: WarningKind, place: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|warning| warning.kind == kind) {
            Some(warning) => warning.count = warning.count.saturating_add(1),
            None => self.0.push(Warning { kind, count: 1, first: place() }),
        }
    }

    /// Takes over the other's counts; its first places stay behind ours.
    pub fn merge(&mut self, other: &Warnings) {
        for theirs in &other.0 {
            match self.0.iter_mut().find(|warning| warning.kind == theirs.kind) {
                Some(warning) => warning.count = warning.count.saturating_add(theirs.count),
                None => self.0.push(theirs.clone()),
            }
        }
    }

    /// All of them; empty for a file without oddities.
    #[must_use]
    pub fn as_slice(&self) -> &[Warning] {
        &self.0
    }
}
