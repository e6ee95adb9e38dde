//! The texts of a JSON snapshot.

use super::path;
use crate::error::Result;
use std::borrow::Cow;

/// Copies whole texts and what lies between them to `out`, each without folders. Answers the bytes
/// done with; where a JSON text ends only its file tells.
pub(super) fn replace_texts(bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool)> {
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'"') {
        out.extend_from_slice(&bytes[at..at + length]);
        at += length;
        let Some(end) = end_of(&bytes[at..]) else { return Ok((at, false)) };
        let token = &bytes[at..at + end];
        match serde_json::from_slice::<String>(token).as_deref().map(path::stripped) {
            Ok(Cow::Borrowed(_)) => out.extend_from_slice(token),
            Ok(Cow::Owned(short)) => {
                out.extend_from_slice(serde_json::Value::from(short).to_string().as_bytes());
            }
            // Half a surrogate pair: nothing tells what it says.
            Err(_) => out.extend_from_slice(b"\"\""),
        }
        at += end;
    }
    out.extend_from_slice(&bytes[at..]);
    Ok((bytes.len(), false))
}

/// Where the text at the head ends, its quotes included.
fn end_of(bytes: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let inside = bytes.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    inside.map(|at| at + 2)
}
