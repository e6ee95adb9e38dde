//! Key/value caches without a telling name, by how they behave. In inference only: with a backward
//! pass in the trace, what a forward pass keeps is an activation like any other.
//!
//! A cache that grows is one place that asks for more and more, each time while what it had asked for
//! before is still alive (the old is copied into the new). A cache reserved at the start is one place
//! that makes several blocks of one size, or a very large one, directly and not as a module's
//! parameter, in a program that computes attention.

use super::category::{Because, Category, Class};
use super::frame_kind::{FrameKind, FrameKinds};
use super::marks::Phase;
use super::phases::Phases;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::Timeline;
use rustc_hash::FxHashMap;

/// Allocations and increases from which on one place grows.
const ALLOCATIONS: usize = 20;
const INCREASES: usize = 8;
/// Decreases per increase that a growing place may show: a new prompt begins small.
const DECREASES: f64 = 0.05;
/// The last request against the first.
const GROWTH: f64 = 1.5;
/// Share of one size's blocks that are alive when the next size comes.
const ALIVE: f64 = 0.9;
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
    let peak = timeline.usage.allocated.iter().copied().max().unwrap_or(0);
    let mut by_stack: FxHashMap<StackId, Vec<usize>> = FxHashMap::default();
    for (place, allocation) in timeline.allocations.iter().enumerate().skip(timeline.older) {
        if allocation.has_stack() {
            by_stack.entry(allocation.stack).or_default().push(place);
        }
    }
    let mut by_stack: Vec<(StackId, Vec<usize>)> = by_stack.into_iter().collect();
    by_stack.sort_unstable_by_key(|(stack, _)| *stack);
    for (stack, places) in by_stack {
        let is_cache = grows(timeline, &places)
            || attends
                && is_pool(timeline, &places, peak)
                && is_made_directly(snapshot, kinds, stack);
        for place in places.iter().filter(|_| is_cache) {
            if classes[*place].category != Category::KvCache {
                classes[*place] = Class { category: Category::KvCache, because: Because::Shape };
            }
        }
    }
}

fn grows(timeline: &Timeline, places: &[usize]) -> bool {
    let all: Vec<_> = places.iter().map(|place| &timeline.allocations[*place]).collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return false };
    if all.len() < ALLOCATIONS || (last.requested as f64) < GROWTH * first.requested as f64 {
        return false;
    }
    let (mut increases, mut decreases) = (0_usize, 0_usize);
    let (mut of_size, mut alive, mut outgrown) = (0_usize, 0_usize, 0_usize);
    for (place, pair) in all.windows(2).enumerate() {
        of_size += 1;
        if pair[1].requested == pair[0].requested {
            continue;
        }
        if pair[1].requested < pair[0].requested {
            decreases += 1;
        } else {
            increases += 1;
            let next = pair[1].first_entry();
            let mut smaller = all[place + 1 - of_size..=place].iter();
            alive += smaller.by_ref().filter(|one| one.last_entry() > next).count();
            outgrown += of_size;
        }
        of_size = 0;
    }
    increases >= INCREASES
        && decreases as f64 <= DECREASES * increases as f64
        && alive as f64 >= ALIVE * outgrown as f64
}

fn is_pool(timeline: &Timeline, places: &[usize], peak: u64) -> bool {
    let all = || places.iter().map(|place| &timeline.allocations[*place]);
    let Some(first) = all().next() else { return false };
    let bytes = all().map(|one| one.size).fold(0, u64::saturating_add);
    let share = if places.len() >= POOL_BLOCKS { POOL_SHARE } else { SINGLE_SHARE };
    all().all(|one| one.requested == first.requested && one.free_requested().is_none())
        && bytes as f64 >= share * peak as f64
}

/// Whether any function's name speaks of attention.
fn attends(snapshot: &Snapshot) -> bool {
    const NAMES: [&str; 3] = ["attention", "attn", "softmax"];
    snapshot.stacks.frames().iter().any(|frame| {
        let name = snapshot.texts.get(frame.name).to_ascii_lowercase();
        NAMES.iter().any(|part| name.contains(part))
    })
}

/// Made by the user's own line through a factory of tensors, not by a module for its parameters.
fn is_made_directly(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId) -> bool {
    const FACTORIES: [&str; 4] = ["empty", "zeros", "full", "ones"];
    let frames = snapshot.stacks.frames_of(stack);
    let innermost = frames.iter().find(|id| kinds.get(**id) != FrameKind::Cpp);
    let is_users = innermost.is_some_and(|id| kinds.get(*id) == FrameKind::User);
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
    is_users && (is_factory || !has_native)
}
