//! Views as plain text, for the terminal and the copy button.

mod compare;
pub mod markdown;
mod message;
mod what_if;

pub use compare::CompareText;
pub use message::MessageText;
pub use what_if::WhatIfText;

use crate::findings::fixes::Fix;
use crate::units::{Bytes, Count};
use crate::view::diagnosis::LineReport;
use crate::view::report::Report;
use std::fmt::{self, Display, Formatter};

/// Lines of code printed.
const LINES: usize = 12;

/// A report as text, most telling first.
#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a>(pub &'a Report);

impl Display for ReportText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let diagnosis = &report.diagnosis;
        writeln!(f, "{}", diagnosis.headline)?;
        for sentence in &diagnosis.summary {
            writeln!(f, "  {sentence}")?;
        }
        bar(f, report)?;
        if !diagnosis.lines.is_empty() {
            writeln!(f, "\nWhere")?;
            for line in diagnosis.lines.iter().take(LINES) {
                writeln!(f, "  {}", LineText(line))?;
            }
            let hidden = diagnosis.lines.len().saturating_sub(LINES);
            if hidden > 0 {
                writeln!(f, "  … and {hidden} more (--json lists them)")?;
            }
        }
        if !diagnosis.pins.is_empty() {
            writeln!(f, "\nWhat keeps memory idle")?;
            for sentence in &diagnosis.pins {
                writeln!(f, "  {sentence}")?;
            }
        }
        fixes(f, diagnosis.fixes_title, diagnosis.fixes.iter().filter(|fix| fix.helps))?;
        fixes(f, "What would not help", diagnosis.fixes.iter().filter(|fix| !fix.helps))?;
        if let Some(record) = &report.record {
            writeln!(f, "\nHow to record a file that can tell\n  {}", record.why)?;
            for line in record.code.lines() {
                writeln!(f, "    {line}")?;
            }
        }
        file(f, report)
    }
}

fn fixes<'a>(
    f: &mut Formatter<'_>,
    title: &str,
    fixes: impl Iterator<Item = &'a Fix>,
) -> fmt::Result {
    for (number, fix) in (1..).zip(fixes) {
        if number == 1 {
            writeln!(f, "\n{title}")?;
        }
        let saves = match fix.saves_bytes.filter(|_| fix.helps) {
            Some(saves) => format!(" (saves {}, {})", Bytes(saves), fix.basis.label()),
            None => String::new(),
        };
        writeln!(f, "  {number}. {}{saves}\n     {}", fix.title, fix.note)?;
        if !fix.cost.is_empty() {
            writeln!(f, "     Cost: {}", fix.cost)?;
        }
        for line in fix.snippet.iter().flat_map(|snippet| snippet.lines()) {
            writeln!(f, "         {line}")?;
        }
    }
    Ok(())
}

fn bar(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let total: u64 =
        report.diagnosis.bar.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
    if total == 0 {
        return Ok(());
    }
    let moment = match report.diagnosis.moment {
        crate::findings::diagnosis::Moment::Oom => {
            format!("when it failed, at entry {}", Count(u64::from(report.diagnosis.entry)))
        }
        crate::findings::diagnosis::Moment::Peak => {
            format!("at the peak, entry {}", Count(u64::from(report.diagnosis.entry)))
        }
        crate::findings::diagnosis::Moment::End => "at the end".to_owned(),
    };
    writeln!(f, "\nReserved memory {moment} (cuda:{})", report.diagnosis.device)?;
    for part in &report.diagnosis.bar {
        writeln!(
            f,
            "  {:>12}  {:>3.0} %  {}",
            Bytes(part.bytes).to_string(),
            100.0 * part.bytes as f64 / total as f64,
            part.label
        )?;
    }
    writeln!(f, "  {:>12}         in all", Bytes(total).to_string())
}

fn file(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    writeln!(f, "\nThe file")?;
    writeln!(f, "  {}", report.history_note)?;
    writeln!(f, "  {}", report.stacks_note)?;
    for device in &report.devices {
        writeln!(
            f,
            "  {}: {} allocated and {} reserved at the end",
            device.label,
            Bytes(device.end_allocated()),
            Bytes(device.end_reserved())
        )?;
    }
    for warning in &report.warnings {
        writeln!(
            f,
            "  Note: {} ({}, first at {})",
            warning.message,
            Count(warning.warning.count),
            warning.warning.first
        )?;
    }
    writeln!(f, "  {}", report.not_in_file)
}

/// One line of code and what it holds.
struct LineText<'a>(&'a LineReport);

impl Display for LineText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line = self.0;
        write!(f, "{:>12}  {:>3.0} %  ", Bytes(line.bytes).to_string(), 100.0 * line.share)?;
        if line.file.is_empty() {
            write!(f, "{}", line.function)?;
        } else {
            write!(f, "{}:{} {}", line.file, line.line, line.function)?;
        }
        write!(f, "  [{}, {}×]", line.category.label(), Count(line.count))
    }
}
