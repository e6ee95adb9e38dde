//! Which of the user's lines hold the bytes.

use super::category::{Category, Class};
use super::frame_kind::FrameKinds;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::Timeline;
use crate::timeline::allocation::{Allocation, AllocationId};
use rustc_hash::FxHashMap;

/// What holds bytes: a line, or what there is instead of one.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Holder {
    /// A Python frame: the user's innermost, or a library's where there is none.
    Frame(FrameId),
    /// A node of the autograd graph, such as `AddmmBackward0`: the backward pass has no Python.
    Node(String),
    /// Native code without any of these.
    Native,
    /// Allocated before the recording.
    Older,
    /// Recorded without a stack.
    NoStack,
}

/// The bytes of one holder at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Who.
    pub holder: Holder,
    /// Bytes of its live blocks.
    pub bytes: u64,
    /// Number of its live allocations.
    pub count: u64,
    /// The category with most of these bytes.
    pub category: Category,
    /// The stack with most of these bytes.
    pub stack: StackId,
}

/// The holders of what is live after `entry`, most bytes first.
#[must_use]
pub fn lines_at(
    snapshot: &Snapshot,
    timeline: &Timeline,
    kinds: &FrameKinds,
    classes: &[Class],
    entry: u32,
) -> Vec<Line> {
    #[derive(Default)]
    struct Sum {
        bytes: u64,
        count: u64,
        categories: [u64; 10],
    }
    let mut by_stack: FxHashMap<(StackId, bool), Sum> = FxHashMap::default();
    for_each(timeline.live_after(entry), |(id, allocation)| {
        let is_older = is_unseen(timeline, id, allocation);
        let sum = by_stack.entry((allocation.stack, is_older)).or_default();
        sum.bytes = sum.bytes.saturating_add(allocation.size);
        sum.count += 1;
        let category = classes.get(id.0 as usize).map_or(Category::Unknown, |class| class.category);
        sum.categories[category.place()] += allocation.size;
    });
    let mut stacks: Vec<((StackId, bool), Sum)> = by_stack.into_iter().collect();
    stacks.sort_by(|a, b| b.1.bytes.cmp(&a.1.bytes).then(a.0.cmp(&b.0)));
    let mut lines: Vec<(Line, [u64; 10])> = Vec::new();
    let mut places: FxHashMap<Holder, usize> = FxHashMap::default();
    for ((stack, is_older), sum) in stacks {
        let holder = if is_older { Holder::Older } else { holder_of(snapshot, kinds, stack) };
        // The first stack of a holder is its heaviest.
        let place = *places.entry(holder.clone()).or_insert_with(|| {
            lines.push((
                Line { holder, bytes: 0, count: 0, category: Category::Unknown, stack },
                [0; 10],
            ));
            lines.len() - 1
        });
        let (line, categories) = &mut lines[place];
        line.bytes = line.bytes.saturating_add(sum.bytes);
        line.count += sum.count;
        for (total, bytes) in categories.iter_mut().zip(sum.categories) {
            *total += bytes;
        }
    }
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|(line, categories)| {
            let most = (0..10).max_by_key(|place| categories[*place]).unwrap_or(0);
            Line { category: Category::ALL[most], ..line }
        })
        .collect();
    lines.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.holder.cmp(&b.holder)));
    lines
}

/// Whether the file does not say who made an allocation, since that was before the trace.
#[must_use]
pub fn is_unseen(timeline: &Timeline, id: AllocationId, allocation: &Allocation) -> bool {
    (id.0 as usize) < timeline.older && !allocation.has_stack()
}

/// A frame's place as `train.py:88`.
#[must_use]
pub fn short_line(snapshot: &Snapshot, frame: FrameId) -> String {
    snapshot.stacks.frame(frame).map_or_else(String::new, |frame| {
        let file = snapshot.texts.get(frame.filename);
        let short = file.rsplit(['/', '\\']).next().unwrap_or(file);
        format!("{short}:{}", frame.line)
    })
}

/// What there is to name for a stack.
#[must_use]
pub fn holder_of(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId) -> Holder {
    if let Some(frame) = kinds.line_of(snapshot, stack) {
        return Holder::Frame(frame);
    }
    let frames = snapshot.stacks.frames_of(stack);
    if frames.is_empty() {
        return Holder::NoStack;
    }
    let names = frames
        .iter()
        .filter_map(|frame| snapshot.stacks.frame(*frame))
        .map(|frame| snapshot.texts.get(frame.name));
    names.filter_map(node_of).next().map_or(Holder::Native, |node| Holder::Node(node.to_owned()))
}

/// The node in a symbol such as `torch::autograd::generated::AddmmBackward0::apply(…)`.
fn node_of(symbol: &str) -> Option<&str> {
    let head = symbol.split('(').next()?;
    let mut parts = head.rsplit("::");
    let node = parts.find(|part| {
        part.contains("Backward") && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })?;
    // Newer versions write the node's body as a function of its own.
    Some(node.split("_apply").next().unwrap_or(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_of_a_backward_symbol_is_found() {
        assert_eq!(
            node_of("torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)"),
            Some("AddmmBackward0")
        );
        assert_eq!(
            node_of("torch::autograd::generated::MmBackward0_apply_functional(int)"),
            Some("MmBackward0")
        );
        assert_eq!(node_of("at::native::mm(at::Tensor const&)"), None);
    }
}
