//! Pickle opcodes become values. In go the file's bytes in chunks of any size, out comes one value.
//!
//! This module knows the pickle machine of every protocol from 0 to 5 and nothing of PyTorch: each
//! list, dict and tuple is handed to a [`Lower`] as soon as it is complete, which keeps of it what
//! it wants and answers with a [`Record`]. So the whole file never stands in memory, and no value
//! holds another: nothing is recursive, in reading or in dropping.
//!
//! A pickle can name classes and call them. Nothing is ever executed here: each opcode that would
//! is refused (see [`refusal`]).
#![deny(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

mod complete;
mod cursor;
mod flat;
mod here;
mod machine;
mod memo;
mod number;
mod opcode;
mod place;
mod rare;
mod recall;
mod refusal;
mod repeats;
mod slots;
mod texts;

pub use machine::Machine;
pub(crate) use place::path_from_steps;
pub use place::{Place, Step};
pub use texts::replace_texts;

use crate::error::Result;

/// A text in the [`Lower`]'s table.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TextId(pub u32);

/// Something that a [`Lower`] keeps in its own tables: the table, and the place in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// Which table; below 12.
    pub kind: u8,
    /// Place in the table; at most [`HANDLES`](crate::limits::HANDLES).
    pub index: u32,
}

/// A list or dict still under construction inside the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SlotId(pub(crate) u32);

/// One value of the pickle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer that fits into 64 signed bits.
    Int(i64),
    /// An integer from 2^63 up to 2^64 − 1.
    Wide(u64),
    /// An integer beyond 64 bits; which one is not kept.
    Huge,
    /// A float.
    Float(f64),
    /// A text.
    Text(TextId),
    /// What the [`Lower`] made of a list, a dict or a tuple.
    Record(Record),
    /// A value that nobody kept.
    Opaque,
    /// A list or dict that is not complete yet. A [`Lower`] never sees one.
    Open(SlotId),
}

/// The items of a complete list, in order.
#[derive(Clone, Copy, Debug)]
pub enum Items<'a> {
    /// Any values.
    Values(&'a [Value]),
    /// `len` records of one kind with consecutive indices from `first` on; never empty. A trace of
    /// ten million entries takes twelve bytes so.
    Run {
        /// The first record.
        first: Record,
        /// How many.
        len: u32,
    },
}

/// Takes complete values apart while the file is still being read.
pub trait Lower {
    /// The id of `bytes` (UTF-8, possibly invalid). Equal bytes must have equal ids:
    /// they may be handed over twice.
    ///
    /// # Errors
    /// [`Limit`](crate::error::ErrorKind::Limit) when there are too many.
    fn text(&mut self, bytes: &[u8]) -> Result<TextId>;

    /// What a complete tuple becomes. Equal ones must become equal values: one may be handed over
    /// twice.
    fn tuple(&mut self, items: &[Value]) -> Value;

    /// What a complete dict becomes. `pairs` alternates keys and values and is of even length; keys
    /// are of any type, and of equal ones the last counts.
    ///
    /// # Errors
    /// Any kind; the machine adds the place.
    fn dict(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value>;

    /// What a complete list becomes.
    ///
    /// # Errors
    /// Any kind; the machine adds the place.
    fn list(&mut self, items: Items<'_>, place: &dyn Place) -> Result<Value>;

    /// Whether a list of the same items would become `value` again and leave nothing else behind,
    /// so that it need not be handed over.
    fn is_repeatable(&self, value: Value) -> bool;

    /// The text behind an id, for messages.
    fn text_of(&self, id: TextId) -> std::borrow::Cow<'_, str>;
}
