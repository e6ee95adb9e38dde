//! Files that are read well and make no sense: odd keys, absurd numbers, histories that never were.

use crate::hostile::{Batches, assert_refused, one_block, pickle, pickled, survives, text};
use crate::mutants::graph::Graph;
use crate::mutants::mutant;
use crate::mutants::numbers::Numbers;
use crate::mutants::write::pickle as pickle_of;
use crate::support::{describe, difference, read, refused, unpacked};
use oomscope::error::ErrorKind;
use oomscope::findings::Findings;
use serde_json::{Value, json};

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
fn what_stands_under_another_key_than_its_own_is_not_taken_for_it() {
    let json = r#"{"segments": [{"address": 1, "total_size": 512, "active_size": 512, "blocks": []}],
        "host_segments": [{"stage": "START", "name": "a", "device": 0, "time_us": 1}],
        "external_annotations": [{"address": 9, "total_size": 1024, "blocks": []}],
        "device_traces": [{"address": 9, "total_size": 1024, "blocks": []}]}"#;
    let snapshot = read(json).unwrap();
    assert_eq!((snapshot.pinned_host_bytes, snapshot.annotations.len()), (0, 0));
    assert_eq!((snapshot.segments.len(), snapshot.entries.len()), (1, 0));
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
    let mut numbers = Numbers::new(1);
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
    let mut numbers = Numbers::new(2);
    for round in 0..1500 {
        let sizes = [0, 1, 512, 1 << 40, 1 << 59, 1 << 60];
        let base = numbers.of(&[0, 1 << 63, u64::MAX - (8 << 20), u64::MAX]);
        let value = nonsense(&mut numbers, &sizes, base);
        let bytes = value.to_string().into_bytes();
        survives(&bytes, || format!("round {round}: {value}")).unwrap();
    }
}

/// Some of what `crate/examples/mutants.rs` makes by the hundred thousand.
#[test]
fn recordings_of_damaged_structure_are_survived() {
    let pieces = ["shape_never_recorded", "weights_too_big_to_load", "shape_streams_graphs"]
        .map(|fixture| Graph::read(&unpacked(fixture)).piece(24, 1.0));
    let opened = (0..600).filter(|number| {
        let bytes = mutant(&pieces, *number);
        survives(&bytes, || format!("mutant {number}")).is_ok()
    });
    let opened = opened.count();
    assert!((100..500).contains(&opened), "{opened} of 600 open: too many or too few to tell");
}

/// Taking a recording apart and writing it again changes nothing in it.
#[test]
fn a_graph_is_written_as_it_was_read() {
    for fixture in ["shape_streams_graphs", "shape_cpp_pickled"] {
        let bytes = unpacked(fixture);
        let mut calm =
            (0..).map(Numbers::new).find(|numbers| numbers.clone().below(4) != 0).unwrap();
        let (written, _) = pickle_of(&Graph::read(&bytes), &mut calm);
        let [before, after] = [bytes, written].map(|bytes| describe(&read(bytes).unwrap()));
        assert_eq!(difference(&after, &before), None, "{fixture}");
    }
}
