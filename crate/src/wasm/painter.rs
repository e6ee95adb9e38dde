//! What the page holds: draws one view at a time into a canvas, and answers what the pointer is on.

use js_sys::{Float64Array, Reflect, Uint32Array};
use plotters::prelude::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::convert::plain;
use crate::chart::layout::{PlotArea, PlotRect};
use crate::chart::theme::Theme;
use crate::chart::window::Window;
use crate::chart::{Picture, blocks, hit, overview, table, timeline};
use crate::units::{Bytes, Count};
use crate::view::blocks::picture::{Cells, MapPicture, Outlines};
use crate::view::report::RECORD_CODE;
use crate::view::timeline::TimelineView;

/// Draws timelines and maps into canvases of the page.
///
/// A view is what the session's `timeline` or `blocks` returned. Views are kept as long as the same
/// object is drawn again, so that a frame of a drag costs no conversion.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Painter {
    /// The latest views, with the objects that they came from; the newest last.
    views: Vec<(JsValue, TimelineView)>,
    /// The latest map, with the object that it came from.
    map: Option<(JsValue, MapPicture)>,
}

/// A timeline and an overview are drawn by turns.
const VIEWS_KEPT: usize = 2;

/// How to draw, as the page says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    /// CSS pixels.
    width: f64,
    /// CSS pixels.
    height: f64,
    /// The screen's pixels to a CSS pixel.
    ratio: f64,
    dark: bool,
    selected: Option<u32>,
    emphasis: Option<String>,
    /// Lanes to keep free for annotations.
    #[serde(default)]
    lanes: u32,
    /// The window; the view's own range when it is left out.
    begin: Option<u32>,
    end: Option<u32>,
}

impl Options {
    fn window(&self, view: &TimelineView) -> Window {
        let begin = self.begin.unwrap_or(view.begin);
        Window { begin, end: self.end.unwrap_or(view.end).max(begin) }
    }
}

/// A plot area in CSS pixels, and the lanes that the view's annotations need.
#[derive(Clone, Copy, Debug, Serialize)]
struct OverviewPlace {
    #[serde(flatten)]
    rect: PlotRect,
    lanes: u32,
}

