//! Other optimizers: states in 8 bits, or none; and a step without scratch memory.
//!
//! The step of an 8-bit optimizer is one kernel a parameter, and one elsewhere needs nothing here, so
//! with the states goes the scratch memory that the recorded step makes for all parameters at once.
//! Where that is left in, the peak of a wide model is a third too high.

use super::{Held, Kept};
use crate::findings::Device;
use crate::findings::category::Category;
use crate::findings::marks::Phase;

/// Smaller tensors stay as they are, in bytes (the default of bitsandbytes: 4096 elements of 32
/// bits).
const LEAST: u64 = 4096 * 4;

/// What is left of `held` with the states in 8 bits: blocks of 256 elements share one 32-bit scale.
/// States have their weights' precision, which is 32 bits where `is_wide` and taken for 16 else.
#[must_use]
pub fn in_eight_bits(device: &Device, held: &Held<'_>, is_wide: bool) -> Kept {
    let is_large = held.category == Category::OptimizerStates && held.requested >= LEAST;
    let share = if is_wide { 0.25 + 1.0 / 256.0 } else { 0.5 };
    if is_large { Kept::part(share) } else { without_scratch(device, held) }
}

/// What is left of `held` without the states: kept elsewhere, or of an optimizer that has none.
#[must_use]
pub fn without_states(device: &Device, held: &Held<'_>) -> Kept {
    if held.category == Category::OptimizerStates {
        Kept::NOTHING
    } else {
        without_scratch(device, held)
    }
}

/// What is left of `held` if the optimizer's step makes no copies of parameters and gradients.
#[must_use]
pub fn without_scratch(device: &Device, held: &Held<'_>) -> Kept {
    let is_scratch = held.category == Category::Temporaries
        && held.entry.is_some_and(|entry| device.phases.get(entry) == Phase::Optimizer);
    if is_scratch { Kept::NOTHING } else { Kept::WHOLE }
}
