//! Snapshots inside pages, as base64.
//!
//! The page that `python -m torch.cuda._memory_viz trace_plot` writes has one after the word
//! `"base64"`, in quotes; a page that oomscope saved (see [`super::saved`]) in an element of its own.

use crate::error::{Error, ErrorKind, Result};
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use std::io::{self, BufRead, BufReader, Read};

/// What stands before the snapshot in the page of `_memory_viz`.
const VIEWER: &[u8] = b"\"base64\"";
/// What stands before it in one that oomscope saved.
const SAVED: &[u8] = b"id=\"oomscope-snapshot\"";

/// What the page holds, packed or not.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for a page without one.
pub(super) fn content_of<R: Read>(page: R) -> Result<impl Read + use<R>> {
    let mut page = BufReader::with_capacity(1 << 16, page);
    let end = match skip_past(&mut page, &[VIEWER, SAVED]).map_err(super::undecodable)? {
        Some(0) => skip_past(&mut page, &[b"\""]).map(|found| found.map(|_| b'"')),
        Some(_) => skip_past(&mut page, &[b">"]).map(|found| found.map(|_| b'<')),
        None => Ok(None),
    };
    let Some(end) = end.map_err(super::undecodable)? else {
        return Err(Error::new(
            ErrorKind::NotASnapshot,
            "this page holds no snapshot: only those that PyTorch 2.1 or newer writes do",
        )
        .advise("open the pickle that the page was made from"));
    };
    if page.fill_buf().map_err(super::undecodable)?.first() == Some(&b'<') {
        return Err(Error::new(
            ErrorKind::NotASnapshot,
            "this is oomscope's own page, with no snapshot inside",
        )
        .advise("open it in a browser and drop a snapshot there"));
    }
    Ok(DecoderReader::new(Until { page, end }, &STANDARD))
}

/// Reads up to and past the first of `words`, which all end alike, and answers which it is; none at
/// the end of the page.
fn skip_past(page: &mut impl BufRead, words: &[&[u8]]) -> io::Result<Option<usize>> {
    let Some(last) = words.first().and_then(|word| word.last()) else { return Ok(None) };
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut seen: Vec<u8> = Vec::new();
    loop {
        // The words' end, in a window no longer than the longest.
        if (&mut *page).take(1 << 16).read_until(*last, &mut seen)? == 0 {
            return Ok(None);
        }
        if let Some(found) = words.iter().position(|word| seen.ends_with(word)) {
            return Ok(Some(found));
        }
        let keep = seen.len().saturating_sub(longest);
        seen.drain(..keep);
    }
}

/// The bytes before the next `end`.
struct Until<R> {
    page: R,
    end: u8,
}

impl<R: BufRead> Read for Until<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.page.fill_buf()?;
        let length = available
            .iter()
            .position(|byte| *byte == self.end)
            .unwrap_or(available.len())
            .min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.page.consume(length);
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
        content_of(&page[..]).unwrap().read_to_end(&mut pickle).unwrap();
        assert_eq!(pickle, [0x80, 4, b'N', b'.', 0, 0]);
    }

    #[test]
    fn a_page_without_one_is_named() {
        assert_eq!(
            content_of(&b"<html>alloc_data</html>"[..]).map(|_| ()).unwrap_err().kind(),
            ErrorKind::NotASnapshot
        );
    }

    #[test]
    fn the_snapshot_of_a_saved_page_is_found_and_decoded() {
        let page = br#"<!doctype html><script type="x" id="oomscope-snapshot" data-name="YQ==">gAROLg==</script><p>"#;
        let mut pickle = Vec::new();
        content_of(&page[..]).unwrap().read_to_end(&mut pickle).unwrap();
        assert_eq!(pickle, [0x80, 4, b'N', b'.']);
    }

    #[test]
    fn the_empty_page_is_named() {
        let page = br#"<!doctype html><script id="oomscope-snapshot"></script>"#;
        let error = content_of(&page[..]).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("own page"), "{error}");
    }
}
