//! JSON as Python writes it, made fit for a strict reader.

use std::io::Read;

/// A JSON text without what Python writes and serde_json refuses: a byte order mark, and the escapes
/// of lone surrogates, which become three times U+FFFD as in a pickle.
pub(super) struct Mended<R> {
    inner: R,
    /// What was read and not looked at.
    raw: Vec<u8>,
    /// What may be given out, from `given` on.
    ready: Vec<u8>,
    given: usize,
    is_begun: bool,
}

/// The longest run of bytes that belongs together: a pair of escapes.
const PAIR: usize = 12;

impl<R: Read> Mended<R> {
    pub(super) fn new(inner: R) -> Self {
        Mended { inner, raw: Vec::new(), ready: Vec::new(), given: 0, is_begun: false }
    }

    /// Looks at all of `raw` but what may go on in the next piece.
    fn mend(&mut self, is_end: bool) {
        let mut rest = self.raw.as_slice();
        if !self.is_begun {
            rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
            self.is_begun = true;
        }
        while let Some(plain) = rest.iter().position(|byte| *byte == b'\\') {
            let (before, escaped) = rest.split_at(plain);
            self.ready.extend_from_slice(before);
            rest = escaped;
            if escaped.len() < PAIR && !is_end {
                break;
            }
            let length = match (surrogate(escaped), escaped.get(6..).and_then(surrogate)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => PAIR,
                (Some(_), _) => {
                    self.ready.extend_from_slice(b"\\ufffd\\ufffd\\ufffd");
                    rest = escaped.get(6..).unwrap_or_default();
                    continue;
                }
                (None, _) => 2,
            };
            let (whole, after) = escaped.split_at(length.min(escaped.len()));
            self.ready.extend_from_slice(whole);
            rest = after;
        }
        let kept = if rest.first() == Some(&b'\\') && !is_end { rest.len() } else { 0 };
        let (plain, kept) = rest.split_at(rest.len().saturating_sub(kept));
        self.ready.extend_from_slice(plain);
        self.raw = kept.to_vec();
    }
}

/// The surrogate that `escaped` begins with as an escape.
fn surrogate(escaped: &[u8]) -> Option<u32> {
    let digits = escaped.strip_prefix(b"\\u")?.get(..4)?;
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..=0xdfff).contains(&code).then_some(code)
}

impl<R: Read> Read for Mended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.ready.len() {
            self.ready.clear();
            self.given = 0;
            let read = (&mut self.inner).take(1 << 16).read_to_end(&mut self.raw)?;
            self.mend(read == 0);
            if read == 0 && self.ready.is_empty() {
                return Ok(0);
            }
        }
        let ready = self.ready.get(self.given..).unwrap_or_default();
        let count = ready.len().min(buffer.len());
        if let (Some(into), Some(from)) = (buffer.get_mut(..count), ready.get(..count)) {
            into.copy_from_slice(from);
        }
        self.given = self.given.saturating_add(count);
        Ok(count)
    }
}
