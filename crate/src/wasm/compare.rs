//! Comparisons: in a worker each file is cut down to its run, then the runs are compared; the page
//! draws their courses.

use super::blob::BlobSource;
use super::convert::{plain, refused};
use super::painter::{Options, backend_of, cleared};
use crate::chart::courses;
use crate::chart::theme::Theme;
use crate::compare::run::Run;
use crate::compare::{Comparison, Unreadable, carried, names};
use crate::text::CompareText;
use crate::text::markdown::CompareMarkdown;
use crate::units::Signed;
use crate::view::compare::CompareView;
use crate::view::compare::alone::AloneView;
use crate::view::compare::course::CourseView;
use crate::view::folders::comparison_without_folders;
use crate::view::summary;
use js_sys::Uint8Array;
use plotters::prelude::IntoDrawingArea;
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, HtmlCanvasElement};

/// A file of a comparison.
#[derive(Serialize)]
struct Planned {
    /// Its place among those given.
    place: usize,
    /// What to call it.
    name: String,
}

/// What the page shows.
#[derive(Serialize)]
struct Answer {
    /// Absent for fewer than two runs.
    comparison: Option<CompareView>,
    /// A single run.
    alone: Option<AloneView>,
    unreadable: Vec<Unreadable>,
    text: String,
    markdown: String,
    /// The same without folders.
    text_without_folders: String,
    markdown_without_folders: String,
}

/// The files to compare of those given, in their order, as `[{place, name}]`: those of a folder
/// (`areFound`) by their numbers, and only such as may be snapshots.
///
/// # Errors
/// The paths are no texts.
#[wasm_bindgen(js_name = planComparison)]
pub fn plan(paths: Vec<String>, are_found: bool) -> Result<JsValue, JsValue> {
    let mut places: Vec<usize> = (0..paths.len()).collect();
    if are_found {
        places.retain(|place| names::is_known(&paths[*place]));
        places.sort_by_key(|place| names::in_order(&paths[*place]));
    }
    let shown: Vec<String> = places.iter().map(|place| paths[*place].clone()).collect();
    let names = names::names(&shown);
    let planned = places.into_iter().zip(names).map(|(place, name)| Planned { place, name });
    plain(&planned.collect::<Vec<Planned>>())
}

/// Reads a snapshot or a summary and answers its run as bytes for [`compare`]; undefined for a note
/// that merely lies in the same folder (`isFound`). `capacities` are the cards asked about, in bytes.
///
/// # Errors
/// An object `{kind, message}`.
#[wasm_bindgen(js_name = runOf)]
pub fn run_of(
    blob: &Blob,
    name: &str,
    is_found: bool,
    capacities: Vec<f64>,
    on_progress: &js_sys::Function,
) -> Result<JsValue, JsValue> {
    let source = || {
        BlobSource::new(blob.clone())
            .map(|source| source.telling(on_progress.clone()))
            .map_err(|error| refused("Io", &format!("the file cannot be read: {error}")))
    };
    let capacities: Vec<u64> = capacities.into_iter().map(|bytes| bytes as u64).collect();
    let run = match summary::run_of(source()?, name, &capacities) {
        Ok(run) => run,
        Err(_) if is_found && summary::is_other_json(source()?) => return Ok(JsValue::UNDEFINED),
        Err(message) => return Err(refused("Unreadable", &message)),
    };
    let bytes = carried::to_bytes(&run).map_err(|error| refused("Internal", &error.to_string()))?;
    Ok(Uint8Array::from(bytes.as_slice()).into())
}

/// Compares runs that [`run_of`] answered: `{comparison, alone, unreadable, text, markdown,
/// text_without_folders, markdown_without_folders}`. `unreadable` are the other files, `[{name, message}]`.
///
/// # Errors
/// An object `{kind, message}`, where the bytes are none of a run.
#[wasm_bindgen(js_name = compareRuns)]
pub fn compare(runs: Vec<Uint8Array>, unreadable: JsValue) -> Result<JsValue, JsValue> {
    let wrong = |error: String| refused("Internal", &error);
    let unreadable: Vec<Unreadable> =
        serde_wasm_bindgen::from_value(unreadable).map_err(|error| wrong(error.to_string()))?;
    let mut read: Vec<Run> = Vec::with_capacity(runs.len());
    for bytes in runs {
        read.push(carried::from_bytes(&bytes.to_vec()).map_err(|error| wrong(error.to_string()))?);
    }
    let comparison = Comparison::of(&read, unreadable.clone());
    let without_folders = comparison_without_folders(&read, &unreadable);
    let text = |found: &Comparison| CompareText(found).to_string();
    let markdown = |found: &Comparison| CompareMarkdown(found).to_string();
    plain(&Answer {
        text: comparison.as_ref().map(text).unwrap_or_default(),
        markdown: comparison.as_ref().map(markdown).unwrap_or_default(),
        text_without_folders: without_folders.as_ref().map(text).unwrap_or_default(),
        markdown_without_folders: without_folders.as_ref().map(markdown).unwrap_or_default(),
        comparison: comparison.as_ref().map(|found| CompareView::of(found, &read)),
        alone: match read.as_slice() {
            [run] => Some(AloneView::of(run)),
            _ => None,
        },
        unreadable,
    })
}

/// A difference with its sign: `+1.50 GiB`, `−20.00 MiB`.
#[wasm_bindgen(js_name = signedText)]
#[must_use]
pub fn signed_text(bytes: f64) -> String {
    Signed(bytes.round() as i64).to_string()
}

/// Draws the course of a comparison; `options` are `{width, height, ratio, dark}` as for a timeline.
///
/// # Errors
/// A JavaScript `Error` when the course or the options are not of their form, or the canvas refuses.
#[wasm_bindgen(js_name = drawCourses)]
pub fn draw_courses(
    canvas: HtmlCanvasElement,
    course: JsValue,
    options: JsValue,
) -> Result<(), JsError> {
    let options: Options = serde_wasm_bindgen::from_value(options)?;
    let view: CourseView = serde_wasm_bindgen::from_value(course)?;
    let (picture, _) = cleared(&canvas, &options)?;
    let area = backend_of(canvas)?.into_drawing_area();
    courses::draw(&area, picture, &view, &Theme::of(options.dark))?;
    Ok(())
}
