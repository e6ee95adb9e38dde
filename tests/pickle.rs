//! Every form that Python or PyTorch's C++ writer can give a snapshot is read as the same snapshot,
//! and that snapshot says what the Python objects say.

use crate::support::{Written, describe, difference, fixtures, open, read, unpacked};
use oomscope::container::Container;
use oomscope::pickle::TextId;
use oomscope::snapshot::stack::{Frame, FrameId, StackId};
use oomscope::snapshot::trace::{Action, Entry};
use oomscope::snapshot::{Snapshot, Wrapping};
use oomscope::warning::WarningKind;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::OnceLock;

/// All layouts in all forms.
fn all() -> &'static [Written] {
    static WRITTEN: OnceLock<Vec<Written>> = OnceLock::new();
    WRITTEN.get_or_init(|| crate::support::written(&[]))
}

fn form(layout: &str, form: &str) -> &'static [u8] {
    let file = all().iter().find(|file| file.layout == layout && file.form == form);
    &file.unwrap_or_else(|| panic!("there is no {layout}/{form}")).bytes
}

fn container(word: &str) -> Container {
    match word {
        "pickle" => Container::Pickle,
        "gzip" => Container::Gzip,
        "xz" => Container::Xz,
        "zip" => Container::Zip,
        "html" => Container::Html,
        "json" => Container::Json,
        other => panic!("write_pickles.py names an unknown wrapping: {other}"),
    }
}

/// Reads every form of every layout whose name passes, and compares it with what Python says.
fn check(passes: impl Fn(&str) -> bool) {
    let mut failed = Vec::new();
    for file in all().iter().filter(|file| passes(&file.layout) && file.form != "expected") {
        let expected = std::str::from_utf8(form(&file.layout, "expected")).unwrap();
        let wrapping = Wrapping { container: container(&file.wrapping), protocol: file.protocol };
        let problem = match read(file.bytes.as_slice()) {
            Err(error) => Some(error.to_string()),
            Ok(snapshot) if snapshot.wrapping != wrapping => {
                Some(format!("{:?}, expected {wrapping:?}", snapshot.wrapping))
            }
            Ok(snapshot) => difference(&describe(&snapshot), expected),
        };
        failed.extend(problem.map(|problem| format!("{}/{}: {problem}\n", file.layout, file.form)));
    }
    assert!(failed.is_empty(), "{} files are read wrongly\n{}", failed.len(), failed.concat());
}

/// Names that are no Unicode have tests of their own.
const ODD_TEXT: [&str; 2] = ["surrogates", "invalid_utf8"];

#[test]
fn every_form_of_every_layout_is_read_as_python_has_it() {
    check(|layout| !ODD_TEXT.contains(&layout));
}

#[test]
fn lone_surrogates_are_replaced_alike_in_every_form() {
    check(|layout| layout == "surrogates");
}

#[test]
fn names_that_are_no_utf8_are_replaced_where_they_are_not() {
    check(|layout| layout == "invalid_utf8");
}

/// The C++ writer's form is another one, and not Python's by mistake.
#[test]
fn the_forms_differ_in_their_bytes() {
    let (cpp, python) = (form("v2_12", "cpp"), form("v2_12", "p2"));
    assert!(cpp.starts_with(b"\x80\x02}(X\x08\0\0\0segmentsq\0](}("));
    assert!(python.starts_with(b"\x80\x02}q\0(X\x08\0\0\0segmentsq\x01]q\x02(}q\x03("));
    assert!(form("v2_12", "p4").starts_with(b"\x80\x04\x95"));
    assert!(form("v2_12", "p0").starts_with(b"(dp0\nVsegments\np1\n"));
}

#[test]
fn what_follows_the_pickle_is_left_alone_with_a_warning() {
    let first = form("v2_12", "p4");
    let two = [first, form("v1_12", "p4")].concat();
    let snapshot = read(two).unwrap();
    let [warning] = snapshot.warnings.as_slice() else { panic!("{:?}", snapshot.warnings) };
    assert_eq!(warning.kind, WarningKind::TrailingBytes);
    assert_eq!(warning.first, format!("byte {}", first.len()));
    assert_eq!(snapshot.segments.len(), 2);
}

/// Two frames are the same place in the program if and only if their ids are; so for stacks and texts.
#[test]
fn nothing_is_kept_twice() {
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        let texts: HashSet<&str> = snapshot.texts_in_order().collect();
        assert_eq!(texts.len(), snapshot.texts.len(), "{fixture}");
        let frames: HashSet<&Frame> = snapshot.stacks.frames().iter().collect();
        assert_eq!(frames.len(), snapshot.stacks.frames().len(), "{fixture}");
        let ids = 0..u32::try_from(snapshot.stacks.len()).unwrap();
        let stacks: HashSet<&[FrameId]> =
            ids.map(|id| snapshot.stacks.frames_of(StackId(id))).collect();
        assert_eq!(stacks.len(), snapshot.stacks.len(), "{fixture}");
    }
}

