//! Conservation: every fixture's trace, replayed, accounts for each byte at each entry, ends in the
//! file's own segments, and peaks where the allocator's own counters say.

use crate::support::{fixtures, open, truth};
use oomscope::findings::history::{History, StacksTold};
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::snapshot::segment::BlockState;
use oomscope::snapshot::trace::Action;
use oomscope::timeline::Timeline;
use oomscope::timeline::allocation::Allocation;
use oomscope::timeline::usage::Usage;
use oomscope::warning::WarningKind;
use serde_json::Value;
use std::sync::LazyLock;

/// A fixture, opened and analysed.
struct Recording {
    name: String,
    snapshot: Snapshot,
    findings: Findings,
}

/// All fixtures.
static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    let recording = |name: String| {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        Recording { name, snapshot, findings }
    };
    fixtures().into_iter().map(recording).collect()
});

/// Runs `check` on every device of every fixture, with its name for the messages.
fn each_device(check: impl Fn(&str, &Snapshot, &Timeline)) {
    for Recording { name, snapshot, findings } in &*RECORDINGS {
        for Device { timeline, .. } in &findings.devices {
            check(&format!("{name}, device {}", timeline.device), snapshot, timeline);
        }
    }
}

/// About fifty entries spread over the trace, the first and the last among them.
fn sampled(timeline: &Timeline) -> Vec<u32> {
    let entries = timeline.entries();
    let step = (entries / 50).max(1) as usize;
    (0..entries).step_by(step).chain(entries.checked_sub(1)).collect()
}

/// What the segments of a device add up to: the state when the file was written.
fn of_segments(snapshot: &Snapshot, device: u32) -> Usage {
    let mut usage = Usage::default();
    for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
        usage.reserved += segment.total_size;
        for block in snapshot.blocks_of(segment) {
            match block.state {
                BlockState::ActiveAllocated => {
                    usage.requested += block.requested_size;
                    usage.allocated += block.size;
                    usage.active += block.size;
                }
                BlockState::ActivePendingFree => usage.active += block.size,
                BlockState::Inactive => {}
            }
        }
    }
    usage
}

#[test]
fn no_fixture_has_anything_odd() {
    for Recording { name, snapshot, .. } in &*RECORDINGS {
        assert_eq!(snapshot.warnings.as_slice(), [], "{name}");
    }
    each_device(|what, _, timeline| assert_eq!(timeline.warnings.as_slice(), [], "{what}"));
}

#[test]
fn blocks_fill_their_segments() {
    for Recording { name, snapshot, .. } in &*RECORDINGS {
        for segment in &snapshot.segments {
            let mut next = segment.address;
            for block in snapshot.blocks_of(segment) {
                assert_eq!(block.address, next, "{name}: a gap or an overlap");
                assert!(block.size > 0, "{name}: an empty block at {next:#x}");
                next += block.size;
            }
            assert_eq!(next, segment.address + segment.total_size, "{name}");
        }
    }
}

#[test]
fn the_replay_ends_in_the_files_own_segments() {
    each_device(|what, snapshot, timeline| {
        let elsewhere = WarningKind::EndsElsewhere;
        assert!(!timeline.warnings.as_slice().iter().any(|odd| odd.kind == elsewhere), "{what}");
        assert_eq!(timeline.end, of_segments(snapshot, timeline.device), "{what}");
    });
}

#[test]
fn requested_allocated_active_and_reserved_contain_one_another() {
    let contained = |usage: Usage, what: &str| {
        assert!(usage.requested <= usage.allocated, "{what}: {usage:?}");
        assert!(usage.allocated <= usage.active, "{what}: {usage:?}");
        assert!(usage.active <= usage.reserved, "{what}: {usage:?}");
    };
    each_device(|what, _, timeline| {
        contained(timeline.start, what);
        for entry in 0..timeline.entries() {
            contained(timeline.usage_after(entry), &format!("{what}, entry {entry}"));
        }
    });
}

