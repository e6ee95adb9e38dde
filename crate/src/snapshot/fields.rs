//! A record's field as the type that it must have.

use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::pickle::Value;

/// What a value is, for messages.
fn kind(value: Value) -> &'static str {
    match value {
        Value::None => "None",
        Value::Bool(_) => "a truth value",
        Value::Int(_) | Value::Wide(_) => "a number out of range",
        Value::Huge => "an integer beyond 64 bits",
        Value::Float(_) => "a fraction",
        Value::Text(_) => "text",
        Value::Record(_) | Value::Opaque | Value::Open(_) => "a list, dict or other object",
    }
}

#[cold]
fn wrong(field: &str, value: Value, expected: &str) -> Error {
    Error::new(ErrorKind::Shape, format!("{field} is {}, expected {expected}", kind(value)))
        .within(field)
}

/// A size in bytes.
pub(super) fn size(field: &str, value: Value) -> Result<u64> {
    let size = match value {
        Value::Int(size) => u64::try_from(size).ok(),
        Value::Float(size) => whole(size),
        _ => None,
    };
    size.filter(|size| *size <= limits::SIZE_BYTES)
        .ok_or_else(|| wrong(field, value, "bytes from 0 to 2^60"))
}

/// A 64-bit address or handle. The C++ writer stores those from 2^63 on as negative numbers.
pub(super) fn address(field: &str, value: Value) -> Result<u64> {
    match value {
        Value::Int(signed) => Ok(u64::from_ne_bytes(signed.to_ne_bytes())),
        Value::Wide(address) => Ok(address),
        Value::Float(address) => {
            whole(address).ok_or_else(|| wrong(field, value, "a 64-bit number"))
        }
        _ => Err(wrong(field, value, "a 64-bit number")),
    }
}

/// A time in µs; one that is no integer counts as missing.
pub(super) fn time(value: Value) -> Option<i64> {
    match value {
        Value::Int(time) => Some(time),
        Value::Float(time) => whole(time).and_then(|time| i64::try_from(time).ok()),
        _ => None,
    }
}

/// A line: 0 where unknown, which writers also spell −1 and 2^64 − 1.
pub(super) fn line(value: Value) -> u32 {
    match value {
        Value::Int(line) => u32::try_from(line).unwrap_or(0),
        Value::Float(line) => whole(line).and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
        _ => 0,
    }
}

/// A device: `None` for −1, which stands for the host.
pub(super) fn device(value: Value) -> Result<Option<u32>> {
    let device = match value {
        Value::Int(-1) => return Ok(None),
        Value::Int(device) => u32::try_from(device).ok(),
        Value::Float(device) => whole(device).and_then(|device| u32::try_from(device).ok()),
        _ => None,
    };
    let device = device.filter(|device| (*device as usize) < limits::DEVICES);
    device.map(Some).ok_or_else(|| wrong("device", value, "a device below 1,024"))
}

fn whole(number: f64) -> Option<u64> {
    // 2^63: from there on a JSON number has lost its low bits anyway.
    let in_range = (0.0..9_223_372_036_854_775_808.0).contains(&number) && number.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, positive and below 2^63"
    )]
    in_range.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_positive_and_below_an_exbibyte() {
        assert_eq!(size("size", Value::Int(512)).unwrap(), 512);
        assert_eq!(size("size", Value::Float(512.0)).unwrap(), 512);
        for bad in [
            Value::Int(-1),
            Value::Int(i64::MAX),
            Value::Wide(1 << 63),
            Value::Float(f64::NAN),
            Value::Float(0.5),
            Value::None,
        ] {
            assert_eq!(size("size", bad).unwrap_err().path(), Some("size"));
        }
    }

    #[test]
    fn addresses_of_the_upper_half_come_signed_or_wide() {
        assert_eq!(address("addr", Value::Int(-1)).unwrap(), u64::MAX);
        assert_eq!(address("addr", Value::Wide(u64::MAX)).unwrap(), u64::MAX);
    }

    /// JSON has one kind of number, so whole ones may come as floats.
    #[test]
    fn whole_floats_are_the_numbers_that_they_stand_for() {
        assert_eq!(time(Value::Float(1e6)), Some(1_000_000));
        assert_eq!(time(Value::Int(-5)), Some(-5));
        assert_eq!((time(Value::Float(0.5)), time(Value::None)), (None, None));
        assert_eq!(device(Value::Float(3.0)).unwrap(), Some(3));
        assert_eq!(device(Value::Int(-1)).unwrap(), None);
        assert_eq!(device(Value::Int(1023)).unwrap(), Some(1023));
        for bad in [Value::Int(1024), Value::Float(1024.0), Value::Float(0.5), Value::None] {
            assert_eq!(device(bad).unwrap_err().path(), Some("device"));
        }
        assert_eq!((line(Value::Float(7.0)), line(Value::Int(7))), (7, 7));
        assert_eq!((line(Value::Float(-1.0)), line(Value::Int(-1)), line(Value::None)), (0, 0, 0));
    }

    /// From 2^63 on a float has lost its low bits: it names no byte.
    #[test]
    fn addresses_as_floats_end_at_two_to_the_63rd() {
        let largest = 9_223_372_036_854_774_784.0;
        assert_eq!(address("addr", Value::Float(largest)).unwrap(), (1 << 63) - 1024);
        for bad in [largest + 1024.0, -1.0, 0.5, f64::INFINITY] {
            assert_eq!(address("addr", Value::Float(bad)).unwrap_err().path(), Some("addr"));
        }
    }
}
