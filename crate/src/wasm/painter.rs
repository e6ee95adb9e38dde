//! What the page holds: draws one view at a time into a canvas, and answers what the pointer is on.

use plotters::prelude::{IntoDrawingArea, SVGBackend};
use plotters_canvas::CanvasBackend;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use super::convert::plain;
use super::views::{self, Timeline};
use crate::chart::layout::{PlotArea, PlotRect};
use crate::chart::pixels::Lens;
use crate::chart::theme::Theme;
use crate::chart::window::Window;
use crate::chart::{Picture, blocks, overview, table, timeline};
use crate::view::blocks::picture::MapPicture;
use crate::view::blocks::walk::Step;
use crate::view::timeline::TimelineView;
use crate::view::timeline::pixels::{Layout, Pixels};

/// Draws timelines and maps into canvases of the page.
///
/// A view is what the session's `timeline` or `blocks` returned. Views are kept as long as the same
/// object is drawn again, so that a frame of a drag costs no conversion.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Painter {
    /// The latest views, with the objects that they came from; the newest last.
    views: Vec<(JsValue, Timeline)>,
    /// Where the latest timeline's plot area lies, what it shows, and pixels to a CSS pixel.
    shown: Option<(PlotArea, Window, f64)>,
    /// The latest map, with the object that it came from.
    map: Option<(JsValue, MapPicture)>,
}

/// A timeline and an overview are drawn by turns.
const VIEWS_KEPT: usize = 2;

/// How to draw, as the page says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    /// CSS pixels.
    width: f64,
    /// CSS pixels.
    height: f64,
    /// The screen's pixels to a CSS pixel.
    ratio: f64,
    pub(super) dark: bool,
    selected: Option<u32>,
    range: Option<(u32, u32)>,
    marked: Option<u32>,
    emphasis: Option<String>,
    /// Lanes to keep free for annotations.
    #[serde(default)]
    lanes: u32,
    /// Whether to leave the folders out of the annotations' names.
    #[serde(default)]
    without_folders: bool,
    /// The window; the view's own range when it is left out.
    begin: Option<u32>,
    end: Option<u32>,
}

impl Options {
    fn window(&self, view: &TimelineView) -> Window {
        let begin = self.begin.unwrap_or(view.begin);
        Window { begin, end: self.end.unwrap_or(view.end).max(begin) }
    }

    fn shown<'v>(&self, view: &'v TimelineView) -> Cow<'v, TimelineView> {
        if self.without_folders { Cow::Owned(view.without_folders()) } else { Cow::Borrowed(view) }
    }
}

impl Options {
    fn timeline(
        &self,
        view: &TimelineView,
        pixels: Option<&(Layout, Pixels)>,
    ) -> timeline::Options {
        timeline::Options {
            theme: Theme::of(self.dark),
            window: self.window(view),
            selected: self.selected.and_then(|entry| view.place_of(entry)),
            range: self.range.and_then(|(begin, end)| view.range_of(begin, end)),
            pixels: pixels.map(|(layout, pixels)| (*layout, pixels.top_bytes)),
            emphasis: self.emphasis.clone(),
            lanes: self.lanes,
        }
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
    /// `options` are `{width, height, ratio, dark, selected?, range?, marked?, emphasis?, lanes?,
    /// withoutFolders?, begin?, end?}`: the canvas's size in CSS pixels, the screen's pixel ratio,
    /// the selected entry, the selected range of entries `[begin, end]`, the allocation to stand
    /// out, the one band to keep its colour, the lanes to keep free for annotations, whether these
    /// name paths without folders, and the places to show where they are not the view's own.
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
        let Timeline { view, pixels } = self.view(&view)?;
        let view = &*options.shown(view);
        let (picture, context) = cleared(&canvas, &options)?;
        let theme = Theme::of(options.dark);
        let window = options.window(view);
        let plot = PlotArea::of_timeline(&picture, options.lanes);
        if let Some((_, pixels)) = pixels {
            let lens = Lens::new(plot, view, pixels, window);
            let image = lens.image(&theme, options.emphasis.as_deref(), options.marked);
            put(&context, plot, &image, lens.size())?;
        }
        let how = options.timeline(view, pixels.as_ref());
        let backend = backend_of(canvas)?;
        let rect = timeline::draw(&backend.into_drawing_area(), picture, view, &how)?;
        self.shown = Some((plot, window, picture.ratio));
        to_js(&rect)
    }

