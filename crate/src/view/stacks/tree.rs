//! The tree of bytes by stack.

use crate::findings::category::Category;
use crate::findings::frame_kind::{FrameKind, FrameKinds};
use crate::findings::lines::{Holder, holder_of, is_unseen};
use crate::findings::{Composition, Device};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::allocation::AllocationId;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::ops::Range;

/// Which frames of a stack its path passes through. A stack without any of them is one node: the
/// innermost frame of a library, else what there is instead of a line.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Frames {
    /// The user's own.
    User,
    /// Those and the Python of libraries.
    Python,
    /// All, native code among them.
    All,
}

/// How stacks become paths.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TreeShape {
    /// From the innermost frame outwards; else from the outermost inwards.
    pub bottom_up: bool,
    /// The frames of the paths.
    pub frames: Frames,
}

/// What all allocations have in common whose paths pass through a node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The node above; the root is its own.
    pub parent: u32,
    /// The nodes below, most bytes first.
    pub children: Range<u32>,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// How many there are.
    pub count: u64,
    /// The category with most of the bytes.
    pub category: Category,
    /// The stack with most of the bytes; [`StackId::ABSENT`] without one.
    pub stack: StackId,
    label: Label,
}

/// The nodes, each after its parent; node 0 is the root, which holds everything.
#[derive(Clone, Debug)]
pub struct StackTree {
    /// Never empty.
    pub nodes: Vec<Node>,
    /// What stands for a stack without a frame to name.
    others: Vec<Holder>,
}

/// What a node stands for: a frame by its id, or one of the others counted from the top.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
struct Label(u32);

const ROOT: Label = Label(u32::MAX);

/// What is summed over allocations.
#[derive(Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    count: u64,
    composition: Composition,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.count += other.count;
        for (bytes, more) in self.composition.iter_mut().zip(other.composition) {
            *bytes = bytes.saturating_add(more);
        }
    }

    /// The category with most of the bytes; the one that is stacked lowest where several have.
    fn category(&self) -> Category {
        let most = (0..10).rev().max_by_key(|place| self.composition[*place]).unwrap_or(0);
        Category::ALL[most]
    }
}

/// A node while the tree grows.
struct Seed {
    parent: u32,
    label: Label,
    sum: Sum,
    stack: StackId,
    stack_bytes: u64,
}

impl StackTree {
    /// The tree of some allocations of a device.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        device: &Device,
        allocations: &[AllocationId],
        shape: TreeShape,
    ) -> StackTree {
        let mut growing = Growing::new(snapshot, kinds, shape);
        for (stack, is_older, sum) in sums_by_stack(snapshot, device, allocations) {
            growing.add(stack, is_older, &sum);
        }
        growing.grown()
    }

    /// A node; `None` for a number of another tree.
    #[must_use]
    pub fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// The nodes below a node, most bytes first.
    #[must_use]
    pub fn children(&self, node: &Node) -> &[Node] {
        self.nodes.get(node.children.start as usize..node.children.end as usize).unwrap_or_default()
    }

    /// Bytes of a node that belong to none of the nodes below it.
    #[must_use]
    pub fn own_bytes(&self, node: &Node) -> u64 {
        let below: u64 = self.children(node).iter().map(|child| child.bytes).sum();
        node.bytes.saturating_sub(below)
    }

    /// What a node stands for; `None` for the root.
    #[must_use]
    pub fn holder(&self, node: &Node) -> Option<Holder> {
        if node.label == ROOT {
            return None;
        }
        let other = self.others.get((ROOT.0 - 1 - node.label.0) as usize);
        Some(other.cloned().unwrap_or(Holder::Frame(FrameId(node.label.0))))
    }

    /// The nodes from the root to a node, both included.
    #[must_use]
    pub fn path(&self, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(here) = self.node(at) {
            path.push(at);
            if here.parent == at {
                break;
            }
            at = here.parent;
        }
        path.reverse();
        path
    }
}

/// The sums of each distinct stack, in the order of their ids; what is older than the trace and has
/// no stack, apart from what was recorded without one.
fn sums_by_stack(
    snapshot: &Snapshot,
    device: &Device,
    allocations: &[AllocationId],
) -> Vec<(StackId, bool, Sum)> {
    let timeline = &device.timeline;
    let absent = snapshot.stacks.len();
    let older = absent + 1;
    let mut sums = vec![Sum::default(); older + 1];
    for id in allocations {
        let Some(allocation) = timeline.allocation(*id) else { continue };
        let is_older = is_unseen(timeline, *id, allocation);
        let place = if is_older { older } else { (allocation.stack.0 as usize).min(absent) };
        let sum = &mut sums[place];
        sum.bytes = sum.bytes.saturating_add(allocation.size);
        sum.count += 1;
        let of_category = &mut sum.composition[device.category(*id).place()];
        *of_category = of_category.saturating_add(allocation.size);
    }
    let with_stack = |(place, sum): (usize, Sum)| {
        let stack = if place < absent { StackId(place as u32) } else { StackId::ABSENT };
        (sum.count > 0).then_some((stack, place == older, sum))
    };
    sums.into_iter().enumerate().filter_map(with_stack).collect()
}

