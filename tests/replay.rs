//! Conservation: every fixture's trace, replayed, accounts for each byte at each entry, ends in the
//! file's own segments, and peaks where the allocator's own counters say.

mod support;

use oomscope::findings::Findings;
use oomscope::findings::history::History;
use oomscope::snapshot::Snapshot;
use oomscope::snapshot::segment::BlockState;
use oomscope::snapshot::trace::Action;
use oomscope::timeline::Timeline;
use oomscope::timeline::usage::Usage;
use oomscope::warning::WarningKind;
use serde_json::Value;
use support::{fixtures, open, truth};

/// Runs `check` on every fixture, with its name for the messages.
fn each(mut check: impl FnMut(&str, &Snapshot)) {
    for fixture in fixtures() {
        check(&fixture, &open(&fixture));
    }
}

/// The same for every device with its replay.
fn each_device(mut check: impl FnMut(&str, &Snapshot, &Timeline)) {
    each(|fixture, snapshot| {
        for device in 0..snapshot.device_count() {
            check(
                &format!("{fixture}, device {device}"),
                snapshot,
                &Timeline::replay(snapshot, device),
            );
        }
    });
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
    each(|fixture, snapshot| {
        assert_eq!(snapshot.warnings.as_slice(), [], "{fixture}");
        for device in 0..snapshot.device_count() {
            let warnings = Timeline::replay(snapshot, device).warnings;
            assert_eq!(warnings.as_slice(), [], "{fixture}, device {device}");
        }
    });
}

#[test]
fn blocks_fill_their_segments() {
    each(|fixture, snapshot| {
        for segment in &snapshot.segments {
            let mut next = segment.address;
            for block in snapshot.blocks_of(segment) {
                assert_eq!(block.address, next, "{fixture}: a gap or an overlap");
                assert!(block.size > 0, "{fixture}: an empty block at {next:#x}");
                next += block.size;
            }
            assert_eq!(next, segment.address + segment.total_size, "{fixture}");
        }
    });
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
    each(|fixture, snapshot| {
        for device in &Findings::of(snapshot).devices {
            for entry in sampled(&device.timeline) {
                let sum: u64 = device.composition(entry).iter().sum();
                let allocated = device.timeline.usage_after(entry).allocated;
                assert_eq!(sum, allocated, "{fixture}, entry {entry}");
            }
        }
    });
}

/// `torch.cuda.memory_stats()` counted while the program ran: on device 0, since it began.
#[test]
fn the_peaks_are_those_of_the_allocators_own_counters() {
    let mut compared = 0;
    each(|fixture, snapshot| {
        let truth = truth(fixture);
        let findings = Findings::of(snapshot);
        let (Some(stats), History::Complete) = (truth.get("stats"), findings.history) else {
            return;
        };
        let peak = |name: &str| stats[format!("{name}_bytes.all.peak")].as_u64().unwrap();
        let device = findings.device(0).unwrap();
        let columns = &device.timeline.usage;
        let highest = |column: &[u64]| column.iter().copied().max().unwrap_or(0);
        assert_eq!(highest(&columns.allocated), peak("allocated"), "{fixture}: allocated");
        assert_eq!(highest(&columns.active), peak("active"), "{fixture}: active");
        assert_eq!(highest(&columns.reserved), peak("reserved"), "{fixture}: reserved");
        // The allocator takes a request off its books when the block is free again, not when the
        // program lets go of it.
        assert_eq!(
            requested_of_active(&device.timeline),
            peak("requested"),
            "{fixture}: requested"
        );
        assert!(highest(&columns.requested) <= peak("requested"), "{fixture}: requested");
        compared += 1;
    });
    assert!(compared >= 15, "only {compared} fixtures have a complete history");
}

/// The highest sum of the requests whose blocks are active.
fn requested_of_active(timeline: &Timeline) -> u64 {
    let (mut requested, mut highest) = (timeline.start.requested, 0);
    for entry in 0..timeline.entries() {
        let Some(allocation) = timeline.allocation_of(entry).and_then(|id| timeline.allocation(id))
        else {
            continue;
        };
        if allocation.begin() == Some(entry) {
            requested += allocation.requested;
        } else if allocation.free_completed() == Some(entry) {
            requested -= allocation.requested;
        }
        highest = highest.max(requested);
    }
    highest
}

/// Where the file was written while nothing else happened, the counters tell its state as well.
#[test]
fn the_end_is_what_the_allocators_own_counters_say() {
    let mut compared = 0;
    each(|fixture, snapshot| {
        let truth = truth(fixture);
        let Some(stats) = truth.get("stats").filter(|_| truth.get("observer").is_none()) else {
            return;
        };
        let end = Timeline::replay(snapshot, 0).end;
        let current = |name: &str| stats[format!("{name}_bytes.all.current")].as_u64().unwrap();
        assert_eq!(end.allocated, current("allocated"), "{fixture}");
        assert_eq!(end.active, current("active"), "{fixture}");
        assert_eq!(end.reserved, current("reserved"), "{fixture}");
        compared += 1;
    });
    assert!(compared >= 20, "only {compared} fixtures were compared");
}

/// An amount in an error text, with half of its last digit.
fn amount(text: &str) -> (f64, f64) {
    let (number, unit) = text.split_once(' ').unwrap();
    let scale = match unit {
        "bytes" => return (number.parse().unwrap(), 0.0),
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => panic!("{other} is no unit of PyTorch's"),
    };
    (number.parse::<f64>().unwrap() * scale, 0.005 * scale)
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

#[test]
fn the_totals_at_a_failure_are_those_of_the_errors_own_text() {
    let mut compared = 0;
    each(|fixture, snapshot| {
        let truth = truth(fixture);
        let Some(error) = truth.get("error").and_then(Value::as_str) else { return };
        let device = between(error, "GPU ", " has").unwrap().parse().unwrap();
        let timeline = Timeline::replay(snapshot, device);
        let Some(oom) = timeline.ooms.last() else {
            panic!("{fixture}: the trace has no failure");
        };
        let close = |text: &str, bytes: u64, what: &str| {
            let (stated, rounding) = amount(text);
            // The text's own arithmetic rounds too.
            let off = (bytes as f64 - stated).abs();
            assert!(off <= rounding * 1.01, "{fixture}: {what} is {bytes}, the text says {text}");
        };
        let allocated = between(error, "Of the allocated memory ", " is allocated").unwrap();
        close(allocated, oom.usage.allocated, "allocated");
        let idle = between(error, " by PyTorch, and ", " is reserved by PyTorch but").unwrap();
        close(idle, oom.usage.reserved - oom.usage.allocated, "reserved but unallocated");
        let tried = between(error, "Tried to allocate ", ". GPU").unwrap();
        let (segment, rounding) = amount(tried);
        assert!(oom.request_bytes as f64 <= segment + rounding, "{fixture}: {oom:?}, {tried}");
        if let (Some(free), Some(stated)) =
            (oom.device_free_bytes, between(error, " of which ", " is free"))
        {
            close(stated, free, "free on the device");
        }
        compared += 1;
    });
    assert!(compared >= 8, "only {compared} fixtures failed");
}
