//! What an allocation is for: from the stack that made it, the stack that freed it, and its life
//! against the phases.

use super::caches;
use super::frame_kind::FrameKinds;
use super::marks::{Marks, Phase, Signs, StackMarks};
use super::phases::Phases;
use super::sizes;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use crate::timeline::allocation::Allocation;
use serde::{Deserialize, Serialize};

/// What an allocation is for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Parameters and buffers.
    Weights,
    /// Gradients of parameters.
    Gradients,
    /// What the optimizer keeps from step to step.
    OptimizerStates,
    /// What a forward pass makes and keeps for the backward pass, or is computing with.
    Activations,
    /// What dies within the pass that made it.
    Temporaries,
    /// Batches.
    Inputs,
    /// The key/value cache of a language model.
    KvCache,
    /// Buffers of collectives and of sharded or replicated models.
    Communication,
    /// Scratch memory of cuBLAS and cuDNN.
    Workspaces,
    /// None of these can be told.
    Unknown,
}

impl Category {
    /// All of them, in the order in which they are stacked: what stays longest lies lowest.
    pub const ALL: [Category; 10] = [
        Category::Weights,
        Category::OptimizerStates,
        Category::Gradients,
        Category::KvCache,
        Category::Unknown,
        Category::Workspaces,
        Category::Inputs,
        Category::Communication,
        Category::Activations,
        Category::Temporaries,
    ];

    /// Its name in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::Weights => "weights",
            Category::Gradients => "gradients",
            Category::OptimizerStates => "optimizer_states",
            Category::Activations => "activations",
            Category::Temporaries => "temporaries",
            Category::Inputs => "inputs",
            Category::KvCache => "kv_cache",
            Category::Communication => "communication",
            Category::Workspaces => "workspaces",
            Category::Unknown => "unknown",
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Category::OptimizerStates => "optimizer states",
            Category::KvCache => "KV cache",
            other => other.name(),
        }
    }

    /// Its place in [`Category::ALL`].
    #[must_use]
    pub fn place(self) -> usize {
        Category::ALL.iter().position(|category| *category == self).unwrap_or(0)
    }
}

/// Why an allocation has its category: what later rules need to know of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Because {
    /// A rule that nothing refines.
    Rule,
    /// Older than the trace and never freed in it.
    Older,
    /// Made by a backward pass that the end of the trace or a failure cut short.
    CutBackward,
    /// Made by a backward pass, outlives it, and no stack says more.
    OutlivesBackward,
    /// Freed by dropping the gradients.
    ZeroGrad,
    /// By how it behaves, without a name that tells.
    Shape,
    /// Made before the first forward pass and kept, though nothing says that it is a weight.
    Early,
}

/// A category and its reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Class {
    /// What for.
    pub category: Category,
    /// Why.
    pub because: Because,
}

fn class(category: Category) -> Class {
    Class { category, because: Because::Rule }
}

/// An entry that never comes.
const NEVER: u32 = u32::MAX;

/// For each entry, the next entries of a kind after it; [`NEVER`] where there is none.
struct Ahead {
    /// An `alloc` of a backward pass.
    backward: Vec<u32>,
    /// An `alloc` of a forward pass.
    forward: Vec<u32>,
    /// What ends a backward pass: an optimizer's or zero_grad's entry, a forward `alloc`, an `oom`.
    backward_end: Vec<u32>,
    first_forward: u32,
    has_backward: bool,
    ooms: Vec<u32>,
}

impl Ahead {
    fn of(snapshot: &Snapshot, timeline: &Timeline, phases: &Phases) -> Self {
        let count = timeline.entries() as usize;
        let trace = snapshot.trace(timeline.device);
        let (mut backward, mut forward, mut backward_end) =
            (vec![NEVER; count], vec![NEVER; count], vec![NEVER; count]);
        let (mut next_backward, mut next_forward, mut next_end) = (NEVER, NEVER, NEVER);
        for_each((0..count).rev(), |entry| {
            backward[entry] = next_backward;
            forward[entry] = next_forward;
            backward_end[entry] = next_end;
            let Some(action) = snapshot.entries.action(trace.start + entry) else { return };
            let phase = phases.by_entry[entry];
            let here = entry as u32;
            match (action, phase) {
                (Action::Oom, _) => next_end = here,
                (Action::Alloc, Phase::Forward) => (next_forward, next_end) = (here, here),
                (Action::Alloc, Phase::Backward) => next_backward = here,
                (Action::Alloc | Action::FreeRequested, Phase::Optimizer | Phase::ZeroGrad) => {
                    next_end = here
                }
                _ => {}
            }
        });
        Ahead {
            backward,
            forward,
            backward_end,
            first_forward: next_forward,
            has_backward: next_backward != NEVER,
            ooms: timeline.ooms.iter().map(|oom| oom.entry).collect(),
        }
    }

