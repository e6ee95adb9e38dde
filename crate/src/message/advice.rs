//! What to do next, with the message's numbers; and what would not help.

use super::Message;
use super::bar::outside;
use super::cause::{Cause, Claim};
use super::context::{Context, Program};
use super::facts::Facts;
use super::version;
use super::wording::{Backend, Family};
use crate::units::Bytes;
use serde::Serialize;

/// One thing to do.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Advice {
    /// What to do, in a few words.
    pub title: String,
    /// How, and what it would bring.
    pub note: String,
}

/// A belief with what the numbers say to it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Misjudgement {
    /// The belief.
    pub belief: &'static str,
    /// What is true here.
    pub truth: String,
}

/// Causes that get advice: the likeliest two that are likely enough.
const SHARE: f64 = 0.4;

/// What to do, for the likeliest causes in their order.
pub(crate) fn advise(message: &Message, causes: &[Claim], context: &Context) -> Vec<Advice> {
    let mut advice = Vec::new();
    let likely = causes.iter().filter(|claim| claim.confidence >= SHARE).take(2);
    for claim in likely {
        for (title, note) in for_cause(claim.cause, message, context) {
            if !advice.iter().any(|other: &Advice| other.title == title) {
                advice.push(Advice { title, note });
            }
        }
    }
    advice
}

fn for_cause(cause: Cause, message: &Message, context: &Context) -> Vec<(String, String)> {
    let facts = &message.facts;
    let one = |title: &str, note: String| vec![(title.to_owned(), note)];
    match cause {
        Cause::Weights => vec![
            ("Add up what must stay".to_owned(), "With 32-bit Adam, training keeps 16 bytes a parameter: 4 for the weight, 4 for the gradient, 8 for the states. If that alone nears the device, a smaller batch does not help.".to_owned()),
            ("Make it smaller or share it out".to_owned(), "Load in 16, 8 or 4 bits, train with LoRA or an 8-bit optimizer, or shard with FSDP or ZeRO over several devices.".to_owned()),
        ],
        Cause::Activations => vec![
            ("Halve what grows with the input".to_owned(), format!("A smaller batch, sequence or image shrinks the block asked for{} in proportion, attention without a fused kernel by the square.", facts.requested_bytes.map_or(String::new(), |bytes| format!(" ({})", Bytes(bytes))))),
            ("Keep fewer activations".to_owned(), "Gradient checkpointing for training (about 20 % more compute), torch.no_grad() or torch.inference_mode() where nothing is trained, a fused attention kernel, the loss in pieces over the vocabulary.".to_owned()),
        ],
        Cause::Fragmentation => vec![fragmentation(message, context)],
        Cause::Leak => one("Compare two snapshots some steps apart", "What the later one holds in addition, and where it was made, is the leak.".to_owned()),
        Cause::KvCache => vec![serving(context)],
        Cause::InsufficientData => vec![record(message, context)],
        Cause::TooBigSingleRequest => one(
            "Find the shape that makes the block",
            format!("Print the shapes at the line that failed. {} is one result: compute it in pieces, or look for an accidental broadcast, an outer product or a transposed axis.", facts.requested_bytes.map_or("The block".to_owned(), |bytes| Bytes(bytes).to_string())),
        ),
        Cause::OtherProcess => one("Find who holds the memory", other_process(facts)),
        Cause::MemoryFractionCap => one("Raise or remove the limit", "Look for torch.cuda.set_per_process_memory_fraction, or a framework's setting that calls it. The device itself is larger than what this process may use.".to_owned()),
        Cause::Context => vec![
            ("Leave room outside PyTorch's allocator".to_owned(), context_note(facts)),
            ("Make fewer contexts and handles".to_owned(), "One process a device, fewer communicators and streams, CUDA_MODULE_LOADING=LAZY; CUBLAS_WORKSPACE_CONFIG=:16:8 makes cuBLAS's workspaces small.".to_owned()),
        ],
        Cause::HostMemory => vec![host(message)],
        Cause::PlatformLimit => one("Look at the platform's limits", "Compare the driver's log (dmesg), ulimit -a, the container's limits; on WSL and Windows also the driver's settings for shared memory.".to_owned()),
        Cause::NotPytorch => vec![foreign(message)],
    }
}

