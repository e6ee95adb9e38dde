//! The command line: `oomscope report FILE`, `oomscope message [FILE|-]`.

use clap::{Parser, Subcommand};
use oomscope::error::Error;
use oomscope::findings::Findings;
use oomscope::limits;
use oomscope::message;
use oomscope::snapshot;
use oomscope::text::{MessageText, ReportText};
use oomscope::view::message::MessageReport;
use oomscope::view::report::Report;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
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
    /// What an out-of-memory error text says: its numbers, its causes, what to do next.
    Message(MessageArguments),
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
}

#[derive(clap::Args)]
struct MessageArguments {
    /// The text, an error or a whole log; `-` or nothing reads what is piped or pasted.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
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
        (Some(Command::Message(message)), _) => {
            let printed = print_message(&message);
            (message.file, printed)
        }
        (Some(Command::Report(report)), _) | (None, Some(report)) => {
            let printed = print_report(&report);
            (report.file, printed)
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

fn print_report(arguments: &ReportArguments) -> Result<(), String> {
    let report = read(&arguments.file, arguments.device)?;
    print(&report, ReportText(&report), arguments.json)
}

fn print_message(arguments: &MessageArguments) -> Result<(), String> {
    let text = read_text(&arguments.file)?;
    let report = MessageReport::of(&message::read(&text));
    print(&report, MessageText(&report), arguments.json)
}

fn print(value: &impl serde::Serialize, text: impl Display, json: bool) -> Result<(), String> {
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

fn read_text(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| {
        format!("the text cannot be read: {error}; check that it exists and may be read.")
    };
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    source.take(limits::MESSAGE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limits::MESSAGE_BYTES {
        return Err(format!(
            "the text is longer than {}; cut out the part about the first error: grep -n -m1 -B200 -A50 'out of memory' FILE.",
            oomscope::units::Bytes(limits::MESSAGE_BYTES)
        ));
    }
    Ok(message::text_from_bytes(&bytes))
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
