//! From a file to a snapshot: the wrapping is taken off, the content fed to its reader.

use super::decode::Decoder;
use super::{Snapshot, Wrapping, assemble, json};
use crate::container::{self, Content};
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Machine, Value};
use crate::warning::WarningKind;
use std::io::Read;

pub use crate::container::Source;

/// Bytes asked for at a time.
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
    let mut buffer: Vec<u8> = Vec::new();
    let mut ended = fill(&mut reader, &mut buffer)?;
    let mut skip = if buffer.starts_with(LEGACY_SAVE) { LEGACY_PREAMBLE } else { 0 };
    let is_sole = skip == 0;
    let mut machine = Machine::new(decoder, 0);
    loop {
        let done = machine.feed(&buffer)?;
        buffer.drain(..done.min(buffer.len()));
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
                if is_sole && buffer.iter().any(|byte| *byte != 0) {
                    decoder.warnings.add(WarningKind::TrailingBytes, || format!("byte {offset}"));
                }
                return Ok((decoder, value, protocol));
            }
            None if ended => return Err(machine.cut()),
            None => ended = fill(&mut reader, &mut buffer)?,
        }
    }
}

/// Appends up to a chunk; answers whether the end was met.
fn fill(reader: &mut dyn Read, buffer: &mut Vec<u8>) -> Result<bool> {
    let before = buffer.len();
    let read =
        reader.take(CHUNK as u64).read_to_end(buffer).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::new(ErrorKind::Truncated, "the packed file ends in the middle")
            }
            _ => match error.downcast::<Error>() {
                Ok(ours) => ours,
                Err(error) => Error::new(
                    ErrorKind::Container,
                    format!("the file cannot be unpacked: {error}"),
                ),
            },
        })?;
    debug_assert_eq!(buffer.len(), before.saturating_add(read));
    Ok(read < CHUNK)
}