/// A snapshot, or the counters where the backend or the version has none.
fn record(message: &Message, context: &Context) -> (String, String) {
    let told = context.torch_version.as_deref();
    let has_none = matches!(message.backend, Backend::Mps | Backend::Xpu)
        || version::is_before(told, message.versions, 2, 0);
    let (title, note) = if has_none {
        (
            "Print what is held",
            "The lines below tell it at a few places of the program; the message knows the failure only.",
        )
    } else {
        (
            "Record a snapshot",
            "The lines below write one when it fails again; it tells apart what the message cannot.",
        )
    };
    (title.to_owned(), note.to_owned())
}

/// What to do with a text that has no message in it.
pub(crate) fn without_message() -> Vec<Advice> {
    vec![Advice {
        title: "Paste the whole error".to_owned(),
        note: "From the exception's name to the end of the sentence with the numbers, or the whole log. A snapshot tells more than any error.".to_owned(),
    }]
}

fn fragmentation(message: &Message, context: &Context) -> (String, String) {
    let facts = &message.facts;
    let told = context.torch_version.as_deref();
    let idle = Bytes(facts.reserved_unallocated_bytes.unwrap_or(0));
    if message.backend == Backend::Npu {
        return (
            "Let segments grow".to_owned(),
            format!(
                "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True before the process starts; it can win back at most {idle}."
            ),
        );
    }
    if version::is_before(told, message.versions, 2, 1) {
        return (
            "Upgrade, then let segments grow".to_owned(),
            format!(
                "expandable_segments:True is in PyTorch 2.1 and later and can win back at most {idle}. Until then PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512 may lower it."
            ),
        );
    }
    let name =
        if message.backend == Backend::Hip && version::is_before(told, message.versions, 2, 9) {
            "PYTORCH_HIP_ALLOC_CONF"
        } else {
            "PYTORCH_CUDA_ALLOC_CONF"
        };
    (
        "Let segments grow".to_owned(),
        format!(
            "Set {name}=expandable_segments:True before the process starts, if it is not set already (PYTORCH_ALLOC_CONF from PyTorch 2.9 on). It can win back at most the {idle} that lay idle, and costs nothing else."
        ),
    )
}

fn serving(context: &Context) -> (String, String) {
    let has = |program| context.programs.contains(&program);
    if has(Program::Sglang) {
        ("Set --mem-fraction-static anew".to_owned(), "It is the share for weights and cache. Lower it if the running pass fails; raise it, or shorten the context, if the cache finds no room.".to_owned())
    } else if has(Program::Tgi) {
        ("Ask for less at once".to_owned(), "Lower --max-batch-prefill-tokens and --max-total-tokens, or set --cuda-memory-fraction below 1.".to_owned())
    } else {
        ("Set the reservation anew".to_owned(), "gpu_memory_utilization is the share of the card for weights, running pass and cache together. If the cache finds no room, raise it or lower max_model_len; if graphs, sampler or requests fail, lower it (0.90, then 0.85) or lower max_num_seqs.".to_owned())
    }
}

fn other_process(facts: &Facts) -> String {
    let outside = outside(facts);
    let held = outside
        .others
        .or(outside.both)
        .map_or("the rest".to_owned(), |bytes| Bytes(bytes).to_string());
    format!(
        "nvidia-smi (rocm-smi, xpu-smi, npu-smi) lists the processes that hold {held}: an earlier run that did not end, a notebook, a sibling rank that loads onto this device (torch.load without map_location, a missing torch.cuda.set_device), or another user. CUDA_VISIBLE_DEVICES chooses another device."
    )
}

fn context_note(facts: &Facts) -> String {
    match outside(facts).own {
        Some(own) => format!("{} of this process is not PyTorch's. torch.cuda.set_per_process_memory_fraction(0.9) keeps PyTorch from taking what libraries need later.", Bytes(own)),
        None => "Libraries ask the driver for memory after PyTorch has taken its own. torch.cuda.set_per_process_memory_fraction(0.9), a smaller batch or an earlier first use of the library leaves them some.".to_owned(),
    }
}

