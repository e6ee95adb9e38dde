//! Whatever a timeline shows, by any axis and in any picture, adds up to the state at its entries.

use crate::support::{fixtures, open};
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::timeline::allocation::AllocationId;
use oomscope::timeline::mapped::mapped_lives;
use oomscope::view::range::{RangeView, stop};
use oomscope::view::timeline::TimelineView;
use oomscope::view::timeline::axis::Along;
use oomscope::view::timeline::groups::{By, Groups};
use oomscope::view::timeline::pixels::{IDLE, Layout, NOTHING, PENDING, Pixels};

const ALL: (u32, u32) = (0, u32::MAX);

/// Calls `check` for each device of each fixture that has a trace.
fn devices(check: impl Fn(&str, &Snapshot, &Findings, &Device)) {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in findings.devices.iter().filter(|device| device.timeline.entries() > 0) {
            check(&name, &snapshot, &findings, device);
        }
    }
}

fn view_of(
    snapshot: &Snapshot,
    findings: &Findings,
    device: &Device,
    (by, along): (By, Along),
    shown: (u32, u32),
) -> TimelineView {
    let groups = Groups::of(snapshot, findings, device, by);
    TimelineView::of(snapshot, device, &groups, along, shown, 173)
}

#[test]
fn bands_add_up_to_what_is_allocated_at_the_fullest_entry_of_each_column() {
    devices(|name, snapshot, findings, device| {
        let timeline = &device.timeline;
        for how in [
            (By::Category, Along::Entries),
            (By::Line, Along::Entries),
            (By::Category, Along::Time),
            (By::Line, Along::Time),
        ] {
            let whole = view_of(snapshot, findings, device, how, ALL);
            let part = (whole.length / 3, whole.length / 2 + 1);
            for shown in [ALL, part] {
                let view = view_of(snapshot, findings, device, how, shown);
                let columns = view.columns as usize;
                let place = format!("{name} {how:?} {shown:?}");
                assert_eq!(view.band_bytes.len(), columns * view.bands.len(), "{place}");
                for column in 0..columns {
                    let bands = (0..view.bands.len()).map(|band| band * columns + column);
                    let sum: f64 = bands.map(|index| view.band_bytes[index]).sum();
                    let (from, to) = (view.column_entries[column], view.column_entries[column + 1]);
                    let usage = match (from == to, from) {
                        (true, 0) => timeline.start,
                        _ => timeline.usage_after(view.moments[column]),
                    };
                    assert_eq!(sum, usage.allocated as f64, "{place} column {column}");
                    assert_eq!(view.active_bytes[column], usage.active as f64, "{place}");
                    let reserved = (from..to).map(|entry| timeline.usage_after(entry).reserved);
                    if let Some(most) = reserved.max() {
                        assert_eq!(view.reserved_bytes[column], most as f64, "{place}");
                    }
                }
            }
            assert_eq!(whole.shown_entries, (0, timeline.entries()), "{name}");
            let most = whole.reserved_bytes.iter().copied().fold(0.0, f64::max);
            assert!(most <= whole.top_bytes, "{name}");
        }
    });
}

#[test]
fn entries_and_places_lead_to_each_other() {
    devices(|name, snapshot, findings, device| {
        for along in [Along::Entries, Along::Time] {
            let view = view_of(snapshot, findings, device, (By::Category, along), ALL);
            for entry in (0..device.timeline.entries()).step_by(37) {
                let place = view.place_of(entry).unwrap();
                let column = view.column_entries.partition_point(|first| *first <= entry) - 1;
                let found = view.entry_at(place);
                match view.along {
                    Along::Entries => assert_eq!(found, entry, "{name}"),
                    Along::Time => assert_eq!(found, view.moments[column], "{name}"),
                }
            }
        }
    });
}

#[test]
fn the_heap_shows_every_allocation_as_high_as_it_is() {
    devices(|name, snapshot, findings, device| {
        let how = (By::Category, Along::Entries);
        let view = view_of(snapshot, findings, device, how, ALL);
        let pixels = Pixels::of(snapshot, device, &view, Layout::Heap, 240);
        let row_bytes = pixels.top_bytes / 240.0;
        for (column, moment) in view.moments.iter().enumerate().step_by(7) {
            let range = column * 240..(column + 1) * 240;
            let shown = &pixels.allocation[range.clone()];
            let mut below = 0.0;
            for (id, allocation) in device.timeline.live_after(*moment) {
                let top = below + allocation.size as f64;
                // A pixel is the allocation's if its middle lies within it.
                let middles = |bytes: f64| (bytes / row_bytes - 0.5).ceil().clamp(0.0, 240.0);
                let wanted = middles(top) - middles(below);
                let seen = shown.iter().filter(|seen| **seen == id.0 + 1).count() as f64;
                assert!((seen - wanted).abs() <= 1.0, "{name} column {column}: {seen} {wanted}");
                below = top;
            }
            assert_eq!(below, device.timeline.usage_after(*moment).allocated as f64, "{name}");
            let is_live = |id: u32| {
                let allocation = device.timeline.allocation(AllocationId(id)).unwrap();
                allocation.is_live_after(*moment)
            };
            assert!(
                shown.iter().filter(|seen| **seen > 0).all(|seen| is_live(*seen - 1)),
                "{name}"
            );
            let looks = range.map(|index| pixels.look[index]);
            let above = looks.skip_while(|look| ![NOTHING, IDLE, PENDING].contains(look));
            assert!(above.clone().all(|look| [NOTHING, IDLE, PENDING].contains(&look)), "{name}");
        }
    });
}

