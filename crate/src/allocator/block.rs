//! Blocks in one table, linked to their neighbours.

/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// What a block is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// Cached.
    Inactive,
    /// Address space of an expandable segment without memory behind it.
    Unmapped,
    /// The program holds it.
    Allocated,
    /// The program released it, and another stream is awaited.
    Pending,
}

/// A piece of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) size: u64,
    /// The neighbours by address inside the segment, or [`NONE`].
    pub(super) before: u32,
    pub(super) after: u32,
    /// Whose free set it belongs to.
    pub(super) shelf: u32,
    /// Its expandable segment, or [`NONE`].
    pub(super) range: u32,
    /// The request that it serves; without meaning unless active.
    pub(super) owner: u32,
    pub(super) state: State,
    /// The lookups that its pool had seen when the block was last cached.
    pub(super) cached_at: u64,
}

impl Block {
    pub(super) fn new(address: u64, size: u64, shelf: u32, range: u32, state: State) -> Self {
        let (before, after, owner) = (NONE, NONE, NONE);
        Block { address, size, before, after, shelf, range, owner, state, cached_at: 0 }
    }

    /// Whether it is a piece of its segment, and not all of it.
    pub(super) fn is_split(&self) -> bool {
        self.before != NONE || self.after != NONE
    }

    pub(super) fn is_expandable(&self) -> bool {
        self.range != NONE
    }

    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// All blocks. An id is valid until its block is absorbed or removed; then it is given again.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    unused: Vec<u32>,
}

impl Blocks {
    pub(super) fn get(&self, id: u32) -> &Block {
        &self.blocks[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Block {
        &mut self.blocks[id as usize]
    }

    pub(super) fn add(&mut self, block: Block) -> u32 {
        match self.unused.pop() {
            Some(id) => {
                self.blocks[id as usize] = block;
                id
            }
            None => {
                self.blocks.push(block);
                u32::try_from(self.blocks.len() - 1).unwrap_or(NONE)
            }
        }
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.unused.push(id);
    }

    /// Cuts the first `size` bytes off `id`, which keeps the rest; answers the new block.
    pub(super) fn cut_front(&mut self, id: u32, size: u64) -> u32 {
        let rest = *self.get(id);
        let front = self.add(Block { size, after: id, ..rest });
        if rest.before != NONE {
            self.get_mut(rest.before).after = front;
        }
        let rest = self.get_mut(id);
        rest.before = front;
        rest.address = rest.address.saturating_add(size);
        rest.size = rest.size.saturating_sub(size);
        front
    }

    /// Puts `id` right behind `before`, whose last neighbour it becomes.
    pub(super) fn chain(&mut self, before: u32, id: u32) {
        if before != NONE {
            self.get_mut(before).after = id;
        }
        self.get_mut(id).before = before;
    }

    /// `id` takes over a neighbour's bytes, and the neighbour's id ends.
    pub(super) fn absorb(&mut self, id: u32, neighbour: u32) {
        let gone = *self.get(neighbour);
        let block = self.get_mut(id);
        block.size = block.size.saturating_add(gone.size);
        if block.before == neighbour {
            block.address = gone.address;
            block.before = gone.before;
            if gone.before != NONE {
                self.get_mut(gone.before).after = id;
            }
        } else {
            block.after = gone.after;
            if gone.after != NONE {
                self.get_mut(gone.after).before = id;
            }
        }
        self.remove(neighbour);
    }

    /// The ids in use, in no order that means anything.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let mut unused = vec![false; self.blocks.len()];
        for id in &self.unused {
            unused[*id as usize] = true;
        }
        (0..).zip(unused).filter(|(_, unused)| !unused).map(|(id, _)| id)
    }
}
