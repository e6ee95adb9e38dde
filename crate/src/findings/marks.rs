//! What a stack says of an allocation or a free: the phase that it belongs to, and the tell-tale
//! functions in it. Worked out once for each distinct frame and each distinct stack.
//!
//! A frame carries no class and no module, so a rule is a function's name together with the end of
//! its file's path. Among the Python frames the innermost marker decides the phase: a closure that
//! runs the forward pass inside `Optimizer.step` is forward.

use super::frame_kind::{FrameKind, FrameKinds};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use serde::{Deserialize, Serialize};

/// What the program was doing.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Building or loading the model.
    Loading,
    /// A forward pass.
    Forward,
    /// A backward pass, recomputation included.
    Backward,
    /// The optimizer's step, gradient clipping and scaling included.
    Optimizer,
    /// Dropping the gradients.
    ZeroGrad,
    /// The program's own code around these.
    Between,
    /// No stack tells.
    Unknown,
}

impl Phase {
    /// All of them, in the order in which a step goes through them.
    pub const ALL: [Phase; 7] = [
        Phase::Loading,
        Phase::Between,
        Phase::Forward,
        Phase::Backward,
        Phase::Optimizer,
        Phase::ZeroGrad,
        Phase::Unknown,
    ];

    /// Its name for people, as in "at its fullest in the forward pass".
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Phase::Loading => "loading",
            Phase::Forward => "the forward pass",
            Phase::Backward => "the backward pass",
            Phase::Optimizer => "the optimizer's step",
            Phase::ZeroGrad => "dropping the gradients",
            Phase::Between => "the program's own code",
            Phase::Unknown => "a phase that nothing tells",
        }
    }
}

/// A set of tell-tales.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Signs(u32);

