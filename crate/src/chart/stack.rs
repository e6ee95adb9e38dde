//! The stacked bands of a timeline, as the timeline and the overview draw them.

use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::{DrawingArea, DrawingBackend, PathElement, Polygon};
use plotters::style::{Color, RGBAColor};

use super::layout::PlotArea;
use super::scale::{ByteScale, EntryScale};
use super::theme::Theme;
use super::window::Window;
use super::{Drawn, Picture};
use crate::view::timeline::TimelineView;

/// The columns of a view that a window shows, cut off at its edges.
///
/// The window need not be the view's own range: while the view of a new window is still being made,
/// the old one is shown stretched.
pub(super) struct Columns<'a> {
    view: &'a TimelineView,
    /// Each column's first entry and one past its last, with fractions, ascending.
    edges: Vec<(f64, f64)>,
    first: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn new(view: &'a TimelineView, window: Window) -> Columns<'a> {
        let (begin, end) = (f64::from(view.begin), f64::from(view.end.max(view.begin)));
        let width = (end - begin) / f64::from(view.columns.max(1));
        let edge = |column: u32| {
            (begin + f64::from(column) * width)
                .clamp(f64::from(window.begin), f64::from(window.end))
        };
        let all = (0..view.columns).map(|column| (edge(column), edge(column + 1)));
        let first = all.clone().take_while(|(left, right)| left >= right).count();
        let edges = all.skip(first).take_while(|(left, right)| left < right).collect();
        Columns { view, edges, first }
    }

    /// A number of each column shown; a view that came with too few of them has zeros.
    fn values(&self, numbers: &[f64], row: usize) -> Vec<f64> {
        let start = row.saturating_mul(self.view.columns as usize).saturating_add(self.first);
        (start..).take(self.edges.len()).map(|index| sane(numbers.get(index).copied())).collect()
    }

    /// The tops of the bands, lowest first, each over all columns shown: row `n` is the sum of the
    /// bands up to and with `n`.
    pub(super) fn tops(&self) -> Vec<Vec<f64>> {
        let mut sum = vec![0.0; self.edges.len()];
        let bands = 0..self.view.bands.len();
        let tops = bands.map(|band| {
            let values = self.values(&self.view.band_bytes, band);
            sum.iter_mut().zip(values).for_each(|(sum, bytes)| *sum += bytes);
            sum.clone()
        });
        tops.collect()
    }

    /// The numbers of a row, nowhere less than those of the row below it.
    pub(super) fn beyond(&self, numbers: &[f64], lower: &[f64]) -> Vec<f64> {
        let numbers = self.values(numbers, 0);
        numbers.into_iter().zip(lower).map(|(number, lower)| number.max(*lower)).collect()
    }

    /// The outline of a row of bytes from left to right: two points a step, none between equals.
    fn outline(&self, bytes: &[f64]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for ((left, right), &bytes) in self.edges.iter().zip(bytes) {
            match points.last_mut() {
                Some(last) if last.1 == bytes => last.0 = *right,
                _ => points.extend([(*left, bytes), (*right, bytes)]),
            }
        }
        points
    }

    /// The area between two rows of bytes; absent where there is none.
    fn between(&self, lower: &[f64], upper: &[f64]) -> Option<Vec<(f64, f64)>> {
        if lower.iter().zip(upper).all(|(lower, upper)| lower >= upper) {
            return None;
        }
        let mut points = self.outline(upper);
        points.extend(self.outline(lower).into_iter().rev());
        Some(points)
    }
}

fn sane(bytes: Option<f64>) -> f64 {
    bytes.filter(|bytes| bytes.is_finite()).map_or(0.0, |bytes| bytes.max(0.0))
}

/// How the bands are drawn.
pub(super) struct Look<'a> {
    pub(super) window: Window,
    pub(super) theme: &'a Theme,
    /// The one band to keep its full colour, if only one shall.
    pub(super) emphasis: Option<&'a str>,
    /// Whether the lines are drawn, and how wide; the bands alone for 0.
    pub(super) line_px: u32,
    /// Whether the bands are, or pixels of the allocations lie there instead.
    pub(super) has_bands: bool,
}

