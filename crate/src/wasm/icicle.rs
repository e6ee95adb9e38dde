//! Draws icicles into canvases of the page, and answers what the pointer and the keyboard are on.

use js_sys::{Float64Array, Reflect, Uint32Array};
use plotters::prelude::IntoDrawingArea;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use super::painter::{Options, backend_of, cleared, to_js};
use crate::chart::icicle::{self, Step};
use crate::chart::theme::Theme;
use crate::view::stacks::icicle::{Cells, Icicle};

/// One icicle, as the session's `stacks` answered it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct IciclePainter(Icicle);

#[wasm_bindgen]
impl IciclePainter {
    /// Takes what the session's `stacks` answered.
    ///
    /// # Errors
    /// A JavaScript `Error` when it is not of that form.
    #[wasm_bindgen(constructor)]
    pub fn new(stacks: &JsValue) -> Result<IciclePainter, JsError> {
        let part = |name: &str| {
            Reflect::get(stacks, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
        };
        let column = |name: &str| match part(name).dyn_into::<Uint32Array>() {
            Ok(numbers) => Ok(numbers.to_vec()),
            Err(_) => Err(JsError::new(&format!("Stacks without {name} cannot be drawn."))),
        };
        let icicle: Icicle = serde_wasm_bindgen::from_value(part("icicle"))?;
        let Ok(bytes) = part("bytes").dyn_into::<Float64Array>() else {
            return Err(JsError::new("Stacks without bytes cannot be drawn."));
        };
        let cells = Cells {
            node: column("node")?,
            nodes: column("nodes")?,
            row: column("row")?,
            left: column("left")?,
            right: column("right")?,
            look: column("look")?,
            label: column("label")?,
            bytes: bytes.to_vec(),
        };
        Ok(IciclePainter(Icicle { cells, ..icicle }))
    }

    /// The height that it takes, in CSS pixels.
    pub fn height(&self) -> f64 {
        icicle::height(&self.0)
    }

    /// Draws it; `options` are `{width, height, ratio, dark}` as for a timeline.
    ///
    /// # Errors
    /// A JavaScript `Error` when the options are not of this form, or the canvas refuses.
    pub fn draw(&self, canvas: HtmlCanvasElement, options: JsValue) -> Result<(), JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let (picture, _) = cleared(&canvas, &options)?;
        let area = backend_of(canvas)?.into_drawing_area();
        icicle::draw(&area, picture, &self.0, &Theme::of(options.dark))?;
        Ok(())
    }

    /// The cell at a point, in CSS pixels of a canvas so wide; undefined beside all cells.
    #[wasm_bindgen(js_name = cellAt)]
    pub fn cell_at(&self, width: f64, x: f64, y: f64) -> Option<u32> {
        icicle::cell_at(&self.0, width, x, y)
    }

    /// Where a cell lies, `{left, top, width, height}` in CSS pixels; null for none of its cells.
    ///
    /// # Errors
    /// Only when the object cannot be made.
    pub fn place(&self, width: f64, cell: u32) -> Result<JsValue, JsError> {
        to_js(&icicle::place(&self.0, width, cell))
    }

    /// The cell next to a cell: `up` to its caller, `down`, `left` or `right`; itself at an edge.
    pub fn next(&self, cell: u32, step: &str) -> u32 {
        let step = match step {
            "up" => Step::Up,
            "down" => Step::Down,
            "left" => Step::Left,
            _ => Step::Right,
        };
        icicle::next(&self.0, cell, step)
    }
}
