//! A changed program, replayed: whether it gets past the failure, and what the allocator reserves
//! for it, packing and all.

use super::Case;
use crate::allocator::program::Program;
use crate::allocator::what_if::{Conditions, what_if};
use crate::units::{Bytes, Count};

/// Longer programs are not replayed for a sentence; the verdict must not wait for it.
const OPERATIONS: usize = 1_000_000;

/// What becomes of the recorded requests after `change`, in a sentence; `None` without a failure,
/// where no limit shows in the recording, or where its replay is not exact to begin with.
pub(super) fn sentence(case: &Case<'_>, change: impl FnOnce(&mut Program)) -> Option<String> {
    let failure = case.device.timeline.ooms.last()?.entry;
    let recording = case.device.recording(case.snapshot);
    // Where the limit is known within bounds only, the least of them is held against.
    let bounds = recording.least_bounds();
    let is_known = recording.verification.is_exact()
        && bounds.is_bounded()
        && recording.program.operations.len() <= OPERATIONS;
    if !is_known {
        return None;
    }
    let mut program = recording.program.clone();
    change(&mut program);
    let outcome = what_if(&program, &program.recorded, &Conditions::within(bounds));
    Some(if outcome.passes(failure) {
        format!(
            " Replayed so, the recorded requests get past the failure and reserve {} at most.",
            Bytes(outcome.totals.peak_reserved)
        )
    } else {
        format!(
            " Replayed so, they still run out, at entry {}.",
            Count(u64::from(outcome.first_oom_entry.unwrap_or(failure)))
        )
    })
}
