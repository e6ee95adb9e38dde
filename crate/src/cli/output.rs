//! What every command does: open a snapshot, print a value as text or JSON.

use oomscope::error::Error;
use oomscope::snapshot::{self, Snapshot};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

pub(crate) fn print(value: &impl Serialize, text: &impl Display, json: bool) -> Result<(), String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if json {
        serde_json::to_writer_pretty(&mut out, value)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        // A file's names must not move the cursor of a terminal.
        let is_odd = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        out.write_all(text.to_string().replace(is_odd, "\u{fffd}").as_bytes())
    };
    printed(written.and_then(|()| out.flush()))
}

pub(crate) fn print_line(text: &impl Display) -> Result<(), String> {
    printed(writeln!(std::io::stdout().lock(), "{text}"))
}

fn printed(written: std::io::Result<()>) -> Result<(), String> {
    match written {
        // The reader of a pipe has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("the report cannot be written: {error}")),
    }
}

/// The snapshot, and the bytes of its file.
pub(crate) fn open(path: &Path) -> Result<(Snapshot, u64), String> {
    let file = source(path)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let snapshot = snapshot::read(file).map_err(|error: Error| error.to_string())?;
    Ok((snapshot, bytes))
}

/// The file, which is no folder.
pub(crate) fn source(path: &Path) -> Result<File, String> {
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err("this is a folder; name the snapshot inside it.".to_owned());
    }
    Ok(file)
}

fn unreadable(error: std::io::Error) -> String {
    format!("the file cannot be read: {error}; check that it exists and may be read.")
}
