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

#[cfg(test)]
mod tests {
    use super::super::drawn::{MIB, drawn};
    use super::Phase::{Backward, Forward, Loading, Optimizer, Unknown, ZeroGrad};
    use super::*;

    fn phases(by_entry: &[Phase]) -> Phases {
        let (by_entry, guessed_turns) = (by_entry.to_vec(), Vec::new());
        Phases { told: Told::ByStacks, by_entry, frees_tell: true, guessed_turns }
    }

    /// Where steps end in a trace whose entries are of these phases.
    fn cuts(lines: &str, by_entry: &[Phase]) -> Vec<u32> {
        let snapshot = drawn(lines);
        let timeline = Timeline::replay(&snapshot, 0);
        assert_eq!(timeline.entries() as usize, by_entry.len());
        training_cuts(&snapshot, &timeline, &phases(by_entry))
    }

    const FIVE: &str = "alloc a 1\nalloc b 1\nalloc c 1\nalloc d 1\nalloc e 1";

    #[test]
    fn a_step_ends_after_the_last_work_before_the_next_forward_pass() {
        assert_eq!(cuts(FIVE, &[Forward, Backward, Forward, Backward, Forward]), [2, 4]);
        assert_eq!(cuts(FIVE, &[Forward, Forward, Backward, Unknown, Forward]), [3]);
        assert!(cuts(FIVE, &[Forward; 5]).is_empty());
        assert!(cuts(FIVE, &[Forward, Forward, Forward, Backward, Optimizer]).is_empty());
    }

    #[test]
    fn passes_without_the_optimizer_belong_to_the_next_with_it() {
        let accumulated = [Forward, Backward, Forward, Backward, Optimizer, Forward];
        assert_eq!(cuts(&format!("{FIVE}\nalloc f 1"), &accumulated), [5]);
        assert_eq!(cuts(FIVE, &[Forward, Backward, ZeroGrad, Forward, Backward]), [3]);
    }

    #[test]
    fn zero_grad_between_forward_and_backward_ends_nothing() {
        assert_eq!(cuts(FIVE, &[Forward, ZeroGrad, Forward, Backward, Forward]), [4]);
        let again = [Forward, Backward, Forward, ZeroGrad, Backward, Forward];
        // It stands for the optimizer all the same: the first cut has none.
        assert_eq!(cuts(&format!("{FIVE}\nalloc f 1"), &again), [5]);
    }

    #[test]
    fn only_requests_and_releases_are_work_and_only_requests_begin_a_pass() {
        let completed = "alloc a 1\nfree a\nalloc c 1";
        assert_eq!(cuts(completed, &[Forward, Backward, Backward, Forward]), [2]);
        let released = "alloc a 1\nalloc b 1\nfree a\nalloc c 1\nalloc d 1";
        let by_entry = [Forward, Backward, Forward, Forward, Backward, Forward];
        assert_eq!(cuts(released, &by_entry), [5]);
    }

    #[test]
    fn steps_follow_each_other_without_gaps_and_none_is_empty() {
        let of = |begin, cuts: &[u32], end| ranges(begin, cuts, end).collect::<Vec<_>>();
        assert_eq!(of(2, &[5, 5, 9], 12), [2..5, 5..9, 9..12]);
        assert_eq!(of(6, &[5, 9], 12), [6..9, 9..12]);
        assert_eq!(of(0, &[4], 4), std::slice::from_ref(&(0..4)));
        assert!(of(4, &[], 4).is_empty());
    }

    #[test]
    fn the_batch_belongs_to_the_step_and_loading_to_none() {
        let of = |by_entry: &[Phase], first| after_loading(&phases(by_entry), first);
        assert_eq!(of(&[Loading, Loading, Unknown, Forward], 3), 2);
        assert_eq!(of(&[Unknown, Loading, Loading, Forward], 3), 3);
        assert_eq!(of(&[Unknown, Unknown, Forward, Loading], 2), 0);
        assert_eq!(of(&[], 0), 0);
    }

    #[test]
    fn a_step_holds_from_its_least_to_its_most_and_trains_with_a_backward_pass() {
        let timeline =
            Timeline::replay(&drawn("alloc a 3\nalloc b 2\nfree a\nalloc c 1\nalloc d 9"), 0);
        let by_entry = phases(&[Backward, Forward, Forward, Forward, Forward, Backward]);
        let found = step(&timeline, &by_entry, 1..5);
        let expected = Step { begin: 1, end: 5, baseline: 2 * MIB, peak: 5 * MIB, trains: false };
        assert_eq!(found, expected);
        let found = step(&timeline, &by_entry, 4..6);
        let expected = Step { begin: 4, end: 6, baseline: 3 * MIB, peak: 12 * MIB, trains: true };
        assert_eq!(found, expected);
    }

    #[test]
    fn work_begins_with_the_first_request_of_a_pass() {
        let snapshot = drawn("alloc a 1\nfree a\nalloc b 1\nalloc c 1");
        let timeline = Timeline::replay(&snapshot, 0);
        let of = |by_entry: &[Phase]| first_work(&snapshot, &timeline, &phases(by_entry));
        assert_eq!(of(&[Unknown, Forward, Forward, Loading, Backward]), Some(4));
        assert_eq!(of(&[Unknown, Backward, Unknown, Forward, Backward]), Some(3));
        assert_eq!(of(&[Loading, Optimizer, Unknown, ZeroGrad, Optimizer]), None);
    }
}
