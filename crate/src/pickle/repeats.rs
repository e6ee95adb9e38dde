//! Lists that are written again and again.
//!
//! A recording holds millions of stacks and a few hundred distinct ones. Each time it spells one
//! out, as a run of BINGET and LONG_BINGET between MARK and APPENDS. Equal bytes ask for equal
//! objects as long as no number of the memo is given twice, so a spelling that is known need not be
//! followed again.

use super::complete::BATCH;
use super::cursor::Cursor;
use super::machine::Machine;
use super::slots::Slot;
use super::{Lower, Record, SlotId, Value, opcode as op};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher as _;

/// Bytes of spellings that are kept; past that, lists are read as if they were new.
const KEPT_BYTES: usize = 16 << 20;

/// What is known of lists by their spelling.
#[derive(Default)]
pub(super) struct Repeats {
    spellings: Vec<u8>,
    lists: Vec<Known>,
    ids: HashTable<u32>,
    /// A list under construction whose spelling, at the end of `spellings`, is new.
    pending: Option<Pending>,
    /// The list that was recognised last, by its place in `lists`.
    last: usize,
    /// What an empty list becomes, once one was complete.
    empty: Option<Record>,
    is_over: bool,
}

struct Known {
    begin: usize,
    end: usize,
    list: Record,
    /// The list that was recognised after it, by its place in `lists`: a loop's next turn has the
    /// same lists in the same order.
    next: usize,
}

#[derive(Clone, Copy)]
struct Pending {
    slot: SlotId,
    begin: usize,
}

impl Repeats {
    /// A number of the memo was given a second time: from now on equal bytes prove nothing.
    #[cold]
    pub(super) fn end(&mut self) {
        *self = Repeats { is_over: true, ..Repeats::default() };
    }

    /// The list that is spelled at the head of `bytes`, behind its MARK: the bytes that it takes,
    /// its APPENDS among them, and what it becomes. `None` if its spelling is not known.
    #[inline]
    pub(super) fn recognise(&mut self, bytes: &[u8]) -> Option<(usize, Record)> {
        let place = match self.lists.get(self.last).map(|last| last.next) {
            Some(next) if self.is_at_head(next, bytes) => next,
            _ => {
                let place = self.find(spelling(bytes)?)?;
                if let Some(last) = self.lists.get_mut(self.last) {
                    last.next = place;
                }
                place
            }
        };
        self.last = place;
        let known = self.lists.get(place)?;
        Some((known.length().saturating_add(1), known.list))
    }

    /// Whether the list at `place` is spelled at the head of `bytes`, as [`spelling`] would find.
    #[inline]
    fn is_at_head(&self, place: usize, bytes: &[u8]) -> bool {
        self.lists.get(place).is_some_and(|known| {
            bytes.split_at_checked(known.length()).is_some_and(|(head, rest)| {
                rest.starts_with(&END) && is_equal(head, known.spelling(&self.spellings))
            })
        })
    }

    fn find(&self, spelling: &[u8]) -> Option<usize> {
        let Repeats { spellings, lists, ids, .. } = self;
        let known = |id: &u32| lists.get(*id as usize);
        let is_same =
            |id: &u32| known(id).is_some_and(|known| is_equal(known.spelling(spellings), spelling));
        ids.find(hash_of(spelling), is_same).map(|id| *id as usize)
    }

    /// What an empty list becomes, if that is known.
    pub(super) fn empty(&self) -> Option<Record> {
        self.empty
    }

    /// An empty list became `value`; if `is_repeatable`, so will all others.
    pub(super) fn settle_empty(&mut self, value: Value, is_repeatable: bool) {
        self.empty = match value {
            Value::Record(list) if is_repeatable => Some(list),
            _ => None,
        };
    }

    /// The list in `slot`, empty so far, is spelled so, and what it becomes is not known.
    fn expect(&mut self, slot: SlotId, spelling: &[u8]) {
        self.forget_pending();
        let begin = self.spellings.len();
        if !self.is_over && begin.saturating_add(spelling.len()) <= KEPT_BYTES {
            self.spellings.extend_from_slice(spelling);
            self.pending = Some(Pending { slot, begin });
        }
    }

    /// The container in `slot` became `value`; if `is_repeatable`, so will others of its spelling.
    #[inline]
    pub(super) fn settle(&mut self, slot: SlotId, value: Value, is_repeatable: bool) {
        match self.pending {
            Some(pending) if pending.slot != slot => {}
            Some(pending) => match value {
                Value::Record(list) if is_repeatable => self.learn(pending.begin, list),
                _ => self.forget_pending(),
            },
            None => {}
        }
    }

    fn learn(&mut self, begin: usize, list: Record) {
        self.pending = None;
        let Ok(id) = u32::try_from(self.lists.len()) else { return };
        let known = Known { begin, end: self.spellings.len(), list, next: 0 };
        let Repeats { spellings, lists, ids, .. } = self;
        let hash = hash_of(known.spelling(spellings));
        lists.push(known);
        ids.insert_unique(hash, id, |other| {
            hash_of(lists.get(*other as usize).map_or(&[], |known| known.spelling(spellings)))
        });
    }

    fn forget_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.spellings.truncate(pending.begin);
        }
    }
}

impl Known {
    fn length(&self) -> usize {
        self.end.saturating_sub(self.begin)
    }

    fn spelling<'a>(&self, spellings: &'a [u8]) -> &'a [u8] {
        spellings.get(self.begin..self.end).unwrap_or_default()
    }
}

fn hash_of(spelling: &[u8]) -> u64 {
    FxBuildHasher.hash_one(spelling)
}

