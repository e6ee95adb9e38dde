//! What the worker holds: one opened snapshot and everything large.

use super::blob::BlobSource;
use super::convert::{object, plain, refused, thrown};
use super::explore::Explored;
use crate::container::{self, Container};
use crate::error::{Error, ErrorKind};
use crate::findings::Findings;
use crate::message;
use crate::snapshot::{self, Reading, Snapshot};
use crate::text::ReportText;
use crate::text::markdown::ReportMarkdown;
use crate::view::allocation::AllocationView;
use crate::view::blocks::BlockMap;
use crate::view::blocks::picture::{MapPicture, MapStory};
use crate::view::blocks::placement::Placement;
use crate::view::blocks::pools;
use crate::view::blocks::reading::MapReading;
use crate::view::cards::{CARDS, CONTEXT_MIB};
use crate::view::completion::complete;
use crate::view::entry::EntryView;
use crate::view::question::Question;
use crate::view::range::{RangeView, stop};
use crate::view::report::Report;
use crate::view::setting_table::SettingTable;
use crate::view::summary;
use crate::view::timeline::TimelineView;
use crate::view::timeline::axis::Along;
use crate::view::timeline::groups::{By, Groups};
use crate::view::timeline::pixels::{Layout, Pixels};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

/// A file that was begun.
struct Coming {
    name: String,
    bytes: u64,
    content: Content,
}

/// Who brings its bytes.
enum Content {
    Fed(Box<Reading>),
    Fetched(BlobSource),
}

fn unreadable(error: std::io::Error) -> JsValue {
    thrown(&Error::new(ErrorKind::Io, format!("the file cannot be read: {error}")))
}

/// One opened snapshot; empty until [`Session::finish`].
#[wasm_bindgen]
#[derive(Default)]
pub struct Session {
    coming: Option<Coming>,
    pub(super) opened: Option<(Snapshot, Findings, Report)>,
    /// The groups of each device's timeline that were asked for.
    groups: Vec<(u32, By, Groups)>,
    /// The latest table of settings, as far as it is filled.
    table: Option<SettingTable>,
    /// A device, and what a replay reserved after each of its entries.
    overlay: Option<(u32, Vec<u64>)>,
    /// The latest map, for the pointer to read.
    map: Option<(BlockMap, Placement)>,
    pub(super) explored: Explored,
}

