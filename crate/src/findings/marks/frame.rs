//! What one frame says of its stack: tell-tales by a function's name, and the phase.
//!
//! A frame carries no class and no module, so a rule is a function's name together with the end of
//! its file's path.

use super::{Phase, Signs};

/// What one frame says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameMarks {
    pub(super) signs: Signs,
    pub(super) phase: Option<Phase>,
    /// Names a key/value cache; counts in certain places of a stack only.
    pub(super) names_cache: bool,
}

impl FrameMarks {
    /// A native frame.
    pub(super) fn native(name: &str) -> Self {
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

    /// A Python frame; `file` has forward slashes.
    pub(super) fn python(name: &str, file: &str) -> Self {
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
