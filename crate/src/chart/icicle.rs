//! Bytes by stack as an icicle: a cell under the cell of the frame that called it.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::{Color, RGBAColor, RGBColor};
use serde::Serialize;

use super::theme::Theme;
use super::{Align, Drawn, Pen, Picture, elided, width_of};
use crate::units::Bytes;
use crate::view::stacks::icicle::{Icicle, MATCH, MERGED, STRANGE};

const ROW_CSS_PX: f64 = 21.0;
/// Between two rows, and between two cells where both keep most of their width.
const GAP_CSS_PX: f64 = 1.0;
const PADDING_CSS_PX: f64 = 5.0;
/// Between a cell's name and its bytes.
const BYTES_GAP_CSS_PX: f64 = 14.0;
/// Cells narrower than this keep no gap: it would be most of them.
const EDGED_CSS_PX: f64 = 4.0;

/// Where a cell lies, in CSS pixels of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellPlace {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// Where the keyboard goes from a cell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// To the frame that called it.
    Up,
    /// To the largest that it called.
    Down,
    /// To the neighbour on the left.
    Left,
    /// To the neighbour on the right.
    Right,
}

/// The height that an icicle takes, in CSS pixels.
pub fn height(view: &Icicle) -> f64 {
    f64::from(view.rows) * ROW_CSS_PX
}

/// The cell at a point of a picture so many CSS pixels wide; absent beside all cells.
pub fn cell_at(view: &Icicle, width_css_px: f64, x_css_px: f64, y_css_px: f64) -> Option<u32> {
    if x_css_px < 0.0 || y_css_px < 0.0 {
        return None;
    }
    let row = (y_css_px / ROW_CSS_PX) as u32;
    let x = (x_css_px / scale(view, width_css_px)) as u32;
    let cells = &view.cells;
    let first = cells.row.partition_point(|other| *other < row);
    let end = cells.row.partition_point(|other| *other <= row);
    let after = cells.left[first..end].partition_point(|left| *left <= x);
    let cell = first + after.checked_sub(1)?;
    (x < cells.right[cell]).then_some(cell as u32)
}

/// Where a cell lies in a picture so many CSS pixels wide; absent for a number that none has.
pub fn place(view: &Icicle, width_css_px: f64, cell: u32) -> Option<CellPlace> {
    let (cells, cell) = (&view.cells, cell as usize);
    let (row, left, right) = (*cells.row.get(cell)?, cells.left[cell], cells.right[cell]);
    let scale = scale(view, width_css_px);
    Some(CellPlace {
        left: f64::from(left) * scale,
        top: f64::from(row) * ROW_CSS_PX,
        width: f64::from(right - left) * scale,
        height: ROW_CSS_PX - GAP_CSS_PX,
    })
}

/// CSS pixels to a pixel of the view: while the page is resized they change before the view does.
fn scale(view: &Icicle, width_css_px: f64) -> f64 {
    width_css_px / f64::from(view.width_px.max(1))
}

/// The cell next to a cell; itself where there is none.
pub fn next(view: &Icicle, cell: u32, step: Step) -> u32 {
    let (cells, at) = (&view.cells, cell as usize);
    let Some(row) = cells.row.get(at).copied() else { return 0 };
    let in_row = |other: &usize| cells.row.get(*other) == Some(&row);
    let found = match step {
        Step::Left => at.checked_sub(1).filter(in_row),
        Step::Right => Some(at + 1).filter(in_row),
        Step::Up => (0..at)
            .rev()
            .find(|&other| cells.row[other] + 1 == row && cells.left[other] <= cells.left[at]),
        Step::Down => (at + 1..cells.len()).find(|&other| {
            let inside = cells.left[at]..cells.right[at];
            cells.row[other] == row + 1 && inside.contains(&cells.left[other])
        }),
    };
    found.unwrap_or(at) as u32
}

/// Draws the icicle.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &Icicle,
    theme: &Theme,
) -> Drawn<(), DB> {
    let chart = Chart { pen: Pen { area, picture }, view, theme };
    (0..view.cells.len()).try_for_each(|cell| chart.cell(cell))
}

