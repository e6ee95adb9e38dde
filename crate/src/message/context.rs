//! What the rest of the text tells: the program around, what it was doing, the system.

use super::needles::Needles;
use serde::Serialize;

/// A program that brings its own ways of using memory or of recording it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Text Generation Inference.
    Tgi,
    /// LMDeploy.
    Lmdeploy,
    /// PyTorch Lightning.
    Lightning,
    /// The trainer of Hugging Face's transformers.
    HfTrainer,
    /// DeepSpeed.
    Deepspeed,
    /// PyTorch's FSDP.
    Fsdp,
    /// torchrun and other launchers of one process a GPU.
    Torchrun,
    /// ComfyUI and other pages for diffusion models.
    ComfyUi,
    /// Hugging Face's diffusers.
    Diffusers,
}

/// What the program was doing, by the frames and lines near the message.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Loading or moving a model.
    Loading,
    /// Making optimizer states or gradients.
    Optimizing,
    /// Going backward.
    Backward,
    /// Building a tensor that grows with the input: logits, attention, images.
    Forward,
    /// Capturing a CUDA graph.
    Capturing,
    /// Setting memory aside for a cache.
    Caching,
    /// Answering requests, or preparing to.
    Serving,
    /// Pinning memory of the machine.
    Pinning,
}

/// A trait of the system.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// Windows or WSL, where the driver lends memory of the machine and its "free" is no promise.
    Windows,
    /// A notebook, which keeps the tensors of a failed cell.
    Notebook,
}

/// What surrounds a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Programs seen, by name.
    pub programs: Vec<Program>,
    /// What was going on near the message.
    pub doing: Vec<Doing>,
    /// What is known of the system.
    pub systems: Vec<System>,
    /// The version of PyTorch that the text names.
    pub torch_version: Option<String>,
}

#[derive(Clone, Copy)]
enum Mark {
    Program(Program),
    Doing(Doing),
    System(System),
    Version,
}

use Doing::{Backward, Caching, Capturing, Forward, Loading, Optimizing, Pinning, Serving};
use Mark::Version;
use Program::{
    ComfyUi, Deepspeed, Diffusers, Fsdp, HfTrainer, Lightning, Lmdeploy, Sglang, Tgi, Torchrun,
    Vllm,
};

/// Words with what they tell. Frames are named as tracebacks print them.
const MARKS: &[(Mark, &[&str])] = &[
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
    (Mark::Program(Deepspeed), &["deepspeed", "[zero3]", "zero_optimization"]),
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
            "samplercustom",
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
            "param_shard.grad",
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
            "samplercustom",
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

/// How far before a message the lines count that tell what was going on, in bytes: a traceback.
const BEFORE_BYTES: usize = 12_000;

/// How far after it, in bytes: the advice of a wrapper.
const AFTER_BYTES: usize = 4_000;

impl Context {
    /// Reads the surroundings of the message that begins about byte `at` of `source`.
    pub(crate) fn of(source: &str, at: usize) -> Context {
        let all =
            || MARKS.iter().flat_map(|(mark, words)| words.iter().map(move |word| (mark, *word)));
        let marks: Vec<&Mark> = all().map(|(mark, _)| mark).collect();
        let needles = Needles::new(all().map(|(_, word)| word));
        let mut context = Context::default();
        needles.each(source, |place, index| {
            let near = place + BEFORE_BYTES >= at && place <= at + AFTER_BYTES;
            match marks.get(index) {
                Some(Mark::Program(program)) => note(&mut context.programs, *program),
                Some(Mark::Doing(doing)) if near => note(&mut context.doing, *doing),
                Some(Mark::System(system)) => note(&mut context.systems, *system),
                Some(Mark::Version) if context.torch_version.is_none() => {
                    context.torch_version = version(source, place + needles.length(index));
                }
                _ => {}
            }
        });
        context
    }

    /// Whether a program was seen that serves a model and sets memory aside for its cache.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.programs.iter().any(|program| matches!(program, Vllm | Sglang | Tgi | Lmdeploy))
    }

    /// Whether this was going on.
    #[must_use]
    pub fn is(&self, doing: Doing) -> bool {
        self.doing.contains(&doing)
    }
}

fn note<T: PartialEq>(seen: &mut Vec<T>, new: T) {
    if !seen.contains(&new) {
        seen.push(new);
    }
}

/// The version after its name: `2.3.1+cu121`. At least two numbers; the first is 0, 1 or 2.
fn version(source: &str, at: usize) -> Option<String> {
    let rest = source.get(at..)?.trim_start_matches([' ', ':', '=', '(', ')', '\'', '"', '`', '>']);
    let length = rest
        .bytes()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+'))
        .count();
    let version = rest.get(..length)?.trim_end_matches('.');
    let mut numbers = version.split(['.', '+']);
    let major: u32 = numbers.next()?.parse().ok()?;
    numbers.next()?.parse::<u32>().ok()?;
    (major <= 2).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_where_it_is_named() {
        for (text, expected) in [
            ("PyTorch version: 2.1.0+cu118 on", Some("2.1.0+cu118")),
            ("pip install torch==1.13.1.", Some("1.13.1")),
            ("see the PyTorch 3 of us", None),
        ] {
            assert_eq!(Context::of(text, 0).torch_version.as_deref(), expected);
        }
    }
}
