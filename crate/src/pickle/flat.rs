//! Dicts of plain values are read in one go.
//!
//! Nearly all of a recording is dicts whose keys were met before and whose values are numbers,
//! texts, pairs of numbers, objects met before, or lists of known spelling. Such a dict needs no
//! container under construction: its pairs go straight to the [`Lower`]. One that is anything else,
//! or not whole in the bytes at hand, is left to the opcodes one by one.

use super::cursor::Cursor;
use super::here::{Here, located};
use super::machine::Machine;
use super::memo::Memo;
use super::number::integer_from_start;
use super::repeats::Repeats;
use super::{Lower, Value, opcode as op};
use crate::error::Result;
use crate::limits;

/// Fewer values than this has a flat dict, keys among them.
const MOST_VALUES: usize = 64;

/// The dict in hand.
#[derive(Default)]
pub(super) struct Flat {
    /// Keys and values in turn.
    pairs: Vec<Value>,
    /// What it gives to the memo, under consecutive numbers from `first_number` on.
    memoised: Vec<Value>,
    first_number: u32,
    /// Whether the dict itself is the first of them.
    is_memoised: bool,
}

impl<L: Lower> Machine<L> {
    /// Reads the dict behind an EMPTY_DICT, which the cursor has passed, and answers whether it did.
    /// If not, nothing happened that could be noticed when its opcodes are followed one by one.
    /// After an error the cursor stands at the opcode that completes the dict.
    #[inline]
    pub(super) fn flat_dict(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
        let Machine { flat, lower, stack, marks, slots, memo, repeats, .. } = self;
        let mut ahead = *cursor;
        let has_room = stack.len() < limits::STACK_VALUES;
        if !has_room || flat.read(&mut ahead, memo, repeats, lower).is_none() {
            return Ok(false);
        }
        *cursor = ahead;
        stack.push(Value::Opaque);
        let place = Here { stack, marks, slots };
        let value =
            lower.dict(&flat.pairs, &place).map_err(|error| located(error, &place, lower))?;
        if let Some(top) = stack.last_mut() {
            *top = value;
        }
        flat.memoise(value, memo)?;
        cursor.u8();
        Ok(true)
    }
}

impl Flat {
    /// Reads up to the dict's SETITEMS; `None` if it is not flat, not whole or not certain to mean
    /// the same as its opcodes one by one: what it gives to the memo must be new, for it is given
    /// only when the dict is complete.
    #[inline]
    fn read<L: Lower>(
        &mut self,
        cursor: &mut Cursor<'_>,
        memo: &Memo,
        repeats: &mut Repeats,
        lower: &mut L,
    ) -> Option<()> {
        self.pairs.clear();
        self.memoised.clear();
        self.first_number = memo.next_new()?;
        self.is_memoised = self.put(cursor, Value::Opaque)?;
        if cursor.u8()? != op::MARK {
            return None;
        }
        while self.pairs.len() < MOST_VALUES {
            let mut next = *cursor;
            let key = match next.u8()? {
                op::BINGET => u32::from(next.u8()?),
                op::LONG_BINGET => next.u32()?,
                op::SETITEMS if !self.pairs.is_empty() => return Some(()),
                _ => return None,
            };
            *cursor = next;
            self.pairs.push(Value::Text(memo.text(key)?));
            match cursor.u8()? {
                op::BINGET => self.recall(memo, u32::from(cursor.u8()?))?,
                op::LONG_BINGET => self.recall(memo, cursor.u32()?)?,
                op::EMPTY_LIST => self.list(cursor, repeats)?,
                op::SHORT_BINUNICODE => {
                    let length = cursor.u8()?;
                    let text = lower.text(cursor.take(usize::from(length))?).ok()?;
                    self.put(cursor, Value::Text(text))?;
                    self.pairs.push(Value::Text(text));
                }
                other => {
                    self.scalar(other, cursor)?;
                    if !matches!(cursor.peek()?, op::BINGET | op::LONG_BINGET | op::SETITEMS) {
                        self.pair(cursor, lower)?;
                    }
                }
            }
        }
        None
    }

