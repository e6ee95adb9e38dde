//! Phases and turns where neither stacks nor annotations tell: guessed from sizes and lifetimes.
//!
//! Loading frees almost nothing, computing frees at once. A loop asks for the same sizes in the same
//! order, turn after turn; a layer does so too, so the longest period counts.

use super::marks::Phase;
use crate::timeline::Timeline;
use rustc_hash::FxHashMap;

/// Allocations looked at together, and how many of them must die young where computing begins.
const WINDOW: usize = 20;
const YOUNG_DEATHS: usize = 5;
/// An allocation that dies within this many further ones has died young.
const YOUNG: usize = 40;
/// Successive sizes that make a signature.
const SIGNATURE: usize = 6;
/// A period shorter than this many allocations is a layer's.
const SHORTEST: usize = 10;
/// Share of the gaps between recurrences that must be within a tenth of their median.
const EVEN: f64 = 0.75;
/// Share of the allocations that the recurrences must span.
const SPAN: f64 = 0.4;

/// One allocation of the trace: its entries and request.
#[derive(Clone, Copy)]
struct Made {
    begin: u32,
    free: Option<u32>,
    requested: u64,
}

/// Fills `by_entry` and answers the entries at which turns of a loop begin; empty where no loop
/// shows.
pub(super) fn phases(timeline: &Timeline, by_entry: &mut [Phase]) -> Vec<u32> {
    let made = made(timeline);
    let setup = setup_end(timeline, &made);
    by_entry.iter_mut().take(setup as usize).for_each(|phase| *phase = Phase::Loading);
    let turns: Vec<u32> = recurrences(&made).into_iter().filter(|entry| *entry > setup).collect();
    let end = timeline.entries();
    let mut begin = setup;
    for next in turns.iter().copied().chain([end]) {
        // Without a period, nothing says that a backward pass comes.
        let fullest = if turns.is_empty() { end } else { fullest_inside(timeline, begin, next) };
        for entry in begin..next {
            if let Some(phase) = by_entry.get_mut(entry as usize) {
                *phase = if entry <= fullest { Phase::Forward } else { Phase::Backward };
            }
        }
        begin = next;
    }
    turns
}

fn made(timeline: &Timeline) -> Vec<Made> {
    let made = timeline.allocations.iter().skip(timeline.older).filter_map(|allocation| {
        Some(Made {
            begin: allocation.begin()?,
            free: allocation.free_requested(),
            requested: allocation.requested,
        })
    });
    made.collect()
}

/// The entry at which loading ends and computing begins.
fn setup_end(timeline: &Timeline, made: &[Made]) -> u32 {
    let is_unwound = |begin: u32, free: u32| {
        timeline.ooms.iter().any(|oom| begin < oom.entry && oom.entry < free)
    };
    let dies_young: Vec<bool> = made
        .iter()
        .enumerate()
        .map(|(place, one)| {
            one.free.is_some_and(|free| {
                let later = made.partition_point(|other| other.begin < free);
                later - place <= YOUNG && !is_unwound(one.begin, free)
            })
        })
        .collect();
    for (window, allocations) in dies_young.windows(WINDOW).zip(made.windows(WINDOW)) {
        if window.iter().filter(|young| **young).count() >= YOUNG_DEATHS {
            let first = window.iter().position(|young| *young).unwrap_or(0);
            return allocations[first].begin;
        }
    }
    timeline.entries()
}

/// Where the signature of the longest even period recurs.
fn recurrences(made: &[Made]) -> Vec<u32> {
    let mut places: FxHashMap<&[u64], Vec<usize>> = FxHashMap::default();
    let sizes: Vec<u64> = made.iter().map(|one| one.requested).collect();
    for (place, signature) in sizes.windows(SIGNATURE).enumerate() {
        places.entry(signature).or_default().push(place);
    }
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut places: Vec<(&[u64], Vec<usize>)> = places.into_iter().collect();
    places.sort_unstable_by_key(|(_, places)| places.first().copied());
    for (signature, places) in places {
        let mut distinct = signature.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if places.len() < 3 || distinct.len() < 3 {
            continue;
        }
        let gaps: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut sorted = gaps.clone();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let even = gaps.iter().filter(|gap| gap.abs_diff(median) * 10 <= median).count();
        let span = places[places.len() - 1] - places[0];
        let is_period = median >= SHORTEST
            && even as f64 >= EVEN * gaps.len() as f64
            && span as f64 > SPAN * made.len() as f64;
        // Many signatures share the longest period: the earliest begins the turn.
        let is_better = best.as_ref().is_none_or(|(longest, _)| median > longest + longest / 50);
        if is_period && is_better {
            best = Some((median, places));
        }
    }
    best.map_or_else(Vec::new, |(_, places)| {
        places.into_iter().filter_map(|place| Some(made.get(place)?.begin)).collect()
    })
}

/// The entry at which most is live of what is both made and freed in `begin..end`: there a forward
/// pass turns into a backward pass. Gradients drop out, as they are freed later.
pub(super) fn fullest_inside(timeline: &Timeline, begin: u32, end: u32) -> u32 {
    let (mut live, mut most, mut fullest) = (0_u64, 0, begin);
    for entry in begin..end {
        let Some(allocation) = timeline.allocation_of(entry).and_then(|id| timeline.allocation(id))
        else {
            continue;
        };
        let is_inside =
            allocation.begin().is_some_and(|first| first >= begin) && allocation.last_entry() < end;
        if !is_inside {
            continue;
        }
        if allocation.begin() == Some(entry) {
            live = live.saturating_add(allocation.size);
        } else if allocation.free_requested() == Some(entry) {
            live = live.saturating_sub(allocation.size);
        }
        if live > most {
            (most, fullest) = (live, entry);
        }
    }
    fullest
}
