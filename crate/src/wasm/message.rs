//! Error texts, read on the page: they are short.

use super::convert::plain;
use crate::message;
use crate::text::MessageText;
use crate::view::message::MessageReport;
use wasm_bindgen::prelude::*;

/// What an error text says, as `oomscope message --json` prints it, with the same as plain text in
/// `text`.
///
/// # Errors
/// None that a caller could mend.
#[wasm_bindgen(js_name = readMessage)]
pub fn read_message(text: &str) -> Result<JsValue, JsValue> {
    let report = MessageReport::of(&message::read(text));
    let value = plain(&report)?;
    let text = MessageText(&report).to_string();
    js_sys::Reflect::set(&value, &"text".into(), &text.into())?;
    Ok(value)
}
