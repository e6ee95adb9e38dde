//! Views as the session made them, taken apart again on the page's side.

use js_sys::{Float64Array, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use crate::view::blocks::picture::{Cells, MapPicture, Outlines};
use crate::view::timeline::TimelineView;
use crate::view::timeline::pixels::{Layout, Pixels};

/// A timeline, and the pixels of its allocations where they are shown.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub(super) view: TimelineView,
    pub(super) pixels: Option<(Layout, Pixels)>,
}

fn part(result: &JsValue, name: &str) -> JsValue {
    Reflect::get(result, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

fn bytes(result: &JsValue, name: &str) -> Result<Vec<f64>, JsError> {
    part(result, name)
        .dyn_into::<Float64Array>()
        .map(|numbers| numbers.to_vec())
        .map_err(|_| missing(name))
}

fn counts(result: &JsValue, name: &str) -> Result<Vec<u32>, JsError> {
    part(result, name)
        .dyn_into::<Uint32Array>()
        .map(|numbers| numbers.to_vec())
        .map_err(|_| missing(name))
}

fn missing(name: &str) -> JsError {
    JsError::new(&format!("A view without {name} cannot be drawn."))
}

pub(super) fn timeline(result: &JsValue) -> Result<Timeline, JsError> {
    let view: TimelineView = serde_wasm_bindgen::from_value(part(result, "view"))?;
    let layout: Option<Layout> = serde_wasm_bindgen::from_value(part(result, "layout"))?;
    let pixels = match layout {
        Some(layout) => {
            let look = part(result, "look").dyn_into::<Uint8Array>();
            let pixels = Pixels {
                rows: serde_wasm_bindgen::from_value(part(result, "rows"))?,
                top_bytes: serde_wasm_bindgen::from_value(part(result, "topBytes"))?,
                look: look.map_err(|_| missing("look"))?.to_vec(),
                allocation: counts(result, "allocation")?,
            };
            Some((layout, pixels))
        }
        None => None,
    };
    Ok(Timeline {
        view: TimelineView {
            column_entries: counts(result, "columnEntries")?,
            moments: counts(result, "moments")?,
            band_bytes: bytes(result, "bandBytes")?,
            active_bytes: bytes(result, "activeBytes")?,
            reserved_bytes: bytes(result, "reservedBytes")?,
            overlay_bytes: bytes(result, "overlayBytes")?,
            ..view
        },
        pixels,
    })
}

pub(super) fn map(result: &JsValue) -> Result<MapPicture, JsError> {
    let picture: MapPicture = serde_wasm_bindgen::from_value(part(result, "picture"))?;
    Ok(MapPicture {
        cells: Cells {
            row: counts(result, "cellRow")?,
            left: counts(result, "cellLeft")?,
            right: counts(result, "cellRight")?,
            look: counts(result, "cellLook")?,
            height: counts(result, "cellHeight")?,
        },
        outlines: Outlines {
            row: counts(result, "outlineRow")?,
            left: counts(result, "outlineLeft")?,
            right: counts(result, "outlineRight")?,
            ends: counts(result, "outlineEnds")?,
        },
        ..picture
    })
}
