//! What stands over a timeline's bands: failures and peaks with their labels, annotations, segments
//! that were returned, the place selected.

use super::Chart;
use crate::chart::layout::{LANE_CSS_PX, MARKS_CSS_PX, MOST_LANES};
use crate::chart::{Align, Drawn, elided, width_of};
use crate::view::timeline::Mark;
use plotters::prelude::{DrawingBackend, Polygon};
use plotters::style::Color;

impl<DB: DrawingBackend> Chart<'_, DB> {
    /// A small wedge below the plot where segments went back to the driver.
    pub(super) fn returned(&self) -> Drawn<(), DB> {
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
    pub(super) fn spans(&self) -> Drawn<(), DB> {
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
    pub(super) fn marks(&self) -> Drawn<(), DB> {
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
    pub(super) fn selected(&self) -> Drawn<(), DB> {
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
    use super::super::tests::{drawn, options, texts};
    use super::*;
    use crate::chart::Picture;
    use crate::chart::recorder::sample;
    use crate::chart::window::Window;

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
}
