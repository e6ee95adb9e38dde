//! Where each segment lies in the picture: strips in rows, one scale for all, so that equal areas
//! are equal bytes.

use super::pools::PoolView;
use super::{BlockMap, Segment};

/// Rows that the whole map takes, about: less shows too little of a large map, more of a small one
/// is only longer.
const ROWS: std::ops::RangeInclusive<usize> = 12..=20;
/// A segment longer than a row is continued on the next; up to so many times the row that would
/// be right for the map, the row is made as long as the segment instead.
const STRETCH: f64 = 2.5;
/// A segment narrower than this is drawn together with the others of its pool that are.
const LEAST_PX: u32 = 6;
/// Between two strips of a row.
const GAP_PX: u32 = 3;
/// More pixels than this no canvas has in a row.
const MOST_PX: u32 = 1 << 13;
/// Pools shown. A program has one or two for each stream and graph; what a damaged file makes of
/// them is cut.
pub(super) const POOLS: usize = 24;

/// One segment, or all that are too small to be drawn apart, as a strip of pixels. A strip that
/// reaches the end of its row goes on at the beginning of the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Its first row.
    pub row: u32,
    /// Its first pixel there.
    pub left: u32,
    /// Pixels.
    pub width: u32,
    /// The segments, by their place in the map; one, but for small segments drawn together.
    pub segments: Vec<usize>,
    /// Bytes of the segments.
    pub bytes: u64,
}

/// The rows of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolRows {
    /// The pool, by its place among the pools of the map.
    pub pool: usize,
    /// First row.
    pub begin: u32,
    /// One past the last row.
    pub end: u32,
}

/// All strips of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Pixels of a row.
    pub width_px: u32,
    /// Bytes of a row.
    pub row_bytes: f64,
    /// The strips, pool after pool.
    pub strips: Vec<Strip>,
    /// The rows of each pool shown, in order.
    pub pools: Vec<PoolRows>,
}

impl Placement {
    /// Places a map in rows of `width_px` pixels.
    #[must_use]
    pub fn of(map: &BlockMap, pools: &[PoolView], width_px: u32) -> Placement {
        let width_px = width_px.clamp(1, MOST_PX);
        let shown = &pools[..pools.len().min(POOLS)];
        let total: f64 = shown.iter().map(|pool| pool.reserved_bytes as f64).sum();
        let largest = map.segments.first().map_or(0.0, |segment| segment.bytes as f64);
        let even = total / map.segments.len().clamp(*ROWS.start(), *ROWS.end()) as f64;
        let is_stretched = (even..=even * STRETCH).contains(&largest);
        let row_bytes = if is_stretched { largest } else { even }.max(1.0);
        let mut placement = Placement { width_px, row_bytes, ..Placement::default() };
        let mut row = 0;
        for (pool, view) in shown.iter().enumerate() {
            let begin = row;
            let own =
                map.segments.iter().enumerate().filter(|(_, segment)| segment.owner == view.owner);
            row = placement.place_pool(own, begin);
            placement.pools.push(PoolRows { pool, begin, end: row });
        }
        placement
    }

    /// Rows of the whole picture.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.pools.last().map_or(0, |pool| pool.end)
    }

    /// The strip at a pixel of a row, and how far into the strip that is.
    #[must_use]
    pub fn strip_at(&self, row: u32, x_px: u32) -> Option<(&Strip, u32)> {
        self.strips.iter().find_map(|strip| {
            let rows = u64::from(row.checked_sub(strip.row)?);
            let along = rows * u64::from(self.width_px) + u64::from(x_px);
            let inside = u32::try_from(along.checked_sub(u64::from(strip.left))?).ok()?;
            (x_px < self.width_px && inside < strip.width).then_some((strip, inside))
        })
    }

    /// The pieces, row by row, of the pixels from `begin` up to `end` of a strip: row, first
    /// pixel, one past the last.
    pub fn pieces(
        &self,
        strip: &Strip,
        begin: u32,
        end: u32,
    ) -> impl Iterator<Item = (u32, u32, u32)> {
        let width = self.width_px;
        let (mut at, end) = (strip.left + begin, strip.left + end);
        let first = strip.row;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let row = at / width;
                let next = end.min((row + 1) * width);
                let piece = (first + row, at % width, next - row * width);
                at = next;
                piece
            })
        })
    }

    /// Places the segments of a pool from row `first` on; answers the row after its last.
    fn place_pool<'s>(
        &mut self,
        segments: impl Iterator<Item = (usize, &'s Segment)>,
        first: u32,
    ) -> u32 {
        // Pixels taken of each row.
        let mut taken: Vec<u32> = Vec::new();
        let mut together = Strip { row: 0, left: 0, width: 0, segments: Vec::new(), bytes: 0 };
        for (place, segment) in segments {
            let width = self.px_from_bytes(segment.bytes);
            if width < LEAST_PX {
                together.segments.push(place);
                together.bytes = together.bytes.saturating_add(segment.bytes);
                continue;
            }
            let segments = vec![place];
            let strip = Strip { row: 0, left: 0, width, segments, bytes: segment.bytes };
            self.put(&mut taken, first, strip);
        }
        if !together.segments.is_empty() {
            together.width = self.px_from_bytes(together.bytes).clamp(LEAST_PX, MOST_PX * 64);
            self.put(&mut taken, first, together);
        }
        first + taken.len() as u32
    }

    fn put(&mut self, taken: &mut Vec<u32>, first: u32, mut strip: Strip) {
        let room = taken.iter().position(|used| {
            used.saturating_add(GAP_PX).saturating_add(strip.width) <= self.width_px
        });
        let row = room.unwrap_or(taken.len());
        strip.row = first + row as u32;
        match room {
            Some(row) => {
                strip.left = taken[row] + GAP_PX;
                taken[row] = strip.left + strip.width;
            }
            None => {
                let whole = strip.width / self.width_px;
                taken.extend((0..whole).map(|_| self.width_px));
                let rest = strip.width % self.width_px;
                taken.extend((rest > 0).then_some(rest));
            }
        }
        self.strips.push(strip);
    }

    fn px_from_bytes(&self, bytes: u64) -> u32 {
        // Saturates; a strip is never longer than the rows of the whole map.
        (bytes as f64 / self.row_bytes * f64::from(self.width_px)).round() as u32
    }
}
