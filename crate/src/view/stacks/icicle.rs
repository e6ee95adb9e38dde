//! The tree as rows of cells, cut to pixels.

use super::NodeName;
use super::tree::StackTree;
use crate::findings::category::Category;
use crate::findings::frame_kind::{FrameKind, FrameKinds};
use crate::findings::lines::Holder;
use crate::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A cell narrower than this is no target for a pointer; its like become one cell.
const NARROW_PX: u32 = 3;
/// A cell narrower than this has no room for a letter on any screen.
const LABELLED_PX: u32 = 24;
/// Rows at most: the browser's tallest canvas has room for so many on a screen of two pixels to one.
const ROWS: u32 = 180;
/// No label.
pub const UNLABELLED: u32 = u32::MAX;

/// Set in a cell's look: a frame of a library or of native code.
pub const STRANGE: u32 = 16;
/// Set in a cell's look: the text looked for is in the frame.
pub const MATCH: u32 = 32;
/// Set in a cell's look: the cell stands for several nodes.
pub const MERGED: u32 = 64;

/// What an icicle shows, row under row, each from left to right.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Icicle {
    /// Pixels that the first row takes.
    pub width_px: u32,
    /// Rows.
    pub rows: u32,
    /// Whether there are rows below the last; zooming in shows them.
    pub is_cut: bool,
    /// The keys of categories, which a cell's look counts into.
    pub categories: Vec<String>,
    /// Texts of cells: a function, and its place where there is one.
    pub labels: Vec<(String, String)>,
    /// The cells, a column each field.
    #[serde(skip)]
    pub cells: Cells,
}

/// Cells, a column each field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// The node of the tree; of several merged ones, the first.
    pub node: Vec<u32>,
    /// How many nodes; they are neighbours.
    pub nodes: Vec<u32>,
    /// The row, from 0 at the top.
    pub row: Vec<u32>,
    /// Left edge in pixels.
    pub left: Vec<u32>,
    /// Right edge in pixels, exclusive; more than `left`.
    pub right: Vec<u32>,
    /// The place of the category with most of the bytes in [`Icicle::categories`], with [`STRANGE`],
    /// [`MATCH`] and [`MERGED`].
    pub look: Vec<u32>,
    /// Place in the labels; [`UNLABELLED`] for none.
    pub label: Vec<u32>,
    /// Bytes of the nodes.
    pub bytes: Vec<f64>,
}

impl Cells {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node.is_empty()
    }
}

/// Some neighbouring nodes and the pixels that they take.
struct Piece {
    node: u32,
    nodes: u32,
    row: u32,
    left: u32,
    right: u32,
}

impl Icicle {
    /// The tree from a node downwards. Nodes below one whose cells would be too narrow are merged
    /// into one cell; none is left out but those below the last row. `text`, in any case, marks the
    /// frames that contain it.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        tree: &StackTree,
        root: u32,
        width_px: u32,
        text: &str,
    ) -> Icicle {
        let root = if tree.node(root).is_some() { root } else { 0 };
        let width_px = width_px.max(1);
        let painter = Painter { snapshot, kinds, tree, text: text.trim().to_lowercase() };
        let categories = Category::ALL.map(|category| category.name().to_owned()).to_vec();
        let mut icicle = Icicle { width_px, categories, ..Icicle::default() };
        let mut labels = FxHashMap::default();
        let mut pieces =
            VecDeque::from([Piece { node: root, nodes: 1, row: 0, left: 0, right: width_px }]);
        while let Some(piece) = pieces.pop_front() {
            painter.push(&piece, &mut icicle, &mut labels);
            if piece.nodes == 1 {
                let below = below(tree, &piece);
                if piece.row + 1 < ROWS {
                    pieces.extend(below);
                } else {
                    icicle.is_cut |= !below.is_empty();
                }
            }
        }
        icicle
    }
}

