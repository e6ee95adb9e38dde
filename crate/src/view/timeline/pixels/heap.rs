//! Allocations upon each other, oldest at the bottom.

use super::{Columns, IDLE, NOTHING, PENDING, Pixels, look_of};
use crate::findings::Device;
use crate::view::timeline::TimelineView;

/// One that is in the picture.
struct Shown {
    id: u32,
    size: u64,
    first_column: u32,
    last_column: u32,
}

/// Paints the heap of each column's moment, from 0 to the largest bytes of the view. A pixel shows
/// the allocation at its middle; heights are exact sums, so what is too thin to be seen still lifts
/// what lies above it.
pub(super) fn paint(device: &Device, view: &TimelineView, mut pixels: Pixels) -> Pixels {
    pixels.top_bytes = view.top_bytes.max(1.0);
    let shown = shown(device, view);
    let mut ends: Vec<usize> = (0..shown.len()).collect();
    ends.sort_unstable_by_key(|place| shown[*place].last_column);
    let mut ends = ends.into_iter().peekable();
    let mut begins: Vec<usize> = (0..shown.len()).collect();
    begins.sort_by_key(|place| shown[*place].first_column);
    let mut begins = begins.into_iter().peekable();

    let mut live = Sums::new(shown.len());
    let row_bytes = pixels.top_bytes / f64::from(pixels.rows);
    for column in 0..view.moments.len() {
        let mut is_same = column > 0
            && view.active_bytes[column] == view.active_bytes[column - 1]
            && view.reserved_bytes[column] == view.reserved_bytes[column - 1];
        while let Some(place) =
            begins.next_if(|place| shown[*place].first_column as usize == column)
        {
            live.add(place, shown[place].size);
            is_same = false;
        }
        while let Some(place) = ends.next_if(|place| shown[*place].last_column as usize == column) {
            live.take(place, shown[place].size);
            is_same = false;
        }
        let range = pixels.column(column);
        if is_same {
            let before = pixels.column(column - 1);
            pixels.look.copy_within(before.clone(), range.start);
            pixels.allocation.copy_within(before, range.start);
            continue;
        }
        // The allocation of the row before, and the bytes below and up to its end.
        let mut at: Option<(usize, f64)> = None;
        for (row, index) in range.enumerate() {
            let middle = (row as f64 + 0.5) * row_bytes;
            if at.is_none_or(|(_, end)| middle >= end) {
                at = live
                    .find(middle as u64)
                    .map(|(place, below)| (place, (below + shown[place].size) as f64));
            }
            let Some((place, _)) = at else {
                pixels.look[index] = beyond(view, column, middle);
                continue;
            };
            let id = shown[place].id;
            pixels.look[index] = look_of(device, id, place as u32);
            pixels.allocation[index] = id + 1;
        }
    }
    pixels
}

/// What lies above the allocations of a column.
fn beyond(view: &TimelineView, column: usize, bytes: f64) -> u8 {
    if bytes < view.active_bytes[column] {
        PENDING
    } else if bytes < view.reserved_bytes[column] {
        IDLE
    } else {
        NOTHING
    }
}

/// The allocations alive at some column's moment, oldest first.
fn shown(device: &Device, view: &TimelineView) -> Vec<Shown> {
    let columns = Columns::of(&view.moments);
    let mut shown = Vec::new();
    for (id, allocation) in (0..).zip(&device.timeline.allocations) {
        let range = columns.between(allocation.first_entry(), allocation.last_entry());
        if !range.is_empty() && allocation.size > 0 {
            shown.push(Shown {
                id,
                size: allocation.size,
                first_column: range.start as u32,
                last_column: range.end as u32,
            });
        }
    }
    shown
}

/// Sums of sizes by place, a Fenwick tree: adding, taking and finding take the logarithm of its
/// length.
struct Sums {
    /// Node `n`, counted from 1, holds the sum of the places from `n - lowest bit of n` up to `n`.
    nodes: Vec<u64>,
}

impl Sums {
    fn new(length: usize) -> Sums {
        Sums { nodes: vec![0; length + 1] }
    }

    fn add(&mut self, place: usize, size: u64) {
        self.change(place, |sum| sum.saturating_add(size));
    }

    fn take(&mut self, place: usize, size: u64) {
        self.change(place, |sum| sum.saturating_sub(size));
    }

    fn change(&mut self, place: usize, mut with: impl FnMut(u64) -> u64) {
        let mut node = place + 1;
        while let Some(sum) = self.nodes.get_mut(node) {
            *sum = with(*sum);
            node += node & node.wrapping_neg();
        }
    }

    /// The place in whose size a byte lies, with the bytes below it; `None` above all.
    fn find(&self, byte: u64) -> Option<(usize, u64)> {
        let (mut node, mut below) = (0, 0);
        let mut step = self.nodes.len().next_power_of_two();
        while step > 0 {
            if let Some(sum) = self.nodes.get(node + step).filter(|sum| below + **sum <= byte) {
                node += step;
                below += sum;
            }
            step /= 2;
        }
        (node + 1 < self.nodes.len()).then_some((node, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_in_the_size_that_holds_it() {
        let mut sums = Sums::new(5);
        for (place, size) in [(0, 10), (2, 5), (3, 1), (4, 4)] {
            sums.add(place, size);
        }
        let found: Vec<_> = [0, 9, 10, 14, 15, 16, 19].map(|byte| sums.find(byte)).to_vec();
        let wanted = [(0, 0), (0, 0), (2, 10), (2, 10), (3, 15), (4, 16), (4, 16)].map(Some);
        assert_eq!(found, wanted);
        assert_eq!(sums.find(20), None);
        sums.take(2, 5);
        assert_eq!(sums.find(10), Some((3, 10)));
        assert_eq!(Sums::new(0).find(0), None);
    }
}
