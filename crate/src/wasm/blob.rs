//! A browser's blob as a source of bytes.

use std::io::{self, Read, Seek, SeekFrom};
use web_sys::{Blob, FileReaderSync};

/// Bytes fetched at a time. Each fetch crosses to the browser's own process and waits for it: 380 MB
/// take twice as long in pieces of 1 MiB as in pieces of 16 MiB.
const CHUNK: u64 = 16 << 20;

/// Reads a blob piece by piece, synchronously, as only a worker may.
pub(super) struct BlobSource {
    blob: Blob,
    reader: FileReaderSync,
    length: u64,
    at: u64,
    chunk: Vec<u8>,
    chunk_at: u64,
    on_progress: Option<js_sys::Function>,
}

impl BlobSource {
    /// The bytes of a blob.
    pub(super) fn new(blob: Blob) -> io::Result<Self> {
        let reader = FileReaderSync::new()
            .map_err(|_| io::Error::other("files can be read in a worker only"))?;
        let length = blob.size() as u64;
        Ok(BlobSource {
            blob,
            reader,
            length,
            at: 0,
            chunk: Vec::new(),
            chunk_at: 0,
            on_progress: None,
        })
    }

    /// The same, calling `on_progress(bytes read, bytes in all)` at each fetch.
    pub(super) fn telling(self, on_progress: js_sys::Function) -> Self {
        BlobSource { on_progress: Some(on_progress), ..self }
    }

    fn fetch(&mut self) -> io::Result<()> {
        let end = self.at.saturating_add(CHUNK).min(self.length);
        let unreadable = |error: wasm_bindgen::JsValue| {
            let message = js_sys::Reflect::get(&error, &"message".into())
                .ok()
                .and_then(|message| message.as_string());
            io::Error::other(message.unwrap_or_else(|| "the browser could not read it".to_owned()))
        };
        let piece =
            self.blob.slice_with_f64_and_f64(self.at as f64, end as f64).map_err(unreadable)?;
        let buffer = self.reader.read_as_array_buffer(&piece).map_err(unreadable)?;
        let bytes = js_sys::Uint8Array::new(&buffer);
        self.chunk.resize(bytes.length() as usize, 0);
        bytes.copy_to(&mut self.chunk);
        self.chunk_at = self.at;
        if let Some(on_progress) = &self.on_progress {
            // A page that no longer listens is no reason to stop.
            let _ = on_progress.call2(
                &wasm_bindgen::JsValue::NULL,
                &(end as f64).into(),
                &(self.length as f64).into(),
            );
        }
        Ok(())
    }
}

impl Read for BlobSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        let is_held = (self.chunk_at..self.chunk_at + self.chunk.len() as u64).contains(&self.at);
        if !is_held {
            self.fetch()?;
        }
        let from = usize::try_from(self.at - self.chunk_at).unwrap_or(usize::MAX);
        let held = self.chunk.get(from..).unwrap_or_default();
        let length = held.len().min(buffer.len());
        buffer[..length].copy_from_slice(&held[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for BlobSource {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let target = match position {
            SeekFrom::Start(start) => Some(start),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