/// The cells under a cell of one node: they take as much of its width as they have of its bytes.
fn below(tree: &StackTree, above: &Piece) -> Vec<Piece> {
    let Some(node) = tree.node(above.node) else { return Vec::new() };
    let children = tree.children(node);
    let width = above.right - above.left;
    let px_of = |bytes: u64| match node.bytes {
        0 => f64::from(width),
        whole => f64::from(width) * (bytes as f64 / whole as f64),
    };
    let bytes_of = |nodes: &[super::tree::Node]| nodes.iter().map(|node| node.bytes).sum::<u64>();
    if children.is_empty() {
        return Vec::new();
    }
    let wide = children.partition_point(|child| px_of(child.bytes) >= f64::from(NARROW_PX));
    // The merged ones stay in sight, so their pixel is set aside first.
    let narrow_px = match wide == children.len() {
        true => 0,
        false => (px_of(bytes_of(&children[wide..])).round() as u32).clamp(1, width),
    };
    let taken_px = (px_of(bytes_of(children)).round() as u32).clamp(1, width).max(narrow_px);
    let wide_px = taken_px - narrow_px;
    let wide_bytes = bytes_of(&children[..wide]).max(1);
    let piece = |node, nodes, left, right| Piece { node, nodes, row: above.row + 1, left, right };
    let mut pieces = Vec::new();
    let (mut sum, mut left) = (0, above.left);
    for (node, child) in (node.children.start..).zip(&children[..wide]) {
        sum += child.bytes;
        let share = sum as f64 / wide_bytes as f64;
        let right = above.left + (f64::from(wide_px) * share).round() as u32;
        pieces.push(piece(node, 1, left, right));
        left = right;
    }
    if narrow_px > 0 {
        let first = node.children.start + wide as u32;
        pieces.push(piece(first, node.children.end - first, left, left + narrow_px));
    }
    pieces
}

struct Painter<'a> {
    snapshot: &'a Snapshot,
    kinds: &'a FrameKinds,
    tree: &'a StackTree,
    text: String,
}

impl Painter<'_> {
    fn push(&self, piece: &Piece, icicle: &mut Icicle, labels: &mut FxHashMap<NodeName, u32>) {
        let first = piece.node as usize;
        let nodes = self.tree.nodes.get(first..first + piece.nodes as usize).unwrap_or_default();
        let [node, ..] = nodes else { return };
        let holder = self.tree.holder(node);
        let is_wide = piece.right - piece.left >= LABELLED_PX;
        let label = is_wide.then(|| match piece.nodes {
            1 => NodeName::of(self.snapshot, holder.as_ref()),
            more => NodeName { name: format!("{more} more"), place: String::new() },
        });
        let label = label.map_or(UNLABELLED, |name| {
            let next = icicle.labels.len() as u32;
            let (name, place) = (name.clone(), labels.entry(name).or_insert(next));
            if *place == next {
                icicle.labels.push((name.name, name.place));
            }
            *place
        });
        let mut look = node.category.place() as u32;
        if piece.nodes > 1 {
            look |= MERGED;
        } else {
            if matches!(&holder, Some(Holder::Frame(frame)) if self.kinds.get(*frame) != FrameKind::User)
            {
                look |= STRANGE;
            }
            if self.is_match(holder.as_ref()) {
                look |= MATCH;
            }
        }
        icicle.rows = icicle.rows.max(piece.row + 1);
        let cells = &mut icicle.cells;
        cells.node.push(piece.node);
        cells.nodes.push(piece.nodes);
        cells.row.push(piece.row);
        cells.left.push(piece.left);
        cells.right.push(piece.right);
        cells.look.push(look);
        cells.label.push(label);
        cells.bytes.push(nodes.iter().map(|node| node.bytes).sum::<u64>() as f64);
    }

    fn is_match(&self, holder: Option<&Holder>) -> bool {
        let Some(Holder::Frame(frame)) = holder else { return false };
        let (stacks, texts) = (&self.snapshot.stacks, &self.snapshot.texts);
        !self.text.is_empty() && stacks.line_of(*frame, texts).to_lowercase().contains(&self.text)
    }
}