struct Chart<'a, DB: DrawingBackend> {
    pen: Pen<'a, DB>,
    view: &'a Icicle,
    theme: &'a Theme,
}

impl<DB: DrawingBackend> Chart<'_, DB> {
    fn cell(&self, cell: usize) -> Drawn<(), DB> {
        let cells = &self.view.cells;
        let picture = self.pen.picture;
        let (left, look) = (self.x(cells.left[cell]), cells.look[cell]);
        let right = self.x(cells.right[cell]).max(left + 1);
        let top = picture.px(f64::from(cells.row[cell]) * ROW_CSS_PX);
        let bottom = top + picture.px(ROW_CSS_PX - GAP_CSS_PX);
        let is_edged = f64::from(right - left) / picture.ratio >= EDGED_CSS_PX;
        let edge = if is_edged { picture.px(GAP_CSS_PX) } else { 0 };
        let fill = self.fill_of(look);
        self.pen.fill(left, top, right - edge, bottom, fill)?;
        if look & MATCH != 0 {
            self.outline(left, top, right - edge, bottom)?;
        }
        self.words(cell, (left, right - edge), (top + bottom) / 2, over(fill, self.theme))
    }

    fn x(&self, view_px: u32) -> i32 {
        (f64::from(view_px) * scale(self.view, f64::from(self.pen.picture.width_px))).round() as i32
    }

    fn fill_of(&self, look: u32) -> RGBAColor {
        let key = self.view.categories.get((look % STRANGE) as usize);
        let colour = self.theme.keyed(key.map_or("", String::as_str));
        match look {
            _ if look & MERGED != 0 => self.theme.grid.to_rgba(),
            _ if look & STRANGE != 0 => self.theme.faded(colour),
            _ => colour.to_rgba(),
        }
    }

    fn outline(&self, left: i32, top: i32, right: i32, bottom: i32) -> Drawn<(), DB> {
        let (line, colour) = (self.pen.picture.px(2.0), self.theme.ink.to_rgba());
        self.pen.fill(left, top, right, (top + line).min(bottom), colour)?;
        self.pen.fill(left, (bottom - line).max(top), right, bottom, colour)?;
        self.pen.fill(left, top, (left + line).min(right), bottom, colour)?;
        self.pen.fill((right - line).max(left), top, right, bottom, colour)
    }

    /// The function, its place behind it, and its bytes at the right, as far as there is room.
    fn words(
        &self,
        cell: usize,
        (left, right): (i32, i32),
        y: i32,
        colour: RGBColor,
    ) -> Drawn<(), DB> {
        let label = self.view.cells.label[cell] as usize;
        let Some((name, place)) = self.view.labels.get(label) else { return Ok(()) };
        let px = |css_px: f64| self.pen.picture.px(css_px);
        let room = f64::from(right - left) / self.pen.picture.ratio - 2.0 * PADDING_CSS_PX;
        let bytes = Bytes(self.view.cells.bytes[cell] as u64).to_string();
        let both = format!("{name}  {place}");
        let text = if place.is_empty() || width_of(&both) > room { name } else { &both };
        if width_of(text) + BYTES_GAP_CSS_PX + width_of(&bytes) <= room {
            let at = (right - px(PADDING_CSS_PX), y);
            self.pen.write(&bytes, at, Align::Right, colour)?;
        }
        let Some(text) = elided(text, room) else { return Ok(()) };
        self.pen.write(&text, (left + px(PADDING_CSS_PX), y), Align::Left, colour)
    }
}

