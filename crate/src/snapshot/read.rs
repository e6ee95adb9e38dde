//! From a file to a snapshot: the wrapping is taken off, the content fed to its reader.

use super::decode::Decoder;
use super::{Snapshot, Wrapping, assemble, json};
use crate::container::{self, Container, Content};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::pickle::Machine;
use crate::warning::WarningKind;
use std::io::Read;

pub use crate::container::Source;

/// Bytes in hand at a time.
const CHUNK: usize = 1 << 20;

/// Entries that one piece of a file may hold, of 40 bytes at least in some megabytes.
const PIECE_ENTRIES: usize = 1 << 17;

/// Bytes after which a forecast is good to some percent; until then room grows as it is filled.
const SURE_BYTES: u64 = 16 << 20;

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
    match opened.content {
        Content::Json(reader) => {
            let mut decoder = Decoder::new()?;
            let value = json::read(reader, &mut decoder)?;
            let wrapping = Wrapping { container: opened.container, protocol: None };
            assemble::assemble(decoder, value, wrapping)
        }
        Content::Pickle(mut reader) => {
            let mut reading = Reading::new(opened.container, None)?;
            loop {
                let has_ended = reading.window.fill(&mut reader)?;
                if !reading.advance()? || has_ended {
                    return reading.finish();
                }
            }
        }
    }
}

/// Reads a pickle that arrives piece by piece, for whom cannot wait for the next piece.
pub struct Reading {
    container: Container,
    bytes: Option<u64>,
    machine: Machine<Decoder>,
    window: Window,
    /// Pickles to pass before the one that counts; `None` before the first piece.
    preamble: Option<usize>,
    is_sole: bool,
}

impl Reading {
    /// Nothing has arrived yet. The pieces come out of `container` and are of so many `bytes` in
    /// all, where that is known.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn new(container: Container, bytes: Option<u64>) -> Result<Reading> {
        Ok(Reading {
            container,
            bytes,
            machine: Machine::new(Decoder::new()?, 0),
            window: Window::default(),
            preamble: None,
            is_sole: true,
        })
    }

    /// Room for the next piece, of `length` bytes. Once it is written there, it wants
    /// [`advance`](Reading::advance).
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        self.window.room(length)
    }

    /// Reads what arrived. Answers whether more is wanted: what follows the pickle is not.
    ///
    /// # Errors
    /// Every kind; each is one sentence that says what, where, and what to do.
    pub fn advance(&mut self) -> Result<bool> {
        let head = self.window.bytes();
        let mut preamble = match self.preamble {
            Some(preamble) => preamble,
            None if head.len() < LEGACY_SAVE.len() => return Ok(true),
            None if head.starts_with(LEGACY_SAVE) => LEGACY_PREAMBLE,
            None => 0,
        };
        self.is_sole &= preamble == 0;
        loop {
            let done = self.machine.feed(self.window.bytes())?;
            self.window.pass(done);
            match preamble.checked_sub(1) {
                Some(left) if self.machine.result().is_some() => {
                    preamble = left;
                    self.machine.begin_next();
                }
                _ => break,
            }
        }
        self.preamble = Some(preamble);
        self.foresee()?;
        Ok(self.machine.result().is_none())
    }

    /// Refuses a file as soon as it is plain that it will hold too many entries: after some
    /// megabytes rather than after minutes. Else makes room for those that it will hold.
    fn foresee(&mut self) -> Result<()> {
        let (Some(bytes), read) = (self.bytes, self.machine.offset()) else { return Ok(()) };
        let entries = &mut self.machine.lower.entries;
        let held = entries.len() as u64;
        // All entries take about as much; segments that come first make it fewer, never more.
        let expected = u128::from(held).saturating_mul(bytes.max(read).into());
        let expected = expected.checked_div(read.into()).unwrap_or(0);
        let expected = u64::try_from(expected).unwrap_or(u64::MAX);
        // Far too many are refused at once, others when their number can be told.
        let is_sure = read >= SURE_BYTES;
        let most = u64::from(limits::ENTRIES);
        if expected > most && (is_sure || expected / 2 > most) {
            return Err(too_many_entries(expected));
        }
        if is_sure && entries.room() < PIECE_ENTRIES {
            let likely = usize::try_from(expected).unwrap_or(0);
            entries.reserve(likely.saturating_add(likely / 32).saturating_add(PIECE_ENTRIES));
        }
        Ok(())
    }

    /// The snapshot, once everything arrived.
    ///
    /// # Errors
    /// Every kind; each is one sentence that says what, where, and what to do.
    pub fn finish(mut self) -> Result<Snapshot> {
        if self.preamble.is_none() {
            self.preamble = Some(0);
            self.advance()?;
        }
        let Some(value) = self.machine.result() else { return Err(self.machine.cut()) };
        let offset = self.machine.offset();
        let protocol = Some(self.machine.protocol().unwrap_or(0));
        let mut decoder = self.machine.lower;
        // The page that PyTorch writes pads its pickle with zero bytes.
        if self.is_sole && self.window.bytes().iter().any(|byte| *byte != 0) {
            decoder.warnings.add(WarningKind::TrailingBytes, || format!("byte {offset}"));
        }
        assemble::assemble(decoder, value, Wrapping { container: self.container, protocol })
    }
}