#[test]
fn what_is_mapped_is_what_is_reserved_at_every_entry() {
    devices(|name, snapshot, _, device| {
        let timeline = &device.timeline;
        let lives = mapped_lives(snapshot, timeline.device);
        let step = (timeline.entries() / 60).max(1) as usize;
        for entry in (0..timeline.entries()).step_by(step) {
            let mapped = lives.iter().filter(|life| life.begin <= entry && entry < life.end);
            // What is older than the trace begins before its first entry.
            let is_first_unmap =
                entry == 0 && timeline.start.reserved > timeline.usage_after(0).reserved;
            let bytes: u64 = mapped.map(|life| life.size).sum();
            assert!(
                bytes == timeline.usage_after(entry).reserved || is_first_unmap,
                "{name} entry {entry}: {bytes}"
            );
        }
    });
}

#[test]
fn addresses_show_blocks_where_they_lie() {
    devices(|name, snapshot, findings, device| {
        let how = (By::Category, Along::Entries);
        let view = view_of(snapshot, findings, device, how, ALL);
        let pixels = Pixels::of(snapshot, device, &view, Layout::Addresses, 240);
        let row_bytes = pixels.top_bytes / 240.0;
        for (column, moment) in view.moments.iter().enumerate().step_by(11) {
            let range = column * 240..(column + 1) * 240;
            for seen in pixels.allocation[range.clone()].iter().filter(|seen| **seen > 0) {
                let allocation = device.timeline.allocation(AllocationId(*seen - 1)).unwrap();
                assert!(allocation.is_active_after(*moment), "{name} column {column}");
            }
            // Large blocks are as high as they are, wherever they lie.
            let large = device.timeline.active_after(*moment);
            for (id, allocation) in large.filter(|(_, it)| it.size as f64 > 2.0 * row_bytes) {
                let rows = pixels.allocation[range.clone()].iter();
                let seen = rows.filter(|seen| **seen == id.0 + 1).count() as f64;
                let wanted = allocation.size as f64 / row_bytes;
                // A neighbour thinner than a pixel may take one of its rows at either end.
                assert!((seen - wanted).abs() <= 3.0, "{name} {column}: {seen} for {wanted}");
            }
        }
    });
}

#[test]
fn a_range_leaves_behind_what_it_made_and_did_not_free() {
    devices(|name, _, _, device| {
        let entries = device.timeline.entries();
        for (begin, end) in [(0, entries), (entries / 4, entries / 2 + 1), (3, 3), (7, u32::MAX)] {
            let view = RangeView::of(device, begin, end);
            assert_eq!(
                view.before_bytes + view.allocated.bytes,
                view.after_bytes + view.freed.bytes,
                "{name} {begin}..{end}"
            );
            assert!(view.kept.bytes <= view.allocated.bytes.min(view.after_bytes), "{name}");
            assert!(view.peak_bytes >= view.before_bytes.max(view.after_bytes), "{name}");
        }
    });
}

#[test]
fn stops_lead_from_step_to_step_and_to_the_failure() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let failure = device.timeline.ooms.last().unwrap().entry;
    let mut stops: Vec<u32> = device.steps.iter().map(|step| step.begin).collect();
    stops.push(failure);
    stops.sort_unstable();
    stops.dedup();
    let walk = |from: u32, forward: bool| {
        std::iter::successors(stop(device, from, forward), move |entry| {
            stop(device, *entry, forward)
        })
    };
    let beyond = device.timeline.entries();
    let back: Vec<u32> = walk(beyond, false).collect();
    assert_eq!(back, stops.iter().rev().copied().collect::<Vec<u32>>());
    assert_eq!(walk(0, true).last(), Some(failure));
}

#[test]
fn lines_have_names_and_the_rest_is_one_band() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let view = view_of(&snapshot, &findings, &findings.devices[0], (By::Line, Along::Entries), ALL);
    assert_eq!(view.bands.len(), 10);
    assert!(view.bands[0].label.contains("forward"), "{:?}", view.bands[0]);
    assert_eq!(view.bands[9].key, "line-rest");
    assert_eq!(view.bands[9].text, None);
}
