//! The blocks of a device by address, driven by the recorded addresses.
//!
//! A hash of block starts and links to the neighbours make each step constant; the ordered map of
//! runs (contiguous ranges of mapped memory) answers for addresses inside a block, which only odd
//! traces and expandable segments ask for.

use crate::snapshot::segment::PoolId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The granule of blocks, and the least remainder worth splitting off in the small pool
/// (`kMinBlockSize`).
const GRANULE: u64 = 512;
/// The largest block of the small pool, and the largest remainder that stays with a block of the
/// large pool (`kSmallSize`).
pub(super) const SMALL: u64 = 1 << 20;
/// The length of a segment of the small pool (`kSmallBuffer`).
pub(super) const SMALL_SEGMENT: u64 = 2 << 20;

/// Which requests a range may serve.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Kind {
    pub(super) stream: u64,
    pub(super) is_small: bool,
    pub(super) pool: PoolId,
    pub(super) is_expandable: bool,
}

/// What a block is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holder {
    /// Nothing: it is a hole.
    Nobody,
    /// An allocation, by its place in the timeline.
    Allocation(u32),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    address: u64,
    size: u64,
    before: u32,
    after: u32,
    holder: Holder,
    kind: u16,
}

const END: u32 = u32::MAX;

/// A contiguous run of blocks of one kind.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    /// One past its last byte.
    end: u64,
}

/// What became of a request for a block at a given address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Placed {
    /// A hole began there; the block has this many bytes.
    InHole(u64),
    /// It lies inside a hole or crosses one's end; the block has this many bytes.
    Inside(u64),
    /// That place is held by this allocation.
    Held(u32),
    /// No run covers the address.
    Outside,
}

/// Totals of the holes that one request could use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Holes {
    pub(super) total: u64,
    pub(super) largest: u64,
}

/// All blocks of one device.
#[derive(Debug, Default)]
pub(super) struct Layout {
    nodes: Vec<Node>,
    unused: Vec<u32>,
    by_address: FxHashMap<u64, u32>,
    /// Contiguous runs of blocks, by their first address.
    runs: BTreeMap<u64, Run>,
    kinds: Vec<Kind>,
    max_split: Option<u64>,
    pub(super) reserved: u64,
    /// Nodes that may still be walked to find an address inside a block. A damaged trace could ask
    /// for a long walk at each entry; past this the layout gives up such questions.
    walks_left: u64,
}

impl Layout {
    pub(super) fn new(max_split: Option<u64>, entries: usize) -> Self {
        Layout {
            max_split,
            walks_left: (entries as u64).saturating_mul(64).saturating_add(1 << 22),
            ..Layout::default()
        }
    }

    /// Adds the free range [`address`, `address + size`). False, and without effect, when a part of
    /// it is there already.
    pub(super) fn add_range(&mut self, address: u64, size: u64, kind: Kind) -> bool {
        let end = address.saturating_add(size);
        if size == 0 || end == u64::MAX || self.overlaps(address, end) {
            return false;
        }
        let kind_id = self.kind_id(kind);
        let id = self.insert(Node {
            address,
            size,
            before: END,
            after: END,
            holder: Holder::Nobody,
            kind: kind_id,
        });
        self.reserved = self.reserved.saturating_add(size);
        // Only expandable ranges grow together; neighbouring segments of cudaMalloc stay apart.
        let mut run = Run { first: id, end };
        let after =
            self.runs.get(&end).copied().filter(|after| {
                kind.is_expandable && self.nodes[after.first as usize].kind == kind_id
            });
        if let Some(after) = after {
            self.runs.remove(&end);
            self.link(id, after.first);
            run.end = after.end;
        }
        let before = self.runs.range_mut(..address).next_back().map(|(_, before)| before);
        match before {
            Some(before)
                if kind.is_expandable
                    && before.end == address
                    && self.nodes[before.first as usize].kind == kind_id =>
            {
                before.end = run.end;
                let first = before.first;
                let last = self.last_of_run(first);
                self.link(last, id);
            }
            _ => {
                self.runs.insert(address, run);
            }
        }
        self.merge(id);
        true
    }

