//! The steps as bars: what each began from, and what it rose to.

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::Color;

use super::layout::{PlotArea, PlotRect};
use super::scale::{ByteScale, entry_label, tick_label};
use super::theme::Theme;
use super::{Align, Drawn, Pen, Picture};
use crate::view::steps::{StepColumn, StepsPicture};

/// A bar is no wider than this.
const BAR_CSS_PX: f64 = 48.0;
/// Bars narrower than this stand side by side without a gap.
const EDGED_CSS_PX: f64 = 5.0;

/// The most columns that a picture has room for.
pub fn columns(picture: &Picture) -> u32 {
    PlotArea::of_steps(picture).columns()
}

/// The step under a pointer, as its place among the steps, `x` CSS pixels from the left edge; the
/// fullest of several that share a column stands for all. Absent beside all bars.
pub fn step_at(view: &StepsPicture, rect: &PlotRect, x_css_px: f64) -> Option<u32> {
    let places = Places { left: rect.left, right: rect.right, columns: view.columns.len() };
    let nth = places.nth_at(x_css_px)?;
    view.columns.get(nth).map(|column| column.begin)
}

/// The column of a step as its left and right edges in CSS pixels.
pub fn column_of(view: &StepsPicture, rect: &PlotRect, step: u32) -> Option<(f64, f64)> {
    let places = Places { left: rect.left, right: rect.right, columns: view.columns.len() };
    let nth = view.columns.iter().position(|column| column.begin <= step && step < column.end)?;
    Some(places.edges(nth))
}

/// Where the columns lie between two edges.
struct Places {
    left: f64,
    right: f64,
    columns: usize,
}

impl Places {
    fn edges(&self, nth: usize) -> (f64, f64) {
        let width = (self.right - self.left) / self.columns.max(1) as f64;
        (self.left + nth as f64 * width, self.left + (nth + 1) as f64 * width)
    }

    fn nth_at(&self, x: f64) -> Option<usize> {
        let share = (x - self.left) / (self.right - self.left);
        (0.0..1.0).contains(&share).then_some((share * self.columns as f64) as usize)
    }
}

/// Draws the steps and says where the plot area lies.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &StepsPicture,
    theme: &Theme,
) -> Drawn<PlotRect, DB> {
    let plot = PlotArea::of_steps(&picture);
    let places = Places {
        left: f64::from(plot.left),
        right: f64::from(plot.right),
        columns: view.columns.len(),
    };
    let chart = Chart { pen: Pen { area, picture }, plot, view, theme, places };
    chart.byte_axis()?;
    for (nth, column) in view.columns.iter().enumerate() {
        chart.bar(nth, column)?;
    }
    chart.step_axis()?;
    Ok(plot.rect(&picture))
}

struct Chart<'a, DB: DrawingBackend> {
    pen: Pen<'a, DB>,
    plot: PlotArea,
    view: &'a StepsPicture,
    theme: &'a Theme,
    places: Places,
}

