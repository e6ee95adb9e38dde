//! The map of segments and blocks: strips in rows, pool under pool.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::{Color, RGBAColor};
use serde::Serialize;

use super::theme::Theme;
use super::{Align, Drawn, Pen, Picture, elided, width_of};
use crate::view::blocks::picture::{MapPicture, Rows};

const ROW_CSS_PX: f64 = 20.0;
const ROW_GAP_CSS_PX: f64 = 4.0;
const POOL_GAP_CSS_PX: f64 = 16.0;
const LINE_CSS_PX: f64 = 18.0;
/// Between a pool's name and its notes.
const NOTE_GAP_CSS_PX: f64 = 12.0;
/// Blocks narrower than this show no edge: it would be most of them.
const EDGED_CSS_PX: f64 = 4.0;

/// Where a row lies, CSS pixels from the top of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowPlace {
    /// Top edge.
    pub top: f64,
    /// Bottom edge.
    pub bottom: f64,
}

/// A pool's heading and rows.
struct PoolPlace<'v> {
    rows: &'v Rows,
    top: f64,
    heading: Vec<Words<'v>>,
}

/// A text of a heading: its line, and how far it is from the left, in CSS pixels.
struct Words<'v> {
    text: &'v str,
    line: u32,
    left: f64,
}

impl PoolPlace<'_> {
    fn first_row(&self) -> f64 {
        let lines = self.heading.last().map_or(0, |words| words.line + 1);
        self.top + LINE_CSS_PX * f64::from(lines) + 2.0
    }

    fn row(&self, row: u32) -> RowPlace {
        let above = f64::from(row.saturating_sub(self.rows.begin));
        let top = self.first_row() + above * (ROW_CSS_PX + ROW_GAP_CSS_PX);
        RowPlace { top, bottom: top + ROW_CSS_PX }
    }

    fn bottom(&self) -> f64 {
        self.row(self.rows.end).top - ROW_GAP_CSS_PX
    }
}

fn places(view: &MapPicture, width_css_px: f64) -> Vec<PoolPlace<'_>> {
    let mut top = 0.0;
    let mut places = Vec::new();
    for rows in &view.pools {
        let place = PoolPlace { rows, top, heading: heading(rows, width_css_px) };
        top = place.bottom() + POOL_GAP_CSS_PX;
        places.push(place);
    }
    places
}

/// A pool's name and its notes, side by side as far as there is room.
fn heading(rows: &Rows, width_css_px: f64) -> Vec<Words<'_>> {
    let (mut line, mut left) = (0, 0.0);
    let texts = std::iter::once(&rows.label).chain(&rows.notes);
    let mut heading = Vec::new();
    for text in texts {
        let width = width_of(text);
        if left > 0.0 && left + width > width_css_px {
            (line, left) = (line + 1, 0.0);
        }
        heading.push(Words { text, line, left });
        left += width + NOTE_GAP_CSS_PX;
    }
    heading
}

/// The height that a map takes in a width, both in CSS pixels.
pub fn height(view: &MapPicture, width_css_px: f64) -> f64 {
    places(view, width_css_px).last().map_or(0.0, |pool| pool.bottom() + 1.0)
}

/// The row at `y` CSS pixels from the top; absent between rows.
pub fn row_at(view: &MapPicture, width_css_px: f64, y_css_px: f64) -> Option<u32> {
    places(view, width_css_px).iter().find_map(|pool| {
        (pool.rows.begin..pool.rows.end).find(|row| {
            let place = pool.row(*row);
            place.top <= y_css_px && y_css_px < place.bottom
        })
    })
}

/// Where a row lies; absent for one that the map does not have.
pub fn row_place(view: &MapPicture, width_css_px: f64, row: u32) -> Option<RowPlace> {
    let has = |pool: &&PoolPlace<'_>| (pool.rows.begin..pool.rows.end).contains(&row);
    places(view, width_css_px).iter().find(has).map(|pool| pool.row(row))
}

/// Draws the map; all but the blocks of one category faded, where `emphasis` names one.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &MapPicture,
    theme: &Theme,
    emphasis: Option<&str>,
) -> Drawn<(), DB> {
    let width_css_px = f64::from(picture.width_px) / picture.ratio;
    let pools = places(view, width_css_px);
    let chart = Chart { pen: Pen { area, picture }, view, theme, emphasis, pools: &pools };
    for pool in &pools {
        chart.heading(pool, width_css_px)?;
    }
    chart.holes()?;
    chart.cells()?;
    chart.outlines()
}

struct Chart<'a, DB: DrawingBackend> {
    pen: Pen<'a, DB>,
    view: &'a MapPicture,
    theme: &'a Theme,
    emphasis: Option<&'a str>,
    pools: &'a [PoolPlace<'a>],
}

