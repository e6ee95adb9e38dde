//! What the file is wrapped in, told by its first bytes, and how it is unwrapped.
//!
//! Comes in: a source of bytes. Goes out: a stream of pickle or JSON. Everything is read as it is
//! asked for; nothing is unpacked ahead.

mod guard;
mod page;
pub mod saved;
mod sniff;

use crate::error::{Error, ErrorKind, Result, shown};
use crate::limits;
use guard::Guard;
use serde::Serialize;
use sniff::Kind;
use std::io::{Cursor, Read, Seek, SeekFrom};

/// Bytes that can be read in order, and from any place.
pub trait Source: Read + Seek {}

impl<S: Read + Seek> Source for S {}

/// The outermost wrapping.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Container {
    /// None: a pickle as it is.
    #[default]
    Pickle,
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
    /// zip, which `torch.save` writes too.
    Zip,
    /// The page that PyTorch's own `_memory_viz.py` writes, or one that oomscope saved.
    Html,
    /// None: JSON as it is.
    Json,
}

/// The unwrapped bytes.
pub enum Content {
    /// A pickle.
    Pickle(Box<dyn Read>),
    /// A JSON text.
    Json(Box<dyn Read>),
}

/// An unwrapped file.
pub struct Opened {
    /// Its outermost wrapping.
    pub container: Container,
    /// What was inside.
    pub content: Content,
}

/// Wrappings inside one another that are taken off: `snapshot.json.gz` in a zip is two.
const LAYERS: usize = 4;
/// Bytes looked at to tell what a file is.
const HEAD: u64 = 512;

/// Takes the wrapping off.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for known other files, by name; [`ErrorKind::Container`] and
/// [`ErrorKind::Truncated`] for damaged ones.
pub fn open(mut source: Box<dyn Source>) -> Result<Opened> {
    let packed_bytes = source
        .seek(SeekFrom::End(0))
        .and_then(|end| source.rewind().map(|()| end))
        .map_err(unreadable)?;
    let first = sniff::kind(&head_of(&mut source)?)?;
    let mut stream: Box<dyn Read> = match first {
        Kind::Zip => Box::new(Guard::new(from_zip(source)?, packed_bytes)),
        _ => unwrapped(first, source, packed_bytes)?,
    };
    let container = first.container();
    let mut kind = first;
    for _ in 0..LAYERS {
        match kind {
            Kind::Pickle => return Ok(Opened { container, content: Content::Pickle(stream) }),
            Kind::Json => return Ok(Opened { container, content: Content::Json(stream) }),
            _ => {}
        }
        let mut head = Vec::new();
        (&mut stream).take(HEAD).read_to_end(&mut head).map_err(undecodable)?;
        kind = sniff::kind(&head)?;
        let whole = Cursor::new(head).chain(stream);
        stream = match kind {
            Kind::Zip => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "a zip inside another wrapping cannot be opened as it is",
                )
                .advise("unpack the outer one and open the zip"));
            }
            _ => unwrapped(kind, whole, packed_bytes)?,
        };
    }
    Err(Error::new(ErrorKind::Limit, format!("the file is wrapped more than {LAYERS} times"))
        .advise("unpack it and open the snapshot inside"))
}

/// Whether a file is a pickle as it is; it is left at its beginning.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for known other files, by name.
pub fn is_plain(source: &mut impl Source) -> Result<bool> {
    Ok(sniff::kind(&head_of(source)?)? == Kind::Pickle)
}

/// The first bytes of a source, which is left at its beginning.
fn head_of(source: &mut (impl Source + ?Sized)) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    source.take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    source.rewind().map_err(unreadable)?;
    Ok(head)
}

fn unwrapped(kind: Kind, reader: impl Read + 'static, packed_bytes: u64) -> Result<Box<dyn Read>> {
    Ok(match kind {
        Kind::Pickle | Kind::Json | Kind::Zip => Box::new(reader),
        Kind::Gzip => Box::new(Guard::new(flate2::read::MultiGzDecoder::new(reader), packed_bytes)),
        Kind::Xz => {
            let decoder = lzma_rust2::XzReader::new_mem_limit(reader, true, limits::XZ_KIBIBYTES);
            Box::new(Guard::new(decoder, packed_bytes))
        }
        Kind::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(reader);
            let decoder = decoder.map_err(|error| {
                Error::new(
                    ErrorKind::Container,
                    format!("the zstd file cannot be unpacked: {error}"),
                )
            })?;
            Box::new(Guard::new(decoder, packed_bytes))
        }
        Kind::Html => Box::new(page::content_of(reader)?),
    })
}

/// The one snapshot of an archive: `torch.save`'s `data.pkl`, or else what is named like one.
fn from_zip(source: Box<dyn Source>) -> Result<Box<dyn Read>> {
    let damaged = |error: zip::result::ZipError| {
        Error::new(ErrorKind::Container, format!("the zip archive cannot be read: {error}"))
    };
    let mut archive = zip::ZipArchive::new(source).map_err(damaged)?;
    let is_candidate = |name: &str| {
        let name = name.to_ascii_lowercase();
        !name.starts_with("__macosx/")
            && [".pickle", ".pkl", ".json", ".gz", ".xz", ".zst", ".html"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    let saved = archive
        .file_names()
        .flatten()
        .find(|name| name.ends_with("/data.pkl"))
        .map(|name| name.into_owned());
    let name = match saved {
        Some(name) => name,
        None => {
            let mut names: Vec<String> = archive
                .file_names()
                .flatten()
                .filter(|name| is_candidate(name))
                .map(|name| name.into_owned())
                .collect();
            names.sort();
            match names.as_slice() {
                [name] => name.clone(),
                [] => {
                    return Err(Error::new(
                        ErrorKind::NotASnapshot,
                        "the zip archive holds no file that looks like a snapshot",
                    ));
                }
                [first, ..] => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!(
                            "the zip archive holds {} possible snapshots, such as {}",
                            names.len(),
                            shown(first)
                        ),
                    )
                    .advise("unpack it and open one of them"));
                }
            }
        }
    };
    let entry = archive.by_name(&name).map_err(damaged)?;
    let (begin, packed, method) =
        (entry.data_start(), entry.compressed_size(), entry.compression());
    drop(entry);
    let Some(begin) = begin else {
        return Err(Error::new(
            ErrorKind::Container,
            "the zip archive does not tell where its file begins",
        ));
    };
    let mut source = archive.into_inner();
    source.seek(SeekFrom::Start(begin)).map_err(unreadable)?;
    let stored = source.take(packed);
    match method {
        zip::CompressionMethod::Stored => Ok(Box::new(stored)),
        zip::CompressionMethod::Deflated => Ok(Box::new(flate2::read::DeflateDecoder::new(stored))),
        other => Err(Error::new(
            ErrorKind::Unsupported,
            format!("the zip archive is packed with {other}, which is not read here"),
        )
        .advise("unpack it and open the snapshot inside")),
    }
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the file cannot be read: {error}"))
}

/// The error of a stream that stopped giving bytes.
#[must_use]
pub fn undecodable(error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return Error::new(ErrorKind::Truncated, "the packed file ends in the middle");
    }
    if error.kind() == std::io::ErrorKind::OutOfMemory {
        let most = limits::XZ_KIBIBYTES / 1024;
        let what =
            format!("unpacking the file needs more memory than there is, or than {most} MiB");
        return Error::new(ErrorKind::Limit, what)
            .advise("unpack it yourself and open the content");
    }
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => {
            Error::new(ErrorKind::Container, format!("the file cannot be unpacked: {error}"))
        }
    }
}
