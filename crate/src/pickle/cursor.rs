//! Reads that cannot pass the end of what has arrived.

/// A place in the bytes at hand. Every read answers `None` when fewer bytes are left than it
/// needs, and leaves the place where it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let end = self.at.checked_add(N)?;
        let taken = self.bytes.get(self.at..end)?.try_into().ok()?;
        self.at = end;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at = self.at.wrapping_add(1);
        Some(byte)
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
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|&byte| byte == b'\n')?;
        let line = rest.get(..length)?;
        self.at = self.at.checked_add(length)?.checked_add(1)?;
        Some(line)
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
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
