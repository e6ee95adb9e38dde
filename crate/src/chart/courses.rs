//! Two runs over one axis: the first as an area, the second as a line over it.

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::{DrawingArea, DrawingBackend, PathElement, Polygon};
use plotters::style::Color;

use super::layout::PlotArea;
use super::scale::ByteScale;
use super::stack::even_px;
use super::theme::Theme;
use super::{Align, Drawn, Pen, Picture, axis};
use crate::units::Count;
use crate::view::compare::course::{Axis, CourseView};

/// Room for one label and its gap, in CSS pixels.
const LABEL_CSS_PX: f64 = 75.0;
/// Opacity of the area and of its edge.
const AREA: f64 = 0.2;
const EDGE: f64 = 0.6;

/// Draws both; where they agree, the line runs along the area's edge.
///
/// # Errors
/// What the backend reports.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: Picture,
    view: &CourseView,
    theme: &Theme,
) -> Drawn<(), DB> {
    let plot = PlotArea::of_courses(&picture);
    let pen = Pen { area, picture };
    let bytes = ByteScale::with_room_for(view.top_bytes);
    axis::bytes(&pen, &plot, theme, bytes)?;
    let x_of = |place: f64| {
        let share = (place - view.begin) / (view.end - view.begin);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        plot.left + (share * f64::from(plot.right - plot.left)).round() as i32
    };
    let (tick, thickness) = (picture.px(4.0), picture.px(1.0));
    let width_css_px = f64::from(plot.right - plot.left) / picture.ratio;
    let most = (width_css_px / LABEL_CSS_PX).clamp(2.0, 12.0) as usize;
    for (place, label) in ticks(view, most) {
        let x = x_of(place).min(plot.right - thickness);
        pen.fill(x, plot.bottom, x + thickness, plot.bottom + tick, theme.grid.to_rgba())?;
        // Fonts differ in the width of a percent sign.
        let half = pen.width_of(&label) / 2 + picture.px(4.0);
        let centre = x.min(picture.width_px - half).max(half);
        pen.write(&label, (centre, plot.bottom + picture.px(14.0)), Align::Centre, theme.text)?;
    }
    let [first, second] = view.lines.each_ref().map(|line| {
        let point = |(place, height): &(f64, f64)| {
            (x_of(*place), bytes.map(height, (plot.bottom, plot.top)))
        };
        let mut points: Vec<(i32, i32)> = line.points.iter().map(point).collect();
        points.dedup();
        points
    });
    if let ([(left, _), .., (right, _)], colour) = (first.as_slice(), theme.reserved) {
        let ground = [(*right, plot.bottom), (*left, plot.bottom)];
        let outline: Vec<(i32, i32)> = first.iter().copied().chain(ground).collect();
        area.draw(&Polygon::new(outline, colour.mix(AREA).filled()))?;
        let edge = colour.mix(EDGE).stroke_width(even_px(&picture, 1.5));
        area.draw(&PathElement::new(first, edge))?;
    }
    if second.len() > 1 {
        area.draw(&PathElement::new(second, theme.accent.stroke_width(even_px(&picture, 1.5))))?;
    }
    Ok(())
}

/// At most `most` places on the axis with their labels, ascending: of a step, its middle.
fn ticks(view: &CourseView, most: usize) -> Vec<(f64, String)> {
    if view.axis == Axis::Share {
        let quarter = |nth: u32| (f64::from(nth) / 4.0, format!("{} %", 25 * nth));
        let apart = if most < 5 { 2 } else { 1 };
        return (0..=4).step_by(apart).map(quarter).collect();
    }
    let steps = view.end.clamp(0.0, f64::from(u32::MAX)).floor() as usize;
    let apart = (0..10)
        .flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)))
        .find(|apart| steps / apart <= most);
    let Some(apart) = apart else { return Vec::new() };
    let step = |number: usize| (number as f64 - 0.5, format!("step {}", Count(number as u64)));
    (apart..=steps).step_by(apart).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::{Call, recorded};
    use crate::view::compare::course::CourseLine;

    fn view(axis: Axis, end: f64) -> CourseView {
        let line = |height: f64| CourseLine {
            name: String::new(),
            points: vec![(0.0, height), (end / 2.0, height), (end / 2.0, 9.0), (end, 9.0)],
        };
        CourseView {
            axis,
            end,
            top_bytes: 9.0,
            lines: [line(3.0), line(6.0)],
            ..CourseView::default()
        }
    }

    fn drawn(picture: Picture, view: &CourseView) -> Vec<Call> {
        let (calls, result) = recorded(picture, |area| draw(area, picture, view, &Theme::light()));
        result.unwrap();
        calls
    }

    fn paths(calls: &[Call]) -> Vec<&Vec<(i32, i32)>> {
        calls
            .iter()
            .filter_map(|call| match call {
                Call::Path { points, .. } => Some(points),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn both_lines_end_at_the_same_place() {
        let picture = Picture::from_css(474.0, 200.0, 1.0);
        let calls = drawn(picture, &view(Axis::Steps, 4.0));
        let paths = paths(&calls);
        assert_eq!(paths.len(), 2);
        assert_eq!(paths[0].last(), paths[1].last());
        // The larger lies higher.
        assert!(paths[0][0].1 > paths[1][0].1);
        assert_eq!((paths[0][0].0, paths[0][3].0), (60, 460));
    }

    #[test]
    fn steps_are_numbered_from_1() {
        let labels = |end: f64, most| -> Vec<String> {
            ticks(&view(Axis::Steps, end), most).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(3.0, 6), ["step 1", "step 2", "step 3"]);
        assert_eq!(labels(23.5, 6), ["step 5", "step 10", "step 15", "step 20"]);
        assert_eq!(labels(0.0, 6), [""; 0]);
        for most in 2..12 {
            assert!(labels(7_777.0, most).len() <= most);
        }
    }

    #[test]
    fn everything_stays_inside_the_picture() {
        for width in [1.0, 75.0, 390.0] {
            let picture = Picture::from_css(width, 120.0, 2.0);
            for view in [CourseView::default(), view(Axis::Share, 1.0), view(Axis::Steps, 9.0)] {
                for call in
                    drawn(picture, &view).iter().filter(|call| !matches!(call, Call::Text { .. }))
                {
                    for (x, y) in call.points() {
                        assert!((0..=picture.width_px).contains(&x), "{x}");
                        assert!((0..=picture.height_px).contains(&y), "{y}");
                    }
                }
            }
        }
    }
}
