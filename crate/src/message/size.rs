//! Numbers with units, in a text without blanks.

use super::clean::BREAK;

/// From here on a number is a placeholder, not a size: drivers print 2^64 for "not available".
const PLACEHOLDER: f64 = (1_u64 << 60) as f64;

/// A size that a text states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    /// Its first byte in the text.
    pub(crate) start: usize,
    /// The byte after its unit.
    pub(crate) end: usize,
    /// The size in bytes; `None` for a placeholder.
    pub(crate) bytes: Option<u64>,
    /// Whether the unit is a single letter, as in `2.1G`: PyTorch never writes so, and a line cut
    /// in the middle of `GiB` must not pass.
    pub(crate) is_short: bool,
}

/// Units with their power of two, longer spellings first. PyTorch and its neighbours count in
/// powers of 1,024 whatever they write; translators bring their own letters.
const UNITS: [(&str, u32, bool); 33] = [
    ("bytes", 0, false),
    ("byte", 0, false),
    ("kib", 10, false),
    ("mib", 20, false),
    ("gib", 30, false),
    ("tib", 40, false),
    ("kio", 10, false),
    ("mio", 20, false),
    ("gio", 30, false),
    ("tio", 40, false),
    ("киб", 10, false),
    ("миб", 20, false),
    ("гиб", 30, false),
    ("тиб", 40, false),
    ("байт", 0, false),
    ("octets", 0, false),
    ("字节", 0, false),
    ("字節", 0, false),
    ("バイト", 0, false),
    ("바이트", 0, false),
    ("kb", 10, false),
    ("mb", 20, false),
    ("gb", 30, false),
    ("tb", 40, false),
    ("кб", 10, false),
    ("мб", 20, false),
    ("гб", 30, false),
    ("тб", 40, false),
    ("b", 0, true),
    ("k", 10, true),
    ("m", 20, true),
    ("g", 30, true),
    ("t", 40, true),
];

/// The sizes in `text[from..to]`, in order; a number is never cut at `to`.
pub(crate) fn sizes(text: &str, from: usize, to: usize) -> Vec<Size> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some((start, end)) = next_number(text, at, to) {
        at = end;
        let Some(rest) = text.get(end..) else { break };
        let Some((unit, power, is_short)) = unit(rest) else { continue };
        let digits = text.get(start..end).unwrap_or_default();
        // A letter may as well begin the next word.
        let is_word = is_short
            && if power == 0 {
                rest.get(unit..).is_some_and(|rest| rest.starts_with(char::is_alphabetic))
            } else {
                !digits.contains('.')
            };
        if is_word || begins_after_break(text, start) {
            continue;
        }
        let Some(value) = number(digits, power) else { continue };
        at = end + unit;
        found.push(Size { start, end: at, bytes: bytes(value, power), is_short });
    }
    found
}

/// The whole number at the start of `text`, if it has at least `digits` digits and no line break cuts
/// it: bytes without a unit, a device.
pub(crate) fn integer(text: &str, digits: usize) -> Option<u64> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut after = text.get(length..)?.chars();
    let (next, then) = (after.next(), after.next());
    let goes_on = matches!(next, Some('.' | ',')) && then.is_some_and(|then| then.is_ascii_digit());
    let is_cut = goes_on || next == Some(BREAK);
    (length >= digits && !is_cut).then(|| text.get(..length)?.parse().ok()).flatten()
}

fn unit(rest: &str) -> Option<(usize, u32, bool)> {
    let (name, power, is_short) = UNITS.iter().find(|(name, ..)| rest.starts_with(name))?;
    Some((name.len(), *power, *is_short))
}

fn begins_after_break(text: &str, start: usize) -> bool {
    text.get(..start).is_some_and(|before| before.ends_with(BREAK))
}

/// The next run of digits with points and commas inside it.
fn next_number(text: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let start =
        (from..to.min(bytes.len())).find(|at| bytes.get(*at).is_some_and(u8::is_ascii_digit))?;
    let mut end = start;
    while let Some(byte) = bytes.get(end) {
        let joins =
            matches!(byte, b'.' | b',') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if !byte.is_ascii_digit() && !joins {
            break;
        }
        end += 1;
    }
    Some((start, end))
}

/// The value of digits with points and commas, either of which may be the decimal one.
///
/// A single mark with three digits after it separates thousands where the unit is bytes, and where
/// it is a comma: PyTorch prints two decimals.
fn number(digits: &str, power: u32) -> Option<f64> {
    let last = digits.rfind(['.', ',']);
    let count = |mark| digits.matches(mark).count();
    let (points, commas) = (count('.'), count(','));
    let decimals = last.map_or(0, |last| digits.len() - last - 1);
    let is_comma = last.and_then(|last| digits.as_bytes().get(last)) == Some(&b',');
    let has_decimals = match (points, commas) {
        (0, 0) => false,
        (1, 0) | (0, 1) => decimals != 3 || (power > 0 && !is_comma),
        (_, 0) | (0, _) => false,
        // Both: the last is the decimal one, and must be the only one of its kind.
        _ if (if is_comma { commas } else { points }) == 1 => true,
        _ => return None,
    };
    let (whole, fraction) = match last {
        Some(last) if has_decimals => (digits.get(..last)?, digits.get(last + 1..)?),
        _ => (digits, "0"),
    };
    let mut groups = whole.split(['.', ',']);
    let first = groups.next()?;
    if groups.clone().count() > 0 && first.len() > 3 || groups.any(|group| group.len() != 3) {
        return None;
    }
    format!("{}.{fraction}", whole.replace(['.', ','], "")).parse().ok()
}

fn bytes(value: f64, power: u32) -> Option<u64> {
    let bytes = value * (1_u64 << power) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^60")]
    (bytes < PLACEHOLDER).then_some(bytes.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Option<u64>> {
        sizes(text, 0, text.len()).into_iter().map(|size| size.bytes).collect()
    }

    #[test]
    fn either_mark_may_be_the_decimal_one() {
        let gib = |value: f64| vec![Some((value * 1_073_741_824.0).round() as u64)];
        assert_eq!(read("allocate11.25gibof"), gib(11.25));
        assert_eq!(read("allocate11,25gibof"), gib(11.25));
        assert_eq!(read("1,024.50gib"), gib(1024.5));
        assert_eq!(read("1.024,50gib"), gib(1024.5));
        assert_eq!(read("1,024gib"), gib(1024.0));
        assert_eq!(read("8,589,934,592bytes"), vec![Some(1 << 33)]);
        assert_eq!(read("8.589.934.592bytes"), vec![Some(1 << 33)]);
    }

    #[test]
    fn cut_and_odd_numbers_are_none() {
        assert_eq!(read("16.gpu"), []);
        assert_eq!(read("16."), []);
        assert_eq!(read("1.2.3gib"), []);
        assert_eq!(read("17179869184.00gib"), [None]);
        assert!(sizes("2.1g", 0, 4)[0].is_short);
    }
}
