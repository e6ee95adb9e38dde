//! The timeline: stacked bands over the entries, the reserved line, marks, annotations, axes.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, Polygon};
use plotters::style::{Color, RGBColor};

use super::layout::{LANE_CSS_PX, MARKS_CSS_PX, MOST_LANES, PlotArea, PlotRect};
use super::scale::{ByteScale, EntryScale, entry_label, time_label};
use super::stack::{self, Look, even_px};
use super::theme::Theme;
use super::window::Window;
use super::{Align, Drawn, Pen, Picture, axis, elided, width_of};
use crate::view::timeline::axis::Along;
use crate::view::timeline::pixels::Layout;
use crate::view::timeline::{Mark, TimelineView};

/// How a timeline is to be drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// The colours.
    pub theme: Theme,
    /// The places to show; the view's own range, or another while that one is being made.
    pub window: Window,
    /// The place to mark as selected.
    pub selected: Option<u32>,
    /// The places of the range selected, the end exclusive.
    pub range: Option<(u32, u32)>,
    /// What is seen instead of the bands, if anything: how the allocations are laid out, and the
    /// bytes that the pixels reach up to.
    pub pixels: Option<(Layout, f64)>,
    /// The key of the one band to keep its full colour, if only one shall.
    pub emphasis: Option<String>,
    /// Lanes to keep free for annotations, whether or not the window has any.
    pub lanes: u32,
}

/// Lanes that the annotations of a view need; more nesting levels than are drawn do not count.
pub fn lanes(view: &TimelineView) -> u32 {
    view.spans.iter().map(|span| span.lane.saturating_add(1)).max().unwrap_or(0).min(MOST_LANES)
}

/// Draws the view and says where its plot area lies. An empty view shows its axes only.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &TimelineView,
    options: &Options,
) -> Drawn<PlotRect, DB> {
    let plot = PlotArea::of_timeline(&picture, options.lanes);
    let chart = Chart { pen: Pen { area, picture }, plot, view, options, theme: &options.theme };
    axis::bytes(&chart.pen, &plot, &options.theme, chart.bytes())?;
    chart.entry_axis()?;
    let layout = options.pixels.map(|(layout, _)| layout);
    if layout != Some(Layout::Addresses) {
        let look = Look {
            window: options.window,
            theme: &options.theme,
            emphasis: options.emphasis.as_deref(),
            line_px: even_px(&picture, 1.5),
            has_bands: layout.is_none(),
        };
        stack::draw(area, &plot, view, &look)?;
        chart.limit()?;
    }
    chart.range()?;
    chart.spans()?;
    chart.returned()?;
    chart.selected()?;
    chart.marks()?;
    Ok(plot.rect(&picture))
}

struct Chart<'a, DB: DrawingBackend> {
    pen: Pen<'a, DB>,
    plot: PlotArea,
    view: &'a TimelineView,
    options: &'a Options,
    theme: &'a Theme,
}

