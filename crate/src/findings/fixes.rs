//! What to do, and what it would bring.

use super::Device;
use super::category::Category;
use super::diagnosis::{Cause, Diagnosis};
use crate::snapshot::Snapshot;
use crate::timeline::Oom;
use crate::units::Bytes;
use serde::Serialize;

/// How a saving is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Read off the trace.
    Measured,
    /// Estimated from the trace.
    Estimated,
    /// Not known.
    None,
}

impl Basis {
    /// The same for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::Estimated => "estimated",
            Basis::None => "not known",
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Its name for programs.
    pub id: &'static str,
    /// What to do, in a few words.
    pub title: &'static str,
    /// Bytes that it would save at the moment judged.
    pub saves_bytes: Option<u64>,
    /// How that is known.
    pub basis: Basis,
    /// How, and at what cost.
    pub note: String,
}

/// The fixes that the evidence carries, most effective first, then what would not help.
#[must_use]
pub fn fixes(snapshot: &Snapshot, device: &Device, diagnosis: &Diagnosis) -> Vec<Fix> {
    let of = |category: Category| diagnosis.composition[category.place()];
    let is_expandable =
        snapshot.settings.as_ref().is_some_and(|settings| settings.expandable_segments)
            || snapshot
                .segments
                .iter()
                .any(|segment| segment.device == device.timeline.device && segment.is_expandable);
    let resident = of(Category::Weights) + of(Category::Gradients) + of(Category::OptimizerStates);
    let mut fixes = match diagnosis.cause() {
        Cause::Fragmentation if is_expandable => vec![plain(
            "steadier_sizes",
            "Ask for fewer different sizes",
            "Segments can grow already, so the settings have little left to give: pad sequences to a few fixed lengths, or allocate the largest case first.",
        )],
        Cause::Fragmentation => vec![plain(
            "expandable_segments",
            "Let segments grow",
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from PyTorch 2.9 on) before the process starts. It costs nothing else.",
        )],
        Cause::Leak => vec![leak(diagnosis)],
        Cause::Activations => activations(of(Category::Activations) + of(Category::Inputs)),
        Cause::Weights => weights(of(Category::OptimizerStates), resident),
        Cause::KvCache => vec![
            estimated(
                "half_cache",
                "Keep half of the cache",
                of(Category::KvCache) / 2,
                "Half as many concurrent requests, half the context, or 8 bits an element instead of 16: the cache grows in proportion to each.",
            ),
            plain(
                "reservation",
                "Look at both reservations",
                "A serving framework reserves its cache up front (gpu_memory_utilization in vLLM, mem_fraction_static in SGLang); what it leaves over must hold the activations and the allocator's slack.",
            ),
        ],
        Cause::None | Cause::InsufficientData => Vec::new(),
    };
    if let Some(oom) = device.timeline.ooms.last() {
        fixes.extend(no_help(oom, is_expandable));
    }
    fixes
}

fn plain(id: &'static str, title: &'static str, note: &str) -> Fix {
    Fix { id, title, saves_bytes: None, basis: Basis::None, note: note.to_owned() }
}

fn estimated(id: &'static str, title: &'static str, saves: u64, note: &str) -> Fix {
    Fix { id, title, saves_bytes: Some(saves), basis: Basis::Estimated, note: note.to_owned() }
}

fn leak(diagnosis: &Diagnosis) -> Fix {
    let kept = diagnosis.ranking.first().map_or(0, |claim| claim.bytes);
    Fix {
        id: "let_go",
        title: "Let go of what each step keeps",
        saves_bytes: Some(kept),
        basis: Basis::Measured,
        note: "At the line named above: add loss.item() instead of loss, store tensor.detach().cpu() instead of tensor, del what a step no longer needs, and break cycles between objects that hold tensors (a model that refers to its trainer, a closure in a hook, a stored exception).".to_owned(),
    }
}

fn activations(bytes: u64) -> Vec<Fix> {
    vec![
        plain(
            "checkpointing",
            "Checkpoint activations",
            "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) around each repeated block keeps only the block's input and computes the rest again in the backward pass, for about 20 % more compute. If nothing is trained here, torch.no_grad() keeps none of them.",
        ),
        estimated(
            "half_batch",
            "Halve the batch",
            bytes / 2,
            "Activations shrink in proportion; accumulate gradients over two halves to keep the step the same.",
        ),
    ]
}

fn weights(states: u64, resident: u64) -> Vec<Fix> {
    let mut fixes = vec![estimated(
        "shard",
        "Shard over two GPUs",
        resident / 2,
        "fully_shard(model) (FSDP) gives each GPU its part of weights, gradients and optimizer states; over N GPUs 1/N stays.",
    )];
    if states > 0 {
        // Blocks of 256 elements with one 32-bit scale each.
        let saves = states - states / 4 - states / 256;
        fixes.push(estimated("small_optimizer", "Keep optimizer states in 8 bits", saves, "bitsandbytes.optim.AdamW8bit instead of torch.optim.AdamW; the estimate takes the states to be of 32 bits."));
    }
    fixes.sort_by_key(|fix| std::cmp::Reverse(fix.saves_bytes));
    fixes
}

/// What people try first, with the number that says why it does nothing here.
fn no_help(oom: &Oom, is_expandable: bool) -> Vec<Fix> {
    let useless =
        |id, title, note| Fix { id, title, saves_bytes: Some(0), basis: Basis::Measured, note };
    let idle = oom.usage.idle();
    let mut fixes = vec![useless(
        "empty_cache",
        "torch.cuda.empty_cache() would not help",
        format!(
            "PyTorch had done the same before it gave up. The {} idle at that moment lie in segments that are partly in use, which cannot be given back.",
            Bytes(idle)
        ),
    )];
    if idle < oom.request_bytes && !is_expandable {
        fixes.push(useless(
            "no_expandable_segments",
            "expandable_segments would not help",
            format!(
                "It can only win back idle memory: {} of {} reserved, less than the {} asked for.",
                Bytes(idle),
                Bytes(oom.usage.reserved),
                Bytes(oom.request_bytes)
            ),
        ));
    }
    fixes
}