/// As `==`, which for bytes is a call, of code that on wasm32 goes byte by byte.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let (words, bytes) = one.as_chunks::<8>();
    let (other_words, other_bytes) = other.as_chunks::<8>();
    one.len() == other.len()
        && words
            .iter()
            .zip(other_words)
            .all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
        && bytes.iter().zip(other_bytes).all(|(a, b)| a == b)
}

/// What follows a spelling: the list is complete, for it goes straight into a dict.
const END: [u8; 2] = [op::APPENDS, op::SETITEMS];

/// The opcodes before APPENDS, if all of them recall an object, and if the list goes straight into
/// a dict, and so is complete.
fn spelling(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    for items in 0..BATCH {
        let after = match rest {
            [op::BINGET, _, after @ ..] | [op::LONG_BINGET, _, _, _, _, after @ ..] => after,
            [op::APPENDS, op::SETITEMS, ..] if items > 0 => {
                let length = bytes.len().saturating_sub(rest.len());
                return bytes.get(..length);
            }
            _ => return None,
        };
        rest = after;
    }
    None
}

impl<L: Lower> Machine<L> {
    /// After a list's MARK: if its spelling is known, passes it and its APPENDS, and puts what it
    /// becomes in its place.
    pub(super) fn repeat_list(&mut self, cursor: &mut Cursor<'_>) {
        let Some(Value::Open(id)) = self.stack.last().copied() else { return };
        if !self.slots.get(id).is_some_and(Slot::is_empty_list) {
            return;
        }
        let Some((length, list)) = self.repeats.recognise(cursor.rest()) else {
            if let Some(spelling) = spelling(cursor.rest()) {
                self.repeats.expect(id, spelling);
            }
            return;
        };
        cursor.take(length);
        self.marks.pop();
        self.settle(id, Value::Record(list));
        if let Some(top) = self.stack.last_mut() {
            *top = Value::Record(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Items, Place, Record, TextId};
    use super::*;
    use crate::error::Result;

    /// Keeps the distinct lists that it was handed, and what each dict holds.
    #[derive(Default)]
    struct Lists {
        handed: usize,
        distinct: Vec<Vec<Value>>,
        held: Vec<Value>,
    }

    impl Lower for Lists {
        fn text(&mut self, bytes: &[u8]) -> Result<TextId> {
            Ok(TextId(u32::from(bytes[0])))
        }

        fn tuple(&mut self, _: &[Value]) -> Value {
            Value::Opaque
        }

        fn dict(&mut self, pairs: &[Value], _: &dyn Place) -> Result<Value> {
            self.held.push(pairs[1]);
            Ok(Value::Opaque)
        }

        fn list(&mut self, items: Items<'_>, _: &dyn Place) -> Result<Value> {
            let Items::Values(items) = items else { return Ok(Value::Opaque) };
            self.handed = self.handed.saturating_add(1);
            let known = self.distinct.iter().position(|known| known == items);
            let index = u32::try_from(known.unwrap_or(self.distinct.len())).unwrap();
            if known.is_none() {
                self.distinct.push(items.to_vec());
            }
            Ok(Value::Record(Record { kind: 0, index }))
        }

        fn is_repeatable(&self, value: Value) -> bool {
            matches!(value, Value::Record(_))
        }

        fn text_of(&self, _: TextId) -> std::borrow::Cow<'_, str> {
            "".into()
        }
    }

    #[test]
    fn a_list_is_handed_over_once_and_again_when_its_numbers_mean_something_else() {
        let (a, b, c) = (b"\x8c\x01aq\x000", b"\x8c\x01bq\x010", b"\x8c\x01cq\x000");
        let dict = b"}(K\x01](h\x00h\x01eu0";
        let mut file = Vec::new();
        for part in [&a[..], b, dict, dict, dict, c, dict, dict, b"N."] {
            file.extend_from_slice(part);
        }
        for chunk in [file.len(), 1] {
            let mut machine = Machine::new(Lists::default(), 0);
            let (mut begin, mut end) = (0, 0);
            while machine.result().is_none() {
                end = file.len().min(end + chunk);
                begin += machine.feed(&file[begin..end]).unwrap();
            }
            let lists = machine.lower;
            let held = [0, 0, 0, 1, 1].map(|index| Value::Record(Record { kind: 0, index }));
            assert_eq!(lists.held, held);
            assert_eq!(lists.distinct.len(), 2);
            // Byte by byte no spelling is ever whole.
            assert_eq!(lists.handed, if chunk == 1 { 5 } else { 3 });
        }
    }

    #[test]
    fn a_spelling_ends_where_the_list_goes_into_a_dict() {
        let bytes = b"h\x01j\x02\x00\x00\x00euh";
        assert_eq!(spelling(bytes), Some(&bytes[..7]));
        assert_eq!(spelling(b"h\x01e("), None);
        assert_eq!(spelling(b"h\x01K\x02eu"), None);
        assert_eq!(spelling(b"eu"), None);
        assert_eq!(spelling(b"h\x01e"), None);
    }

    #[test]
    fn a_spelling_is_known_once_its_list_is_complete_and_until_the_memo_changes() {
        let mut repeats = Repeats::default();
        let list = Record { kind: 0, index: 7 };
        repeats.expect(SlotId(3), b"h\x01");
        repeats.settle(SlotId(4), Value::None, true);
        assert_eq!(repeats.find(b"h\x01"), None);
        repeats.settle(SlotId(3), Value::Record(list), true);
        assert_eq!(repeats.recognise(b"h\x01eu"), Some((3, list)));
        repeats.end();
        assert_eq!(repeats.find(b"h\x01"), None);
    }
}
