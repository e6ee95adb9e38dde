//! The one error type: what is wrong, where in the file, and what its owner can do.

use std::fmt;

/// What went wrong, by what the owner of the file can do about it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file ends in the middle: copy or record it again.
    Truncated,
    /// The file is something else.
    NotASnapshot,
    /// The file uses something that this reader refuses, such as naming a class.
    Unsupported,
    /// A value is not of the type or range that the format prescribes.
    Shape,
    /// A bound on input was passed; the message names it and its value.
    Limit,
    /// The compressed or encoded wrapping of the file is damaged.
    Container,
    /// The file could not be read from where it lies.
    Io,
}

impl ErrorKind {
    /// The kind's name, as it crosses to JavaScript.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Truncated => "Truncated",
            ErrorKind::NotASnapshot => "NotASnapshot",
            ErrorKind::Unsupported => "Unsupported",
            ErrorKind::Shape => "Shape",
            ErrorKind::Limit => "Limit",
            ErrorKind::Container => "Container",
            ErrorKind::Io => "Io",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            ErrorKind::Truncated => {
                "copy the file again, or record again and let the dump finish before the job is killed"
            }
            ErrorKind::NotASnapshot | ErrorKind::Unsupported => {
                "open the file that torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") wrote"
            }
            ErrorKind::Shape => {
                "the file is damaged or was edited: copy it again, or record it anew"
            }
            ErrorKind::Limit => {
                "record a shorter stretch: torch.cuda.memory._record_memory_history(max_entries=100_000)"
            }
            ErrorKind::Container => {
                "copy the file again, or unpack it yourself and open the content"
            }
            ErrorKind::Io => "check that the file still exists and may be read",
        }
    }
}

/// A file that could not be analysed.
///
/// Displays as one sentence: what, where, then what to do.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    what: String,
    offset: Option<u64>,
    path: Option<String>,
    remedy: Option<String>,
}

/// Longest part of a file's text in a message, in characters.
const SHOWN: usize = 60;

/// A text of the file as a message may repeat it: on one line, spelled out where it would move a
/// terminal's cursor, and short.
#[cold]
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// The result of reading.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind`; `what` is a clause without a final stop.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, what: what.into(), offset: None, path: None, remedy: None }))
    }

    /// The same with another advice than the kind's own.
    pub(crate) fn advise(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// The same at byte `offset` of the (unpacked) file, unless a place is known already.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// The same inside the value at `path`; a path already known is taken as relative to it.
    pub(crate) fn within(mut self, path: &str) -> Self {
        self.0.path = match self.0.path.take() {
            Some(inner) if path.is_empty() => Some(inner),
            Some(inner) if inner.starts_with('[') => Some(format!("{path}{inner}")),
            Some(inner) => Some(format!("{path}.{inner}")),
            None if path.is_empty() => None,
            None => Some(path.to_owned()),
        };
        self
    }

    /// What the owner of the file can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Bytes from the start of the unpacked file, where known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The value in question, such as `segments[3].blocks[7].size`, where known.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, what, offset, path, remedy } = &*self.0;
        f.write_str(what)?;
        match (path, offset) {
            (Some(path), Some(offset)) => write!(f, " ({path}, at byte {offset})")?,
            (Some(path), None) => write!(f, " ({path})")?,
            (None, Some(offset)) => write!(f, " (at byte {offset})")?,
            (None, None) => {}
        }
        write!(f, "; {}.", remedy.as_deref().unwrap_or(kind.remedy()))
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_file_is_shown_on_one_short_line() {
        assert_eq!(shown("torch._utils"), "torch._utils");
        assert_eq!(shown("a\nb\u{1b}[2J\u{9b}c"), "a\\nb\\u{1b}[2J\\u{9b}c");
        let long = shown(&"é".repeat(1_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (61, true));
    }

    #[test]
    fn a_path_grows_from_the_inside_out() {
        let error = Error::new(ErrorKind::Shape, "size is negative")
            .within("size")
            .within("blocks[7]")
            .within("segments[3]")
            .at(9);
        assert_eq!(error.path(), Some("segments[3].blocks[7].size"));
        assert!(
            error
                .to_string()
                .starts_with("size is negative (segments[3].blocks[7].size, at byte 9); ")
        );
    }
}
