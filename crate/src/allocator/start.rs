//! The state before the first entry, put into a fresh allocator.

use super::block::{Block, NONE, State};
use super::cache::{Allocator, Refused};
use super::program::{Program, StartBlock, StartRange};
use crate::snapshot::trace::Action;
use std::collections::BTreeMap;

impl Allocator<'_> {
    /// Takes over the ranges and blocks as they were recorded. Answers how many allocations lie in
    /// none of the ranges, and so are not known here.
    pub(super) fn adopt(&mut self, program: &Program) -> usize {
        let mut adopted = 0;
        // Ranges of one expandable segment, by shelf: joined where they touch.
        let mut mapped: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for range in program.start_ranges.iter().filter(|range| range.size > 0) {
            let StartRange { address, size, stream, pool, is_small, is_expandable } = *range;
            let shelf = self.shelves.of(pool, is_small, stream);
            if is_expandable {
                let ranges = mapped.entry(shelf).or_default();
                // In an odd file they overlap.
                match ranges.last_mut().filter(|(_, end)| *end >= address) {
                    Some((_, end)) => *end = address.saturating_add(size).max(*end),
                    None => ranges.push((address, address.saturating_add(size))),
                }
            } else {
                let end = address.saturating_add(size);
                adopted += self.adopt_run(program, (address, end), (shelf, NONE), NONE).1;
            }
        }
        for (shelf, runs) in mapped {
            // Where the segment begins is not recorded: no lower than its lowest mapped page.
            let mut segment: Option<(u32, u64)> = None;
            let mut last = NONE;
            for run in runs {
                if let Some((range, end)) = segment
                    && run.0 < end
                {
                    last = self.adopt_gap(last, run.0, (shelf, range));
                } else {
                    if let Some((range, end)) = segment {
                        self.adopt_gap(last, end, (shelf, range));
                    }
                    let (range, size) = self.add_range(shelf, run.0);
                    (segment, last) = (Some((range, run.0.saturating_add(size))), NONE);
                }
                let range = segment.map_or(NONE, |(range, _)| range);
                let (end, count) = self.adopt_run(program, run, (shelf, range), last);
                (last, adopted) = (end, adopted + count);
            }
            if let Some((range, end)) = segment {
                self.adopt_gap(last, end, (shelf, range));
            }
        }
        program.start_blocks.len().saturating_sub(adopted)
    }

    /// Unmapped address space from the end of `last` to `end`.
    fn adopt_gap(&mut self, last: u32, end: u64, (shelf, range): (u32, u32)) -> u32 {
        if last == NONE {
            return last;
        }
        let from = self.blocks.get(last).end();
        let Some(size) = end.checked_sub(from).filter(|size| *size > 0) else { return last };
        let gap = self.blocks.add(Block::new(from, size, shelf, range, State::Unmapped));
        self.blocks.chain(last, gap);
        self.shelves.get_mut(shelf).unmapped.insert((from, gap));
        gap
    }

    /// A mapped run behind the block `last`: its blocks, and cached ones between them. Answers its
    /// last block and the number of allocations in it.
    fn adopt_run(
        &mut self,
        program: &Program,
        (from, to): (u64, u64),
        (shelf, range): (u32, u32),
        mut last: u32,
    ) -> (u32, usize) {
        let begin = program.start_blocks.partition_point(|block| block.address < from);
        let inside = program.start_blocks.iter().zip(0..).skip(begin);
        let (mut next, mut count) = (from, 0);
        for (block, id) in inside.take_while(|(block, _)| block.address < to) {
            count += 1;
            let StartBlock { address, size, is_pending } = *block;
            let size = size.min(to - address);
            if address < next || size == 0 {
                continue;
            }
            if address > next {
                last = self.adopt_cached(next, address - next, (shelf, range), last);
            }
            let held = self.blocks.add(Block::new(address, size, shelf, range, State::Allocated));
            self.blocks.chain(last, held);
            self.hold(id, held);
            if is_pending {
                self.release(id);
            }
            (last, next) = (held, address.saturating_add(size));
        }
        if next < to {
            last = self.adopt_cached(next, to - next, (shelf, range), last);
        }
        self.reserve(Action::Other, from, to - from);
        (last, count)
    }

    fn adopt_cached(&mut self, address: u64, size: u64, at: (u32, u32), last: u32) -> u32 {
        let cached = self.blocks.add(Block::new(address, size, at.0, at.1, State::Inactive));
        self.blocks.chain(last, cached);
        self.cache(cached);
        cached
    }

    /// Asks anew for what was live before the trace, by address: for settings under which the
    /// recorded places mean nothing. What was cached beyond that is lost.
    ///
    /// # Errors
    /// [`Refused`] where even that does not fit.
    pub(super) fn ask_anew(&mut self, program: &Program) -> Result<(), Refused> {
        let older = program.requests.iter().zip(&program.start_blocks).zip(0..);
        for ((request, block), id) in older.filter(|((request, _), _)| request.size > 0) {
            self.allocate(0, id, *request)?;
            if block.is_pending {
                self.release(id);
            }
        }
        Ok(())
    }
}
