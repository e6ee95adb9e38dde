//! The map of segments and blocks: it adds up to the timeline at every entry, leaves no gap, and
//! names the blocks that keep segments empty.

use crate::support::{fixtures, open, read};
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::snapshot::segment::BlockState;
use oomscope::view::blocks::BlockMap;
use oomscope::view::blocks::picture::{MapPicture, MapStory};
use oomscope::view::blocks::pins::Pins;
use oomscope::view::blocks::placement::Placement;
use oomscope::view::blocks::pools;
use oomscope::view::blocks::reading::MapReading;
use serde_json::{Value, json};

/// Entries spread over a trace, the first, the last and each failure among them.
fn sampled(device: &Device) -> Vec<u32> {
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

const MIB: u64 = 1 << 20;
const BASE: u64 = 0x7f00_0000_0000;

/// Three segments: in the first a block of 4 MiB outlives the 188 MiB beside it, in the second one
/// of 2 MiB the 18 MiB beside it, and the third stays full.
fn pinned() -> Snapshot {
    let frames =
        |line: u32| json!([{ "name": "step", "filename": "/home/me/train.py", "line": line }]);
    let entry = |action: &str, address: u64, mib: u64, line: u32| json!({ "action": action, "addr": BASE + address * MIB, "size": mib * MIB, "stream": 0, "frames": frames(line) });
    let trace = [
        entry("segment_alloc", 0, 192, 1),
        entry("alloc", 0, 188, 10),
        entry("alloc", 188, 4, 88),
        entry("segment_alloc", 500, 20, 1),
        entry("alloc", 500, 18, 10),
        entry("alloc", 518, 2, 88),
        entry("segment_alloc", 600, 60, 1),
        entry("alloc", 600, 60, 20),
        entry("free_requested", 0, 188, 30),
        entry("free_requested", 500, 18, 30),
        entry("free_completed", 0, 188, 30),
        entry("free_completed", 500, 18, 30),
    ];
    let block = |address: u64, mib: u64, state: &str| json!({ "address": BASE + address * MIB, "size": mib * MIB, "requested_size": mib * MIB, "state": state, "frames": [] });
    let segment = |address: u64, mib: u64, blocks: Vec<Value>| {
        json!({
            "device": 0, "address": BASE + address * MIB, "total_size": mib * MIB, "stream": 0,
            "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": false,
            "frames": [], "blocks": blocks,
        })
    };
    let snapshot = json!({
        "segments": [
            segment(0, 192, vec![block(0, 188, "inactive"), block(188, 4, "active_allocated")]),
            segment(500, 20, vec![block(500, 18, "inactive"), block(518, 2, "active_allocated")]),
            segment(600, 60, vec![block(600, 60, "active_allocated")]),
        ],
        "device_traces": [trace],
    });
    read(snapshot.to_string()).unwrap()
}

#[test]
fn a_block_that_outlives_its_neighbours_pins_their_segment() {
    let snapshot = pinned();
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let pins = |entry| Pins::of(&snapshot, &findings, &BlockMap::of(&snapshot, device, entry));
    assert_eq!(pins(7).pins, [], "full segments are used, not kept");
    assert_eq!(pins(9).pins, [], "what is pending free is in use");
    let sentences =
        |entry| pins(entry).pins.into_iter().map(|pin| pin.sentence).collect::<Vec<_>>();
    assert_eq!(
        sentences(10),
        [
            "One block of 4.00 MiB from `train.py:88`, held from entry 2 to the end, keeps 188.00 MiB idle in its segment of 192.00 MiB."
        ]
    );
    assert_eq!(
        sentences(11),
        ["2 blocks, 6.00 MiB in all, from `train.py:88` keep 206.00 MiB idle in 2 segments."]
    );
}

/// Everything that the page asks of a map.
fn shown(
    snapshot: &Snapshot,
    findings: &Findings,
    device: &Device,
    entry: u32,
    width: u32,
) -> (BlockMap, Placement, MapPicture) {
    let map = BlockMap::of(snapshot, device, entry);
    let pools = pools::pools(&map);
    let placement = Placement::of(&map, &pools, width);
    let picture = MapPicture::of(&map, &pools, &placement);
    let _ = MapStory::of(snapshot, findings, device, &map, &placement);
    (map, placement, picture)
}

#[test]
fn strips_lie_in_their_rows_without_overlap_and_hold_every_segment() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            for width in [1, 60, 358, 1_300] {
                let (map, placement, picture) =
                    shown(&snapshot, &findings, device, device.last_entry(), width);
                let mut placed: Vec<usize> =
                    placement.strips.iter().flat_map(|strip| strip.segments.clone()).collect();
                placed.sort_unstable();
                assert!(placed.iter().copied().eq(0..map.segments.len()), "{name}");
                let rows = placement.rows() as usize;
                assert!(rows <= 64, "{name}: {rows} rows");
                let mut taken = vec![0_u32; rows * width as usize];
                for strip in &placement.strips {
                    for (row, left, right) in placement.pieces(strip, 0, strip.width) {
                        for x in left..right {
                            taken[row as usize * width as usize + x as usize] += 1;
                            assert_eq!(placement.strip_at(row, x).unwrap().0, strip);
                        }
                    }
                }
                assert!(taken.iter().all(|count| *count <= 1), "{name}: strips overlap");
                let cells = &picture.cells;
                for ((row, left), right) in cells.row.iter().zip(&cells.left).zip(&cells.right) {
                    assert!(left < right && *right <= width && (*row as usize) < rows, "{name}");
                    let reading =
                        MapReading::at(&snapshot, &findings, &map, &placement, *row, *left);
                    let reading = reading.unwrap();
                    assert!(reading.category.is_some(), "{name}: {reading:?}");
                    assert!(
                        reading
                            .pieces
                            .iter()
                            .any(|(at, from, to)| at == row && from <= left && left < to)
                    );
                }
            }
        }
    }
}

#[test]
fn a_pointer_reads_blocks_and_holes() {
    let snapshot = pinned();
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let (map, placement, picture) = shown(&snapshot, &findings, device, 11, 400);
    let read = |row, x| MapReading::at(&snapshot, &findings, &map, &placement, row, x);
    let hole = read(0, 5).unwrap();
    assert_eq!(hole.title, "Hole of 188.00 MiB");
    assert_eq!(hole.category, None);
    assert_eq!(
        hole.segment,
        "in a segment of 192.00 MiB at 0x7f0000000000 with one block, 188.00 MiB of it idle"
    );
    let (row, left) = (picture.cells.row[0], picture.cells.left[0]);
    let block = read(row, left).unwrap();
    assert_eq!(
        (block.title.as_str(), block.file.as_str(), block.line),
        ("Block of 4.00 MiB", "/home/me/train.py", 88)
    );
    assert_eq!(
        block.facts,
        ["requested 4.00 MiB", "lives from entry 2 to the end", "at 0x7f000bc00000"]
    );
    assert_eq!(read(99, 0), None);
    assert_eq!(read(0, 400), None);
}

#[test]
fn the_smallest_block_in_a_hole_is_drawn() {
    let snapshot = pinned();
    let findings = Findings::of(&snapshot);
    let (.., picture) = shown(&snapshot, &findings, &findings.devices[0], 11, 8);
    assert!(picture.cells.height.iter().all(|height| *height >= 86));
    assert!(picture.cells.row.len() >= 3, "{:?}", picture.cells);
}