/// Requests and segments need no layout of blocks: plain sums over the entries.
#[test]
fn requested_and_reserved_follow_from_the_entries_alone() {
    each_device(|what, snapshot, timeline| {
        let Usage { mut requested, mut reserved, .. } = timeline.start;
        for entry in 0..timeline.entries() {
            let recorded = snapshot.entry(timeline.device, entry).unwrap();
            match recorded.action {
                Action::Alloc => requested += recorded.size,
                Action::FreeRequested => requested -= recorded.size,
                Action::SegmentAlloc | Action::SegmentMap => reserved += recorded.size,
                Action::SegmentFree | Action::SegmentUnmap => reserved -= recorded.size,
                _ => {}
            }
            let usage = timeline.usage_after(entry);
            assert_eq!((usage.requested, usage.reserved), (requested, reserved), "{what}, {entry}");
        }
    });
}

#[test]
fn the_allocations_live_after_an_entry_add_up_to_its_totals() {
    each_device(|what, _, timeline| {
        for entry in sampled(timeline) {
            let mut usage = timeline.usage_after(entry);
            for (_, allocation) in timeline.live_after(entry) {
                usage.requested -= allocation.requested;
                usage.allocated -= allocation.size;
            }
            for allocation in &timeline.allocations {
                let ended = allocation.free_completed().is_some_and(|end| end <= entry);
                if allocation.first_entry() <= entry && !ended {
                    usage.active -= allocation.size;
                }
            }
            let left = (usage.requested, usage.allocated, usage.active);
            assert_eq!(left, (0, 0, 0), "{what}, entry {entry}");
        }
    });
}

/// Two allocations never overlap in space and time.
#[test]
fn live_allocations_do_not_overlap() {
    each_device(|what, _, timeline| {
        for entry in sampled(timeline) {
            let mut ranges: Vec<(u64, u64)> = timeline
                .live_after(entry)
                .map(|(_, allocation)| (allocation.address, allocation.size))
                .collect();
            ranges.sort_unstable();
            for pair in ranges.windows(2) {
                assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{what}, entry {entry}: {pair:x?}");
            }
        }
    });
}

#[test]
fn each_alloc_begins_an_allocation_and_each_free_ends_one() {
    each_device(|what, snapshot, timeline| {
        let mut begun = 0;
        for entry in 0..timeline.entries() {
            let recorded = snapshot.entry(timeline.device, entry).unwrap();
            let allocation = timeline.allocation_of(entry).and_then(|id| timeline.allocation(id));
            let ends = match recorded.action {
                Action::Alloc => {
                    begun += 1;
                    allocation.map(|allocation| allocation.begin())
                }
                Action::FreeRequested => allocation.map(|allocation| allocation.free_requested()),
                Action::FreeCompleted => allocation.map(|allocation| allocation.free_completed()),
                _ => {
                    assert_eq!(allocation, None, "{what}, entry {entry}");
                    continue;
                }
            };
            assert_eq!(ends, Some(Some(entry)), "{what}, entry {entry}: {recorded:?}");
            let address = allocation.map(|allocation| (allocation.address, allocation.requested));
            assert_eq!(address, Some((recorded.address, recorded.size)), "{what}, entry {entry}");
        }
        assert_eq!(timeline.allocations.len(), timeline.older + begun, "{what}");
    });
}

#[test]
fn the_composition_adds_up_to_what_is_allocated() {
    for Recording { name, findings, .. } in &*RECORDINGS {
        for device in &findings.devices {
            for entry in sampled(&device.timeline) {
                let sum: u64 = device.composition(entry).iter().sum();
                let allocated = device.timeline.usage_after(entry).allocated;
                assert_eq!(sum, allocated, "{name}, entry {entry}");
            }
        }
    }
}

/// The fixtures' names say how they were recorded.
#[test]
fn how_much_was_recorded_is_told() {
    for Recording { name, findings, .. } in &*RECORDINGS {
        let history = match name.as_str() {
            "shape_late_start" => History::LateStart,
            "shape_ring_truncated" | "chat_ring" => History::Wrapped,
            "shape_state_only" => History::StateOnly,
            "shape_never_recorded" => History::None,
            // Recording began anew while tensors were alive.
            "shape_stop_and_restart" => History::LateStart,
            _ => History::Complete,
        };
        assert_eq!(findings.history, history, "{name}");
        let stacks = match name.as_str() {
            "shape_never_recorded" | "shape_no_stacks" => StacksTold::None,
            "shape_python_stacks" => StacksTold::Python,
            _ => StacksTold::PythonAndCpp,
        };
        assert_eq!(findings.stacks, stacks, "{name}");
    }
}

