//! Against references kept.

use super::{Basis, Case, Fix};
use crate::findings::keeping::Keeping;
use crate::findings::savings::Kept;
use rustc_hash::FxHashMap;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let Some(kept) = &case.diagnosis.kept else { return Vec::new() };
    // What is kept dies with the step that made it.
    let ends: FxHashMap<usize, u32> = kept.survivors.iter().copied().collect();
    let effect = case.effect(|held| {
        let Some((end, allocation)) =
            held.place.and_then(|place| ends.get(&place)).zip(held.allocation)
        else {
            return Kept::WHOLE;
        };
        let begin = allocation.first_entry();
        let end = (*end).min(allocation.last_entry());
        Kept { share: 1.0, lives: Some([(begin, end), (end, end)]) }
    });
    let at = kept.site.map_or_else(String::new, |site| format!(" at {}", case.line(site)));
    let how = match kept.keeping {
        Keeping::Graph if case.trains() => Fix::of(
            "let_go",
            format!("Keep numbers, not tensors with their graph{at}"),
            "A tensor that took part in the forward pass holds everything its backward pass would need. Sum or log the number: `loss.item()`, or `loss.detach()` where waiting for the GPU is too slow.",
        )
        .with("total += loss.item()          # not: total += loss"),
        Keeping::Graph => Fix::of(
            "no_grad",
            format!("Run the loop{at} without gradients"),
            "Nothing is trained here, yet every output holds the graph of its whole forward pass. Without gradients only the outputs themselves stay.",
        )
        .with("with torch.inference_mode():\n    output = model(batch)"),
        Keeping::Values => Fix::of(
            "let_go",
            format!("Let go of the tensors that are collected{at}"),
            "Something holds one more tensor after each step: a list, a dict, an attribute. Bring to the CPU what is needed later, and drop the rest.",
        )
        .with("results.append(output.detach().cpu())   # not: results.append(output)"),
        Keeping::Hook => Fix::of(
            "let_go",
            format!("Empty what the hook collects{at}"),
            "A hook stores a tensor at each call. Clear its store after each step, detach what it keeps, or remove the hook when it is not needed.",
        )
        .with("handle = module.register_forward_hook(hook)\n…\nhandle.remove()"),
        Keeping::Appended => Fix::of(
            "gather_on_cpu",
            format!("Gather the results on the CPU{at}"),
            "Bring each step's part to the CPU and join them there at the end. In Transformers' Trainer that is `eval_accumulation_steps`, and `preprocess_logits_for_metrics` keeps the parts small.",
        )
        .with("parts.append(logits.cpu())\n…\nresult = torch.cat(parts)"),
        Keeping::Cycle | Keeping::Masses => Fix::of(
            "break_cycle",
            format!("Break the reference cycle{at}"),
            "Two objects that refer to each other die only when Python's cyclic collector runs, and it does not see GPU memory. Break the cycle where the step ends (`del`, or set one attribute to `None`), or hold one side by `weakref.ref`.",
        )
        .with("import gc\n# A stopgap, in the training loop:\nif step % 20 == 0:\n    gc.collect()"),
        Keeping::Exception => Fix::of(
            "drop_exception",
            format!("Let go of the first failure before the next try{at}"),
            "The exception's traceback keeps the frames of the failed step, and these their tensors. Retry outside of the `except` block; in a notebook clear the stored traceback first.",
        )
        .with("import gc, sys\nsys.last_traceback = sys.last_value = sys.last_exc = None\ngc.collect()"),
    };
    let mut fixes = vec![how.bringing(effect, Basis::Measured)];
    if matches!(kept.keeping, Keeping::Graph | Keeping::Values | Keeping::Hook) {
        fixes.push(
            Fix::of(
                "try_collect",
                "Find out whether it is a cycle",
                "A list that grows and a reference cycle that is never collected look alike here. If memory falls after this line, it is a cycle; if not, something refers to the tensors.",
            )
            .with("import gc\ngc.collect()\nprint(torch.cuda.memory_allocated())"),
        );
    }
    fixes
}
