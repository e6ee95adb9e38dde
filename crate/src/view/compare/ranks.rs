//! Many runs as a table.

use super::{Part, parts, place};
use crate::compare::Kind;
use crate::compare::ranks::{Overview, Row};
use crate::units::Bytes;
use serde::Serialize;

/// Many runs.
#[derive(Clone, Debug, Serialize)]
pub struct RanksView {
    /// What they are called: `ranks` or `runs`.
    pub noun: &'static str,
    /// Each, in the order given.
    pub rows: Vec<RankRow>,
    /// The largest peak, for the bars' length.
    pub top_bytes: u64,
    /// How far they lie apart, in a sentence.
    pub spread: String,
}

/// One of many runs.
#[derive(Clone, Debug, Serialize)]
pub struct RankRow {
    /// Its name.
    pub name: String,
    /// Most allocated, in bytes.
    pub peak_bytes: u64,
    /// What that consists of; it sums to it.
    pub parts: Vec<Part>,
    /// Most reserved, in bytes.
    pub reserved_bytes: u64,
    /// Steps seen.
    pub steps: u32,
    /// Where the peak lies, in words.
    pub place: String,
    /// The cause in words, or that nothing failed.
    pub cause: String,
    /// Whether a request failed.
    pub ran_out: bool,
    /// Whether it is far from the others, or ran out.
    pub stands_out: bool,
}

impl RanksView {
    pub(super) fn of(overview: &Overview, kind: Kind) -> RanksView {
        let row = |row: &Row| RankRow {
            name: row.name.clone(),
            peak_bytes: row.peak_allocated_bytes,
            parts: parts(&row.parts),
            reserved_bytes: row.peak_reserved_bytes,
            steps: row.steps,
            place: place(row.peak_place),
            cause: row.cause.label().to_owned(),
            ran_out: row.ran_out,
            stands_out: overview.stands_out(row),
        };
        RanksView {
            noun: if kind == Kind::Ranks { "ranks" } else { "runs" },
            rows: overview.rows.iter().map(row).collect(),
            top_bytes: overview.rows.iter().map(|row| row.peak_allocated_bytes).max().unwrap_or(0),
            spread: format!(
                "The median peak is {}, and half of them lie within {} of it.",
                Bytes(overview.median_bytes),
                Bytes(overview.deviation_bytes)
            ),
        }
    }
}
