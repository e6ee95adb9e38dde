//! Where the parts of a chart lie in its picture.

use serde::{Deserialize, Serialize};

use super::Picture;

/// The plot area in CSS pixels of the canvas: what the page needs to map a pointer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct PlotRect {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
}

/// The plot area in pixels of the picture; right and bottom are exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotArea {
    /// Left edge.
    pub left: i32,
    /// Top edge.
    pub top: i32,
    /// Right edge.
    pub right: i32,
    /// Bottom edge.
    pub bottom: i32,
}

/// Room for `1.125 GiB` and a gap.
const LEFT_CSS_PX: f64 = 60.0;
/// Half a label of the last tick reaches over the edge.
const RIGHT_CSS_PX: f64 = 14.0;
const BOTTOM_CSS_PX: f64 = 24.0;
const COURSES_TOP_CSS_PX: f64 = 8.0;
/// The row of the marks' labels.
pub(super) const MARKS_CSS_PX: f64 = 22.0;
/// Air above the highest bar of the steps.
const STEPS_CSS_PX: f64 = 8.0;
/// One lane of annotations, with the gap below it.
pub(super) const LANE_CSS_PX: f64 = 17.0;
/// More nesting levels than this are not drawn.
pub(super) const MOST_LANES: u32 = 3;

impl PlotArea {
    /// The plot area of a timeline with so many lanes of annotations above it.
    pub fn of_timeline(picture: &Picture, lanes: u32) -> PlotArea {
        let lanes = f64::from(lanes.min(MOST_LANES));
        PlotArea::inside(picture, MARKS_CSS_PX + lanes * LANE_CSS_PX, BOTTOM_CSS_PX)
    }

    /// The plot area of courses: no marks above it, but half of the top label.
    pub fn of_courses(picture: &Picture) -> PlotArea {
        PlotArea::inside(picture, COURSES_TOP_CSS_PX, BOTTOM_CSS_PX)
    }

    /// The plot area of an overview: the columns of the timeline that it belongs to, full height.
    pub fn of_overview(picture: &Picture) -> PlotArea {
        PlotArea::inside(picture, 0.0, 0.0)
    }

    /// The plot area of the steps.
    pub fn of_steps(picture: &Picture) -> PlotArea {
        PlotArea::inside(picture, STEPS_CSS_PX, BOTTOM_CSS_PX)
    }

    /// Columns of pixels, and so the most that a view needs to have.
    pub fn columns(&self) -> u32 {
        (self.right - self.left).unsigned_abs()
    }

    /// The same in CSS pixels.
    pub fn rect(&self, picture: &Picture) -> PlotRect {
        let css = |px: i32| f64::from(px) / picture.ratio;
        PlotRect {
            left: css(self.left),
            top: css(self.top),
            right: css(self.right),
            bottom: css(self.bottom),
        }
    }

    /// In a picture too small for its margins, what is left is at least one pixel inside it.
    fn inside(picture: &Picture, top_css_px: f64, bottom_css_px: f64) -> PlotArea {
        let left = picture.px(LEFT_CSS_PX).min(picture.width_px - 1);
        let right = (picture.width_px - picture.px(RIGHT_CSS_PX)).clamp(left + 1, picture.width_px);
        let top = picture.px(top_css_px).min(picture.height_px - 1);
        let bottom =
            (picture.height_px - picture.px(bottom_css_px)).clamp(top + 1, picture.height_px);
        PlotArea { left, top, right, bottom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plot_area_lies_inside_any_picture() {
        for width in [1.0, 30.0, 61.0, 74.0, 75.0, 1_400.0] {
            for ratio in [1.0, 1.25, 3.0] {
                let picture = Picture::from_css(width, width / 2.0, ratio);
                for lanes in [0, 3, 99] {
                    let area = PlotArea::of_timeline(&picture, lanes);
                    assert!(
                        0 <= area.left && area.left < area.right && area.right <= picture.width_px
                    );
                    assert!(
                        0 <= area.top && area.top < area.bottom && area.bottom <= picture.height_px
                    );
                }
            }
        }
    }

    #[test]
    fn the_rectangle_is_in_css_pixels() {
        let picture = Picture::from_css(400.0, 200.0, 2.0);
        let rect = PlotArea::of_timeline(&picture, 0).rect(&picture);
        assert_eq!(rect, PlotRect { left: 60.0, top: 22.0, right: 386.0, bottom: 176.0 });
    }
}
