//! The axis of bytes, which all charts over time share.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::DrawingBackend;
use plotters::style::Color;

use super::layout::PlotArea;
use super::scale::{ByteScale, tick_label};
use super::theme::Theme;
use super::{Align, Drawn, Pen};

/// Lines across the plot area with their bytes on the left.
pub(super) fn bytes<DB: DrawingBackend>(
    pen: &Pen<'_, DB>,
    plot: &PlotArea,
    theme: &Theme,
    scale: ByteScale,
) -> Drawn<(), DB> {
    let height_css_px = f64::from(plot.bottom - plot.top) / pen.picture.ratio;
    let most = (height_css_px / 34.0).clamp(2.0, 9.0) as usize;
    let thickness = pen.picture.px(1.0);
    for bytes in scale.ticks(most) {
        let y = scale.map(&bytes, (plot.bottom, plot.top));
        let top = (y - thickness / 2).min(plot.bottom - thickness).max(plot.top);
        let bottom = (top + thickness).min(plot.bottom);
        pen.fill(plot.left, top, plot.right, bottom, theme.grid.to_rgba())?;
        let at = (plot.left - pen.picture.px(8.0), y);
        pen.write(&tick_label(bytes), at, Align::Right, theme.text)?;
    }
    Ok(())
}
