//! How fast a trace is replayed: `cargo bench`. Counted are entries of the trace, of which a plain
//! allocation has three.

use divan::Bencher;
use divan::counter::ItemsCount;
use oomscope::allocator::cache::Bounds;
use oomscope::allocator::settings::Settings;
use oomscope::allocator::verify::Recording;
use oomscope::allocator::what_if::{Conditions, what_if};
use oomscope::snapshot::{self, Snapshot};
use oomscope::timeline::Timeline;
use std::fs::File;
use std::path::Path;

fn main() {
    divan::main();
}

fn fixture(name: &str) -> (Snapshot, Timeline) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let file = File::open(folder.join(format!("{name}.pickle.xz"))).expect("a fixture");
    let snapshot = snapshot::read(file).expect("a snapshot");
    let timeline = Timeline::replay(&snapshot, 0);
    (snapshot, timeline)
}

/// Tens of thousands of entries of a training loop, and a load under a tight limit.
const FIXTURES: [&str; 2] = ["leak_loss_history", "side_stream_tight_default"];

#[divan::bench(args = FIXTURES)]
fn recorded_settings(bencher: Bencher<'_, '_>, name: &str) {
    let (snapshot, timeline) = fixture(name);
    bencher
        .counter(ItemsCount::new(timeline.entries()))
        .bench(|| Recording::of(&snapshot, &timeline));
}

#[divan::bench(args = FIXTURES, consts = [false, true])]
fn other_settings<const EXPANDABLE: bool>(bencher: Bencher<'_, '_>, name: &str) {
    let (snapshot, timeline) = fixture(name);
    let program = Recording::of(&snapshot, &timeline).program;
    let settings = Settings { expandable_segments: EXPANDABLE, ..Settings::default() };
    let conditions = Conditions::within(Bounds::NONE);
    bencher
        .counter(ItemsCount::new(timeline.entries()))
        .bench(|| what_if(&program, &settings, &conditions));
}
