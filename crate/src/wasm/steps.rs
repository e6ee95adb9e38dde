//! Draws the steps into a canvas of the page, and answers what the pointer is on.

use plotters::prelude::IntoDrawingArea;
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use super::painter::{Options, backend_of, cleared, to_js};
use crate::chart::layout::PlotRect;
use crate::chart::theme::Theme;
use crate::chart::{Picture, steps};
use crate::view::steps::StepsPicture;

/// The steps of one device, as the session's `steps` answered them.
#[wasm_bindgen]
#[derive(Debug)]
pub struct StepsPainter {
    view: StepsPicture,
    /// Where the plot area lies in what was drawn last.
    plot: Option<PlotRect>,
}

/// Where a step's column lies, in CSS pixels of the canvas.
#[derive(Serialize)]
struct ColumnPlace {
    left: f64,
    width: f64,
    top: f64,
    height: f64,
}

#[wasm_bindgen]
impl StepsPainter {
    /// Takes the `picture` that the session's `steps` answered.
    ///
    /// # Errors
    /// A JavaScript `Error` when it is not of that form.
    #[wasm_bindgen(constructor)]
    pub fn new(picture: JsValue) -> Result<StepsPainter, JsError> {
        Ok(StepsPainter { view: serde_wasm_bindgen::from_value(picture)?, plot: None })
    }

    /// Draws them; `options` are `{width, height, ratio, dark}` as for a timeline.
    ///
    /// # Errors
    /// A JavaScript `Error` when the options are not of this form, or the canvas refuses.
    pub fn draw(&mut self, canvas: HtmlCanvasElement, options: JsValue) -> Result<(), JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let (picture, _) = cleared(&canvas, &options)?;
        let area = backend_of(canvas)?.into_drawing_area();
        self.plot = Some(steps::draw(&area, picture, &self.view, &Theme::of(options.dark))?);
        Ok(())
    }

    /// The step at `x` CSS pixels from the left edge, as its place among the steps; undefined
    /// beside all of them.
    #[wasm_bindgen(js_name = stepAt)]
    pub fn step_at(&self, x: f64) -> Option<u32> {
        steps::step_at(&self.view, self.plot.as_ref()?, x)
    }

    /// Where a step lies, `{left, top, width, height}` in CSS pixels; null for none of its steps.
    ///
    /// # Errors
    /// Only when the object cannot be made.
    pub fn place(&self, step: u32) -> Result<JsValue, JsError> {
        let place = self.plot.as_ref().and_then(|plot| {
            let (left, right) = steps::column_of(&self.view, plot, step)?;
            let (top, height) = (plot.top, plot.bottom - plot.top);
            Some(ColumnPlace { left, width: right - left, top, height })
        });
        to_js(&place)
    }
}

/// How many columns to ask of the session for a canvas of so many CSS pixels.
#[wasm_bindgen(js_name = stepColumns)]
pub fn step_columns(width: f64, ratio: f64) -> u32 {
    steps::columns(&Picture::from_css(width, 1.0, ratio))
}
