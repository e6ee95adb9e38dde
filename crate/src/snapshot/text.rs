//! Every distinct text of the file, stored once.

use crate::error::{Error, ErrorKind, Result};
use crate::limits;
pub use crate::pickle::TextId;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher as _;

/// A table of distinct texts. Bytes that are no UTF-8 (the C++ writer copies names as they are, and
/// Python writes lone surrogates) stand as U+FFFD.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    data: String,
    /// Where each text ends in `data`; it starts where the one before ends.
    ends: Vec<usize>,
    ids: HashTable<u32>,
    /// The text met last of each length. Writers make the `"N/A"` or `""` of every entry anew.
    recent: [Option<u32>; 8],
}

impl Texts {
    /// The text behind `id`; empty for an id of another table.
    #[must_use]
    pub fn get(&self, id: TextId) -> &str {
        self.at(id.0)
    }

    /// Number of distinct texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The id of `text`, if the table has it.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<TextId> {
        let hash = FxBuildHasher.hash_one(text);
        self.ids.find(hash, |id| self.at(*id) == text).map(|id| TextId(*id))
    }

    /// The id of `bytes` as text, which is added if new.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] past [`limits::HANDLES`] texts.
    pub(super) fn intern_bytes(&mut self, bytes: &[u8]) -> Result<TextId> {
        if let Some(Some(id)) = self.recent.get(bytes.len())
            && self.at(*id).as_bytes() == bytes
        {
            return Ok(TextId(*id));
        }
        let id = self.intern(&String::from_utf8_lossy(bytes))?;
        if let Some(recent) = self.recent.get_mut(bytes.len()) {
            *recent = Some(id.0);
        }
        Ok(id)
    }

    /// The id of `text`, which is added if new.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] past [`limits::HANDLES`] texts.
    pub(super) fn intern(&mut self, text: &str) -> Result<TextId> {
        let hash = FxBuildHasher.hash_one(text);
        if let Some(id) = self.ids.find(hash, |id| self.at(*id) == text) {
            return Ok(TextId(*id));
        }
        let id = u32::try_from(self.ends.len()).ok().filter(|id| *id < limits::HANDLES);
        let id = id.ok_or_else(|| {
            Error::new(
                ErrorKind::Limit,
                format!("the file has more than {} distinct texts", limits::HANDLES),
            )
        })?;
        self.data.push_str(text);
        self.ends.push(self.data.len());
        let Texts { data, ends, ids, .. } = self;
        ids.insert_unique(hash, id, |other| FxBuildHasher.hash_one(slice(data, ends, *other)));
        Ok(TextId(id))
    }

    fn at(&self, id: u32) -> &str {
        slice(&self.data, &self.ends, id)
    }
}

fn slice<'a>(data: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let begin = id.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    let end = ends.get(id).copied().unwrap_or(begin);
    data.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_id_and_come_back_as_they_were() {
        let mut texts = Texts::default();
        assert!(texts.is_empty());
        let a = texts.intern("alloc").unwrap();
        let empty = texts.intern("").unwrap();
        assert_eq!(texts.intern("alloc").unwrap(), a);
        assert_eq!((texts.get(a), texts.get(empty), texts.len()), ("alloc", "", 2));
        assert!(!texts.is_empty());
        assert_eq!((texts.find("alloc"), texts.find("free")), (Some(a), None));
    }
}