impl<DB: DrawingBackend> Chart<'_, DB> {
    fn heading(&self, pool: &PoolPlace<'_>, width_css_px: f64) -> Drawn<(), DB> {
        let px = |css_px: f64| self.pen.picture.px(css_px);
        for (place, words) in pool.heading.iter().enumerate() {
            let y = pool.top + (f64::from(words.line) + 0.5) * LINE_CSS_PX;
            let colour = if place == 0 { self.theme.ink } else { self.theme.text };
            if let Some(text) = elided(words.text, width_css_px - words.left) {
                self.pen.write(&text, (px(words.left), px(y)), Align::Left, colour)?;
            }
        }
        Ok(())
    }

    /// Top and bottom of a row in pixels; absent for a row of no pool.
    fn row(&self, row: u32) -> Option<(i32, i32)> {
        let after = self.pools.partition_point(|pool| pool.rows.end <= row);
        let pool = self.pools.get(after).filter(|pool| pool.rows.begin <= row)?;
        let place = pool.row(row);
        let px = |css_px: f64| self.pen.picture.px(css_px);
        Some((px(place.top), px(place.bottom)))
    }

    /// A place in the view's row in pixels of the picture: while the window is resized they differ.
    fn x(&self, view_px: u32) -> i32 {
        let scale = f64::from(self.pen.picture.width_px) / f64::from(self.view.width_px.max(1));
        (f64::from(view_px) * scale).round() as i32
    }

    fn holes(&self) -> Drawn<(), DB> {
        let outlines = &self.view.outlines;
        for ((row, left), right) in outlines.row.iter().zip(&outlines.left).zip(&outlines.right) {
            if let Some((top, bottom)) = self.row(*row) {
                let hole = self.theme.keyed("idle").to_rgba();
                self.pen.fill(self.x(*left), top, self.x(*right), bottom, hole)?;
            }
        }
        Ok(())
    }

    fn cells(&self) -> Drawn<(), DB> {
        let cells = &self.view.cells;
        let edged = self.pen.picture.px(EDGED_CSS_PX);
        let edge = self.theme.surface.mix(0.7);
        let thin = self.pen.picture.px(1.0);
        let spans = cells.row.iter().zip(&cells.left).zip(&cells.right);
        let mut previous = None;
        for (((row, left), right), (look, height)) in
            spans.zip(cells.look.iter().zip(&cells.height))
        {
            let Some((top, bottom)) = self.row(*row) else { continue };
            let (x, end) = (self.x(*left), self.x(*right).max(self.x(*left) + 1));
            let key = self.view.categories.get(*look as usize % 10).map_or("", String::as_str);
            let high = f64::from(bottom - top) * f64::from((*height).min(256)) / 256.0;
            let top = bottom - high.round() as i32;
            let colour = self.colour(key);
            if *look < 10 {
                self.pen.fill(x, top, end, bottom, colour)?;
            } else {
                self.hatched(key, [x, top, end, bottom])?;
            }
            // Two blocks of one colour are two blocks.
            if previous == Some((*row, *left)) && end - x >= edged {
                self.pen.fill(x, top, x + thin, bottom, edge)?;
            }
            previous = Some((*row, *right));
        }
        Ok(())
    }

    /// A block that is pending free: its colour as lines over the faded colour.
    fn hatched(&self, key: &str, [left, top, right, bottom]: [i32; 4]) -> Drawn<(), DB> {
        let colour = self.theme.keyed(key);
        self.pen.fill(left, top, right, bottom, self.theme.surface.to_rgba())?;
        self.pen.fill(left, top, right, bottom, self.theme.faded(colour))?;
        let (line, step) = (self.pen.picture.px(1.0), self.pen.picture.px(4.0).max(2));
        let mut y = top + step / 2;
        while y < bottom {
            self.pen.fill(left, y, right, (y + line).min(bottom), self.colour(key))?;
            y += step;
        }
        Ok(())
    }

    fn outlines(&self) -> Drawn<(), DB> {
        let outlines = &self.view.outlines;
        let thin = self.pen.picture.px(1.0);
        let colour = self.theme.reserved.mix(0.75);
        let spans = outlines.row.iter().zip(&outlines.left).zip(&outlines.right);
        for (((row, left), right), ends) in spans.zip(&outlines.ends) {
            let Some((top, bottom)) = self.row(*row) else { continue };
            let (left, right) = (self.x(*left), self.x(*right));
            self.pen.fill(left, top, right, top + thin, colour)?;
            self.pen.fill(left, bottom - thin, right, bottom, colour)?;
            if ends & 1 != 0 {
                self.pen.fill(left, top + thin, left + thin, bottom - thin, colour)?;
            }
            if ends & 2 != 0 {
                self.pen.fill(right - thin, top + thin, right, bottom - thin, colour)?;
            }
        }
        Ok(())
    }

    fn colour(&self, key: &str) -> RGBAColor {
        let colour = self.theme.keyed(key);
        match self.emphasis {
            Some(emphasis) if emphasis != key => self.theme.faded(colour),
            _ => colour.to_rgba(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded};
    use crate::view::blocks::picture::{Cells, Outlines};

    /// Two pools: a segment of two rows with two blocks and a hole, and one pending free.
    fn sample() -> MapPicture {
        let rows = |label: &str, begin, end| Rows {
            label: label.to_owned(),
            notes: vec![
                "4.00 GiB in one segment".to_owned(),
                "1.00 GiB idle in one hole".to_owned(),
            ],
            begin,
            end,
        };
        MapPicture {
            width_px: 400,
            categories: vec!["weights".to_owned(), "activations".to_owned()],
            pools: vec![
                rows("Large pool, default stream", 0, 2),
                rows("Small pool, default stream", 2, 3),
            ],
            cells: Cells {
                row: vec![0, 0, 2],
                left: vec![0, 100, 0],
                right: vec![100, 300, 50],
                look: vec![0, 0, 11],
                height: vec![256, 256, 128],
            },
            outlines: Outlines {
                row: vec![0, 1, 2],
                left: vec![0, 0, 0],
                right: vec![400, 200, 50],
                ends: vec![1, 2, 3],
            },
        }
    }

    fn drawn(width: f64, emphasis: Option<&str>) -> Vec<Call> {
        let view = sample();
        let picture = Picture::from_css(width, height(&view, width), 1.0);
        let (calls, result) =
            recorded(picture, |area| draw(area, picture, &view, &Theme::light(), emphasis));
        result.unwrap();
        calls
    }

    fn rects(calls: &[Call], wanted: &str) -> Vec<[i32; 4]> {
        let rect = |call: &Call| match call {
            Call::Rect { at, colour } if colour == wanted => Some(*at),
            _ => None,
        };
        calls.iter().filter_map(rect).collect()
    }

    #[test]
    fn blocks_lie_in_their_rows_and_holes_stay_empty() {
        let calls = drawn(400.0, None);
        // Two lines of heading, then the first row; holes lie under the blocks.
        assert_eq!(rects(&calls, "413faa"), [[0, 38, 100, 58], [100, 38, 300, 58]]);
        assert_eq!(
            rects(&calls, "e6e9f0"),
            [[0, 38, 400, 58], [0, 62, 200, 82], [0, 136, 50, 156]]
        );
        // The second block begins where the first ends.
        assert_eq!(rects(&calls, "ffffff@0.70"), [[100, 38, 101, 58]]);
    }

    #[test]
    fn a_block_pending_free_is_hatched_as_high_as_its_share() {
        let calls = drawn(400.0, None);
        assert_eq!(rects(&calls, "c84d68@0.22"), [[0, 146, 50, 156]]);
        assert_eq!(rects(&calls, "c84d68"), [[0, 148, 50, 149], [0, 152, 50, 153]]);
    }

    #[test]
    fn a_segment_is_open_where_it_goes_on() {
        let edges = rects(&drawn(400.0, None), "4a5568@0.75");
        let upright: Vec<_> =
            edges.iter().filter(|[left, _, right, _]| right - left == 1).collect();
        assert_eq!(
            upright,
            [&[0, 39, 1, 57], &[199, 63, 200, 81], &[0, 137, 1, 155], &[49, 137, 50, 155]]
        );
    }

    #[test]
    fn one_category_keeps_its_colour() {
        let calls = drawn(400.0, Some("activations"));
        assert_eq!(rects(&calls, "413faa"), [] as [[i32; 4]; 0]);
        assert_eq!(rects(&calls, "413faa@0.22").len(), 2);
    }

    #[test]
    fn a_pointer_finds_the_rows_that_are_drawn() {
        let view = sample();
        for width in [120.0, 400.0, 900.0] {
            for row in 0..3 {
                let place = row_place(&view, width, row).unwrap();
                assert_eq!(row_at(&view, width, place.top), Some(row));
                assert_eq!(row_at(&view, width, place.bottom), None);
                assert!(place.bottom <= height(&view, width));
            }
            assert_eq!(row_place(&view, width, 3), None);
            assert_eq!(row_at(&view, width, 1.0), None);
        }
        assert_eq!(height(&MapPicture::default(), 400.0), 0.0);
    }

    #[test]
    fn headings_take_as_many_lines_as_they_need() {
        let lines = |width| {
            let calls = drawn(width, None);
            let text = |call: &Call| match call {
                Call::Text { at, .. } => Some(at.1),
                _ => None,
            };
            calls.iter().filter_map(text).collect::<Vec<_>>()
        };
        assert_eq!(lines(900.0)[..3], [9, 9, 9]);
        assert_eq!(lines(400.0)[..3], [9, 9, 27]);
        assert_eq!(lines(200.0)[..3], [9, 27, 45]);
    }
}