    /// Takes the range [`address`, `address + size`) out. Answers the allocations that it held.
    /// `None` when no run covers all of it.
    pub(super) fn remove_range(&mut self, address: u64, size: u64) -> Option<Vec<u32>> {
        let end = address.checked_add(size).filter(|_| size > 0)?;
        let first = self.cut_at(address)?;
        let mut held = Vec::new();
        let mut inside = Vec::new();
        let mut next = first;
        loop {
            let node = *self.nodes.get(next as usize)?;
            let node_end = node.address.saturating_add(node.size);
            if node_end > end {
                // The range ends inside this block.
                if node.holder != Holder::Nobody {
                    self.merge(first);
                    return None;
                }
                self.split(next, end.saturating_sub(node.address));
            }
            inside.push(next);
            if node_end >= end {
                break;
            }
            next = node.after;
            if next == END {
                self.merge(first);
                return None;
            }
        }
        let before = self.nodes.get(first as usize).map_or(END, |node| node.before);
        let after = inside
            .last()
            .and_then(|last| self.nodes.get(*last as usize))
            .map_or(END, |node| node.after);
        for id in inside {
            if let Some(node) = self.nodes.get(id as usize) {
                if let Holder::Allocation(allocation) = node.holder {
                    held.push(allocation);
                }
                self.by_address.remove(&node.address);
                self.unused.push(id);
            }
        }
        let run_end = match self.runs.remove(&address) {
            Some(run) => run.end,
            None => match self.runs.range_mut(..address).next_back() {
                Some((_, run)) => std::mem::replace(&mut run.end, address),
                None => end,
            },
        };
        if let Some(node) = self.nodes.get_mut(before as usize) {
            node.after = END;
        }
        if let Some(node) = self.nodes.get_mut(after as usize) {
            node.before = END;
            self.runs.insert(node.address, Run { first: after, end: run_end });
        }
        self.reserved = self.reserved.saturating_sub(size);
        Some(held)
    }

    /// Gives the hole at `address` to `allocation`, whose request rounds to `rounded` bytes.
    pub(super) fn place(&mut self, address: u64, rounded: u64, allocation: u32) -> Placed {
        let (id, is_start) = match self.by_address.get(&address) {
            Some(id) => (*id, true),
            None => match self.cut_hole_at(address) {
                Ok(id) => (id, false),
                Err(placed) => return placed,
            },
        };
        let Some(node) = self.nodes.get(id as usize).copied() else { return Placed::Outside };
        if let Holder::Allocation(other) = node.holder {
            return Placed::Held(other);
        }
        let is_expandable =
            self.kinds.get(usize::from(node.kind)).is_some_and(|kind| kind.is_expandable);
        let fits = node.size >= rounded;
        let remainder = node.size.saturating_sub(rounded);
        let splits = if rounded <= SMALL || is_expandable {
            remainder >= GRANULE
        } else {
            remainder > SMALL && self.max_split.is_none_or(|max| rounded < max)
        };
        if fits && splits {
            self.split(id, rounded);
        }
        let Some(node) = self.nodes.get_mut(id as usize) else { return Placed::Outside };
        node.holder = Holder::Allocation(allocation);
        if is_start && fits { Placed::InHole(node.size) } else { Placed::Inside(node.size) }
    }

    /// Gives exactly [`address`, `address + size`) to `allocation`: a block of the state before
    /// the trace. False where that place is not free.
    pub(super) fn place_exactly(&mut self, address: u64, size: u64, allocation: u32) -> bool {
        let id = match self.by_address.get(&address) {
            Some(id) => *id,
            None => match self.cut_hole_at(address) {
                Ok(id) => id,
                Err(_) => return false,
            },
        };
        let Some(node) = self.nodes.get(id as usize).copied() else { return false };
        if node.holder != Holder::Nobody || node.size < size || size == 0 {
            self.merge(id);
            return false;
        }
        if node.size > size {
            self.split(id, size);
        }
        if let Some(node) = self.nodes.get_mut(id as usize) {
            node.holder = Holder::Allocation(allocation);
        }
        true
    }

    /// The hole right after the block at `address`: its first byte and its size.
    pub(super) fn hole_after(&self, address: u64) -> Option<(u64, u64, Kind)> {
        let node = self.nodes.get(*self.by_address.get(&address)? as usize)?;
        let after = self.nodes.get(node.after as usize)?;
        let kind = self.kinds.get(usize::from(after.kind))?;
        (after.holder == Holder::Nobody).then_some((after.address, after.size, *kind))
    }

    /// Moves the end of the block at `address` up by `slack` bytes of the hole after it.
    pub(super) fn extend(&mut self, address: u64, slack: u64) {
        let Some(id) = self.by_address.get(&address).copied() else { return };
        let after = self.nodes.get(id as usize).map_or(END, |node| node.after);
        let Some(hole) = self.nodes.get(after as usize).copied() else { return };
        if hole.holder != Holder::Nobody || hole.size < slack {
            return;
        }
        if hole.size > slack {
            self.split(after, slack);
        }
        self.absorb(id);
    }

    /// The block at `address` becomes a hole, and one with its neighbours.
    pub(super) fn release(&mut self, address: u64) {
        if let Some(id) = self.by_address.get(&address).copied() {
            if let Some(node) = self.nodes.get_mut(id as usize) {
                node.holder = Holder::Nobody;
            }
            self.merge(id);
        }
    }

