//! Every allocation as a shape of its own, cut down to pixels: over time and in a heap, or over time
//! and where it lay.

mod addresses;
mod heap;

use super::TimelineView;
use crate::findings::Device;
use crate::findings::category::Category;
use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// How allocations are laid out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Upon each other in the order in which they were made; one that goes lets those above sink.
    Heap,
    /// Where they lay in the device's memory.
    Addresses,
}

/// The pixels of a picture, columns of the view from left to right, each from the bottom up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pixels {
    /// Pixels of a column.
    pub rows: u32,
    /// The bytes of a whole column.
    pub top_bytes: f64,
    /// What is seen: [`NOTHING`], [`IDLE`], [`PENDING`], or from [`FIRST`] on twice the place of
    /// the allocation's category, and one more for every other allocation, so that neighbours
    /// stay apart.
    pub look: Vec<u8>,
    /// The allocation seen, by its id and 1; 0 for none.
    pub allocation: Vec<u32>,
}

/// No memory of this process.
pub const NOTHING: u8 = 0;
/// Reserved and not in use.
pub const IDLE: u8 = 1;
/// Freed, and awaited by another stream.
pub const PENDING: u8 = 2;
/// The look of the first category's first allocation.
pub const FIRST: u8 = 3;

/// The keys of the categories by their place, for whoever gives the looks their colours.
#[must_use]
pub fn category_keys() -> [&'static str; 10] {
    Category::ALL.map(Category::name)
}

/// More rows than this are no picture for a screen.
const MOST_ROWS: u32 = 4096;

impl Pixels {
    /// The allocations of a view's columns, in so many rows.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        device: &Device,
        view: &TimelineView,
        layout: Layout,
        rows: u32,
    ) -> Pixels {
        let rows = rows.clamp(1, MOST_ROWS);
        let count = rows as usize * view.moments.len();
        let blank =
            Pixels { rows, top_bytes: 1.0, look: vec![NOTHING; count], allocation: vec![0; count] };
        match layout {
            Layout::Heap => heap::paint(device, view, blank),
            Layout::Addresses => addresses::paint(snapshot, device, view, blank),
        }
    }

    fn column(&self, column: usize) -> std::ops::Range<usize> {
        let rows = self.rows as usize;
        column * rows..(column + 1) * rows
    }
}

/// The look of an allocation: its category's, lighter or darker by turns.
fn look_of(device: &Device, id: u32, turn: u32) -> u8 {
    let category = device.category(crate::timeline::allocation::AllocationId(id));
    FIRST + 2 * category.place() as u8 + (turn & 1) as u8
}

/// Finds the columns in which something lives. A column shows one moment; what lives and dies
/// between two moments is in none.
struct Columns<'a> {
    /// The entry of each column, ascending.
    moments: &'a [u32],
    /// For every stretch of entries from the first moment on, the first column that is not before
    /// it: a search through all columns is too slow for every allocation of a long trace.
    starts: Vec<u32>,
    /// Entries of a stretch, as a power of two.
    shift: u32,
}

/// Stretches of entries: more than a picture has columns.
const STRETCHES: u32 = 1 << 13;

impl Columns<'_> {
    fn of(moments: &[u32]) -> Columns<'_> {
        let (first, last) = match (moments.first(), moments.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => (0, 0),
        };
        let shift = (0..32).find(|shift| (last - first) >> shift < STRETCHES).unwrap_or(31);
        let stretches = ((last - first) >> shift) + 1;
        let starts = (0..stretches).map(|stretch| {
            let entry = first + (stretch << shift);
            moments.partition_point(|moment| *moment < entry) as u32
        });
        Columns { moments, starts: starts.collect(), shift }
    }

    /// The first column whose moment is at or after an entry.
    fn from(&self, entry: u32) -> usize {
        let first = self.moments.first().copied().unwrap_or(0);
        let Some(stretch) = entry.checked_sub(first).map(|entries| entries >> self.shift) else {
            return 0;
        };
        let Some(start) = self.starts.get(stretch as usize) else { return self.moments.len() };
        let later = self.moments.iter().skip(*start as usize);
        *start as usize + later.take_while(|moment| **moment < entry).count()
    }

    /// The columns between two entries, the latter exclusive; cheap where there are none.
    fn between(&self, begin: u32, end: u32) -> std::ops::Range<usize> {
        let first = self.from(begin);
        match self.moments.get(first) {
            Some(moment) if *moment < end => first..self.from(end),
            _ => first..first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_as_a_search_would_find_them() {
        let spread: Vec<u32> = (0..300).map(|nth| nth * nth * 11 + 5).collect();
        for moments in [vec![], vec![7], vec![3, 3, 3, 9], spread, (0..20_000).collect()] {
            let columns = Columns::of(&moments);
            for entry in (0..1_000_000).step_by(997).chain([0, 3, 4, 5, 9, 10, u32::MAX]) {
                let found = moments.partition_point(|moment| *moment < entry);
                assert_eq!(columns.from(entry), found, "{entry}");
            }
        }
    }
}
