//! The page that oomscope itself saves: its offline page with a snapshot inside.
//!
//! The page holds one element for it, which no browser runs and no policy stops. The snapshot lies
//! there in base64, packed as it was or with gzip; beside it, in base64 too since they may hold
//! anything, its name and the view to show it in, as the fragment of an address; empty for the view
//! it opens in. `www/saved.js` reads and writes the same.

use super::sniff::{self, Kind};
use super::{HEAD, open, page, undecodable, unreadable};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek as _, Write};

/// How the element begins.
const OPENING: &str = "<script type=\"application/octet-stream\" id=\"oomscope-snapshot\"";
/// The element of a page without a snapshot.
const EMPTY: &str = "<script type=\"application/octet-stream\" id=\"oomscope-snapshot\"></script>";

/// Writes `page`, the offline page as it is built, with `snapshot` inside.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for a page without an empty place and for other files than
/// snapshots, [`ErrorKind::Limit`] for a snapshot that no browser could take out again,
/// [`ErrorKind::Io`] where reading or writing fails.
pub fn write_page(
    page: &str,
    mut snapshot: File,
    name: &str,
    view: &str,
    out: &mut impl Write,
) -> Result<()> {
    let (before, after) = page.split_once(EMPTY).ok_or_else(|| {
        Error::new(ErrorKind::NotASnapshot, "the page named has no empty place for a snapshot")
            .advise("name dist/oomscope.html as the build of this version made it")
    })?;
    // Whatever is no snapshot is refused by name.
    open(Box::new(snapshot.try_clone().map_err(unreadable)?))?;
    snapshot.rewind().map_err(unreadable)?;

    let (name, view) = (STANDARD.encode(name), STANDARD.encode(view));
    write!(out, "{before}{OPENING} data-name=\"{name}\" data-view=\"{view}\">")
        .map_err(unwritable)?;
    let mut text =
        EncoderWriter::new(Bounded { inner: &mut *out, left: limits::PAGE_TEXT_BYTES }, &STANDARD);
    pack(Box::new(snapshot), &mut text)?;
    text.finish().map_err(unwritable)?;
    drop(text);
    write!(out, "</script>{after}").and_then(|()| out.flush()).map_err(unwritable)
}

/// Copies what is packed as it is, and the rest through gzip; of a page, what it holds.
fn pack(mut source: Box<dyn Read>, out: &mut impl Write) -> Result<()> {
    let mut head = Vec::new();
    (&mut source).take(HEAD).read_to_end(&mut head).map_err(undecodable)?;
    let kind = sniff::kind(&head)?;
    let mut whole = Cursor::new(head).chain(source);
    match kind {
        Kind::Gzip | Kind::Xz | Kind::Zstd | Kind::Zip => copy(&mut whole, out),
        Kind::Html => pack(Box::new(page::content_of(whole)?), out),
        Kind::Pickle | Kind::Json => {
            let mut gzip = GzEncoder::new(out, Compression::default());
            copy(&mut whole, &mut gzip)?;
            gzip.finish().map(|_| ()).map_err(unwritable)
        }
    }
}

/// Copies all of it. Unlike `io::copy`, tells which end failed.
fn copy(source: &mut impl Read, out: &mut impl Write) -> Result<()> {
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = source.read(&mut piece).map_err(undecodable)?;
        if length == 0 {
            return Ok(());
        }
        out.write_all(&piece[..length]).map_err(unwritable)?;
    }
}

fn unwritable(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::new(ErrorKind::Io, format!("the page cannot be written: {error}"))
            .advise("check that there is room on the disk and that the folder may be written to"),
    }
}

/// Passes bytes on until there are more than a browser holds in one text.
struct Bounded<W> {
    inner: W,
    left: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.left = self.left.checked_sub(written as u64).ok_or_else(|| {
            io::Error::other(
                Error::new(
                    ErrorKind::Limit,
                    "packed, the snapshot is larger than the 380 MiB that a browser can take out of a page",
                )
                .advise("pack it with xz -9 first, or send the file itself"),
            )
        })?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_element_is_the_opening_closed() {
        assert_eq!(EMPTY, format!("{OPENING}></script>"));
    }

    #[test]
    fn what_no_browser_could_take_out_is_not_written() {
        let mut bounded = Bounded { inner: io::sink(), left: 8 };
        bounded.write_all(b"12345678").unwrap();
        let error = bounded.write_all(b"9").unwrap_err();
        assert_eq!(unwritable(error).kind(), ErrorKind::Limit);
    }
}
