//! Any bytes as a file: an error with a place, or a snapshot and everything that is made of it.
#![no_main]

#[path = "../../everything.rs"]
mod everything;

use libfuzzer_sys::fuzz_target;
use oomscope::snapshot::read;
use oomscope::stripped::without_folders;
use std::io::{self, Cursor};

fuzz_target!(|bytes: &[u8]| {
    match read(Cursor::new(bytes.to_vec())) {
        Ok(snapshot) => {
            drop(everything::everything(&snapshot));
            let stripped = without_folders(Box::new(Cursor::new(bytes.to_vec())));
            let _ = stripped.map(|mut stripped| io::copy(&mut stripped, &mut io::sink()));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.ends_with('.') && text.contains("; ") && !text.contains('\n'), "{text}");
        }
    }
});
