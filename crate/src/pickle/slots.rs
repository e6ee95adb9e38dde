//! Lists and dicts under construction.
//!
//! A container is *open* from the opcode that makes it until its parent takes it, and is then
//! handed to the [`Lower`](super::Lower) whole. Its slot is used again once nobody on the stack
//! refers to it, so their number stays that of the nesting, not that of the file.

use super::{Items, Record, SlotId, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// What a slot holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    List,
    Dict,
}

/// One open container, or one that was open and is still referred to.
pub(super) struct Slot {
    pub(super) content: Content,
    /// What it became; the items are gone then.
    pub(super) closed: Option<Value>,
    /// The number under which it is memoised.
    pub(super) memo: Option<u32>,
    /// References to it on the stack.
    copies: u32,
    /// A list's items, or a dict's keys and values in turn. Empty while `run` holds a list's items.
    values: Vec<Value>,
    run: Option<(Record, u32)>,
}

impl Slot {
    pub(super) fn len(&self) -> usize {
        match self.run {
            Some((_, len)) => len as usize,
            None => self.values.len(),
        }
    }

    pub(super) fn is_empty_list(&self) -> bool {
        self.content == Content::List && self.closed.is_none() && self.len() == 0
    }

    pub(super) fn items(&self) -> Items<'_> {
        match self.run {
            Some((first, len)) => Items::Run { first, len },
            None => Items::Values(&self.values),
        }
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Adds items to a list; consecutive records are kept as a run.
    pub(super) fn append(&mut self, items: &[Value]) {
        let mut rest = items;
        if self.values.is_empty() {
            while let Some((Value::Record(record), after)) = rest.split_first() {
                match &mut self.run {
                    None => self.run = Some((*record, 1)),
                    Some((first, len))
                        if record.kind == first.kind
                            && Some(record.index) == first.index.checked_add(*len) =>
                    {
                        *len = len.saturating_add(1);
                    }
                    Some(_) => break,
                }
                rest = after;
            }
        }
        if rest.is_empty() {
            return;
        }
        if let Some((first, len)) = self.run.take() {
            let indices = (0..len).map(|step| first.index.wrapping_add(step));
            self.values
                .extend(indices.map(|index| Value::Record(Record { kind: first.kind, index })));
        }
        self.values.extend_from_slice(rest);
    }

    /// Adds keys and values to a dict.
    pub(super) fn insert(&mut self, pairs: &[Value]) {
        self.values.extend_from_slice(pairs);
    }
}

/// All slots, those in use and those to use again.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    unused: Vec<SlotId>,
}

impl Slots {
    /// A new open container with one reference to it.
    pub(super) fn open(&mut self, content: Content) -> Result<SlotId> {
        if let Some(id) = self.unused.pop()
            && let Some(slot) = self.slots.get_mut(id.0 as usize)
        {
            slot.content = content;
            slot.closed = None;
            slot.memo = None;
            slot.copies = 1;
            return Ok(id);
        }
        if self.slots.len() >= limits::OPEN_CONTAINERS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "more than {} lists and dicts are nested or unfinished at once",
                    limits::OPEN_CONTAINERS
                ),
            ));
        }
        let id = SlotId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.slots.push(Slot {
            content,
            closed: None,
            memo: None,
            copies: 1,
            values: Vec::new(),
            run: None,
        });
        Ok(id)
    }

    pub(super) fn get(&self, id: SlotId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.slots.get_mut(id.0 as usize)
    }

    /// One more reference to `id` stands on the stack.
    pub(super) fn copied(&mut self, id: SlotId) {
        if let Some(slot) = self.get_mut(id) {
            slot.copies = slot.copies.saturating_add(1);
        }
    }

    /// The container became `value`; its items are dropped.
    pub(super) fn close(&mut self, id: SlotId, value: Value) {
        if let Some(slot) = self.get_mut(id) {
            slot.closed = Some(value);
            slot.values.clear();
            // A slot's buffer is kept for its next user, but not that of a giant.
            slot.values.shrink_to(4096);
            slot.run = None;
        }
    }

    /// A reference to the closed container `id` left the stack.
    pub(super) fn dropped(&mut self, id: SlotId) {
        if let Some(slot) = self.get_mut(id) {
            slot.copies = slot.copies.saturating_sub(1);
            if slot.copies == 0 && slot.closed.is_some() {
                self.unused.push(id);
            }
        }
    }
}
