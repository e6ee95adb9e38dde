//! The answer to "what if" as text.

use crate::units::{Bytes, Count};
use crate::view::what_if::WhatIfReport;
use std::fmt::{self, Display, Formatter};

/// The answer as text.
#[derive(Clone, Copy, Debug)]
pub struct WhatIfText<'a>(pub &'a WhatIfReport);

impl Display for WhatIfText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let recorded = &report.recorded;
        writeln!(f, "{}\n", report.headline)?;
        let row = |f: &mut Formatter<'_>, bytes: u64, what: &str| {
            writeln!(f, "  {:>12}  {what}", Bytes(bytes).to_string())
        };
        let peak =
            format!("reserved at the peak (recorded: {})", Bytes(recorded.peak_reserved_bytes));
        row(f, report.peak_reserved_bytes, &peak)?;
        row(f, report.peak_active_bytes, "active at its own peak")?;
        row(f, report.final_reserved_bytes, "reserved at the end")?;
        row(
            f,
            report.smallest_capacity_bytes,
            "is the least under which the whole trace goes through, emptying the cache as needed",
        )?;
        let times = |f: &mut Formatter<'_>, count: u64, what: &str| match count {
            0 => Ok(()),
            _ => writeln!(
                f,
                "  {:>12}  times {what}, which stalls the GPU",
                Count(count).to_string()
            ),
        };
        times(f, report.retries, "the cache is emptied for a request")?;
        times(f, report.cache_clears, "the program empties the cache itself")?;
        if report.collected_bytes > 0 {
            row(f, report.collected_bytes, "are collected as garbage")?;
        }
        writeln!(f, "\nWhat to do\n  {}", report.next)?;
        writeln!(f, "\nHow sure this is (cuda:{})", report.device)?;
        for note in &report.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}
