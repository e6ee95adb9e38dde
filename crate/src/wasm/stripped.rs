//! A snapshot to be saved without folders.

use super::blob::BlobSource;
use super::convert::{refused, thrown};
use crate::container::undecodable;
use crate::limits;
use crate::stripped;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write as _};
use wasm_bindgen::prelude::*;

/// Bytes packed at a time.
const PIECE: usize = 1 << 18;

/// The snapshot in `blob` without folders in its paths, packed with gzip.
///
/// # Errors
/// An object `{kind, message, offset, path}`.
#[wasm_bindgen(js_name = withoutFoldersPacked)]
pub fn without_folders_packed(blob: web_sys::Blob) -> Result<js_sys::Uint8Array, JsValue> {
    let failed = |error| thrown(&undecodable(error));
    let source = BlobSource::new(blob).map_err(failed)?;
    let stripped = stripped::without_folders(Box::new(source));
    let mut stripped = stripped.map_err(|error| thrown(&error))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let mut piece = vec![0; PIECE];
    while pack_piece(&mut stripped, &mut piece, &mut packed).map_err(failed)? {
        if packed.get_ref().len() as u64 > limits::PAGE_TEXT_BYTES / 4 * 3 {
            return Err(refused(
                "Limit",
                "packed, the snapshot is larger than a browser can take out of a page.",
            ));
        }
    }
    Ok(js_sys::Uint8Array::from(packed.finish().map_err(failed)?.as_slice()))
}

/// Answers whether there was something to pack.
// Never inlined: see `crate::batches`.
#[inline(never)]
fn pack_piece(
    source: &mut impl Read,
    piece: &mut [u8],
    packed: &mut GzEncoder<Vec<u8>>,
) -> io::Result<bool> {
    let length = source.read(piece)?;
    let read = piece.get(..length).unwrap_or_default();
    packed.write_all(read)?;
    Ok(length > 0)
}
