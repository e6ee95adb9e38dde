//! What single frames and whole stacks say: the phase that they mark and their tell-tales.

use oomscope::findings::frame_kind::FrameKinds;
use oomscope::findings::marks::{Phase, Signs, StackMarks};
use oomscope::snapshot::stack::StackId;
use oomscope::snapshot::{self, Snapshot};
use serde_json::{Value, json};
use std::io::Cursor;

const SITE: &str = "/lib/python3.12/site-packages/";

/// A frame `name file`: of an installed package where the file is not the user's, native without one.
fn frame(text: &str) -> Value {
    match text.split_once(' ') {
        None => json!({"name": text, "filename": "??", "line": 0}),
        Some((name, file)) if file.starts_with('/') => {
            json!({"name": name, "filename": file, "line": 3})
        }
        Some((name, file)) => json!({"name": name, "filename": format!("{SITE}{file}"), "line": 3}),
    }
}

fn of_stacks(stacks: &[&[&str]]) -> Snapshot {
    let entries: Vec<Value> = stacks
        .iter()
        .zip(1_u64..)
        .map(|(stack, number)| {
            let frames: Vec<Value> = stack.iter().map(|text| frame(text)).collect();
            json!({"action": "alloc", "addr": number << 20, "size": 512, "stream": 0, "frames": frames})
        })
        .collect();
    let text = json!({"segments": [], "device_traces": [entries]}).to_string();
    snapshot::read(Cursor::new(text.into_bytes())).unwrap()
}

/// Phase and signs of one stack, innermost frame first.
fn marks(stack: &[&str]) -> (Phase, Signs) {
    let snapshot = of_stacks(&[stack]);
    let marks = StackMarks::of(&snapshot, &FrameKinds::of(&snapshot));
    let found = marks.get(snapshot.entry(0, 0).unwrap().stack);
    (found.phase, found.signs)
}

#[track_caller]
fn says(stack: &[&str], phase: Phase, signs: &[Signs]) {
    let (found, all) = marks(stack);
    assert_eq!(found, phase, "{stack:?}");
    for sign in signs {
        assert!(all.has(*sign), "{stack:?} has {all:?}, not {sign:?}");
    }
}

#[track_caller]
fn lacks(stack: &[&str], sign: Signs) {
    assert!(!marks(stack).1.has(sign), "{stack:?} has {sign:?}");
}

const MAIN: &str = "main /job/train.py";
const CALL: &str = "_call_impl torch/nn/modules/module.py";
const STEP: &str = "step torch/optim/adamw.py";

#[test]
fn each_native_frame_has_its_sign() {
    for (name, sign) in [
        ("torch::autograd::Engine::evaluate_function", Signs::ENGINE),
        ("torch::autograd::python::PythonEngine::thread_init", Signs::ENGINE),
        ("at::autocast::cached_cast", Signs::CAST),
        ("torch::autograd::SavedVariable::reset_data", Signs::SAVED),
        ("MulBackward0::release_variables", Signs::SAVED),
        ("THPVariable_set_grad", Signs::SET_GRAD),
        ("PyObject_GC_Del", Signs::COLLECTOR),
        ("gc_collect_main", Signs::COLLECTOR),
        ("PyGC_Collect", Signs::COLLECTOR),
        ("at::cuda::getCUDABlasLtWorkspace", Signs::WORKSPACE),
        ("setWorkspaceForHandle", Signs::WORKSPACE),
        ("at::cuda::getNewWorkspace", Signs::WORKSPACE),
        ("at::cuda::getCurrentCUDABlasHandle", Signs::WORKSPACE),
        ("run_conv_plan", Signs::WORKSPACE),
        ("allocate_workspace", Signs::WORKSPACE),
        ("getWorkspace", Signs::WORKSPACE),
        ("c10d::Work::wait", Signs::COMMUNICATION),
        ("ProcessGroupNCCL::allreduce", Signs::COMMUNICATION),
        ("Reducer::initialize_buckets", Signs::COMMUNICATION),
    ] {
        let (phase, signs) = marks(&[name, MAIN]);
        assert_eq!(signs, sign, "{name}");
        let expected = if sign == Signs::ENGINE { Phase::Backward } else { Phase::Between };
        assert_eq!(phase, expected, "{name}");
    }
    assert_eq!(marks(&["at::native::empty_cuda", MAIN]), (Phase::Between, Signs::default()));
    assert_eq!(marks(&[]).0, Phase::Unknown);
}

#[test]
fn loading_is_known_by_its_functions() {
    for name in [
        "_apply",
        "convert",
        "to_empty",
        "load_state_dict",
        "from_pretrained",
        "load_weights",
        "load_model",
        "reset_parameters",
        "register_buffer",
        "_init_weights",
        "fully_shard",
        "flatten_parameters",
        "load_file",
        "get_peft_model",
        "materialize_module",
    ] {
        says(&[&format!("{name} /job/build.py"), MAIN], Phase::Loading, &[]);
    }
    // A module's own `__init__`, or that of a file that names a model.
    says(&["__init__ torch/nn/modules/linear.py", MAIN], Phase::Loading, &[]);
    says(&["__init__ /job/my_Model.py", MAIN], Phase::Loading, &[]);
    says(&["__init__ /job/other.py", MAIN], Phase::Between, &[]);
    says(&["build /job/model.py", MAIN], Phase::Between, &[]);
    says(&["build torch/nn/modules/linear.py", MAIN], Phase::Between, &[]);
}

