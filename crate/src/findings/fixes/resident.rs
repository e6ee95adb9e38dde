//! Against weights, gradients and optimizer states that fill the card.

use super::replay::Effect;
use super::{Basis, Case, Fix};
use crate::findings::category::Category;
use crate::findings::marks::Phase;
use crate::findings::savings::optimizer::{EightBits, without_scratch, without_states};
use crate::findings::savings::{Held, Kept, has_weight_copies};
use crate::units::Bytes;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut fixes = vec![shard(case)];
    let states = case.of(Category::OptimizerStates);
    let weights = case.of(Category::Weights);
    let is_wide = has_weight_copies(case.device, case.marks);
    if states > 0 || case.request_is(Category::OptimizerStates) {
        fixes.extend(small_optimizer(case, is_wide));
        fixes.push(offloaded_optimizer(case));
    }
    if weights > 0 && !case.trains() && states == 0 {
        fixes.push(quantised(case));
    } else if weights > 0 && is_wide {
        fixes.push(low_precision(case));
    }
    fixes.extend(gradients_to_none(case));
    fixes.extend(optimizer_step(case));
    fixes
}

impl Case<'_> {
    fn request_is(&self, category: Category) -> bool {
        self.recording.request.is_some_and(|(_, of)| of == category)
    }

    fn effect_of_part(&self, categories: &[Category], share: f64) -> Effect {
        self.effect(|held| part_of(held, categories, share))
    }
}

fn part_of(held: &Held<'_>, categories: &[Category], share: f64) -> Kept {
    if categories.contains(&held.category) { Kept::part(share) } else { Kept::WHOLE }
}

const TRAINED: [Category; 3] = [Category::Weights, Category::Gradients, Category::OptimizerStates];

fn shard(case: &Case<'_>) -> Fix {
    let halved = case.effect_of_part(&TRAINED, 0.5);
    let eighth = case.saves(|held| part_of(held, &TRAINED, 0.125));
    Fix::of(
        "shard",
        "Shard the model over several GPUs",
        format!("Each of N GPUs holds 1/N of the weights, gradients and optimizer states. The number is for 2 GPUs; 8 would take {} off each.", Bytes(eighth)),
    )
    .bringing(halved, Basis::Estimated)
    .costing("More GPUs, and the weights cross between them in each pass.")
    .with("from torch.distributed.fsdp import fully_shard\nfor block in model.blocks:\n    fully_shard(block)\nfully_shard(model)")
}

fn small_optimizer(case: &Case<'_>, is_wide: bool) -> Option<Fix> {
    let eight_bits = EightBits::of(case.device, is_wide);
    if eight_bits.are_there {
        return None;
    }
    let note = if is_wide {
        "Autocast made copies of the weights, so weights and states are of 32 bits now."
    } else {
        "The number takes weights and states to be of 16 bits now; of 32 bits, a quarter would stay."
    };
    let effect = case.effect(|held| eight_bits.kept(case.device, held));
    let fix = Fix::of("small_optimizer", "Keep the optimizer's states in 8 bits", note)
        .bringing(effect, Basis::Estimated)
        .costing("None known in the loss of most models; try a short run.")
        .with("import bitsandbytes as bnb\noptimizer = bnb.optim.AdamW8bit(model.parameters(), lr=1e-4)");
    Some(fix)
}

fn offloaded_optimizer(case: &Case<'_>) -> Fix {
    Fix::of(
        "offloaded_optimizer",
        "Keep the optimizer's states in CPU memory",
        "For example `torchao.optim.CPUOffloadOptimizer`, or `CPUOffloadPolicy` with FSDP.",
    )
    .bringing(case.effect(|held| without_states(case.device, held)), Basis::Estimated)
    .costing("Slower steps: the update runs on the CPU.")
}

fn low_precision(case: &Case<'_>) -> Fix {
    Fix::of(
        "low_precision",
        "Train in bfloat16",
        "Autocast made copies of the weights, so they are of 32 bits now; weights, gradients and states of 16 bits take half.",
    )
    .bringing(case.effect_of_part(&TRAINED, 0.5), Basis::Estimated)
    .costing("Small updates are rounded away: watch the loss, or use stochastic rounding.")
    .with("model.to(torch.bfloat16)   # before the optimizer is made")
}

fn quantised(case: &Case<'_>) -> Fix {
    Fix::of(
        "quantised_weights",
        "Load the weights in 8 bits",
        "The number takes the weights to be of 16 bits now; 4 bits save three quarters.",
    )
    .bringing(case.effect_of_part(&[Category::Weights], 0.5), Basis::Estimated)
    .costing("A little accuracy.")
    .with("from transformers import BitsAndBytesConfig\nmodel = AutoModelForCausalLM.from_pretrained(\n    name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))")
}

/// Gradients that live on into the next step's forward pass: in each later step they need to be
/// there only from the moment at which the new one would be added, which frees a temporary of the
/// backward pass of the gradient's size.
fn gradients_to_none(case: &Case<'_>) -> Option<Fix> {
    let device = case.device;
    let steps = device.steps.iter().filter(|step| step.trains && step.begin <= case.recording.upto);
    let steps: Vec<_> = steps.skip(1).collect();
    let backward: Vec<u32> = steps
        .iter()
        .filter_map(|step| {
            (step.begin..step.end).find(|entry| device.phases.get(*entry) == Phase::Backward)
        })
        .collect();
    let lives_on = |held: &Held<'_>| {
        held.allocation.is_some_and(|allocation| {
            held.category == Category::Gradients
                && backward.iter().any(|entry| allocation.is_live_after(*entry))
                && allocation.first_entry() < *backward.first().unwrap_or(&0)
        })
    };
    // Each such gradient lives from its first step's begin to that step's end only.
    let effect = case.effect(|held| {
        if !lives_on(held) {
            return Kept::WHOLE;
        }
        let Some(allocation) = held.allocation else { return Kept::WHOLE };
        let first = device.steps.iter().find(|step| step.end > allocation.first_entry());
        let end = first.map_or(u32::MAX, |step| step.end).min(allocation.last_entry());
        Kept { share: 1.0, lives: Some([(allocation.first_entry(), end), (end, end)]) }
    });
    (effect.saves > 0).then(|| {
        Fix::of(
            "set_to_none",
            "Drop the gradients between steps",
            "They live through the forward pass, where nobody needs them. `zero_grad()` drops them by default since PyTorch 2.0; here something keeps them. The number is an upper bound: each comes back in the backward pass.",
        )
        .bringing(effect, Basis::Estimated)
        .with("optimizer.zero_grad(set_to_none=True)")
    })
}

/// Scratch copies that the optimizer's step makes for all parameters at once.
fn optimizer_step(case: &Case<'_>) -> Option<Fix> {
    let effect = case.effect(|held| without_scratch(case.device, held));
    (effect.saves > 0).then(|| {
        Fix::of(
            "fused_optimizer",
            "Use the fused optimizer",
            "The default (foreach) makes copies of all parameters at once in the step; the fused kernel makes none.",
        )
        .bringing(effect, Basis::Estimated)
        .with("torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)")
    })
}
