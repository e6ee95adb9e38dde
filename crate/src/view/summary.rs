//! Summaries: what `oomscope report --json` prints, read back as runs to compare; and runs of
//! either, a summary or a snapshot.

use crate::compare::run::Run;
use crate::container::Source;
use crate::findings::Findings;
use crate::limits;
use crate::snapshot;
use serde::Deserialize;
use std::io::{BufReader, Read};

/// Bytes that tell a summary.
const HEAD: u64 = 64;

/// The part of a report that is read back.
#[derive(Deserialize)]
struct Summary {
    run: Option<Run>,
}

/// The run in a file, whether it is a snapshot or a summary, under the name given. `capacities` are
/// the cards asked about, in bytes; a summary cannot answer them.
///
/// # Errors
/// What is wrong and what to do, in a sentence.
pub fn run_of(
    mut source: impl Source + 'static,
    name: &str,
    capacities: &[u64],
) -> Result<Run, String> {
    if is_summary(&mut source).map_err(|error| unreadable(&error))? {
        let mut text = Vec::new();
        source
            .take(limits::SUMMARY_BYTES)
            .read_to_end(&mut text)
            .map_err(|error| unreadable(&error))?;
        let run = read(&String::from_utf8_lossy(&text))?;
        return Ok(Run { name: name.to_owned(), ..run });
    }
    let snapshot = snapshot::read(source).map_err(|error| error.to_string())?;
    let findings = Findings::of(&snapshot);
    Run::of(&snapshot, &findings, name, capacities).ok_or_else(|| {
        "the file has no memory of any device in it; dump the snapshot in the process that used the GPU.".to_owned()
    })
}

/// Whether a file is a summary; it is left at its beginning.
///
/// # Errors
/// The file cannot be read.
pub fn is_summary(source: &mut impl Source) -> std::io::Result<bool> {
    let mut head = Vec::new();
    source.by_ref().take(HEAD).read_to_end(&mut head)?;
    source.rewind()?;
    Ok(begins(&head))
}

/// Whether a file is JSON to its end: a note that lies beside snapshots and is none, if it could not
/// be read as one.
pub fn is_other_json(source: impl Read) -> bool {
    serde_json::from_reader::<_, serde::de::IgnoredAny>(BufReader::new(source)).is_ok()
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

fn unreadable(error: &std::io::Error) -> String {
    format!("the file cannot be read: {error}; check that it exists and may be read.")
}