#[test]
fn batches_are_known_by_functions_and_loaders() {
    for name in
        ["get_batch", "collate_fn", "send_to_device", "_next_data", "pin_memory", "prepare_batch"]
    {
        says(&[&format!("{name} /job/train.py"), MAIN], Phase::Between, &[Signs::DATA]);
    }
    for file in [
        "torch/utils/data/fetch.py",
        "accelerate/data_loader.py",
        "my/dataloader.py",
        "my/collate.py",
    ] {
        says(&[&format!("any {file}"), MAIN], Phase::Between, &[Signs::DATA]);
    }
    lacks(&["any my/loader.py", MAIN], Signs::DATA);
    // A loader further out is somebody else's.
    lacks(&["forward /job/train.py", CALL, "get_batch /job/train.py"], Signs::DATA);
}

#[test]
fn a_forward_pass_is_a_modules_call_or_compiled_code() {
    for frame in [
        CALL,
        "_wrapped_call_impl torch/nn/modules/module.py",
        "linear torch/nn/functional.py",
        "call torch/_functorch/_aot_autograd/runtime_wrappers.py",
        "__call__ torch/_inductor/output_code.py",
    ] {
        says(&[frame, MAIN], Phase::Forward, &[Signs::MODULE]);
    }
    says(&["to torch/nn/modules/module.py", MAIN], Phase::Between, &[]);
    says(&["_call_impl torch/fx/graph_module.py", MAIN], Phase::Between, &[]);
    // Only a frame that is reached before the phase is decided tells of the call itself.
    lacks(&[STEP, CALL], Signs::MODULE);
}

#[test]
fn an_optimizer_is_known_by_where_it_lies() {
    for file in [
        "torch/optim/sgd.py",
        "lib/optimizer/x.py",
        "apex/optimizers/fused_adam.py",
        "bitsandbytes/optim/adamw.py",
        "deepspeed/ops/adam/fused_adam.py",
        "deepspeed/runtime/zero/stage_1_and_2.py",
        "deepspeed/runtime/bf16_optimizer.py",
        "torchao/optim/adam.py",
        "galore_torch/adamw.py",
        "transformers/adafactor.py",
    ] {
        says(&[&format!("step {file}"), MAIN], Phase::Optimizer, &[]);
        says(&[&format!("_init_group {file}"), MAIN], Phase::Optimizer, &[Signs::STATE_MADE]);
        // Adagrad makes its states when it is built.
        says(&[&format!("__init__ {file}"), MAIN], Phase::Loading, &[Signs::STATE_MADE]);
    }
    says(&["step torch/optim/lr_scheduler.py", MAIN], Phase::Between, &[]);
    says(&["update torch/optim/swa_utils.py", MAIN], Phase::Between, &[]);
    lacks(&[STEP, MAIN], Signs::STATE_MADE);
    // A function of that name elsewhere makes no states.
    lacks(&["_init_state /job/other.py", MAIN], Signs::STATE_MADE);
    // In a closure the forward pass runs inside of the step, and is one.
    says(
        &["forward /job/train.py", CALL, "closure /job/train.py", STEP, MAIN],
        Phase::Forward,
        &[],
    );
    says(&["closure /job/train.py", STEP, MAIN], Phase::Between, &[]);
    lacks(&["closure /job/train.py", "_init_group torch/optim/lbfgs.py", MAIN], Signs::STATE_MADE);
}

#[test]
fn gradients_are_dropped_clipped_and_made() {
    says(&["zero_grad torch/optim/optimizer.py", MAIN], Phase::ZeroGrad, &[Signs::ZERO_GRAD]);
    says(&["zero_grad_fn any.py", MAIN], Phase::ZeroGrad, &[Signs::ZERO_GRAD]);
    lacks(&["forward /job/train.py", CALL, "zero_grad /job/x.py"], Signs::ZERO_GRAD);
    says(&["norm torch/nn/utils/clip_grad.py", MAIN], Phase::Optimizer, &[Signs::CLIPPING]);
    says(&["unscale_ torch/amp/grad_scaler.py", MAIN], Phase::Optimizer, &[Signs::CLIPPING]);
    for frame in [
        "backward torch/_tensor.py",
        "backward torch/autograd/__init__.py",
        "_make_grads x.py",
        "_engine_run_backward x.py",
        "post_backward x.py",
    ] {
        says(&[frame, MAIN], Phase::Backward, &[]);
    }
    says(&["backward /job/train.py", MAIN], Phase::Between, &[]);
    says(&["grad torch/autograd/__init__.py", MAIN], Phase::Between, &[]);
}

