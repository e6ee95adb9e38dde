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

#[cfg(test)]
mod tests {
    use super::super::drawn::drawn;
    use super::*;

    /// The growth of blocks of these sizes in MiB, `together` of each side by side, the first
    /// `copied` of them freed only after the first block of the next size was made, `left` of the
    /// others never.
    fn of(sizes: &[u64], together: usize, copied: usize, left: usize) -> Option<Growth> {
        let mut lines = String::new();
        let mut put = |line: String| {
            lines.push_str(&line);
            lines.push('\n');
        };
        let keeps = sizes.len() - left;
        for (place, mib) in sizes.iter().enumerate() {
            for one in 0..together {
                put(format!("alloc {place}.{one} {mib}"));
                if let Some(old) = place.checked_sub(1)
                    && old < copied
                {
                    put(format!("free {old}.{one}"));
                }
            }
            if place >= copied && place < keeps {
                (0..together).for_each(|one| put(format!("free {place}.{one}")));
            }
        }
        let timeline = Timeline::replay(&drawn(&lines), 0);
        let places: Vec<usize> = (0..timeline.allocations.len()).collect();
        growth(&timeline, &places)
    }

    /// As `torch.cat` does it: the old is freed once the new one is there.
    fn replaced(sizes: &[u64]) -> Option<Growth> {
        of(sizes, 1, sizes.len() - 1, 1)
    }

    fn up_to(last: u64) -> Vec<u64> {
        (1..=last).collect()
    }

    #[test]
    fn what_is_copied_into_more_and_more_grows() {
        let growth = |together, increases, ratio| Some(Growth { together, increases, ratio });
        assert_eq!(replaced(&up_to(10)), growth(1, 9, 10.0));
        assert_eq!(of(&up_to(10), 2, 9, 1), growth(2, 9, 10.0));
        assert_eq!(replaced(&up_to(9)), None, "too few blocks");
    }

    #[test]
    fn eight_increases_are_growth_and_seven_are_not() {
        let eight = replaced(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 9]).unwrap();
        assert_eq!(eight.increases, 8);
        assert_eq!(replaced(&[1, 2, 3, 4, 5, 6, 7, 8, 8, 8]), None);
    }

    #[test]
    fn one_decrease_in_twenty_increases_is_a_new_beginning() {
        let falling = |rises: u64| [up_to(rises - 9), (1..=11).collect()].concat();
        assert_eq!(replaced(&falling(20)).unwrap().increases, 20);
        assert_eq!(replaced(&falling(19)), None);
        let ends_where_it_began = [up_to(20), vec![1]].concat();
        assert_eq!(replaced(&ends_where_it_began), None);
    }

    #[test]
    fn what_is_gone_before_more_is_asked_for_is_no_copy() {
        let sizes = up_to(11);
        assert!(of(&sizes, 1, 9, 1).is_some(), "nine of ten were copied");
        assert_eq!(of(&sizes, 1, 8, 1), None);
        assert_eq!(of(&sizes, 1, 0, 0), None);
    }

    #[test]
    fn what_stays_beside_the_new_piles_up() {
        // Of blocks that grow one by one, four may be alive at the end.
        let alive = |kept: usize| {
            let sizes = up_to(20);
            let mut lines = String::new();
            for (place, mib) in sizes.iter().enumerate() {
                lines.push_str(&format!("alloc {place} {mib}\n"));
                if place > 0 && place < sizes.len() - kept + 1 {
                    lines.push_str(&format!("free {}\n", place - 1));
                }
            }
            let timeline = Timeline::replay(&drawn(&lines), 0);
            growth(&timeline, &(0..sizes.len()).collect::<Vec<_>>())
        };
        assert!(alive(1).is_some() && alive(4).is_some());
        assert_eq!(alive(5), None);
        assert_eq!(alive(20), None);
    }
}