    /// The pool that `address` lies in.
    pub(super) fn pool_at(&self, address: u64) -> Option<PoolId> {
        let node = self.nodes.get(*self.by_address.get(&address)? as usize)?;
        self.kinds.get(usize::from(node.kind)).map(|kind| kind.pool)
    }

    /// The holes whose kind `serves`.
    pub(super) fn holes(&self, serves: impl Fn(&Kind) -> bool) -> Holes {
        let mut holes = Holes::default();
        for node in self.blocks() {
            if node.holder == Holder::Nobody
                && self.kinds.get(usize::from(node.kind)).is_some_and(&serves)
            {
                holes.total = holes.total.saturating_add(node.size);
                holes.largest = holes.largest.max(node.size);
            }
        }
        holes
    }

    /// All blocks by address: start, size, holder.
    pub(super) fn by_address(&self) -> impl Iterator<Item = (u64, u64, Holder)> + '_ {
        self.blocks().map(|node| (node.address, node.size, node.holder))
    }

    /// Number of blocks, holes included.
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    fn blocks(&self) -> impl Iterator<Item = &Node> + '_ {
        self.runs.values().flat_map(|run| {
            std::iter::successors(self.nodes.get(run.first as usize), |node| {
                self.nodes.get(node.after as usize)
            })
        })
    }

    fn kind_id(&mut self, kind: Kind) -> u16 {
        let place = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            if self.kinds.len() < usize::from(u16::MAX) {
                self.kinds.push(kind);
            }
            self.kinds.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    fn insert(&mut self, node: Node) -> u32 {
        let id = match self.unused.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                u32::try_from(self.nodes.len() - 1).unwrap_or(END)
            }
        };
        self.by_address.insert(node.address, id);
        id
    }

    fn link(&mut self, before: u32, after: u32) {
        self.nodes[before as usize].after = after;
        self.nodes[after as usize].before = before;
    }

    /// Cuts a block in two after `size` bytes.
    fn split(&mut self, id: u32, size: u64) {
        let node = self.nodes[id as usize];
        let rest = self.insert(Node {
            address: node.address.saturating_add(size),
            size: node.size.saturating_sub(size),
            before: id,
            after: node.after,
            ..node
        });
        if node.after != END {
            self.nodes[node.after as usize].before = rest;
        }
        let node = &mut self.nodes[id as usize];
        node.size = size;
        node.after = rest;
    }

    /// Makes one hole of this one and its neighbours.
    fn merge(&mut self, id: u32) {
        let node = self.nodes[id as usize];
        if node.holder != Holder::Nobody {
            return;
        }
        if node.after != END && self.nodes[node.after as usize].holder == Holder::Nobody {
            self.absorb(id);
        }
        if node.before != END && self.nodes[node.before as usize].holder == Holder::Nobody {
            self.absorb(node.before);
        }
    }

    /// Takes the next block's bytes over.
    fn absorb(&mut self, id: u32) {
        let gone = self.nodes[id as usize].after;
        let next = self.nodes[gone as usize];
        self.by_address.remove(&next.address);
        self.unused.push(gone);
        if next.after != END {
            self.nodes[next.after as usize].before = id;
        }
        let node = &mut self.nodes[id as usize];
        node.size = node.size.saturating_add(next.size);
        node.after = next.after;
    }

    /// The block that begins at `address`, after cutting the hole around it if need be.
    fn cut_at(&mut self, address: u64) -> Option<u32> {
        match self.by_address.get(&address) {
            Some(id) => Some(*id),
            None => self.cut_hole_at(address).ok(),
        }
    }

    fn cut_hole_at(&mut self, address: u64) -> Result<u32, Placed> {
        let id = self.covering(address).ok_or(Placed::Outside)?;
        let node = self.nodes[id as usize];
        if let Holder::Allocation(other) = node.holder {
            return Err(Placed::Held(other));
        }
        self.split(id, address.saturating_sub(node.address));
        Ok(self.nodes[id as usize].after)
    }

    /// The block that covers `address`.
    fn covering(&mut self, address: u64) -> Option<u32> {
        let run = *self.runs.range((Bound::Unbounded, Bound::Included(address))).next_back()?.1;
        if address >= run.end {
            return None;
        }
        let mut id = run.first;
        loop {
            self.walks_left = self.walks_left.checked_sub(1)?;
            let node = self.nodes.get(id as usize)?;
            if address < node.address.saturating_add(node.size) {
                return (address >= node.address).then_some(id);
            }
            id = node.after;
        }
    }

    fn overlaps(&self, address: u64, end: u64) -> bool {
        self.runs.range(address..end).next().is_some()
            || self.runs.range(..address).next_back().is_some_and(|(_, run)| run.end > address)
    }

    fn last_of_run(&self, first: u32) -> u32 {
        let mut id = first;
        while self.nodes[id as usize].after != END {
            id = self.nodes[id as usize].after;
        }
        id
    }
}
