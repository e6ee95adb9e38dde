//! Integers and texts from the bytes that stand for them.

use super::Value;
use crate::error::{Error, ErrorKind, Result};

/// Little-endian two's complement of the first `length` bytes, from 1 to 8, of `bytes`.
#[inline]
pub(super) fn integer_from_start(bytes: [u8; 8], length: u8) -> i64 {
    let unused = 64_u32.saturating_sub(u32::from(length).saturating_mul(8));
    i64::from_le_bytes(bytes).wrapping_shl(unused).wrapping_shr(unused)
}

/// Little-endian two's complement of any length; no bytes are 0.
pub(super) fn integer_from_bytes(bytes: &[u8]) -> Value {
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

pub(super) fn integer_from_text(text: &[u8]) -> Result<Value> {
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

pub(super) fn number_from_text(text: &[u8]) -> Result<u32> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| malformed("an object's number", text))
}

/// Protocol 0's texts: Latin-1, with `\uXXXX` and `\UXXXXXXXX` for all else.
pub(super) fn raw_unicode_unescaped(text: &[u8]) -> Vec<u8> {
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
                match char::from_u32(code) {
                    Some(character) => out.push(character),
                    // A lone surrogate is no character. Elsewhere it comes as three bytes that are
                    // no UTF-8, and each of them is replaced.
                    None => out.push_str("\u{fffd}\u{fffd}\u{fffd}"),
                }
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

#[cold]
pub(super) fn malformed(what: &str, text: &[u8]) -> Error {
    let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
    Error::new(ErrorKind::Shape, format!("{text:?} is not {what}"))
}
