//! From block to block of the map without a pointer.

use super::picture::MapPicture;
use serde::Serialize;

/// Where to go from a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// To the block before it, in the segment before at the segment's begin.
    Before,
    /// To the block after it, in the next segment at the segment's end.
    After,
    /// To the begin of the segment before its own.
    SegmentBefore,
    /// To the begin of the segment after its own.
    SegmentAfter,
}

/// A pixel of the map.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Place {
    /// Row.
    pub row: u32,
    /// Pixel in it.
    #[serde(rename = "xPx")]
    pub x_px: u32,
}

impl MapPicture {
    /// A pixel of the next block in the direction of `step`, from the block drawn as `pieces` (row,
    /// first pixel, one past the last). The first block of the map where `pieces` lie in no segment;
    /// `None` at the map's ends.
    ///
    /// A range mapped of an expandable segment counts as a segment.
    #[must_use]
    pub fn next(&self, pieces: &[(u32, u32, u32)], step: Step) -> Option<Place> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return self.begin_of(0);
        };
        let ends = (self.outline_at(first.0, first.1), self.outline_at(last.0, last.1));
        let (Some(begin), Some(end)) = ends else { return self.begin_of(0) };
        match step {
            Step::Before if first.1 > self.outlines.left[begin] => {
                Some(Place { row: first.0, x_px: first.1 - 1 })
            }
            Step::Before => {
                let before = begin.checked_sub(1)?;
                let (row, right) = (self.outlines.row[before], self.outlines.right[before]);
                Some(Place { row, x_px: right.checked_sub(1)? })
            }
            Step::After if last.2 < self.outlines.right[end] => {
                Some(Place { row: last.0, x_px: last.2 })
            }
            Step::After => self.begin_of(end + 1),
            Step::SegmentBefore => {
                let own = (0..=begin).rev().find(|place| self.begins(*place))?;
                self.begin_of((0..own).rev().find(|place| self.begins(*place))?)
            }
            Step::SegmentAfter => {
                let after = (end + 1..self.outlines.row.len()).find(|place| self.begins(*place));
                self.begin_of(after?)
            }
        }
    }

    /// Whether an outline is the first piece of its segment.
    fn begins(&self, place: usize) -> bool {
        self.outlines.ends.get(place).is_some_and(|ends| ends & 1 != 0)
    }

    fn begin_of(&self, place: usize) -> Option<Place> {
        let (row, x_px) = (*self.outlines.row.get(place)?, *self.outlines.left.get(place)?);
        Some(Place { row, x_px })
    }

    fn outline_at(&self, row: u32, x_px: u32) -> Option<usize> {
        let outlines = &self.outlines;
        let spans = outlines.row.iter().zip(&outlines.left).zip(&outlines.right);
        spans.enumerate().find_map(|(place, ((of, left), right))| {
            (*of == row && (*left..*right).contains(&x_px)).then_some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::Outlines;
    use super::*;

    /// A segment of two rows, another behind its end, and one of the next pool.
    fn picture() -> MapPicture {
        let outlines = Outlines {
            row: vec![0, 1, 1, 2],
            left: vec![0, 0, 203, 0],
            right: vec![400, 200, 300, 50],
            ends: vec![1, 2, 3, 3],
        };
        MapPicture { width_px: 400, outlines, ..MapPicture::default() }
    }

    fn next(pieces: &[(u32, u32, u32)], step: Step) -> Option<(u32, u32)> {
        picture().next(pieces, step).map(|place| (place.row, place.x_px))
    }

    #[test]
    fn without_a_block_the_walk_begins_at_the_first() {
        assert_eq!(next(&[], Step::After), Some((0, 0)));
        assert_eq!(next(&[(7, 0, 10)], Step::Before), Some((0, 0)));
        assert_eq!(MapPicture::default().next(&[], Step::After), None);
    }

    #[test]
    fn blocks_follow_each_other_in_their_segment_and_over_its_rows() {
        assert_eq!(next(&[(0, 0, 100)], Step::After), Some((0, 100)));
        assert_eq!(next(&[(0, 100, 400)], Step::After), Some((1, 0)));
        // A block that begins in one row and ends in the next.
        let long = [(0, 100, 400), (1, 0, 30)];
        assert_eq!(next(&long, Step::After), Some((1, 30)));
        assert_eq!(next(&long, Step::Before), Some((0, 99)));
        assert_eq!(next(&[(1, 0, 30)], Step::Before), Some((0, 399)));
    }

    #[test]
    fn at_a_segments_end_the_next_segment_follows() {
        assert_eq!(next(&[(1, 30, 200)], Step::After), Some((1, 203)));
        assert_eq!(next(&[(1, 203, 250)], Step::Before), Some((1, 199)));
        assert_eq!(next(&[(2, 0, 50)], Step::After), None);
        assert_eq!(next(&[(0, 0, 100)], Step::Before), None);
    }

    #[test]
    fn segments_are_gone_to_at_their_begin() {
        assert_eq!(next(&[(0, 100, 120)], Step::SegmentAfter), Some((1, 203)));
        assert_eq!(next(&[(1, 250, 300)], Step::SegmentAfter), Some((2, 0)));
        assert_eq!(next(&[(2, 0, 50)], Step::SegmentAfter), None);
        assert_eq!(next(&[(2, 0, 50)], Step::SegmentBefore), Some((1, 203)));
        assert_eq!(next(&[(1, 250, 300)], Step::SegmentBefore), Some((0, 0)));
        assert_eq!(next(&[(1, 30, 200)], Step::SegmentBefore), None);
    }
}
