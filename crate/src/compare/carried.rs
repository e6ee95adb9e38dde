//! A whole run as bytes, from the worker that read its file to the one that compares.

use super::fit::Fit;
use super::run::{Live, Run};
use serde::{Deserialize, Serialize};

/// A run with what a summary leaves out.
#[derive(Deserialize)]
struct Carried {
    run: Run,
    live: Vec<Live>,
    fits: Vec<Fit>,
    is_summary: bool,
}

/// The same, borrowed.
#[derive(Serialize)]
struct Carrying<'a> {
    run: &'a Run,
    live: &'a [Live],
    fits: &'a [Fit],
    is_summary: bool,
}

/// All of a run.
///
/// # Errors
/// None that a run can cause.
pub fn to_bytes(run: &Run) -> serde_json::Result<Vec<u8>> {
    let Run { live, fits, is_summary, .. } = run;
    serde_json::to_vec(&Carrying { run, live, fits, is_summary: *is_summary })
}

/// The run in what [`to_bytes`] wrote.
///
/// # Errors
/// The bytes are of something else.
pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Run> {
    let Carried { run, live, fits, is_summary } = serde_json::from_slice(bytes)?;
    Ok(Run { live, fits, is_summary, ..run })
}
