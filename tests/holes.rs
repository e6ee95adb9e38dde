//! Holes: when idle memory in pieces is what was lacking.

use crate::script::MIB;
use crate::verdicts::{first_statement, full, ranking, told, verdict};
use oomscope::findings::diagnosis::Cause;

/// `count` segments of 40 MiB, each with a block of 21 MiB and a hole of 19 behind it; then a request
/// that fails while the driver has 10 MiB left.
fn holes(count: u64, place: &str, asked: u64) -> String {
    let mut lines = String::new();
    for number in 0..count {
        lines.push_str(&format!(
            "load alloc b{number} 40\nload free b{number}\nload alloc s{number} 21\n"
        ));
    }
    lines + &format!("{place} oom {asked} 10")
}

#[test]
fn holes_that_no_request_fits_are_fragmentation_if_growing_segments_would_have_room() {
    let found = verdict(&holes(10, "forward:23", 50));
    assert_eq!(told(&found.ranking)[0], (Cause::Fragmentation, 95, 190));
    assert_eq!(
        found.headline,
        "Out of memory asking for 50.00 MiB: 190.00 MiB of reserved memory lay idle, in holes too small for it."
    );
    assert_eq!(
        first_statement(&found),
        "50.00 MiB were asked for while 190.00 MiB lay idle in the same pool and stream, in holes of at most 19.00 MiB. Replayed with segments that grow, the recorded requests get past this point."
    );
    // Segments grow by 20 MiB: of the 400 MiB and the driver's 10, 20 such pages, less the 210 in use.
    let passes = |asked| {
        verdict(&holes(10, "forward:23", asked)).passage.is_some_and(|passage| passage.at_least)
    };
    assert!(passes(190) && !passes(192));
    assert_ne!(verdict(&holes(10, "forward:23", 192)).cause(), Cause::Fragmentation);
}

#[test]
fn nothing_idle_is_no_fragmentation() {
    let reason = |lines: &str| {
        let found = verdict(lines);
        let mut reasons = found.ruled_out.into_iter();
        reasons.find(|(cause, _)| *cause == Cause::Fragmentation).map(|(_, reason)| reason)
    };
    assert_eq!(
        reason(&full(80, 0, 0, 0, "forward:23", 20)).unwrap(),
        "nothing lay idle in the request's pool and stream."
    );
    assert_eq!(
        reason(&holes(10, "forward:23", 202)).unwrap(),
        "even in one piece, the 190.00 MiB idle in the request's pool and stream would not have held its 202.00 MiB."
    );
    // What is idle for another stream is idle for nobody here.
    assert_eq!(
        reason(&holes(10, "forward:23@1", 300)).unwrap(),
        "nothing lay idle in the request's pool and stream."
    );
}

#[test]
fn where_much_lies_idle_and_no_replay_tells_nothing_that_fills_the_card_is_sure() {
    // Two streams: no replay under other settings is exact.
    let lines = |weights: u64| {
        format!(
            "load alloc w {weights}\nload alloc b 40\nload free b\nload alloc s 30\nforward:20@1 alloc a 20\nforward:23@1 oom 30 2"
        )
    };
    // 10 MiB of holes are a tenth of 100 MiB reserved.
    assert_eq!(ranking(&lines(40))[0], (Cause::Weights, 58, 70));
    // Of 102 MiB they are less: 72 of 122 MiB.
    assert_eq!(ranking(&lines(42))[0], (Cause::Weights, 79, 72));
}

/// Four steps of training beside those ten segments; then one that asks for 50 MiB instead of 20.
fn holes_and_steps(free: u64) -> String {
    let mut lines = holes(10, "forward:23", 50).rsplit_once('\n').unwrap().0.to_owned();
    for _ in 0..4 {
        lines.push_str(
            "\ndata alloc in 10\nforward:20 alloc a 40\nforward:22 alloc b 20\nbackward alloc s 10\n\
             saved free b\nsaved free a\nbackward free s\nown:39 free in\nstep alloc t 10\nstep free t",
        );
    }
    lines + &format!("\ndata alloc in 10\nforward:20 alloc a 40\nforward:22 oom 50 {free}")
}

#[test]
fn a_step_that_would_have_gone_through_but_for_holes_is_fragmentation() {
    // It had added 100 MiB where the others had 70, and they reached 80: it needs 100 + 1/7 of that
    // above the 210 in use. There are 400 and its 40, and what the driver has left; and with the 20
    // that were given back before it failed, 460 have been there.
    let room = |free: u64| {
        let found = verdict(&holes_and_steps(free));
        assert_eq!(found.cause(), Cause::Fragmentation);
        let need = found.need.unwrap();
        assert_eq!(need.bytes, 210 * MIB + (80.0 * MIB as f64 * (100.0 / 70.0)) as u64);
        let statement = first_statement(&found).to_owned();
        statement.rsplit_once(", less than the ").unwrap().1.to_owned()
    };
    assert_eq!(room(10), "460.00 MiB at hand.");
    assert_eq!(room(48), "488.00 MiB at hand.");
    // So much would have served the request: a limit refused it, and the rest is out of reach.
    assert_eq!(room(50), "460.00 MiB at hand.");
}
