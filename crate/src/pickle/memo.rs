//! The memo: objects by the number under which the pickle will ask for them again.

use super::{Record, SlotId, TextId, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use rustc_hash::FxHashMap;

/// One memoised value in 32 bits: four for its kind, 28 for its index. A trace of ten million
/// entries memoises forty million objects, so this table's width decides what fits.
#[derive(Clone, Copy)]
struct Handle(u32);

const ABSENT: u32 = 0;
const TEXT: u32 = 1;
const OPEN: u32 = 2;
const OTHER: u32 = 3;
const RECORD: u32 = 4;

impl Handle {
    const ABSENT: Handle = Handle(ABSENT);

    fn new(kind: u32, index: u32) -> Self {
        Handle((kind << 28) | (index & limits::HANDLES))
    }
}

/// Values by number. Numbers are dense in every known writer; a far one goes to a map, so that a
/// claimed number never allocates a table.
#[derive(Default)]
pub(super) struct Memo {
    dense: Vec<Handle>,
    sparse: FxHashMap<u32, Handle>,
    others: Vec<Value>,
    puts: u32,
}

impl Memo {
    /// The number that MEMOIZE gives next.
    pub(super) fn next_number(&self) -> u32 {
        self.puts
    }

    /// As [`next_number`](Memo::next_number), if all numbers from there on stand for nothing yet and
    /// the limit is not near.
    #[inline]
    pub(super) fn next_new(&self) -> Option<u32> {
        let is_new = self.puts as usize == self.dense.len() && self.sparse.is_empty();
        (is_new && self.puts < limits::HANDLES / 2).then_some(self.puts)
    }

    /// Stores `value` under `number`, and answers whether the number certainly stood for nothing
    /// before.
    pub(super) fn put(&mut self, number: u32, value: &Value) -> Result<bool> {
        if self.puts >= limits::HANDLES {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the file memoises more than {} objects", limits::HANDLES),
            ));
        }
        self.puts = self.puts.saturating_add(1);
        let handle = self.handle(value);
        let place = number as usize;
        let mut was_absent = true;
        if place == self.dense.len() {
            self.dense.push(handle);
        } else if let Some(old) = self.dense.get_mut(place) {
            was_absent = old.0 == Handle::ABSENT.0;
            *old = handle;
        } else if number < self.puts.saturating_mul(2) {
            self.dense.resize(place, Handle::ABSENT);
            self.dense.push(handle);
        } else {
            self.sparse.insert(number, handle);
        }
        Ok(was_absent && self.sparse.is_empty())
    }

    /// Replaces the value under `number`, if it is still the open container `slot`.
    pub(super) fn replace_open(&mut self, number: u32, slot: SlotId, value: Value) {
        let handle = self.handle(&value);
        let old = match self.dense.get_mut(number as usize) {
            Some(old) => Some(old),
            None => self.sparse.get_mut(&number),
        };
        if let Some(old) = old
            && old.0 == Handle::new(OPEN, slot.0).0
        {
            *old = handle;
        }
    }

    /// The text under `number`, if it is one.
    #[inline]
    pub(super) fn text(&self, number: u32) -> Option<TextId> {
        let handle = self.dense.get(number as usize)?;
        (handle.0 >> 28 == TEXT).then_some(TextId(handle.0 & limits::HANDLES))
    }

    /// The record under `number`, if it is one.
    #[inline]
    pub(super) fn record(&self, number: u32) -> Option<Record> {
        let handle = self.dense.get(number as usize)?;
        #[expect(clippy::cast_possible_truncation, reason = "the kind has four bits")]
        let kind = (handle.0 >> 28).checked_sub(RECORD)? as u8;
        Some(Record { kind, index: handle.0 & limits::HANDLES })
    }

    /// The value under `number`.
    pub(super) fn get(&self, number: u32) -> Option<Value> {
        let handle = match self.dense.get(number as usize) {
            Some(handle) if handle.0 >> 28 != ABSENT => *handle,
            _ => *self.sparse.get(&number)?,
        };
        let index = handle.0 & limits::HANDLES;
        match handle.0 >> 28 {
            ABSENT => None,
            TEXT => Some(Value::Text(TextId(index))),
            OPEN => Some(Value::Open(SlotId(index))),
            OTHER => self.others.get(index as usize).copied(),
            #[expect(clippy::cast_possible_truncation, reason = "the kind has four bits")]
            kind => Some(Value::Record(Record { kind: kind.wrapping_sub(RECORD) as u8, index })),
        }
    }

    fn handle(&mut self, value: &Value) -> Handle {
        match *value {
            Value::Text(TextId(index)) => Handle::new(TEXT, index),
            Value::Open(SlotId(index)) => Handle::new(OPEN, index),
            Value::Record(Record { kind, index }) => {
                Handle::new(RECORD.wrapping_add(u32::from(kind)), index)
            }
            other => {
                // Tuples, bytes and constants that nobody kept: there are few distinct ones.
                let known = self.others.iter().take(64).position(|old| *old == other);
                let index = known.unwrap_or_else(|| {
                    self.others.push(other);
                    self.others.len().saturating_sub(1)
                });
                Handle::new(OTHER, u32::try_from(index).unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_number_is_stored_without_a_table_up_to_it() {
        let mut memo = Memo::default();
        memo.put(u32::MAX, &Value::Text(TextId(7))).unwrap();
        memo.put(0, &Value::Int(5)).unwrap();
        assert_eq!(memo.get(u32::MAX), Some(Value::Text(TextId(7))));
        assert_eq!(memo.get(0), Some(Value::Int(5)));
        assert_eq!(memo.get(1), None);
        assert!(memo.dense.len() < 8);
    }
}
