//! What the rest of the text tells: the program around, what it was doing, the system.

use super::marks::{MARKS, Mark};
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
        self.programs.iter().any(|program| {
            matches!(program, Program::Vllm | Program::Sglang | Program::Tgi | Program::Lmdeploy)
        })
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
