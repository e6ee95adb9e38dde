//! Forward passes of the step that failed: whether the model has begun anew in it.

use super::Device;
use super::frame_kind::FrameKinds;
use super::marks::{Phase, StackMarks};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::Oom;
use rustc_hash::FxHashMap;

/// Earlier steps looked at.
const STEPS: usize = 9;

/// Where the passes of a step begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Again {
    /// The first one's first entry.
    pub(super) first: u32,
    /// The last one's.
    pub(super) last: u32,
}

/// The passes of the step that failed, if the model began anew in it: after an earlier failure, or
/// although the steps before did so less often.
pub(super) fn begins_again(
    snapshot: &Snapshot,
    device: &Device,
    kinds: &FrameKinds,
    marks: &StackMarks,
    last: &Oom,
) -> Option<Again> {
    let heads = Heads::of(snapshot, kinds, marks);
    let step = device.steps.iter().rposition(|step| step.begin <= last.entry);
    let begin = step.map_or(0, |step| device.steps[step].begin);
    let passes = heads.passes(device, begin, last.entry);
    // Programs that run several passes for one backward, or whose model begins with the same place
    // more than once, do so in each step.
    let earlier = device.steps.get(..step.unwrap_or(0)).unwrap_or_default();
    let trained = earlier.iter().rev().filter(|step| step.trains).take(STEPS);
    let mut counts: Vec<usize> =
        trained.map(|step| heads.passes(device, step.begin, step.end).len()).collect();
    counts.sort_unstable();
    let ordinary = counts.get(counts.len() / 2).copied();
    let first = *passes.first()?;
    if let Some(ordinary) = ordinary.filter(|ordinary| *ordinary > 0) {
        let tries = passes.len().div_ceil(ordinary);
        let last = *passes.get((tries.checked_sub(1)?) * ordinary)?;
        return (tries > 1).then_some(Again { first, last });
    }
    let last = *passes.last()?;
    let failed_between =
        device.timeline.ooms.iter().any(|oom| first < oom.entry && oom.entry < last);
    failed_between.then_some(Again { first, last })
}

/// Of each stack, the part inside the outermost marked frame, by a number that equal ones share:
/// the code around it may differ from one try to the next.
struct Heads {
    inner: Vec<Option<u32>>,
}

impl Heads {
    fn of(snapshot: &Snapshot, kinds: &FrameKinds, marks: &StackMarks) -> Self {
        let mut numbers: FxHashMap<Vec<FrameId>, u32> = FxHashMap::default();
        let count = u32::try_from(snapshot.stacks.len()).unwrap_or(u32::MAX);
        let inner = (0..count).map(|id| {
            let python = kinds.python_of(snapshot, StackId(id)).rev();
            let inner: Vec<FrameId> =
                python.skip_while(|id| marks.phase_of(*id).is_none()).collect();
            let is_forward =
                inner.first().is_some_and(|id| marks.phase_of(*id) == Some(Phase::Forward));
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            is_forward.then(|| *numbers.entry(inner).or_insert(next))
        });
        Heads { inner: inner.collect() }
    }

    /// The entries of `begin..end` at which the model's first allocation recurs, the first included.
    /// Runs of the same place count once: a place may allocate several times in a row.
    fn passes(&self, device: &Device, begin: u32, end: u32) -> Vec<u32> {
        let mut head = None;
        let mut before = None;
        let mut passes = Vec::new();
        for entry in begin..end {
            if device.phases.get(entry) != Phase::Forward {
                continue;
            }
            let stack = device
                .timeline
                .allocation_of(entry)
                .and_then(|id| device.timeline.allocation(id))
                .filter(|allocation| allocation.begin() == Some(entry))
                .map(|allocation| allocation.stack);
            let Some(inner) =
                stack.and_then(|stack| self.inner.get(stack.0 as usize).copied().flatten())
            else {
                continue;
            };
            let head = *head.get_or_insert(inner);
            if inner == head && before != Some(head) {
                passes.push(entry);
            }
            before = Some(inner);
        }
        passes
    }
}
