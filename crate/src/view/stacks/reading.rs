//! Nodes of the tree in words: one under the pointer, the way to it, and the largest as a table.

use super::NodeName;
use super::tree::{Node, StackTree};
use crate::findings::frame_kind::FrameKinds;
use crate::findings::lines::Holder;
use crate::snapshot::Snapshot;
use crate::view::frames::{FrameView, holder_view, stack_view};
use serde::Serialize;

/// A row of the table names at least this share of its root's bytes.
const LEAST_SHARE: f64 = 0.01;
/// Rows of the table at most.
const ROWS: usize = 60;

/// A node, or several neighbours that share a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeReading {
    /// The function, or what there is instead of one.
    pub name: String,
    /// Its file, as recorded; empty where it is no frame.
    pub file: String,
    /// Its line; 0 where unknown.
    pub line: u32,
    /// How many nodes these are.
    pub nodes: u32,
    /// Bytes of the allocations made in it or below.
    pub bytes: u64,
    /// Bytes that none of the frames below it in the tree made.
    pub own_bytes: u64,
    /// How many allocations.
    pub count: u64,
    /// Its part of all chosen bytes, 0 to 1.
    pub share: f64,
    /// The category with most of the bytes.
    pub category: &'static str,
    /// The same for people.
    pub category_label: &'static str,
    /// Its heaviest stack, innermost frame first; empty where none was recorded.
    pub frames: Vec<FrameView>,
}

impl NodeReading {
    /// Reads a node and its next `nodes - 1` neighbours; `None` where the tree has no such node.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        tree: &StackTree,
        node: u32,
        nodes: u32,
    ) -> Option<NodeReading> {
        let first = tree.node(node)?;
        let end = (node as usize).saturating_add(nodes.max(1) as usize);
        let all = tree.nodes.get(node as usize..end)?;
        let sum = |of: fn(&Node) -> u64| all.iter().map(of).sum::<u64>();
        let (file, line, name) = match tree.holder(first) {
            _ if nodes > 1 => (String::new(), 0, format!("{nodes} more frames")),
            None => (String::new(), 0, "all".to_owned()),
            Some(holder) => holder_view(snapshot, &holder),
        };
        Some(NodeReading {
            name,
            file: if file == "??" { String::new() } else { file },
            line,
            nodes: nodes.max(1),
            bytes: sum(|node| node.bytes),
            own_bytes: all.iter().map(|node| tree.own_bytes(node)).sum(),
            count: sum(|node| node.count),
            share: share(sum(|node| node.bytes), tree.nodes[0].bytes),
            category: first.category.name(),
            category_label: first.category.label(),
            frames: stack_view(snapshot, kinds, first.stack),
        })
    }
}

/// One step of the way from the root.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crumb {
    /// The node.
    pub node: u32,
    /// Its name.
    pub name: String,
    /// Its place as `train.py:88`; empty where unknown.
    pub place: String,
}

/// The way from the root to a node, both included.
#[must_use]
pub fn crumbs(snapshot: &Snapshot, tree: &StackTree, node: u32) -> Vec<Crumb> {
    let crumb = |at: u32| {
        let name = NodeName::of(snapshot, tree.holder(tree.node(at)?).as_ref());
        Some(Crumb { node: at, name: name.name, place: name.place })
    };
    tree.path(node).into_iter().filter_map(crumb).collect()
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeRow {
    /// Frames between it and the root of the table.
    pub depth: u32,
    /// The function, or what there is instead of one.
    pub name: String,
    /// Its place as `train.py:88`; empty where unknown.
    pub place: String,
    /// Bytes of the allocations made in it or below.
    pub bytes: u64,
    /// How many allocations.
    pub count: u64,
    /// Its part of all chosen bytes, 0 to 1.
    pub share: f64,
}

/// A node with those below it that have a share worth naming, each after the one above it.
#[must_use]
pub fn rows(snapshot: &Snapshot, tree: &StackTree, root: u32) -> Vec<TreeRow> {
    let Some(top) = tree.node(root) else { return Vec::new() };
    let least = top.bytes as f64 * LEAST_SHARE;
    let mut rows = Vec::new();
    let mut next = vec![(root, 0)];
    while let Some((at, depth)) = next.pop() {
        let Some(node) = tree.node(at).filter(|_| rows.len() < ROWS) else { break };
        let name = NodeName::of(snapshot, tree.holder(node).as_ref());
        rows.push(TreeRow {
            depth,
            name: name.name,
            place: name.place,
            bytes: node.bytes,
            count: node.count,
            share: share(node.bytes, tree.nodes[0].bytes),
        });
        let worth = node.children.clone().zip(tree.children(node));
        let worth = worth.take_while(|(_, child)| child.bytes > 0 && child.bytes as f64 >= least);
        let below: Vec<(u32, u32)> = worth.map(|(child, _)| (child, depth + 1)).collect();
        next.extend(below.into_iter().rev());
    }
    rows
}

/// Whether any path of the tree passes through a frame.
#[must_use]
pub fn has_frames(tree: &StackTree) -> bool {
    let root = &tree.nodes[0];
    let top = tree.children(root).iter();
    top.filter_map(|node| tree.holder(node)).any(|holder| matches!(holder, Holder::Frame(_)))
}

fn share(bytes: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { bytes as f64 / whole as f64 }
}
