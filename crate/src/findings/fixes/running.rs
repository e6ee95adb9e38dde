//! Against what the running step computes with.

use super::{Basis, Case, Fix};
use crate::findings::category::Category;
use crate::findings::savings::batch::Batch;
use crate::findings::savings::checkpoint::Checkpointing;
use crate::findings::savings::{Held, Kept};
use crate::snapshot::stack::StackId;
use crate::units::Bytes;
use rustc_hash::FxHashSet;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut fixes = vec![batch(case)];
    if case.trains() || case.of(Category::KvCache) == 0 {
        fixes.extend(checkpoint(case));
    }
    fixes.extend(chunked_loss(case));
    fixes.extend(fused_attention(case));
    if !case.trains() {
        fixes.push(
            Fix::of(
                "no_grad",
                "If nothing is trained, switch gradients off",
                "No backward pass was recorded. Without gradients, what a layer computes is freed as soon as the next has used it.",
            )
            .with("with torch.inference_mode():\n    output = model(batch)"),
        );
    }
    fixes
}

fn batch(case: &Case<'_>) -> Fix {
    let batch = Batch::of(case.recording, case.marks);
    let halved = case.effect(|held| batch.kept(held, 0.5));
    if !case.trains() {
        return Fix::of(
            "half_batch",
            "Halve the batch",
            "Inputs, activations and scratch memory shrink in proportion; weights do not. Within 1 % of the truth in training runs that were compared, up to 9 % where cuDNN picks another algorithm.",
        )
        .bringing(halved, Basis::Estimated);
    }
    let accumulating = case.peak.saturating_sub(batch.peak_accumulating(2));
    let also = if accumulating > 0 {
        format!(
            "With gradients added up over both halves the step stays the same and {} are saved.",
            Bytes(accumulating)
        )
    } else {
        "Adding up gradients over both halves would take back what is saved, since they then live through the second forward pass.".to_owned()
    };
    Fix::of(
        "half_batch",
        "Halve the batch",
        format!("Inputs, activations and scratch memory shrink in proportion; weights, gradients and states do not. {also}"),
    )
    .bringing(halved, Basis::Estimated)
    .costing("Lower use of the GPU.")
    .with("for x, y in zip(batch_x.chunk(2), batch_y.chunk(2)):\n    (loss_fn(model(x), y) / 2).backward()\noptimizer.step()\noptimizer.zero_grad()")
}

fn checkpoint(case: &Case<'_>) -> Option<Fix> {
    let found = Checkpointing::of(case.snapshot, case.kinds, case.marks, case.recording)?;
    let effect = case.effect(|held| found.kept(held));
    let call = case.line(found.call);
    Some(
        Fix::of(
            "checkpointing",
            format!("Checkpoint the {} blocks called at {call}", found.blocks),
            "Each block keeps only its input and is computed again when its backward pass comes. Worked out from this recording; in five transformers that were compared the peak was right to 2 %. Transformers has `model.gradient_checkpointing_enable()`.",
        )
        .bringing(effect, Basis::Estimated)
        .costing("About 20 % more compute.")
        .with(format!("from torch.utils.checkpoint import checkpoint\nx = checkpoint(block, x, use_reentrant=False)   # at {call}")),
    )
}

/// The stacks in which some frame's name has one of `names`.
fn stacks_with(case: &Case<'_>, names: &[&str]) -> FxHashSet<StackId> {
    let snapshot = case.snapshot;
    let tells: Vec<bool> = snapshot
        .stacks
        .frames()
        .iter()
        .map(|frame| {
            let name = snapshot.texts.get(frame.name);
            names.iter().any(|part| name.contains(part))
        })
        .collect();
    let count = u32::try_from(snapshot.stacks.len()).unwrap_or(u32::MAX);
    let has = |id: &StackId| {
        let mut frames = snapshot.stacks.frames_of(*id).iter();
        frames.any(|frame| tells.get(frame.0 as usize).copied().unwrap_or(false))
    };
    (0..count).map(StackId).filter(has).collect()
}

fn made_in(case: &Case<'_>, held: &Held<'_>, stacks: &FxHashSet<StackId>) -> bool {
    let of_request = || {
        let oom = case.device.timeline.ooms.last()?;
        case.snapshot.entry(case.device.timeline.device, oom.entry).map(|entry| entry.stack)
    };
    let stack = held.allocation.map(|allocation| allocation.stack).or_else(of_request);
    stack.is_some_and(|stack| stacks.contains(&stack))
        && matches!(held.category, Category::Activations | Category::Temporaries)
}

/// The loss over a large vocabulary: log-probabilities and their gradient, as large as the logits.
fn chunked_loss(case: &Case<'_>) -> Option<Fix> {
    const NAMES: [&str; 6] = [
        "cross_entropy",
        "log_softmax",
        "LogSoftmaxBackward",
        "nll_loss",
        "NllLossBackward",
        "NllLoss2DBackward",
    ];
    let stacks = stacks_with(case, &NAMES);
    let effect = case
        .effect(|held| if made_in(case, held, &stacks) { Kept::part(0.125) } else { Kept::WHOLE });
    (effect.saves > 0).then(|| {
        Fix::of(
            "chunked_loss",
            "Compute the loss in chunks",
            "The loss makes tensors as large as all logits. Computed over an eighth of the tokens at a time, and again in the backward pass, only an eighth exists at once. Libraries do the same in one kernel (Liger's fused linear cross entropy).",
        )
        .bringing(effect, Basis::Estimated)
        .costing("The output layer is computed twice.")
        .with("def part(h, t):\n    return F.cross_entropy(head(h), t, reduction=\"sum\")\nparts = zip(hidden.chunk(8), target.chunk(8))\nloss = sum(checkpoint(part, h, t, use_reentrant=False) for h, t in parts) / target.numel()")
    })
}

/// Attention written out as matrix products keeps matrices of length × length: several times the
/// size of the queries, keys and values beside them.
fn fused_attention(case: &Case<'_>) -> Option<Fix> {
    const MATRICES: u64 = 4;
    let in_attention = stacks_with(case, &["attention", "Attention", "attn"]);
    let fused = stacks_with(case, &["scaled_dot_product", "flash", "efficient_attention"]);
    // Where the fused kernel runs, what is large beside it is something else.
    if !fused.is_empty() {
        return None;
    }
    let is_written_out = |held: &Held<'_>| made_in(case, held, &in_attention);
    let mut sizes: Vec<u64> = case
        .device
        .timeline
        .allocations
        .iter()
        .filter(|allocation| in_attention.contains(&allocation.stack))
        .map(|allocation| allocation.requested)
        .collect();
    sizes.sort_unstable();
    let least = sizes.get(sizes.len() / 2)?.saturating_mul(MATRICES);
    let effect = case.effect(|held| {
        if held.requested >= least && is_written_out(held) { Kept::NOTHING } else { Kept::WHOLE }
    });
    (effect.saves > 0).then(|| {
        Fix::of(
            "fused_attention",
            "Use the fused attention",
            "Attention written as matrix products and a softmax keeps matrices of length × length for each head. The fused kernel never makes them.",
        )
        .bringing(effect, Basis::Estimated)
        .with("out = F.scaled_dot_product_attention(q, k, v, is_causal=True)")
    })
}