macro_rules! signs {
    ($($(#[$doc:meta])* $name:ident = $bit:literal),* $(,)?) => {
        impl Signs { $($(#[$doc])* pub const $name: Signs = Signs(1 << $bit);)* }
    };
}

signs! {
    /// Native frames of the autograd engine.
    ENGINE = 0,
    /// Activation checkpointing runs the forward pass again.
    RECOMPUTED = 1,
    /// A key/value cache.
    KV_CACHE = 2,
    /// Collective communication, or the buffers of a sharded or replicated model.
    COMMUNICATION = 3,
    /// The scratch memory of cuBLAS or cuDNN.
    WORKSPACE = 4,
    /// A compiler trying out kernels.
    TUNING = 5,
    /// Autograd releasing what it had saved.
    SAVED = 7,
    /// A gradient being replaced: `p.grad = None`.
    SET_GRAD = 8,
    /// Dropping the gradients.
    ZERO_GRAD = 9,
    /// An optimizer making its states.
    STATE_MADE = 10,
    /// A batch being brought to the device.
    DATA = 11,
    /// Python's cyclic garbage collector.
    COLLECTOR = 12,
    /// Gradient clipping or scaling.
    CLIPPING = 13,
    /// Autocast's conversion to a lower precision.
    CAST = 14,
    /// A module's call.
    MODULE = 15,
}

impl Signs {
    /// Whether all of `other` are among these.
    #[must_use]
    pub fn has(self, other: Signs) -> bool {
        self.0 & other.0 == other.0
    }

    fn add(&mut self, other: Signs) {
        self.0 |= other.0;
    }
}

/// What one stack says.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// The phase by the stack alone; [`Phase::Unknown`] for one without frames.
    pub phase: Phase,
    /// The tell-tales.
    pub signs: Signs,
    /// The user's innermost frame, or else a library's.
    pub line: Option<FrameId>,
}

/// The marks of every distinct stack.
#[derive(Clone, Debug)]
pub struct StackMarks {
    marks: Vec<Marks>,
    /// Of each frame, by id, the phase that it marks.
    frame_phases: Vec<Option<Phase>>,
    /// Whether any stack has native frames of the autograd engine.
    pub engine_seen: bool,
}

const SILENT: Marks = Marks { phase: Phase::Unknown, signs: Signs(0), line: None };

impl StackMarks {
    /// Reads all stacks.
    #[must_use]
    pub fn of(snapshot: &Snapshot, kinds: &FrameKinds) -> Self {
        let frames: Vec<FrameMarks> = snapshot
            .stacks
            .frames()
            .iter()
            .zip(0..)
            .map(|(frame, id)| {
                let file = snapshot.texts.get(frame.filename).replace('\\', "/");
                let name = snapshot.texts.get(frame.name);
                match kinds.get(FrameId(id)) {
                    FrameKind::Cpp => native(name),
                    _ => python(name, &file),
                }
            })
            .collect();
        let count = u32::try_from(snapshot.stacks.len()).unwrap_or(u32::MAX);
        let marks: Vec<Marks> =
            (0..count).map(|id| combine(snapshot, StackId(id), kinds, &frames)).collect();
        let engine_seen = marks.iter().any(|marks| marks.signs.has(Signs::ENGINE));
        let frame_phases = frames.iter().map(|frame| frame.phase).collect();
        StackMarks { marks, frame_phases, engine_seen }
    }

    /// The phase that a frame marks by itself; `None` for ordinary code.
    #[must_use]
    pub fn phase_of(&self, frame: FrameId) -> Option<Phase> {
        self.frame_phases.get(frame.0 as usize).copied().flatten()
    }

    /// The marks of a stack.
    #[must_use]
    pub fn get(&self, stack: StackId) -> Marks {
        self.marks.get(stack.0 as usize).copied().unwrap_or(SILENT)
    }
}

/// What one frame says.
#[derive(Clone, Copy, Debug, Default)]
struct FrameMarks {
    signs: Signs,
    phase: Option<Phase>,
    /// Names a key/value cache; counts in certain places of a stack only.
    names_cache: bool,
}

fn native(name: &str) -> FrameMarks {
    const RULES: &[(&str, Signs)] = &[
        ("torch::autograd::Engine::", Signs::ENGINE),
        ("PythonEngine::", Signs::ENGINE),
        ("autocast::cached_cast", Signs::CAST),
        ("SavedVariable", Signs::SAVED),
        ("release_variables", Signs::SAVED),
        ("THPVariable_set_grad", Signs::SET_GRAD),
        ("PyObject_GC_Del", Signs::COLLECTOR),
        ("gc_collect", Signs::COLLECTOR),
        ("PyGC_Collect", Signs::COLLECTOR),
        ("getCUDABlasLtWorkspace", Signs::WORKSPACE),
        ("setWorkspaceForHandle", Signs::WORKSPACE),
        ("getNewWorkspace", Signs::WORKSPACE),
        ("getCurrentCUDABlasHandle", Signs::WORKSPACE),
        ("run_conv_plan", Signs::WORKSPACE),
        ("allocate_workspace", Signs::WORKSPACE),
        ("getWorkspace", Signs::WORKSPACE),
        ("c10d::", Signs::COMMUNICATION),
        ("ProcessGroupNCCL", Signs::COMMUNICATION),
        ("Reducer::", Signs::COMMUNICATION),
    ];
    let mut marks = FrameMarks::default();
    for (part, sign) in RULES {
        if name.contains(part) {
            marks.signs.add(*sign);
        }
    }
    marks
}

fn python(name: &str, file: &str) -> FrameMarks {
    let lower = file.to_ascii_lowercase();
    let in_file = |part: &str| file.contains(part);
    let mut marks = FrameMarks::default();
    const COMMUNICATION: &[&str] = &[
        "distributed/fsdp/",
        "fully_shard",
        "_fsdp",
        "distributed_c10d.py",
        "nn/parallel/distributed.py",
        "deepspeed/runtime/zero",
        "deepspeed/runtime/comm",
        "_functional_collectives",
        "distributed/tensor/parallel",
    ];
    const TUNING: &[&str] = &[
        "_inductor/runtime/triton_heuristics.py",
        "_inductor/runtime/benchmarking.py",
        "triton/testing.py",
        "triton/runtime/autotuner.py",
        "_inductor/select_algorithm.py",
    ];
    if COMMUNICATION.iter().any(|part| in_file(part)) {
        marks.signs.add(Signs::COMMUNICATION);
    }
    if TUNING.iter().any(|part| in_file(part)) {
        marks.signs.add(Signs::TUNING);
    }
    marks.names_cache = names_cache(name, &lower);
    marks.phase = phase(name, file, &lower, &mut marks.signs);
    marks
}

fn names_cache(name: &str, lower_file: &str) -> bool {
    const FILES: &[&str] = &[
        "cache_utils.py",
        "kv_cache",
        "kvcache",
        "cache_engine",
        "paged",
        "block_manager",
        "past_key_value",
        "mem_cache/",
    ];
    const NAMES: &[&str] = &[
        "kv_cache",
        "kvcache",
        "past_key_value",
        "cache_engine",
        "allocate_kv",
        "append_kv",
        "update_cache",
        "kv_pool",
        "kvpool",
    ];
    let name = name.to_ascii_lowercase();
    FILES.iter().any(|part| lower_file.contains(part))
        || NAMES.iter().any(|part| name.contains(part))
}

fn is_optimizer_file(lower: &str) -> bool {
    const PLACES: &[&str] = &[
        "/optim/",
        "/optimizer/",
        "/optimizers/",
        "bitsandbytes/optim",
        "apex/optimizers",
        "deepspeed/ops/adam",
        "deepspeed/runtime/zero/stage",
        "deepspeed/runtime/bf16_optimizer",
        "torchao/optim",
        "galore",
        "adafactor",
    ];
    let of_schedules = lower.contains("lr_scheduler") || lower.contains("swa_utils");
    !of_schedules && (PLACES.iter().any(|part| lower.contains(part)) || lower.starts_with("optim/"))
}

/// The phase that a Python frame stands for, if it is a marker.
fn phase(name: &str, file: &str, lower: &str, signs: &mut Signs) -> Option<Phase> {
    const LOADING: &[&str] = &[
        "_apply",
        "convert",
        "to_empty",
        "load_state_dict",
        "_load_from_state_dict",
        "from_pretrained",
        "_load_pretrained_model",
        "_load_state_dict_into_meta_model",
        "load_weights",
        "load_model",
        "create_weights",
        "initialize_model",
        "reset_parameters",
        "register_buffer",
        "register_parameter",
        "_init_weights",
        "set_module_tensor_to_device",
        "get_peft_model",
        "inject_adapter",
        "cast_adapter_dtype",
        "materialize_module",
        "_init_sharded_param",
        "_materialize_meta_module",
        "load_checkpoint",
        "safe_open",
        "load_file",
        "fully_shard",
        "_init_flat_weights",
        "flatten_parameters",
        "_move_model_to_device",
        "model_to_device",
        "_materialize_copy",
        "set_param_for_module",
        "_load_parameter_into_model",
        "_initialize_affine_weight_gpu",
    ];
    const DATA: &[&str] = &[
        "_prepare_inputs",
        "_prepare_input",
        "send_to_device",
        "move_data_to_device",
        "batch_to_device",
        "transfer_batch_to_device",
        "_move_to_device",
        "move_to_device",
        "collate_fn",
        "_next_data",
        "pin_memory",
        "get_batch",
        "next_batch",
        "prepare_batch",
    ];
    const STATE_MAKERS: &[&str] = &[
        "_init_group",
        "init_state",
        "get_state_buffer",
        "_init_state",
        "initialize_optimizer_states",
        "_init_optimizer_states_with_dummy_values",
    ];
    const BACKWARD: &[&str] = &[
        "_pre_backward",
        "_post_backward",
        "post_backward",
        "pre_backward",
        "_engine_run_backward",
        "_make_grads",
    ];
    if file.contains("utils/checkpoint.py")
        && matches!(name, "recompute_fn" | "unpack_hook" | "backward" | "inner_unpack")
    {
        signs.add(Signs::RECOMPUTED);
        return None;
    }
    if matches!(name, "zero_grad" | "zero_grad_fn") {
        signs.add(Signs::ZERO_GRAD);
        return Some(Phase::ZeroGrad);
    }
    if file.contains("nn/utils/clip_grad") || file.contains("amp/grad_scaler") {
        signs.add(Signs::CLIPPING);
        return Some(Phase::Optimizer);
    }
    let is_module_call = file.contains("nn/modules/module.py")
        && matches!(name, "_call_impl" | "_wrapped_call_impl");
    if is_module_call
        || file.contains("nn/functional.py")
        || file.contains("_functorch/_aot_autograd")
        || file.contains("_inductor/output_code.py")
    {
        signs.add(Signs::MODULE);
        return Some(Phase::Forward);
    }
    if is_optimizer_file(lower) && name == "__init__" {
        // Adagrad makes its states when it is built.
        signs.add(Signs::STATE_MADE);
        return Some(Phase::Loading);
    }
    if is_optimizer_file(lower) {
        if STATE_MAKERS.contains(&name) {
            signs.add(Signs::STATE_MADE);
        }
        return Some(Phase::Optimizer);
    }
    if name == "closure" {
        return Some(Phase::Between);
    }
    if LOADING.contains(&name)
        || name == "__init__" && (file.contains("nn/modules/") || lower.contains("model"))
    {
        return Some(Phase::Loading);
    }
    if DATA.contains(&name)
        || ["utils/data/", "/data_loader.py", "dataloader.py", "/collate"]
            .iter()
            .any(|part| file.contains(part))
    {
        signs.add(Signs::DATA);
        return Some(Phase::Between);
    }
    let is_backward = name == "backward"
        && (file.contains("torch/_tensor.py") || file.contains("torch/autograd/"));
    (is_backward || BACKWARD.contains(&name)).then_some(Phase::Backward)
}

fn combine(
    snapshot: &Snapshot,
    stack: StackId,
    kinds: &FrameKinds,
    frames: &[FrameMarks],
) -> Marks {
    let ids = snapshot.stacks.frames_of(stack);
    if ids.is_empty() {
        return SILENT;
    }
    // These tell of the frames that decide; further out they are somebody else's.
    const INNER_ONLY: [Signs; 4] = [Signs::DATA, Signs::ZERO_GRAD, Signs::CLIPPING, Signs::MODULE];
    let of = |id: &FrameId| frames.get(id.0 as usize).copied().unwrap_or_default();
    let in_module = ids.iter().any(|id| of(id).signs.has(Signs::MODULE));
    let mut marks = Marks {
        phase: Phase::Unknown,
        signs: Signs::default(),
        line: kinds.line_of(snapshot, stack),
    };
    let mut decided = None;
    let mut called = false;
    let mut depth = 0;
    for id in ids {
        let frame = of(id);
        if kinds.get(*id) == FrameKind::Cpp {
            marks.signs.add(frame.signs);
            continue;
        }
        depth += 1;
        let mut signs = frame.signs;
        if decided.is_some() {
            for outer in INNER_ONLY {
                signs.0 &= !outer.0;
            }
        } else if frame.names_cache && (depth <= 2 || in_module) {
            // A caller that merely has "cache" in its name must not colour everything below it.
            marks.signs.add(Signs::KV_CACHE);
        }
        // A wrapper that communicates calls the whole model; what the model's modules make is theirs.
        if called {
            signs.0 &= !Signs::COMMUNICATION.0;
        }
        called |= frame.signs.has(Signs::MODULE);
        marks.signs.add(signs);
        decided = decided.or(frame.phase);
    }
    if !matches!(decided, Some(Phase::Optimizer | Phase::Loading)) {
        marks.signs.0 &= !Signs::STATE_MADE.0;
    }
    let in_backward = marks.signs.has(Signs::ENGINE) || marks.signs.has(Signs::RECOMPUTED);
    marks.phase = if in_backward { Phase::Backward } else { decided.unwrap_or(Phase::Between) };
    marks
}
