//! A snapshot to give away: the same but for its paths, which name no folders any more.
//!
//! What identifies a line stays, and what tells whose code it is (`findings::frame_kind`), so that
//! the verdict is the same.

mod json;
mod path;

use crate::container::{self, Content, Source, undecodable};
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::replace_texts;
use std::io::{self, Read};

/// Bytes in hand at a time.
const CHUNK: u64 = 1 << 20;

/// What every pickle of protocol 2 and above begins with.
const PROTO: u8 = 0x80;

/// The snapshot in `source`, taken out of whatever it is packed in, without folders.
///
/// # Errors
/// Those of [`container::open`]. Reading from the answer gives [`ErrorKind::Truncated`],
/// [`ErrorKind::Shape`] and [`ErrorKind::Limit`] for damaged files, as the [`io::Error`]'s inner one.
pub fn without_folders(source: Box<dyn Source>) -> Result<impl Read> {
    Ok(match container::open(source)?.content {
        Content::Pickle(reader) => Stripped::new(reader, pickle),
        Content::Json(reader) => Stripped::new(reader, json::replace_texts),
    })
}

/// Copies what is whole of the bytes to the output; answers how many it is done with, and whether
/// nothing follows.
type Strip = fn(&[u8], &mut Vec<u8>) -> Result<(usize, bool)>;

/// A stream whose texts are replaced.
struct Stripped {
    source: Box<dyn Read>,
    strip: Strip,
    /// Not looked at yet.
    waiting: Vec<u8>,
    out: Vec<u8>,
    taken: usize,
    has_ended: bool,
}

impl Stripped {
    fn new(source: Box<dyn Read>, strip: Strip) -> Self {
        Stripped { source, strip, waiting: Vec::new(), out: Vec::new(), taken: 0, has_ended: false }
    }

    fn advance(&mut self) -> Result<()> {
        let came = (&mut self.source).take(CHUNK).read_to_end(&mut self.waiting);
        self.taken = 0;
        self.out.clear();
        if came.map_err(undecodable)? == 0 {
            self.has_ended = true;
            return if self.waiting.is_empty() { Ok(()) } else { Err(cut()) };
        }
        let (done, has_ended) = (self.strip)(&self.waiting, &mut self.out)?;
        self.waiting.drain(..done);
        self.has_ended = has_ended;
        Ok(())
    }
}

fn cut() -> Error {
    Error::new(ErrorKind::Truncated, "the file ends in the middle")
}

impl Read for Stripped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.out.len() && !self.has_ended {
            self.advance().map_err(io::Error::other)?;
        }
        let left = self.out.get(self.taken..).unwrap_or_default();
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.taken += length;
        Ok(length)
    }
}

/// One pickle after another, as `torch.save` wrote them before PyTorch 1.6; what follows them goes.
fn pickle(bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool)> {
    let mut done = 0;
    loop {
        let rest = bytes.get(done..).unwrap_or_default();
        let (passed, has_ended) = replace_texts(rest, out, |text| {
            match std::str::from_utf8(text) {
                Ok(text) => path::stripped(text).into_owned().into_bytes(),
                // Nothing tells what it says.
                Err(_) if text.contains(&b'/') || text.contains(&b'\\') => Vec::new(),
                Err(_) => text.to_vec(),
            }
        })?;
        done += passed;
        match bytes.get(done) {
            Some(&PROTO) if has_ended => {}
            _ => return Ok((done, has_ended)),
        }
    }
}
