//! Each number of a message in a line: what it counts, and what it does not.

use super::Message;
use super::bar::{ROUNDING_BYTES, outside, own_process};
use super::clean::Clean;
use super::server::Budget;
use super::shape;
use super::weigh::percent;
use super::wording::{Backend, Family};
use crate::units::Bytes;
use serde::Serialize;

/// A number with its meaning.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Explanation {
    /// The fact's name in the JSON, or a name of a sum.
    pub key: &'static str,
    /// The number in bytes.
    pub bytes: u64,
    /// What it is, in a sentence.
    pub sentence: String,
    /// Whether the text states it; else it is a sum of what it states.
    pub is_stated: bool,
}

/// The numbers of `message`, in the order of its sentence, then the sums. `source` is the whole text,
/// for what a server logged before.
pub(crate) fn explain(message: &Message, source: &str) -> Vec<Explanation> {
    let mut lines = Lines(Vec::new());
    request(message, &mut lines);
    device(message, &mut lines);
    allocator(message, &mut lines);
    sums(message, &mut lines);
    if message.family == Family::Cache || !message.facts.any() {
        budget(message, source, &mut lines);
    }
    lines.0
}

struct Lines(Vec<Explanation>);

impl Lines {
    fn add(
        &mut self,
        key: &'static str,
        bytes: Option<u64>,
        is_stated: bool,
        sentence: impl FnOnce(Bytes) -> String,
    ) {
        if let Some(bytes) = bytes {
            self.0.push(Explanation { key, bytes, sentence: sentence(Bytes(bytes)), is_stated });
        }
    }
}

fn request(message: &Message, lines: &mut Lines) {
    let rounds = message.family == Family::Allocator
        && message.backend != Backend::Mps
        && message.wording != "cuda_malloc_async";
    lines.add("requested_bytes", message.facts.requested_bytes, true, |bytes| {
        let meaning = match bytes.0 {
            0x20_0000 if rounds => "PyTorch takes 2 MiB at a time for requests of up to 1 MiB, so that the tensor may be tiny".to_owned(),
            0x140_0000 if rounds => "PyTorch takes 20 MiB at a time for requests of 1 to 10 MiB, so that the tensor is smaller".to_owned(),
            _ => "one block, the one that failed; it says little about what filled the memory before".to_owned(),
        };
        let shapes = if bytes.0 >= 1 << 30 { shape::examples(bytes.0) } else { Vec::new() };
        let example = if shapes.is_empty() { String::new() } else { format!(" Shapes of about this size: {}.", shapes.join("; ")) };
        format!("{bytes} asked for: {meaning}.{example}")
    });
}

fn device(message: &Message, lines: &mut Lines) {
    let facts = &message.facts;
    lines.add("capacity_bytes", facts.capacity_bytes, true, |bytes| {
        format!("{bytes} is the device's memory, as the driver counts it: a little less than its name says.")
    });
    lines.add("free_bytes", facts.free_bytes, true, |bytes| {
        format!("{bytes} free: what the driver had left for everybody, after PyTorch had given back the segments in which nothing was live.")
    });
    lines.add("process_bytes", facts.process_bytes, true, |bytes| {
        let reserved = facts.reserved_bytes.unwrap_or(0);
        if bytes.0.saturating_add(ROUNDING_BYTES) < reserved {
            format!("{bytes} for this process is wrong, since its allocator alone holds {}: the driver could not see the process, as in containers.", Bytes(reserved))
        } else {
            format!("{bytes} held by this process in all: PyTorch's allocator, the driver's context, libraries, NCCL.")
        }
    });
    lines.add("allowed_bytes", facts.allowed_bytes, true, |bytes| {
        if message.backend == Backend::Mps {
            format!("{bytes} allowed: the high watermark, a share of the memory that Metal recommends. Every MPS message prints it.")
        } else {
            format!("{bytes} allowed: the limit of set_per_process_memory_fraction, printed when one is set.")
        }
    });
}

