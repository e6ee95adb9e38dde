//! The pickle machine: one loop over opcodes, fed with chunks.

use super::cursor::Cursor;
use super::flat::Flat;
use super::here::Here;
use super::memo::Memo;
use super::number::{integer_from_bytes, integer_from_start};
use super::place::{Place as _, path_from_steps};
use super::repeats::Repeats;
use super::slots::{Content, Slots};
use super::{Lower, Value, opcode as op};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// Reads one pickle, handing its lists, dicts and tuples to `L` as they become complete.
#[derive(Default)]
pub struct Machine<L> {
    /// Takes the values.
    pub lower: L,
    pub(super) stack: Vec<Value>,
    /// Heights of the stack at which the open marks stand, lowest first.
    pub(super) marks: Vec<usize>,
    pub(super) memo: Memo,
    pub(super) slots: Slots,
    pub(super) repeats: Repeats,
    pub(super) flat: Flat,
    protocol: Option<u8>,
    offset: u64,
    result: Option<Value>,
}

/// What one opcode led to.
pub(super) enum Progress {
    Done,
    /// The chunk ends inside the opcode: nothing was changed.
    Starved,
    Stopped,
}

/// Takes what the cursor has, or reports that the chunk ends here.
macro_rules! take {
    ($read:expr) => {
        match $read {
            Some(taken) => taken,
            None => return Ok(Progress::Starved),
        }
    };
}
pub(super) use take;

impl<L: Lower> Machine<L> {
    /// A machine at byte `offset` of the file, which only serves the messages.
    pub fn new(lower: L, offset: u64) -> Self {
        Machine {
            lower,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Memo::default(),
            slots: Slots::default(),
            repeats: Repeats::default(),
            flat: Flat::default(),
            protocol: None,
            offset,
            result: None,
        }
    }

    /// Goes on with the pickle that follows the one just read.
    pub fn begin_next(&mut self) {
        self.stack.clear();
        self.marks.clear();
        self.memo = Memo::default();
        self.slots = Slots::default();
        self.repeats = Repeats::default();
        self.protocol = None;
        self.result = None;
    }

    /// The protocol that the file announces; protocols 0 and 1 announce none.
    pub fn protocol(&self) -> Option<u8> {
        self.protocol
    }

    /// Bytes consumed, counted from the start of the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The pickle's value, once its end was met.
    pub fn result(&self) -> Option<Value> {
        self.result
    }

