//! What the suites of hostile files share: whatever the bytes are, they give a snapshot or an error
//! that says where and what to do, never a panic, here or in anything that is made of the snapshot.

use crate::everything::everything;
use crate::support::{describe, read, refused};
use oomscope::error::{Error, ErrorKind};
use oomscope::snapshot::Snapshot;
use serde_json::Value;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Snapshots that were analysed, as [`describe`] tells them: the same again would show nothing new.
pub(crate) type Known = HashSet<String>;

/// Opens `bytes` and makes everything of it that there is. `what` tells which bytes, if that fails.
pub(crate) fn survives(bytes: &[u8], what: impl Fn() -> String) -> Result<Snapshot, Error> {
    survives_unless_known(bytes, &mut Known::new(), what)
}

/// The same, but of a snapshot that is known nothing is made again.
pub(crate) fn survives_unless_known(
    bytes: &[u8],
    known: &mut Known,
    what: impl Fn() -> String,
) -> Result<Snapshot, Error> {
    let survived = catch_unwind(AssertUnwindSafe(|| {
        let result = read(bytes);
        match &result {
            Ok(snapshot) if known.insert(describe(snapshot)) => drop(everything(snapshot)),
            Ok(_) => {}
            Err(error) => assert_is_a_sentence(error),
        }
        result
    }));
    survived.unwrap_or_else(|_| panic!("{}", what()))
}

/// What, where, then what to do.
pub(crate) fn assert_is_a_sentence(error: &Error) {
    let text = error.to_string();
    assert!(text.ends_with('.') && text.contains("; ") && !text.contains('\n'), "{text}");
}

#[track_caller]
pub(crate) fn assert_refused(bytes: Vec<u8>, kind: ErrorKind, word: &str) {
    let length = bytes.len() as u64;
    let error = refused(bytes);
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(word), "{error}");
    assert!(error.offset().unwrap_or(0) <= length, "{error}");
    assert_is_a_sentence(&error);
}

/// A protocol 2 pickle of `parts`, with its end.
pub(crate) fn pickle(parts: &[&[u8]]) -> Vec<u8> {
    [b"\x80\x02", parts.concat().as_slice(), b"."].concat()
}

/// A text opcode.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"X", length.as_slice(), text.as_bytes()].concat()
}

/// A dict with one segment of one block, whose records may be given more keys.
pub(crate) fn one_block(segment: &[u8], block: &[u8]) -> Vec<u8> {
    pickle(&[
        b"}(",
        &text("segments"),
        b"](}(",
        &text("address"),
        b"J\0\0\x10\0",
        &text("total_size"),
        b"M\0\x04",
        segment,
        &text("blocks"),
        b"](}(",
        &text("state"),
        &text("active_allocated"),
        &text("size"),
        b"M\0\x04",
        block,
        b"ueueu",
    ])
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Batches {
    /// As the C++ writer does it.
    Always,
    /// As Python does it from protocol 1 on.
    ForSeveral,
    /// As Python does it in protocol 0.
    Never,
}

/// A pickle of JSON values.
pub(crate) fn pickled(value: &Value, batches: Batches) -> Vec<u8> {
    fn put(value: &Value, batches: Batches, out: &mut Vec<u8>) {
        let (items, empty, one, several): (Vec<Vec<&Value>>, _, _, _) = match value {
            Value::Array(items) => {
                (items.iter().map(|item| vec![item]).collect(), b']', b'a', b'e')
            }
            Value::Object(map) => (map.values().map(|item| vec![item]).collect(), b'}', b's', b'u'),
            Value::String(string) => return out.extend(text(string)),
            Value::Number(number) => {
                let line = format!("L{number}L\n");
                return out.extend(line.as_bytes());
            }
            other => panic!("{other} is not needed here"),
        };
        let keys: Vec<&String> =
            value.as_object().map(|map| map.keys().collect()).unwrap_or_default();
        let batched = match batches {
            Batches::Always => true,
            Batches::ForSeveral => items.len() > 1,
            Batches::Never => false,
        };
        out.push(empty);
        if batched {
            out.push(b'(');
        }
        for (place, item) in items.iter().enumerate() {
            if let Some(key) = keys.get(place) {
                out.extend(text(key));
            }
            put(item[0], batches, out);
            if !batched {
                out.push(one);
            }
        }
        if batched {
            out.push(several);
        }
    }
    let mut out = b"\x80\x02".to_vec();
    put(value, batches, &mut out);
    out.push(b'.');
    out
}
