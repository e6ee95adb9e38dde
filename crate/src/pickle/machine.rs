//! The pickle machine: one loop over opcodes, fed with chunks.

use super::cursor::Cursor;
use super::memo::Memo;
use super::opcode as op;
use super::place::{Place, Step, path_from_steps};
use super::slots::{Content, Slots};
use super::{Lower, SlotId, Value, refusal};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// CPython writes lists and dicts in batches of this many; a smaller batch is the last one.
const BATCH: usize = 1000;

/// Reads one pickle, handing its lists, dicts and tuples to `L` as they become complete.
#[derive(Default)]
pub struct Machine<L> {
    /// Takes the values.
    pub lower: L,
    stack: Vec<Value>,
    /// Heights of the stack at which the open marks stand, lowest first.
    marks: Vec<usize>,
    memo: Memo,
    slots: Slots,
    protocol: Option<u8>,
    offset: u64,
    result: Option<Value>,
}

/// What one opcode led to.
enum Progress {
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

impl<L: Lower> Machine<L> {
    /// A machine at byte `offset` of the file, which only serves the messages.
    pub fn new(lower: L, offset: u64) -> Self {
        Machine {
            lower,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Memo::default(),
            slots: Slots::default(),
            protocol: None,
            offset,
            result: None,
        }
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
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize> {
        let start = self.offset;
        let mut cursor = Cursor::new(bytes);
        while self.result.is_none() {
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
        let path = path_from_steps(&self.steps(), &|key| self.lower.text_of(key).into_owned());
        Error::new(ErrorKind::Truncated, "the file ends in the middle of the pickle")
            .within(&path)
            .at(self.offset)
    }

    #[inline]
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<Progress> {
        match take!(cursor.u8()) {
            op::LONG_BINGET => self.recall(take!(cursor.u32()))?,
            op::BINGET => self.recall(u32::from(take!(cursor.u8())))?,
            op::MEMOIZE => self.memoise(self.memo.next_number())?,
            op::BINPUT => self.memoise(u32::from(take!(cursor.u8())))?,
            op::LONG_BINPUT => self.memoise(take!(cursor.u32()))?,
            op::BININT1 => self.push(Value::Int(i64::from(take!(cursor.u8()))))?,
            op::BININT2 => self.push(Value::Int(i64::from(take!(cursor.u16()))))?,
            op::BININT => {
                self.push(Value::Int(i64::from(take!(cursor.array().map(i32::from_le_bytes)))))?
            }
            op::LONG1 => {
                let length = u64::from(take!(cursor.u8()));
                let bytes = take!(cursor.take(usize::try_from(length).unwrap_or(usize::MAX)));
                self.push(integer_from_bytes(bytes))?;
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
                self.push(integer_from_bytes(bytes))?;
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
                if self.marks.len() >= limits::OPEN_CONTAINERS {
                    return Err(Error::new(
                        ErrorKind::Limit,
                        format!("more than {} marks are open at once", limits::OPEN_CONTAINERS),
                    ));
                }
                self.marks.push(self.stack.len());
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

    /// The opcodes of hand-made and of very old pickles, and those that are refused.
    #[cold]
    fn rare(&mut self, opcode: u8, cursor: &mut Cursor<'_>) -> Result<Progress> {
        match opcode {
            op::EMPTY_TUPLE => self.tuple(0)?,
            op::TUPLE => {
                let mark = self.unmark()?;
                self.tuple(self.stack.len().saturating_sub(mark))?;
            }
            op::LIST | op::DICT => {
                let mark = self.unmark()?;
                let items = self.split(mark);
                let content = if opcode == op::LIST { Content::List } else { Content::Dict };
                self.open(content)?;
                if !items.is_empty() {
                    self.marks.push(self.stack.len());
                    self.stack.extend(items);
                    if content == Content::List { self.append_items()? } else { self.set_items()? }
                }
            }
            op::POP => {
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            op::POP_MARK => {
                let mark = self.unmark()?;
                self.stack.truncate(mark);
            }
            op::DUP => {
                let value = self.pop()?;
                self.push(value)?;
                if let Value::Open(slot) = value {
                    self.slots.copied(slot);
                }
                self.push(value)?;
            }
            op::INT => match take!(line(cursor)?) {
                b"00" => self.push(Value::Bool(false))?,
                b"01" => self.push(Value::Bool(true))?,
                text => self.push(integer_from_text(text)?)?,
            },
            op::LONG => {
                let text = take!(line(cursor)?);
                self.push(integer_from_text(text.strip_suffix(b"L").unwrap_or(text))?)?;
            }
            op::FLOAT => {
                let text = take!(line(cursor)?);
                let float =
                    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
                self.push(Value::Float(float.ok_or_else(|| malformed("a float", text))?))?;
            }
            op::UNICODE => {
                let text = take!(line(cursor)?);
                self.text(&raw_unicode_unescaped(text))?;
            }
            op::STRING => {
                let text = take!(line(cursor)?);
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
                self.text(inner)?;
            }
            op::GET => {
                let number = number_from_text(take!(line(cursor)?))?;
                self.recall(number)?;
            }
            op::PUT => {
                let number = number_from_text(take!(line(cursor)?))?;
                self.memoise(number)?;
            }
            // Sets occur in no snapshot; their items are dropped.
            op::EMPTY_SET => self.push(Value::Opaque)?,
            op::ADDITEMS => {
                let mark = self.unmark()?;
                self.stack.truncate(mark);
            }
            op::FROZENSET => {
                let mark = self.unmark()?;
                self.stack.truncate(mark);
                self.push(Value::Opaque)?;
            }
            op::GLOBAL | op::INST => {
                let mut names = *cursor;
                let module = take!(line(&mut names)?);
                let name = take!(line(&mut names)?);
                return Err(refusal::global(
                    &String::from_utf8_lossy(module),
                    &String::from_utf8_lossy(name),
                ));
            }
            op::STACK_GLOBAL => {
                let name = self.pop()?;
                let module = self.pop()?;
                let text = |value| match value {
                    Value::Text(id) => self.lower.text_of(id),
                    _ => "?".into(),
                };
                return Err(refusal::global(&text(module), &text(name)));
            }
            op::PERSID | op::BINPERSID => return Err(refusal::persistent()),
            op::REDUCE => return Err(refusal::object("REDUCE")),
            op::OBJ => return Err(refusal::object("OBJ")),
            op::NEWOBJ => return Err(refusal::object("NEWOBJ")),
            op::NEWOBJ_EX => return Err(refusal::object("NEWOBJ_EX")),
            op::BUILD => return Err(refusal::object("BUILD")),
            op::EXT1 | op::EXT2 | op::EXT4 => return Err(refusal::outside("EXT")),
            op::NEXT_BUFFER => return Err(refusal::outside("NEXT_BUFFER")),
            op::READONLY_BUFFER => return Err(refusal::outside("READONLY_BUFFER")),
            unknown => {
                return Err(Error::new(
                    ErrorKind::NotASnapshot,
                    format!(
                        "byte 0x{unknown:02x} is no pickle opcode, so the file is damaged or not a pickle"
                    ),
                ));
            }
        }
        Ok(Progress::Done)
    }

    #[inline]
    fn push(&mut self, value: Value) -> Result<()> {
        if self.stack.len() >= limits::STACK_VALUES {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("more than {} values wait on the pickle's stack", limits::STACK_VALUES),
            ));
        }
        self.stack.push(value);
        Ok(())
    }

    /// Takes the top value; values below an open mark are out of reach.
    fn pop(&mut self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(underflow());
        }
        self.stack.pop().ok_or_else(underflow)
    }

    fn unmark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(underflow)
    }

    fn split(&mut self, mark: usize) -> Vec<Value> {
        if mark <= self.stack.len() { self.stack.split_off(mark) } else { Vec::new() }
    }

    fn text(&mut self, bytes: &[u8]) -> Result<()> {
        let id = self.lower.text(bytes)?;
        self.push(Value::Text(id))
    }

    fn open(&mut self, content: Content) -> Result<()> {
        let slot = self.slots.open(content)?;
        self.push(Value::Open(slot))
    }

    #[inline]
    fn recall(&mut self, number: u32) -> Result<()> {
        let Some(value) = self.memo.get(number) else {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("the pickle asks for object {number}, which it never stored"),
            ));
        };
        let value = match value {
            Value::Open(slot) => match self.slots.get(slot).and_then(|slot| slot.closed) {
                Some(closed) => closed,
                None => {
                    self.slots.copied(slot);
                    value
                }
            },
            other => other,
        };
        self.push(value)
    }

