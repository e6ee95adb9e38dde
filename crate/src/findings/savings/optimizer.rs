//! The optimizer's states in 8 bits.

use super::{Held, Kept};
use crate::findings::category::Category;

/// Smaller tensors stay as they are, in bytes (the default of bitsandbytes: 4096 elements of 32
/// bits).
const LEAST: u64 = 4096 * 4;

/// What is left of `held` with the states in 8 bits: blocks of 256 elements share one 32-bit scale.
/// States have their weights' precision, which is 32 bits where `is_wide` and taken for 16 else.
#[must_use]
pub fn in_eight_bits(held: &Held<'_>, is_wide: bool) -> Kept {
    let is_large = held.category == Category::OptimizerStates && held.requested >= LEAST;
    let share = if is_wide { 0.25 + 1.0 / 256.0 } else { 0.5 };
    if is_large { Kept::part(share) } else { Kept::WHOLE }
}

/// What is left of `held` without the states: kept elsewhere, or of an optimizer that has none.
#[must_use]
pub fn without_states(held: &Held<'_>) -> Kept {
    if held.category == Category::OptimizerStates { Kept::NOTHING } else { Kept::WHOLE }
}
