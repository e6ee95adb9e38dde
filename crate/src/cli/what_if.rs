//! `oomscope what-if FILE`.

use super::output::{open, print};
use clap::ValueEnum;
use oomscope::allocator::settings::{Parsed, Settings};
use oomscope::findings::savings::change::{Change, OptimizerStates};
use oomscope::text::WhatIfText;
use oomscope::units::Bytes;
use oomscope::view::question::{EmptyCache, Question};
use oomscope::view::what_if::{WhatIfReport, device_of};
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
    /// When the program calls torch.cuda.empty_cache(); each call waits for the GPU.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Recorded)]
    empty_cache: When,
    /// Multiply the batch by this, from 0.01 to 100; an estimate.
    #[arg(long, value_name = "FACTOR", value_parser = factor, default_value = "1")]
    batch: f64,
    /// Checkpoint each repeated block of modules; an estimate.
    #[arg(long)]
    checkpointing: bool,
    /// Keep the optimizer's states as they are, in 8 bits, or not on the GPU; an estimate.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = States::Recorded)]
    optimizer_states: States,
    /// Replay this device instead of the one that failed or has most entries.
    #[arg(long)]
    device: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Never,
    Recorded,
    EveryStep,
}

#[derive(Clone, Copy, ValueEnum)]
enum States {
    Recorded,
    #[value(name = "8bit")]
    EightBit,
    None,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.01..=100.0).contains(&factor) => Ok(factor),
        _ => Err("a number from 0.01 to 100, such as 0.5 for half the batch".to_owned()),
    }
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
        empty_cache: match asked.empty_cache {
            When::Never => EmptyCache::Never,
            When::Recorded => EmptyCache::Recorded,
            When::EveryStep => EmptyCache::EveryStep,
        },
        change: Change {
            batch: asked.batch,
            checkpointing: asked.checkpointing,
            optimizer_states: match asked.optimizer_states {
                States::Recorded => OptimizerStates::Recorded,
                States::EightBit => OptimizerStates::EightBit,
                States::None => OptimizerStates::None,
            },
        },
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