    /// The same picture as SVG, without the pixels of allocations.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = timelineSvg)]
    pub fn timeline_svg(&mut self, view: JsValue, options: JsValue) -> Result<String, JsError> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let Timeline { view, .. } = self.view(&view)?;
        let view = &*options.shown(view);
        let picture = Picture::from_css(options.width, options.height, 1.0);
        let size = (picture.width_px.unsigned_abs(), picture.height_px.unsigned_abs());
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let how = options.timeline(view, None);
            area.fill(&how.theme.surface)?;
            timeline::draw(&area, picture, view, &how)?;
            area.present()?;
        }
        Ok(svg)
    }

    /// The allocation under a pointer, by its id, where the latest timeline drawn shows pixels of
    /// allocations; `x` and `y` are CSS pixels from the canvas's left and top.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = allocationAt)]
    pub fn allocation_at(&mut self, view: JsValue, x: f64, y: f64) -> Result<Option<u32>, JsError> {
        let Some((plot, window, ratio)) = self.shown else { return Ok(None) };
        let Timeline { view, pixels: Some((_, pixels)) } = self.view(&view)? else {
            return Ok(None);
        };
        let inside = |css_px: f64, edge: i32| {
            let px = (css_px * ratio).floor() - f64::from(edge);
            (px >= 0.0).then_some(px as u32)
        };
        let lens = Lens::new(plot, view, pixels, window);
        let pixel = inside(x, plot.left).zip(inside(y, plot.top));
        Ok(pixel.filter(|(_, y)| *y < lens.size().1).and_then(|(x, y)| lens.allocation(x, y)))
    }

    /// The entry that stands at a place of a view's axis.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = entryOf)]
    pub fn entry_of(&mut self, view: JsValue, place: u32) -> Result<u32, JsError> {
        Ok(self.view(&view)?.view.entry_at(place))
    }

    /// The place of an entry on a view's axis; undefined for one outside of a view of times.
    ///
    /// # Errors
    /// As [`draw_timeline`](Painter::draw_timeline).
    #[wasm_bindgen(js_name = placeOf)]
    pub fn place_of(&mut self, view: JsValue, entry: u32) -> Result<Option<u32>, JsError> {
        Ok(self.view(&view)?.view.place_of(entry))
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
        let Timeline { view, .. } = self.view(&view)?;
        let (picture, _) = cleared(&canvas, &options)?;
        let area = backend_of(canvas)?.into_drawing_area();
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
        to_js(&table::rows(&self.view(&view)?.view, most))
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
        let (picture, _) = cleared(&canvas, &options)?;
        let (area, theme) = (backend_of(canvas)?.into_drawing_area(), Theme::of(options.dark));
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

    /// A pixel `{row, xPx}` of the block next to the one drawn as `pieces`: `before` or `after` it,
    /// or at the begin of the segment before or after (`segment-before`, `segment-after`);
    /// undefined at the map's ends.
    ///
    /// # Errors
    /// As [`map_height`](Painter::map_height).
    #[wasm_bindgen(js_name = mapNext)]
    pub fn map_next(
        &mut self,
        map: JsValue,
        pieces: JsValue,
        step: &str,
    ) -> Result<JsValue, JsError> {
        let step = match step {
            "before" => Step::Before,
            "after" => Step::After,
            "segment-before" => Step::SegmentBefore,
            _ => Step::SegmentAfter,
        };
        let pieces: Vec<(u32, u32, u32)> = serde_wasm_bindgen::from_value(pieces)?;
        to_js(&self.map(&map)?.next(&pieces, step))
    }

    fn map(&mut self, result: &JsValue) -> Result<&MapPicture, JsError> {
        let known = self.map.take().filter(|(from, _)| js_sys::Object::is(from, result));
        let map = match known {
            Some(map) => map,
            None => (result.clone(), views::map(result)?),
        };
        Ok(&self.map.insert(map).1)
    }

    fn view(&mut self, result: &JsValue) -> Result<&Timeline, JsError> {
        let known = self.views.iter().position(|(from, _)| js_sys::Object::is(from, result));
        let entry = match known {
            Some(index) => self.views.remove(index),
            None => (result.clone(), views::timeline(result)?),
        };
        if self.views.len() == VIEWS_KEPT {
            self.views.remove(0);
        }
        self.views.push(entry);
        let newest = self.views.last().map(|(_, timeline)| timeline);
        newest.ok_or_else(|| JsError::new("The view that was just read is gone."))
    }
}

/// Gives the canvas its size in the screen's pixels and empties it.
pub(super) fn cleared(
    canvas: &HtmlCanvasElement,
    options: &Options,
) -> Result<(Picture, CanvasRenderingContext2d), JsError> {
    let picture = Picture::from_css(options.width, options.height, options.ratio);
    let (width, height) = (picture.width_px.unsigned_abs(), picture.height_px.unsigned_abs());
    let context = canvas.get_context("2d").ok().flatten();
    let context = context
        .and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok())
        .ok_or_else(no_canvas)?;
    if (canvas.width(), canvas.height()) == (width, height) {
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
    } else {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    Ok((picture, context))
}

pub(super) fn backend_of(canvas: HtmlCanvasElement) -> Result<CanvasBackend, JsError> {
    CanvasBackend::with_canvas_object(canvas).ok_or_else(no_canvas)
}

fn no_canvas() -> JsError {
    JsError::new("This browser gives the page no canvas to draw on.")
}

/// Lays an image of so many pixels over a plot area.
fn put(
    context: &CanvasRenderingContext2d,
    plot: PlotArea,
    image: &[u8],
    (width, height): (u32, u32),
) -> Result<(), JsError> {
    let refused = |error: JsValue| JsError::new(&format!("The picture was refused: {error:?}"));
    let data = ImageData::new_with_u8_clamped_array_and_sh(Clamped(image), width, height);
    let data = data.map_err(refused)?;
    context.put_image_data(&data, f64::from(plot.left), f64::from(plot.top)).map_err(refused)
}

pub(super) fn to_js(value: &impl Serialize) -> Result<JsValue, JsError> {
    plain(value).map_err(|error| JsError::new(&format!("The page could not be told: {error:?}")))
}
