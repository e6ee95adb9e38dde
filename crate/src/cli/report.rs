//! `oomscope report FILE`.

use super::output::{open, print};
use oomscope::findings::Findings;
use oomscope::text::ReportText;
use oomscope::text::markdown::ReportMarkdown;
use oomscope::view::report::Report;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct ReportArguments {
    /// The snapshot: a pickle as _dump_snapshot writes it, or packed as .gz, .xz, .zst or .zip.
    pub(crate) file: PathBuf,
    /// Judge this device instead of the one that failed or is fullest.
    #[arg(long)]
    device: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the verdict as Markdown, for an issue tracker.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Name files without their folders; of installed packages, the path among them stays.
    #[arg(long)]
    strip_paths: bool,
}

pub(crate) fn run(asked: &ReportArguments) -> Result<(), String> {
    let report = read(asked)?;
    if asked.markdown {
        print(&report, &ReportMarkdown(&report), false)
    } else {
        print(&report, &ReportText(&report), asked.json)
    }
}

fn read(asked: &ReportArguments) -> Result<Report, String> {
    let (snapshot, bytes) = open(&asked.file)?;
    let findings = match asked.device {
        None => Findings::of(&snapshot),
        Some(device) => Findings::of_device(&snapshot, device).ok_or_else(|| {
            let known: Vec<String> = Findings::of(&snapshot)
                .devices
                .iter()
                .map(|found| found.timeline.device.to_string())
                .collect();
            format!(
                "the file has no memory on device {device}; it has: {}.",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            )
        })?,
    };
    let name = asked.file.file_name();
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::of(&snapshot, &findings, &name, bytes);
    // The text does not show it, and it takes as long as all the rest.
    if asked.json {
        report.verify(&snapshot, &findings);
        report.summarise(&snapshot, &findings);
    }
    if asked.strip_paths {
        report.leave_out_folders();
    }
    Ok(report)
}
