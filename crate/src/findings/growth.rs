//! A place that asks for more and more, each time while what it had asked for before is still alive:
//! the old is copied into the new, as `torch.cat` does.

use crate::timeline::Timeline;
use crate::timeline::allocation::Allocation;

/// Allocations and increases from which on one place grows.
const ALLOCATIONS: usize = 10;
const INCREASES: usize = 8;
/// Decreases per increase that a growing place may show: a new prompt begins small.
const DECREASES: f64 = 0.05;
/// Share of one size's blocks that are alive when the next size comes.
const ALIVE: f64 = 0.9;

/// How one place grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// How many blocks grow side by side: the most of one size.
    pub(super) together: usize,
    /// Increases seen.
    pub(super) increases: usize,
    /// The last request against the first.
    pub(super) ratio: f64,
}

/// The growth of the allocations at `places`, which one stack made, in their order; `None` where
/// they do not grow, or where each stays beside the new one: then they pile up.
pub(super) fn growth(timeline: &Timeline, places: &[usize]) -> Option<Growth> {
    let all: Vec<&Allocation> = places.iter().map(|place| &timeline.allocations[*place]).collect();
    let (first, last) = (all.first()?, all.last()?);
    if all.len() < ALLOCATIONS || last.requested <= first.requested {
        return None;
    }
    let (mut increases, mut decreases, mut together) = (0_usize, 0_usize, 1_usize);
    let (mut of_size, mut alive, mut outgrown) = (0_usize, 0_usize, 0_usize);
    for (place, pair) in all.windows(2).enumerate() {
        of_size += 1;
        together = together.max(of_size);
        if pair[1].requested == pair[0].requested {
            continue;
        }
        if pair[1].requested < pair[0].requested {
            decreases += 1;
        } else {
            increases += 1;
            let next = pair[1].first_entry();
            let smaller = all[place + 1 - of_size..=place].iter();
            alive += smaller.filter(|one| one.last_entry() > next).count();
            outgrown += of_size;
        }
        of_size = 0;
    }
    let end = last.first_entry();
    let left = all.iter().filter(|one| one.is_live_after(end)).count();
    let grows = increases >= INCREASES
        && decreases as f64 <= DECREASES * increases as f64
        && alive as f64 >= ALIVE * outgrown as f64
        && left <= 2 * together + 2;
    grows.then_some(Growth {
        together,
        increases,
        ratio: last.requested as f64 / first.requested.max(1) as f64,
    })
}
