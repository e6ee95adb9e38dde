//! Rust values as JavaScript ones.

use crate::error::Error;
use serde::Serialize;
use wasm_bindgen::JsValue;

/// A plain object. Counts and sizes become numbers, exact up to 2^53.
pub(super) fn plain(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    value.serialize(&serializer).map_err(JsValue::from)
}

/// An error as the object `{kind, message, offset, path}`.
pub(super) fn thrown(error: &Error) -> JsValue {
    #[derive(Serialize)]
    struct Thrown<'e> {
        kind: &'static str,
        message: String,
        offset: Option<u64>,
        path: Option<&'e str>,
    }
    let thrown = Thrown {
        kind: error.kind().name(),
        message: error.to_string(),
        offset: error.offset(),
        path: error.path(),
    };
    plain(&thrown).unwrap_or_else(|_| JsValue::from_str(&error.to_string()))
}

/// A refusal that has no place in a file, as the object `{kind, message}`.
pub(super) fn refused(kind: &str, message: &str) -> JsValue {
    object(&[("kind", kind.into()), ("message", message.into())])
}

/// An object with the given entries.
pub(super) fn object(entries: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (key, value) in entries {
        // Setting a key of a fresh plain object cannot fail.
        let _ = js_sys::Reflect::set(&object, &(*key).into(), value);
    }
    object.into()
}