/// The error of a trace that memory cannot hold.
#[cold]
pub(super) fn too_many_entries(entries: u64) -> Error {
    let millions = |entries: u64| entries.saturating_add(500_000) / 1_000_000;
    let (expected, most) = (millions(entries), millions(u64::from(limits::ENTRIES)));
    let error = Error::new(
        ErrorKind::Limit,
        format!(
            "the file holds about {expected} million entries, more than the {most} million there is memory for"
        ),
    );
    if cfg!(target_arch = "wasm32") {
        error.advise("read it in the terminal, `oomscope report FILE`, which has no tab's 4 GiB, or record a shorter stretch: torch.cuda.memory._record_memory_history(max_entries=1_000_000)")
    } else {
        error
    }
}

/// The bytes that arrived and are not done with, at the head of a buffer that is used again.
#[derive(Default)]
struct Window {
    buffer: Vec<u8>,
    filled: usize,
}

impl Window {
    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Drops the first `count` bytes.
    fn pass(&mut self, count: usize) {
        let count = count.min(self.filled);
        self.buffer.copy_within(count..self.filled, 0);
        self.filled = self.filled.saturating_sub(count);
    }

    /// The next `length` bytes, which count as arrived.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let begin = self.filled;
        self.filled = begin.saturating_add(length);
        if self.buffer.len() < self.filled {
            self.buffer.resize(self.filled, 0);
        }
        self.buffer.get_mut(begin..self.filled).unwrap_or_default()
    }

    /// Reads until the buffer is full, which grows if it was; answers whether the end was met.
    fn fill(&mut self, reader: &mut dyn Read) -> Result<bool> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled.saturating_mul(2).max(CHUNK), 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot of `entries` frees, as a pickle.
    fn written(entries: usize) -> Vec<u8> {
        let mut file = b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](](".to_vec();
        for _ in 0..entries {
            file.extend_from_slice(b"}(\x8c\x06action\x8c\x0efree_completed\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x06streamK\x00u");
        }
        file.extend_from_slice(b"eeu.");
        file
    }

    fn fed(file: &[u8], piece: usize, bytes: Option<u64>) -> Result<Snapshot> {
        let mut reading = Reading::new(Container::Pickle, bytes)?;
        for piece in file.chunks(piece) {
            reading.room(piece.len()).copy_from_slice(piece);
            if !reading.advance()? {
                break;
            }
        }
        reading.finish()
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        let file = written(50);
        for piece in [1, 13, 14, 500, file.len()] {
            let snapshot = fed(&file, piece, Some(file.len() as u64)).unwrap();
            assert_eq!((snapshot.entries.len(), snapshot.wrapping.protocol), (50, Some(4)));
        }
        let cut = fed(&file[..file.len() - 1], 7, None).unwrap_err();
        assert_eq!((cut.kind(), cut.offset()), (ErrorKind::Truncated, Some(file.len() as u64 - 1)));
        assert_eq!(fed(b"N.", 1, None).unwrap_err().kind(), ErrorKind::NotASnapshot);
    }

    #[test]
    fn a_file_with_too_many_entries_is_refused_once_that_is_plain() {
        // As if so many bytes followed that there are `parts` hundredths of the most.
        let refused = |entries: usize, parts: u64| {
            let file = written(entries);
            let bytes = file.len() as u64 * u64::from(limits::ENTRIES) / entries as u64;
            fed(&file, file.len() / 2, Some(bytes * parts / 100)).err()
        };
        let error = refused(1000, 220).unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("entries"), "{error}");
        // No more than twice as many are refused when the forecast is good.
        let long = 1 + usize::try_from(SURE_BYTES).unwrap() / 53;
        assert!(refused(1000, 150).is_none() && refused(long, 150).is_some());
        assert!(refused(long, 90).is_none());
    }
}
