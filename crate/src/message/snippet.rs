//! The lines that record what a message cannot tell, for the reader's version and program.

use super::Message;
use super::cause::{Cause, Claim};
use super::context::{Context, Program, System};
use super::version;
use super::wording::Backend;
use serde::Serialize;

/// Lines to paste.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Snippet {
    /// What the recording will tell that the message does not.
    pub why: &'static str,
    /// Where the lines go.
    pub place: String,
    /// The lines.
    pub code: String,
    /// What to know about them.
    pub notes: Vec<String>,
    /// Whether they write a snapshot, rather than print what is held.
    pub records: bool,
}

/// The lines for this message; `None` where a snapshot of the GPU's memory would say nothing.
#[must_use]
pub fn snippet(message: &Message, causes: &[Claim], context: &Context) -> Option<Snippet> {
    let cause = causes.first()?.cause;
    if matches!(cause, Cause::HostMemory | Cause::NotPytorch | Cause::PlatformLimit) {
        return None;
    }
    let told = context.torch_version.as_deref();
    let before = |major, minor| version::is_before(told, message.versions, major, minor);
    match message.backend {
        Backend::Cuda | Backend::Hip => {}
        Backend::Xpu => {
            return Some(summary(
                "torch.xpu.memory",
                "Snapshots of XPU memory exist from PyTorch 2.11 on (torch.xpu.memory._record_memory_history).",
            ));
        }
        Backend::Npu => return Some(npu()),
        Backend::Mps => return Some(mps()),
        _ => return None,
    }
    if before(2, 0) {
        return Some(summary(
            "torch.cuda",
            "Snapshots with a history exist from PyTorch 2.0 on, and are complete from 2.1 on: with an upgrade the recording lines will work.",
        ));
    }
    Some(recording(context, before(2, 1)))
}

const WHY: &str = "A snapshot tells weights, activations, gaps and leaks apart, with the lines of code that hold them; the message cannot.";

fn recording(context: &Context, is_old: bool) -> Snippet {
    let has = |program| context.programs.contains(&program);
    let is_ranked = has(Program::Torchrun) || has(Program::Fsdp) || has(Program::Deepspeed);
    // Native stacks cost minutes to write out for long recordings, and there are none on Windows.
    let python = context.systems.contains(&System::Windows) || context.serves();
    let stacks = if python { ", stacks=\"python\"" } else { "" };
    let start = if is_old {
        "torch.cuda.memory._record_memory_history(True, trace_alloc_max_entries=100_000, trace_alloc_record_context=True)".to_owned()
    } else {
        format!("torch.cuda.memory._record_memory_history(max_entries=200_000{stacks})")
    };
    let file = if is_ranked {
        "f\"oom_rank{os.environ.get('RANK', 0)}.pickle\""
    } else {
        "\"oom.pickle\""
    };
    let import = if is_ranked || context.serves() { "import os, torch" } else { "import torch" };
    let file = if context.serves() { "f\"oom_{os.getpid()}.pickle\"" } else { file };
    let observer = format!(
        "torch._C._cuda_attach_out_of_memory_observer(lambda *_: torch.cuda.memory._dump_snapshot({file}))"
    );
    let mut notes = vec![
        "The file is written when the request fails, before the exception lets go of what filled the card.".to_owned(),
        "The ring keeps the last 200,000 entries, some 3 to 20 training steps; take more if a step has more.".to_owned(),
    ];
    if !python {
        notes.push("If writing takes minutes or fails, add stacks=\"python\": it leaves out native frames.".to_owned());
    }
    let place = if has(Program::Vllm) || has(Program::Sglang) {
        notes.push("The server's workers are processes of their own: the lines must run in each, for example in a sitecustomize.py on PYTHONPATH. Set VLLM_WORKER_MULTIPROC_METHOD=spawn for vLLM.".to_owned());
        "At the top of a sitecustomize.py that the workers import."
    } else if has(Program::Lightning) {
        notes.push(
            "A callback works as well: call the lines in setup(self, trainer, pl_module, stage)."
                .to_owned(),
        );
        "Before Trainer(...) is made, so that the model's own memory is in the recording."
    } else if has(Program::HfTrainer) {
        notes.push(
            "With a script of others, put them into a TrainerCallback's on_init_end.".to_owned(),
        );
        "Before the model is loaded and Trainer(...) is made."
    } else if is_ranked {
        "In every rank, after the device is set and before the model is built; each rank writes its own file."
    } else if context.systems.contains(&System::Notebook) {
        "In the first cell, after a restart of the kernel."
    } else {
        "Before the model is built."
    };
    Snippet {
        why: WHY,
        place: place.to_owned(),
        code: format!("{import}\n{start}\n{observer}\n"),
        notes,
        records: true,
    }
}

fn summary(module: &str, note: &str) -> Snippet {
    Snippet {
        why: "Without a snapshot, the counters before and after each part of a step show where memory climbs.",
        place: "After loading, after the forward pass, after the backward pass, after the optimizer's step.".to_owned(),
        code: format!("print({module}.memory_allocated() / 2**30, {module}.max_memory_allocated() / 2**30)\n"),
        notes: vec![note.to_owned()],
        records: false,
    }
}

fn npu() -> Snippet {
    Snippet {
        why: WHY,
        place: "Before the model is built.".to_owned(),
        code: "import torch, torch_npu\ntorch_npu.npu.memory._record_memory_history()\n# … the program; at the failure or after a few steps:\ntorch_npu.npu.memory._dump_snapshot(\"oom.pickle\")\n".to_owned(),
        notes: vec!["Recording must be switched on for the NPU: torch.cuda's function records nothing here.".to_owned()],
        records: true,
    }
}

fn mps() -> Snippet {
    Snippet {
        why: "MPS has no snapshot; its two counters tell tensors from what Metal holds.",
        place: "After loading, then after each part of a step.".to_owned(),
        code: "print(torch.mps.current_allocated_memory() / 2**30, torch.mps.driver_allocated_memory() / 2**30)\n".to_owned(),
        notes: Vec::new(),
        records: false,
    }
}
