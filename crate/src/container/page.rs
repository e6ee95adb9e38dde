//! The page that `python -m torch.cuda._memory_viz trace_plot` writes: the pickle lies in it as
//! base64, after the word `"base64"`.

use crate::error::{Error, ErrorKind, Result};
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use std::io::{self, BufRead, BufReader, Read};

const WORD: &[u8] = b"\"base64\"";

/// The pickle inside the page.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for a page without one.
pub(super) fn pickle_in<R: Read>(page: R) -> Result<impl Read + use<R>> {
    let mut page = BufReader::with_capacity(1 << 16, page);
    if !skip_past(&mut page, WORD)
        .and_then(|found| Ok(found && skip_past(&mut page, b"\"")?))
        .map_err(super::undecodable)?
    {
        return Err(Error::new(
            ErrorKind::NotASnapshot,
            "this page holds no snapshot: only those that PyTorch 2.1 or newer writes do",
        )
        .advise("open the pickle that the page was made from"));
    }
    Ok(DecoderReader::new(UntilQuote(page), &STANDARD))
}

/// Reads up to and past the next `word`; false at the end of the page.
fn skip_past(page: &mut impl BufRead, word: &[u8]) -> io::Result<bool> {
    let Some(last) = word.last() else { return Ok(true) };
    let mut seen: Vec<u8> = Vec::new();
    loop {
        // The word's end, in a window no longer than the word.
        if (&mut *page).take(1 << 16).read_until(*last, &mut seen)? == 0 {
            return Ok(false);
        }
        if seen.ends_with(word) {
            return Ok(true);
        }
        let keep = seen.len().saturating_sub(word.len());
        seen.drain(..keep);
    }
}

/// The bytes before the next quote.
struct UntilQuote<R>(R);

impl<R: BufRead> Read for UntilQuote<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.0.fill_buf()?;
        let length = available
            .iter()
            .position(|byte| *byte == b'"')
            .unwrap_or(available.len())
            .min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.0.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pickle_is_found_and_decoded() {
        let page = br#"<!DOCTYPE html><script>local_files = [{"name": "s.pickle", "base64": "gAROLgAA"}]</script>"#;
        let mut pickle = Vec::new();
        pickle_in(&page[..]).unwrap().read_to_end(&mut pickle).unwrap();
        assert_eq!(pickle, [0x80, 4, b'N', b'.', 0, 0]);
    }

    #[test]
    fn a_page_without_one_is_named() {
        assert_eq!(
            pickle_in(&b"<html>alloc_data</html>"[..]).map(|_| ()).unwrap_err().kind(),
            ErrorKind::NotASnapshot
        );
    }
}
