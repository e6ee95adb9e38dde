//! What a stack says of an allocation or a free: the phase that it belongs to, and the tell-tale
//! functions in it. Worked out once for each distinct frame and each distinct stack.
//!
//! What a frame says by itself is in [`frame`]. Among the Python frames the innermost marker decides
//! the phase: a closure that runs the forward pass inside `Optimizer.step` is forward.

mod frame;

use super::frame_kind::{FrameKind, FrameKinds};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use frame::FrameMarks;
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
                    FrameKind::Cpp => FrameMarks::native(name),
                    _ => FrameMarks::python(name, &file),
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
