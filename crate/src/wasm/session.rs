//! What the worker holds: one opened snapshot and everything large.

use super::blob::BlobSource;
use super::convert::{object, plain, thrown};
use crate::error::{Error, ErrorKind};
use crate::findings::Findings;
use crate::snapshot::{self, Snapshot};
use crate::text::ReportText;
use crate::text::markdown::ReportMarkdown;
use crate::view::entry::EntryView;
use crate::view::report::Report;
use crate::view::timeline::TimelineView;
use wasm_bindgen::prelude::*;

/// One opened snapshot; empty until [`Session::open`].
#[wasm_bindgen]
#[derive(Default)]
pub struct Session {
    opened: Option<(Snapshot, Findings, Report)>,
}

#[wasm_bindgen]
impl Session {
    /// An empty session.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Session {
        console_error_panic_hook::set_once();
        Session::default()
    }

    /// Reads and analyses a file, and answers the report. `onProgress` is called with the bytes
    /// read and the bytes in all. The file opened before is let go first.
    ///
    /// # Errors
    /// An object `{kind, message, offset, path}`.
    pub fn open(
        &mut self,
        blob: web_sys::Blob,
        name: &str,
        on_progress: js_sys::Function,
    ) -> Result<JsValue, JsValue> {
        self.opened = None;
        let bytes = blob.size() as u64;
        let source = BlobSource::new(blob, on_progress).map_err(|error| {
            thrown(&Error::new(ErrorKind::Io, format!("the file cannot be read: {error}")))
        })?;
        let snapshot = snapshot::read(source).map_err(|error| thrown(&error))?;
        let findings = Findings::of(&snapshot);
        let report = Report::of(&snapshot, &findings, name, bytes);
        let value = plain(&report)?;
        self.opened = Some((snapshot, findings, report));
        Ok(value)
    }

    /// The entries from `begin` to `end` (exclusive) of a device in at most `widthPx` columns:
    /// `{view, bandBytes, reservedBytes}`; `null` before a file is open.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn timeline(
        &self,
        device: u32,
        begin: u32,
        end: u32,
        width_px: u32,
    ) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        let view = TimelineView::of(snapshot, found, begin, end, width_px);
        Ok(object(&[
            ("view", plain(&view)?),
            ("bandBytes", js_sys::Float64Array::from(view.band_bytes.as_slice()).into()),
            ("reservedBytes", js_sys::Float64Array::from(view.reserved_bytes.as_slice()).into()),
        ]))
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

    /// The report as plain text; empty before a file is open.
    #[must_use]
    pub fn text(&self) -> String {
        self.opened.as_ref().map(|(.., report)| ReportText(report).to_string()).unwrap_or_default()
    }

    /// The verdict as Markdown; empty before a file is open.
    #[must_use]
    pub fn markdown(&self) -> String {
        self.opened
            .as_ref()
            .map(|(.., report)| ReportMarkdown(report).to_string())
            .unwrap_or_default()
    }
}

/// The version of this build.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    crate::VERSION.to_owned()
}
