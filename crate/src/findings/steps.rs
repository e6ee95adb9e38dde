//! Training steps: where one iteration ends and the next begins.

use super::marks::Phase;
use super::phases::Phases;
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;

/// One training step, as a range of entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// First entry.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
    /// Least allocated in it, in bytes: what the step does not let go of.
    pub baseline: u64,
    /// Most allocated in it, in bytes.
    pub peak: u64,
}

/// The steps of a trace, oldest first; empty where no backward pass and no optimizer is seen.
///
/// An iteration ends with the last entry of backward, optimizer or zero_grad before the next
/// forward allocation. Iterations without an optimizer belong to the next one with one: gradient
/// accumulation. Loading belongs to none.
#[must_use]
pub fn steps_of(snapshot: &Snapshot, timeline: &Timeline, phases: &Phases) -> Vec<Step> {
    let trace = snapshot.trace(timeline.device);
    let mut cuts: Vec<(u32, bool)> = Vec::new();
    let mut last_work: Option<u32> = None;
    let (mut in_forward, mut has_optimizer) = (false, false);
    let mut first_work = None;
    for (entry, place) in (0_u32..).zip(trace.clone()) {
        let Some(action) = snapshot.entries.get(place).map(|entry| entry.action) else { break };
        if !matches!(action, Action::Alloc | Action::FreeRequested) {
            continue;
        }
        let phase = phases.get(entry);
        if action == Action::Alloc && matches!(phase, Phase::Forward | Phase::Backward) {
            first_work.get_or_insert(entry);
        }
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
    }
    let Some(first_work) = first_work else { return Vec::new() };
    if cuts.is_empty() && !phases.by_entry.contains(&Phase::Backward) {
        return Vec::new();
    }
    if cuts.iter().any(|(_, optimizer)| *optimizer) {
        cuts.retain(|(_, optimizer)| *optimizer);
    }
    let count = timeline.entries();
    let mut begin = after_loading(phases, first_work);
    let mut steps = Vec::new();
    for end in cuts.into_iter().map(|(cut, _)| cut).chain([count]) {
        if begin < end {
            let allocated =
                timeline.usage.allocated.get(begin as usize..end as usize).unwrap_or_default();
            steps.push(Step {
                begin,
                end,
                baseline: allocated.iter().copied().min().unwrap_or(0),
                peak: allocated.iter().copied().max().unwrap_or(0),
            });
            begin = end;
        }
    }
    steps
}

/// The first entry after loading that leads up to `first_work`: the batch belongs to the step.
fn after_loading(phases: &Phases, first_work: u32) -> u32 {
    let before = phases.by_entry.get(..first_work as usize).unwrap_or_default();
    let loading = before.iter().rposition(|phase| *phase == Phase::Loading);
    loading.map_or(0, |last| u32::try_from(last + 1).unwrap_or(first_work)).min(first_work)
}
