//! The command line: `oomscope report FILE`, `oomscope open FILE`, `oomscope html FILE -o PAGE`,
//! `oomscope compare A B [C…]`, `oomscope what-if FILE`, `oomscope message [FILE|-]`.

mod cli {
    pub(crate) mod compare;
    pub(crate) mod html;
    pub(crate) mod message;
    pub(crate) mod output;
    pub(crate) mod report;
    pub(crate) mod what_if;
}

use clap::{Parser, Subcommand};
use cli::{compare, html, message, report, what_if};
use std::path::Path;
use std::process::ExitCode;

/// Says why the GPU ran out of memory, from a PyTorch CUDA memory snapshot or an error text.
#[derive(Parser)]
#[command(version = version(), args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    report: Option<report::ReportArguments>,
}

#[derive(Subcommand)]
enum Command {
    /// What happened, where, and what to do (also without this word: `oomscope FILE`).
    Report(report::ReportArguments),
    /// Open a snapshot in the browser: one page with everything inside, which asks no server.
    Open(html::OpenArguments),
    /// Write one HTML file of the page and a snapshot as it is, paths and all, to send or to keep.
    Html(html::HtmlArguments),
    /// What two or more snapshots or summaries differ by: moments of one run, runs, ranks of a job.
    Compare(compare::CompareArguments),
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
    let arguments = CommandLine::parse();
    let about = |file: &Path| {
        let file = file.to_owned();
        move |message| (file, message)
    };
    let printed = match (arguments.command, arguments.report) {
        (Some(Command::Compare(asked)), _) => compare::run(&asked),
        (Some(Command::Open(asked)), _) => html::open(&asked).map_err(about(&asked.file)),
        (Some(Command::Html(asked)), _) => html::write(&asked).map_err(about(&asked.file)),
        (Some(Command::WhatIf(asked)), _) => what_if::run(&asked).map_err(about(&asked.file)),
        (Some(Command::Message(asked)), _) => message::run(&asked).map_err(about(&asked.file)),
        (Some(Command::Report(asked)), _) | (None, Some(asked)) => {
            report::run(&asked).map_err(about(&asked.file))
        }
        (None, None) => return ExitCode::from(2),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err((file, message)) => {
            #[expect(clippy::print_stderr, reason = "this is the terminal's own error")]
            {
                eprintln!("oomscope: {}: {message}", file.display());
            }
            ExitCode::FAILURE
        }
    }
}
