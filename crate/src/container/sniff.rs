//! What a file is, by its first bytes.

use super::Container;
use crate::error::{Error, ErrorKind, Result};

/// What can be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Pickle,
    Json,
    Gzip,
    Xz,
    Zstd,
    Zip,
    Html,
}

impl Kind {
    pub(super) fn container(self) -> Container {
        match self {
            Kind::Pickle => Container::Pickle,
            Kind::Json => Container::Json,
            Kind::Gzip => Container::Gzip,
            Kind::Xz => Container::Xz,
            Kind::Zstd => Container::Zstd,
            Kind::Zip => Container::Zip,
            Kind::Html => Container::Html,
        }
    }
}

/// Tells the kind from the first bytes.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for everything else, by name where it is known.
pub(super) fn kind(head: &[u8]) -> Result<Kind> {
    const BINARY: &[(&[u8], Kind)] = &[
        (b"\x1f\x8b", Kind::Gzip),
        (b"\xfd7zXZ\0", Kind::Xz),
        (b"\x28\xb5\x2f\xfd", Kind::Zstd),
        (b"PK\x03\x04", Kind::Zip),
        (b"PK\x05\x06", Kind::Zip),
    ];
    if head.is_empty() {
        return Err(Error::new(ErrorKind::NotASnapshot, "the file is empty: the dump was cut short or crashed")
            .advise("record again with torch.cuda.memory._record_memory_history(stacks=\"python\"), whose dump cannot fail on C++ symbols"));
    }
    if let Some((_, kind)) = BINARY.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Ok(*kind);
    }
    if head[0] == 0x80 {
        return Ok(Kind::Pickle);
    }
    if let Some((_, what, remedy)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Err(Error::new(ErrorKind::NotASnapshot, *what).advise(*remedy));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'{' | b'[') => return Ok(Kind::Json),
        Some(b'<') if is_page(text) => return Ok(Kind::Html),
        // Protocols 0 and 1 begin with a mark, an empty list or an empty dict.
        Some(b'(' | b']' | b'}') if text.len() == head.len() => return Ok(Kind::Pickle),
        _ => {}
    }
    Err(other_text(head))
}

const UNPACK: &str = "unpack it, or pack the snapshot as .xz, .zst or .gz";
const DUMP: &str = "open the file that torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") wrote";

const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"BZh", "this is a bzip2 file, which is not read here", UNPACK),
    (b"\x04\x22\x4d\x18", "this is an lz4 file, which is not read here", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "this is a 7z archive, which is not read here", UNPACK),
    (
        b"version https://git-lfs",
        "this is a git-lfs pointer: the content was not fetched",
        "run git lfs pull and open the file again",
    ),
    (
        b"SQLite format 3",
        "this is a SQLite database, perhaps of a profiler, not a memory snapshot",
        DUMP,
    ),
    (b"\x89PNG", "this is a picture, not a memory snapshot", DUMP),
    (b"\xff\xd8\xff", "this is a picture, not a memory snapshot", DUMP),
    (b"%PDF", "this is a PDF document, not a memory snapshot", DUMP),
    (b"\x93NUMPY", "this is a NumPy array, not a memory snapshot", DUMP),
    (b"\x7fELF", "this is a program, not a memory snapshot", DUMP),
];

fn is_page(text: &[u8]) -> bool {
    let start: Vec<u8> = text.iter().take(9).map(u8::to_ascii_lowercase).collect();
    [&b"<!doctype"[..], b"<html", b"<!--", b"<script", b"<head"]
        .iter()
        .any(|tag| start.starts_with(tag))
}

#[cold]
fn other_text(head: &[u8]) -> Error {
    let text = String::from_utf8_lossy(head);
    if text.contains("PyTorch CUDA memory summary") || text.starts_with("|===") {
        return Error::new(ErrorKind::NotASnapshot, "this is the text of torch.cuda.memory_summary(): totals of one moment, without blocks or stacks").advise(DUMP);
    }
    if ["Traceback", "OutOfMemoryError", "out of memory"].iter().any(|word| text.contains(word)) {
        return Error::new(
            ErrorKind::NotASnapshot,
            "this is the text of an error, not a memory snapshot",
        )
        .advise(DUMP);
    }
    let first = head.first().copied().unwrap_or(0);
    Error::new(ErrorKind::NotASnapshot, format!("the file begins with byte 0x{first:02x}, so it is neither a pickle nor any wrapping known here")).advise(DUMP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_by_its_first_bytes() {
        for (head, expected) in [
            (&b"\x80\x04\x95"[..], Kind::Pickle),
            (b"}q\0(", Kind::Pickle),
            (b"  {\"segments\": []}", Kind::Json),
            (b"\xef\xbb\xbf[]", Kind::Json),
            (b"\n<!DOCTYPE html>", Kind::Html),
            (b"\x1f\x8b\x08", Kind::Gzip),
            (b"PK\x03\x04", Kind::Zip),
        ] {
            assert_eq!(kind(head).unwrap(), expected);
        }
    }

    #[test]
    fn other_files_are_named() {
        for (head, word) in [
            (&b""[..], "empty"),
            (b"BZh9", "bzip2"),
            (b"Traceback (most recent", "error"),
            (b"\x89PNG\r\n", "picture"),
            (b"hello", "0x68"),
        ] {
            let error = kind(head).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotASnapshot);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
