//! `oomscope message [FILE|-]`.

use super::output::print;
use oomscope::limits;
use oomscope::message;
use oomscope::text::MessageText;
use oomscope::units::Bytes;
use oomscope::view::message::MessageReport;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct MessageArguments {
    /// The text, an error or a whole log; `-` or nothing reads what is piped or pasted.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Leave the folders out of all paths.
    #[arg(long)]
    strip_paths: bool,
}

pub(crate) fn run(asked: &MessageArguments) -> Result<(), String> {
    let mut report = MessageReport::of(&message::read(&read(&asked.file)?));
    if asked.strip_paths {
        report.leave_out_folders();
    }
    print(&report, &MessageText(&report), asked.json)
}

fn read(path: &Path) -> Result<String, String> {
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
            Bytes(limits::MESSAGE_BYTES)
        ));
    }
    Ok(message::text_from_bytes(&bytes))
}