fn host(message: &Message) -> (String, String) {
    match message.wording {
        "shared_memory" => ("Give the workers shared memory".to_owned(), "docker run --shm-size=8g (or --ipc=host), or num_workers=0 to see whether that is it.".to_owned()),
        "pinned" => ("Pin less".to_owned(), "pin_memory=False in the DataLoader, fewer workers, less offloading to pinned memory.".to_owned()),
        "worker_killed" | "oom_killer" | "container_killed" | "ray" | "killed" => ("Look at the machine's memory".to_owned(), "free -h while it runs, dmesg after it; fewer DataLoader workers, a data set that is not copied into each of them, a larger limit of the container or job.".to_owned()),
        _ => ("Look at the machine's memory".to_owned(), "free -h while it runs. Load in pieces or memory-mapped (mmap=True for torch.load), in 16 bits, with low_cpu_mem_usage=True; on Windows a larger page file helps.".to_owned()),
    }
}

fn foreign(message: &Message) -> (String, String) {
    match message.backend {
        Backend::Jax => ("Look with JAX's own tools".to_owned(), "jax.profiler.save_device_memory_profile writes what is live. XLA_PYTHON_CLIENT_PREALLOCATE=false stops JAX from taking 75 % of the card at its start.".to_owned()),
        Backend::Tensorflow => ("Look with TensorFlow's own tools".to_owned(), "tf.config.experimental.set_memory_growth stops it from taking the whole card at its start, which also starves a PyTorch process beside it.".to_owned()),
        backend => ("Ask that program's documentation".to_owned(), format!("A snapshot of PyTorch does not show the memory of {}.", backend.label())),
    }
}

/// Beliefs that the numbers of this message refute.
pub(crate) fn misjudgements(message: &Message, causes: &[Claim]) -> Vec<Misjudgement> {
    let facts = &message.facts;
    let mut beliefs = Vec::new();
    if message.family != Family::Allocator {
        return beliefs;
    }
    let mut add = |belief, truth| beliefs.push(Misjudgement { belief, truth });
    let cause = causes.first().map(|claim| claim.cause);
    if let (Some(idle), Some(request)) = (facts.reserved_unallocated_bytes, facts.requested_bytes) {
        let truth = if idle < request {
            format!(
                "It could free at most {}; {} were asked for. PyTorch had done the same before it gave up.",
                Bytes(idle),
                Bytes(request)
            )
        } else {
            format!(
                "PyTorch had done the same before it gave up: the {} that lie idle share segments with live tensors and cannot be given back.",
                Bytes(idle)
            )
        };
        add("torch.cuda.empty_cache() would help", truth);
        if idle < request && cause != Some(Cause::Fragmentation) {
            add(
                "It is fragmentation, as the message suggests",
                format!(
                    "The advice is in every message. Here {} lay idle, less than the {} asked for: no setting of the allocator would have made room.",
                    Bytes(idle),
                    Bytes(request)
                ),
            );
        }
    }
    if let (Some(reserved), Some(idle)) = (facts.reserved_bytes, facts.reserved_unallocated_bytes)
        && idle < reserved / 10
        && reserved > 0
    {
        add(
            "What PyTorch has reserved is wasted",
            format!(
                "Of {} reserved only {} were idle; the rest is live tensors.",
                Bytes(reserved),
                Bytes(idle)
            ),
        );
    }
    if let Some(request) = facts.requested_bytes.filter(|request| *request <= 64 << 20) {
        add(
            "It failed for a mere few megabytes, so something is wrong",
            format!(
                "The {} asked for is only the block that found the device full.",
                Bytes(request)
            ),
        );
    }
    if cause == Some(Cause::OtherProcess) {
        add("The batch is too large", "A smaller batch may fit into what others leave, but they hold the memory that is missing.".to_owned());
    }
    if message.versions == Some("1.0 to 1.3") && facts.reserved_unallocated_bytes.is_some() {
        add(
            "\"cached\" is all that PyTorch holds",
            "In PyTorch 1.0 to 1.3 it is what the allocator holds idle, beside what is allocated."
                .to_owned(),
        );
    }
    if message.backend == Backend::Mps {
        add(
            "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 makes room",
            "It removes the limit, not the need: the machine then swaps and may freeze.".to_owned(),
        );
    }
    beliefs
}
