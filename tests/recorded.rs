//! Programs drawn at random and recorded by the rules of `script.rs`, a second and simple allocator:
//! the replay of such a recording is the recording, and what a failure finds idle is what the file says.

use crate::mutants::numbers::Numbers;
use crate::script::script;
use oomscope::allocator::verify::Recording;
use oomscope::snapshot::Snapshot;
use oomscope::snapshot::segment::BlockState;
use oomscope::timeline::Timeline;

const SIZES: [&str; 12] =
    ["1K", "300K", "512K", "1", "1025K", "2", "3", "7", "12", "19", "20", "45"];

/// So many requests and frees on two streams; with `late`, half of them are not in the recording.
fn program(number: u64, late: bool) -> String {
    let mut numbers = Numbers::new(number);
    let mut lines = String::new();
    let mut live: Vec<(String, &str)> = Vec::new();
    for operation in 0..160 {
        if late && operation == 80 {
            lines.push_str("forget\n");
        }
        match numbers.below(20) {
            0..=9 => {
                let place = if numbers.below(5) == 0 { "forward:20@1" } else { "forward:20" };
                let size = SIZES[numbers.below(SIZES.len() as u64) as usize];
                lines.push_str(&format!("{place} alloc b{operation} {size}\n"));
                live.push((format!("b{operation}"), place));
            }
            10..=18 if !live.is_empty() => {
                let (name, _) = live.swap_remove(numbers.below(live.len() as u64) as usize);
                lines.push_str(&format!("own free {name}\n"));
            }
            19 => lines.push_str("forward:23 oom 9000 10\n"),
            _ => {}
        }
    }
    lines + "forward:23 oom 9000 10\nforward:23@1 oom 1 1"
}

/// Inactive bytes of a stream's large or small segments, and the largest block among them.
fn idle(snapshot: &Snapshot, stream: u64, is_small: bool) -> (u64, u64) {
    let segments = snapshot.segments.iter();
    let mine = segments.filter(|one| (one.stream, one.is_small) == (stream, is_small));
    let blocks = mine.flat_map(|segment| snapshot.blocks_of(segment));
    let holes = blocks.filter(|block| block.state == BlockState::Inactive).map(|block| block.size);
    holes.fold((0, 0), |(sum, most), size| (sum + size, most.max(size)))
}

#[test]
fn a_replay_is_the_recording() {
    for number in 0..30 {
        let snapshot = script(&program(number, false));
        let timeline = Timeline::replay(&snapshot, 0);
        assert!(timeline.warnings.as_slice().is_empty(), "{number}: {:?}", timeline.warnings);
        assert_eq!((timeline.older, timeline.start.reserved), (0, 0));
        let verification = Recording::of(&snapshot, &timeline).verification;
        assert!(verification.is_identical(), "{number}: {verification:?}");
        let made = timeline.allocations.len() as u32;
        assert_eq!((verification.compared, verification.addresses_equal), (made, made));
        // Nothing but a full card refused anything: it had 10 MiB, later 1, beside what was reserved.
        let least =
            timeline.ooms.iter().map(|oom| oom.usage.reserved + oom.device_free_bytes.unwrap());
        assert_eq!(verification.limit.capacity, least.min(), "{number}");
        let releases = verification.releases;
        assert_eq!((releases.by_program, releases.collections, releases.unexplained), (0, 0, 0));
        // All segments went back before a failure; what found none left no entry.
        assert!(releases.full as usize <= timeline.ooms.len());
        assert_eq!(releases.full == 0, timeline.returns.is_empty(), "{number}");
    }
}

#[test]
fn a_failure_finds_idle_what_the_file_says() {
    for number in 0..30 {
        let snapshot = script(&program(number, number % 2 == 1));
        let timeline = Timeline::replay(&snapshot, 0);
        let [.., large, small] = &timeline.ooms[..] else { panic!("both fail") };
        let found = |oom: &oomscope::timeline::Oom| (oom.idle_bytes, oom.largest_hole_bytes);
        assert_eq!(found(large), idle(&snapshot, 0, false), "{number}");
        assert_eq!(found(small), idle(&snapshot, 1, true), "{number}");
        let reserved: u64 = snapshot.segments.iter().map(|segment| segment.total_size).sum();
        assert_eq!(large.usage.reserved, reserved, "{number}");
    }
}

#[test]
fn a_recording_that_begins_late_knows_what_was_there() {
    for number in 0..30 {
        let whole = program(number, false);
        let (late, whole) = (script(&program(number, true)), script(&whole));
        let (late, whole) = (Timeline::replay(&late, 0), Timeline::replay(&whole, 0));
        let lost = whole.entries() - late.entries();
        assert!(lost > 60);
        for entry in 0..late.entries() {
            let (late, whole) = (late.usage_after(entry), whole.usage_after(entry + lost));
            assert_eq!(late.requested, whole.requested, "{number}, entry {entry}");
            assert_eq!(late.reserved, whole.reserved, "{number}, entry {entry}");
        }
        assert_eq!(late.older, whole.live_after(lost - 1).count(), "{number}");
        assert_eq!(late.end, whole.end, "{number}");
    }
}