/// The bytes come in pieces: whatever opcode a piece ends in, it makes no difference.
#[test]
fn where_a_piece_of_the_file_ends_does_not_matter() {
    for fixture in ["shape_cpp_pickled", "shape_cpp_pickled_cpp"] {
        let bytes = unpacked(fixture);
        let expected = read(bytes.as_slice()).unwrap();
        for shift in 2..80 {
            // None is pushed and popped, or else a number.
            let nothing = if shift % 2 == 0 {
                b"N0".repeat(shift / 2)
            } else {
                [b"K\x070".as_slice(), &b"N0".repeat(shift / 2 - 1)].concat()
            };
            assert_eq!(nothing.len(), shift);
            let found = read([&bytes[..2], &nothing, &bytes[2..]].concat()).unwrap();
            assert!(found.texts_in_order().eq(expected.texts_in_order()), "{fixture}, {shift}");
            assert_eq!(found.stacks.frames(), expected.stacks.frames(), "{fixture}, {shift}");
            assert_eq!(found.stacks.len(), expected.stacks.len(), "{fixture}, {shift}");
            assert_eq!(found.segments, expected.segments, "{fixture}, {shift}");
            assert_eq!(found.blocks, expected.blocks, "{fixture}, {shift}");
            assert_eq!(found.traces, expected.traces, "{fixture}, {shift}");
            assert!(found.entries_in_order().eq(expected.entries_in_order()), "{fixture}, {shift}");
        }
    }
}

trait InOrder {
    fn texts_in_order(&self) -> impl Iterator<Item = &str>;
    fn entries_in_order(&self) -> impl Iterator<Item = Entry>;
}

impl InOrder for Snapshot {
    fn texts_in_order(&self) -> impl Iterator<Item = &str> {
        (0..self.texts.len()).map(|id| self.texts.get(TextId(u32::try_from(id).unwrap())))
    }

    fn entries_in_order(&self) -> impl Iterator<Item = Entry> {
        (0..self.entries.len()).map(|index| self.entries.get(index).unwrap())
    }
}

/// A program took a snapshot with Python's writer and then one with the C++ writer.
#[test]
fn both_writers_tell_the_same_of_one_program() {
    let (python, cpp) = (open("shape_cpp_pickled"), open("shape_cpp_pickled_cpp"));
    assert!(cpp.entries.len() > python.entries.len());
    let mut later = 0;
    for index in 0..python.entries.len() {
        let mut entry = python.entries.get(index).unwrap();
        let mut same = cpp.entries.get(index + later).unwrap();
        if same.action == Action::Snapshot && entry.action != Action::Snapshot {
            later += 1;
            same = cpp.entries.get(index + later).unwrap();
        }
        let lines = |snapshot: &Snapshot, stack| -> Vec<String> {
            let frames = snapshot.stacks.frames_of(stack).iter();
            frames.map(|frame| snapshot.stacks.line_of(*frame, &snapshot.texts)).collect()
        };
        assert_eq!(lines(&python, entry.stack), lines(&cpp, same.stack), "entry {index}");
        assert_eq!(python.stream(&entry), cpp.stream(&same), "entry {index}");
        // The clock is calibrated anew for each snapshot; ids count in each file's own order.
        entry.time_us = None;
        same = Entry { time_us: None, stack: entry.stack, stream: entry.stream, ..same };
        assert_eq!(entry, same, "entry {index}");
    }
    assert_eq!(python.segments.len(), cpp.segments.len());
    for (ours, theirs) in python.segments.iter().zip(&cpp.segments) {
        assert_eq!(
            (ours.address, ours.total_size, ours.stream, ours.is_small, ours.pool),
            (theirs.address, theirs.total_size, theirs.stream, theirs.is_small, theirs.pool)
        );
        for (ours, theirs) in python.blocks_of(ours).iter().zip(cpp.blocks_of(theirs)) {
            assert_eq!(
                (ours.address, ours.size, ours.requested_size, ours.state),
                (theirs.address, theirs.size, theirs.requested_size, theirs.state)
            );
        }
    }
}

#[test]
fn a_flat_list_of_entries_is_the_trace_of_the_first_device() {
    let entry = |size: u64| json!({"action": "alloc", "addr": size, "size": size});
    let flat = json!({"segments": [], "device_traces": [entry(512), entry(1024)]});
    let nested = json!({"segments": [], "device_traces": [[entry(512), entry(1024)]]});
    let read = |value: &Value| read(value.to_string().into_bytes()).unwrap();
    assert_eq!(read(&flat).traces, std::slice::from_ref(&(0..2)));
    assert_eq!(describe(&read(&flat)), describe(&read(&nested)));
}
