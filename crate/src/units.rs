//! Bytes for people: binary units, as PyTorch's own messages print them.

use std::fmt;

/// A number of bytes. Displays in powers of 1,024 with PyTorch's names: `512 bytes`, `20.00 MiB`,
/// `1.50 GiB`.
///
/// ```
/// assert_eq!(oomscope::units::Bytes(20 << 20).to_string(), "20.00 MiB");
/// assert_eq!(oomscope::units::Bytes(1000).to_string(), "1000 bytes");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        match bytes {
            0..1024 => write!(f, "{bytes} bytes"),
            1024..1_048_576 => write!(f, "{:.2} KiB", bytes as f64 / 1024.0),
            1_048_576..1_073_741_824 => write!(f, "{:.2} MiB", bytes as f64 / 1_048_576.0),
            _ => write!(f, "{:.2} GiB", bytes as f64 / 1_073_741_824.0),
        }
    }
}

/// A difference of two numbers of bytes, with its sign: `+1.50 GiB`, `−20.00 MiB`, `0 bytes`.
///
/// ```
/// assert_eq!(oomscope::units::Signed(-(20 << 20)).to_string(), "−20.00 MiB");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Signed(pub i64);

impl Signed {
    /// `b` less `a`; at the end of the range where it does not fit, which no real sizes reach.
    #[must_use]
    pub fn between(a: u64, b: u64) -> Self {
        let difference = i128::from(b) - i128::from(a);
        let end = if difference < 0 { i64::MIN } else { i64::MAX };
        Signed(i64::try_from(difference).unwrap_or(end))
    }
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Bytes(self.0.unsigned_abs());
        match self.0 {
            0 => write!(f, "{bytes}"),
            1.. => write!(f, "+{bytes}"),
            ..0 => write!(f, "−{bytes}"),
        }
    }
}

/// A number that is no size.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SizeError(String);

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no size; write bytes, or a number with a unit: 8GiB, 7.5GiB, 8000MiB",
            self.0
        )
    }
}

impl std::error::Error for SizeError {}

/// Reads bytes as a bare number, or with a unit: powers of 1,024 as `KiB`, `MiB`, `GiB`, `TiB`, and
/// of 1,000 as `kB`, `MB`, `GB`, `TB`. Capitals do not matter, and a blank before the unit neither.
///
/// ```
/// use oomscope::units::Bytes;
/// assert_eq!("1.5 GiB".parse(), Ok(Bytes(3 << 29)));
/// assert_eq!("1048576".parse(), Ok(Bytes(1 << 20)));
/// assert!("8 apples".parse::<Bytes>().is_err());
/// ```
impl std::str::FromStr for Bytes {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let wrong = || SizeError(text.to_owned());
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" | "bytes" => return number.parse().map(Bytes).map_err(|_| wrong()),
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(wrong()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Bytes).ok_or_else(wrong);
        }
        let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor as f64;
        if bytes < u64::MAX as f64 { Ok(Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}

/// A count with separators: `127,602`.
///
/// ```
/// assert_eq!(oomscope::units::Count(127_602).to_string(), "127,602");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}
