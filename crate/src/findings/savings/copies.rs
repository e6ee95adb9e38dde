//! Low-precision copies of weights that autocast makes in a forward pass.
//!
//! Autocast casts activations as well as weights in the same function. A copy is a weight's if some
//! weight has twice or four times its size, and no more of them in a step than there are such weights.

use crate::batches::for_each;
use crate::findings::Device;
use crate::findings::category::Category;
use crate::findings::marks::{Signs, StackMarks};
use rustc_hash::{FxHashMap, FxHashSet};

/// The places of the copies among the timeline's allocations.
pub(super) fn weight_copies(device: &Device, marks: &StackMarks) -> FxHashSet<usize> {
    let all = || device.timeline.allocations.iter().zip(&device.classes);
    let mut weights: FxHashMap<u64, usize> = FxHashMap::default();
    for_each(all().filter(|(_, class)| class.category == Category::Weights), |(allocation, _)| {
        *weights.entry(allocation.requested).or_default() += 1;
    });
    let mut left: FxHashMap<(usize, u64), usize> = FxHashMap::default();
    let mut copies = FxHashSet::default();
    for_each(all().enumerate(), |(place, (allocation, class))| {
        let is_cast = class.category == Category::Activations
            && marks.get(allocation.stack).signs.has(Signs::CAST);
        if !is_cast {
            return;
        }
        let step = device.steps.partition_point(|step| step.begin <= allocation.first_entry());
        let size = allocation.requested;
        let of = |factor: u64| weights.get(&size.saturating_mul(factor)).copied().unwrap_or(0);
        let left = left.entry((step, size)).or_insert_with(|| of(2) + of(4));
        if *left > 0 {
            *left -= 1;
            copies.insert(place);
        }
    });
    copies
}
