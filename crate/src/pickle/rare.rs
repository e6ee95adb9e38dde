//! The opcodes of hand-made and of very old pickles, and those that are refused.

use super::cursor::Cursor;
use super::machine::{Machine, Progress, take};
use super::number::{integer_from_text, malformed, number_from_text, raw_unicode_unescaped};
use super::slots::Content;
use super::{Lower, Value, opcode as op, refusal};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

impl<L: Lower> Machine<L> {
    /// The opcodes of hand-made and of very old pickles, and those that are refused.
    #[cold]
    pub(super) fn rare(&mut self, opcode: u8, cursor: &mut Cursor<'_>) -> Result<Progress> {
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