struct Growing<'s> {
    snapshot: &'s Snapshot,
    kinds: &'s FrameKinds,
    shape: TreeShape,
    seeds: Vec<Seed>,
    below: FxHashMap<(u32, Label), u32>,
    others: Vec<Holder>,
    path: Vec<Label>,
}

impl<'s> Growing<'s> {
    fn new(snapshot: &'s Snapshot, kinds: &'s FrameKinds, shape: TreeShape) -> Self {
        let root = Seed {
            parent: 0,
            label: ROOT,
            sum: Sum::default(),
            stack: StackId::ABSENT,
            stack_bytes: 0,
        };
        Growing {
            snapshot,
            kinds,
            shape,
            seeds: vec![root],
            below: FxHashMap::default(),
            others: Vec::new(),
            path: Vec::new(),
        }
    }

    fn add(&mut self, stack: StackId, is_older: bool, sum: &Sum) {
        self.trace_path(stack, is_older);
        let mut at = 0;
        self.seeds[0].take(stack, sum);
        for step in 0..self.path.len() {
            let label = self.path[step];
            let next = u32::try_from(self.seeds.len()).unwrap_or(u32::MAX);
            let below = *self.below.entry((at, label)).or_insert(next);
            if below == next {
                let empty = Sum::default();
                self.seeds.push(Seed { parent: at, label, sum: empty, stack, stack_bytes: 0 });
            }
            at = below;
            self.seeds[at as usize].take(stack, sum);
        }
    }

    /// The labels from the node below the root to the last.
    fn trace_path(&mut self, stack: StackId, is_older: bool) {
        self.path.clear();
        let is_wanted = |kind| match self.shape.frames {
            Frames::User => kind == FrameKind::User,
            Frames::Python => kind != FrameKind::Cpp,
            Frames::All => true,
        };
        let frames = self.snapshot.stacks.frames_of(stack).iter();
        let wanted = frames.filter(|frame| is_wanted(self.kinds.get(**frame)));
        self.path.extend(wanted.map(|frame| Label(frame.0)));
        if !self.shape.bottom_up {
            self.path.reverse();
        }
        if self.path.is_empty() {
            let holder = match is_older {
                true => Holder::Older,
                false => holder_of(self.snapshot, self.kinds, stack),
            };
            let label = self.label_of(holder);
            self.path.push(label);
        }
    }

    fn label_of(&mut self, holder: Holder) -> Label {
        if let Holder::Frame(frame) = holder {
            return Label(frame.0);
        }
        let known = self.others.iter().position(|other| *other == holder);
        let place = known.unwrap_or_else(|| {
            self.others.push(holder);
            self.others.len() - 1
        });
        Label(ROOT.0 - 1 - place as u32)
    }

    /// The tree with the nodes below each side by side, most bytes first.
    fn grown(self) -> StackTree {
        let Growing { seeds, others, .. } = self;
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); seeds.len()];
        for (place, seed) in (0_u32..).zip(&seeds).skip(1) {
            below[seed.parent as usize].push(place);
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(seeds.len());
        let mut order = vec![(0_u32, 0_u32)];
        let mut at = 0;
        while let Some((seed, parent)) = order.get(at).copied() {
            let mut children = std::mem::take(&mut below[seed as usize]);
            let key = |child: &u32| {
                let child = &seeds[*child as usize];
                (std::cmp::Reverse(child.sum.bytes), child.label)
            };
            children.sort_by_key(key);
            let first = order.len() as u32;
            order.extend(children.into_iter().map(|child| (child, at as u32)));
            let Seed { label, sum, stack, .. } = &seeds[seed as usize];
            nodes.push(Node {
                parent,
                children: first..order.len() as u32,
                bytes: sum.bytes,
                count: sum.count,
                category: sum.category(),
                stack: *stack,
                label: *label,
            });
            at += 1;
        }
        StackTree { nodes, others }
    }
}

impl Seed {
    fn take(&mut self, stack: StackId, sum: &Sum) {
        self.sum.add(sum);
        if sum.bytes > self.stack_bytes {
            (self.stack, self.stack_bytes) = (stack, sum.bytes);
        }
    }
}