/// `torch.cuda.memory_stats()` counted while the program ran: on device 0, since it began.
#[test]
fn the_peaks_are_the_first_highest_of_their_columns() {
    for Recording { name, findings, .. } in &*RECORDINGS {
        for device in &findings.devices {
            let (usage, start, peaks) =
                (&device.timeline.usage, device.timeline.start, device.timeline.peaks);
            for (column, start, peak) in [
                (&usage.requested, start.requested, peaks.requested),
                (&usage.allocated, start.allocated, peaks.allocated),
                (&usage.active, start.active, peaks.active),
                (&usage.reserved, start.reserved, peaks.reserved),
            ] {
                assert_eq!(peak.bytes, column.iter().copied().fold(start, u64::max), "{name}");
                let first = column.iter().position(|bytes| *bytes == peak.bytes);
                let first = if peak.bytes == start { Some(0) } else { first };
                assert_eq!(Some(peak.entry as usize), first, "{name}");
            }
        }
    }
}

#[test]
fn the_peaks_are_those_of_the_allocators_own_counters() {
    let mut compared = 0;
    for Recording { name, findings, .. } in &*RECORDINGS {
        let truth = truth(name);
        let Some(stats) = truth.get("stats") else { continue };
        let peak = |name: &str| stats[format!("{name}_bytes.all.peak")].as_u64().unwrap();
        let timeline = &findings.device(0).unwrap().timeline;
        let highest = |column: &[u64], start: u64| column.iter().copied().fold(start, u64::max);
        let (usage, start) = (&timeline.usage, timeline.start);
        for (total, column, start, exact) in [
            // The allocator takes a request off its books when the block is free again, not when
            // the program lets go of it.
            ("requested", usage.requested.clone(), start.requested, false),
            ("requested", requested_of_active(timeline), 0, true),
            ("allocated", usage.allocated.clone(), start.allocated, true),
            ("active", usage.active.clone(), start.active, true),
            ("reserved", usage.reserved.clone(), start.reserved, true),
        ] {
            let (highest, peak) = (highest(&column, start), peak(total));
            assert!(highest <= peak, "{name}: {highest} {total}, the allocator counted {peak}");
            // What came before the recording may have been higher.
            if exact && findings.history == History::Complete {
                assert_eq!(highest, peak, "{name}: {total}");
            }
        }
        compared += usize::from(findings.history == History::Complete);
    }
    assert!(compared >= 15, "only {compared} fixtures have a complete history");
}

/// After each entry, the requests whose blocks are active.
fn requested_of_active(timeline: &Timeline) -> Vec<u64> {
    let is_older = |allocation: &&Allocation| allocation.begin().is_none();
    let older = timeline.allocations.iter().filter(is_older);
    let mut requested: u64 = older.map(|allocation| allocation.requested).sum();
    let after = |entry| {
        let id = timeline.allocation_of(entry);
        if let Some(allocation) = id.and_then(|id| timeline.allocation(id)) {
            if allocation.begin() == Some(entry) {
                requested += allocation.requested;
            } else if allocation.free_completed() == Some(entry) {
                requested -= allocation.requested;
            }
        }
        requested
    };
    (0..timeline.entries()).map(after).collect()
}

/// Nothing happened between the counters' reading and the file's writing.
#[test]
fn the_end_is_what_the_allocators_own_counters_say() {
    let mut compared = 0;
    for Recording { name, findings, .. } in &*RECORDINGS {
        let truth = truth(name);
        let Some(stats) = truth.get("stats") else { continue };
        let end = findings.device(0).unwrap().timeline.end;
        let current = |name: &str| stats[format!("{name}_bytes.all.current")].as_u64().unwrap();
        assert_eq!(end.allocated, current("allocated"), "{name}");
        assert_eq!(end.active, current("active"), "{name}");
        assert_eq!(end.reserved, current("reserved"), "{name}");
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} fixtures were compared");
}

