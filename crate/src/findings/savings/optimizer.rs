//! Other optimizers: states in 8 bits, or none; and a step without scratch memory.
//!
//! The step of an 8-bit optimizer is one kernel a parameter, and one elsewhere needs nothing here, so
//! with the states goes the scratch memory that the recorded step makes for all parameters at once.
//! Where that is left in, the peak of a wide model is a third too high.

use super::{Held, Kept};
use crate::findings::Device;
use crate::findings::category::Category;
use crate::findings::marks::Phase;
use std::collections::BTreeMap;

/// Smaller tensors stay as they are, in bytes (the default of bitsandbytes: 4096 elements of 32
/// bits).
const LEAST: u64 = 4096 * 4;

/// States of one weight: two moments and a copy of 32 bits.
const MOST_STATES: u64 = 3;

/// Optimizer states of 8 bits an element: blocks of 256 elements share one 32-bit scale.
#[derive(Clone, Copy, Debug)]
pub struct EightBits {
    /// Of a state's size.
    share: f64,
    /// Whether the states are in a short form already (8 bits, or factored), so that they stay.
    pub are_there: bool,
}

impl EightBits {
    /// For the states of `device`. They have their weights' precision, which is 32 bits where
    /// `is_wide` and taken for 16 else.
    #[must_use]
    pub fn of(device: &Device, is_wide: bool) -> Self {
        let counts = |category: Category| {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for (allocation, class) in device.timeline.allocations.iter().zip(&device.classes) {
                if class.category == category && allocation.requested >= LEAST {
                    *counts.entry(allocation.requested).or_default() += 1;
                }
            }
            counts
        };
        let (weights, states) = (counts(Category::Weights), counts(Category::OptimizerStates));
        let of = |size: u64| weights.get(&size).copied().unwrap_or(0);
        // A state has its weight's size, or twice that where only the weight is of 16 bits.
        let whole = |(size, count): (&u64, &u64)| {
            size * count.min(&(MOST_STATES * (of(*size) + of(size / 2))))
        };
        let all: u64 = states.iter().map(|(size, count)| size * count).sum();
        let is_mostly_whole = states.iter().map(whole).sum::<u64>() * 2 >= all;
        let last = |counts: &BTreeMap<u64, u64>| counts.keys().last().copied().unwrap_or(0);
        // Larger ones are those of many weights in one tensor.
        let are_flat = last(&states) > last(&weights) * 2;
        let are_there = !is_mostly_whole && !are_flat;
        EightBits { share: if is_wide { 0.25 + 1.0 / 256.0 } else { 0.5 }, are_there }
    }

    /// What is left of `held`.
    #[must_use]
    pub fn kept(&self, device: &Device, held: &Held<'_>) -> Kept {
        let is_large = held.category == Category::OptimizerStates && held.requested >= LEAST;
        if is_large && !self.are_there {
            Kept::part(self.share)
        } else {
            without_scratch(device, held)
        }
    }
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
