//! Summaries: what `oomscope report --json` prints, read back as runs to compare.

use crate::compare::run::Run;
use serde::Deserialize;

/// The part of a report that is read back.
#[derive(Deserialize)]
struct Summary {
    run: Option<Run>,
}

/// Whether a file that begins like this is a summary.
#[must_use]
pub fn begins(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.trim_start()
        .strip_prefix('{')
        .is_some_and(|rest| rest.trim_start().starts_with("\"oomscope\""))
}

/// The run of a summary.
///
/// # Errors
/// What is wrong and what to do, in a sentence: the text is cut or changed, or the report's file had
/// no memory in it, or an older program wrote it.
pub fn read(text: &str) -> Result<Run, String> {
    let summary: Summary = serde_json::from_str(text).map_err(|error| {
        format!("the summary cannot be read: {error}; write it again with oomscope report --json.")
    })?;
    let mut run = summary.run.ok_or(
        "the summary has nothing to compare in it; write it again with this version's oomscope report --json, from a snapshot of a process that used the GPU.",
    )?;
    run.is_summary = true;
    Ok(run)
}
