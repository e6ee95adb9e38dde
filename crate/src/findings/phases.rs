//! The phase of every entry.

use super::guess::{self, fullest_inside};
use super::marks::{Phase, StackMarks};
use super::spans::Span;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;

/// How far the stacks tell the phases.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// Python and native stacks: every phase.
    ByStacks,
    /// Python stacks only: the backward pass runs on a thread without Python, so that an
    /// allocation without frames is one of its.
    ByPythonStacks,
    /// No stacks, but the optimizer's annotations.
    ByAnnotations,
    /// Nothing tells: guessed from sizes and lifetimes.
    Guessed,
}

/// The phase of each entry of a device.
#[derive(Clone, Debug)]
pub struct Phases {
    /// How they are known.
    pub told: Told,
    /// By entry.
    pub by_entry: Vec<Phase>,
    /// Whether a free's stack tells where it was freed. With `context="alloc"` it repeats the
    /// allocation's, which the file does not say; it shows in nearly all pairs being equal.
    pub frees_tell: bool,
    /// Where nothing tells, the entries at which the turns of a loop seem to begin.
    pub guessed_turns: Vec<u32>,
}

impl Phases {
    /// Tells the phases of a device's trace. `spans` are its annotated ranges.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        timeline: &Timeline,
        marks: &StackMarks,
        spans: &[Span],
    ) -> Self {
        let trace = snapshot.trace(timeline.device);
        let entries = || trace.clone().filter_map(|index| snapshot.entries.get(index));
        let frees_tell = frees_tell(snapshot, timeline);
        let is_free = |action| matches!(action, Action::FreeRequested | Action::FreeCompleted);
        let mut by_entry: Vec<Phase> = Vec::with_capacity(trace.len());
        let (mut allocs, mut told_allocs) = (0_usize, 0_usize);
        for_each(entries(), |entry| {
            let phase = if is_free(entry.action) && !frees_tell {
                Phase::Unknown
            } else {
                marks.get(entry.stack).phase
            };
            if entry.action == Action::Alloc {
                allocs += 1;
                told_allocs += usize::from(phase != Phase::Unknown);
            }
            by_entry.push(phase);
        });
        let told = if by_entry.iter().all(|phase| *phase == Phase::Unknown) {
            if by_annotations(timeline, spans, &mut by_entry) {
                Told::ByAnnotations
            } else {
                Told::Guessed
            }
        } else if marks.engine_seen || told_allocs * 100 > allocs * 97 {
            Told::ByStacks
        } else {
            Told::ByPythonStacks
        };
        if told == Told::ByPythonStacks {
            for_each(entries().zip(&mut by_entry), |(entry, phase)| {
                if entry.action == Action::Alloc && entry.stack == StackId::EMPTY {
                    *phase = Phase::Backward;
                }
            });
        }
        if matches!(told, Told::ByStacks | Told::ByPythonStacks) {
            // What has no stack belongs to the phase going on.
            let mut going_on = Phase::Unknown;
            for_each(entries().zip(&mut by_entry), |(entry, phase)| {
                if *phase == Phase::Unknown {
                    *phase = going_on;
                } else if matches!(entry.action, Action::Alloc | Action::FreeRequested) {
                    going_on = *phase;
                }
            });
        }
        let guessed_turns =
            if told == Told::Guessed { guess::phases(timeline, &mut by_entry) } else { Vec::new() };
        Phases { told, by_entry, frees_tell, guessed_turns }
    }

    /// The phase of an entry.
    #[must_use]
    pub fn get(&self, entry: u32) -> Phase {
        self.by_entry.get(entry as usize).copied().unwrap_or(Phase::Unknown)
    }
}

fn frees_tell(snapshot: &Snapshot, timeline: &Timeline) -> bool {
    let trace = snapshot.trace(timeline.device);
    let pairs = timeline.allocations.iter().filter(|allocation| allocation.has_stack()).filter_map(
        |allocation| {
            let free = trace.start + allocation.free_requested()? as usize;
            Some(snapshot.entries.stack(free)? == allocation.stack)
        },
    );
    let (mut equal, mut all) = (0_u64, 0_u64);
    for_each(pairs, |is_equal| {
        all += 1;
        equal += u64::from(is_equal);
    });
    equal * 10 <= all * 9
}

/// Without stacks: the optimizer's annotations, and between two of them a forward pass up to the
/// moment at which most is live of what is both made and freed there (gradients drop out, as they
/// are freed later), then a backward pass. What the first stretch makes before it frees anything
/// and keeps is loading. False where no annotation tells.
fn by_annotations(timeline: &Timeline, spans: &[Span], by_entry: &mut [Phase]) -> bool {
    let of =
        |start: &str| spans.iter().filter(|span| span.name.starts_with(start)).collect::<Vec<_>>();
    let (steps, zeros) = (of("Optimizer.step"), of("Optimizer.zero_grad"));
    // A closure runs everything inside the step's range, which then says nothing.
    let has_closure = steps.iter().any(|step| {
        zeros
            .iter()
            .any(|zero| step.begin <= zero.begin && zero.end <= step.end && zero.begin < zero.end)
    });
    let mut mark = |spans: &[&Span], phase| {
        for span in spans {
            if let Some(range) = by_entry.get_mut(span.begin as usize..span.end as usize) {
                range.fill(phase);
            }
        }
    };
    if !has_closure {
        mark(&steps, Phase::Optimizer);
    }
    mark(&zeros, Phase::ZeroGrad);
    if by_entry.iter().all(|phase| *phase == Phase::Unknown) {
        return false;
    }
    let mut begin = 0;
    let mut is_first = true;
    while begin < by_entry.len() {
        if by_entry[begin] != Phase::Unknown {
            begin += 1;
            continue;
        }
        let end = by_entry[begin..]
            .iter()
            .position(|phase| *phase != Phase::Unknown)
            .map_or(by_entry.len(), |length| begin + length);
        let from = if is_first { split_loading(timeline, by_entry, begin, end) } else { begin };
        is_first = false;
        let fullest = fullest_inside(timeline, from as u32, end as u32) as usize;
        for (place, phase) in by_entry.iter_mut().enumerate().take(end).skip(from) {
            *phase = if place <= fullest { Phase::Forward } else { Phase::Backward };
        }
        begin = end;
    }
    true
}

/// Marks the stretch's first allocations as loading, up to the first that dies inside it.
fn split_loading(timeline: &Timeline, by_entry: &mut [Phase], begin: usize, end: usize) -> usize {
    let dies_inside = |entry: usize| {
        let allocation = allocation_made_at(timeline, entry);
        allocation.is_some_and(|allocation| {
            allocation.free_requested().is_some_and(|free| (free as usize) < end)
        })
    };
    let split = (begin..end).find(|entry| dies_inside(*entry)).unwrap_or(end);
    by_entry[begin..split].fill(Phase::Loading);
    split
}

fn allocation_made_at(
    timeline: &Timeline,
    entry: usize,
) -> Option<&crate::timeline::allocation::Allocation> {
    let entry = u32::try_from(entry).ok()?;
    timeline
        .allocation_of(entry)
        .and_then(|id| timeline.allocation(id))
        .filter(|allocation| allocation.begin() == Some(entry))
}
