//! The free sets: which cached blocks may serve a request.

use super::block::Blocks;
use std::collections::BTreeSet;

/// The cached blocks of one pool that one stream may use.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) pool: u32,
    /// Sizes, addresses and ids. Two segments of a replay may in an odd trace stand at one address,
    /// so that only the id makes a block unique.
    free: BTreeSet<(u64, u64, u32)>,
    /// Unmapped pieces of expandable segments: addresses and ids.
    pub(super) unmapped: BTreeSet<(u64, u32)>,
}

impl Shelf {
    pub(super) fn add(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        self.free.insert((block.size, block.address, id));
    }

    pub(super) fn remove(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        self.free.remove(&(block.size, block.address, id));
    }

    /// The blocks of at least `size` bytes: the best fit first, the lowest address among equals.
    pub(super) fn at_least(&self, size: u64) -> impl Iterator<Item = u32> + '_ {
        self.free.range((size, 0, 0)..).map(|(_, _, id)| *id)
    }

    /// The blocks of fewer than `size` bytes, the largest first.
    pub(super) fn below(&self, size: u64) -> impl Iterator<Item = u32> + '_ {
        self.free.range(..(size, 0, 0)).rev().map(|(_, _, id)| *id)
    }
}

/// The small or the large half of a pool: its shelves, one a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// By stream.
    pub(super) shelves: Vec<(u16, u32)>,
    /// How often a block was looked for: the clock of garbage collection.
    pub(super) lookups: u64,
}

/// All shelves.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelves {
    shelves: Vec<Shelf>,
    pools: Vec<Pool>,
}

/// The default pool's halves, in the order in which a release empties them.
pub(super) const DEFAULT_POOLS: [u32; 2] = [LARGE, 1];

/// The large half of the default pool.
pub(super) const LARGE: u32 = 0;

impl Shelves {
    /// The shelf of a pool, its half and a stream; made where there is none yet.
    pub(super) fn of(&mut self, pool: u16, is_small: bool, stream: u16) -> u32 {
        let pool = u32::from(pool) * 2 + u32::from(is_small);
        if self.pools.len() <= pool as usize {
            self.pools.resize(pool as usize + 1, Pool::default());
        }
        let shelves = &mut self.pools[pool as usize].shelves;
        match shelves.binary_search_by_key(&stream, |(stream, _)| *stream) {
            Ok(place) => shelves[place].1,
            Err(place) => {
                let id = u32::try_from(self.shelves.len()).unwrap_or(u32::MAX);
                shelves.insert(place, (stream, id));
                self.shelves.push(Shelf { pool, ..Shelf::default() });
                id
            }
        }
    }

    pub(super) fn get(&self, shelf: u32) -> &Shelf {
        &self.shelves[shelf as usize]
    }

    pub(super) fn get_mut(&mut self, shelf: u32) -> &mut Shelf {
        &mut self.shelves[shelf as usize]
    }

    pub(super) fn is_small(&self, shelf: u32) -> bool {
        self.get(shelf).pool % 2 == 1
    }

    pub(super) fn pool_of(&mut self, shelf: u32) -> &mut Pool {
        let pool = self.get(shelf).pool;
        &mut self.pools[pool as usize]
    }

    /// How often a block was looked for in the pool.
    pub(super) fn lookups(&self, pool: u32) -> u64 {
        self.pools.get(pool as usize).map_or(0, |pool| pool.lookups)
    }

    /// The cached blocks of a pool in the allocator's order: by stream, size and address.
    pub(super) fn cached(&self, pool: u32) -> impl Iterator<Item = u32> + '_ {
        let shelves = self.pools.get(pool as usize).map_or(&[][..], |pool| &pool.shelves);
        shelves.iter().flat_map(|(_, shelf)| self.get(*shelf).at_least(0))
    }
}
