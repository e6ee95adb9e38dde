//! A strip cut to its pixels: which block each of them shows.

use super::placement::Strip;
use super::{Block, BlockMap};
use crate::findings::category::Category;
use crate::snapshot::segment::BlockState;

/// What one pixel column of a strip shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Column {
    /// Part of the block or hole at this place among those of the strip.
    One(usize),
    /// Several blocks, none as wide as the column.
    Several(Several),
}

/// Blocks that share a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Several {
    /// The place of the first among those of the strip.
    pub(super) first: usize,
    /// One past the place of the last.
    pub(super) end: usize,
    /// Bytes of the active ones.
    pub(super) active: u64,
    by_look: [u64; 20],
}

/// How a block is painted: its category's place, past 10 for one that is pending free.
pub(super) fn look(block: &Block) -> Option<usize> {
    let category = block.allocation.map_or(Category::Unknown, |held| held.category).place();
    match block.state {
        BlockState::ActiveAllocated => Some(category),
        BlockState::ActivePendingFree => Some(category + 10),
        BlockState::Inactive => None,
    }
}

impl Several {
    /// How most of the active bytes are painted.
    pub(super) fn look(&self) -> usize {
        (0..20).max_by_key(|look| self.by_look[*look]).unwrap_or(0)
    }

    fn add(&mut self, place: usize, block: &Block) {
        if self.end == 0 {
            self.first = place;
        }
        self.end = place + 1;
        if let Some(look) = look(block) {
            self.active = self.active.saturating_add(block.bytes);
            self.by_look[look] = self.by_look[look].saturating_add(block.bytes);
        }
    }
}

/// The blocks and holes of a strip, in the order in which they lie there.
pub(super) fn blocks<'m>(map: &'m BlockMap, strip: &Strip) -> Vec<&'m Block> {
    strip
        .segments
        .iter()
        .filter_map(|place| map.segments.get(*place))
        .flat_map(|segment| &segment.blocks)
        .collect()
}

/// The columns of a strip with these blocks; empty for a strip of no bytes.
///
/// A block at least a column wide has whole columns. A narrower one is shown where a hole would
/// be, or shares a column with others like it: what keeps a segment from being given back must be
/// seen, however small it is.
pub(super) fn columns(strip: &Strip, blocks: &[&Block]) -> Vec<Column> {
    let width = strip.width as usize;
    let scale = f64::from(strip.width) / strip.bytes.max(1) as f64;
    let mut owners: Vec<Option<usize>> = vec![None; width];
    let mut shared: Vec<Several> = vec![Several::default(); width];
    let mut offset = 0_u64;
    for (place, block) in blocks.iter().enumerate() {
        let begin = offset as f64 * scale;
        offset = offset.saturating_add(block.bytes);
        let end = offset as f64 * scale;
        if end - begin >= 1.0 {
            let whole = (begin.round() as usize).min(width)..(end.round() as usize).min(width);
            owners[whole].fill(Some(place));
        } else if let Some(column) = shared.get_mut(((begin + end) / 2.0) as usize) {
            column.add(place, block);
        }
    }
    let mut last = 0;
    owners
        .into_iter()
        .zip(shared)
        .map(|(owner, several)| {
            let is_hole =
                |place: usize| blocks.get(place).is_some_and(|block| look(block).is_none());
            match owner {
                Some(place) if several.active == 0 || !is_hole(place) => {
                    last = place;
                    Column::One(place)
                }
                _ if several.end > 0 => {
                    last = several.end - 1;
                    Column::Several(several)
                }
                // Rounding left this column to nobody; it belongs to the block before.
                _ => Column::One(last),
            }
        })
        .collect()
}
