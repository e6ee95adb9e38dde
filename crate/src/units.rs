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
