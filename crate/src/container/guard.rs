//! A stop for decompression bombs.

use crate::error::{Error, ErrorKind};
use crate::limits;
use std::io::{self, Read};

/// Passes bytes on until there are implausibly many for the size of the packed file.
pub(super) struct Guard<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Guard<R> {
    pub(super) fn new(inner: R, packed_bytes: u64) -> Self {
        let left = packed_bytes.saturating_mul(limits::UNPACK_RATIO).max(limits::UNPACK_FREE_BYTES);
        Guard { inner, left }
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let message =
                format!("the file unpacks to more than {} times its size", limits::UNPACK_RATIO);
            io::Error::other(
                Error::new(ErrorKind::Limit, message)
                    .advise("unpack it yourself, look at it, and open the content"),
            )
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_stream_is_stopped() {
        let error = io::copy(&mut Guard::new(io::repeat(0), 10), &mut io::sink()).unwrap_err();
        assert_eq!(error.downcast::<Error>().unwrap().kind(), ErrorKind::Limit);
    }
}
