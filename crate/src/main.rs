//! The command line: `oomscope report FILE`, `oomscope what-if FILE`.

use clap::{Parser, Subcommand};
use oomscope::allocator::settings::{Parsed, Settings};
use oomscope::error::Error;
use oomscope::findings::Findings;
use oomscope::snapshot::{self, Snapshot};
use oomscope::text::markdown::ReportMarkdown;
use oomscope::text::{ReportText, WhatIfText};
use oomscope::units::Bytes;
use oomscope::view::report::Report;
use oomscope::view::what_if::{Question, WhatIfReport, device_of};
use serde::Serialize;
use std::fmt::Display;
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
    /// What the same program would reserve under other allocator settings or another limit.
    WhatIf(WhatIfArguments),
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

#[derive(clap::Args)]
struct WhatIfArguments {
    /// The snapshot, with a recorded trace.
    file: PathBuf,
    /// Settings as in PYTORCH_CUDA_ALLOC_CONF, such as "expandable_segments:True"; left out, those
    /// of the recording.
    #[arg(long, value_parser = conf)]
    conf: Option<Box<Parsed>>,
    /// What the process may reserve, in bytes or as 8GiB; left out, what the recording shows.
    #[arg(long, value_name = "SIZE")]
    limit: Option<Bytes>,
    /// What the card can give to the process, in bytes or as 80GiB.
    #[arg(long, value_name = "SIZE")]
    capacity: Option<Bytes>,
    /// Replay this device instead of the one that failed or has most entries.
    #[arg(long)]
    device: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn conf(text: &str) -> Result<Box<Parsed>, String> {
    Settings::parse(text).map(Box::new).map_err(|error| error.to_string())
}

fn version() -> String {
    match oomscope::COMMIT {
        Some(commit) => format!("{} ({commit})", oomscope::VERSION),
        None => oomscope::VERSION.to_owned(),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (file, printed) = match (arguments.command, arguments.report) {
        (Some(Command::WhatIf(asked)), _) => {
            let answer = answer(&asked);
            let printed =
                answer.and_then(|answer| print(&answer, &WhatIfText(&answer), asked.json));
            (asked.file, printed)
        }
        (Some(Command::Report(asked)), _) | (None, Some(asked)) => {
            let report = read(&asked);
            let printed = report.and_then(|report| {
                if asked.markdown {
                    print(&report, &ReportMarkdown(&report), false)
                } else {
                    print(&report, &ReportText(&report), asked.json)
                }
            });
            (asked.file, printed)
        }
        (None, None) => return ExitCode::from(2),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            #[expect(clippy::print_stderr, reason = "this is the terminal's own error")]
            {
                eprintln!("oomscope: {}: {message}", file.display());
            }
            ExitCode::FAILURE
        }
    }
}

fn print(value: &impl Serialize, text: &impl Display, json: bool) -> Result<(), String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if json {
        serde_json::to_writer_pretty(&mut out, value)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        write!(out, "{text}")
    };
    match written.and_then(|()| out.flush()) {
        // The reader of a pipe has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("the report cannot be written: {error}")),
    }
}

fn answer(asked: &WhatIfArguments) -> Result<WhatIfReport, String> {
    let (snapshot, _) = open(&asked.file)?;
    let question = Question {
        conf: asked.conf.as_deref().cloned(),
        limit: asked.limit.map(|size| size.0),
        capacity: asked.capacity.map(|size| size.0),
    };
    let of = |device| WhatIfReport::of(&snapshot, device, &question);
    match asked.device {
        Some(device) => of(device).ok_or_else(|| {
            format!("the file has no recorded allocation on device {device}; leave --device out, or record with torch.cuda.memory._record_memory_history().")
        }),
        None => device_of(&snapshot).and_then(of).ok_or_else(|| {
            "the file has no recorded allocation to replay; record with torch.cuda.memory._record_memory_history() before the program allocates.".to_owned()
        }),
    }
}

/// The snapshot, and the bytes of its file.
fn open(path: &Path) -> Result<(Snapshot, u64), String> {
    let unreadable = |error: std::io::Error| {
        format!("the file cannot be read: {error}; check that it exists and may be read.")
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err("this is a folder; name the snapshot inside it.".to_owned());
    }
    let snapshot = snapshot::read(file).map_err(|error: Error| error.to_string())?;
    Ok((snapshot, metadata.len()))
}

fn read(asked: &ReportArguments) -> Result<Report, String> {
    let path = asked.file.as_path();
    let (snapshot, bytes) = open(path)?;
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
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::of(&snapshot, &findings, &name, bytes);
    // The text does not show it, and it takes as long as all the rest.
    if asked.json {
        report.verify(&snapshot, &findings);
    }
    Ok(report)
}
