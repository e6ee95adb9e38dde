//! The explorer's panels, over every fixture: stacks and tables hold what the selection chooses, to
//! the byte, and what is cut to pixels says what was cut.

use crate::support::{fixtures, open};
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::timeline::allocation::AllocationId;
use oomscope::view::selection::{Counted, Selection};
use oomscope::view::stacks::icicle::{Icicle, MATCH, MERGED};
use oomscope::view::stacks::reading::{NodeReading, crumbs, rows};
use oomscope::view::stacks::tree::{Frames, StackTree, TreeShape};

const SHAPES: [TreeShape; 6] = [
    TreeShape { bottom_up: false, frames: Frames::User },
    TreeShape { bottom_up: true, frames: Frames::User },
    TreeShape { bottom_up: false, frames: Frames::Python },
    TreeShape { bottom_up: true, frames: Frames::Python },
    TreeShape { bottom_up: false, frames: Frames::All },
    TreeShape { bottom_up: true, frames: Frames::All },
];
const PLAIN: TreeShape = SHAPES[0];

/// What is live at the fullest moment, and all that was made in the trace.
fn selections(device: &Device) -> [Selection; 2] {
    let entries = device.timeline.entries();
    let all = Selection::live_after(device.last_entry());
    let counted = Counted::Allocated;
    [Selection::live_after(entries / 2), Selection { begin: 0, end: entries, counted, ..all }]
}

/// Calls `check` with every selection of every device of every fixture.
fn each(check: impl Fn(&str, &Snapshot, &Findings, &Device, &[AllocationId])) {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            for selection in selections(device) {
                let chosen = selection.allocations(&snapshot, device);
                check(&name, &snapshot, &findings, device, &chosen);
            }
        }
    }
}

fn bytes_of(device: &Device, allocations: &[AllocationId]) -> u64 {
    allocations.iter().filter_map(|id| device.timeline.allocation(*id)).map(|each| each.size).sum()
}

#[test]
fn a_tree_holds_what_is_chosen_and_each_node_what_is_below_it() {
    each(|name, snapshot, findings, device, chosen| {
        for shape in SHAPES {
            let tree = StackTree::of(snapshot, &findings.kinds, device, chosen, shape);
            assert_eq!(tree.nodes[0].bytes, bytes_of(device, chosen), "{name}");
            assert_eq!(tree.nodes[0].count, chosen.len() as u64, "{name}");
            let mut own_bytes = 0;
            for (place, node) in (0_u32..).zip(&tree.nodes) {
                let below = tree.children(node);
                let sum: u64 = below.iter().map(|child| child.bytes).sum();
                assert!(sum <= node.bytes, "{name}");
                assert!(below.is_sorted_by(|a, b| a.bytes >= b.bytes), "{name}");
                assert!(below.iter().all(|child| child.parent == place), "{name}");
                assert_eq!(tree.own_bytes(node), node.bytes - sum, "{name}");
                own_bytes += node.bytes - sum;
            }
            // Every byte belongs to the last frame of exactly one path.
            assert_eq!(own_bytes, tree.nodes[0].bytes, "{name}");
        }
    });
}

#[test]
fn an_icicle_leaves_nothing_out_however_narrow_it_is() {
    each(|name, snapshot, findings, device, chosen| {
        for (shape, width) in [(PLAIN, 1), (SHAPES[3], 300), (SHAPES[4], 1400)] {
            let tree = StackTree::of(snapshot, &findings.kinds, device, chosen, shape);
            let icicle = Icicle::of(snapshot, &findings.kinds, &tree, 0, width, "");
            let cells = &icicle.cells;
            let nodes_of = |cell: usize| {
                let first = cells.node[cell] as usize;
                &tree.nodes[first..first + cells.nodes[cell] as usize]
            };
            assert_eq!((cells.left[0], cells.right[0], cells.row[0]), (0, width, 0), "{name}");
            let mut below = 1;
            for cell in 0..cells.len() {
                assert!(cells.left[cell] < cells.right[cell], "{name}");
                let is_merged = cells.nodes[cell] > 1;
                assert_eq!(is_merged, cells.look[cell] & MERGED != 0, "{name}");
                if is_merged || cells.row[cell] + 1 == icicle.rows {
                    continue;
                }
                // The cells under it come next in their row, side by side and inside of it.
                let mut left = cells.left[cell];
                let wanted = tree.nodes[cells.node[cell] as usize].children.clone();
                let mut found = wanted.start;
                while found < wanted.end {
                    assert_eq!((cells.node[below], cells.left[below]), (found, left), "{name}");
                    assert_eq!(cells.row[below], cells.row[cell] + 1, "{name}");
                    assert!(cells.right[below] <= cells.right[cell], "{name}");
                    found += cells.nodes[below];
                    left = cells.right[below];
                    let sum: u64 = nodes_of(below).iter().map(|node| node.bytes).sum();
                    assert_eq!(cells.bytes[below], sum as f64, "{name}");
                    below += 1;
                }
                assert_eq!(found, wanted.end, "{name}");
            }
            assert_eq!(below, cells.len(), "{name}");
        }
    });
}

