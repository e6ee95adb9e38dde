//! What an error text says, as plain text.

use crate::message::bar::Bar;
use crate::units::{Bytes, Count};
use crate::view::message::MessageReport;
use std::fmt::{self, Display, Formatter};

/// Messages listed.
const MESSAGES: usize = 8;

/// Causes listed.
const CAUSES: usize = 4;

/// A reading as text, the verdict first.
#[derive(Clone, Copy, Debug)]
pub struct MessageText<'a>(pub &'a MessageReport);

impl Display for MessageText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        writeln!(f, "{}", report.headline)?;
        if !report.recognised {
            return report
                .advice
                .iter()
                .try_for_each(|advice| writeln!(f, "  {}: {}", advice.title, advice.note));
        }
        for cause in report.causes.iter().take(CAUSES) {
            writeln!(
                f,
                "  {:>3.0} %  {}: {}",
                100.0 * cause.confidence,
                cause.label,
                cause.because
            )?;
        }
        if !report.explanations.is_empty() {
            writeln!(f, "\nThe numbers")?;
            for line in &report.explanations {
                let mark = if line.is_stated { ' ' } else { '=' };
                writeln!(f, " {mark}{}", line.sentence)?;
            }
        }
        if let Some(bar) = &report.bar {
            bar_text(f, bar)?;
        }
        if !report.advice.is_empty() {
            writeln!(f, "\nWhat to do")?;
            for advice in &report.advice {
                writeln!(f, "  {}: {}", advice.title, advice.note)?;
            }
        }
        if !report.misjudgements.is_empty() {
            writeln!(f, "\nWhat is not so")?;
            for misjudgement in &report.misjudgements {
                writeln!(f, "  \"{}\": {}", misjudgement.belief, misjudgement.truth)?;
            }
        }
        if let Some(snippet) = &report.snippet {
            writeln!(f, "\nHow to see more\n  {}\n  {}", snippet.why, snippet.place)?;
            for line in snippet.code.lines() {
                writeln!(f, "    {line}")?;
            }
            for note in &snippet.notes {
                writeln!(f, "  {note}")?;
            }
        }
        messages(f, report)
    }
}

fn bar_text(f: &mut Formatter<'_>, bar: &Bar) -> fmt::Result {
    writeln!(f, "\nThe device's memory")?;
    for part in &bar.parts {
        writeln!(
            f,
            "  {:>12}  {:>3.0} %  {}",
            Bytes(part.bytes).to_string(),
            100.0 * part.bytes as f64 / bar.total_bytes.max(1) as f64,
            part.label
        )?;
    }
    writeln!(f, "  {:>12}         in all", Bytes(bar.total_bytes).to_string())?;
    if bar.is_spilled {
        writeln!(
            f,
            "  This is more than the device's {}: the driver has lent memory of the machine.",
            Bytes(bar.capacity_bytes)
        )?;
    }
    match bar.request_bytes {
        Some(request) => {
            writeln!(f, "  {:>12}         asked for beside it", Bytes(request).to_string())
        }
        None => Ok(()),
    }
}

fn messages(f: &mut Formatter<'_>, report: &MessageReport) -> fmt::Result {
    if report.messages_found < 2 {
        return Ok(());
    }
    writeln!(
        f,
        "\n{} messages; the first is judged, later ones are its consequences",
        Count(report.messages_found as u64)
    )?;
    for message in report.messages.iter().take(MESSAGES) {
        let (judged, times) = (if message.is_judged { '*' } else { ' ' }, message.times);
        let asked = message
            .facts
            .requested_bytes
            .map_or(String::new(), |bytes| format!(", {} asked for", Bytes(bytes)));
        writeln!(
            f,
            " {judged}line {}: {} ({}{asked}), {times}×",
            Count(message.line as u64),
            message.wording,
            message.backend.label()
        )?;
    }
    let hidden = report.messages.len().saturating_sub(MESSAGES);
    if hidden > 0 {
        writeln!(f, "  … and {hidden} more (--json lists them)")?;
    }
    Ok(())
}
