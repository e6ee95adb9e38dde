//! The overview: the whole trace as a thin strip, with the window of the timeline on it.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::Color;

use super::layout::{PlotArea, PlotRect};
use super::scale::EntryScale;
use super::stack::{self, Look};
use super::theme::Theme;
use super::window::Window;
use super::{Drawn, Pen, Picture};
use crate::view::timeline::TimelineView;

/// Draws the view of a whole trace, all but the window faded, and says where the plot area lies.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &TimelineView,
    theme: &Theme,
    window: Window,
) -> Drawn<PlotRect, DB> {
    let plot = PlotArea::of_overview(&picture);
    let pen = Pen { area, picture };
    let whole = Window { begin: view.begin, end: view.end };
    let column_at = |entry: u32| {
        let edges = (f64::from(plot.left), f64::from(plot.right));
        EntryScale::new(whole).px_from_entry(f64::from(entry), edges).round() as i32
    };

    let look = Look { window: whole, theme, emphasis: None, line_px: 0, has_bands: true };
    stack::draw(area, &plot, view, &look)?;
    let thin = picture.px(1.0);
    for mark in view.marks.iter().filter(|mark| mark.kind == "oom") {
        let left = column_at(mark.place).min(plot.right - thin).max(plot.left);
        pen.fill(
            left,
            plot.top,
            (left + thin).min(plot.right),
            plot.bottom,
            theme.failure.to_rgba(),
        )?;
    }

    // A window of no width at all would be lost; it keeps both its grips.
    let grip = picture.px(3.0);
    let left = column_at(window.begin).min(plot.right - 2 * grip).max(plot.left);
    let right = column_at(window.end).max(left + 2 * grip).min(plot.right);
    let veil = theme.surface.mix(0.72);
    pen.fill(plot.left, plot.top, left, plot.bottom, veil)?;
    pen.fill(right, plot.top, plot.right, plot.bottom, veil)?;
    let accent = theme.accent.to_rgba();
    pen.fill(left, plot.top, (left + grip).min(right), plot.bottom, accent)?;
    pen.fill((right - grip).max(left), plot.top, right, plot.bottom, accent)?;
    pen.fill(left, plot.top, right, (plot.top + thin).min(plot.bottom), accent)?;
    pen.fill(left, (plot.bottom - thin).max(plot.top), right, plot.bottom, accent)?;
    Ok(plot.rect(&picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded, sample};

    fn drawn(picture: Picture, view: &TimelineView, window: Window) -> Vec<Call> {
        let (calls, result) =
            recorded(picture, |area| draw(area, picture, view, &Theme::dark(), window).map(drop));
        result.unwrap();
        calls
    }

    fn veils(calls: &[Call]) -> Vec<[i32; 4]> {
        let veil = |call: &Call| match call {
            Call::Rect { at, colour } if colour.ends_with("@0.72") => Some(*at),
            _ => None,
        };
        calls.iter().filter_map(veil).collect()
    }

    #[test]
    fn what_lies_outside_the_window_is_veiled() {
        let picture = Picture::from_css(474.0, 40.0, 1.0);
        let calls = drawn(picture, &sample(400, 40), Window { begin: 100, end: 300 });
        assert_eq!(veils(&calls), [[60, 0, 160, 40], [360, 0, 460, 40]]);
        assert_eq!(
            veils(&drawn(picture, &sample(400, 40), Window::whole(400))),
            [] as [[i32; 4]; 0]
        );
    }

    #[test]
    fn a_narrow_window_stays_visible() {
        let picture = Picture::from_css(474.0, 40.0, 1.0);
        for window in [Window { begin: 0, end: 1 }, Window { begin: 399_999, end: 400_000 }] {
            let calls = drawn(picture, &sample(400_000, 400), window);
            let accent = calls
                .iter()
                .filter(|call| matches!(call, Call::Rect { colour, .. } if colour == "7db0ff"));
            assert_eq!(accent.count(), 4);
        }
    }

    #[test]
    fn everything_stays_inside_the_plot() {
        for width in [1.0, 75.0, 80.0, 390.0] {
            let picture = Picture::from_css(width, 40.0, 2.0);
            let plot = PlotArea::of_overview(&picture);
            for view in [TimelineView::default(), sample(1, 1), sample(4_000, 300)] {
                for (x, y) in
                    drawn(picture, &view, Window { begin: 0, end: 1 }).iter().flat_map(Call::points)
                {
                    assert!(
                        plot.left <= x && x <= plot.right && 0 <= y && y <= plot.bottom,
                        "{x}, {y}"
                    );
                }
            }
        }
    }
}
