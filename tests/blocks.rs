//! The map of segments and blocks: it adds up to the timeline at every entry, leaves no gap, and
//! names the blocks that keep segments empty.

mod support;

use oomscope::findings::Findings;
use oomscope::snapshot::segment::BlockState;
use oomscope::view::blocks::BlockMap;
use oomscope::view::blocks::pins::Pins;
use oomscope::view::blocks::pools;
use support::{fixtures, open};

/// Entries spread over a trace, the first, the last and each failure among them.
fn sampled(device: &oomscope::findings::Device) -> Vec<u32> {
    let entries = device.timeline.entries();
    let step = (entries / 24).max(1) as usize;
    let failures = device.timeline.ooms.iter().map(|oom| oom.entry);
    (0..entries.max(1)).step_by(step).chain([device.last_entry()]).chain(failures).collect()
}

#[test]
fn maps_add_up_to_the_timeline_and_have_no_gaps() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            for entry in sampled(device) {
                let map = BlockMap::of(&snapshot, device, entry);
                let (mut allocated, mut active, mut requested, mut reserved) = (0, 0, 0, 0);
                for segment in &map.segments {
                    let place = format!("{name}, entry {entry}, segment {:#x}", segment.address);
                    reserved += segment.bytes;
                    assert_eq!(segment.bytes, segment.active_bytes() + segment.idle_bytes());
                    let mut blocks = segment.blocks.iter();
                    let mut mapped = 0;
                    for range in &segment.mapped {
                        let mut at = range.start;
                        while at < range.end {
                            let block = blocks.next().unwrap();
                            assert_eq!(block.address, at, "{place}");
                            assert!(block.bytes > 0, "{place}");
                            at += block.bytes;
                        }
                        assert_eq!(at, range.end, "{place}");
                        mapped += range.end - range.start;
                    }
                    assert_eq!(blocks.next(), None, "{place}");
                    assert_eq!(mapped, segment.bytes, "{place}");
                    for block in segment.active() {
                        active += block.bytes;
                        if block.state == BlockState::ActiveAllocated {
                            allocated += block.bytes;
                            requested += block.allocation.unwrap().requested;
                        }
                    }
                }
                let usage = device.timeline.usage_after(entry);
                let found = (requested, allocated, active, reserved, map.stray_bytes);
                let told = (usage.requested, usage.allocated, usage.active, usage.reserved, 0);
                assert_eq!(found, told, "{name}, entry {entry}");
            }
        }
    }
}

#[test]
fn holes_are_those_that_the_failure_found() {
    let mut failures = 0;
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            for oom in &device.timeline.ooms {
                let map = BlockMap::of(&snapshot, device, oom.entry);
                let pools = pools::pools(&map);
                let is_found = oom.idle_bytes == 0
                    || pools.iter().any(|pool| {
                        (pool.idle_bytes, pool.largest_hole_bytes)
                            == (oom.idle_bytes, oom.largest_hole_bytes)
                    });
                assert!(is_found, "{name}: {oom:?} {pools:?}");
                assert!(pools::request_sentence(device, &map).is_some());
                failures += 1;
            }
        }
    }
    assert!(failures > 5);
}

#[test]
fn explore() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        let Some(device) = findings.device(findings.diagnosis.device) else { continue };
        let map = BlockMap::of(&snapshot, device, findings.diagnosis.entry);
        println!("== {name} {:?}", findings.diagnosis.cause());
        for pool in pools::pools(&map) {
            println!("  {}: {}", pool.label, pool.note);
        }
        if let Some(s) = pools::request_sentence(device, &map) {
            println!("  {s}");
        }
        let pins = Pins::of(&snapshot, &findings, &map);
        for pin in &pins.pins {
            println!("   - {}", pin.sentence);
        }
        println!("   {} others {}", pins.others, pins.other_idle_bytes);
    }
}