    fn next(column: &[u32], entry: u32) -> u32 {
        column.get(entry as usize).copied().unwrap_or(NEVER)
    }

    /// Freed by the unwinding of a failure: such a free tells nothing.
    fn is_unwound(&self, allocation: &Allocation) -> bool {
        let Some(free) = allocation.free_requested() else { return false };
        let after = self.ooms.partition_point(|oom| *oom <= allocation.first_entry());
        self.ooms.get(after).is_some_and(|oom| *oom < free)
    }
}

/// The class of every allocation, by allocation id.
#[must_use]
pub fn classify(
    snapshot: &Snapshot,
    timeline: &Timeline,
    kinds: &FrameKinds,
    marks: &StackMarks,
    phases: &Phases,
) -> Vec<Class> {
    let ahead = Ahead::of(snapshot, timeline, phases);
    let trace = snapshot.trace(timeline.device);
    let mut classes: Vec<Class> = Vec::with_capacity(timeline.allocations.len());
    for_each(timeline.allocations.iter(), |allocation| {
        let free_stack = allocation
            .free_requested()
            .filter(|_| phases.frees_tell)
            .and_then(|entry| snapshot.entries.stack(trace.start + entry as usize))
            .unwrap_or(StackId::ABSENT);
        let life = Life {
            allocation,
            made: marks.get(allocation.stack),
            freed: marks.get(free_stack),
            ahead: &ahead,
            phases,
        };
        classes.push(life.class());
    });
    sizes::refine(timeline, &mut classes);
    caches::refine(snapshot, timeline, kinds, phases, &mut classes);
    classes
}

/// One allocation with what its stacks say.
struct Life<'a> {
    allocation: &'a Allocation,
    made: Marks,
    freed: Marks,
    ahead: &'a Ahead,
    phases: &'a Phases,
}