    #[inline]
    fn memoise(&mut self, number: u32) -> Result<()> {
        let value = *self.stack.last().ok_or_else(underflow)?;
        if let Value::Open(id) = value
            && let Some(slot) = self.slots.get_mut(id)
        {
            match slot.memo {
                None => slot.memo = Some(number),
                // A second number for one container: its slot is then never used again.
                Some(_) => self.slots.copied(id),
            }
        }
        self.memo.put(number, value)
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
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
    fn closed(&mut self, value: Value) -> Result<Value> {
        match value {
            Value::Open(slot) => self.close(slot),
            other => Ok(other),
        }
    }

    fn close(&mut self, id: SlotId) -> Result<Value> {
        let Machine { lower, slots, stack, marks, .. } = self;
        let slot = slots.get(id).ok_or_else(underflow)?;
        let memo = slot.memo;
        let value = match slot.closed {
            Some(closed) => closed,
            None => {
                let place = Here { stack, marks, slots };
                let lowered = match slot.content {
                    Content::List => lower.list(slot.items(), &place),
                    Content::Dict => lower.dict(slot.values(), &place),
                };
                lowered.map_err(|error| located(error, &place, lower))?
            }
        };
        self.slots.close(id, value);
        if let Some(number) = memo {
            self.memo.replace_open(number, id, value);
        }
        self.slots.dropped(id);
        Ok(value)
    }

    /// Closes the open containers among the topmost values, from `mark` on.
    #[inline]
    fn close_from(&mut self, mark: usize) -> Result<()> {
        for place in mark..self.stack.len() {
            if let Some(Value::Open(slot)) = self.stack.get(place).copied() {
                let value = self.close(slot)?;
                if let Some(old) = self.stack.get_mut(place) {
                    *old = value;
                }
            }
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

    fn append_items(&mut self) -> Result<()> {
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

    fn append_item(&mut self) -> Result<()> {
        let item = self.pop()?;
        let item = self.closed(item)?;
        let id = self.container(self.stack.len(), Content::List)?;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.append(&[item]);
        }
        Ok(())
    }

    fn set_items(&mut self) -> Result<()> {
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
        let memo = slot.memo;
        let place = Here { stack, marks, slots };
        let pairs = stack.get(mark..).unwrap_or_default();
        let value = lower.dict(pairs, &place).map_err(|error| located(error, &place, lower))?;
        self.slots.close(id, value);
        if let Some(number) = memo {
            self.memo.replace_open(number, id, value);
        }
        self.stack.truncate(mark.saturating_sub(1));
        self.marks.pop();
        self.slots.dropped(id);
        self.push(value)
    }

    fn set_item(&mut self) -> Result<()> {
        let value = self.pop()?;
        let value = self.closed(value)?;
        let key = self.pop()?;
        let key = self.closed(key)?;
        let id = self.container(self.stack.len(), Content::Dict)?;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.insert(&[key, value]);
        }
        Ok(())
    }

    fn steps(&self) -> Vec<Step> {
        Here { stack: &self.stack, marks: &self.marks, slots: &self.slots }.steps()
    }
}

/// The machine's place, read off its stack: below each mark stands the container that the values
/// above it will go to.
struct Here<'a> {
    stack: &'a [Value],
    marks: &'a [usize],
    slots: &'a Slots,
}

impl Place for Here<'_> {
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (level, mark) in self.marks.iter().enumerate() {
            let above = level.checked_add(1).and_then(|next| self.marks.get(next));
            // The innermost container is the value in hand itself.
            let Some(child) = above.and_then(|mark| mark.checked_sub(1)) else { break };
            let Some(Value::Open(id)) = mark.checked_sub(1).and_then(|place| self.stack.get(place))
            else {
                continue;
            };
            let Some(slot) = self.slots.get(*id) else { continue };
            match slot.content {
                Content::List => {
                    let index = slot.len().saturating_add(child.saturating_sub(*mark));
                    steps.push(Step::Index(index as u64));
                }
                Content::Dict => {
                    if let Some(Value::Text(key)) =
                        child.checked_sub(1).and_then(|place| self.stack.get(place))
                    {
                        steps.push(Step::Key(*key));
                    }
                }
            }
        }
        steps
    }
}

