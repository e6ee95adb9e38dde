//! Reads that cannot pass the end of what has arrived.

/// A place in the bytes at hand. Every read answers `None` when fewer bytes are left than it
/// needs, and leaves the place where it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes, whole: bytes.len() }
    }

    pub(super) fn at(&self) -> usize {
        self.whole.saturating_sub(self.rest.len())
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    /// The next eight bytes, without passing them.
    #[inline]
    pub(super) fn ahead(&self) -> Option<[u8; 8]> {
        self.rest.first_chunk().copied()
    }

    /// The next byte, without passing it.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bytes up to the next line feed, which is passed and left out.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(|&byte| byte == b'\n')?;
        let line = self.take(length)?;
        self.u8()?;
        Some(line)
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_stops_at_the_end_and_stays_where_it_was() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.take(4), None);
        assert_eq!(cursor.u16(), Some(0x0201));
        assert_eq!(cursor.u16(), None);
        assert_eq!((cursor.at(), cursor.left()), (2, 1));
    }

    #[test]
    fn a_line_ends_before_its_line_feed() {
        let mut cursor = Cursor::new(b"ab\ncd");
        assert_eq!(cursor.line(), Some(&b"ab"[..]));
        assert_eq!(cursor.line(), None);
        assert_eq!(cursor.at(), 3);
    }
}