#[wasm_bindgen]
impl Session {
    /// An empty session.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Session {
        console_error_panic_hook::set_once();
        Session::default()
    }

    /// Begins with a file; the one opened before is let go. Answers whether its bytes are to be
    /// handed over one piece after another with [`Session::feed`]: otherwise
    /// [`Session::finish`] fetches them itself.
    ///
    /// # Errors
    /// An object `{kind, message, offset, path}`, of the kind `Summary` for what `oomscope report
    /// --json` wrote, which has no timeline to show.
    pub fn begin(&mut self, blob: web_sys::Blob, name: String) -> Result<bool, JsValue> {
        *self = Session::default();
        let bytes = blob.size() as u64;
        let mut source = BlobSource::new(blob).map_err(unreadable)?;
        if summary::is_summary(&mut source).map_err(unreadable)? {
            return Err(refused("Summary", "the file is a summary of a snapshot."));
        }
        let is_plain = container::is_plain(&mut source).map_err(|error| thrown(&error))?;
        let content = if is_plain {
            let reading = Reading::new(Container::Pickle, Some(bytes));
            Content::Fed(Box::new(reading.map_err(|error| thrown(&error))?))
        } else {
            Content::Fetched(source)
        };
        self.coming = Some(Coming { name, bytes, content });
        Ok(is_plain)
    }

    /// Reads the next piece of the file. Answers whether another is wanted.
    ///
    /// # Errors
    /// An object `{kind, message, offset, path}`.
    pub fn feed(&mut self, piece: &js_sys::Uint8Array) -> Result<bool, JsValue> {
        let Some(Coming { content: Content::Fed(reading), .. }) = &mut self.coming else {
            return Ok(false);
        };
        piece.copy_to(reading.room(piece.length() as usize));
        reading.advance().map_err(|error| thrown(&error))
    }

    /// Reads the file to its end, analyses it, and answers the report; `null` before a file was
    /// begun. `onProgress` is called with the bytes fetched and the bytes in all.
    ///
    /// # Errors
    /// An object `{kind, message, offset, path}`.
    pub fn finish(&mut self, on_progress: js_sys::Function) -> Result<JsValue, JsValue> {
        let Some(Coming { name, bytes, content }) = self.coming.take() else {
            return Ok(JsValue::NULL);
        };
        let snapshot = match content {
            Content::Fed(reading) => reading.finish(),
            Content::Fetched(source) => snapshot::read(source.telling(on_progress)),
        };
        let snapshot = snapshot.map_err(|error| thrown(&error))?;
        let findings = Findings::of(&snapshot);
        let report = Report::of(&snapshot, &findings, &name, bytes);
        let value = plain(&report)?;
        self.opened = Some((snapshot, findings, report));
        Ok(value)
    }

    /// A stretch of a device's timeline: `{view}` and its columns, and where a layout is asked for
    /// `{layout, rows, topBytes}` with the pixels; `null` before a file is open.
    ///
    /// `wanted` is `{device, begin, end, widthPx, along, by, layout?, heightPx?}`: places of the
    /// axis (`entries` or `time`), at most so many columns, the groups of the colours (`category` or
    /// `line`), and for allocations one by one their layout (`heap` or `addresses`) and rows.
    ///
    /// # Errors
    /// When `wanted` is not of this form.
    pub fn timeline(&mut self, wanted: JsValue) -> Result<JsValue, JsValue> {
        let wanted: Stretch = serde_wasm_bindgen::from_value(wanted)?;
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(wanted.device) else { return Ok(JsValue::NULL) };
        let is_known =
            |(device, by, _): &(u32, By, Groups)| (*device, *by) == (wanted.device, wanted.by);
        if !self.groups.iter().any(is_known) {
            let groups = Groups::of(snapshot, findings, found, wanted.by);
            self.groups.push((wanted.device, wanted.by, groups));
        }
        let Some((.., groups)) = self.groups.iter().find(|known| is_known(known)) else {
            return Ok(JsValue::NULL);
        };
        let shown = (wanted.begin, wanted.end);
        let mut view =
            TimelineView::of(snapshot, found, groups, wanted.along, shown, wanted.width_px);
        if let Some((_, reserved)) = self.overlay.as_ref().filter(|(of, _)| *of == wanted.device) {
            view.overlay(reserved);
        }
        let pixels = wanted
            .layout
            .map(|layout| Pixels::of(snapshot, found, &view, layout, wanted.height_px))
            .unwrap_or_default();
        let bytes = |numbers: &[f64]| js_sys::Float64Array::from(numbers).into();
        let counts = |numbers: &[u32]| js_sys::Uint32Array::from(numbers).into();
        Ok(object(&[
            ("view", plain(&view)?),
            ("columnEntries", counts(&view.column_entries)),
            ("moments", counts(&view.moments)),
            ("bandBytes", bytes(&view.band_bytes)),
            ("activeBytes", bytes(&view.active_bytes)),
            ("reservedBytes", bytes(&view.reserved_bytes)),
            ("overlayBytes", bytes(&view.overlay_bytes)),
            ("layout", plain(&wanted.layout)?),
            ("rows", pixels.rows.into()),
            ("topBytes", pixels.top_bytes.into()),
            ("look", js_sys::Uint8Array::from(pixels.look.as_slice()).into()),
            ("allocation", counts(&pixels.allocation)),
        ]))
    }

    /// One allocation by its id; `null` where there is none.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn allocation(&self, device: u32, id: u32) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let found = findings.device(device);
        let view = found.and_then(|found| AllocationView::of(snapshot, findings, found, id));
        view.map_or(Ok(JsValue::NULL), |view| plain(&view))
    }

    /// The begin of a step, or the failure, before or after an entry; undefined where there is none.
    #[must_use]
    pub fn stop(&self, device: u32, entry: u32, forward: bool) -> Option<u32> {
        let (_, findings, _) = self.opened.as_ref()?;
        stop(findings.device(device)?, entry, forward)
    }

    /// What became of a range of entries, `{begin, end}` and its sums; `null` before a file is open.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn range(&self, device: u32, begin: u32, end: u32) -> Result<JsValue, JsValue> {
        let Some((_, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let found = findings.device(device);
        found.map_or(Ok(JsValue::NULL), |found| plain(&RangeView::of(found, begin, end)))
    }

    /// One entry with the state after it; `null` where there is none.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn entry(&self, device: u32, entry: u32) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let view = findings
            .device(device)
            .and_then(|found| EntryView::of(snapshot, findings, found, entry));
        view.map_or(Ok(JsValue::NULL), |view| plain(&view))
    }

    /// The segments and blocks of a device after `entry`, in rows of `widthPx` pixels: `{story,
    /// picture}` and a column of each of its cells and outlines; `null` before a file is open. The
    /// state of the file's end stands for a device without a trace.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn blocks(&mut self, device: u32, entry: u32, width_px: u32) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        let map = BlockMap::of(snapshot, found, entry);
        let pools = pools::pools(&map);
        let placement = Placement::of(&map, &pools, width_px);
        let picture = MapPicture::of(&map, &pools, &placement);
        let story = MapStory::of(snapshot, findings, found, &map, &placement);
        let column = |numbers: &[u32]| js_sys::Uint32Array::from(numbers).into();
        let value = object(&[
            ("story", plain(&story)?),
            ("picture", plain(&picture)?),
            ("cellRow", column(&picture.cells.row)),
            ("cellLeft", column(&picture.cells.left)),
            ("cellRight", column(&picture.cells.right)),
            ("cellLook", column(&picture.cells.look)),
            ("cellHeight", column(&picture.cells.height)),
            ("outlineRow", column(&picture.outlines.row)),
            ("outlineLeft", column(&picture.outlines.left)),
            ("outlineRight", column(&picture.outlines.right)),
            ("outlineEnds", column(&picture.outlines.ends)),
        ]);
        self.map = Some((map, placement));
        Ok(value)
    }

    /// What lies at a pixel of a row of the map that was asked for last; `null` beside all segments.
    ///
    /// # Errors
    /// None that a caller could mend.
    #[wasm_bindgen(js_name = blockAt)]
    pub fn block_at(&self, row: u32, x_px: u32) -> Result<JsValue, JsValue> {
        let (Some((snapshot, findings, _)), Some((map, placement))) = (&self.opened, &self.map)
        else {
            return Ok(JsValue::NULL);
        };
        let reading = MapReading::at(snapshot, findings, map, placement, row, x_px);
        reading.map_or(Ok(JsValue::NULL), |reading| plain(&reading))
    }

    /// The table of settings for `question`, `{capacity, empty_cache, change}` as
    /// [`Question`] reads it, one step further than when it was asked for last; `null` where nothing
    /// can be replayed. It is complete when `doing` is empty.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn settings(&mut self, device: u32, question: JsValue) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        let question: Question = serde_wasm_bindgen::from_value(question)?;
        if !self.table.as_ref().is_some_and(|table| table.answers(device, &question)) {
            self.table = SettingTable::new(snapshot, findings, found, question);
        }
        let Some(table) = &mut self.table else { return Ok(JsValue::NULL) };
        table.advance(snapshot, found);
        plain(&table.view())
    }

    /// Lays what row `place` of that table reserves over the timeline of `device`; none where
    /// undefined.
    pub fn overlay(&mut self, device: u32, place: Option<u32>) {
        self.overlay = None;
        let (Some((snapshot, findings, _)), Some(table)) = (&self.opened, &self.table) else {
            return;
        };
        if let (Some(found), Some(place)) = (findings.device(device), place) {
            self.overlay = Some((device, table.reserved(snapshot, found, place as usize)));
        }
    }

    /// What an error's text adds to the failure of a device: `{agrees, entry, sentences, limit_bytes}`;
    /// `null` before a file is open.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn complete(&self, device: u32, text: &str) -> Result<JsValue, JsValue> {
        let Some((_, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let found = findings.device(device);
        found.map_or(Ok(JsValue::NULL), |found| plain(&complete(found, &message::read(text))))
    }

    /// The report as plain text, files with their folders or without; empty before a file is open.
    #[must_use]
    pub fn text(&self, has_folders: bool) -> String {
        self.printed(has_folders, |report| ReportText(report).to_string())
    }

    /// The verdict as Markdown, files with their folders or without; empty before a file is open.
    #[must_use]
    pub fn markdown(&self, has_folders: bool) -> String {
        self.printed(has_folders, |report| ReportMarkdown(report).to_string())
    }

    fn printed(&self, has_folders: bool, print: fn(&Report) -> String) -> String {
        match &self.opened {
            None => String::new(),
            Some((.., report)) if has_folders => print(report),
            Some((.., report)) => {
                let mut report = report.clone();
                report.leave_out_folders();
                print(&report)
            }
        }
    }
}

/// The stretch of a timeline that the page wants.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stretch {
    device: u32,
    begin: u32,
    end: u32,
    width_px: u32,
    along: Along,
    by: By,
    layout: Option<Layout>,
    height_px: u32,
}

/// The cards to ask about: `[{name, total_mib}]`, and what a process takes before the first tensor.
///
/// # Errors
/// None that a caller could mend.
#[wasm_bindgen]
pub fn cards() -> Result<JsValue, JsValue> {
    Ok(object(&[
        ("cards", plain(&CARDS)?),
        ("contextMib", JsValue::from_f64(f64::from(CONTEXT_MIB))),
    ]))
}

/// The version of this build.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    crate::VERSION.to_owned()
}
