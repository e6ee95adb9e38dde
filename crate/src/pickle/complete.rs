//! Items go into lists and dicts, and complete lists, dicts and tuples to the [`Lower`].

use super::here::{Here, located};
use super::machine::{Machine, underflow};
use super::slots::Content;
use super::{Lower, SlotId, Value};
use crate::error::{Error, ErrorKind, Result};

/// CPython writes lists and dicts in batches of this many; a smaller batch is the last one.
pub(super) const BATCH: usize = 1000;

impl<L: Lower> Machine<L> {
    pub(super) fn tuple(&mut self, count: usize) -> Result<()> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let begin = self
            .stack
            .len()
            .checked_sub(count)
            .filter(|begin| *begin >= floor)
            .ok_or_else(underflow)?;
        let mut items = self.split(begin);
        for item in &mut items {
            *item = self.closed(*item)?;
        }
        let value = self.lower.tuple(&items);
        self.push(value)
    }

    /// The value in its final form: an open container is handed to the lowering now.
    #[inline]
    pub(super) fn closed(&mut self, value: Value) -> Result<Value> {
        match value {
            Value::Open(slot) => self.close(slot, self.stack.len()),
            other => Ok(other),
        }
    }

    /// The topmost value, closed while it still stands on the stack, which tells its place.
    fn pop_closed(&mut self) -> Result<Value> {
        let value = self.pop()?;
        self.push(value)?;
        let closed = match value {
            Value::Open(slot) => self.close(slot, self.stack.len())?,
            other => other,
        };
        self.stack.pop();
        Ok(closed)
    }

    /// Hands the container `id` to the lowering; `end` is one past its place on the stack.
    fn close(&mut self, id: SlotId, end: usize) -> Result<Value> {
        let Machine { lower, slots, stack, marks, repeats, .. } = self;
        let slot = slots.get(id).ok_or_else(underflow)?;
        let value = match slot.closed {
            Some(closed) => closed,
            None => {
                let stack = stack.get(..end).unwrap_or_default();
                let place = Here { stack, marks, slots };
                let lowered = match slot.content {
                    Content::List => lower.list(slot.items(), &place),
                    Content::Dict => lower.dict(slot.values(), &place),
                };
                let value = lowered.map_err(|error| located(error, &place, lower))?;
                let is_repeatable = lower.is_repeatable(value);
                if slot.is_empty_list() {
                    repeats.settle_empty(value, is_repeatable);
                }
                repeats.settle(id, value, is_repeatable);
                value
            }
        };
        self.settle(id, value);
        Ok(value)
    }

    /// The open container `id`, taken off the stack, became `value`.
    pub(super) fn settle(&mut self, id: SlotId, value: Value) {
        if let Some(number) = self.slots.get(id).and_then(|slot| slot.memo) {
            self.memo.replace_open(number, id, value);
        }
        self.slots.close(id, value);
        self.slots.dropped(id);
    }

    /// Closes the open containers among the topmost values, from `mark` on.
    #[inline]
    pub(super) fn close_from(&mut self, mark: usize) -> Result<()> {
        let mut begin = mark;
        let is_open = |value: &Value| matches!(value, Value::Open(_));
        while let Some(skipped) =
            self.stack.get(begin..).and_then(|rest| rest.iter().position(is_open))
        {
            let place = begin.saturating_add(skipped);
            if let Some(Value::Open(slot)) = self.stack.get(place).copied() {
                let value = self.close(slot, place.saturating_add(1))?;
                if let Some(old) = self.stack.get_mut(place) {
                    *old = value;
                }
            }
            begin = place.saturating_add(1);
        }
        Ok(())
    }

    /// The open container below `mark`.
    fn container(&self, mark: usize, content: Content) -> Result<SlotId> {
        let below = mark.checked_sub(1).and_then(|place| self.stack.get(place));
        let Some(Value::Open(id)) = below.copied() else {
            return match below {
                Some(Value::Record(_) | Value::Opaque) => Err(continued()),
                _ => Err(Error::new(
                    ErrorKind::Shape,
                    "the pickle adds items to a value that is neither a list nor a dict",
                )),
            };
        };
        match self.slots.get(id) {
            Some(slot) if slot.closed.is_some() => Err(continued()),
            Some(slot) if slot.content == content => Ok(id),
            _ => Err(Error::new(
                ErrorKind::Shape,
                "the pickle adds items of a list to a dict, or of a dict to a list",
            )),
        }
    }

    pub(super) fn append_items(&mut self) -> Result<()> {
        let mark = *self.marks.last().ok_or_else(underflow)?;
        self.close_from(mark)?;
        let id = self.container(mark, Content::List)?;
        if let (Some(slot), Some(items)) = (self.slots.get_mut(id), self.stack.get(mark..)) {
            slot.append(items);
        }
        self.stack.truncate(mark);
        self.marks.pop();
        Ok(())
    }

    pub(super) fn append_item(&mut self) -> Result<()> {
        let item = self.pop_closed()?;
        let id = self.container(self.stack.len(), Content::List)?;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.append(&[item]);
        }
        Ok(())
    }

    pub(super) fn set_items(&mut self) -> Result<()> {
        let mark = *self.marks.last().ok_or_else(underflow)?;
        self.close_from(mark)?;
        let id = self.container(mark, Content::Dict)?;
        let count = self.stack.len().saturating_sub(mark);
        if count % 2 == 1 {
            return Err(Error::new(ErrorKind::Shape, "the pickle sets a key without a value"));
        }
        let Machine { lower, slots, stack, marks, .. } = self;
        let slot = slots.get(id).ok_or_else(underflow)?;
        let complete = slot.len() == 0 && count < 2 * BATCH;
        if !complete {
            if let (Some(slot), Some(pairs)) = (slots.get_mut(id), stack.get(mark..)) {
                slot.insert(pairs);
            }
            self.stack.truncate(mark);
            self.marks.pop();
            return Ok(());
        }
        let above = marks.len().saturating_sub(1);
        let place = Here {
            stack: stack.get(..mark).unwrap_or_default(),
            marks: marks.get(..above).unwrap_or_default(),
            slots,
        };
        let pairs = stack.get(mark..).unwrap_or_default();
        let value = lower.dict(pairs, &place).map_err(|error| located(error, &place, lower))?;
        self.settle(id, value);
        self.stack.truncate(mark.saturating_sub(1));
        self.marks.pop();
        self.push(value)
    }

    pub(super) fn set_item(&mut self) -> Result<()> {
        let value = self.pop_closed()?;
        let key = self.pop_closed()?;
        let id = self.container(self.stack.len(), Content::Dict)?;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.insert(&[key, value]);
        }
        Ok(())
    }
}

#[cold]
fn continued() -> Error {
    Error::new(
        ErrorKind::Shape,
        "the pickle adds items to a list or dict that was complete already, or that contains itself",
    )
}
