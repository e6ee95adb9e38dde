//! Any bytes as a file: whatever it is wrapped in, reading ends, and every error is a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::container::{Content, open};
use std::io::{Cursor, Read as _};

/// Enough to pass every border inside the readers; a bomb of the size of an input reaches 64 MiB,
/// which takes a tenth of a second.
const MOST: u64 = 8 << 20;

fuzz_target!(|bytes: &[u8]| {
    match open(Box::new(Cursor::new(bytes.to_vec()))) {
        Ok(opened) => {
            let (Content::Pickle(reader) | Content::Json(reader)) = opened.content;
            let _ = std::io::copy(&mut reader.take(MOST), &mut std::io::sink());
        }
        Err(error) => assert!(error.to_string().ends_with('.'), "{error}"),
    }
});
