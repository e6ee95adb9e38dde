//! The timeline: stacked bands over the entries, the reserved line, axes; marks and annotations are
//! in [`marks`].

mod marks;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::{Color, RGBColor};

use super::layout::{MOST_LANES, PlotArea, PlotRect};
use super::scale::{ByteScale, EntryScale, entry_label, time_label};
use super::stack::{self, Look, even_px};
use super::theme::Theme;
use super::window::Window;
use super::{Align, Drawn, Pen, Picture, axis};
use crate::view::timeline::TimelineView;
use crate::view::timeline::axis::Along;
use crate::view::timeline::pixels::Layout;

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded, sample};

    pub(super) fn options(window: Window) -> Options {
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

    pub(super) fn drawn(picture: Picture, view: &TimelineView, options: &Options) -> Vec<Call> {
        let (calls, result) =
            recorded(picture, |area| draw(area, picture, view, options).map(drop));
        result.unwrap();
        calls
    }

    pub(super) fn texts(calls: &[Call]) -> Vec<&str> {
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
