//! Steps: where one iteration ends and the next begins.

use super::frame_kind::FrameKinds;
use super::marks::{Phase, StackMarks};
use super::phases::{Phases, Told};
use super::turns::Loops;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use std::ops::Range;

/// One step, as a range of entries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Step {
    /// First entry.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
    /// Least allocated in it, in bytes: what the step does not let go of.
    pub baseline: u64,
    /// Most allocated in it, in bytes.
    pub peak: u64,
    /// Whether it has a backward pass; else it generates, evaluates or is cut short.
    pub trains: bool,
}

/// Forward passes before a backward one from which on they are a loop of their own.
const OWN_LOOP: usize = 3;

/// The steps of a trace, oldest first; empty where no loop is seen. Loading belongs to none.
///
/// A training step ends with the last entry of backward, optimizer or zero_grad before the next
/// forward allocation. Iterations without an optimizer belong to the next one with one: gradient
/// accumulation. What lies outside of training is divided by the turns of the program's own loop;
/// without stacks, by recurring sizes.
#[must_use]
pub fn steps_of(
    snapshot: &Snapshot,
    timeline: &Timeline,
    phases: &Phases,
    kinds: &FrameKinds,
    marks: &StackMarks,
) -> Vec<Step> {
    let Some(first) = first_work(snapshot, timeline, phases) else { return Vec::new() };
    let begin = after_loading(phases, first);
    let count = timeline.entries();
    let loops = || Loops::of(snapshot, timeline, kinds, marks, phases);
    let cuts: Vec<u32> = match phases.told {
        Told::Guessed => phases.guessed_turns.clone(),
        _ if phases.by_entry.contains(&Phase::Backward) => {
            with_other_loops(training_cuts(snapshot, timeline, phases), begin, phases, &loops())
        }
        Told::ByAnnotations => training_cuts(snapshot, timeline, phases),
        Told::ByStacks | Told::ByPythonStacks => loops().turns(begin..count),
    };
    if cuts.is_empty() && !phases.by_entry.contains(&Phase::Backward) {
        return Vec::new();
    }
    ranges(begin, &cuts, count).map(|range| step(timeline, phases, range)).collect()
}

fn step(timeline: &Timeline, phases: &Phases, range: Range<u32>) -> Step {
    let places = range.start as usize..range.end as usize;
    let allocated = timeline.usage.allocated.get(places.clone()).unwrap_or_default();
    let phases = phases.by_entry.get(places).unwrap_or_default();
    Step {
        begin: range.start,
        end: range.end,
        baseline: allocated.iter().copied().min().unwrap_or(0),
        peak: allocated.iter().copied().max().unwrap_or(0),
        trains: phases.contains(&Phase::Backward),
    }
}

fn ranges(begin: u32, cuts: &[u32], end: u32) -> impl Iterator<Item = Range<u32>> {
    let mut from = begin;
    let ends = cuts.iter().copied().chain([end]).collect::<Vec<u32>>();
    ends.into_iter().filter_map(move |cut| {
        let range = from..cut;
        from = from.max(cut);
        (!range.is_empty()).then_some(range)
    })
}

fn first_work(snapshot: &Snapshot, timeline: &Timeline, phases: &Phases) -> Option<u32> {
    let is_work = |entry: &u32| {
        matches!(phases.get(*entry), Phase::Forward | Phase::Backward)
            && snapshot
                .entry(timeline.device, *entry)
                .is_some_and(|entry| entry.action == Action::Alloc)
    };
    (0..timeline.entries()).find(is_work)
}

/// Where training steps end.
fn training_cuts(snapshot: &Snapshot, timeline: &Timeline, phases: &Phases) -> Vec<u32> {
    let mut cuts: Vec<(u32, bool)> = Vec::new();
    let mut last_work: Option<u32> = None;
    let (mut in_forward, mut has_optimizer) = (false, false);
    for_each((0_u32..).zip(snapshot.trace(timeline.device)), |(entry, place)| {
        let Some(action) = snapshot.entries.action(place) else { return };
        if !matches!(action, Action::Alloc | Action::FreeRequested) {
            return;
        }
        let phase = phases.get(entry);
        match phase {
            // zero_grad between forward and backward ends nothing.
            Phase::ZeroGrad if in_forward => has_optimizer = true,
            Phase::Backward | Phase::Optimizer | Phase::ZeroGrad => {
                in_forward = false;
                last_work = Some(entry);
                has_optimizer |= phase != Phase::Backward;
            }
            Phase::Forward if action == Action::Alloc => {
                if let Some(last) = last_work.take() {
                    cuts.push((last + 1, has_optimizer));
                    has_optimizer = false;
                }
                in_forward = true;
            }
            _ => {}
        }
    });
    if cuts.iter().any(|(_, optimizer)| *optimizer) {
        cuts.retain(|(_, optimizer)| *optimizer);
    }
    cuts.into_iter().map(|(cut, _)| cut).collect()
}

/// Adds the turns of evaluation and generation around the training steps. Forward passes ahead of
/// a backward one are such a loop only if the other steps have none: a program may well run several
/// passes for one backward.
fn with_other_loops(cuts: Vec<u32>, begin: u32, phases: &Phases, loops: &Loops<'_>) -> Vec<u32> {
    let end = phases.by_entry.len() as u32;
    let forward_only: Vec<(Range<u32>, bool)> = ranges(begin, &cuts, end)
        .map(|range| {
            let backward = range.clone().find(|entry| phases.get(*entry) == Phase::Backward);
            (range.start..backward.unwrap_or(range.end), backward.is_none())
        })
        .collect();
    let mut lengths: Vec<usize> = forward_only.iter().map(|(range, _)| range.len()).collect();
    lengths.sort_unstable();
    let ordinary = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let mut all = cuts;
    for (range, is_open) in forward_only {
        // A step like the others is one pass.
        if range.len() >= ordinary * OWN_LOOP || is_open && range.len() > ordinary {
            all.extend(loops.turns(range));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The first entry after loading that leads up to `first_work`: the batch belongs to the step.
fn after_loading(phases: &Phases, first_work: u32) -> u32 {
    let before = phases.by_entry.get(..first_work as usize).unwrap_or_default();
    let loading = before.iter().rposition(|phase| *phase == Phase::Loading);
    loading.map_or(0, |last| u32::try_from(last + 1).unwrap_or(first_work)).min(first_work)
}
