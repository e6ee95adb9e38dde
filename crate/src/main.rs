//! The command line: `oomscope report FILE`, `oomscope what-if FILE`, `oomscope message [FILE|-]`.

mod cli {
    pub(crate) mod message;
    pub(crate) mod output;
    pub(crate) mod report;
    pub(crate) mod what_if;
}

use clap::{Parser, Subcommand};
use cli::{message, report, what_if};
use std::process::ExitCode;

/// Says why the GPU ran out of memory, from a PyTorch CUDA memory snapshot or an error text.
#[derive(Parser)]
#[command(version = version(), args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    report: Option<report::ReportArguments>,
}

#[derive(Subcommand)]
enum Command {
    /// What happened, where, and what to do (also without this word: `oomscope FILE`).
    Report(report::ReportArguments),
    /// What the same program would reserve under other allocator settings or another limit.
    WhatIf(what_if::WhatIfArguments),
    /// What an out-of-memory error text says: its numbers, its causes, what to do next.
    Message(message::MessageArguments),
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
        (Some(Command::WhatIf(asked)), _) => (asked.file.clone(), what_if::run(&asked)),
        (Some(Command::Message(asked)), _) => (asked.file.clone(), message::run(&asked)),
        (Some(Command::Report(asked)), _) | (None, Some(asked)) => {
            (asked.file.clone(), report::run(&asked))
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
