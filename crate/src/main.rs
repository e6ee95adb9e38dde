//! The command line: `oomscope report FILE`.

use clap::{Parser, Subcommand};
use oomscope::error::Error;
use oomscope::findings::Findings;
use oomscope::snapshot;
use oomscope::text::ReportText;
use oomscope::text::markdown::ReportMarkdown;
use oomscope::view::report::Report;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Says why the GPU ran out of memory, from a PyTorch CUDA memory snapshot.
#[derive(Parser)]
#[command(version = version(), args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    report: Option<ReportArguments>,
}

#[derive(Subcommand)]
enum Command {
    /// What happened, where, and what to do (also without this word: `oomscope FILE`).
    Report(ReportArguments),
}

#[derive(clap::Args)]
struct ReportArguments {
    /// The snapshot: a pickle as _dump_snapshot writes it, or packed as .gz, .xz, .zst or .zip.
    file: PathBuf,
    /// Judge this device instead of the one that failed or is fullest.
    #[arg(long)]
    device: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the verdict as Markdown, for an issue tracker.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

fn version() -> String {
    match oomscope::COMMIT {
        Some(commit) => format!("{} ({commit})", oomscope::VERSION),
        None => oomscope::VERSION.to_owned(),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = match arguments.command {
        Some(Command::Report(report)) => Some(report),
        None => arguments.report,
    };
    let Some(report) = report else { return ExitCode::from(2) };
    match print_report(&report) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            #[expect(clippy::print_stderr, reason = "this is the terminal's own error")]
            {
                eprintln!("oomscope: {}: {message}", report.file.display());
            }
            ExitCode::FAILURE
        }
    }
}

fn print_report(arguments: &ReportArguments) -> Result<(), String> {
    let report = read(&arguments.file, arguments.device)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
    } else if arguments.markdown {
        write!(out, "{}", ReportMarkdown(&report))
    } else {
        write!(out, "{}", ReportText(&report))
    };
    match written.and_then(|()| out.flush()) {
        // The reader of a pipe has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("the report cannot be written: {error}")),
    }
}

fn read(path: &Path, device: Option<u32>) -> Result<Report, String> {
    let unreadable = |error: std::io::Error| {
        format!("the file cannot be read: {error}; check that it exists and may be read.")
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err("this is a folder; name the snapshot inside it.".to_owned());
    }
    let snapshot = snapshot::read(file).map_err(|error: Error| error.to_string())?;
    let findings = match device {
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
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Report::of(&snapshot, &findings, &name, metadata.len()))
}
