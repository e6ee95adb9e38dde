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

#[cfg(test)]
mod tests {
    use super::super::drawn::drawn;
    use super::*;

    /// Where turns begin among allocations of these sizes, by place.
    fn turns(sizes: &[u64]) -> Vec<u32> {
        let made: Vec<Made> = (0..)
            .zip(sizes)
            .map(|(begin, requested)| Made { begin, free: None, requested: *requested })
            .collect();
        recurrences(&made)
    }

    /// The same six sizes at these distances, and between them sizes that never recur.
    fn spaced(gaps: &[u64]) -> Vec<u64> {
        let mut others = 1_000..;
        let mut sizes = Vec::new();
        for gap in gaps {
            sizes.extend(1..=6);
            sizes.extend(others.by_ref().take(*gap as usize - 6));
        }
        sizes.extend(1..=6);
        sizes
    }

    #[test]
    fn a_loop_begins_where_its_sizes_recur() {
        let turn: Vec<u64> = (1..=12).collect();
        assert_eq!(turns(&turn.repeat(5)), [0, 12, 24, 36, 48]);
        assert!(turns(&turn.repeat(2)).is_empty(), "twice is no loop");
        assert_eq!(turns(&spaced(&[10, 10])), [0, 10, 20]);
        assert!(turns(&spaced(&[9, 9])).is_empty(), "a layer");
        assert!(turns(&[vec![1; 11], vec![2]].concat().repeat(5)).is_empty(), "too few sizes");
        assert!(turns(&[]).is_empty());
    }

    #[test]
    fn three_of_four_turns_are_of_one_length_to_a_tenth() {
        assert_eq!(turns(&spaced(&[20, 20, 23, 20])), [0, 20, 40, 63, 83]);
        assert!(turns(&spaced(&[20, 20, 23, 23])).is_empty());
        assert_eq!(turns(&spaced(&[20, 20, 22, 22])), [0, 20, 40, 62, 84]);
    }

    #[test]
    fn a_loop_takes_more_than_two_fifths_of_the_allocations() {
        let with_others = |count: usize| {
            let mut sizes = spaced(&[10, 10]);
            sizes.extend((5_000..).take(count - sizes.len()));
            turns(&sizes)
        };
        assert_eq!(with_others(49), [0, 10, 20]);
        assert!(with_others(50).is_empty());
    }

    #[test]
    fn a_loop_of_layers_is_known_by_its_longest_period() {
        let layers: Vec<u64> = (1..=10).collect::<Vec<_>>().repeat(9);
        let turn = [layers, (11..=20).collect()].concat();
        // The first sizes that come but once a turn begin in its last layer.
        assert_eq!(turns(&turn.repeat(3)), [85, 185, 285]);
    }

    #[test]
    fn passes_are_divided_where_most_is_live_of_what_they_free() {
        let snapshot = drawn(
            "alloc kept 9
            alloc a 1
            alloc b 2
            free b
            alloc c 1
            free a
            free c",
        );
        let timeline = Timeline::replay(&snapshot, 0);
        assert_eq!(fullest_inside(&timeline, 0, 10), 2);
        // What was made before the range does not count, nor what is freed after it.
        assert_eq!(fullest_inside(&timeline, 4, 10), 5);
        assert_eq!(fullest_inside(&timeline, 1, 6), 2);
        assert_eq!(fullest_inside(&timeline, 6, 10), 6);
    }

    /// 25 blocks that stay; then, four times, 12 that are freed in reverse order.
    #[test]
    fn loading_ends_where_blocks_die_young_and_turns_are_forward_then_backward() {
        let mut lines: Vec<String> = (0..25).map(|n| format!("alloc w{n} {}", 100 + n)).collect();
        for turn in 0..4 {
            lines.extend((1..=12).map(|n| format!("alloc {turn}.{n} {n}")));
            lines.extend((1..=12).rev().map(|n| format!("free {turn}.{n}")));
        }
        let timeline = Timeline::replay(&drawn(&lines.join("\n")), 0);
        let mut by_entry = vec![Phase::Unknown; timeline.entries() as usize];
        assert_eq!(phases(&timeline, &mut by_entry), [61, 97, 133]);
        let mut expected = vec![Phase::Loading; 25];
        for _ in 0..4 {
            expected.extend([Phase::Forward; 12]);
            expected.extend([Phase::Backward; 24]);
        }
        assert_eq!(by_entry, expected);
    }

    #[test]
    fn four_young_deaths_are_no_computation() {
        let deaths = |count: u32| {
            let mut lines: Vec<String> = (0..30).map(|n| format!("alloc w{n} 3")).collect();
            lines.extend((0..count).map(|n| format!("alloc {n} 1\nfree {n}")));
            lines.extend((0..20).map(|n| format!("alloc v{n} 3")));
            let timeline = Timeline::replay(&drawn(&lines.join("\n")), 0);
            (setup_end(&timeline, &made(&timeline)), timeline.entries())
        };
        assert_eq!(deaths(5).0, 30);
        let (end, entries) = deaths(4);
        assert_eq!(end, entries);
    }
}