#[test]
fn a_node_reads_as_its_allocations() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let all = Selection::live_after(device.last_entry());
    let chosen = all.allocations(&snapshot, device);
    let tree = StackTree::of(&snapshot, &findings.kinds, device, &chosen, SHAPES[1]);
    let node = tree.nodes[0].children.start;
    let reading = NodeReading::of(&snapshot, &findings.kinds, &tree, node, 1).unwrap();
    let text = format!("{} at {}:{}", reading.name, reading.file, reading.line);
    // Bottom-up, the first row are the innermost lines; the heaviest stack passes through it.
    let frames = reading.frames.iter().filter(|frame| frame.kind == "user");
    let innermost = frames.map(|frame| format!("{} at {}:{}", frame.name, frame.file, frame.line));
    assert_eq!(innermost.take(1).collect::<Vec<_>>(), [text]);
    assert!(reading.bytes > 0 && reading.share > 0.1 && reading.share <= 1.0);

    let whole = &tree.nodes[0];
    let count = whole.children.end - whole.children.start;
    let merged = NodeReading::of(&snapshot, &findings.kinds, &tree, node, count).unwrap();
    assert_eq!((merged.bytes, merged.count), (whole.bytes, whole.count));
    assert!(NodeReading::of(&snapshot, &findings.kinds, &tree, u32::MAX, 1).is_none());

    let deepest = tree.nodes.len() as u32 - 1;
    let way = crumbs(&snapshot, &tree, deepest);
    assert_eq!((way[0].node, way[way.len() - 1].node), (0, deepest));
    let table = rows(&snapshot, &tree, 0);
    assert_eq!((table[0].depth, table[0].bytes), (0, whole.bytes));
    assert!(table.windows(2).all(|pair| pair[1].depth <= pair[0].depth + 1));
}

#[test]
fn the_text_looked_for_marks_the_frames_that_hold_it() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let text = "scenarios.py:334".to_owned();
    let selection = Selection { text: text.clone(), ..Selection::live_after(device.last_entry()) };
    let chosen = selection.allocations(&snapshot, device);
    let tree = StackTree::of(&snapshot, &findings.kinds, device, &chosen, PLAIN);
    let icicle = Icicle::of(&snapshot, &findings.kinds, &tree, 0, 1000, &text);
    let marked: Vec<&str> = (0..icicle.cells.len())
        .filter(|cell| icicle.cells.look[*cell] & MATCH != 0)
        .map(|cell| icicle.labels[icicle.cells.label[cell] as usize].1.as_str())
        .collect();
    assert_eq!(marked, ["scenarios.py:334"]);
}

#[test]
fn what_has_no_stack_is_a_node_that_says_why() {
    let tops = |name: &str| -> Vec<String> {
        let snapshot = open(name);
        let findings = Findings::of(&snapshot);
        let device = &findings.devices[0];
        let chosen = Selection::live_after(device.last_entry()).allocations(&snapshot, device);
        let tree = StackTree::of(&snapshot, &findings.kinds, device, &chosen, PLAIN);
        let icicle = Icicle::of(&snapshot, &findings.kinds, &tree, 0, 1000, "");
        assert_eq!(icicle.rows, 2, "{name}");
        icicle.labels.into_iter().skip(1).map(|(label, _)| label).collect()
    };
    assert_eq!(tops("shape_no_stacks"), ["recorded without a stack"]);
    assert_eq!(tops("shape_never_recorded"), ["allocated before the recording"]);
}
