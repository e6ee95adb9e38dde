//! Key/value caches without a telling name, by how they behave. In inference only: with a backward
//! pass in the trace, what a forward pass keeps is an activation like any other.
//!
//! A cache that grows is one place that asks for more and more, each time while what it had asked for
//! before is still alive (the old is copied into the new). A cache reserved at the start is one place
//! that makes several blocks of one size, or a very large one, directly and not as a module's
//! parameter, in a program that computes attention.

use super::category::{Because, Category, Class};
use super::frame_kind::{FrameKind, FrameKinds};
use super::growth::growth;
use super::history::{StacksTold, stacks_told};
use super::marks::Phase;
use super::phases::Phases;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::Timeline;
use rustc_hash::FxHashMap;

/// Blocks that grow side by side in a cache: keys and values of at least two layers. What grows
/// alone is a result to which more is appended.
const RINGS: usize = 4;
/// Blocks of one size, and their share of the peak, from which on they are a cache made in advance;
/// and the share from which on a single block is.
const POOL_BLOCKS: usize = 4;
const POOL_SHARE: f64 = 0.1;
const SINGLE_SHARE: f64 = 0.25;

/// Reclassifies what behaves like a cache.
pub(super) fn refine(
    snapshot: &Snapshot,
    timeline: &Timeline,
    kinds: &FrameKinds,
    phases: &Phases,
    classes: &mut [Class],
) {
    let computes = phases.by_entry.contains(&Phase::Forward);
    if !computes || phases.by_entry.contains(&Phase::Backward) {
        return;
    }
    let attends = attends(snapshot);
    let peak = timeline.peaks.allocated.bytes;
    let mut by_stack: FxHashMap<StackId, Vec<usize>> = FxHashMap::default();
    for (place, allocation) in timeline.allocations.iter().enumerate().skip(timeline.older) {
        if allocation.has_stack() {
            by_stack.entry(allocation.stack).or_default().push(place);
        }
    }
    let mut by_stack: Vec<(StackId, Vec<usize>)> = by_stack.into_iter().collect();
    by_stack.sort_unstable_by_key(|(stack, _)| *stack);
    for (stack, places) in by_stack {
        let is_ring = growth(timeline, &places).is_some_and(|growth| growth.together >= RINGS);
        let is_cache = is_ring
            || attends
                && is_pool(timeline, &places, peak)
                && is_made_directly(snapshot, kinds, stack, begins_in(phases, timeline, &places))
                && is_made_in_advance(timeline, phases, &places);
        for place in places.iter().filter(|_| is_cache) {
            if classes[*place].category != Category::KvCache {
                classes[*place] = Class { category: Category::KvCache, because: Because::Shape };
            }
        }
    }
}

fn is_pool(timeline: &Timeline, places: &[usize], peak: u64) -> bool {
    let all = || places.iter().map(|place| &timeline.allocations[*place]);
    let Some(first) = all().next() else { return false };
    let bytes = all().map(|one| one.size).fold(0, u64::saturating_add);
    let share = if places.len() >= POOL_BLOCKS { POOL_SHARE } else { SINGLE_SHARE };
    all().all(|one| one.requested == first.requested && one.free_requested().is_none())
        && bytes as f64 >= share * peak as f64
}

/// Whether most blocks follow each other without a forward pass between them, but for those that a
/// forward pass makes itself: what is made anew for each pass is its input.
fn is_made_in_advance(timeline: &Timeline, phases: &Phases, places: &[usize]) -> bool {
    let begin = |place: usize| timeline.allocations[place].first_entry();
    let is_apart = |pair: &&[usize]| {
        let (before, after) = (begin(pair[0]), begin(pair[1]));
        phases.get(after) != Phase::Forward
            && (before..after).any(|entry| phases.get(entry) == Phase::Forward)
    };
    places.windows(2).filter(is_apart).count() * 2 < places.len()
}

/// Whether any function's name speaks of attention; where only Python's frames are recorded, its
/// kernels do not show, and any model may have it.
fn attends(snapshot: &Snapshot) -> bool {
    const NAMES: [&str; 3] = ["attention", "attn", "softmax"];
    stacks_told(snapshot) != StacksTold::PythonAndCpp
        || snapshot.stacks.frames().iter().any(|frame| {
            let name = snapshot.texts.get(frame.name).to_ascii_lowercase();
            NAMES.iter().any(|part| name.contains(part))
        })
}

/// The phase of a place's first block.
fn begins_in(phases: &Phases, timeline: &Timeline, places: &[usize]) -> Phase {
    places
        .first()
        .map_or(Phase::Unknown, |place| phases.get(timeline.allocations[*place].first_entry()))
}

/// Made by the user's own line through a factory of tensors, not by a module for its parameters.
/// Where no native frame tells of a factory, what a forward pass makes is rather its result.
fn is_made_directly(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId, phase: Phase) -> bool {
    const FACTORIES: [&str; 4] = ["empty", "zeros", "full", "ones"];
    let frames = snapshot.stacks.frames_of(stack);
    let innermost = kinds.python_of(snapshot, stack).next();
    let is_users = innermost.is_some_and(|id| kinds.get(id) == FrameKind::User);
    let mut native = frames
        .iter()
        .take_while(|id| kinds.get(**id) == FrameKind::Cpp)
        .filter_map(|id| snapshot.stacks.frame(*id))
        .map(|frame| snapshot.texts.get(frame.name))
        .peekable();
    let has_native = native.peek().is_some();
    let is_factory = native.any(|name| {
        FACTORIES.iter().any(|factory| {
            name.contains(&format!("THPVariable_{factory}"))
                || name.contains(&format!("THPVariable_new_{factory}"))
        })
    });
    is_users && (is_factory || !has_native && phase != Phase::Forward)
}

#[cfg(test)]
mod tests {
    use super::super::drawn::{MIB, drawn};
    use super::*;

    /// Whether the blocks of a trace are a cache made in advance, under a peak of so many MiB.
    fn pool(lines: &str, peak: u64) -> bool {
        let timeline = Timeline::replay(&drawn(lines), 0);
        let places: Vec<usize> = (0..timeline.allocations.len()).collect();
        is_pool(&timeline, &places, peak * MIB)
    }

    #[test]
    fn four_equal_blocks_are_a_cache_from_a_tenth_of_the_peak_on() {
        let four = "alloc a 5\nalloc b 5\nalloc c 5\nalloc d 5";
        assert!(pool(four, 200));
        assert!(!pool(four, 201));
        assert!(!pool(&four.replace("d 5", "d 6"), 100), "of several sizes");
        assert!(!pool(&format!("{four}\nfree b"), 100), "not kept");
    }

    #[test]
    fn fewer_blocks_are_a_cache_from_a_quarter_of_the_peak_on() {
        assert!(pool("alloc a 5\nalloc b 5\nalloc c 5", 60));
        assert!(!pool("alloc a 5\nalloc b 5\nalloc c 5", 61));
        assert!(pool("alloc a 5", 20));
        assert!(!pool("", 20));
    }
}
