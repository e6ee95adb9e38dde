//! Words that tell of the program, of what it was doing and of the system: a declarative table.

use super::context::{Doing, Program, System};

/// What a word tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// This program is there.
    Program(Program),
    /// This was going on.
    Doing(Doing),
    /// The system is of this kind.
    System(System),
    /// The version of PyTorch follows.
    Version,
}

use Doing::{Backward, Caching, Capturing, Forward, Loading, Optimizing, Pinning, Serving};
use Mark::Version;
use Program::{
    ComfyUi, Deepspeed, Diffusers, Fsdp, HfTrainer, Lightning, Lmdeploy, Sglang, Tgi, Torchrun,
    Vllm,
};

/// Words with what they tell. Frames are named as tracebacks print them.
pub(crate) const MARKS: &[(Mark, &[&str])] = &[
    (Mark::Program(Vllm), &["vllm", "enginecore", "gpu_model_runner"]),
    (Mark::Program(Sglang), &["sglang", "mem-fraction-static", "mem_fraction_static"]),
    (
        Mark::Program(Tgi),
        &["text_generation_", "text-generation-inference", "max-batch-prefill-tokens"],
    ),
    (Mark::Program(Lmdeploy), &["lmdeploy", "cache_max_entry_count"]),
    (
        Mark::Program(Lightning),
        &["pytorch_lightning", "lightning/pytorch", "lightning\\pytorch", "lightning_fabric"],
    ),
    (
        Mark::Program(HfTrainer),
        &[
            "transformers/trainer.py",
            "transformers\\trainer.py",
            "trl/trainer",
            "_inner_training_loop",
            "seq2seqtrainer",
            "sft_trainer",
        ],
    ),
    (Mark::Program(Deepspeed), &["deepspeed", "zero3", "zero_optimization"]),
    (Mark::Program(Fsdp), &["fully_sharded_data_parallel", "_fsdp", "fsdp"]),
    (
        Mark::Program(Torchrun),
        &[
            "[rank",
            "torchrun",
            "torch.distributed",
            "elastic/multiprocessing",
            "local_rank",
            "torch/distributed/",
        ],
    ),
    (
        Mark::Program(ComfyUi),
        &[
            "comfyui",
            "ksampler",
            "executing sampler",
            "error occurred when executing",
            "comfy/",
            "comfy\\",
            "stable-diffusion-webui",
            "invokeai",
        ],
    ),
    (Mark::Program(Diffusers), &["diffusers"]),
    (
        Mark::Doing(Loading),
        &[
            "from_pretrained",
            "load_state_dict",
            "torch.load(",
            "load_checkpoint",
            "in _load_state_dict",
            "load_model(",
            "in load_model",
            "model.to(",
            "model.cuda()",
            "net.cuda()",
            "net.to(",
            ".to(device)",
            "in _apply",
            "in convert\n",
            "_cuda_deserialize",
            "load_weights",
            "create_weights",
            "loading checkpoint shards",
            "pipe.to(",
            "safe_open",
            "load_file(",
        ],
    ),
    (
        Mark::Doing(Optimizing),
        &[
            "optimizer.step",
            "in _init_group",
            "init_state(",
            "exp_avg",
            "torch/optim/",
            "torch\\optim\\",
            ".grad =",
            ".grad:",
            ".grad)",
            "initialize_optimizer_states",
            "_initialize_optimizer",
            "state_steps",
            "optimizer_step",
            "scaler.step(",
        ],
    ),
    (
        Mark::Doing(Backward),
        &[
            "loss.backward",
            ".backward(",
            "in backward",
            "run_backward",
            "accelerator.backward",
            "autograd/__init__.py",
        ],
    ),
    (
        Mark::Doing(Forward),
        &[
            "logits",
            "softmax",
            "scaled_dot_product",
            "attn_weights",
            "attention_scores",
            "torch.bmm",
            "torch.baddbmm",
            "baddbmm(",
            "cross_entropy",
            "conv2d",
            "conv3d",
            "ksampler",
            "executing sampler",
            "vae.decode",
            "vaedecode",
            "vae decode",
            "decode_first_stage",
            "interpolate(",
            "upsample",
            "torch.cat(",
            "torch.cdist",
            "einsum(",
        ],
    ),
    (
        Mark::Doing(Capturing),
        &[
            "capture_end",
            "capture_begin",
            "cuda_graph.capture",
            "cudagraph",
            "cuda graph capture",
            "capturing cuda graph",
            "capture_model",
            "torch.cuda.graph(",
        ],
    ),
    (
        Mark::Doing(Serving),
        &[
            "request failed during generation",
            "gpu_memory_utilization",
            "gpu-memory-utilization",
            "kv cache",
            "kv_cache",
            "kvcache",
            "execute_model",
            "determine_available_memory",
            "determine_num_available_blocks",
            "vllm_memory_profiler",
            "prefill",
            "decode_batch",
            "forward_batch",
            "warmup",
            "dummy_run",
            "profile_run",
            "generatestream",
        ],
    ),
    (
        Mark::Doing(Caching),
        &[
            "initialize_kv_cache",
            "allocate_kv_cache",
            "_allocate_gpu_cache",
            "init_memory_pool",
            "init_cache_engine",
            "allocate_buffer",
        ],
    ),
    (Mark::Doing(Pinning), &["pin_memory", "pinned memory", "cudahostalloc"]),
    (
        Mark::System(System::Windows),
        &[
            "c:\\",
            "d:\\",
            "\\site-packages\\",
            "/mnt/c/",
            "microsoft-standard",
            "wsl2",
            "win_amd64",
            "windows 1",
            "win32",
        ],
    ),
    (Mark::System(System::Notebook), &["<ipython-input", "ipykernel", "cell in[", "jupyter"]),
    (
        Version,
        &[
            "torch==",
            "pytorch version",
            "torch version",
            "pytorch==",
            "torch.__version__",
            "torch-",
            "pytorch ",
        ],
    ),
];
