//! What the page asks of the module without a file: places, windows, colours and texts.

use wasm_bindgen::prelude::*;

use super::painter::to_js;
use crate::chart::layout::{PlotArea, PlotRect};
use crate::chart::theme::Theme;
use crate::chart::window::Window;
use crate::chart::{Picture, hit};
use crate::units::{Bytes, Count};
use crate::view::folders;
use crate::view::report::RECORD_CODE;

/// Columns of a timeline's plot area in a canvas of so many CSS pixels: how many to ask of the
/// session.
#[wasm_bindgen(js_name = timelineColumns)]
pub fn timeline_columns(width: f64, ratio: f64) -> u32 {
    PlotArea::of_timeline(&Picture::from_css(width, 1.0, ratio), 0).columns()
}

/// The place under a pointer at `x` CSS pixels from the left edge of a canvas whose plot area is
/// `rect` and which shows the places from `begin` up to `end`.
///
/// # Errors
/// A JavaScript `Error` when `rect` is not what a drawing function returned.
#[wasm_bindgen(js_name = placeAt)]
pub fn place_at(rect: JsValue, begin: u32, end: u32, x: f64) -> Result<u32, JsError> {
    let rect: PlotRect = serde_wasm_bindgen::from_value(rect)?;
    Ok(hit::entry_at(&rect, Window { begin, end }, x))
}

/// Where the middle of a place is, in CSS pixels from the left edge of the canvas; undefined when
/// it is not shown.
///
/// # Errors
/// As [`place_at`].
#[wasm_bindgen(js_name = xOf)]
pub fn x_of(rect: JsValue, begin: u32, end: u32, place: u32) -> Result<Option<f64>, JsError> {
    let rect: PlotRect = serde_wasm_bindgen::from_value(rect)?;
    Ok(hit::x_of(&rect, Window { begin, end }, place))
}

/// The window `{begin, end}` after zooming in by `factor` (out, below 1) about a place of an axis of so many.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = zoomedWindow)]
pub fn zoomed_window(
    begin: u32,
    end: u32,
    length: u32,
    about: u32,
    factor: f64,
) -> Result<JsValue, JsError> {
    to_js(&Window { begin, end }.zoomed(length, about, factor))
}

/// The window `{begin, end}` moved by a share of its own length, towards the end when positive.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = pannedWindow)]
pub fn panned_window(begin: u32, end: u32, length: u32, share: f64) -> Result<JsValue, JsError> {
    to_js(&Window { begin, end }.panned(length, share))
}

/// The window `{begin, end}` that shows both of two places and what is between them.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = windowBetween)]
pub fn window_between(one: u32, other: u32, length: u32) -> Result<JsValue, JsError> {
    to_js(&Window::between(length, one, other))
}

/// The colours of categories, and of the rest that page and charts share: `[{key, colour}]`.
///
/// # Errors
/// Only when the array cannot be made.
#[wasm_bindgen]
pub fn palette(dark: bool) -> Result<JsValue, JsError> {
    to_js(&Theme::of(dark).swatches())
}

/// Bytes as PyTorch's own messages print them: `1.50 GiB`.
#[wasm_bindgen(js_name = bytesText)]
pub fn bytes_text(bytes: f64) -> String {
    Bytes(bytes.round() as u64).to_string()
}

/// A count with separators: `127,602`.
#[wasm_bindgen(js_name = countText)]
pub fn count_text(count: f64) -> String {
    Count(count.round() as u64).to_string()
}

/// A frame's file without its folders.
#[wasm_bindgen(js_name = withoutFolders)]
#[must_use]
pub fn without_folders(file: &str) -> String {
    folders::without_folders(file).to_owned()
}

/// How to record a snapshot that can tell, as Python.
#[wasm_bindgen(js_name = recordCode)]
#[must_use]
pub fn record_code() -> String {
    RECORD_CODE.to_owned()
}