#[wasm_bindgen]
impl Painter {
    /// A painter that has drawn nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Painter {
        console_error_panic_hook::set_once();
        Painter::default()
    }

    /// Draws a timeline and returns its plot area, `{left, top, right, bottom}` in CSS pixels.
    ///
    /// `options` are `{width, height, ratio, dark, selected?, emphasis?, lanes?, begin?, end?}`:
    /// the canvas's size in CSS pixels, the screen's pixel ratio, the selected entry, the one
    /// category to keep its colour, the lanes to keep free for annotations, and the entries to show
    /// where they are not the view's own.
    ///
    /// # Errors
    /// A JavaScript `Error` when the view or the options are not of this form, or the canvas
    /// refuses.
    #[wasm_bindgen(js_name = drawTimeline)]
    pub fn draw_timeline(
        &mut self,
        canvas: HtmlCanvasElement,
        view: JsValue,
        options: JsValue,
    ) -> Result<JsValue, JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let view = self.view(&view)?;
        let (picture, backend) = cleared(canvas, &options)?;
        let how = timeline::Options {
            theme: Theme::of(options.dark),
            window: options.window(view),
            selected: options.selected,
            emphasis: options.emphasis.clone(),
            lanes: options.lanes,
        };
        let rect = timeline::draw(&backend.into_drawing_area(), picture, view, &how)?;
        to_js(&rect)
    }

    /// Draws an overview with the window `begin`, `end` of the options on it; returns its plot area
    /// with `lanes`, the lanes that the annotations of the whole trace need.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = drawOverview)]
    pub fn draw_overview(
        &mut self,
        canvas: HtmlCanvasElement,
        view: JsValue,
        options: JsValue,
    ) -> Result<JsValue, JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let view = self.view(&view)?;
        let (picture, backend) = cleared(canvas, &options)?;
        let area = backend.into_drawing_area();
        let rect =
            overview::draw(&area, picture, view, &Theme::of(options.dark), options.window(view))?;
        to_js(&OverviewPlace { rect, lanes: timeline::lanes(view) })
    }

    /// A timeline as at most so many rows `{begin, end, band_bytes, allocated_bytes,
    /// reserved_bytes}`, oldest first.
    ///
    /// # Errors
    /// A JavaScript `Error` when the view is not of the session's form.
    #[wasm_bindgen(js_name = tableRows)]
    pub fn table_rows(&mut self, view: JsValue, most: u32) -> Result<JsValue, JsError> {
        to_js(&table::rows(self.view(&view)?, most))
    }

    /// The height that a map takes in a width, both in CSS pixels.
    ///
    /// # Errors
    /// A JavaScript `Error` when the map is not of the session's form.
    #[wasm_bindgen(js_name = mapHeight)]
    pub fn map_height(&mut self, map: JsValue, width: f64) -> Result<f64, JsError> {
        Ok(blocks::height(self.map(&map)?, width))
    }

    /// Draws a map; `options` are `{width, height, ratio, dark, emphasis?}` as for a timeline.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = drawMap)]
    pub fn draw_map(
        &mut self,
        canvas: HtmlCanvasElement,
        map: JsValue,
        options: JsValue,
    ) -> Result<(), JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let view = self.map(&map)?;
        let (picture, backend) = cleared(canvas, &options)?;
        let (area, theme) = (backend.into_drawing_area(), Theme::of(options.dark));
        blocks::draw(&area, picture, view, &theme, options.emphasis.as_deref())?;
        Ok(())
    }

    /// The row of a map at `y` CSS pixels from the top of its canvas; undefined between rows.
    ///
    /// # Errors
    /// As [`map_height`](Painter::map_height).
    #[wasm_bindgen(js_name = mapRowAt)]
    pub fn map_row_at(&mut self, map: JsValue, width: f64, y: f64) -> Result<Option<u32>, JsError> {
        Ok(blocks::row_at(self.map(&map)?, width, y))
    }

    /// Where a row of a map lies, `{top, bottom}` in CSS pixels; null for none of its rows.
    ///
    /// # Errors
    /// As [`map_height`](Painter::map_height).
    #[wasm_bindgen(js_name = mapRowPlace)]
    pub fn map_row_place(
        &mut self,
        map: JsValue,
        width: f64,
        row: u32,
    ) -> Result<JsValue, JsError> {
        to_js(&blocks::row_place(self.map(&map)?, width, row))
    }

    fn map(&mut self, result: &JsValue) -> Result<&MapPicture, JsError> {
        let known = self.map.take().filter(|(from, _)| js_sys::Object::is(from, result));
        let map = match known {
            Some(map) => map,
            None => (result.clone(), map_from(result)?),
        };
        Ok(&self.map.insert(map).1)
    }

    fn view(&mut self, result: &JsValue) -> Result<&TimelineView, JsError> {
        let known = self.views.iter().position(|(from, _)| js_sys::Object::is(from, result));
        let entry = match known {
            Some(index) => self.views.remove(index),
            None => (result.clone(), view_from(result)?),
        };
        if self.views.len() == VIEWS_KEPT {
            self.views.remove(0);
        }
        self.views.push(entry);
        let newest = self.views.last().map(|(_, view)| view);
        newest.ok_or_else(|| JsError::new("The view that was just read is gone."))
    }
}

/// Columns of a timeline's plot area in a canvas of so many CSS pixels: how many to ask of the
/// session.
#[wasm_bindgen(js_name = timelineColumns)]
pub fn timeline_columns(width: f64, ratio: f64) -> u32 {
    PlotArea::of_timeline(&Picture::from_css(width, 1.0, ratio), 0).columns()
}

/// The entry under a pointer at `x` CSS pixels from the left edge of a canvas whose plot area is
/// `rect` and which shows the entries from `begin` up to `end`.
///
/// # Errors
/// A JavaScript `Error` when `rect` is not what a drawing function returned.
#[wasm_bindgen(js_name = entryAt)]
pub fn entry_at(rect: JsValue, begin: u32, end: u32, x: f64) -> Result<u32, JsError> {
    let rect: PlotRect = serde_wasm_bindgen::from_value(rect)?;
    Ok(hit::entry_at(&rect, Window { begin, end }, x))
}

