//! What a selection counts obeys the laws of conservation, at every range of every fixture.

use crate::support::{fixtures, open};
use oomscope::findings::category::Category;
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::view::selection::{Counted, Selection};

fn bytes(snapshot: &Snapshot, device: &Device, selection: &Selection) -> u64 {
    let chosen = selection.allocations(snapshot, device);
    chosen.iter().filter_map(|id| device.timeline.allocation(*id)).map(|each| each.size).sum()
}

#[test]
fn what_is_made_less_what_is_freed_is_the_growth() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in findings.devices.iter().filter(|device| device.timeline.entries() > 2) {
            let entries = device.timeline.entries();
            for (begin, end) in [(1, entries), (entries / 3 + 1, entries * 2 / 3 + 1)] {
                let count = |counted| {
                    let all = Selection::live_after(0);
                    bytes(&snapshot, device, &Selection { begin, end, counted, ..all })
                };
                let live = |entry| bytes(&snapshot, device, &Selection::live_after(entry));
                assert_eq!(
                    live(begin - 1) + count(Counted::Allocated),
                    live(end - 1) + count(Counted::Freed),
                    "{name} {begin}..{end}"
                );
                assert_eq!(live(end - 1), count(Counted::Live), "{name}");
                assert!(count(Counted::Kept) <= count(Counted::Allocated), "{name}");
                assert_eq!(live(end - 1), device.timeline.usage_after(end - 1).allocated, "{name}");
            }
        }
    }
}

#[test]
fn the_categories_make_up_the_whole() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let all = Selection::live_after(device.last_entry());
            let whole = all.allocations(&snapshot, device).len();
            let of = |category| Selection { category: Some(category), ..all.clone() };
            let parts = Category::ALL.map(|each| of(each).allocations(&snapshot, device).len());
            assert_eq!(whole, parts.iter().sum::<usize>(), "{name}");
        }
    }
}

#[test]
fn a_text_chooses_the_stacks_that_hold_it() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let all = Selection::live_after(device.last_entry());
    let saying = |text: &str| {
        let selection = Selection { text: text.to_owned(), ..all.clone() };
        selection.allocations(&snapshot, device)
    };
    let says = |id: &_, text: &str| {
        let stack = device.timeline.allocation(*id).unwrap().stack;
        let mut frames = snapshot.stacks.frames_of(stack).iter();
        frames.any(|frame| {
            snapshot.stacks.line_of(*frame, &snapshot.texts).to_lowercase().contains(text)
        })
    };
    let chosen = saying(" Scenarios.py:");
    assert!(!chosen.is_empty());
    assert!(chosen.iter().all(|id| says(id, "scenarios.py:")));
    let left_out = all.allocations(&snapshot, device);
    let left_out = left_out.iter().filter(|id| !chosen.contains(id));
    assert!(left_out.clone().all(|id| !says(id, "scenarios.py:")));
    assert!(saying("no such frame").is_empty());
}