    /// An object met before.
    #[inline]
    fn recall(&mut self, memo: &Memo, number: u32) -> Option<()> {
        match memo.text(number) {
            Some(text) => self.pairs.push(Value::Text(text)),
            None => self.pairs.push(Value::Record(memo.record(number)?)),
        }
        Some(())
    }

    /// A list that is empty or of known spelling.
    #[inline]
    fn list(&mut self, cursor: &mut Cursor<'_>, repeats: &mut Repeats) -> Option<()> {
        let place = self.memoised.len();
        let is_memoised = self.put(cursor, Value::Opaque)?;
        let list = if cursor.peek()? == op::MARK {
            cursor.u8();
            let (length, list) = repeats.recognise(cursor.rest())?;
            cursor.take(length)?;
            list
        } else {
            repeats.empty()?
        };
        if is_memoised {
            *self.memoised.get_mut(place)? = Value::Record(list);
        }
        self.pairs.push(Value::Record(list));
        Some(())
    }

    /// A number, a truth value or None.
    // Each is pushed where it is made: one that is put together first and then copied whole waits
    // for its parts to arrive in memory (no store is forwarded to a wider load), which was nearly
    // half of the machine's time.
    #[inline]
    fn scalar(&mut self, opcode: u8, cursor: &mut Cursor<'_>) -> Option<()> {
        match opcode {
            op::BININT1 => self.pairs.push(Value::Int(i64::from(cursor.u8()?))),
            op::BININT2 => self.pairs.push(Value::Int(i64::from(cursor.u16()?))),
            op::BININT => {
                let number = cursor.array().map(i32::from_le_bytes)?;
                self.pairs.push(Value::Int(i64::from(number)));
            }
            op::LONG1 => {
                let length = cursor.u8()?;
                let ahead = cursor.ahead()?;
                if !(1..=8).contains(&length) {
                    return None;
                }
                cursor.take(usize::from(length))?;
                self.pairs.push(Value::Int(integer_from_start(ahead, length)));
            }
            op::BINFLOAT => {
                self.pairs.push(Value::Float(cursor.array().map(f64::from_be_bytes)?));
            }
            op::NEWTRUE => self.pairs.push(Value::Bool(true)),
            op::NEWFALSE => self.pairs.push(Value::Bool(false)),
            op::NONE => self.pairs.push(Value::None),
            _ => return None,
        }
        Some(())
    }

    /// A tuple of two numbers, whose first was read.
    #[cold]
    fn pair<L: Lower>(&mut self, cursor: &mut Cursor<'_>, lower: &mut L) -> Option<()> {
        let opcode = cursor.u8()?;
        self.scalar(opcode, cursor)?;
        if cursor.u8()? != op::TUPLE2 {
            return None;
        }
        let begin = self.pairs.len().checked_sub(2)?;
        let tuple = lower.tuple(self.pairs.get(begin..)?);
        self.pairs.truncate(begin);
        self.put(cursor, tuple)?;
        self.pairs.push(tuple);
        Some(())
    }

    /// Whether the value just read goes into the memo; `None` if under any but the next number.
    #[inline]
    fn put(&mut self, cursor: &mut Cursor<'_>, value: Value) -> Option<bool> {
        let count = u32::try_from(self.memoised.len()).ok()?;
        let next = self.first_number.saturating_add(count);
        let mut after = *cursor;
        let number = match after.u8()? {
            op::MEMOIZE => next,
            op::BINPUT => u32::from(after.u8()?),
            op::LONG_BINPUT => after.u32()?,
            _ => return Some(false),
        };
        *cursor = after;
        self.memoised.push(value);
        (number == next).then_some(true)
    }

