//! The verdict as Markdown, for an issue tracker.

use crate::findings::fixes::Fix;
use crate::units::{Bytes, Count};
use crate::view::report::Report;
use std::fmt::{self, Display, Formatter};

/// Lines of code listed.
const LINES: usize = 8;

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
                    place.replace('|', "\\|"),
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
