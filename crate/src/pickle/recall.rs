//! Values go into the memo and come back from it.

use super::cursor::Cursor;
use super::machine::{Machine, underflow};
use super::{Lower, Value, opcode as op};
use crate::error::{Error, ErrorKind, Result};

impl<L: Lower> Machine<L> {
    /// Recalls an object of any kind.
    #[cold]
    pub(super) fn recall(&mut self, number: u32) -> Result<()> {
        let value = match self.memo.get(number) {
            Some(Value::Open(slot)) => match self.slots.get(slot).and_then(|slot| slot.closed) {
                Some(closed) => closed,
                None => {
                    self.slots.copied(slot);
                    Value::Open(slot)
                }
            },
            Some(value) => value,
            None => {
                return Err(Error::new(
                    ErrorKind::Shape,
                    format!("the pickle asks for object {number}, which it never stored"),
                ));
            }
        };
        self.push(value)
    }

    /// Recalls objects and reads flat dicts as long as there is nothing else, which is most of a
    /// file. The cursor then stands at another opcode, at one that failed or at one that is not whole.
    #[inline]
    pub(super) fn run_ahead(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        loop {
            let mut next = *cursor;
            let number = match next.u8() {
                Some(op::BINGET) => next.u8().map(u32::from),
                Some(op::LONG_BINGET) => next.u32(),
                Some(op::EMPTY_DICT) => {
                    let is_read = self.flat_dict(&mut next);
                    if !matches!(is_read, Ok(false)) {
                        *cursor = next;
                    }
                    if is_read? {
                        continue;
                    }
                    None
                }
                _ => None,
            };
            let Some(number) = number else { return Ok(()) };
            if let Some(text) = self.memo.text(number) {
                self.push(Value::Text(text))?;
            } else if let Some(record) = self.memo.record(number) {
                self.push(Value::Record(record))?;
            } else {
                self.recall(number)?;
            }
            *cursor = next;
        }
    }

    #[inline]
    pub(super) fn memoise(&mut self, number: u32) -> Result<()> {
        // Not copied: the value was just pushed part by part, and reading it whole has to wait.
        let value = self.stack.last().ok_or_else(underflow)?;
        if let Value::Open(id) = *value
            && let Some(slot) = self.slots.get_mut(id)
        {
            match slot.memo {
                None => slot.memo = Some(number),
                // A second number for one container: its slot is then never used again.
                Some(_) => self.slots.copied(id),
            }
        }
        if !self.memo.put(number, value)? {
            self.repeats.end();
        }
        Ok(())
    }
}