    /// Reads on in `bytes` and answers how many of them are done with. The rest must come again at
    /// the head of the next chunk, longer than it was. Stops at the end of the pickle.
    ///
    /// # Errors
    /// All kinds but `Container` and `Io`, with the offset and, inside a record, the path.
    // Never inlined: see `crate::batches`.
    #[inline(never)]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize> {
        let start = self.offset;
        let mut cursor = Cursor::new(bytes);
        while self.result.is_none() {
            if let Err(error) = self.run_ahead(&mut cursor) {
                return Err(error.at(start.saturating_add(cursor.at() as u64)));
            }
            let before = cursor;
            match self.step(&mut cursor) {
                Ok(Progress::Done) => {}
                Ok(Progress::Starved) => {
                    cursor = before;
                    break;
                }
                Ok(Progress::Stopped) => break,
                Err(error) => return Err(error.at(start.saturating_add(before.at() as u64))),
            }
        }
        self.offset = start.saturating_add(cursor.at() as u64);
        Ok(cursor.at())
    }

    /// The error of a file that ends here.
    #[cold]
    pub fn cut(&self) -> Error {
        let path =
            path_from_steps(&self.here().steps(), &|key| self.lower.text_of(key).into_owned());
        Error::new(ErrorKind::Truncated, "the file ends in the middle of the pickle")
            .within(&path)
            .at(self.offset)
    }

    #[inline]
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<Progress> {
        match take!(cursor.u8()) {
            // Whole ones are not left by `run_ahead`.
            op::BINGET | op::LONG_BINGET => return Ok(Progress::Starved),
            op::MEMOIZE => self.memoise(self.memo.next_number())?,
            op::BINPUT => self.memoise(u32::from(take!(cursor.u8())))?,
            op::LONG_BINPUT => self.memoise(take!(cursor.u32()))?,
            op::BININT1 => self.push(Value::Int(i64::from(take!(cursor.u8()))))?,
            op::BININT2 => self.push(Value::Int(i64::from(take!(cursor.u16()))))?,
            op::BININT => {
                self.push(Value::Int(i64::from(take!(cursor.array().map(i32::from_le_bytes)))))?
            }
            op::LONG1 => {
                let length = take!(cursor.u8());
                let ahead = cursor.ahead();
                let bytes = take!(cursor.take(usize::from(length)));
                match ahead {
                    Some(ahead) if (1..=8).contains(&length) => {
                        self.push(Value::Int(integer_from_start(ahead, length)))?
                    }
                    _ => self.long(bytes)?,
                }
            }
            op::LONG4 => {
                let length = take!(cursor.u32());
                if u64::from(length) > limits::INTEGER_BYTES {
                    return Err(Error::new(
                        ErrorKind::Limit,
                        format!(
                            "an integer claims {length} bytes, more than {}",
                            limits::INTEGER_BYTES
                        ),
                    ));
                }
                let bytes = take!(cursor.take(length as usize));
                self.long(bytes)?;
            }
            op::SHORT_BINUNICODE => {
                let length = take!(cursor.u8());
                self.text(take!(cursor.take(usize::from(length))))?;
            }
            op::BINUNICODE => {
                let length = bounded(u64::from(take!(cursor.u32())))?;
                self.text(take!(cursor.take(length)))?;
            }
            op::BINUNICODE8 => {
                let length = bounded(take!(cursor.u64()))?;
                self.text(take!(cursor.take(length)))?;
            }
            op::SHORT_BINSTRING => {
                let length = take!(cursor.u8());
                self.text(take!(cursor.take(usize::from(length))))?;
            }
            op::BINSTRING => {
                let length = bounded(u64::from(take!(cursor.u32())))?;
                self.text(take!(cursor.take(length)))?;
            }
            op::SHORT_BINBYTES => {
                let length = take!(cursor.u8());
                take!(cursor.take(usize::from(length)));
                self.push(Value::Opaque)?;
            }
            op::BINBYTES => {
                let length = bounded(u64::from(take!(cursor.u32())))?;
                take!(cursor.take(length));
                self.push(Value::Opaque)?;
            }
            op::BINBYTES8 | op::BYTEARRAY8 => {
                let length = bounded(take!(cursor.u64()))?;
                take!(cursor.take(length));
                self.push(Value::Opaque)?;
            }
            op::EMPTY_DICT => self.open(Content::Dict)?,
            op::EMPTY_LIST => self.open(Content::List)?,
            op::MARK => {
                self.mark()?;
                self.repeat_list(cursor);
            }
            op::SETITEMS => self.set_items()?,
            op::APPENDS => self.append_items()?,
            op::SETITEM => self.set_item()?,
            op::APPEND => self.append_item()?,
            op::TUPLE1 => self.tuple(1)?,
            op::TUPLE2 => self.tuple(2)?,
            op::TUPLE3 => self.tuple(3)?,
            op::NEWTRUE => self.push(Value::Bool(true))?,
            op::NEWFALSE => self.push(Value::Bool(false))?,
            op::NONE => self.push(Value::None)?,
            op::BINFLOAT => {
                self.push(Value::Float(take!(cursor.array().map(f64::from_be_bytes))))?
            }
            op::FRAME => {
                take!(cursor.u64());
            }
            op::STOP => {
                let value = self.pop()?;
                self.result = Some(self.closed(value)?);
                return Ok(Progress::Stopped);
            }
            op::PROTO => {
                let protocol = take!(cursor.u8());
                if protocol > 5 {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("the pickle's protocol is {protocol}; 0 to 5 are known"),
                    ));
                }
                self.protocol = Some(protocol);
            }
            rare => return self.rare(rare, cursor),
        }
        Ok(Progress::Done)
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) -> Result<()> {
        if self.stack.len() >= limits::STACK_VALUES {
            return Err(overflow());
        }
        self.stack.push(value);
        Ok(())
    }

    /// Takes the top value; values below an open mark are out of reach.
    pub(super) fn pop(&mut self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(underflow());
        }
        self.stack.pop().ok_or_else(underflow)
    }

    fn mark(&mut self) -> Result<()> {
        if self.marks.len() >= limits::OPEN_CONTAINERS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("more than {} marks are open at once", limits::OPEN_CONTAINERS),
            ));
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    pub(super) fn unmark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(underflow)
    }

    pub(super) fn split(&mut self, mark: usize) -> Vec<Value> {
        if mark <= self.stack.len() { self.stack.split_off(mark) } else { Vec::new() }
    }

    /// Apart from the short integers, so that those are not put together in memory too.
    #[cold]
    fn long(&mut self, bytes: &[u8]) -> Result<()> {
        self.push(integer_from_bytes(bytes))
    }

    pub(super) fn text(&mut self, bytes: &[u8]) -> Result<()> {
        let id = self.lower.text(bytes)?;
        self.push(Value::Text(id))
    }

    pub(super) fn open(&mut self, content: Content) -> Result<()> {
        let slot = self.slots.open(content)?;
        self.push(Value::Open(slot))
    }

    /// The place of the innermost container under construction.
    fn here(&self) -> Here<'_> {
        let above = self.marks.len().saturating_sub(1);
        let end = self.marks.last().copied().unwrap_or(self.stack.len());
        Here {
            stack: self.stack.get(..end).unwrap_or_default(),
            marks: self.marks.get(..above).unwrap_or_default(),
            slots: &self.slots,
        }
    }
}

#[cold]
fn overflow() -> Error {
    Error::new(
        ErrorKind::Limit,
        format!("more than {} values wait on the pickle's stack", limits::STACK_VALUES),
    )
}

#[cold]
pub(super) fn underflow() -> Error {
    Error::new(ErrorKind::Shape, "the pickle takes a value from an empty stack")
}

/// The length of a text, if it is one that is read.
pub(super) fn bounded(length: u64) -> Result<usize> {
    match usize::try_from(length) {
        Ok(short) if length <= limits::TEXT_BYTES => Ok(short),
        _ => Err(Error::new(
            ErrorKind::Limit,
            format!("a text claims {length} bytes, more than {}", limits::TEXT_BYTES),
        )),
    }
}
