//! What sizes add to the stacks: a gradient has its weight's size, and so has each state of Adam.

use super::category::{Because, Category, Class};
use crate::batches::for_each;
use crate::timeline::Timeline;
use rustc_hash::FxHashMap;

/// How many of each size, by requested bytes.
type Counts = FxHashMap<u64, u64>;

fn count(sizes: impl Iterator<Item = u64>) -> Counts {
    let mut counts = Counts::default();
    for size in sizes {
        *counts.entry(size).or_default() += 1;
    }
    counts
}

/// The scratch sizes of cuBLAS and cuBLASLt: 32 MiB from Hopper on, 8,320 KiB before, 1 MiB.
const WORKSPACES: [u64; 3] = [32 << 20, 8320 << 10, 1 << 20];

/// Corrects `classes` where only sizes can tell.
pub(super) fn refine(timeline: &Timeline, classes: &mut [Class]) {
    let requested = |place: usize| timeline.allocations[place].requested;
    let weights = count(
        (0..classes.len())
            .filter(|place| classes[*place].category == Category::Weights)
            .map(requested),
    );
    let dropped = count(
        (0..classes.len())
            .filter(|place| classes[*place].because == Because::ZeroGrad)
            .map(requested),
    );
    let mut unmatched = weights.clone();
    let is_known = |size: &u64| weights.contains_key(size) || dropped.contains_key(size);
    let knows_sizes = !weights.is_empty() || !dropped.is_empty();
    for_each(timeline.allocations.iter().zip(classes.iter_mut()), |(allocation, class)| {
        let size = allocation.requested;
        match class.because {
            // Without a stack, what outlives backward is a gradient only if some weight has its size.
            Because::OutlivesBackward
                if knows_sizes && !allocation.has_stack() && !is_known(&size) =>
            {
                class.category = if WORKSPACES.contains(&size) {
                    Category::Workspaces
                } else {
                    Category::Temporaries
                };
            }
            // Every weight that trains has a gradient of its size; what has none is data.
            Because::Early if !dropped.is_empty() && !dropped.contains_key(&size) => {
                class.category = Category::Inputs;
            }
            // Alive where backward was cut: a gradient while a weight of this size has none yet.
            Because::CutBackward if !weights.is_empty() => match unmatched.get_mut(&size) {
                Some(left) if *left > 0 => *left -= 1,
                _ => class.category = Category::Temporaries,
            },
            _ => {}
        }
    });
    split_older(timeline, classes);
}

/// Blocks older than the trace with no stack: as many of each size as there are gradients are
/// weights, and as many again for each state of the optimizer.
fn split_older(timeline: &Timeline, classes: &mut [Class]) {
    let older: Vec<usize> =
        (0..timeline.older).filter(|place| classes[*place].because == Because::Older).collect();
    if older.is_empty() {
        return;
    }
    let gradients = gradients_at_fullest(timeline, classes);
    if gradients.is_empty() {
        return;
    }
    let blocks = count(older.iter().map(|place| timeline.allocations[*place].requested));
    let states = states_per_weight(&blocks, &gradients);
    let mut taken = Counts::default();
    for place in older {
        let size = timeline.allocations[place].requested;
        let matching = gradients.get(&size).copied().unwrap_or(0);
        classes[place].category = if matching == 0 {
            if WORKSPACES.contains(&size) { Category::Workspaces } else { Category::Weights }
        } else {
            // Which of equal blocks is the weight cannot be known; only the bytes are claimed.
            let of_states = (states * matching).min(blocks.get(&size).copied().unwrap_or(0));
            let taken = taken.entry(size).or_default();
            *taken += 1;
            if *taken <= of_states { Category::OptimizerStates } else { Category::Weights }
        };
    }
}

/// The gradients alive together when they took most room.
fn gradients_at_fullest(timeline: &Timeline, classes: &[Class]) -> Counts {
    let mut changes: Vec<(u32, bool, usize)> = Vec::new();
    for_each(
        timeline.allocations.iter().zip(classes).enumerate(),
        |(place, (allocation, class))| {
            if class.category == Category::Gradients {
                changes.push((allocation.first_entry(), true, place));
                if let Some(free) = allocation.free_requested() {
                    changes.push((free, false, place));
                }
            }
        },
    );
    changes.sort_unstable();
    let (mut live, mut most, mut fullest) = (0_u64, 0_u64, 0);
    for_each(changes.iter(), |(entry, is_begin, place)| {
        let size = timeline.allocations[*place].requested;
        live = if *is_begin { live.saturating_add(size) } else { live.saturating_sub(size) };
        if live > most {
            (most, fullest) = (live, *entry);
        }
    });
    let alive = timeline.allocations.iter().zip(classes).filter(|(allocation, class)| {
        class.category == Category::Gradients && allocation.is_live_after(fullest)
    });
    count(alive.map(|(allocation, _)| allocation.requested))
}

