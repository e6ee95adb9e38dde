//! Short traces entry by entry, odd ones too: the totals after each and the warnings, by hand.

use oomscope::allocator::settings::Settings;
use oomscope::snapshot::{self, Snapshot};
use oomscope::timeline::mapped::mapped_lives;
use oomscope::timeline::{Oom, Timeline};
use oomscope::warning::WarningKind;
use serde_json::{Value, json};
use std::io::Cursor;

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;
const BASE: u64 = 1 << 40;

/// One segment: where and how large, in KiB from the base, its kind, and what is in use at the end.
struct Segment<'a> {
    at: u64,
    size: u64,
    pool: u64,
    is_expandable: bool,
    stream: u64,
    used: &'a [(u64, u64)],
}

const LARGE: Segment<'static> =
    Segment { at: 0, size: 20 * KIB, pool: 0, is_expandable: false, stream: 0, used: &[] };

fn segment(of: &Segment<'_>) -> Value {
    let (mut blocks, mut at) = (Vec::new(), of.at);
    let block = |at: u64, size: u64, state: &str| json!({"address": BASE + at * KIB, "size": size * KIB, "requested_size": size * KIB, "state": state});
    for (address, size) in of.used {
        if *address > at {
            blocks.push(block(at, address - at, "inactive"));
        }
        blocks.push(block(*address, *size, "active_allocated"));
        at = address + size;
    }
    if at < of.at + of.size {
        blocks.push(block(at, of.at + of.size - at, "inactive"));
    }
    json!({
        "device": 0, "address": BASE + of.at * KIB, "total_size": of.size * KIB, "stream": of.stream,
        "segment_type": if of.size <= 2 * KIB { "small" } else { "large" },
        "segment_pool_id": [of.pool, 0], "is_expandable": of.is_expandable, "blocks": blocks,
    })
}