impl<DB: DrawingBackend> Chart<'_, DB> {
    fn px(&self, css_px: f64) -> i32 {
        self.pen.picture.px(css_px)
    }

    fn y(&self, bytes: f64) -> i32 {
        let scale = ByteScale::with_room_for(self.view.top_bytes);
        scale.map(&bytes, (self.plot.bottom, self.plot.top))
    }

    fn byte_axis(&self) -> Drawn<(), DB> {
        let height_css_px = f64::from(self.plot.bottom - self.plot.top) / self.pen.picture.ratio;
        let most = (height_css_px / 34.0).clamp(2.0, 6.0) as usize;
        let line = self.px(1.0);
        for bytes in ByteScale::with_room_for(self.view.top_bytes).ticks(most) {
            let y = self.y(bytes);
            let top = y.min(self.plot.bottom - line).max(self.plot.top);
            let grid = self.theme.grid.to_rgba();
            self.pen.fill(self.plot.left, top, self.plot.right, top + line, grid)?;
            let at = (self.plot.left - self.px(8.0), y);
            self.pen.write(&tick_label(bytes), at, Align::Right, self.theme.text)?;
        }
        Ok(())
    }

    /// The baseline in full colour, what the step added to it above, a failure across the top.
    fn bar(&self, nth: usize, column: &StepColumn) -> Drawn<(), DB> {
        let (left, right) = self.edges(nth);
        let (base, peak) = (self.y(column.baseline_bytes), self.y(column.peak_bytes));
        let added = self.theme.keyed(&column.category);
        self.pen.fill(left, peak, right, base, added.to_rgba())?;
        self.pen.fill(left, base, right, self.plot.bottom, self.theme.reserved.mix(0.75))?;
        if column.failed {
            let failure = self.theme.failure.to_rgba();
            let high = self.px(4.0);
            let top = (peak - high).max(self.plot.top);
            self.pen.fill(left, top, right.max(left + self.px(3.0)), top + high, failure)?;
        }
        Ok(())
    }

    fn edges(&self, nth: usize) -> (i32, i32) {
        let (left, right) = self.places.edges(nth);
        let most = f64::from(self.px(BAR_CSS_PX));
        let spare = ((right - left - most) / 2.0).max(0.0);
        let (left, right) = ((left + spare).round() as i32, (right - spare).round() as i32);
        let is_edged = f64::from(right - left) / self.pen.picture.ratio >= EDGED_CSS_PX;
        (left, (right - if is_edged { self.px(1.0) } else { 0 }).max(left + 1))
    }

    /// Round step numbers under their bars.
    fn step_axis(&self) -> Drawn<(), DB> {
        let width_css_px = f64::from(self.plot.right - self.plot.left) / self.pen.picture.ratio;
        let most = (width_css_px / 60.0).max(1.0) as u32;
        let steps =
            [1, 2, 5].iter().flat_map(|digit| (0..7).map(move |power| digit * 10_u32.pow(power)));
        let Some(every) = steps.filter(|every| self.view.steps / every <= most).min() else {
            return Ok(());
        };
        let y = self.plot.bottom + self.px(14.0);
        for (nth, column) in self.view.columns.iter().enumerate() {
            // Steps are numbered from 1.
            let first = (column.begin + 1).next_multiple_of(every);
            if first <= column.end {
                let (left, right) = self.edges(nth);
                let label = entry_label(first);
                let half = self.pen.width_of(&label) / 2;
                let centre = ((left + right) / 2).min(self.pen.picture.width_px - half).max(half);
                self.pen.write(&label, (centre, y), Align::Centre, self.theme.text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded};

    fn sample(steps: u32, columns: u32) -> StepsPicture {
        let part = |nth: u32| steps * nth / columns;
        StepsPicture {
            steps,
            top_bytes: 1000.0,
            columns: (0..columns)
                .map(|nth| StepColumn {
                    begin: part(nth),
                    end: part(nth + 1),
                    baseline_bytes: 200.0,
                    peak_bytes: 600.0 + 4.0 * f64::from(nth % 100),
                    category: "activations".to_owned(),
                    failed: nth + 1 == columns,
                })
                .collect(),
        }
    }

    fn drawn(view: &StepsPicture, width: f64, ratio: f64) -> (Vec<Call>, PlotRect) {
        let picture = Picture::from_css(width, 160.0, ratio);
        let (calls, rect) = recorded(picture, |area| draw(area, picture, view, &Theme::light()));
        (calls, rect.unwrap())
    }

    #[test]
    fn every_bar_is_found_under_its_middle() {
        for (steps, columns) in [(1, 1), (7, 7), (5_000, 700)] {
            let view = sample(steps, columns);
            let (_, rect) = drawn(&view, 800.0, 1.0);
            for step in 0..steps {
                let (left, right) = column_of(&view, &rect, step).unwrap();
                let found = step_at(&view, &rect, (left + right) / 2.0).unwrap();
                assert_eq!(column_of(&view, &rect, found), Some((left, right)));
            }
            assert_eq!(step_at(&view, &rect, rect.left - 1.0), None);
            assert_eq!(step_at(&view, &rect, rect.right + 1.0), None);
            assert_eq!(column_of(&view, &rect, steps), None);
        }
    }

    #[test]
    fn everything_stays_inside_the_picture() {
        for ratio in [1.0, 2.0] {
            for width in [40.0, 390.0, 1400.0] {
                for view in [StepsPicture::default(), sample(1, 1), sample(9_000, 300)] {
                    let (calls, _) = drawn(&view, width, ratio);
                    for (x, y) in calls.iter().flat_map(Call::points) {
                        let (right, bottom) = (width * ratio, 160.0 * ratio);
                        assert!(0.0 <= f64::from(y) && f64::from(y) <= bottom, "{y}");
                        assert!(f64::from(x) <= right + 3.0 * ratio, "{x} of {right}");
                    }
                }
            }
        }
    }

    #[test]
    fn steps_are_numbered_from_one_in_round_numbers() {
        let numbers = |steps, columns| -> Vec<String> {
            let (calls, _) = drawn(&sample(steps, columns), 400.0, 1.0);
            calls
                .into_iter()
                .filter_map(|call| match call {
                    Call::Text { text, at: (_, y), .. } if y > 140 => Some(text),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(numbers(4, 4), ["1", "2", "3", "4"]);
        assert_eq!(numbers(20, 20), ["5", "10", "15", "20"]);
        assert_eq!(numbers(2_500, 300), ["500", "1,000", "1,500", "2,000", "2,500"]);
    }
}
