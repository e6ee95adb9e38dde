//! What each stage costs at several sizes: `cargo bench --bench stages`. Counted are entries, so
//! that throughputs of one stage compare: they must not fall with the size.

#[path = "../../tests/made_large.rs"]
mod made_large;

use divan::Bencher;
use divan::counter::ItemsCount;
use oomscope::findings::Findings;
use oomscope::snapshot::{self, Snapshot};
use oomscope::timeline::Timeline;
use oomscope::view::timeline::TimelineView;
use oomscope::view::timeline::axis::Along;
use oomscope::view::timeline::groups::{By, Groups};
use std::io::Cursor;

const ENTRIES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const WIDTH_PX: u32 = 1400;

fn main() {
    divan::main();
}

fn file(entries: u64) -> Vec<u8> {
    let mut file = Vec::new();
    made_large::write(&mut file, entries).expect("memory");
    file
}

fn made(entries: u64) -> Snapshot {
    snapshot::read(Cursor::new(file(entries))).expect("a snapshot")
}

#[divan::bench(args = ENTRIES, sample_count = 3, sample_size = 1)]
fn read(bencher: Bencher<'_, '_>, entries: u64) {
    let file = file(entries);
    bencher
        .counter(ItemsCount::new(entries))
        .with_inputs(|| Cursor::new(file.clone()))
        .bench_values(snapshot::read);
}

#[divan::bench(args = ENTRIES, sample_count = 3, sample_size = 1)]
fn replay(bencher: Bencher<'_, '_>, entries: u64) {
    let snapshot = made(entries);
    bencher.counter(ItemsCount::new(entries)).bench(|| Timeline::replay(&snapshot, 0));
}

/// The replay, the categories, the fixes and the verdict.
#[divan::bench(args = ENTRIES, sample_count = 3, sample_size = 1)]
fn find(bencher: Bencher<'_, '_>, entries: u64) {
    let snapshot = made(entries);
    bencher.counter(ItemsCount::new(entries)).bench(|| Findings::of(&snapshot));
}

/// The whole timeline at the width of a screen.
#[divan::bench(args = ENTRIES, sample_count = 3, sample_size = 1)]
fn view(bencher: Bencher<'_, '_>, entries: u64) {
    let snapshot = made(entries);
    let findings = Findings::of(&snapshot);
    let device = findings.device(0).expect("a device");
    let groups = Groups::of(&snapshot, &findings, device, By::Category);
    bencher.counter(ItemsCount::new(entries)).bench(|| {
        TimelineView::of(&snapshot, device, &groups, Along::Entries, (0, u32::MAX), WIDTH_PX)
    });
}
