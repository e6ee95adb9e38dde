//! From a file to a snapshot: the wrapping is taken off, the content fed to its reader.

use super::decode::Decoder;
use super::{Snapshot, Wrapping, assemble, json};
use crate::container::{self, Content};
use crate::error::Result;
use crate::pickle::{Machine, Value};
use crate::warning::WarningKind;
use std::io::Read;

pub use crate::container::Source;

/// Bytes in hand at a time.
const CHUNK: usize = 1 << 20;

/// What `torch.save` wrote before PyTorch 1.6: a magic number, a version and the writer's byte
/// order come first, each a pickle of its own.
const LEGACY_SAVE: &[u8] =
    &[0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const LEGACY_PREAMBLE: usize = 3;

/// Reads a snapshot, whatever it is wrapped in. Memory grows with what is kept of the file, not
/// with the file.
///
/// # Errors
/// Every kind; each is one sentence that says what, where, and what to do.
pub fn read(source: impl Source + 'static) -> Result<Snapshot> {
    let opened = container::open(Box::new(source))?;
    let mut decoder = Decoder::new()?;
    match opened.content {
        Content::Json(reader) => {
            let value = json::read(reader, &mut decoder)?;
            assemble::assemble(
                decoder,
                value,
                Wrapping { container: opened.container, protocol: None },
            )
        }
        Content::Pickle(reader) => {
            let (decoder, value, protocol) = unpickle(reader, decoder)?;
            assemble::assemble(
                decoder,
                value,
                Wrapping { container: opened.container, protocol: Some(protocol) },
            )
        }
    }
}

fn unpickle(mut reader: Box<dyn Read>, decoder: Decoder) -> Result<(Decoder, Value, u8)> {
    let mut window = Window::new();
    let mut ended = window.fill(&mut reader)?;
    let mut skip = if window.bytes().starts_with(LEGACY_SAVE) { LEGACY_PREAMBLE } else { 0 };
    let is_sole = skip == 0;
    let mut machine = Machine::new(decoder, 0);
    loop {
        let done = machine.feed(window.bytes())?;
        window.pass(done);
        match machine.result() {
            Some(_) if skip > 0 => {
                skip = skip.saturating_sub(1);
                let offset = machine.offset();
                machine = Machine::new(machine.lower, offset);
            }
            Some(value) => {
                let offset = machine.offset();
                let protocol = machine.protocol().unwrap_or(0);
                let mut decoder = machine.lower;
                // The page that PyTorch writes pads its pickle with zero bytes.
                if is_sole && window.bytes().iter().any(|byte| *byte != 0) {
                    decoder.warnings.add(WarningKind::TrailingBytes, || format!("byte {offset}"));
                }
                return Ok((decoder, value, protocol));
            }
            None if ended => return Err(machine.cut()),
            None => ended = window.fill(&mut reader)?,
        }
    }
}

/// The bytes that were read and are not done with, at the head of a buffer that is used again.
struct Window {
    buffer: Vec<u8>,
    filled: usize,
}

impl Window {
    fn new() -> Self {
        Window { buffer: vec![0; CHUNK], filled: 0 }
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Drops the first `count` bytes.
    fn pass(&mut self, count: usize) {
        let count = count.min(self.filled);
        self.buffer.copy_within(count..self.filled, 0);
        self.filled = self.filled.saturating_sub(count);
    }

    /// Reads until the buffer is full, which grows if it was; answers whether the end was met.
    fn fill(&mut self, reader: &mut dyn Read) -> Result<bool> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled.saturating_mul(2), 0);
        }
        while let Some(room @ [_, ..]) = self.buffer.get_mut(self.filled..) {
            match reader.read(room) {
                Ok(0) => return Ok(true),
                Ok(read) => self.filled = self.filled.saturating_add(read),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(container::undecodable(error)),
            }
        }
        Ok(false)
    }
}
