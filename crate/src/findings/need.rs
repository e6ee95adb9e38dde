//! What the failing step would have needed in all, by the steps before it.

use super::Device;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::Action;
use crate::timeline::Oom;

/// Earlier steps looked at.
const STEPS: usize = 8;
/// Below this the ratio of two steps is noise.
const LEAST: u64 = 1 << 20;

/// The peak that a step cut short would have reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Allocated bytes at its peak.
    pub bytes: u64,
    /// How much larger it is than the step that it is predicted from.
    pub ratio: f64,
    /// That step.
    pub like: usize,
}

/// Predicts the need of the step that `oom` cut short: where the same stack allocated for the same
/// time in an earlier step, the ratio of what both had added by then scales that step's peak.
/// `None` without an earlier step like it.
#[must_use]
pub fn need(snapshot: &Snapshot, device: &Device, oom: &Oom) -> Option<Need> {
    let running = device.steps.partition_point(|step| step.begin <= oom.entry).checked_sub(1)?;
    let stack = snapshot.entry(device.timeline.device, oom.entry)?.stack;
    let is_alike = |entry: u32| {
        let entry = snapshot.entry(device.timeline.device, entry);
        entry.is_some_and(|entry| {
            entry.action == Action::Alloc && (stack == StackId::ABSENT || entry.stack == stack)
        })
    };
    let begin = device.steps.get(running)?.begin;
    // Generation grows from step to step: that this one would have gone through says nothing.
    if !device.steps.iter().any(|step| step.trains) {
        return None;
    }
    let turn = (begin..oom.entry).filter(|entry| is_alike(*entry)).count();
    let before = |entry: u32| {
        entry.checked_sub(1).map_or(device.timeline.start.allocated, |before| {
            device.timeline.usage_after(before).allocated
        })
    };
    let base = before(begin);
    let added = oom.usage.allocated.saturating_sub(base).saturating_add(oom.request_bytes);
    let mut best: Option<Need> = None;
    for like in (running.saturating_sub(STEPS)..running).rev() {
        let step = device.steps.get(like)?;
        let Some(same) = (step.begin..step.end).filter(|entry| is_alike(*entry)).nth(turn) else {
            continue;
        };
        let then = device.timeline.usage_after(same).allocated.saturating_sub(before(step.begin));
        if then <= LEAST {
            continue;
        }
        let ratio = added as f64 / then as f64;
        let height = step.peak.saturating_sub(before(step.begin)) as f64;
        let bytes = base.saturating_add(added.max((ratio * height) as u64));
        if best.is_none_or(|best| (ratio - 1.0).abs() < (best.ratio - 1.0).abs()) {
            best = Some(Need { bytes, ratio, like });
        }
    }
    best
}
