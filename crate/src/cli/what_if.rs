//! `oomscope what-if FILE`.

use super::output::{open, print};
use oomscope::allocator::settings::{Parsed, Settings};
use oomscope::text::WhatIfText;
use oomscope::units::Bytes;
use oomscope::view::what_if::{Question, WhatIfReport, device_of};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct WhatIfArguments {
    /// The snapshot, with a recorded trace.
    pub(crate) file: PathBuf,
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

pub(crate) fn run(asked: &WhatIfArguments) -> Result<(), String> {
    let answer = answer(asked)?;
    print(&answer, &WhatIfText(&answer), asked.json)
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
