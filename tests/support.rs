//! What the suites share: the fixtures with their truth, and the files that Python writes.

use oomscope::error::{Error, Result};
use oomscope::pickle::TextId;
use oomscope::snapshot::segment::BlockState;
use oomscope::snapshot::stack::StackId;
use oomscope::snapshot::{self, Snapshot};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder `tests`.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// The names of all fixtures, in order.
pub(crate) fn fixtures() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(tests().join("fixtures"))
        .unwrap()
        .filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".pickle.xz").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() > 20, "the fixtures are gone");
    names
}

/// Where a fixture lies.
pub(crate) fn path_of(fixture: &str) -> PathBuf {
    tests().join(format!("fixtures/{fixture}.pickle.xz"))
}

/// A fixture, opened.
pub(crate) fn open(fixture: &str) -> Snapshot {
    snapshot::read(File::open(path_of(fixture)).unwrap())
        .unwrap_or_else(|error| panic!("{fixture}: {error}"))
}

/// A fixture's pickle.
pub(crate) fn unpacked(fixture: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new(File::open(path_of(fixture)).unwrap(), true)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// What torch itself knew when the fixture was recorded.
pub(crate) fn truth(fixture: &str) -> serde_json::Value {
    let path = tests().join(format!("fixtures/{fixture}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Reads a snapshot from memory.
pub(crate) fn read(bytes: impl Into<Vec<u8>>) -> Result<Snapshot> {
    snapshot::read(Cursor::new(bytes.into()))
}

/// The error of a file that must not open.
pub(crate) fn refused(bytes: impl Into<Vec<u8>>) -> Error {
    read(bytes).map(|_| ()).expect_err("the file must be refused")
}

/// A file that `write_pickles.py` wrote.
pub(crate) struct Written {
    /// What the snapshot is.
    pub(crate) layout: String,
    /// How it is written.
    pub(crate) form: String,
    /// Its outermost wrapping.
    pub(crate) wrapping: String,
    /// The protocol that it announces, or 0; `None` for JSON.
    pub(crate) protocol: Option<u8>,
    /// The file.
    pub(crate) bytes: Vec<u8>,
}

/// Has `write_pickles.py` write `layouts`; all, where none are named.
pub(crate) fn written(layouts: &[&str]) -> Vec<Written> {
    let output = Command::new("python3")
        .arg("-B")
        .arg(tests().join("write_pickles.py"))
        .args(layouts)
        .output()
        .expect("python3 is needed to write pickles");
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "write_pickles.py failed: {problems}");
    let mut rest = output.stdout.as_slice();
    let mut files = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let header: Vec<&str> = std::str::from_utf8(&rest[..end]).unwrap().split(' ').collect();
        let [name, wrapping, protocol, length] = header[..] else { panic!("{header:?}") };
        let (layout, form) = name.split_once('/').unwrap();
        let (bytes, after) = rest[end + 1..].split_at(length.parse().unwrap());
        rest = after;
        files.push(Written {
            layout: layout.to_owned(),
            form: form.to_owned(),
            wrapping: wrapping.to_owned(),
            protocol: protocol.parse().ok(),
            bytes: bytes.to_vec(),
        });
    }
    files
}

/// Everything that the snapshot says but for its wrapping, a line each, as `describe` in
/// `write_pickles.py` has it.
pub(crate) fn describe(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let (yes_no, stack) = (|yes| if yes { "True" } else { "False" }, |id| stack(snapshot, id));
    for segment in &snapshot.segments {
        let (device, address, total) = (segment.device, segment.address, segment.total_size);
        let (stream, pool, small) = (segment.stream, segment.pool, yes_no(segment.is_small));
        let (expandable, stack_of) = (yes_no(segment.is_expandable), stack(segment.stack));
        writeln!(out, "segment device={device} address={address:#x} total={total} stream={stream:#x} small={small} pool={},{} expandable={expandable} stack={stack_of}", pool.0, pool.1).unwrap();
        for block in snapshot.blocks_of(segment) {
            let (address, size, stack_of) = (block.address, block.size, stack(block.stack));
            let (state, requested) = match block.state {
                BlockState::ActiveAllocated => ("allocated", block.requested_size.to_string()),
                BlockState::ActivePendingFree => ("pending", block.requested_size.to_string()),
                BlockState::Inactive => ("inactive", "-".to_owned()),
            };
            writeln!(out, "  block address={address:#x} size={size} state={state} requested={requested} stack={stack_of}").unwrap();
        }
    }
    for (device, trace) in snapshot.traces.iter().enumerate() {
        writeln!(out, "trace {device}").unwrap();
        for entry in trace.clone().map(|index| snapshot.entries.get(index).unwrap()) {
            let (action, address, size) = (entry.action.name(), entry.address, entry.size);
            let (stream, stack_of) = (snapshot.stream(&entry), stack(entry.stack));
            let time = entry.time_us.map_or("-".to_owned(), |time| time.to_string());
            let pool = entry.pool.map(|pool| snapshot.pools[usize::from(pool)]);
            let pool = pool.map_or("-".to_owned(), |pool| format!("{},{}", pool.0, pool.1));
            let said = |id: Option<TextId>| id.map_or("-".to_owned(), |id| text(snapshot, id));
            let (compiled, metadata) = (said(entry.compile_context), said(entry.user_metadata));
            writeln!(out, "  {action} address={address:#x} size={size} stream={stream:#x} time={time} pool={pool} compiled={compiled} metadata={metadata} stack={stack_of}").unwrap();
        }
    }
    for annotation in &snapshot.annotations {
        let (start, time) = (yes_no(annotation.is_start), annotation.time_us);
        let device = annotation.device.map_or("-".to_owned(), |device| device.to_string());
        let name = text(snapshot, annotation.name);
        writeln!(out, "annotation start={start} device={device} time={time} name={name}").unwrap();
    }
    if let Some(settings) = &snapshot.settings {
        let conf = escaped(&settings.conf);
        let limit = settings.max_split_size.map_or("-".to_owned(), |limit| limit.to_string());
        let (gc, expandable) =
            (settings.garbage_collection_threshold, yes_no(settings.expandable_segments));
        let roundup = settings.roundup_power2_divisions.map(|division| division.to_string());
        writeln!(
            out,
            "settings conf={conf} max_split={limit} gc={gc:?} expandable={expandable} roundup={}",
            roundup.join(",")
        )
        .unwrap();
    }
    writeln!(out, "pinned {}", snapshot.pinned_host_bytes).unwrap();
    let warnings = snapshot.warnings.as_slice().iter().map(|warning| {
        let kind = serde_json::to_value(warning.kind).unwrap();
        format!("warning {} {}\n", kind.as_str().unwrap(), warning.count)
    });
    let mut warnings: Vec<String> = warnings.collect();
    warnings.sort();
    out.push_str(&warnings.concat());
    out
}

fn stack(snapshot: &Snapshot, id: StackId) -> String {
    if id == StackId::ABSENT {
        return "absent".to_owned();
    }
    let frames = snapshot.stacks.frames_of(id).iter();
    let lines = frames.map(|id| {
        let frame = snapshot.stacks.frame(*id).unwrap();
        let (name, filename) = (text(snapshot, frame.name), text(snapshot, frame.filename));
        format!("{name} at {filename}:{}", frame.line)
    });
    format!("[{}]", lines.collect::<Vec<_>>().join(" | "))
}

fn text(snapshot: &Snapshot, id: TextId) -> String {
    escaped(snapshot.texts.get(id))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// The first line in which two descriptions differ.
pub(crate) fn difference(found: &str, expected: &str) -> Option<String> {
    if found == expected {
        return None;
    }
    let (mut found, mut expected) = (found.split('\n'), expected.split('\n'));
    (1..).find_map(|line| {
        let (found, expected) = (found.next(), expected.next());
        let short = |line: Option<&str>| {
            line.map_or("nothing".to_owned(), |line| line.chars().take(600).collect())
        };
        (found != expected)
            .then(|| format!("line {line} is {}\n    expected {}", short(found), short(expected)))
    })
}