/// Draws the bands, what is freed and awaited by another stream, what is reserved beyond them, and
/// the lines.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    plot: &PlotArea,
    view: &TimelineView,
    look: &Look<'_>,
) -> Drawn<(), DB> {
    let theme = look.theme;
    let scales = Cartesian2d::<EntryScale, ByteScale>::new(
        EntryScale::new(look.window),
        ByteScale::with_room_for(view.top_bytes),
        (plot.left..plot.right, plot.bottom..plot.top),
    );
    let area = area.clone().apply_coord_spec(scales);
    let columns = Columns::new(view, look.window);
    let tops = columns.tops();
    let zero = vec![0.0; columns.edges.len()];
    let allocated = tops.last().unwrap_or(&zero);
    let active = columns.beyond(&view.active_bytes, allocated);
    let reserved = columns.beyond(&view.reserved_bytes, &active);

    if look.has_bands {
        let fill =
            |lower: &[f64], upper: &[f64], colour: RGBAColor| match columns.between(lower, upper) {
                Some(points) => area.draw(&Polygon::new(points, colour.filled())),
                None => Ok(()),
            };
        fill(&active, &reserved, theme.keyed("idle").to_rgba())?;
        fill(allocated, &active, theme.keyed("pending_free").to_rgba())?;
        let mut lower = &zero;
        for (band, upper) in view.bands.iter().zip(&tops) {
            let colour = theme.keyed(&band.key);
            let faded = look.emphasis.is_some_and(|key| key != band.key);
            fill(lower, upper, if faded { theme.faded(colour) } else { colour.to_rgba() })?;
            lower = upper;
        }
    }
    if look.line_px == 0 {
        return Ok(());
    }
    let line = columns.outline(&reserved);
    if !line.is_empty() {
        area.draw(&PathElement::new(line, theme.reserved.stroke_width(look.line_px)))?;
    }
    // A replay that ran out ends early; so does its line.
    let told = view.overlay_bytes.len().saturating_sub(columns.first).min(columns.edges.len());
    let overlay = columns.outline(&columns.values(&view.overlay_bytes, 0)[..told]);
    if !overlay.is_empty() {
        area.draw(&PathElement::new(overlay, theme.overlay.stroke_width(look.line_px)))?;
    }
    Ok(())
}

/// A line's width in pixels that lies evenly on the pixels' borders, where the backend puts it.
pub(super) fn even_px(picture: &Picture, css_px: f64) -> u32 {
    2 * ((css_px * picture.ratio / 2.0).round().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::sample;

    #[test]
    fn bands_stack_to_their_sum() {
        let view = sample(400, 40);
        let columns = Columns::new(&view, Window { begin: view.begin, end: view.end });
        let tops = columns.tops();
        for column in 0..40 {
            let sum: f64 =
                (0..view.bands.len()).map(|band| view.band_bytes[band * 40 + column]).sum();
            assert_eq!(tops.last().unwrap()[column], sum);
            let reserved = columns.beyond(&view.reserved_bytes, tops.last().unwrap());
            assert!(reserved[column] >= sum);
        }
    }

    #[test]
    fn a_window_inside_the_view_cuts_its_columns() {
        let view = sample(400, 40);
        let columns = Columns::new(&view, Window { begin: 95, end: 201 });
        assert_eq!(columns.edges.first(), Some(&(95.0, 100.0)));
        assert_eq!(columns.edges.last(), Some(&(200.0, 201.0)));
        assert_eq!(columns.tops()[0][1], view.band_bytes[10]);
    }

    #[test]
    fn a_window_beside_the_view_shows_nothing() {
        let view = TimelineView { begin: 0, end: 100, ..sample(400, 40) };
        assert!(Columns::new(&view, Window { begin: 200, end: 300 }).edges.is_empty());
    }

    #[test]
    fn missing_and_senseless_numbers_are_zeros() {
        let mut view = sample(400, 40);
        view.band_bytes.truncate(50);
        view.band_bytes[0] = f64::NAN;
        view.band_bytes[1] = -1.0;
        view.reserved_bytes.clear();
        let columns = Columns::new(&view, Window::whole(400));
        let tops = columns.tops();
        assert_eq!((tops[0][0], tops[0][1]), (0.0, 0.0));
        assert_eq!(columns.beyond(&view.reserved_bytes, &tops[2]), tops[2]);
    }

    #[test]
    fn the_outline_steps_at_the_columns_edges() {
        let view = sample(40, 4);
        let columns = Columns::new(&view, Window::whole(40));
        let points = columns.outline(&[5.0, 5.0, 7.0, 7.0]);
        assert_eq!(points, [(0.0, 5.0), (20.0, 5.0), (20.0, 7.0), (40.0, 7.0)]);
    }
}
