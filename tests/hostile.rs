//! Whatever the bytes are, they give a snapshot or an error that says where and what to do: never a
//! panic, here or in anything that is made of the snapshot.

use crate::support::{analyse, describe, difference, read, refused, tests, unpacked, written};
use flate2::Compression;
use flate2::write::GzEncoder;
use oomscope::container::Container;
use oomscope::error::{Error, ErrorKind};
use oomscope::findings::Findings;
use oomscope::limits;
use oomscope::snapshot::Snapshot;
use serde_json::{Value, json};
use std::fs;
use std::io::{Cursor, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Opens `bytes` and makes everything of it that there is. `what` tells which bytes, if that fails.
fn survives(bytes: &[u8], what: impl Fn() -> String) -> Result<Snapshot, Error> {
    let survived = catch_unwind(AssertUnwindSafe(|| {
        let result = read(bytes);
        match &result {
            Ok(snapshot) => drop(analyse(snapshot)),
            Err(error) => assert_is_a_sentence(error),
        }
        result
    }));
    survived.unwrap_or_else(|_| panic!("{}", what()))
}

/// What, where, then what to do.
fn assert_is_a_sentence(error: &Error) {
    let text = error.to_string();
    assert!(text.ends_with('.') && text.contains("; ") && !text.contains('\n'), "{text}");
}

/// The same for a file that is not packed: the error lies inside it.
fn survives_plain(bytes: &[u8], what: impl Fn() -> String) -> Result<Snapshot, Error> {
    let result = survives(bytes, &what);
    if let Err(error) = &result {
        let offset = error.offset().unwrap_or(0);
        assert!(offset <= bytes.len() as u64, "{}: {error}", what());
    }
    result
}

/// A byte of `bytes` is changed at each of `places`.
fn flip(bytes: &[u8], places: impl Iterator<Item = usize>, what: &str) {
    let mut bytes = bytes.to_vec();
    for place in places {
        for mask in [0xff, 0x01, 0x80] {
            bytes[place] ^= mask;
            let _ = survives_plain(&bytes, || format!("{what}: byte {place} xor {mask:#x}"));
            bytes[place] ^= mask;
        }
    }
}

/// The small snapshot in one form.
fn small(form: &str) -> Vec<u8> {
    let files = written(&["small"]);
    files.into_iter().find(|file| file.form == form).unwrap().bytes
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
    for file in written(&["small"]) {
        if !PLAIN_FORMS.contains(&file.form.as_str()) {
            continue;
        }
        assert!(survives_plain(&file.bytes, || file.form.clone()).is_ok(), "{}", file.form);
        for length in 1..file.bytes.len() {
            let what = || format!("{} cut at byte {length}", file.form);
            let Err(error) = survives_plain(&file.bytes[..length], what) else {
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
    for file in written(&["small"]) {
        if PLAIN_FORMS.contains(&file.form.as_str()) {
            flip(&file.bytes, 0..file.bytes.len(), &file.form);
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
    for (form, bytes) in &mut files {
        for length in 0..bytes.len() {
            let what = || format!("{form} cut at byte {length}");
            let result = survives(&bytes[..length], what);
            // The rest of a page is of no use to anybody.
            assert!(result.is_err() || form == "pickle.html", "{}", what());
        }
        for place in 0..bytes.len() {
            for mask in [0xff, 0x01] {
                bytes[place] ^= mask;
                let _ = survives(bytes, || format!("{form}: byte {place} xor {mask:#x}"));
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
        let bytes = unpacked(fixture);
        for length in (1..bytes.len()).step_by(stride) {
            let what = || format!("{fixture} cut at byte {length}");
            let error = survives_plain(&bytes[..length], what).expect_err(&what());
            assert_eq!(error.kind(), ErrorKind::Truncated, "{}: {error}", what());
        }
        flip(&bytes, (stride / 2..bytes.len()).step_by(stride), fixture);
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
fn zstandard_is_read() {
    let snapshot = read(fs::read(tests().join("fixtures/small.pickle.zst")).unwrap()).unwrap();
    assert_eq!(snapshot.wrapping.container, Container::Zstd);
    let expected = String::from_utf8(small("expected")).unwrap();
    assert_eq!(difference(&describe(&snapshot), &expected), None);
}

// --- pickles made by hand -------------------------------------------------------------------------

/// A protocol 2 pickle of `parts`, with its end.
fn pickle(parts: &[&[u8]]) -> Vec<u8> {
    [b"\x80\x02", parts.concat().as_slice(), b"."].concat()
}

/// A text opcode.
fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"X", length.as_slice(), text.as_bytes()].concat()
}

/// A dict with one segment of one block, whose records may be given more keys.
fn one_block(segment: &[u8], block: &[u8]) -> Vec<u8> {
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

#[track_caller]
fn assert_refused(bytes: Vec<u8>, kind: ErrorKind, word: &str) {
    let length = bytes.len() as u64;
    let error = refused(bytes);
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(word), "{error}");
    assert!(error.offset().unwrap_or(0) <= length, "{error}");
    assert_is_a_sentence(&error);
}

#[test]
fn the_hand_made_pickle_opens() {
    let snapshot = read(one_block(b"", b"")).unwrap();
    assert_eq!((snapshot.segments.len(), snapshot.blocks.len()), (1, 1));
    assert_eq!(snapshot.blocks[0].size, 1024);
    assert_eq!(snapshot.warnings.as_slice(), []);
}

#[test]
fn depth_is_no_recursion() {
    let deep = 1_000_000;
    // The value is the topmost list alone, an empty one: no memory in use.
    assert!(read(pickle(&[&b"]".repeat(deep)])).unwrap().segments.is_empty());
    let nested = pickle(&[&b"]".repeat(deep), &b"a".repeat(deep - 1)]);
    assert_refused(nested, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let nested = pickle(&[&b"](".repeat(deep), &b"e".repeat(deep)]);
    assert_refused(nested, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let dicts = pickle(&[&b"}K\0".repeat(deep), b"N", &b"s".repeat(deep)]);
    assert!(refused(dicts).kind() == ErrorKind::NotASnapshot);
    let tuples = pickle(&[b"N", &b"\x85".repeat(deep)]);
    assert_refused(tuples, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let cut = [b"\x80\x02".as_slice(), &b"]".repeat(deep)].concat();
    assert_refused(cut, ErrorKind::Truncated, "middle");
    for word in ["]", "}", "("] {
        let many = word.as_bytes().repeat(limits::OPEN_CONTAINERS + 1);
        assert_refused(pickle(&[&many]), ErrorKind::Limit, "1048576");
    }
}

#[test]
fn depth_of_json_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"segments\":[", "]}]")] {
        let nested = open.repeat(1_000_000) + &close.repeat(1_000_000);
        let error = survives(nested.as_bytes(), || "nested JSON".to_owned()).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Io, "{error}");
        assert!(survives(open.repeat(1_000_000).as_bytes(), || "cut JSON".to_owned()).is_err());
    }
}

#[test]
fn an_empty_stack_gives_nothing() {
    for opcodes in [
        b"".as_slice(),
        b"0",
        b"1",
        b"2",
        b"a",
        b"b",
        b"e",
        b"l",
        b"d",
        b"t",
        b"s",
        b"u",
        b"q\0",
        b"\x85",
        b"\x86",
        b"\x87",
        b"\x90",
        b"\x91",
        b"\x94",
        b"(",
        b"(s",
        b"(a",
        b"N(\x85",
        b"N(q\0",
        b"N(0(2",
    ] {
        let error = survives_plain(&pickle(&[opcodes]), || format!("{opcodes:x?}")).unwrap_err();
        assert!(
            [ErrorKind::Shape, ErrorKind::Unsupported].contains(&error.kind()),
            "{opcodes:x?}: {error}"
        );
    }
}

#[test]
fn an_object_must_be_stored_before_it_is_asked_for() {
    assert_refused(pickle(&[b"h\x05"]), ErrorKind::Shape, "object 5");
    assert_refused(pickle(&[b"j\xff\xff\xff\xff"]), ErrorKind::Shape, "object 4294967295");
    assert_refused(pickle(&[b"g7\n"]), ErrorKind::Shape, "object 7");
    assert_refused(pickle(&[b"gx\n"]), ErrorKind::Shape, "\"x\"");
}

#[test]
fn items_go_to_a_container_of_their_kind() {
    let into = ErrorKind::Shape;
    assert_refused(pickle(&[b"}(K\x01e"]), into, "of a list to a dict");
    assert_refused(pickle(&[b"](K\x01K\x02u"]), into, "of a dict to a list");
    assert_refused(pickle(&[b"}K\x01a"]), into, "of a list to a dict");
    assert_refused(pickle(&[b"]K\x01K\x02s"]), into, "of a dict to a list");
    assert_refused(pickle(&[b"}(K\x01u"]), into, "key without a value");
    assert_refused(pickle(&[b"N(K\x01e"]), into, "neither a list nor a dict");
    assert_refused(pickle(&[b"K\x07(K\x01K\x02u"]), into, "neither a list nor a dict");
    assert_refused(pickle(&[b")K\x01a"]), into, "complete already");
    assert_refused(pickle(&[b"]q\0]h\0a0h\0K\x01a"]), into, "complete already");
}

#[test]
fn a_container_may_not_contain_itself() {
    let itself = ErrorKind::Shape;
    assert_refused(pickle(&[b"]q\0h\0a"]), itself, "contains itself");
    assert_refused(pickle(&[b"]q\0(h\0e"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0K\x01h\0s"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0(K\x01h\0u"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0(K\x01](h\0eu"]), itself, "contains itself");
    assert_refused(pickle(&[b"]q\0(]q\x01h\0ae"]), itself, "contains itself");
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let most = u64::MAX.to_le_bytes();
    assert_refused(pickle(&[b"\x8d", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"\x8e", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"\x96", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"X\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"B\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"T\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"\x8b\xff\xff\xff\x7f"]), ErrorKind::Limit, "2147483647");
    assert_refused(pickle(&[b"\x8b\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    let bound = limits::TEXT_BYTES.to_le_bytes();
    assert_refused(pickle(&[b"\x8d", &bound]), ErrorKind::Truncated, "middle");
    // A frame's length says nothing that is needed.
    let framed = [b"\x80\x04\x95".as_slice(), &most, &one_block(b"", b"")[2..]].concat();
    assert!(read(framed).is_ok());
    let line = [b"(V".as_slice(), &b"x".repeat(limits::LINE_BYTES + 10)].concat();
    assert_refused(line, ErrorKind::Limit, "1048576");
}

#[test]
fn a_far_memo_number_allocates_nothing() {
    for put in [&b"r\xff\xff\xff\xff"[..], b"r\xfe\xff\xff\x7f", b"p4294967295\n"] {
        let stream = [&text("stream"), b"K\x07".as_slice(), put].concat();
        let snapshot = read(one_block(&stream, b"")).unwrap();
        assert_eq!(snapshot.segments[0].stream, 7, "{put:x?}");
    }
    assert_refused(pickle(&[b"Np4294967296\n"]), ErrorKind::Shape, "4294967296");
}

/// One entry a stack, each spelled by the numbers of its frames; `between` stands before the last.
fn three_entries(between: &[u8], last: &[u8]) -> Vec<u8> {
    let frame = |name: &str| {
        [b"}(", text("name").as_slice(), &text(name), &text("filename"), &text("a.py"), b"u"]
            .concat()
    };
    let entry = |stack: &[u8]| {
        let action = [text("action"), text("alloc"), text("addr"), b"K\x05".to_vec()].concat();
        [b"}(", action.as_slice(), &text("size"), b"K\x07", &text("frames"), b"](", stack, b"eu"]
            .concat()
    };
    let (f, g) = (frame("f"), frame("g"));
    let known = b"h\x01h\x02h\x01";
    let stored = [f.as_slice(), b"q\x010", &g, b"q\x020"].concat();
    pickle(&[
        &stored,
        b"}(",
        &text("device_traces"),
        b"](](",
        &entry(known),
        &entry(known),
        between,
        &entry(last),
        b"eeu",
    ])
}

#[track_caller]
fn names_of(bytes: Vec<u8>) -> Vec<String> {
    let snapshot = read(bytes).unwrap();
    let entries = (0..snapshot.entries.len()).map(|index| snapshot.entries.get(index).unwrap());
    let name = |id| snapshot.texts.get(snapshot.stacks.frame(id).unwrap().name);
    let stack = |stack| snapshot.stacks.frames_of(stack).iter().map(|id| name(*id)).collect();
    entries.map(|entry| stack(entry.stack)).collect()
}

#[test]
fn a_number_given_anew_means_something_else() {
    assert_eq!(names_of(three_entries(b"", b"h\x01h\x02h\x01")), ["fgf", "fgf", "fgf"]);
    assert_eq!(names_of(three_entries(b"", b"h\x02j\x01\0\0\0")), ["fgf", "fgf", "gf"]);
    // Numbers 1 and 2 change places, by number, as text, by way of a far number.
    for again in [
        &b"h\x01q\x000h\x02q\x010h\x00q\x020"[..],
        b"g1\np0\n0g2\np1\n0g0\np2\n0",
        b"h\x01r\xff\xff\xff\xff0h\x02r\x01\0\0\x000j\xff\xff\xff\xffq\x020",
    ] {
        for last in [&b"h\x01h\x02h\x01"[..], b"h\x01j\x02\0\0\0h\x01"] {
            assert_eq!(names_of(three_entries(again, last)), ["fgf", "fgf", "gfg"], "{again:x?}");
        }
    }
    // MEMOIZE counts what is stored: two numbers are taken, so it gives number 2 anew.
    let list = three_entries(b"h\x01\x940", b"h\x01h\x02h\x02");
    assert_eq!(names_of(list), ["fgf", "fgf", "fff"]);
}

#[test]
fn integers_of_every_length_are_read() {
    let near_the_end = |time: &[u8]| {
        pickle(&[
            b"}(",
            &text("device_traces"),
            b"]](}(",
            &text("action"),
            &text("alloc"),
            &text("time_us"),
            time,
            b"ueau",
        ])
    };
    for length in 0..=8_u8 {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let bytes = vec![byte; usize::from(length)];
            let fill = if byte >= 0x80 && length > 0 { 0xff } else { 0 };
            let mut whole = [fill; 8];
            whole[..bytes.len()].copy_from_slice(&bytes);
            let expected = i64::from_le_bytes(whole);
            for form in [
                [b"\x8a", [length].as_slice(), &bytes].concat(),
                [b"\x8b", u32::from(length).to_le_bytes().as_slice(), &bytes].concat(),
                format!("I{expected}\n").into_bytes(),
                format!("L{expected}L\n").into_bytes(),
                format!("L{expected}\n").into_bytes(),
                // Longer than it need be.
                [b"\x8a\x0a", whole.as_slice(), &[if expected < 0 { 0xff } else { 0 }; 2]].concat(),
            ] {
                let snapshot = read(near_the_end(&form)).unwrap();
                assert_eq!(snapshot.entries.time_us(0), Some(expected), "{form:x?}");
            }
        }
    }
    // Beyond 64 bits it is no time.
    for form in [
        &b"\x8a\x09\0\0\0\0\0\0\0\0\x01"[..],
        b"\x8a\x09\0\0\0\0\0\0\0\0\x80",
        b"L99999999999999999999L\n",
    ] {
        assert_eq!(read(near_the_end(form)).unwrap().entries.time_us(0), None, "{form:x?}");
    }
}

/// Texts longer than what is read at a time.
#[test]
fn long_texts_are_read_whole() {
    for length in [255, 256, 65_535, 65_536, 262_144, 300_000, 5_000_000] {
        let name = "z".repeat(length);
        for form in [text(&name), [b"V".as_slice(), name.as_bytes(), b"\n"].concat()] {
            if form[0] == b'V' && length > limits::LINE_BYTES {
                continue;
            }
            let bytes = pickle(&[
                b"}(",
                &text("device_traces"),
                b"]](}(",
                &text("action"),
                &text("alloc"),
                &text("user_metadata"),
                &form,
                b"ueau",
            ]);
            let snapshot = read(bytes).unwrap();
            let metadata = snapshot.entries.get(0).unwrap().user_metadata.unwrap();
            assert!(snapshot.texts.get(metadata) == name, "{length}");
        }
    }
}

#[test]
fn of_equal_keys_the_last_counts() {
    let twice = [&text("size")[..], b"M\0\x02"].concat();
    let snapshot = read(one_block(b"", &twice)).unwrap();
    assert_eq!(snapshot.blocks[0].size, 512);
    let json = r#"{"segments": 7, "segments": [{"address": 1, "total_size": 9, "total_size": 512,
        "blocks": [{"size": 7, "size": 512, "state": "inactive", "state": "active_allocated"}]}]}"#;
    let snapshot = read(json).unwrap();
    assert_eq!((snapshot.segments[0].total_size, snapshot.blocks[0].size), (512, 512));
    assert_eq!(snapshot.blocks[0].state, oomscope::snapshot::segment::BlockState::ActiveAllocated);
}

#[test]
fn keys_that_are_no_text_are_skipped() {
    for key in [
        &b"K\x01"[..],
        b"N",
        b"\x88",
        b"G\x7f\xf8\0\0\0\0\0\0",
        b"K\x01K\x02\x86",
        b")",
        b"C\x01x",
        b"]",
        b"}",
    ] {
        let pair = [key, b"K\x05"].concat();
        let snapshot =
            read(one_block(&pair, &pair)).unwrap_or_else(|error| panic!("{key:x?}: {error}"));
        assert_eq!(snapshot.blocks.len(), 1, "{key:x?}");
        let [warning] = snapshot.warnings.as_slice() else { panic!("{:?}", snapshot.warnings) };
        assert_eq!(warning.count, 2);
    }
}

#[test]
fn odd_floats_are_no_sizes() {
    for bits in [f64::NAN, f64::INFINITY, -1.0, 0.5, 1e300, -0.5] {
        let float = [b"G", bits.to_be_bytes().as_slice()].concat();
        let error = refused(one_block(b"", &[&text("size"), &float[..]].concat()));
        assert_eq!(error.kind(), ErrorKind::Shape);
        // As a threshold they are simply not there.
        let settings = [&text("garbage_collection_threshold"), &float[..]].concat();
        let bytes = pickle(&[
            b"}(",
            &text("segments"),
            b"](e",
            &text("allocator_settings"),
            b"}(",
            &settings,
            b"uu",
        ]);
        let snapshot = survives(&bytes, || format!("{bits}")).unwrap();
        let threshold = snapshot.settings.unwrap().garbage_collection_threshold;
        assert!(threshold.is_finite(), "{bits}");
    }
    for word in ["NaN", "Infinity", "-Infinity"] {
        let json =
            format!(r#"{{"segments": [{{"blocks": [{{"size": {word}, "state": "inactive"}}]}}]}}"#);
        assert_eq!(refused(json).kind(), ErrorKind::Shape);
    }
}

/// The same snapshot with `change` made to it, in the forms that tell places differently.
fn in_each_form(change: impl FnOnce(&mut Value)) -> Vec<(&'static str, Vec<u8>)> {
    let mut value = json!({
        "segments": [{"address": 4096, "total_size": 1024,
            "blocks": [{"address": 4096, "size": 1024, "state": "active_allocated"}]}],
        "device_traces": [[{"action": "alloc", "addr": 4096, "size": 1000}]],
    });
    change(&mut value);
    vec![
        ("json", value.to_string().into_bytes()),
        ("batched", pickled(&value, Batches::Always)),
        ("single", pickled(&value, Batches::ForSeveral)),
        ("protocol 0", pickled(&value, Batches::Never)),
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Batches {
    /// As the C++ writer does it.
    Always,
    /// As Python does it from protocol 1 on.
    ForSeveral,
    /// As Python does it in protocol 0.
    Never,
}

/// A pickle of JSON values.
fn pickled(value: &Value, batches: Batches) -> Vec<u8> {
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

#[test]
fn a_bad_number_is_named_by_its_path_in_every_form() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 9] = [
        (|v| v["segments"][0]["blocks"][0]["size"] = json!(-1), "segments[0].blocks[0].size"),
        (
            |v| v["segments"][0]["blocks"][0]["size"] = json!((1_u64 << 60) + 1),
            "segments[0].blocks[0].size",
        ),
        (|v| v["segments"][0]["total_size"] = json!(-1), "segments[0].total_size"),
        (|v| v["segments"][0]["address"] = json!("4096"), "segments[0].address"),
        (|v| v["segments"][0]["device"] = json!(1024), "segments[0].device"),
        (|v| v["segments"][0]["device"] = json!(-2), "segments[0].device"),
        (|v| v["device_traces"][0][0]["size"] = json!(-512), "device_traces[0][0].size"),
        (|v| v["device_traces"][0][0]["addr"] = json!([]), "device_traces[0][0].addr"),
        (
            |v| {
                let fine = v["device_traces"][0][0].clone();
                let mut bad = fine.clone();
                bad["size"] = json!(u64::MAX);
                v["device_traces"] = json!([[], [fine, bad]]);
            },
            "device_traces[1][1].size",
        ),
    ];
    let mut wrong = Vec::new();
    for (change, path) in cases {
        for (form, bytes) in in_each_form(change) {
            let error = refused(bytes);
            assert_eq!(error.kind(), ErrorKind::Shape, "{error}");
            if error.path() != Some(path) {
                wrong.push(format!("{form}: {:?} for {path}\n", error.path()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn a_warning_names_its_first_place_in_every_form() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 4] = [
        (|v| v["segments"][0]["blocks"][0]["novel"] = json!(1), "segments[0].blocks[0].novel"),
        (|v| v["segments"][0]["novel"] = json!(1), "segments[0].novel"),
        (|v| v["device_traces"][0][0]["action"] = json!("novel"), "device_traces[0][0].action"),
        (|v| v["novel"] = json!(1), "novel"),
    ];
    let mut wrong = Vec::new();
    for (change, path) in cases {
        for (form, bytes) in in_each_form(change) {
            let snapshot = read(bytes).unwrap();
            let [warning] = snapshot.warnings.as_slice() else { panic!("{:?}", snapshot.warnings) };
            if warning.first != path {
                wrong.push(format!("{form}: {:?} for {path}\n", warning.first));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn a_cut_file_names_the_place_of_the_cut() {
    let bytes = one_block(b"", b"");
    let error = refused(&bytes[..bytes.len() - 6]);
    assert_eq!(error.path(), Some("segments[0].blocks[0]"), "{error}");
    assert_eq!(error.offset(), Some(bytes.len() as u64 - 6));
}

#[test]
fn sizes_and_addresses_at_their_ends_are_survived() {
    for address in [0, 1, 1 << 63, u64::MAX - 1024, u64::MAX - 1, u64::MAX] {
        for size in [0, 1, 512, 1_u64 << 40, 1 << 60] {
            let value = json!({
                "segments": [
                    {"address": address, "total_size": size, "blocks": [
                        {"address": address, "size": size, "state": "active_allocated"},
                        {"address": address, "size": size, "state": "active_pending_free"},
                        {"size": size, "requested_size": -5, "state": "inactive"}]},
                    {"address": 0, "total_size": size, "blocks": []},
                    {"device": 1, "address": 0, "total_size": 0, "blocks": []}],
                "device_traces": [[
                    {"action": "segment_alloc", "addr": address, "size": size},
                    {"action": "alloc", "addr": address, "size": size},
                    {"action": "segment_map", "addr": address, "size": size},
                    {"action": "oom", "device_free": address, "size": size},
                    {"action": "free_completed", "addr": address, "size": size},
                    {"action": "free_requested", "addr": address, "size": size},
                    {"action": "segment_unmap", "addr": address, "size": size},
                    {"action": "segment_free", "addr": address, "size": size}]],
                "external_annotations": [{"stage": "START", "name": "x", "time_us": i64::MAX},
                    {"stage": "END", "name": "x", "time_us": i64::MIN}],
            });
            let what = || format!("address {address:#x}, size {size}");
            survives(value.to_string().as_bytes(), what).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn counts_past_the_limits_are_refused() {
    let devices = json!({"segments": [], "device_traces": vec![json!([]); 1025]});
    assert_refused(devices.to_string().into(), ErrorKind::Limit, "1024");
    let entries: Vec<Value> = (0..5000)
        .map(|stream| json!({"action": "alloc", "addr": 0, "size": 1, "stream": stream}))
        .collect();
    assert_refused(
        json!({"device_traces": [entries]}).to_string().into(),
        ErrorKind::Limit,
        "4,096",
    );
}

// --- what a pickle that is refused probably is ------------------------------------------------------

#[test]
fn a_pickle_that_names_a_class_is_refused_by_name() {
    for (module, name, words) in [
        ("torch._utils", "_rebuild_tensor_v2", "checkpoint"),
        ("torch", "FloatStorage", "checkpoint"),
        ("collections", "OrderedDict", "state dict"),
        ("numpy.core.multiarray", "_reconstruct", "array"),
        ("pandas.core.frame", "DataFrame", "table"),
        ("posix", "system", "other Python objects"),
    ] {
        let line = format!("{module}\n{name}\n");
        for opcodes in [
            [b"c".as_slice(), line.as_bytes()].concat(),
            [b"(i".as_slice(), line.as_bytes()].concat(),
            [text(module), text(name), b"\x93".to_vec()].concat(),
            // Deep inside what begins like a snapshot.
            [b"}(".to_vec(), text("segments"), b"](c".to_vec(), line.clone().into_bytes()].concat(),
        ] {
            let bytes = pickle(&[&opcodes]);
            let error = refused(bytes.clone());
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let message = error.to_string();
            assert!(message.contains(words), "{message}");
            assert!(message.contains(&format!("{module}.{name}")), "{message}");
            assert!(message.contains("nothing in it is executed"), "{message}");
            assert!(error.offset().is_some_and(|offset| offset < bytes.len() as u64), "{error}");
        }
    }
}

#[test]
fn every_opcode_that_would_do_something_is_refused() {
    for (opcodes, word) in [
        (&b"N)R"[..], "REDUCE"),
        (b"(NNo", "OBJ"),
        (b"N)\x81", "NEWOBJ"),
        (b"N)}\x92", "NEWOBJ_EX"),
        (b"N}b", "BUILD"),
        (b"\x82\x01", "EXT"),
        (b"\x83\x01\x00", "EXT"),
        (b"\x84\x01\x00\x00\x00", "EXT"),
        (b"\x97", "NEXT_BUFFER"),
        (b"N\x98", "READONLY_BUFFER"),
        (b"P12\n", "checkpoint"),
        (b"K\x01Q", "checkpoint"),
        (b"N\x93", "?"),
    ] {
        let error = refused(pickle(&[opcodes]));
        let expected = if word == "?" { ErrorKind::Shape } else { ErrorKind::Unsupported };
        assert_eq!(error.kind(), expected, "{opcodes:x?}: {error}");
        assert!(word == "?" || error.to_string().contains(word), "{error}");
    }
    for opcode in [0x00, 0x01, b'!', 0x7f, 0x99, 0xff] {
        let error = refused(pickle(&[&[opcode]]));
        assert_eq!(error.kind(), ErrorKind::NotASnapshot, "{error}");
    }
    assert_refused(b"\x80\x06N.".to_vec(), ErrorKind::Unsupported, "protocol is 6");
}

#[test]
fn pickles_of_other_things_are_named() {
    for (value, word) in [
        (json!({"allocated_bytes.all.current": 5, "num_alloc_retries": 0}), "memory_stats"),
        (json!({"traceEvents": [{"name": "x", "ts": 5}]}), "profiler"),
        (json!({"state_dict": {"w": [1, 2]}, "epoch": 3}), "checkpoint"),
        (json!({"weights": 1, "biases": 2}), "2 keys"),
        (json!([1, 2, 3]), "neither"),
        (json!([[1, 2], [3, 4]]), "neither"),
        (json!([[]]), "neither"),
        (json!({}), "neither"),
        (json!([{"action": "alloc", "addr": 1, "size": 2}]), "neither"),
    ] {
        assert_refused(value.to_string().into(), ErrorKind::NotASnapshot, word);
        for batches in [Batches::Always, Batches::ForSeveral, Batches::Never] {
            assert_refused(pickled(&value, batches), ErrorKind::NotASnapshot, word);
        }
    }
    for opcodes in [&b"N"[..], b"K\x05", b"\x88", b")", b"]K\x01a", b"C\x03abc", b"\x8f", b"V\n"] {
        assert_refused(pickle(&[opcodes]), ErrorKind::NotASnapshot, "neither");
    }
}

// --- other files ------------------------------------------------------------------------------------

#[test]
fn files_of_other_kinds_are_named() {
    let error = "Traceback (most recent call last):\n  File \"train.py\", line 5, in <module>\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "picture"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x93NUMPY\x01\0v\0", "NumPy"),
        (b"\x7fELF\x02\x01\x01", "program"),
        (b"SQLite format 3\0", "SQLite"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
        (error.as_bytes(), "text of an error"),
        (b"torch.cuda.OutOfMemoryError: CUDA out of memory.", "text of an error"),
        (b"|===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 0                 |", "memory_summary"),
        (b"hello", "0x68"),
        (b"\0\0\0\0", "0x00"),
        (b"\n\n", "0x0a"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "0x3c"),
        (b"<!DOCTYPE html><html><body>hello</body></html>", "page"),
        (b"<html><script>let alloc_data = {}</script></html>", "page"),
    ] {
        assert_refused(bytes.to_vec(), ErrorKind::NotASnapshot, word);
    }
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

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default());
    for (name, bytes) in files {
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn archives_without_one_snapshot_are_refused() {
    let snapshot = one_block(b"", b"");
    let in_notes = zipped(&[("notes.txt", b"hello"), ("weights.bin", &snapshot)]);
    assert_refused(in_notes, ErrorKind::NotASnapshot, "no file that looks like a snapshot");
    assert_refused(zipped(&[]), ErrorKind::NotASnapshot, "no file that looks like a snapshot");
    let two = zipped(&[("a.pickle", &snapshot), ("b.pickle", &snapshot)]);
    assert_refused(two, ErrorKind::Unsupported, "2 possible snapshots");
    let checkpoint = pickle(&[b"ctorch._utils\n_rebuild_tensor_v2\n"]);
    let saved = zipped(&[("model/data.pkl", &checkpoint), ("model/data/0", &[0; 64])]);
    assert_refused(saved, ErrorKind::Unsupported, "checkpoint");
    let inside = gzipped(&zipped(&[("a.pickle", &snapshot)]));
    assert_refused(inside, ErrorKind::Unsupported, "zip inside");
    let empty = zipped(&[("a.pickle", b"")]);
    assert_refused(empty, ErrorKind::NotASnapshot, "empty");
}

#[test]
fn an_archive_packed_otherwise_is_refused() {
    let mut archive = zipped(&[("a.pickle", &one_block(b"", b""))]);
    assert!(read(archive.clone()).is_ok());
    // The method, in the file's own header and in the directory: 14 is LZMA, 99 is encrypted.
    let directory = archive.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    for method in [1, 12, 14, 93, 99] {
        (archive[8], archive[directory + 10]) = (method, method);
        let result = survives(&archive, || format!("method {method}"));
        let error = result.expect_err("no such method is known");
        assert!(
            [ErrorKind::Unsupported, ErrorKind::Container].contains(&error.kind()),
            "{method}: {error}"
        );
    }
}

#[test]
fn a_bomb_is_stopped() {
    // 96 MiB in a third of a megabyte, and that in a kilobyte.
    let zeros = vec![0; 32 << 20];
    let claim = u32::try_from(zeros.len()).unwrap().to_le_bytes();
    let item = [b"B".as_slice(), &claim, &zeros, b"0"].concat();
    let once = gzipped(&pickle(&[&item, &item, &item, b"N"]));
    let twice = gzipped(&once);
    assert!(twice.len() < 10_000, "{}", twice.len());
    assert_refused(twice, ErrorKind::Limit, "2000 times its size");
    // What real files reach is let through, and is then judged by its content.
    assert!(once.len() > 100_000, "{}", once.len());
    assert_refused(once, ErrorKind::NotASnapshot, "neither");
    assert_refused(gzipped(&vec![0; 96 << 20]), ErrorKind::NotASnapshot, "0x00");
}

#[test]
fn wrappings_are_counted() {
    let mut wrapped = one_block(b"", b"");
    for _ in 0..3 {
        wrapped = gzipped(&wrapped);
        assert!(read(wrapped.clone()).is_ok());
    }
    for _ in 0..40 {
        wrapped = gzipped(&wrapped);
    }
    assert_refused(wrapped, ErrorKind::Limit, "wrapped more than");
}

// --- snapshots that make no sense -------------------------------------------------------------------

/// Marsaglia's xorshift: the same numbers each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Segments and entries at random on few addresses, so that they collide in every way.
fn nonsense(numbers: &mut Numbers, sizes: &[u64], base: u64) -> Value {
    const ACTIONS: [&str; 12] = [
        "alloc",
        "alloc",
        "alloc",
        "free_requested",
        "free_completed",
        "segment_alloc",
        "segment_free",
        "segment_map",
        "segment_unmap",
        "oom",
        "snapshot",
        "annotate",
    ];
    let address = |numbers: &mut Numbers| base.wrapping_add(numbers.below(16) * (1 << 20));
    let entries = |numbers: &mut Numbers| -> Value {
        (0..numbers.below(60))
            .map(|time| {
                json!({"action": numbers.of(&ACTIONS), "addr": address(numbers), "size": numbers.of(sizes),
                    "stream": numbers.below(2), "time_us": time ^ numbers.below(2),
                    "pool_id": [numbers.below(2), 0], "frames": [{"name": numbers.of(&["backward", "forward", "step"]),
                    "filename": numbers.of(&["a.py", "torch/optim/adam.py", "??"]), "line": numbers.below(4)}]})
            })
            .collect()
    };
    let segments: Value = (0..numbers.below(5))
        .map(|_| {
            let blocks: Value = (0..numbers.below(4))
                .map(|_| {
                    json!({"address": address(numbers), "size": numbers.of(sizes), "requested_size": numbers.of(sizes),
                        "state": numbers.of(&["active_allocated", "inactive", "active_pending_free"])})
                })
                .collect();
            json!({"device": numbers.below(2), "address": address(numbers), "total_size": numbers.of(sizes),
                "stream": numbers.below(2), "segment_type": numbers.of(&["small", "large"]),
                "is_expandable": numbers.below(2) == 0, "segment_pool_id": [numbers.below(2), 0], "blocks": blocks})
        })
        .collect();
    let max_split = numbers.of(&[-1, 0, 1 << 20]);
    json!({"segments": segments, "device_traces": [entries(numbers), entries(numbers)],
        "allocator_settings": {"max_split_size": max_split, "roundup_power2_divisions": {"1": numbers.below(9)}}})
}

#[test]
fn nonsense_is_survived_and_still_adds_up() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..1500 {
        let sizes = [0, 1, 512, 1000, 1 << 20, 3 << 20, 20 << 20];
        let value = nonsense(&mut numbers, &sizes, 0x7f00_0000_0000);
        let bytes = value.to_string().into_bytes();
        let snapshot = survives(&bytes, || format!("round {round}: {value}")).unwrap();
        for device in &Findings::of(&snapshot).devices {
            let timeline = &device.timeline;
            for entry in 0..timeline.entries() {
                let held = timeline.live_after(entry).map(|(_, allocation)| allocation.size);
                let (held, told) = (held.sum::<u64>(), timeline.usage_after(entry).allocated);
                assert_eq!(held, told, "round {round}, entry {entry}: {value}");
                let composed: u64 = device.composition(entry).iter().sum();
                assert_eq!(composed, told, "round {round}, entry {entry}: {value}");
            }
        }
    }
}

#[test]
fn nonsense_at_the_ends_of_the_ranges_is_survived() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..1500 {
        let sizes = [0, 1, 512, 1 << 40, 1 << 59, 1 << 60];
        let base = numbers.of(&[0, 1 << 63, u64::MAX - (8 << 20), u64::MAX]);
        let value = nonsense(&mut numbers, &sizes, base);
        let bytes = value.to_string().into_bytes();
        survives(&bytes, || format!("round {round}: {value}")).unwrap();
    }
}