/// An amount in an error text, with half of its last digit and what floating point loses.
fn amount(text: &str) -> (f64, f64) {
    let (number, unit) = text.split_once(' ').unwrap();
    let scale = match unit {
        "bytes" => return (number.parse().unwrap(), 0.0),
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => panic!("{other} is no unit of PyTorch's"),
    };
    (number.parse::<f64>().unwrap() * scale, 0.005_001 * scale)
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

#[test]
fn the_totals_at_a_failure_are_those_of_the_errors_own_text() {
    let mut compared = 0;
    for Recording { name, findings, .. } in &*RECORDINGS {
        let truth = truth(name);
        let Some(error) = truth.get("error").and_then(Value::as_str) else { continue };
        let device = between(error, "GPU ", " has").unwrap().parse().unwrap();
        let timeline = &findings.device(device).unwrap().timeline;
        let oom = timeline.ooms.last().unwrap_or_else(|| panic!("{name} shows no failure"));
        let close = |what: &str, text: &str, bytes: u64| {
            let (stated, rounding) = amount(text);
            let off = (bytes as f64 - stated).abs();
            assert!(off <= rounding, "{name}: {what} is {bytes}, the text says {text}");
        };
        let allocated = between(error, "Of the allocated memory ", " is allocated").unwrap();
        close("allocated", allocated, oom.usage.allocated);
        let idle = between(error, " by PyTorch, and ", " is reserved by PyTorch but").unwrap();
        close("reserved but unallocated", idle, oom.usage.reserved - oom.usage.allocated);
        let free = between(error, " of which ", " is free").unwrap();
        close("free on the device", free, oom.device_free_bytes.unwrap());
        // The text has the segment that was asked of the driver, the trace the block.
        let (segment, rounding) = amount(between(error, "Tried to allocate ", ". GPU").unwrap());
        assert!(oom.request_bytes as f64 <= segment + rounding, "{name}: {oom:?}, {error}");
        compared += 1;
    }
    assert!(compared >= 8, "only {compared} fixtures failed");
}

/// How far the bytes of an allocation may be off that is older than the trace and freed in it: its
/// request is known, not how much the allocator left unsplit behind it.
fn unsplit(snapshot: &Snapshot, allocation: &Allocation) -> u64 {
    let settings = snapshot.settings.clone().unwrap();
    match allocation.requested {
        requested if settings.max_split_size.is_some_and(|most| requested >= most) => 20 << 20,
        0..=0x10_0000 => 0,
        _ => 1 << 20,
    }
}

/// What a shorter ring would have kept of each recording tells of the same entries the same.
#[test]
fn a_trace_without_its_beginning_tells_the_same() {
    let (mut compared, mut exact) = (0, 0);
    for Recording { name, snapshot, findings } in &*RECORDINGS {
        for Device { timeline: whole, .. } in &findings.devices {
            for eighth in 1..8 {
                let lost = whole.entries() / 8 * eighth;
                let mut rest = snapshot.clone();
                rest.traces[whole.device as usize].start += lost as usize;
                let timeline = Timeline::replay(&rest, whole.device);
                let what = format!("{name}, device {}, without {lost}", whole.device);
                assert_eq!(timeline.warnings.as_slice(), [], "{what}");
                assert_eq!(timeline.end, whole.end, "{what}");
                let mut unknown: u64 = timeline
                    .allocations
                    .iter()
                    .filter(|one| one.begin().is_none() && one.free_completed().is_some())
                    .map(|one| unsplit(snapshot, one))
                    .sum();
                for entry in 0..timeline.entries() {
                    let id = timeline.allocation_of(entry);
                    if let Some(one) = id.and_then(|id| timeline.allocation(id))
                        && one.begin().is_none()
                        && one.free_completed() == Some(entry)
                    {
                        unknown -= unsplit(snapshot, one);
                    }
                    let (found, told) =
                        (timeline.usage_after(entry), whole.usage_after(entry + lost));
                    let what = format!("{what}, entry {entry}: {found:?}, in the whole {told:?}");
                    assert_eq!(found.requested, told.requested, "{what}");
                    assert_eq!(found.reserved, told.reserved, "{what}");
                    assert!(found.allocated.abs_diff(told.allocated) <= unknown, "{what}");
                    assert!(found.active.abs_diff(told.active) <= unknown, "{what}");
                    compared += 1;
                    exact += u64::from(found == told);
                }
            }
        }
    }
    // An estimate is the exception.
    assert!(exact * 100 > compared * 97, "only {exact} of {compared} are exact");
}
