//! The verdict, and a comparison, as Markdown, for an issue tracker.

use crate::compare::Comparison;
use crate::compare::difference::{Difference, SiteRow};
use crate::compare::growth::Growth;
use crate::compare::ranks::Overview;
use crate::compare::site::Frame;
use crate::findings::category::Category;
use crate::findings::fixes::Fix;
use crate::units::{Bytes, Count, Signed};
use crate::view::report::Report;
use std::fmt::{self, Display, Formatter};

/// Lines of code listed.
const LINES: usize = 8;
/// Runs listed; of more, only those that stand out.
const RUNS: usize = 16;

/// A report as Markdown: verdict, composition, lines and fixes.
#[derive(Clone, Copy, Debug)]
pub struct ReportMarkdown<'a>(pub &'a Report);

impl Display for ReportMarkdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let diagnosis = &report.diagnosis;
        writeln!(f, "### {}\n", diagnosis.headline)?;
        for sentence in &diagnosis.summary {
            writeln!(f, "{sentence}")?;
        }
        if !diagnosis.bar.is_empty() {
            writeln!(f, "\n| memory | bytes |\n| --- | ---: |")?;
            for part in &diagnosis.bar {
                writeln!(f, "| {} | {} |", part.label, Bytes(part.bytes))?;
            }
        }
        if !diagnosis.lines.is_empty() {
            writeln!(f, "\n| where | bytes | blocks | what |\n| --- | ---: | ---: | --- |")?;
            for line in diagnosis.lines.iter().take(LINES) {
                let place = if line.file.is_empty() {
                    line.function.clone()
                } else {
                    format!("`{}:{}` {}", line.file, line.line, line.function)
                };
                writeln!(
                    f,
                    "| {} | {} | {} | {} |",
                    escaped(&place),
                    Bytes(line.bytes),
                    Count(line.count),
                    line.category.label()
                )?;
            }
        }
        let helpful: Vec<&Fix> = diagnosis.fixes.iter().filter(|fix| fix.helps).collect();
        if !helpful.is_empty() {
            writeln!(f, "\n**{}**\n", diagnosis.fixes_title)?;
        }
        for (number, fix) in (1..).zip(helpful) {
            let saves = fix.saves_bytes.map_or(String::new(), |saves| {
                format!(" ({}, {})", Bytes(saves), fix.basis.label())
            });
            writeln!(f, "{number}. **{}**{saves}: {}", fix.title, fix.note)?;
        }
        writeln!(
            f,
            "\n<sub>{}, {} entries, read by oomscope {}.</sub>",
            report.file.name,
            Count(report.devices.iter().map(|device| u64::from(device.entries)).sum()),
            report.version
        )
    }
}

/// A comparison as Markdown: the verdict, what stands behind it, the tables.
#[derive(Clone, Copy, Debug)]
pub struct CompareMarkdown<'a>(pub &'a Comparison);

impl Display for CompareMarkdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let comparison = self.0;
        writeln!(f, "### {}\n", comparison.headline)?;
        for note in comparison.notes.iter().chain(&comparison.cards) {
            writeln!(f, "- {note}")?;
        }
        for broken in &comparison.unreadable {
            writeln!(f, "- Left out: {}: {}", broken.name, broken.message)?;
        }
        if let Some(overview) = &comparison.overview {
            runs(f, overview)?;
        }
        match &comparison.growth {
            Some(growth) => growing(f, growth)?,
            None => difference(f, &comparison.difference)?,
        }
        writeln!(
            f,
            "\n<sub>{} files, read by oomscope {}.</sub>",
            Count(comparison.files.len() as u64),
            crate::VERSION
        )
    }
}

fn runs(f: &mut Formatter<'_>, overview: &Overview) -> fmt::Result {
    let is_long = overview.rows.len() > RUNS;
    let shown = overview.rows.iter().filter(|row| !is_long || overview.stands_out(row));
    writeln!(f, "\n| file | allocated at the peak | reserved | steps | cause |")?;
    writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
    for row in shown {
        let name = escaped(&row.name);
        writeln!(
            f,
            "| {} | {} | {} | {} | {} |",
            if overview.stands_out(row) { format!("**{name}**") } else { name },
            Bytes(row.peak_allocated_bytes),
            Bytes(row.peak_reserved_bytes),
            Count(u64::from(row.steps)),
            row.cause.label()
        )?;
    }
    if is_long {
        writeln!(f, "\nOf {} files, those that stand out.", Count(overview.rows.len() as u64))?;
    }
    Ok(())
}

fn growing(f: &mut Formatter<'_>, growth: &Growth) -> fmt::Result {
    writeln!(f, "\n| moment | allocated |\n| --- | ---: |")?;
    for (name, bytes) in growth.moments.iter().zip(&growth.allocated_bytes) {
        writeln!(f, "| {} | {} |", escaped(name), Bytes(*bytes))?;
    }
    if growth.growing.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n| holds more | blocks | each step | where | what |")?;
    writeln!(f, "| ---: | ---: | ---: | --- | --- |")?;
    for row in growth.growing.iter().take(LINES) {
        let rate = row.per_step_bytes.map_or(String::new(), |rate| Bytes(rate).to_string());
        writeln!(
            f,
            "| {} | {:+} | {rate} | {} | {} |",
            Bytes(row.bytes),
            row.count,
            innermost(&row.stack),
            row.category.label()
        )?;
    }
    Ok(())
}

fn difference(f: &mut Formatter<'_>, difference: &Difference) -> fmt::Result {
    let [a, b] = [&difference.a, &difference.b].map(|name| escaped(name));
    writeln!(f, "\n| memory | {a} | {b} | difference |\n| --- | ---: | ---: | ---: |")?;
    let row = |f: &mut Formatter<'_>, what: &str, [a, b]: [u64; 2], change: i64| {
        writeln!(f, "| {what} | {} | {} | {} |", Bytes(a), Bytes(b), Signed(change))
    };
    for category in Category::ALL {
        let Some(change) = difference.by_category.get(&category) else { continue };
        let bytes = difference.parts.each_ref().map(|parts| parts.get(&category).copied());
        row(f, category.label(), bytes.map(Option::unwrap_or_default), *change)?;
    }
    row(f, "**in all**", difference.totals, difference.allocated_bytes)?;
    row(f, "reserved", difference.reserved_totals, difference.reserved_bytes)?;
    let changed: Vec<&SiteRow> =
        difference.by_stack.iter().filter(|row| row.difference_bytes != 0).take(LINES).collect();
    if !changed.is_empty() {
        writeln!(f, "\n| where | difference | blocks | what |\n| --- | ---: | ---: | --- |")?;
    }
    for row in changed {
        writeln!(
            f,
            "| {} | {} | {} → {} | {} |",
            innermost(&row.stack),
            Signed(row.difference_bytes),
            Count(row.a_count),
            Count(row.b_count),
            row.category().map_or("", Category::label)
        )?;
    }
    Ok(())
}

fn innermost(stack: &[Frame]) -> String {
    match stack.first() {
        None => "recorded without a stack".to_owned(),
        Some(frame) if frame.file.is_empty() => escaped(&frame.name),
        Some(frame) => escaped(&format!("`{}:{}` {}", frame.file, frame.line, frame.name)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
