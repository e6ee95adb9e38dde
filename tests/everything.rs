//! Everything that any deliverable makes of an opened file. Besides the suites, the fuzz targets and
//! the mutants use it, so it names nothing but the crate.

use oomscope::allocator::settings::Settings;
use oomscope::compare::Comparison;
use oomscope::compare::run::Run;
use oomscope::findings::category::Category;
use oomscope::findings::{Device, Findings};
use oomscope::message;
use oomscope::snapshot::Snapshot;
use oomscope::text::markdown::{CompareMarkdown, ReportMarkdown};
use oomscope::text::{CompareText, ReportText, WhatIfText};
use oomscope::view::allocation::AllocationView;
use oomscope::view::allocations::{Table, question};
use oomscope::view::blocks::BlockMap;
use oomscope::view::blocks::picture::{MapPicture, MapStory};
use oomscope::view::blocks::placement::Placement;
use oomscope::view::blocks::pools;
use oomscope::view::blocks::reading::MapReading;
use oomscope::view::completion;
use oomscope::view::entry::EntryView;
use oomscope::view::question::Question;
use oomscope::view::range::{RangeView, stop};
use oomscope::view::report::Report;
use oomscope::view::selection::{Counted, Selection};
use oomscope::view::stacks::icicle::Icicle;
use oomscope::view::stacks::reading::{NodeReading, crumbs, rows};
use oomscope::view::stacks::tree::{Frames, StackTree, TreeShape};
use oomscope::view::steps::{self, StepsPicture};
use oomscope::view::timeline::TimelineView;
use oomscope::view::timeline::axis::Along;
use oomscope::view::timeline::groups::{By, Groups};
use oomscope::view::timeline::pixels::{Layout, Pixels};
use oomscope::view::what_if::WhatIfReport;

/// Makes everything and answers the report with its text.
pub(crate) fn everything(snapshot: &Snapshot) -> (Report, String) {
    let findings = Findings::of(snapshot);
    let report = Report::of(snapshot, &findings, "snapshot.pickle", 0);
    let text = ReportText(&report).to_string();
    let _ = ReportMarkdown(&report).to_string();
    serde_json::to_string(&report).unwrap();
    compare(snapshot, &findings);
    for device in &findings.devices {
        draw(snapshot, &findings, device);
        map(snapshot, &findings, device);
        explore(snapshot, &findings, device);
        ask(snapshot, device);
    }
    (report, text)
}

/// Whatever a file is, it differs in nothing from itself.
fn compare(snapshot: &Snapshot, findings: &Findings) {
    if let Some(run) = Run::of(snapshot, findings, "a", &[1 << 30]) {
        let other = Run { name: "b".to_owned(), ..run.clone() };
        let comparison = Comparison::of(&[run, other], Vec::new()).unwrap();
        let _ = CompareText(&comparison).to_string();
        let _ = CompareMarkdown(&comparison).to_string();
        assert_eq!(comparison.difference.allocated_bytes, 0);
    }
}

/// The timeline's pictures.
fn draw(snapshot: &Snapshot, findings: &Findings, device: &Device) {
    for (by, along) in [(By::Category, Along::Entries), (By::Line, Along::Time)] {
        let groups = Groups::of(snapshot, findings, device, by);
        let view = TimelineView::of(snapshot, device, &groups, along, (0, u32::MAX), 64);
        for layout in [Layout::Heap, Layout::Addresses] {
            let _ = Pixels::of(snapshot, device, &view, layout, 48);
        }
    }
}

/// The memory map at some entries.
fn map(snapshot: &Snapshot, findings: &Findings, device: &Device) {
    let entries = device.timeline.entries();
    for entry in [0, entries / 2, entries.saturating_sub(1)] {
        let _ = EntryView::of(snapshot, findings, device, entry);
        let map = BlockMap::of(snapshot, device, entry);
        let pools = pools::pools(&map);
        let placement = Placement::of(&map, &pools, 64);
        let _ = MapPicture::of(&map, &pools, &placement);
        let _ = MapStory::of(snapshot, findings, device, &map, &placement);
        let _ = MapReading::at(snapshot, findings, &map, &placement, 0, 9);
    }
}

/// Ranges, stacks, tables and steps.
fn explore(snapshot: &Snapshot, findings: &Findings, device: &Device) {
    let end = device.timeline.entries();
    let _ = RangeView::of(device, end / 3, u32::MAX);
    let _ = (stop(device, end / 2, true), stop(device, end / 2, false));
    let chosen = |counted, category, text: &str| {
        let selection = Selection { begin: 0, end, counted, category, text: text.to_owned() };
        selection.allocations(snapshot, device)
    };
    let _ = chosen(Counted::Freed, Some(Category::ALL[0]), "");
    let _ = chosen(Counted::Kept, None, "a");
    let made = chosen(Counted::Allocated, None, "");
    let live = Selection::live_after(device.last_entry()).allocations(snapshot, device);
    let kinds = &findings.kinds;
    for (allocations, bottom_up, frames) in
        [(&made, false, Frames::All), (&live, true, Frames::User)]
    {
        let shape = TreeShape { bottom_up, frames };
        let tree = StackTree::of(snapshot, kinds, device, allocations, shape);
        let _ = Icicle::of(snapshot, kinds, &tree, 0, 64, "a");
        let last = tree.nodes.len() as u32 - 1;
        let _ = (NodeReading::of(snapshot, kinds, &tree, last, 3), crumbs(snapshot, &tree, last));
        let _ = rows(snapshot, &tree, 0);
    }
    for sort in [question::Column::Time, question::Column::Place] {
        let question = question::Question { sort, ..Default::default() };
        let table = Table::of(snapshot, kinds, device, &made, &question);
        let _ = table.rows(snapshot, kinds, device, 0, 5);
        let _ = table.csv(snapshot, kinds, device, false);
    }
    let _ = AllocationView::of(snapshot, findings, device, 0);
    let _ = StepsPicture::of(&steps::rows(snapshot, device), 8);
}

/// A question, and an error text held against the file.
fn ask(snapshot: &Snapshot, device: &Device) {
    let question = Question {
        conf: Settings::parse("expandable_segments:True").ok(),
        limit: Some(device.timeline.end.active),
        capacity: None,
        ..Question::default()
    };
    let answer = WhatIfReport::of(snapshot, device.timeline.device, &question);
    let _ = answer.map(|answer| WhatIfText(&answer).to_string());
    let failed = message::read(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 2.00 GiB of which 1.00 MiB is free.",
    );
    let _ = completion::complete(device, &failed);
}