fn allocator(message: &Message, lines: &mut Lines) {
    let facts = &message.facts;
    let is_stated = |field| !facts.derived.contains(&field);
    lines.add("allocated_bytes", facts.allocated_bytes, true, |bytes| {
        let pools = if facts.private_pool_bytes.is_some() { " It includes what lies idle in private pools." } else { "" };
        format!("{bytes} allocated: live tensors, rounded up to 512 bytes each; no setting of the allocator makes them smaller.{pools}")
    });
    lines.add("private_pool_bytes", facts.private_pool_bytes, true, |bytes| {
        format!("{bytes} in private pools: idle blocks that belong to CUDA graphs, where other requests may not go, whatever the sentence calls them.")
    });
    lines.add(
        "reserved_unallocated_bytes",
        facts.reserved_unallocated_bytes,
        is_stated(super::facts::Field::Unallocated),
        |bytes| {
            let of = facts.reserved_bytes.map_or(String::new(), |reserved| {
                format!(", {} of what the allocator holds", percent(bytes.0, reserved))
            });
            format!("{bytes} reserved but idle{of}: gaps in segments that also hold live tensors.")
        },
    );
    lines.add("reserved_bytes", facts.reserved_bytes, is_stated(super::facts::Field::Reserved), |bytes| {
        format!("{bytes} reserved: all that PyTorch's allocator holds, live and idle. It is not waste.")
    });
    lines.add("active_bytes", facts.active_bytes, true, |bytes| {
        format!("{bytes} active: live tensors and blocks that another stream still uses.")
    });
    lines.add("other_allocations_bytes", facts.other_allocations_bytes, true, |bytes| {
        format!("{bytes} of this process's Metal memory is not PyTorch's allocator.")
    });
}

fn sums(message: &Message, lines: &mut Lines) {
    let facts = &message.facts;
    let outside = outside(facts);
    lines.add("own_other_bytes", outside.own.filter(|own| *own > ROUNDING_BYTES), false, |bytes| {
        format!("{bytes} of this process is outside PyTorch's allocator: the driver's context, libraries, NCCL. No snapshot shows it.")
    });
    lines.add(
        "other_processes_bytes",
        outside.others.filter(|others| *others > ROUNDING_BYTES),
        false,
        |bytes| format!("{bytes} belongs to other processes or to the driver itself."),
    );
    if outside.others.is_none() && facts.reserved_bytes.is_some() {
        lines.add("outside_bytes", outside.both.filter(|both| *both > ROUNDING_BYTES), false, |bytes| {
            format!("{bytes} is neither free nor PyTorch's: this process's context and libraries, and other processes. The text does not tell them apart.")
        });
    }
    if facts.process_bytes.is_none()
        && facts.process_list.len() == 1
        && own_process(facts).is_some()
    {
        let listed = facts.process_list.first().map(|process| (process.pid, process.bytes));
        lines.add("own_process_bytes", listed.map(|(_, bytes)| bytes), true, |bytes| {
            format!("{bytes} of process {} is this process itself, under the number that it has outside its container.", listed.map_or(0, |(pid, _)| pid))
        });
    }
}

fn budget(message: &Message, source: &str, lines: &mut Lines) {
    // The lines of the log up to the message are enough, and the message's own.
    let from = source
        .lines()
        .take(message.line + 40)
        .map(|line| line.len() + 1)
        .sum::<usize>()
        .min(source.len());
    let Some(log) = source.get(..from) else { return };
    let text = Clean::of(log).text;
    let budget = Budget::of(&text, text.len());
    for (key, bytes, meaning) in [
        ("weights_bytes", budget.weights, "for the weights"),
        (
            "activation_peak_bytes",
            budget.activations,
            "for the running pass at its peak, as the server measured it",
        ),
        ("non_torch_bytes", budget.other, "outside PyTorch's allocator"),
        ("graphs_bytes", budget.graphs, "for CUDA graphs"),
        ("kv_cache_bytes", budget.cache, "left for the KV cache"),
        (
            "kv_cache_needed_bytes",
            budget.needed,
            "needed by the KV cache of one request of the largest length",
        ),
    ] {
        lines.add(key, bytes, true, |bytes| format!("{bytes} {meaning}."));
    }
}