#[test]
fn what_is_computed_again_belongs_to_the_backward_pass() {
    for name in ["recompute_fn", "unpack_hook", "backward", "inner_unpack"] {
        let again = format!("{name} torch/utils/checkpoint.py");
        says(&["forward /job/train.py", CALL, &again, MAIN], Phase::Backward, &[Signs::RECOMPUTED]);
    }
    let first = ["forward /job/train.py", CALL, "checkpoint torch/utils/checkpoint.py", MAIN];
    says(&first, Phase::Forward, &[]);
    lacks(&first, Signs::RECOMPUTED);
    lacks(&["forward /job/train.py", CALL, "recompute_fn /job/x.py"], Signs::RECOMPUTED);
}

#[test]
fn communication_and_tuning_are_known_by_their_files() {
    for file in [
        "torch/distributed/fsdp/_unshard.py",
        "x/fully_shard/y.py",
        "x/_fsdp_param.py",
        "torch/distributed/distributed_c10d.py",
        "torch/nn/parallel/distributed.py",
        "deepspeed/runtime/comm/nccl.py",
        "torch/distributed/_functional_collectives.py",
        "torch/distributed/tensor/parallel/style.py",
    ] {
        says(&[&format!("any {file}"), MAIN], Phase::Between, &[Signs::COMMUNICATION]);
    }
    for file in [
        "torch/_inductor/runtime/triton_heuristics.py",
        "torch/_inductor/runtime/benchmarking.py",
        "triton/testing.py",
        "triton/runtime/autotuner.py",
        "torch/_inductor/select_algorithm.py",
    ] {
        says(&[&format!("bench {file}"), MAIN], Phase::Between, &[Signs::TUNING]);
    }
    lacks(&["any torch/distributed/elastic.py", MAIN], Signs::COMMUNICATION);
    lacks(&["bench triton/compiler.py", MAIN], Signs::TUNING);
    // A wrapper that communicates calls the whole model: what the model makes is its own.
    let wrapper = "forward torch/nn/parallel/distributed.py";
    lacks(&["forward /job/train.py", CALL, wrapper, MAIN], Signs::COMMUNICATION);
    says(&[wrapper, CALL, MAIN], Phase::Forward, &[Signs::COMMUNICATION]);
}

#[test]
fn a_cache_is_named_by_the_innermost_frames_or_under_a_module() {
    let cached = [
        "update transformers/cache_utils.py",
        "put x/kv_cache.py",
        "put x/PagedAttention.py",
        "take x/block_manager.py",
        "x sglang/mem_cache/pool.py",
        "append_kv /job/a.py",
        "update_cache /job/a.py",
        "make_kv_pool /job/a.py",
        "allocate_kv_blocks /job/a.py",
        "Past_Key_Values /job/a.py",
    ];
    for frame in cached {
        says(&[frame, MAIN], Phase::Between, &[Signs::KV_CACHE]);
        // Second is near enough, third is a caller, unless a module is called.
        says(&["cat /job/a.py", frame, MAIN], Phase::Between, &[Signs::KV_CACHE]);
        lacks(&["a /job/a.py", "b /job/a.py", frame, MAIN], Signs::KV_CACHE);
    }
    let deep = ["a /job/a.py", "b /job/a.py", "c /job/a.py", "update_cache /job/a.py", CALL, MAIN];
    says(&deep, Phase::Forward, &[Signs::KV_CACHE]);
    // Further out than the frame that decides it is somebody else's.
    lacks(&[CALL, "update_cache /job/a.py", MAIN], Signs::KV_CACHE);
    // Native frames are no depth of the program.
    says(
        &["at::cat", "at::empty", "at::alloc", "append_kv /job/a.py"],
        Phase::Between,
        &[Signs::KV_CACHE],
    );
    lacks(&["update /job/cache.py", MAIN], Signs::KV_CACHE);
}

#[test]
fn the_engine_is_seen_where_any_stack_has_it() {
    let engine: &[&str] = &["torch::autograd::Engine::thread_main"];
    let other: &[&str] = &[MAIN];
    for (stacks, seen) in [(vec![other, engine], true), (vec![other], false)] {
        let snapshot = of_stacks(&stacks);
        let marks = StackMarks::of(&snapshot, &FrameKinds::of(&snapshot));
        assert_eq!(marks.engine_seen, seen);
        assert_eq!(marks.get(StackId::ABSENT).phase, Phase::Unknown);
    }
}

#[test]
fn signs_are_told_apart() {
    let both = marks(&["c10d::Work", "gc_collect", MAIN]).1;
    assert!(
        both.has(Signs::COMMUNICATION) && both.has(Signs::COLLECTOR) && !both.has(Signs::SAVED)
    );
    assert!(!Signs::SAVED.has(both) && both.has(Signs::default()));
}

#[test]
fn every_phase_has_a_name_of_its_own() {
    let mut labels: Vec<&str> = Phase::ALL.iter().map(|phase| phase.label()).collect();
    assert!(labels.iter().all(|label| label.len() > 5));
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), Phase::ALL.len());
}