    /// Gives to the memo what the dict, which became `value`, has for it.
    #[inline]
    fn memoise(&mut self, value: Value, memo: &mut Memo) -> Result<()> {
        if self.is_memoised
            && let Some(own) = self.memoised.first_mut()
        {
            *own = value;
        }
        for (number, value) in (self.first_number..).zip(&self.memoised) {
            memo.put(number, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Items, Place, Record, Step, TextId};
    use super::*;
    use crate::error::{Error, ErrorKind};

    /// Keeps what it was handed and where; refuses a dict that holds `True`.
    #[derive(Default)]
    struct Log {
        texts: Vec<Vec<u8>>,
        lists: Vec<Vec<Value>>,
        dicts: Vec<(Vec<Value>, Vec<Step>)>,
    }

    /// The place of `item`, added if new.
    fn place_of<T: PartialEq>(table: &mut Vec<T>, item: T) -> u32 {
        let place = table.iter().position(|known| *known == item).unwrap_or(table.len());
        if place == table.len() {
            table.push(item);
        }
        u32::try_from(place).unwrap()
    }

    impl Lower for Log {
        fn text(&mut self, bytes: &[u8]) -> Result<TextId> {
            Ok(TextId(place_of(&mut self.texts, bytes.to_vec())))
        }

        fn tuple(&mut self, items: &[Value]) -> Value {
            Value::Record(Record { kind: 2, index: place_of(&mut self.lists, items.to_vec()) })
        }

        fn dict(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
            self.dicts.push((pairs.to_vec(), place.steps()));
            if pairs.contains(&Value::Bool(true)) {
                return Err(Error::new(ErrorKind::Shape, "a dict with True"));
            }
            let index = u32::try_from(self.dicts.len()).unwrap();
            Ok(Value::Record(Record { kind: 0, index }))
        }

        fn list(&mut self, items: Items<'_>, _: &dyn Place) -> Result<Value> {
            let items = match items {
                Items::Values(values) => values.to_vec(),
                Items::Run { first, len } => vec![Value::Record(first), Value::Int(i64::from(len))],
            };
            Ok(Value::Record(Record { kind: 1, index: place_of(&mut self.lists, items) }))
        }

        fn is_repeatable(&self, value: Value) -> bool {
            matches!(value, Value::Record(Record { kind: 1, .. }))
        }

        fn text_of(&self, _: TextId) -> std::borrow::Cow<'_, str> {
            "key".into()
        }
    }

    /// Feeds `file` in one piece, where its dicts can be flat, and byte by byte, where none can, for
    /// none is ever whole; what is handed over must be the same, an error among it.
    fn both(file: &[u8]) -> (Log, Option<Error>) {
        let [whole, bytewise] = [file.len(), 1].map(|piece| {
            let mut machine = Machine::new(Log::default(), 0);
            let (mut begin, mut end, mut error) = (0, 0, None);
            while machine.result().is_none() && error.is_none() {
                assert!(end < file.len(), "the pickle has no end");
                end = file.len().min(piece.saturating_add(end));
                match machine.feed(&file[begin..end]) {
                    Ok(done) => begin = done.saturating_add(begin),
                    Err(other) => error = Some(other),
                }
            }
            let result = machine.result();
            (machine.lower, error, result)
        });
        assert_eq!(whole.0.texts, bytewise.0.texts);
        assert_eq!(whole.0.lists, bytewise.0.lists);
        assert_eq!(whole.0.dicts, bytewise.0.dicts);
        assert_eq!(whole.2, bytewise.2);
        assert_eq!(
            whole.1.as_ref().map(|error| (error.to_string(), error.offset())),
            bytewise.1.as_ref().map(|error| (error.to_string(), error.offset())),
        );
        (whole.0, whole.1)
    }

    /// A list of the dicts, after two texts under the numbers 0 and 1 and a list under 2.
    fn file(dicts: &[&[u8]]) -> Vec<u8> {
        let head = b"\x8c\x01a\x94\x8c\x01b\x94]\x94(";
        [&head[..], &dicts.concat(), b"e."].concat()
    }

    fn values(log: &Log, place: usize) -> Vec<Value> {
        log.dicts[place].0.iter().skip(1).step_by(2).copied().collect()
    }

    #[test]
    fn each_kind_of_value_is_what_its_opcodes_say() {
        let numbers: &[u8] = b"}\x94(h\x00K\x07h\x01M\x00\x01h\x00J\xff\xff\xff\xffh\x01\x8a\x03\x00\x00\x80h\x00Nh\x01\x89h\x00G\x3f\xf8\0\0\0\0\0\0u";
        let (log, _) = both(&file(&[numbers, b"}(h\x00h\x01u"]));
        let floats = [Value::None, Value::Bool(false), Value::Float(1.5)];
        let integers = [7, 256, -1, -(1 << 23)].map(Value::Int);
        assert_eq!(values(&log, 0), [&integers[..], &floats].concat());
        assert_eq!(values(&log, 1), [Value::Text(TextId(1))]);
        assert_eq!(log.dicts[1].1, [Step::Index(1)]);
    }

    #[test]
    fn what_a_dict_memoises_is_recalled_after_it() {
        // The dict is number 3, its text 4, its pair 5, its list 6, an empty list 7.
        let dict: &[u8] = b"}\x94(h\x00\x8c\x01c\x94h\x01K\x01K\x02\x86\x94h\x00]\x94(h\x00h\x01eu";
        let again: &[u8] = b"}\x94(h\x00]\x94h\x01]\x94(h\x00h\x01eu";
        let recalls: &[u8] = b"}(h\x00h\x04h\x01h\x05h\x00h\x06h\x01h\x08h\x00h\x09u";
        let (log, _) = both(&file(&[dict, again, again, recalls]));
        let list = values(&log, 0)[2];
        let empty = values(&log, 1)[0];
        assert_ne!(list, empty);
        assert_eq!(values(&log, 2), [empty, list]);
        let [text, pair, third, fourth, fifth] = values(&log, 3)[..] else { panic!("five values") };
        assert_eq!((text, third), (Value::Text(TextId(2)), list));
        assert_eq!(pair, values(&log, 0)[1]);
        assert_eq!((fourth, fifth), (empty, list));
    }

    /// Number 0 means `b` from within the dict on, which its own later key notices.
    #[test]
    fn a_number_that_is_given_again_counts_at_once() {
        let (log, _) = both(&file(&[b"}(h\x01\x8c\x01bq\x00h\x00K\x01u", b"}(h\x00K\x02u"]));
        assert_eq!(log.dicts[0].0[2], Value::Text(TextId(1)));
        assert_eq!(log.dicts[1].0[0], Value::Text(TextId(1)));
    }

    #[test]
    fn a_dict_that_recalls_its_own_text_or_is_deeper_is_read_by_its_opcodes() {
        let own: &[u8] = b"}\x94(h\x00\x8c\x01c\x94h\x01h\x04u";
        let deeper: &[u8] = b"}(h\x00}(h\x01K\x01uh\x01](K\x01K\x02K\x03eu";
        let (log, _) = both(&file(&[own, deeper]));
        assert_eq!(values(&log, 0), [Value::Text(TextId(2)); 2]);
        assert_eq!(log.dicts[1].1, [Step::Index(1), Step::Key(TextId(0))]);
        assert_eq!(log.dicts.len(), 3);
    }

    #[test]
    fn a_refused_dict_is_told_with_its_place() {
        let (_, error) = both(&file(&[b"}(h\x00K\x01u", b"}(h\x00\x88u"]));
        let error = error.unwrap();
        assert_eq!(error.path(), Some("[1]"));
        assert_eq!(error.offset(), Some(file(&[]).len() as u64 - 2 + 7 + 5));
    }

    #[test]
    fn more_values_than_a_flat_dict_has_are_read_all_the_same() {
        let long = [&b"}("[..], &b"h\x00K\x01".repeat(MOST_VALUES), b"u"].concat();
        let (log, _) = both(&file(&[&long]));
        assert_eq!(log.dicts[0].0.len(), 2 * MOST_VALUES);
    }
}
