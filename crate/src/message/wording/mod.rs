//! The sentences by which programs say that memory ran out: declarative tables, one a family.
//!
//! Phrases are in lower case and without blanks and quotes, as [`Clean`](super::clean::Clean) has
//! the text.

mod foreign;
mod host;
mod library;
mod pytorch;
mod server;

use super::needles::Needles;
use serde::Serialize;

/// Who ran out of memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// NVIDIA GPUs.
    Cuda,
    /// AMD GPUs.
    Hip,
    /// Intel GPUs.
    Xpu,
    /// Apple GPUs.
    Mps,
    /// Ascend accelerators.
    Npu,
    /// Cambricon accelerators.
    Mlu,
    /// Moore Threads GPUs.
    Musa,
    /// The machine's own memory.
    Cpu,
    /// JAX and XLA.
    Jax,
    /// TensorFlow.
    Tensorflow,
    /// Apache MXNet.
    Mxnet,
    /// PaddlePaddle.
    Paddle,
    /// ONNX Runtime.
    Onnxruntime,
    /// llama.cpp and what is built on it, such as Ollama.
    LlamaCpp,
    /// TensorRT and TensorRT-LLM.
    Tensorrt,
    /// CuPy, RAPIDS, Numba: CUDA from Python without PyTorch.
    Cupy,
    /// Another program.
    Other,
}

impl Backend {
    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Backend::Cuda => "CUDA",
            Backend::Hip => "ROCm",
            Backend::Xpu => "XPU",
            Backend::Mps => "MPS",
            Backend::Npu => "NPU",
            Backend::Mlu => "MLU",
            Backend::Musa => "MUSA",
            Backend::Cpu => "CPU memory",
            Backend::Jax => "JAX",
            Backend::Tensorflow => "TensorFlow",
            Backend::Mxnet => "MXNet",
            Backend::Paddle => "PaddlePaddle",
            Backend::Onnxruntime => "ONNX Runtime",
            Backend::LlamaCpp => "llama.cpp",
            Backend::Tensorrt => "TensorRT",
            Backend::Cupy => "CuPy, RAPIDS or Numba",
            Backend::Other => "another program",
        }
    }
}

/// What kind of sentence it is, by what can be concluded from it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Family {
    /// PyTorch's own allocator, with numbers unless the sentence was cut.
    Allocator,
    /// The allocator refused a request before it tried, because of the memory fraction.
    FractionRejected,
    /// A request of 2^60 bytes or more: an overflowing shape.
    Absurd,
    /// One block larger than the platform gives at once.
    BlockLimit,
    /// Address space or handles ran out, not memory.
    AddressSpace,
    /// A kernel wanted more on-chip memory than a multiprocessor has.
    OnChip,
    /// A raw driver call failed; there are no numbers.
    Driver,
    /// A library's handle or workspace found no memory.
    Library,
    /// NCCL's buffers found no memory.
    Collective,
    /// The allocator failed while it composed its message.
    Nvml,
    /// A serving framework found no room for its cache, or says that its reservation is too large.
    Cache,
    /// A serving framework found the card in use before it started.
    CardInUse,
    /// The machine's memory.
    Host,
    /// A process was ended from outside, most likely for the machine's memory.
    HostKilled,
    /// Not a message of PyTorch's.
    Foreign,
    /// Only the advice at a message's end.
    Fragment,
}

/// How a phrase takes part in a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// A message begins with it.
    Opens,
    /// It stands inside a message; alone it is what is left of one.
    Belongs,
    /// A message, but only where the text has no better one.
    Weak,
}

/// One wording.
#[derive(Debug)]
pub(crate) struct Wording {
    /// Its name for programs.
    pub(crate) name: &'static str,
    /// Who says so; the neighbourhood may know better.
    pub(crate) backend: Backend,
    /// What can be concluded.
    pub(crate) family: Family,
    /// How its phrases take part.
    pub(crate) role: Role,
    /// Any of these.
    pub(crate) phrases: &'static [&'static str],
}

const fn wording(
    name: &'static str,
    backend: Backend,
    family: Family,
    role: Role,
    phrases: &'static [&'static str],
) -> Wording {
    Wording { name, backend, family, role, phrases }
}

/// A phrase in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phrase {
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after its last.
    pub(crate) end: usize,
    /// Which phrase of all wordings it is.
    pub(crate) number: usize,
    /// The wording that it is of.
    pub(crate) wording: &'static Wording,
}

/// All wordings with the machine that finds their phrases.
#[derive(Debug)]
pub(crate) struct Wordings {
    /// The wording of each phrase.
    of_phrase: Vec<&'static Wording>,
    needles: Needles,
}

impl Wordings {
    pub(crate) fn new() -> Wordings {
        let all = [
            pytorch::WORDINGS,
            library::WORDINGS,
            server::WORDINGS,
            host::WORDINGS,
            foreign::WORDINGS,
        ];
        let each = || all.into_iter().flatten();
        Wordings {
            of_phrase: each()
                .flat_map(|wording| std::iter::repeat_n(wording, wording.phrases.len()))
                .collect(),
            needles: Needles::new(each().flat_map(|wording| wording.phrases).copied()),
        }
    }

    /// Calls `found` with each phrase; of phrases that begin at one place, with the longest.
    pub(crate) fn each(&self, text: &str, mut found: impl FnMut(Phrase)) {
        let mut last = None;
        self.needles.each(text, |at, phrase| {
            if let Some(wording) = self.of_phrase.get(phrase)
                && last.replace(at) != Some(at)
            {
                let end = at + self.needles.length(phrase);
                found(Phrase { start: at, end, number: phrase, wording });
            }
        });
    }
}
