//! What the worker holds: one opened snapshot and everything large.

use wasm_bindgen::prelude::*;

/// One opened snapshot.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Session {}

#[wasm_bindgen]
impl Session {
    /// An empty session.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Session {
        Session {}
    }
}

/// The version of this build.
#[wasm_bindgen]
pub fn version() -> String {
    crate::VERSION.to_owned()
}
