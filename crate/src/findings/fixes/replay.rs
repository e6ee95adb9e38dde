//! What a change brings: the sum of what is allocated, and the changed program replayed: whether it
//! gets past the failure, and what the allocator reserves for it, packing and all.

use super::{Case, WORTH};
use crate::allocator::cache::Bounds;
use crate::allocator::what_if::{Conditions, what_if};
use crate::findings::savings::rewrite::rewritten;
use crate::findings::savings::{Held, Kept};
use crate::units::{Bytes, Count};

/// Operations that may be replayed for all fixes of a verdict together, which must not wait long.
pub(super) const OPERATIONS: usize = 2_000_000;

/// What a change brings.
pub(super) struct Effect {
    /// Bytes that it takes off the peak of what is allocated.
    pub(super) saves: u64,
    /// What the allocator makes of it, in a sentence.
    pub(super) replayed: Option<String>,
}

impl<'a> Case<'a> {
    /// What `change` brings.
    pub(super) fn effect(&self, change: impl Fn(&Held<'a>) -> Kept) -> Effect {
        let saves = self.saves(&change);
        let is_worth_it = saves as f64 >= self.peak as f64 * WORTH;
        Effect { saves, replayed: is_worth_it.then(|| self.replayed(change)).flatten() }
    }

    /// What becomes of the recorded requests after `change`; `None` where no limit shows in a
    /// recording that failed, where its replay is not exact to begin with, where what was older than
    /// the trace changes, or where enough was replayed for this verdict.
    fn replayed(&self, change: impl Fn(&Held<'a>) -> Kept) -> Option<String> {
        let timeline = &self.device.timeline;
        if timeline.allocations.len().saturating_sub(timeline.older) > self.operations.get() {
            return None;
        }
        let failure = timeline.ooms.last().map(|oom| oom.entry);
        let recording = self.device.recording(self.snapshot);
        // Where the limit is known within bounds only, the least of them is held against.
        let bounds = if failure.is_some() { recording.least_bounds() } else { Bounds::NONE };
        if !recording.verification.is_exact() || bounds.is_bounded() != failure.is_some() {
            return None;
        }
        let left = self.operations.get().checked_sub(recording.program.operations.len())?;
        self.operations.set(left);
        let program = rewritten(self.snapshot, self.device, self.marks, change);
        let outcome = what_if(&program, &program.recorded, &Conditions::within(bounds));
        if outcome.starts_cold {
            // The cache from before the recording is left out, so that too little is reserved.
            return None;
        }
        let peak = Bytes(outcome.totals.peak_reserved);
        Some(match failure {
            None if outcome.totals.peak_reserved >= recording.verification.recorded_peak => {
                format!(" Replayed so, the recorded requests still reserve {peak}.")
            }
            None => format!(
                " Replayed so, the recorded requests reserve {peak} at most instead of {}.",
                Bytes(recording.verification.recorded_peak)
            ),
            Some(failure) if outcome.passes(failure) => format!(
                " Replayed so, the recorded requests get past the failure and reserve {peak} at most."
            ),
            Some(failure) => format!(
                " Replayed so, they still run out, at entry {}.",
                Count(u64::from(outcome.first_oom_entry.unwrap_or(failure)))
            ),
        })
    }
}
