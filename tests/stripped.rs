//! Snapshots without folders: the same recording and the same verdict, and no folder left.

use crate::support::{fixtures, open, path_of, unpacked};
use oomscope::findings::Findings;
use oomscope::snapshot::{self, Snapshot};
use oomscope::stripped::without_folders;
use oomscope::view::report::Report;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Cursor, Read as _};

fn stripped(source: impl snapshot::Source + 'static) -> Vec<u8> {
    let mut bytes = Vec::new();
    without_folders(Box::new(source)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn read(bytes: Vec<u8>) -> Snapshot {
    snapshot::read(Cursor::new(bytes)).unwrap()
}

/// The report's verdict, sums and fixes with files named shortly, whichever they were.
fn verdict(snapshot: &Snapshot) -> Value {
    let findings = Findings::of(snapshot);
    let mut report = Report::of(snapshot, &findings, "", 0);
    report.leave_out_folders();
    let report = serde_json::to_value(&report).unwrap();
    json!([report["diagnosis"], report["devices"]])
}

#[test]
fn the_verdict_is_the_same_and_no_folder_is_left() {
    for fixture in fixtures() {
        let before = open(&fixture);
        let bytes = stripped(File::open(path_of(&fixture)).unwrap());
        assert!(bytes.len() <= unpacked(&fixture).len(), "{fixture}");
        let after = read(bytes.clone());
        assert_eq!(after.entries.len(), before.entries.len(), "{fixture}");
        assert_eq!(verdict(&after), verdict(&before), "{fixture}");
        for folder in ["/home/", "/root/", "/usr/", "/opt/", "/tmp/"] {
            let is_there = bytes.windows(folder.len()).any(|text| text == folder.as_bytes());
            assert!(!is_there, "{folder} in {fixture}");
        }
        assert_eq!(stripped(Cursor::new(bytes.clone())), bytes, "{fixture}");
    }
}