#[cold]
fn located<L: Lower>(error: Error, place: &Here<'_>, lower: &L) -> Error {
    error.within(&path_from_steps(&place.steps(), &|key| lower.text_of(key).into_owned()))
}

#[cold]
fn underflow() -> Error {
    Error::new(ErrorKind::Shape, "the pickle takes a value from an empty stack")
}

#[cold]
fn continued() -> Error {
    Error::new(
        ErrorKind::Shape,
        "the pickle adds items to a list or dict that was complete already, or that contains itself",
    )
}

#[cold]
fn malformed(what: &str, text: &[u8]) -> Error {
    let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
    Error::new(ErrorKind::Shape, format!("{text:?} is not {what}"))
}

fn bounded(length: u64) -> Result<usize> {
    match usize::try_from(length) {
        Ok(short) if length <= limits::TEXT_BYTES => Ok(short),
        _ => Err(Error::new(
            ErrorKind::Limit,
            format!("a text claims {length} bytes, more than {}", limits::TEXT_BYTES),
        )),
    }
}

fn line<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>> {
    match cursor.line() {
        None if cursor.left() > limits::LINE_BYTES => Err(Error::new(
            ErrorKind::Limit,
            format!("a line is longer than {} bytes", limits::LINE_BYTES),
        )),
        line => Ok(line.map(|line| line.strip_suffix(b"\r").unwrap_or(line))),
    }
}

