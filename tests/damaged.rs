//! Files that were cut or changed on their way.

use crate::hostile::{Known, one_block, survives, survives_unless_known};
use crate::support::{refused, tests, unpacked, written};
use oomscope::error::{Error, ErrorKind};
use oomscope::snapshot::Snapshot;
use std::fs;

/// Opens a file that is not packed: its error lies inside it.
fn survives_plain(
    bytes: &[u8],
    known: &mut Known,
    what: impl Fn() -> String,
) -> Result<Snapshot, Error> {
    let result = survives_unless_known(bytes, known, &what);
    if let Err(error) = &result {
        let offset = error.offset().unwrap_or(0);
        assert!(offset <= bytes.len() as u64, "{}: {error}", what());
    }
    result
}

/// A byte of `bytes` is changed at each of `places`.
fn flip(
    bytes: &[u8],
    places: impl Iterator<Item = usize>,
    masks: &[u8],
    known: &mut Known,
    what: &str,
) {
    let mut bytes = bytes.to_vec();
    for place in places {
        for mask in masks {
            bytes[place] ^= mask;
            let _ = survives_plain(&bytes, known, || format!("{what}: byte {place} xor {mask:#x}"));
            bytes[place] ^= mask;
        }
    }
}

const PLAIN_FORMS: [&str; 8] =
    ["cpp", "p0", "p1", "p2", "p4", "p4.without_memo", "saved_before_1_6.pt", "json"];

const PACKED_FORMS: [&str; 7] = [
    "pickle.gz",
    "pickle.xz",
    "pickle.html",
    "saved.zip",
    "saved.deflated.zip",
    "one_packed_file.zip",
    "pickle.gz.xz",
];

#[test]
fn a_small_file_cut_anywhere_is_truncated() {
    let mut known = Known::new();
    for file in written(&["small"]) {
        if !PLAIN_FORMS.contains(&file.form.as_str()) {
            continue;
        }
        assert!(
            survives_plain(&file.bytes, &mut known, || file.form.clone()).is_ok(),
            "{}",
            file.form
        );
        for length in 1..file.bytes.len() {
            let what = || format!("{} cut at byte {length}", file.form);
            let Err(error) = survives_plain(&file.bytes[..length], &mut known, what) else {
                // One more pickle follows the snapshot's own.
                assert_eq!(file.form, "saved_before_1_6.pt", "{}", what());
                continue;
            };
            assert_eq!(error.kind(), ErrorKind::Truncated, "{}: {error}", what());
        }
    }
}

#[test]
fn a_small_file_with_any_byte_changed_is_survived() {
    let mut known = Known::new();
    for file in written(&["small"]) {
        if PLAIN_FORMS.contains(&file.form.as_str()) {
            flip(&file.bytes, 0..file.bytes.len(), &[0xff, 0x01, 0x80], &mut known, &file.form);
        }
    }
}

#[test]
fn a_small_packed_file_cut_or_changed_is_survived() {
    let zstd = fs::read(tests().join("fixtures/small.pickle.zst")).unwrap();
    let mut files = vec![("pickle.zst".to_owned(), zstd)];
    for file in written(&["small"]) {
        if PACKED_FORMS.contains(&file.form.as_str()) {
            files.push((file.form, file.bytes));
        }
    }
    let mut known = Known::new();
    for (form, bytes) in &mut files {
        for length in 0..bytes.len() {
            let what = || format!("{form} cut at byte {length}");
            let result = survives_unless_known(&bytes[..length], &mut known, what);
            // The rest of a page is of no use to anybody.
            assert!(result.is_err() || form == "pickle.html", "{}", what());
        }
        for place in 0..bytes.len() {
            for mask in [0xff, 0x01] {
                bytes[place] ^= mask;
                let what = || format!("{form}: byte {place} xor {mask:#x}");
                let _ = survives_unless_known(bytes, &mut known, what);
                bytes[place] ^= mask;
            }
        }
    }
}

/// Real recordings are larger than the time to try every byte: a prime stride samples them.
#[test]
fn a_recording_cut_or_changed_is_survived() {
    for (fixture, stride) in [
        ("shape_never_recorded", 151),
        ("weights_too_big_to_load", 709),
        ("shape_state_only", 1009),
        ("shape_graphs_expandable", 2003),
        ("shape_oom_observer", 2503),
        ("shape_cpp_pickled_cpp", 15_013),
    ] {
        let (bytes, mut known) = (unpacked(fixture), Known::new());
        for length in (1..bytes.len()).step_by(stride) {
            let what = || format!("{fixture} cut at byte {length}");
            let error = survives_plain(&bytes[..length], &mut known, what).expect_err(&what());
            assert_eq!(error.kind(), ErrorKind::Truncated, "{}: {error}", what());
        }
        let places = (stride / 2..bytes.len()).step_by(stride);
        flip(&bytes, places, &[0xff, 0x01], &mut known, fixture);
    }
}

#[test]
fn every_file_in_the_folder_is_survived() {
    let mut files: Vec<_> =
        fs::read_dir(tests().join("hostile")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let _ = survives(&fs::read(&path).unwrap(), || path.display().to_string());
    }
}

#[test]
fn a_cut_file_names_the_place_of_the_cut() {
    let bytes = one_block(b"", b"");
    let error = refused(&bytes[..bytes.len() - 6]);
    assert_eq!(error.path(), Some("segments[0].blocks[0]"), "{error}");
    assert_eq!(error.offset(), Some(bytes.len() as u64 - 6));
}

#[test]
fn a_page_with_damaged_content_is_refused() {
    for content in ["gASV!!!!", "", "gA", "AAAA", "gARdlC4=x"] {
        let page = format!("<!DOCTYPE html><script>local_files = [{{\"base64\": \"{content}\"}}]");
        let result = survives(page.as_bytes(), || content.to_owned());
        assert!(result.is_err() || content.starts_with("gARdlC4"), "{content}");
    }
    let cut = b"<!DOCTYPE html><script>local_files = [{\"base64\": \"gASV";
    assert!(survives(cut, || "a cut page".to_owned()).is_err());
}