impl Life<'_> {
    fn class(&self) -> Class {
        let Life { allocation, made, freed, ahead, phases } = self;
        let Some(begin) = allocation.begin() else { return self.older() };
        let free = allocation.last_entry();
        let made_in = phases.get(begin);
        let freed_in = allocation.free_requested().map(|entry| phases.get(entry));
        let is_unwound = ahead.is_unwound(allocation);
        if made.signs.has(Signs::WORKSPACE) {
            return class(Category::Workspaces);
        }
        if made.signs.has(Signs::TUNING) {
            return class(Category::Temporaries);
        }
        if freed.signs.has(Signs::ZERO_GRAD) || freed.signs.has(Signs::SET_GRAD) {
            // Before communication: the shard that a collective leaves is the gradient.
            return Class { category: Category::Gradients, because: Because::ZeroGrad };
        }
        let is_communication = made.signs.has(Signs::COMMUNICATION);
        let is_transient_phase =
            matches!(made_in, Phase::Forward | Phase::Backward | Phase::Between);
        if is_communication && is_transient_phase && !(made_in == Phase::Backward && free == NEVER)
        {
            return class(Category::Communication);
        }
        match made_in {
            Phase::Optimizer => self.of_optimizer(begin, free, is_unwound),
            Phase::Backward => self.of_backward(begin, free, freed_in, is_unwound),
            Phase::Loading if made.signs.has(Signs::STATE_MADE) => class(Category::OptimizerStates),
            Phase::Loading => {
                let ends_early = free <= ahead.first_forward && free != NEVER && !is_unwound;
                class(if ends_early { Category::Temporaries } else { Category::Weights })
            }
            _ if made.signs.has(Signs::KV_CACHE) => {
                // In training the cache of a forward pass is an activation like any other.
                class(if ahead.has_backward { Category::Activations } else { Category::KvCache })
            }
            Phase::Forward => self.of_forward(begin, free, freed_in, is_unwound),
            Phase::Between => self.between(begin, free, freed_in),
            Phase::ZeroGrad | Phase::Unknown => class(Category::Unknown),
        }
    }

    fn older(&self) -> Class {
        let Life { allocation, made, freed, phases, .. } = self;
        match allocation.free_requested() {
            None if made.phase != Phase::Unknown => class(by_block_stack(made)),
            None => Class { category: Category::Unknown, because: Because::Older },
            Some(entry) => {
                let freed_in = phases.get(entry);
                if freed.signs.has(Signs::ZERO_GRAD)
                    || freed.signs.has(Signs::SET_GRAD)
                    || freed_in == Phase::ZeroGrad
                {
                    Class { category: Category::Gradients, because: Because::ZeroGrad }
                } else if freed.signs.has(Signs::SAVED) || freed_in == Phase::Backward {
                    class(Category::Activations)
                } else {
                    class(Category::Unknown)
                }
            }
        }
    }

    fn of_optimizer(&self, begin: u32, free: u32, is_unwound: bool) -> Class {
        if self.made.signs.has(Signs::CLIPPING) {
            return class(Category::Temporaries);
        }
        let dies_in_step = free < Ahead::next(&self.ahead.forward, begin);
        let is_state = if is_unwound {
            self.made.signs.has(Signs::STATE_MADE)
        } else {
            !dies_in_step || free == NEVER
        };
        class(if is_state { Category::OptimizerStates } else { Category::Temporaries })
    }

    fn of_backward(
        &self,
        begin: u32,
        free: u32,
        freed_in: Option<Phase>,
        is_unwound: bool,
    ) -> Class {
        let end = Ahead::next(&self.ahead.backward_end, begin);
        let is_recomputed = self.made.signs.has(Signs::RECOMPUTED);
        if is_recomputed && free < end {
            return class(Category::Activations);
        }
        if freed_in == Some(Phase::ZeroGrad) {
            return Class { category: Category::Gradients, because: Because::ZeroGrad };
        }
        if free >= end && !is_unwound {
            let is_cut =
                free == NEVER && (end == NEVER || self.ahead.ooms.binary_search(&end).is_ok());
            let because = if is_cut { Because::CutBackward } else { Because::OutlivesBackward };
            return Class { category: Category::Gradients, because };
        }
        if is_recomputed {
            return class(Category::Activations);
        }
        if is_unwound {
            return Class { category: Category::Gradients, because: Because::CutBackward };
        }
        class(Category::Temporaries)
    }

    fn of_forward(
        &self,
        begin: u32,
        free: u32,
        freed_in: Option<Phase>,
        is_unwound: bool,
    ) -> Class {
        let backward = Ahead::next(&self.ahead.backward, begin);
        let is_saved = self.freed.signs.has(Signs::SAVED)
            || freed_in == Some(Phase::Backward) && free > backward;
        let is_brief = free < backward && free != NEVER && !is_unwound;
        let trains = self.ahead.has_backward;
        class(if !is_saved && is_brief && trains {
            Category::Temporaries
        } else {
            Category::Activations
        })
    }

    fn between(&self, begin: u32, free: u32, freed_in: Option<Phase>) -> Class {
        let Life { made, freed, ahead, .. } = self;
        if made.signs.has(Signs::DATA) {
            return class(Category::Inputs);
        }
        if ahead.first_forward == NEVER && !ahead.has_backward {
            return class(Category::Unknown);
        }
        let next_forward = Ahead::next(&ahead.forward, begin);
        if begin < ahead.first_forward && free == NEVER {
            return Class { category: Category::Weights, because: Because::Early };
        }
        if next_forward != NEVER
            && next_forward < Ahead::next(&ahead.backward, begin)
            && free > next_forward
        {
            return class(Category::Inputs);
        }
        if freed.signs.has(Signs::SAVED) || freed_in == Some(Phase::Backward) {
            return class(Category::Activations);
        }
        if next_forward == NEVER && free == NEVER {
            return class(Category::Inputs);
        }
        class(Category::Temporaries)
    }
}

/// A block that is older than the trace, by the stack that the file's segments keep of it.
fn by_block_stack(made: &Marks) -> Category {
    if made.signs.has(Signs::WORKSPACE) {
        return Category::Workspaces;
    }
    match made.phase {
        Phase::Optimizer => Category::OptimizerStates,
        Phase::Loading => Category::Weights,
        Phase::Backward => Category::Gradients,
        _ if made.signs.has(Signs::KV_CACHE) => Category::KvCache,
        Phase::Forward => Category::Activations,
        _ => Category::Unknown,
    }
}