/// Little-endian two's complement of any length; no bytes are 0.
fn integer_from_bytes(bytes: &[u8]) -> Value {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let mut low = [fill; 8];
    for (place, byte) in low.iter_mut().zip(bytes) {
        *place = *byte;
    }
    let rest_is_sign = bytes.iter().skip(8).all(|byte| *byte == fill);
    let signed = i64::from_le_bytes(low);
    if rest_is_sign && (signed < 0) == negative {
        Value::Int(signed)
    } else if rest_is_sign && !negative {
        Value::Wide(u64::from_le_bytes(low))
    } else {
        Value::Huge
    }
}

fn integer_from_text(text: &[u8]) -> Result<Value> {
    let digits = std::str::from_utf8(text).map_err(|_| malformed("an integer", text))?.trim();
    if let Ok(integer) = digits.parse() {
        return Ok(Value::Int(integer));
    }
    if let Ok(integer) = digits.parse() {
        return Ok(Value::Wide(integer));
    }
    let bare = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    if !bare.is_empty() && bare.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(Value::Huge);
    }
    Err(malformed("an integer", text))
}

fn number_from_text(text: &[u8]) -> Result<u32> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| malformed("an object's number", text))
}

/// Protocol 0's texts: Latin-1, with `\uXXXX` and `\UXXXXXXXX` for all else.
fn raw_unicode_unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let digits: usize = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        let code = after.get(1..digits.max(1).saturating_add(usize::from(digits > 0)));
        let code = code
            .and_then(|code| std::str::from_utf8(code).ok())
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        match code {
            Some(code) if digits > 0 => {
                // A lone surrogate is no character: it is replaced, as everywhere here.
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = after.get(digits.saturating_add(1)..).unwrap_or_default();
            }
            _ => {
                out.push(char::from(byte));
                rest = after;
            }
        }
    }
    out.into_bytes()
}