/// The median over the heaviest sizes of how often each gradient's size occurs, less the weight.
fn states_per_weight(blocks: &Counts, gradients: &Counts) -> u64 {
    let mut sizes: Vec<(u64, u64)> =
        gradients.iter().map(|(size, count)| (size.saturating_mul(*count), *size)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut ratios: Vec<u64> = sizes
        .iter()
        .take(20)
        .filter_map(|(_, size)| {
            let (blocks, gradients) = (*blocks.get(size)?, *gradients.get(size)?);
            Some((blocks + gradients / 2) / gradients.max(1))
        })
        .collect();
    ratios.sort_unstable();
    // No optimizer in use keeps more than two states of a weight's size.
    ratios.get(ratios.len() / 2).map_or(0, |median| median.saturating_sub(1).min(2))
}

#[cfg(test)]
mod tests {
    use super::super::drawn::drawn;
    use super::*;

    fn states(blocks: &[(u64, u64)], gradients: &[(u64, u64)]) -> u64 {
        let counts = |all: &[(u64, u64)]| all.iter().copied().collect::<Counts>();
        states_per_weight(&counts(blocks), &counts(gradients))
    }

    #[test]
    fn blocks_of_a_gradients_size_beside_the_weight_are_states() {
        assert_eq!(states(&[(100, 1)], &[(100, 1)]), 0, "SGD");
        assert_eq!(states(&[(100, 2)], &[(100, 1)]), 1, "momentum");
        assert_eq!(states(&[(100, 6), (200, 3)], &[(100, 2), (200, 1)]), 2, "Adam");
        assert_eq!(states(&[(100, 9)], &[(100, 1)]), 2, "no optimizer keeps more");
        assert_eq!(states(&[(100, 5)], &[(100, 2)]), 2, "one block is lost");
        assert_eq!(states(&[], &[(100, 1)]), 0);
        assert_eq!(states(&[(1, 1), (2, 2), (3, 3)], &[(1, 1), (2, 1), (3, 1)]), 1, "the median");
    }

    /// Categories after sizes were looked at, of blocks that were classed so before.
    fn refined(lines: &str, before: &[(Category, Because)]) -> Vec<Category> {
        let timeline = Timeline::replay(&drawn(lines), 0);
        let mut classes: Vec<Class> = before
            .iter()
            .map(|(category, because)| Class { category: *category, because: *because })
            .collect();
        assert_eq!(timeline.allocations.len(), classes.len());
        refine(&timeline, &mut classes);
        classes.iter().map(|class| class.category).collect()
    }

    const OLDER: (Category, Because) = (Category::Unknown, Because::Older);
    const DROPPED: (Category, Because) = (Category::Gradients, Because::ZeroGrad);
    const WEIGHT: (Category, Because) = (Category::Weights, Because::Early);

    #[test]
    fn older_blocks_are_weights_and_states_by_the_gradients_sizes() {
        let lines =
            "free a 4\nfree b 4\nfree c 4\nfree other 7\nfree scratch 32\nalloc g 4\nfree g";
        let found = refined(lines, &[OLDER, OLDER, OLDER, OLDER, OLDER, DROPPED]);
        let (states, weights) = (Category::OptimizerStates, Category::Weights);
        let expected =
            [states, states, weights, weights, Category::Workspaces, Category::Gradients];
        assert_eq!(found, expected);
        let without_gradients = refined("free a 4\nfree b 4", &[OLDER, OLDER]);
        assert_eq!(without_gradients, [Category::Unknown; 2]);
    }

    #[test]
    fn gradients_that_take_turns_are_counted_where_most_are_alive() {
        // Two gradients of 4 MiB are never alive together, those of 6 and 2 MiB are.
        let lines = "free a 6\nfree b 6\nfree c 4\nfree d 4\nalloc p 4\nfree p\nalloc q 4\nfree q\nalloc r 6\nalloc s 2\nfree r\nfree s";
        let before = [&[OLDER; 4][..], &[DROPPED; 4]].concat();
        let found = refined(lines, &before);
        let (states, weights) = (Category::OptimizerStates, Category::Weights);
        assert_eq!(found[..4], [states, weights, weights, weights]);
    }

    #[test]
    fn what_has_no_gradient_of_its_size_is_data() {
        let early = (Category::Weights, Because::Early);
        let found = refined("alloc a 4\nalloc b 7\nalloc g 4\nfree g", &[early, early, DROPPED]);
        assert_eq!(found, [Category::Weights, Category::Inputs, Category::Gradients]);
        assert_eq!(refined("alloc a 4\nalloc b 7", &[early, early]), [Category::Weights; 2]);
    }

    #[test]
    fn backward_cut_short_leaves_one_gradient_a_weight() {
        let cut = (Category::Gradients, Because::CutBackward);
        let found = refined("alloc w 4\nalloc a 4\nalloc b 4\nalloc c 7", &[WEIGHT, cut, cut, cut]);
        let (gradients, temporaries) = (Category::Gradients, Category::Temporaries);
        assert_eq!(found, [Category::Weights, gradients, temporaries, temporaries]);
        assert_eq!(refined("alloc a 4", &[cut]), [gradients]);
    }

    #[test]
    fn what_outlives_backward_without_a_weight_of_its_size_is_scratch() {
        let outlives = (Category::Gradients, Because::OutlivesBackward);
        let lines = "alloc w 4\nalloc a 4\nalloc b 7\nalloc c 32\nalloc d 1";
        let found = refined(lines, &[WEIGHT, outlives, outlives, outlives, outlives]);
        let workspaces = Category::Workspaces;
        let expected =
            [Category::Weights, Category::Gradients, Category::Temporaries, workspaces, workspaces];
        assert_eq!(found, expected);
        assert_eq!(refined("alloc a 7", &[outlives]), [Category::Gradients]);
    }
}