/// A trace of actions, each at an address and with a size in KiB.
fn traced(
    segments: &[Segment<'_>],
    entries: &[(&str, u64, u64)],
    max_split: Option<u64>,
) -> Snapshot {
    let entries: Vec<Value> = entries
        .iter()
        .zip(0..)
        .map(|((action, at, size), time)| {
            let (action, stream) = action.split_once('@').unwrap_or((action, "0"));
            let key = if action == "oom" { "device_free" } else { "addr" };
            let stream: u64 = stream.parse().unwrap();
            let mut entry =
                json!({"action": action, "size": size * KIB, "stream": stream, "time_us": time});
            entry[key] = (if action == "oom" { 0 } else { BASE } + at * KIB).into();
            entry
        })
        .collect();
    let segments: Vec<Value> = segments.iter().map(segment).collect();
    let mut all = json!({"segments": segments, "device_traces": [entries]});
    if let Some(max) = max_split {
        all["allocator_settings"] =
            json!({"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": max * KIB});
    }
    snapshot::read(Cursor::new(all.to_string().into_bytes())).unwrap()
}

fn replayed(segments: &[Segment<'_>], entries: &[(&str, u64, u64)]) -> Timeline {
    Timeline::replay(&traced(segments, entries, None), 0)
}

fn warnings(timeline: &Timeline) -> Vec<(WarningKind, u64)> {
    timeline.warnings.as_slice().iter().map(|warning| (warning.kind, warning.count)).collect()
}

/// Allocated and active MiB after each entry.
fn totals(timeline: &Timeline) -> Vec<(u64, u64)> {
    let usage = &timeline.usage;
    usage.allocated.iter().zip(&usage.active).map(|(a, b)| (a / MIB, b / MIB)).collect()
}

const TEN: u64 = 10 * KIB;

#[test]
fn a_free_counts_once() {
    let alloc = ("alloc", 0, TEN);
    let (asked, done) = (("free_requested", 0, TEN), ("free_completed", 0, TEN));
    let plain = replayed(&[LARGE], &[alloc, asked, done]);
    assert_eq!(totals(&plain), [(10, 10), (0, 10), (0, 0)]);
    assert!(warnings(&plain).is_empty() && !plain.awaits);
    let twice = replayed(&[LARGE], &[alloc, asked, asked, done]);
    assert_eq!(totals(&twice), [(10, 10), (0, 10), (0, 10), (0, 0)]);
    assert_eq!(warnings(&twice), [(WarningKind::FreeOfUnknown, 1)]);
    let again = replayed(&[LARGE], &[alloc, asked, done, asked, done]);
    assert_eq!(totals(&again)[2..], [(0, 0); 3]);
    assert_eq!(warnings(&again), [(WarningKind::FreeOfUnknown, 2)]);
    let only_done = replayed(&[LARGE], &[alloc, done]);
    assert_eq!(totals(&only_done), [(10, 10), (0, 0)]);
    assert_eq!(warnings(&only_done), [(WarningKind::FreeNotRequested, 1)]);
}

#[test]
fn a_block_awaits_another_stream_where_its_free_is_completed_later() {
    let entries = [
        ("alloc", 0, TEN),
        ("free_requested", 0, TEN),
        ("alloc", TEN, KIB),
        ("free_completed", 0, TEN),
    ];
    let used = [(TEN, KIB)];
    let late = replayed(&[Segment { used: &used, ..LARGE }], &entries);
    assert!(late.awaits);
    assert_eq!(totals(&late), [(10, 10), (0, 10), (1, 11), (1, 1)]);
}

#[test]
fn what_is_allocated_over_something_live_ends_it() {
    let used = [(0, TEN)];
    let segment = [Segment { used: &used, ..LARGE }];
    let over = replayed(&segment, &[("alloc", 0, TEN), ("alloc", 0, TEN)]);
    assert_eq!(totals(&over), [(10, 10), (10, 10)]);
    assert_eq!(warnings(&over), [(WarningKind::AllocationOverLive, 1)]);
    assert_eq!(over.allocations[0].free_requested(), Some(1));
    assert_eq!(over.allocation_of(1).unwrap().0, 1);
    // At an address inside of it there is no hole.
    let inside = replayed(&segment, &[("alloc", 0, TEN), ("alloc", 2 * KIB, 4 * KIB)]);
    assert_eq!(warnings(&inside), [(WarningKind::NoHole, 1)]);
    assert_eq!(totals(&inside)[1], (14, 14));
    // In the middle of a hole none begins.
    let middle = [(5 * KIB, TEN)];
    let middle = replayed(&[Segment { used: &middle, ..LARGE }], &[("alloc", 5 * KIB, TEN)]);
    assert_eq!(warnings(&middle), [(WarningKind::NoHole, 1)]);
    assert_eq!(totals(&middle), [(10, 10)]);
    let outside = replayed(&[LARGE], &[("alloc", 40 * KIB, TEN)]);
    assert_eq!(warnings(&outside), [(WarningKind::OutsideSegments, 1)]);
    assert_eq!(totals(&outside), [(10, 10)]);
}

/// The size of the block that serves a first request of so many KiB in a segment, in KiB.
fn served(segment: Segment<'_>, request: u64, max_split: Option<u64>) -> u64 {
    let size = |used: u64| {
        let used = [(0, used)];
        let snapshot =
            traced(&[Segment { used: &used, ..segment }], &[("alloc", 0, request)], max_split);
        let timeline = Timeline::replay(&snapshot, 0);
        let is_end = warnings(&timeline).is_empty();
        (timeline.allocations.first().map_or(0, |one| one.size) / KIB, is_end)
    };
    let found = size(request).0;
    // The file's own end agrees with that and with no other size.
    let other = if found == request { segment.size } else { request };
    assert!(size(found).1, "{request} takes {found}");
    assert!(other == found || !size(other).1, "{request} takes {other}");
    found
}

#[test]
fn a_rest_is_split_off_by_the_rules_of_its_pool() {
    let large = || Segment { ..LARGE };
    // More than 1 MiB.
    assert_eq!(served(large(), 19 * KIB, None), 20 * KIB);
    assert_eq!(served(large(), 19 * KIB - 1, None), 19 * KIB - 1);
    assert_eq!(served(large(), 20 * KIB, None), 20 * KIB);
    // Blocks from the limit on are never split.
    assert_eq!(served(large(), TEN, Some(TEN)), 20 * KIB);
    assert_eq!(served(large(), TEN - 1, Some(TEN)), TEN - 1);
    // In the small pool and in segments that grow any rest is.
    assert_eq!(served(Segment { size: 2 * KIB, ..LARGE }, KIB, None), KIB);
    assert_eq!(served(Segment { is_expandable: true, ..LARGE }, 20 * KIB - 1, None), 20 * KIB - 1);
}

fn failure(segments: &[Segment<'_>], oom: (&str, u64, u64)) -> Oom {
    replayed(segments, &[oom, ("snapshot", 0, 0)]).ooms.remove(0)
}

#[test]
fn a_failure_finds_the_holes_of_its_pool_and_stream() {
    let used = [(4 * KIB, 10 * KIB)];
    let small_used = [(100 * KIB, KIB)];
    let segments = [
        Segment { used: &used, ..LARGE },
        Segment { at: 40 * KIB, size: 8 * KIB, stream: 1, ..LARGE },
        Segment { at: 60 * KIB, size: 12 * KIB, pool: 3, ..LARGE },
        Segment { at: 100 * KIB, size: 2 * KIB, used: &small_used, ..LARGE },
    ];
    let holes = |oom| {
        let oom = failure(&segments, oom);
        [oom.idle_bytes, oom.largest_hole_bytes, oom.private_idle_bytes].map(|bytes| bytes / MIB)
    };
    assert_eq!(holes(("oom", 0, 30 * KIB)), [10, 6, 12]);
    assert_eq!(holes(("oom@1", 0, 30 * KIB)), [8, 8, 12]);
    // Up to 1 MiB a request is of the small pool.
    assert_eq!(holes(("oom", 0, KIB)), [1, 1, 12]);
    assert_eq!(holes(("oom", 0, KIB + 1)), [10, 6, 12]);
    let told = failure(&segments, ("oom", 5 * KIB, 30 * KIB));
    assert_eq!(told.device_free_bytes, Some(5 * MIB));
    assert_eq!(failure(&segments, ("oom", 0, 30 * KIB)).device_free_bytes, None);
    assert_eq!(told.usage.reserved / MIB, 42);
    assert_eq!((told.usage.allocated / MIB, told.usage.idle() / MIB), (11, 31));
}

#[test]
fn of_many_failures_the_first_256_tell_their_holes() {
    let all = replayed(&[LARGE], &[("oom", 0, 30 * KIB); 258]);
    let idle: Vec<u64> = all.ooms.iter().map(|oom| oom.idle_bytes / MIB).collect();
    assert_eq!(idle.len(), 258);
    assert!(idle[..256].iter().all(|bytes| *bytes == 20) && idle[256..] == [0, 0]);
}

#[test]
fn what_the_trace_frees_without_making_it_is_older() {
    let freed = replayed(&[LARGE], &[("free_requested", 0, TEN), ("free_completed", 0, TEN)]);
    assert_eq!((freed.older, freed.start.allocated / MIB), (1, 10));
    assert_eq!(totals(&freed), [(0, 10), (0, 0)]);
    // Asked for before the trace, and completed in it: in use, but no longer held.
    let pending = replayed(&[LARGE], &[("free_completed", 0, TEN), ("snapshot", 0, 0)]);
    assert_eq!((pending.start.allocated, pending.start.active / MIB), (0, 10));
    assert_eq!(pending.end.active, 0);
    let dump = ("snapshot", 0, 0);
    assert!(replayed(&[LARGE], &[dump, dump, ("free_completed", 0, TEN)]).awaits);
}

#[test]
fn a_block_known_by_its_request_only_holds_the_slack_behind_it() {
    // What the first allocation behind it leaves out was the block's, up to 1 MiB.
    let older = |next: u64| {
        let used = [(next, 2 * KIB)];
        let segment = Segment { used: &used, ..LARGE };
        let entries =
            [("alloc", next, 2 * KIB), ("free_requested", 0, TEN), ("free_completed", 0, TEN)];
        replayed(&[segment], &entries).allocations[0].size / KIB
    };
    assert_eq!(older(TEN), TEN);
    assert_eq!(older(TEN + 512), TEN + 512);
    assert_eq!(older(TEN + KIB), TEN + KIB);
    assert_eq!(older(TEN + KIB + 1), TEN);
    // A hole so small to the segment's end is slack.
    let at_end = |size: u64, is_expandable: bool| {
        let segment = Segment { size, is_expandable, ..LARGE };
        let entries = [("free_requested", 0, TEN), ("free_completed", 0, TEN)];
        replayed(&[segment], &entries).allocations[0].size / KIB
    };
    assert_eq!(at_end(11 * KIB, false), 11 * KIB);
    assert_eq!(at_end(11 * KIB + 1, false), TEN);
    assert_eq!(at_end(11 * KIB, true), TEN);
}

#[test]
fn older_blocks_in_private_pools_are_private() {
    let entries = [("free_requested", 0, TEN), ("free_completed", 0, TEN)];
    let in_pool = |pool| replayed(&[Segment { pool, ..LARGE }], &entries).allocations[0].is_private;
    assert!(in_pool(3) && !in_pool(0));
}

#[test]
fn times_run_forwards_and_the_end_is_the_files() {
    let other = [(0, 5 * KIB)];
    let elsewhere = replayed(&[Segment { used: &other, ..LARGE }], &[("alloc", 0, TEN)]);
    assert!(warnings(&elsewhere).iter().any(|(kind, _)| *kind == WarningKind::EndsElsewhere));
    let twice = [("segment_alloc", 0, 20 * KIB), ("segment_alloc", 0, 20 * KIB)];
    let contradicted = replayed(&[LARGE], &twice);
    assert!(
        warnings(&contradicted).iter().any(|(kind, _)| *kind == WarningKind::SegmentContradiction)
    );
}

#[test]
fn a_range_that_is_cut_lives_on_in_pieces() {
    let entries = [
        ("segment_map", 0, 40 * KIB),
        ("segment_unmap", 10 * KIB, 10 * KIB),
        ("segment_unmap", 0, 10 * KIB),
        ("segment_map", 0, 10 * KIB),
    ];
    let segments = [
        Segment { size: 10 * KIB, is_expandable: true, ..LARGE },
        Segment { at: 20 * KIB, is_expandable: true, ..LARGE },
    ];
    let snapshot = traced(&segments, &entries, None);
    let found: Vec<(u64, u64, u32, u32)> = mapped_lives(&snapshot, 0)
        .iter()
        .map(|life| ((life.address - BASE) / MIB, life.size / MIB, life.begin, life.end))
        .collect();
    assert_eq!(found, [(0, 40, 0, 1), (0, 10, 1, 2), (0, 10, 3, u32::MAX), (20, 20, 1, u32::MAX)]);
    let timeline = Timeline::replay(&snapshot, 0);
    assert_eq!(
        timeline.usage.reserved.iter().map(|bytes| bytes / MIB).collect::<Vec<_>>(),
        [40, 30, 20, 30]
    );
    assert_eq!(timeline.returns, [1, 2]);
    let findings = oomscope::findings::Findings::of(&snapshot);
    assert_eq!(findings.devices[0].mapped(&snapshot), mapped_lives(&snapshot, 0));
}

#[test]
fn a_request_has_a_segment_of_its_own_by_pytorchs_rule() {
    let size = |bytes: u64| Settings::default().segment_size(bytes) / MIB;
    assert_eq!([1, MIB, MIB + 512, 10 * MIB - 512].map(size), [2, 2, 20, 20]);
    assert_eq!([10 * MIB, 11 * MIB, 33 * MIB].map(size), [10, 12, 34]);
}
