use super::super::drawn::{MIB, drawn};
use super::*;
use crate::timeline::Timeline;

/// How those die that were made and ended in these steps, beside those alive that were made in
/// the others, after so many steps.
fn manner(dead: &[(usize, usize)], alive: &[usize], steps: usize) -> Kind {
    let timeline = Timeline::replay(&drawn("alloc a 1"), 0);
    let survivor = |made: usize, ended: Option<usize>| {
        let (allocation, category) = (&timeline.allocations[0], Category::Activations);
        Survivor { place: 0, allocation, category, made, ended }
    };
    let dead: Vec<Survivor<'_>> =
        dead.iter().map(|(made, ended)| survivor(*made, Some(*ended))).collect();
    let alive: Vec<Survivor<'_>> = alive.iter().map(|made| survivor(*made, None)).collect();
    manner_of_death(&dead.iter().collect::<Vec<_>>(), &alive.iter().collect::<Vec<_>>(), steps)
}

/// Each ends so many steps after it was made, one a step.
fn after(lags: &[usize]) -> Vec<(usize, usize)> {
    (2..).zip(lags).map(|(made, lag)| (made, made + lag)).collect()
}

#[test]
fn a_buffer_of_fixed_length_holds_each_for_about_as_many_steps() {
    assert_eq!(manner(&after(&[3; 6]), &[8, 9, 10], 11), Kind::Bounded);
    assert_eq!(manner(&after(&[10, 10, 11, 11, 12, 12]), &[], 40), Kind::Bounded);
    assert_eq!(manner(&after(&[10, 10, 11, 11, 13, 13]), &[], 40), Kind::Pool);
    // Nothing alive is much older than what has died.
    let ten = after(&[10; 6]);
    assert_eq!(manner(&ten, &[25], 40), Kind::Bounded);
    assert_eq!(manner(&ten, &[24], 40), Kind::Pool);
}

#[test]
fn what_dies_in_a_mass_is_a_tooth() {
    assert_eq!(manner(&[], &[2, 3, 4], 9), Kind::Steady);
    let all: Vec<(usize, usize)> = (2..11).map(|made| (made, 11)).collect();
    assert_eq!(manner(&all, &[12], 14), Kind::Sawtooth);
    assert_eq!(manner(&[(2, 20), (9, 20), (15, 20)], &[], 30), Kind::Sawtooth);
    assert_eq!(manner(&[(2, 20), (9, 20)], &[], 30), Kind::Pool);
    // Three at once of ten are a mass, of eleven not.
    let three = [(1, 30), (2, 30), (3, 30)];
    let singly = [(4, 10), (5, 13), (6, 20), (7, 25), (8, 12), (9, 40), (10, 33), (11, 15)];
    assert_eq!(manner(&[&three[..], &singly[..7]].concat(), &[], 50), Kind::Sawtooth);
    assert_eq!(manner(&[&three[..], &singly].concat(), &[], 50), Kind::Pool);
    // So are three each time.
    let by_three: Vec<(usize, usize)> = (0..12).map(|n| (n, 13 * (n / 3 + 1))).collect();
    assert_eq!(manner(&by_three, &[], 60), Kind::Sawtooth);
}

#[test]
fn a_few_deaths_among_many_alive_change_nothing() {
    assert_eq!(manner(&[(2, 7)], &[0, 3, 4, 5], 20), Kind::Steady);
    assert_eq!(manner(&[(2, 7), (3, 18)], &[0, 5], 20), Kind::Steady);
    assert_eq!(manner(&[(2, 7), (3, 18)], &[0], 20), Kind::Pool);
}

#[test]
fn the_height_is_the_most_alive_at_once() {
    let height_of = |lines: &str| {
        let timeline = Timeline::replay(&drawn(lines), 0);
        let members: Vec<Survivor<'_>> = timeline
            .allocations
            .iter()
            .map(|allocation| Survivor {
                place: 0,
                allocation,
                category: Category::Activations,
                made: 0,
                ended: None,
            })
            .collect();
        height(&members) / MIB
    };
    assert_eq!(height_of("alloc a 5\nalloc b 3"), 8);
    assert_eq!(height_of("alloc a 5\nalloc b 3\nfree a\nalloc c 4\nfree b\nfree c"), 8);
    assert_eq!(height_of("alloc a 5\nfree a\nalloc b 3\nalloc c 4"), 7);
}

#[test]
fn an_entry_belongs_to_the_step_that_began_last() {
    let steps = [10, 20].map(|begin| Step { begin, end: begin + 10, ..Step::default() });
    let of = |entry| step_of(&steps, entry);
    assert_eq!([9, 10, 19, 20, 99].map(of), [None, Some(0), Some(0), Some(1), Some(1)]);
}
