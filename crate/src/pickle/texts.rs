//! A pickle's texts replaced, and all else left as it is: opcode by opcode, without their values.

use super::cursor::Cursor;
use super::machine::bounded;
use super::opcode as op;
use crate::error::{Error, ErrorKind, Result};

/// How the text of an opcode is written.
#[derive(Clone, Copy)]
enum Form {
    /// After its length, of so many bytes.
    Counted(usize),
    /// Up to the end of the line.
    Line,
    /// The same, in quotes.
    Quoted,
}

/// Copies the whole opcodes that `bytes` begin with to `out`, each text as `replaced` answers, which
/// must not be longer. Answers the bytes done with, and whether the last of them ends the pickle.
///
/// Frames are left out: their lengths would be wrong, and no reader needs them.
///
/// # Errors
/// [`ErrorKind::Shape`] for an opcode that no protocol has, [`ErrorKind::Limit`] for a longer text
/// than is read elsewhere. Byte offsets are counted from the start of `bytes`.
pub fn replace_texts(
    bytes: &[u8],
    out: &mut Vec<u8>,
    replaced: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<(usize, bool)> {
    let mut cursor = Cursor::new(bytes);
    loop {
        let begin = cursor.at();
        let Some(opcode) = cursor.u8() else { return Ok((begin, false)) };
        let Some(text) = pass(opcode, &mut cursor)
            .map_err(|error| error.at(u64::try_from(begin).unwrap_or(u64::MAX)))?
        else {
            return Ok((begin, false));
        };
        let whole = bytes.get(begin..cursor.at()).unwrap_or_default();
        match text {
            Some((text, form)) => write_text(opcode, &replaced(text), form, out),
            None if opcode == op::FRAME => {}
            None => out.extend_from_slice(whole),
        }
        if opcode == op::STOP {
            return Ok((cursor.at(), true));
        }
    }
}

fn write_text(opcode: u8, text: &[u8], form: Form, out: &mut Vec<u8>) {
    out.push(opcode);
    match form {
        Form::Counted(width) => {
            let length = (text.len() as u64).to_le_bytes();
            out.extend_from_slice(length.get(..width).unwrap_or_default());
            out.extend_from_slice(text);
        }
        Form::Line => {
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Form::Quoted => {
            out.push(b'\'');
            out.extend_from_slice(text);
            out.extend_from_slice(b"'\n");
        }
    }
}

/// Passes an opcode's arguments and answers its text, where it has one; `None` where the bytes end
/// before.
#[expect(clippy::type_complexity, reason = "an answer that nobody else has")]
fn pass<'a>(opcode: u8, cursor: &mut Cursor<'a>) -> Result<Option<Option<(&'a [u8], Form)>>> {
    let without = |passed: Option<&[u8]>| Ok(passed.map(|_| None));
    match opcode {
        op::SHORT_BINUNICODE | op::SHORT_BINSTRING | op::SHORT_BINBYTES | op::LONG1 => {
            let Some(length) = cursor.u8() else { return Ok(None) };
            let taken = cursor.take(usize::from(length));
            if opcode == op::LONG1 { without(taken) } else { Ok(counted(taken, 1)) }
        }
        op::BINUNICODE | op::BINSTRING | op::BINBYTES | op::LONG4 => {
            let Some(length) = cursor.u32() else { return Ok(None) };
            let taken = cursor.take(bounded(u64::from(length))?);
            if opcode == op::LONG4 { without(taken) } else { Ok(counted(taken, 4)) }
        }
        op::BINUNICODE8 | op::BINBYTES8 | op::BYTEARRAY8 => {
            let Some(length) = cursor.u64() else { return Ok(None) };
            Ok(counted(cursor.take(bounded(length)?), 8))
        }
        op::UNICODE => Ok(cursor.line().map(|text| Some((text, Form::Line)))),
        op::STRING => Ok(cursor.line().map(|text| {
            let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
            Some((inner, Form::Quoted))
        })),
        op::INT | op::LONG | op::FLOAT | op::GET | op::PUT | op::PERSID => without(cursor.line()),
        op::GLOBAL | op::INST => without(cursor.line().and_then(|_| cursor.line())),
        op::BININT1 | op::BINGET | op::BINPUT | op::PROTO | op::EXT1 => without(cursor.take(1)),
        op::BININT2 | op::EXT2 => without(cursor.take(2)),
        op::BININT | op::LONG_BINGET | op::LONG_BINPUT | op::EXT4 => without(cursor.take(4)),
        op::BINFLOAT | op::FRAME => without(cursor.take(8)),
        op::MARK
        | op::STOP
        | op::POP
        | op::POP_MARK
        | op::DUP
        | op::NONE
        | op::BINPERSID
        | op::REDUCE
        | op::APPEND
        | op::BUILD
        | op::DICT
        | op::EMPTY_DICT
        | op::APPENDS
        | op::LIST
        | op::EMPTY_LIST
        | op::OBJ
        | op::SETITEM
        | op::TUPLE
        | op::EMPTY_TUPLE
        | op::SETITEMS
        | op::NEWOBJ
        | op::TUPLE1
        | op::TUPLE2
        | op::TUPLE3
        | op::NEWTRUE
        | op::NEWFALSE
        | op::EMPTY_SET
        | op::ADDITEMS
        | op::FROZENSET
        | op::NEWOBJ_EX
        | op::STACK_GLOBAL
        | op::MEMOIZE
        | op::NEXT_BUFFER
        | op::READONLY_BUFFER => Ok(Some(None)),
        other => Err(Error::new(ErrorKind::Shape, format!("no pickle has an opcode {other:#04x}"))),
    }
}

fn counted(text: Option<&[u8]>, width: usize) -> Option<Option<(&[u8], Form)>> {
    text.map(|text| Some((text, Form::Counted(width))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let first = |text: &[u8]| text.get(..1).unwrap_or_default().to_vec();
        let (done, has_ended) = replace_texts(bytes, &mut out, first).unwrap();
        assert_eq!((done, has_ended), (bytes.len(), true));
        out
    }

    #[test]
    fn each_text_is_replaced_in_its_own_form() {
        assert_eq!(shortened(b"\x80\x04\x8c\x03abc\x94."), b"\x80\x04\x8c\x01a\x94.");
        assert_eq!(shortened(b"X\x03\0\0\0abcq\x01."), b"X\x01\0\0\0aq\x01.");
        assert_eq!(shortened(b"\x8d\x03\0\0\0\0\0\0\0abc."), b"\x8d\x01\0\0\0\0\0\0\0a.");
        assert_eq!(shortened(b"Vabc\np0\n."), b"Va\np0\n.");
        assert_eq!(shortened(b"S\"abc\"\np0\n."), b"S'a'\np0\n.");
        assert_eq!(shortened(b"C\x02ab."), b"C\x01a.");
    }

    #[test]
    fn frames_go_and_numbers_stay() {
        let pickle = b"\x80\x04\x95\x09\0\0\0\0\0\0\0K\x2e\x8a\x02\x8c\x8cM\x58\x58G........e.";
        assert_eq!(shortened(pickle), b"\x80\x04K\x2e\x8a\x02\x8c\x8cM\x58\x58G........e.");
    }

    #[test]
    fn what_is_cut_waits_for_the_rest() {
        let pickle = b"K\x01X\x03\0\0\0abc.";
        for cut in 2..9 {
            let mut out = Vec::new();
            let answer = replace_texts(&pickle[..cut], &mut out, <[u8]>::to_vec).unwrap();
            assert_eq!((answer, &out[..]), ((2, false), &b"K\x01"[..]), "{cut}");
        }
    }

    #[test]
    fn what_is_no_opcode_is_refused_with_its_place() {
        let error = replace_texts(b"N\xff", &mut Vec::new(), <[u8]>::to_vec).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Shape, Some(1)));
    }
}