/// Where the middle of an entry is, in CSS pixels from the left edge of the canvas; undefined when
/// it is not shown.
///
/// # Errors
/// As [`entry_at`].
#[wasm_bindgen(js_name = xOf)]
pub fn x_of(rect: JsValue, begin: u32, end: u32, entry: u32) -> Result<Option<f64>, JsError> {
    let rect: PlotRect = serde_wasm_bindgen::from_value(rect)?;
    Ok(hit::x_of(&rect, Window { begin, end }, entry))
}

/// The window `{begin, end}` after zooming in by `factor` (out, below 1) about an entry.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = zoomedWindow)]
pub fn zoomed_window(
    begin: u32,
    end: u32,
    entries: u32,
    about: u32,
    factor: f64,
) -> Result<JsValue, JsError> {
    to_js(&Window { begin, end }.zoomed(entries, about, factor))
}

/// The window `{begin, end}` moved by a share of its own length, towards the end when positive.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = pannedWindow)]
pub fn panned_window(begin: u32, end: u32, entries: u32, share: f64) -> Result<JsValue, JsError> {
    to_js(&Window { begin, end }.panned(entries, share))
}

/// The window `{begin, end}` that shows both of two entries and what is between them.
///
/// # Errors
/// Only when the object cannot be made.
#[wasm_bindgen(js_name = windowBetween)]
pub fn window_between(one: u32, other: u32, entries: u32) -> Result<JsValue, JsError> {
    to_js(&Window::between(entries, one, other))
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

/// How to record a snapshot that can tell, as Python.
#[wasm_bindgen(js_name = recordCode)]
#[must_use]
pub fn record_code() -> String {
    RECORD_CODE.to_owned()
}

fn view_from(result: &JsValue) -> Result<TimelineView, JsError> {
    let part =
        |name: &str| Reflect::get(result, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
    let column = |name: &str| match part(name).dyn_into::<Float64Array>() {
        Ok(numbers) => Ok(numbers.to_vec()),
        Err(_) => Err(JsError::new(&format!("A timeline without {name} cannot be drawn."))),
    };
    let view: TimelineView = serde_wasm_bindgen::from_value(part("view"))?;
    Ok(TimelineView {
        band_bytes: column("bandBytes")?,
        reserved_bytes: column("reservedBytes")?,
        overlay_bytes: column("overlayBytes")?,
        ..view
    })
}

fn map_from(result: &JsValue) -> Result<MapPicture, JsError> {
    let part =
        |name: &str| Reflect::get(result, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
    let column = |name: &str| match part(name).dyn_into::<Uint32Array>() {
        Ok(numbers) => Ok(numbers.to_vec()),
        Err(_) => Err(JsError::new(&format!("A map without {name} cannot be drawn."))),
    };
    let picture: MapPicture = serde_wasm_bindgen::from_value(part("picture"))?;
    Ok(MapPicture {
        cells: Cells {
            row: column("cellRow")?,
            left: column("cellLeft")?,
            right: column("cellRight")?,
            look: column("cellLook")?,
            height: column("cellHeight")?,
        },
        outlines: Outlines {
            row: column("outlineRow")?,
            left: column("outlineLeft")?,
            right: column("outlineRight")?,
            ends: column("outlineEnds")?,
        },
        ..picture
    })
}

/// Gives the canvas its size in the screen's pixels and empties it.
fn cleared(
    canvas: HtmlCanvasElement,
    options: &Options,
) -> Result<(Picture, CanvasBackend), JsError> {
    let picture = Picture::from_css(options.width, options.height, options.ratio);
    let (width, height) = (picture.width_px.unsigned_abs(), picture.height_px.unsigned_abs());
    if (canvas.width(), canvas.height()) == (width, height) {
        let context = canvas.get_context("2d").ok().flatten();
        if let Some(context) =
            context.and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok())
        {
            context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
        }
    } else {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    let backend = CanvasBackend::with_canvas_object(canvas);
    Ok((
        picture,
        backend.ok_or_else(|| JsError::new("This browser gives the page no canvas to draw on."))?,
    ))
}

fn to_js(value: &impl Serialize) -> Result<JsValue, JsError> {
    plain(value).map_err(|error| JsError::new(&format!("The page could not be told: {error:?}")))
}
