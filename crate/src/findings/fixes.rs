//! What to do, and what it would bring.

use super::Device;
use super::diagnosis::{Cause, Diagnosis};
use crate::snapshot::Snapshot;
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

/// The fixes that the evidence carries, most effective first.
#[must_use]
pub fn fixes(snapshot: &Snapshot, device: &Device, diagnosis: &Diagnosis) -> Vec<Fix> {
    let is_expandable =
        snapshot.settings.as_ref().is_some_and(|settings| settings.expandable_segments)
            || snapshot
                .segments
                .iter()
                .any(|segment| segment.device == device.timeline.device && segment.is_expandable);
    let fix = |id, title, note: &str| Fix {
        id,
        title,
        saves_bytes: None,
        basis: Basis::None,
        note: note.to_owned(),
    };
    match diagnosis.cause() {
        Cause::Fragmentation if !is_expandable => vec![fix(
            "expandable_segments",
            "Let segments grow",
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the process starts (PYTORCH_ALLOC_CONF from PyTorch 2.9 on).",
        )],
        Cause::Activations => vec![
            fix(
                "checkpointing",
                "Checkpoint activations",
                "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) keeps only each block's input and computes the rest again, for about 20 % more compute.",
            ),
            fix(
                "smaller_batch",
                "Make the batch smaller",
                "Halve the batch and accumulate gradients over two of them; activations shrink in proportion.",
            ),
        ],
        Cause::Weights => vec![fix(
            "smaller_states",
            "Keep smaller states",
            "An 8-bit or factored optimizer, weights in bfloat16, or sharding over several GPUs (FSDP) shrinks what stays resident.",
        )],
        Cause::KvCache => vec![fix(
            "shorter_cache",
            "Limit the cache",
            "Lower the number of concurrent requests, the context length, or the precision of the cache.",
        )],
        _ => Vec::new(),
    }
}