/// Letters that are read on a colour: the darker or the lighter of the theme's extremes.
fn over(fill: RGBAColor, theme: &Theme) -> RGBColor {
    let RGBAColor(r, g, b, opacity) = fill;
    let RGBColor(sr, sg, sb) = theme.surface;
    let linear = |channel: u8, behind: u8| {
        let mixed = f64::from(channel) * opacity + f64::from(behind) * (1.0 - opacity);
        (mixed / 255.0).powf(2.2)
    };
    let luminance = 0.2126 * linear(r, sr) + 0.7152 * linear(g, sg) + 0.0722 * linear(b, sb);
    // Where black and white letters differ from the ground alike.
    if luminance > 0.179 { RGBColor(0, 0, 0) } else { RGBColor(255, 255, 255) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded};
    use crate::view::stacks::icicle::{Cells, UNLABELLED};

    /// A root that calls two frames, of which the first calls three: a wide one and two merged.
    fn sample() -> Icicle {
        let label = |name: &str, place: &str| (name.to_owned(), place.to_owned());
        Icicle {
            width_px: 400,
            rows: 3,
            is_cut: false,
            categories: vec!["weights".to_owned(), "activations".to_owned()],
            labels: vec![label("all", ""), label("train", "train.py:88"), label("2 more", "")],
            cells: Cells {
                node: vec![0, 1, 2, 3, 4],
                nodes: vec![1, 1, 1, 1, 2],
                row: vec![0, 1, 1, 2, 2],
                left: vec![0, 0, 300, 0, 240],
                right: vec![400, 300, 390, 240, 300],
                look: vec![0, 1 | MATCH, STRANGE, 1, MERGED],
                label: vec![0, 1, UNLABELLED, 1, 2],
                bytes: vec![4096.0, 3072.0, 512.0, 2048.0, 1024.0],
            },
        }
    }

    fn drawn(ratio: f64, theme: &Theme) -> Vec<Call> {
        let view = sample();
        let picture = Picture::from_css(400.0 / ratio, height(&view), ratio);
        let (calls, result) = recorded(picture, |area| draw(area, picture, &view, theme));
        result.unwrap();
        calls
    }

    #[test]
    fn every_cell_is_found_where_it_lies() {
        let view = sample();
        for width in [200.0, 400.0, 517.0] {
            for cell in 0..view.cells.len() as u32 {
                let place = place(&view, width, cell).unwrap();
                let (x, y) = (place.left + place.width / 2.0, place.top + place.height / 2.0);
                assert_eq!(cell_at(&view, width, x, y), Some(cell));
            }
            assert_eq!(cell_at(&view, width, width * 0.99, 30.0), None);
            assert_eq!(cell_at(&view, width, 5.0, 64.0), None);
            assert_eq!(cell_at(&view, width, -1.0, 5.0), None);
        }
        assert_eq!(cell_at(&Icicle::default(), 300.0, 1.0, 1.0), None);
        assert_eq!(place(&view, 400.0, 9), None);
    }

    #[test]
    fn the_keyboard_walks_from_frame_to_frame() {
        let view = sample();
        let from = |cell| {
            [Step::Up, Step::Down, Step::Left, Step::Right].map(|step| next(&view, cell, step))
        };
        assert_eq!(from(0), [0, 1, 0, 0]);
        assert_eq!(from(1), [0, 3, 1, 2]);
        assert_eq!(from(2), [0, 2, 1, 2]);
        assert_eq!(from(4), [1, 4, 3, 4]);
        assert_eq!(next(&Icicle::default(), 3, Step::Down), 0);
    }

    #[test]
    fn cells_stay_inside_and_only_a_match_is_outlined() {
        for ratio in [1.0, 2.0] {
            for theme in [Theme::light(), Theme::dark()] {
                let calls = drawn(ratio, &theme);
                let high = (3.0 * ROW_CSS_PX * ratio) as i32;
                for (x, y) in calls.iter().flat_map(Call::points) {
                    assert!((0..=400).contains(&x) && (0..=high).contains(&y), "{x}, {y}");
                }
                let rects = calls.iter().filter(|call| matches!(call, Call::Rect { .. })).count();
                assert_eq!(rects, sample().cells.len() + 4);
            }
        }
    }

    #[test]
    fn a_place_and_bytes_are_named_where_they_fit() {
        let texts: Vec<String> = drawn(1.0, &Theme::light())
            .into_iter()
            .filter_map(|call| match call {
                Call::Text { text, .. } => Some(text),
                _ => None,
            })
            .collect();
        let expected = [
            "4.00 KiB",
            "all",
            "3.00 KiB",
            "train  train.py:88",
            "2.00 KiB",
            "train  train.py:88",
            "2 more",
        ];
        assert_eq!(texts, expected);
    }
}