impl<DB: DrawingBackend> Chart<'_, DB> {
    fn px(&self, css_px: f64) -> i32 {
        self.pen.picture.px(css_px)
    }

    /// The pixel column in which a place is drawn, if it is shown.
    fn column_of(&self, entry: u32) -> Option<i32> {
        let window = self.options.window;
        (window.begin <= entry && entry < window.end).then(|| {
            let middle = self.column_at(f64::from(entry) + 0.5);
            middle.min(self.plot.right - 1)
        })
    }

    fn column_at(&self, place: f64) -> i32 {
        let edges = (f64::from(self.plot.left), f64::from(self.plot.right));
        EntryScale::new(self.options.window).px_from_entry(place, edges).round() as i32
    }

    /// A vertical line of so many CSS pixels about a pixel column, kept inside the plot area.
    fn upright(&self, column: i32, css_px: f64, top: i32, colour: RGBColor) -> Drawn<(), DB> {
        let width = self.px(css_px);
        let left = (column - width / 2)
            .clamp(self.plot.left, (self.plot.right - width).max(self.plot.left));
        self.pen.fill(
            left,
            top,
            (left + width).min(self.plot.right),
            self.plot.bottom,
            colour.to_rgba(),
        )
    }

    fn bytes(&self) -> ByteScale {
        let top = self.options.pixels.map_or(self.view.top_bytes, |(_, top)| top);
        ByteScale::with_room_for(top)
    }

    fn entry_axis(&self) -> Drawn<(), DB> {
        let width_css_px = f64::from(self.plot.right - self.plot.left) / self.pen.picture.ratio;
        let most = (width_css_px / 75.0).clamp(2.0, 12.0) as usize;
        let y = self.plot.bottom + self.px(14.0);
        let (tick, thickness) = (self.px(4.0), self.px(1.0));
        let ticks = EntryScale::new(self.options.window).ticks(most);
        let step_us = ticks
            .windows(2)
            .next()
            .map_or(1.0, |pair| f64::from(pair[1] - pair[0]) * self.view.tick_us);
        for entry in ticks {
            let Some(x) = self.column_of(entry) else { continue };
            let below = self.plot.bottom;
            self.pen.fill(x, below, x + thickness, below + tick, self.theme.grid.to_rgba())?;
            let label = match self.view.along {
                Along::Entries => entry_label(entry),
                Along::Time => time_label(f64::from(entry) * self.view.tick_us, step_us),
            };
            let half = self.pen.width_of(&label) / 2;
            let centre = x.min(self.pen.picture.width_px - half).max(half);
            self.pen.write(&label, (centre, y), Align::Centre, self.theme.text)?;
        }
        Ok(())
    }

    /// The limit, with its label at the left edge: the right is where failures have theirs.
    fn limit(&self) -> Drawn<(), DB> {
        use plotters::coord::ranged1d::Ranged;
        let Some(bytes) = self.view.limit_bytes else { return Ok(()) };
        let y = self.bytes().map(&bytes, (self.plot.bottom, self.plot.top));
        let thickness = self.px(1.0);
        let (dash, gap) = (self.px(6.0), self.px(4.0));
        let mut left = self.plot.left;
        while left < self.plot.right {
            let right = (left + dash).min(self.plot.right);
            self.pen.fill(left, y, right, y + thickness, self.theme.failure.to_rgba())?;
            left = right + gap;
        }
        let at = (self.plot.left + self.px(4.0), y - self.px(8.0));
        self.pen.write("limit", at, Align::Left, self.theme.failure)
    }

    /// The range selected: its edges, and a veil over what is beside it.
    fn range(&self) -> Drawn<(), DB> {
        let Some((begin, end)) = self.options.range else { return Ok(()) };
        let (left, right) = (self.column_at(f64::from(begin)), self.column_at(f64::from(end)));
        let right = right.max(left + self.px(1.0)).min(self.plot.right);
        let (top, bottom) = (self.plot.top, self.plot.bottom);
        let veil = self.theme.surface.mix(0.6);
        self.pen.fill(self.plot.left, top, left, bottom, veil)?;
        self.pen.fill(right, top, self.plot.right, bottom, veil)?;
        let window = self.options.window;
        if begin >= window.begin && begin < window.end {
            self.upright(left, 1.0, top, self.theme.accent)?;
        }
        if end > window.begin && end <= window.end {
            self.upright(right, 1.0, top, self.theme.accent)?;
        }
        Ok(())
    }

    /// A small wedge below the plot where segments went back to the driver.
    fn returned(&self) -> Drawn<(), DB> {
        let (half, height) = (self.px(3.0), self.px(5.0));
        let bottom = self.plot.bottom;
        let mut drawn_to = i32::MIN;
        for place in &self.view.returned {
            let Some(column) = self.column_of(*place).filter(|column| *column > drawn_to) else {
                continue;
            };
            drawn_to = column + 2 * half;
            let left = (column - half).max(self.plot.left);
            let right = (column + half).min(self.plot.right);
            let wedge = vec![(left, bottom + height), (right, bottom + height), (column, bottom)];
            self.pen.area.draw(&Polygon::new(wedge, self.theme.reserved.filled()))?;
        }
        Ok(())
    }

    /// One strip an annotation, outermost on top, its name inside where it fits.
    fn spans(&self) -> Drawn<(), DB> {
        let lanes = self.options.lanes.min(MOST_LANES);
        let mut drawn_to = vec![self.plot.left; lanes as usize];
        let window = self.options.window;
        for span in &self.view.spans {
            let (begin, end) = (span.begin.max(window.begin), span.end.min(window.end));
            let Some(drawn_to) = drawn_to.get_mut(span.lane as usize) else { continue };
            if begin >= end {
                continue;
            }
            let gap = self.px(1.0);
            let left = self.column_at(f64::from(begin));
            let right = (self.column_at(f64::from(end)) - gap).max(left + gap).min(self.plot.right);
            // Of thousands that share a pixel, one is enough.
            if right <= *drawn_to {
                continue;
            }
            let left = left.max(*drawn_to);
            *drawn_to = right + gap;
            let top = self.px(MARKS_CSS_PX + f64::from(span.lane) * LANE_CSS_PX);
            let bottom = top + self.px(LANE_CSS_PX - 3.0);
            let colour = self.theme.accent.mix(if span.lane % 2 == 0 { 0.20 } else { 0.12 });
            self.pen.fill(left, top, right, bottom, colour)?;
            let room_css_px = f64::from(right - left) / self.pen.picture.ratio - 8.0;
            if let Some(name) = elided(&span.name, room_css_px) {
                let at = (left + self.px(4.0), (top + bottom) / 2);
                self.pen.write_sized(&name, at, Align::Left, self.theme.ink, 10.0)?;
            }
        }
        Ok(())
    }

    /// A vertical line a mark; labels as far as they do not run into each other, failures first.
    fn marks(&self) -> Drawn<(), DB> {
        let mut taken: Vec<(i32, i32)> = Vec::new();
        let (failures, others): (Vec<&Mark>, Vec<&Mark>) =
            self.view.marks.iter().partition(|mark| mark.kind == "oom");
        for mark in others.iter().chain(&failures) {
            let Some(column) = self.column_of(mark.place) else { continue };
            if mark.kind == "oom" {
                self.upright(column, 2.0, self.plot.top, self.theme.failure)?;
            } else {
                self.dashes(column)?;
            }
        }
        for mark in failures.iter().rev().chain(&others) {
            let Some(column) = self.column_of(mark.place) else { continue };
            if let Some((left, right)) = self.label_place(column, &mark.label, &taken) {
                taken.push((left, right));
                self.mark_label(mark, left, right)?;
            }
        }
        Ok(())
    }

    /// Where a mark's label goes, centred on its line if it can be: its left and right edge.
    fn label_place(&self, column: i32, label: &str, taken: &[(i32, i32)]) -> Option<(i32, i32)> {
        let width = self.px(width_of(label) + 14.0);
        let right_most = self.pen.picture.width_px - width;
        let left = (column - width / 2).min(right_most).max(0);
        let right = left + width;
        let free = taken
            .iter()
            .all(|(from, to)| right + self.px(4.0) <= *from || *to + self.px(4.0) <= left);
        (free && right_most >= 0 && !label.is_empty()).then_some((left, right))
    }

    fn mark_label(&self, mark: &Mark, left: i32, right: i32) -> Drawn<(), DB> {
        let (top, bottom) = (self.px(1.0), self.px(MARKS_CSS_PX - 4.0));
        let centre = ((left + right) / 2, (top + bottom) / 2);
        if mark.kind == "oom" {
            self.pen.fill(left, top, right, bottom, self.theme.failure.to_rgba())?;
            self.pen.write(&mark.label, centre, Align::Centre, self.theme.surface)
        } else {
            self.pen.write(&mark.label, centre, Align::Centre, self.theme.text)
        }
    }

    fn dashes(&self, column: i32) -> Drawn<(), DB> {
        let (dash, gap, width) = (self.px(4.0), self.px(3.0), self.px(1.0));
        let left = column.min(self.plot.right - width).max(self.plot.left);
        let mut top = self.plot.top;
        while top < self.plot.bottom {
            let bottom = (top + dash).min(self.plot.bottom);
            self.pen.fill(
                left,
                top,
                (left + width).min(self.plot.right),
                bottom,
                self.theme.ink.to_rgba(),
            )?;
            top = bottom + gap;
        }
        Ok(())
    }

    /// The selected place: a line with a small flag on top.
    fn selected(&self) -> Drawn<(), DB> {
        let Some(column) = self.options.selected.and_then(|entry| self.column_of(entry)) else {
            return Ok(());
        };
        self.upright(column, 2.0, self.plot.top, self.theme.accent)?;
        let (half, height) = (self.px(5.0), self.px(7.0));
        let top = self.plot.top;
        let left = (column - half).max(self.plot.left);
        let right = (column + half).min(self.plot.right);
        let tip = (top + height).min(self.plot.bottom);
        let flag = vec![(left, top), (right, top), (column, tip)];
        self.pen.area.draw(&Polygon::new(flag, self.theme.accent.filled()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded, sample};

    fn options(window: Window) -> Options {
        Options {
            theme: Theme::light(),
            window,
            selected: None,
            range: None,
            pixels: None,
            emphasis: None,
            lanes: 2,
        }
    }

    fn drawn(picture: Picture, view: &TimelineView, options: &Options) -> Vec<Call> {
        let (calls, result) =
            recorded(picture, |area| draw(area, picture, view, options).map(drop));
        result.unwrap();
        calls
    }

    fn texts(calls: &[Call]) -> Vec<&str> {
        calls
            .iter()
            .filter_map(
                |call| if let Call::Text { text, .. } = call { Some(text.as_str()) } else { None },
            )
            .collect()
    }

    #[test]
    fn a_band_is_one_polygon_in_its_colour() {
        let view = sample(400, 40);
        let calls =
            drawn(Picture::from_css(900.0, 300.0, 2.0), &view, &options(Window::whole(400)));
        let colours: Vec<&str> = calls
            .iter()
            .filter_map(|call| {
                if let Call::Polygon { colour, .. } = call { Some(colour.as_str()) } else { None }
            })
            .collect();
        assert_eq!(colours, ["e6e9f0", "413faa", "6bb8ea", "c84d68"]);
    }

    #[test]
    fn emphasis_fades_the_other_bands() {
        let view = sample(400, 40);
        let mut options = options(Window::whole(400));
        options.emphasis = Some("weights".to_owned());
        let calls = drawn(Picture::from_css(900.0, 300.0, 1.0), &view, &options);
        let faded = calls.iter().filter(
            |call| matches!(call, Call::Polygon { colour, .. } if colour.ends_with("@0.22")),
        );
        assert_eq!(faded.count(), 2);
    }

    #[test]
    fn areas_stay_inside_the_plot() {
        let view = sample(400, 40);
        let picture = Picture::from_css(900.0, 300.0, 1.5);
        let plot = PlotArea::of_timeline(&picture, 2);
        for window in [Window::whole(400), Window { begin: 37, end: 91 }] {
            let mut options = options(window);
            options.selected = Some(window.end - 1);
            for call in drawn(picture, &view, &options) {
                if let Call::Polygon { .. } | Call::Path { .. } = call {
                    for (x, y) in call.points() {
                        assert!(plot.left <= x && x <= plot.right, "{call:?}");
                        assert!(plot.top <= y && y <= plot.bottom, "{call:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn everything_stays_inside_the_picture() {
        for width in [1.0, 40.0, 74.0, 75.0, 200.0, 390.0, 1_400.0] {
            let picture = Picture::from_css(width, 240.0, 2.0);
            let calls = drawn(picture, &sample(4_000, 300), &options(Window::whole(4_000)));
            let shapes = calls.iter().filter(|call| !matches!(call, Call::Text { .. }));
            for (x, y) in shapes.flat_map(Call::points) {
                assert!(
                    (0..=picture.width_px).contains(&x) && (0..=picture.height_px).contains(&y),
                    "{x}, {y}"
                );
            }
        }
    }

    #[test]
    fn the_axes_speak_of_mebibytes_and_entries() {
        let view = sample(45_000, 800);
        let calls =
            drawn(Picture::from_css(900.0, 300.0, 1.0), &view, &options(Window::whole(45_000)));
        let texts = texts(&calls);
        for label in [
            "0",
            "64 MiB",
            "256 MiB",
            "10,000",
            "40,000",
            "step 1",
            "forward",
            "out of memory",
            "peak 300.00 MiB",
        ] {
            assert!(texts.contains(&label), "{label} in {texts:?}");
        }
    }

    #[test]
    fn letters_grow_with_the_pixel_ratio() {
        let view = sample(400, 40);
        let calls =
            drawn(Picture::from_css(900.0, 300.0, 2.5), &view, &options(Window::whole(400)));
        assert!(calls.iter().any(|call| matches!(call, Call::Text { size, .. } if *size == 27.5)));
    }

    #[test]
    fn labels_that_would_collide_are_left_out() {
        let mut view = sample(400, 40);
        view.marks = (0..50)
            .map(|nth| Mark {
                kind: "oom".into(),
                entry: nth * 8,
                place: nth * 8,
                label: "out of memory".into(),
            })
            .collect();
        let calls =
            drawn(Picture::from_css(900.0, 300.0, 1.0), &view, &options(Window::whole(400)));
        let labels = texts(&calls).iter().filter(|text| **text == "out of memory").count();
        assert!((2..=9).contains(&labels), "{labels}");
    }

    #[test]
    fn the_failure_keeps_its_label_beside_the_peak() {
        let mut view = sample(400, 40);
        view.marks[0].place = 398;
        let calls =
            drawn(Picture::from_css(900.0, 300.0, 1.0), &view, &options(Window::whole(400)));
        let texts = texts(&calls);
        assert!(texts.contains(&"out of memory") && !texts.contains(&"peak 300.00 MiB"));
    }

    #[test]
    fn annotations_in_one_pixel_are_drawn_once() {
        let mut view = sample(100_000, 400);
        let span = view.spans[1].clone();
        view.spans = (0..50_000)
            .map(|nth| crate::view::timeline::Span {
                begin: nth * 2,
                end: nth * 2 + 1,
                ..span.clone()
            })
            .collect();
        let calls =
            drawn(Picture::from_css(500.0, 300.0, 1.0), &view, &options(Window::whole(100_000)));
        assert!(calls.len() < 1_000, "{}", calls.len());
    }

    #[test]
    fn tiny_views_and_pictures_do_not_panic() {
        let views = [TimelineView::default(), sample(1, 1), sample(2, 1), sample(400, 40)];
        for view in &views {
            for (width, height) in
                [(1.0, 1.0), (0.0, 0.0), (76.0, 47.0), (900.0, 1.0), (900.0, 300.0)]
            {
                for ratio in [1.0, 3.0] {
                    let mut options = options(Window { begin: view.begin, end: view.end });
                    options.selected = Some(0);
                    drawn(Picture::from_css(width, height, ratio), view, &options);
                }
            }
        }
    }
}
