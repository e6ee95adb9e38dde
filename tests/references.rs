//! References kept beside a failure: from where on they are its cause, and how surely; and what the
//! steps before the one that failed foretell of it.

use crate::script::MIB;
use crate::verdicts::{first_statement, told, verdict};
use oomscope::findings::diagnosis::Cause;
use oomscope::findings::keeping::Keeping;

/// So many steps of training over weights of 100 MiB, each of which keeps what `kept` says (places
/// and MiB); then one whose forward pass fails.
fn leaking(steps: usize, kept: &[(&str, u64)], asked: u64) -> String {
    let mut lines = "load alloc w 100\n".to_owned();
    for n in 0..=steps {
        lines.push_str("data alloc in 10\nforward:20 alloc a 40\nforward:22 alloc b 20\n");
        if n == steps {
            break;
        }
        for (number, (place, size)) in kept.iter().enumerate() {
            lines.push_str(&format!("{place} alloc k{n}.{number} {size}\n"));
        }
        lines.push_str("backward alloc s 10\nsaved free b\nsaved free a\nbackward free s\nown:39 free in\nstep alloc t 10\nstep free t\n");
    }
    if asked > 0 {
        lines.push_str(&format!("forward:23 oom {asked}\n"));
    }
    lines
}

#[test]
fn a_leak_of_half_of_what_was_not_needed_before_is_the_cause() {
    // Of 12 steps that keep 10 MiB, those from the third to the last but one count: 9. The fifth
    // reached 100 + 50 + 70 and 10 of backward; the failing one has 100 + 120 + 70 and asks for more.
    let with = |asked| verdict(&leaking(12, &[("forward:24", 10)], asked));
    let found = with(120);
    assert_eq!(told(&found.ranking)[0], (Cause::Leak, 95, 90));
    assert_eq!(found.kept.as_ref().unwrap().keeping, Keeping::Values);
    assert_eq!(found.kept.as_ref().unwrap().per_step, 10 * MIB);
    let beside = with(121);
    assert!(!told(&beside.ranking).contains(&(Cause::Leak, 95, 90)));
    assert_eq!(told(&beside.contributing), [(Cause::Leak, 40, 90)]);
}

#[test]
fn a_leak_is_surer_over_eight_steps_and_more() {
    let sure = |steps| {
        let found = verdict(&leaking(steps, &[("forward:24", 20)], 10));
        told(&found.ranking)[0]
    };
    assert_eq!(sure(6), (Cause::Leak, 70, 60));
    assert_eq!(sure(7), (Cause::Leak, 95, 80));
}

#[test]
fn two_places_that_keep_are_a_graph() {
    let found = verdict(&leaking(12, &[("forward:24", 10), ("forward:25", 10)], 10));
    let kept = found.kept.as_ref().unwrap();
    assert_eq!((kept.keeping, kept.bytes / MIB, kept.per_step / MIB), (Keeping::Graph, 180, 20));
    assert!(found.summary[0].contains("made in 2 places"), "{}", found.summary[0]);
    assert!(
        found.summary[1].ends_with("One other line keeps memory in the same way."),
        "{}",
        found.summary[1]
    );
    let three = [("forward:24", 10), ("forward:25", 10), ("forward:26", 10)];
    let found = verdict(&leaking(12, &three, 10));
    assert!(found.summary[1].ends_with("2 other lines keep memory in the same way."));
    let one = verdict(&leaking(12, &[("forward:24", 10)], 10));
    assert!(one.summary[1].ends_with("A buffer that is still filling would look the same."));
    assert!(
        one.summary[1]
            .contains("has kept 10.00 MiB more in each step since step 3: 90.00 MiB in 9 pieces"),
        "{}",
        one.summary[1]
    );
    let hook = verdict(&leaking(12, &[("hook:24", 10)], 10));
    assert_eq!(hook.kept.as_ref().unwrap().keeping, Keeping::Hook);
}

#[test]
fn five_steps_without_a_leak_rule_it_out() {
    let ruled_out = |steps| {
        let found = verdict(&leaking(steps, &[], 300));
        found.ruled_out.iter().find(|(cause, _)| *cause == Cause::Leak).map(|(_, why)| why.clone())
    };
    assert_eq!(ruled_out(3), None);
    assert_eq!(ruled_out(4).unwrap(), "over 5 steps no place in the code keeps more and more.");
}

#[test]
fn without_a_failure_a_leak_is_told_with_how_long_a_gib_lasts() {
    let found = verdict(&leaking(12, &[("forward:24", 16)], 0));
    assert_eq!(told(&found.ranking)[0].0, Cause::Leak);
    assert!(
        found.headline.starts_with("Memory leaks: each step keeps 16.00 MiB more"),
        "{}",
        found.headline
    );
    let last = found.summary.last().unwrap();
    assert_eq!(
        last,
        "Nothing failed yet in this recording; each GiB that is still free lasts for 64 more steps."
    );
    // Values over few steps may as well be a buffer that fills.
    let short = |steps| told(&verdict(&leaking(steps, &[("forward:24", 16)], 0)).ranking)[0];
    assert_eq!(short(6).1, 50);
    assert_eq!(short(7).1, 95);
    // Batches that are kept may be a buffer at any length.
    let batches = verdict(&leaking(12, &[("data", 16)], 0));
    assert_eq!(told(&batches.ranking), [(Cause::None, 50, 0)]);
    assert_eq!(told(&batches.contributing)[0].0, Cause::Leak);
}

#[test]
fn a_healthy_run_is_surer_over_three_steps() {
    let healthy = |steps| {
        let lines = leaking(steps, &[], 0);
        let found = verdict(&format!("load alloc v 2\n{lines}"));
        (told(&found.ranking), found.ruled_out.len(), first_statement(&found).to_owned())
    };
    assert_eq!(
        healthy(1),
        (vec![(Cause::None, 70, 0)], 0, "No allocation failed over 2 steps.".to_owned())
    );
    assert_eq!(
        healthy(2),
        (vec![(Cause::None, 90, 0)], 1, "No allocation failed over 3 steps.".to_owned())
    );
}

#[test]
fn ten_allocations_tell_and_nine_do_not() {
    let causes = |lines: &str| verdict(lines).cause();
    let nine = leaking(1, &[], 0);
    assert_eq!(nine.matches(" alloc ").count(), 9);
    assert_eq!(causes(&nine), Cause::InsufficientData);
    assert_eq!(causes(&format!("{nine}forward:23 alloc c 2")), Cause::None);
    // A failure tells by itself.
    assert_ne!(causes(&leaking(1, &[], 20)), Cause::InsufficientData);
}

// --- Tries again -------------------------------------------------------------------------------------

/// Four steps of training, then a forward pass whose 60 MiB stay while the model begins anew.
fn tried_again(weights: u64, asked: u64) -> String {
    let lines = leaking(4, &[], 0).replace("w 100", &format!("w {weights}"));
    format!("{lines}\nforward:20 alloc a2 40\nforward:22 alloc b2 20\nforward:23 oom {asked}")
}

#[test]
fn what_an_earlier_pass_left_is_told_from_a_quarter_of_the_memory_on() {
    // Two passes of 60 MiB, 10 of a batch and the weights: 60 are a quarter of 240.
    let found = verdict(&tried_again(110, 30));
    assert_eq!(told(&found.ranking)[0], (Cause::Leak, 85, 60));
    let kept = found.kept.as_ref().unwrap();
    assert_eq!((kept.keeping, kept.per_step), (Keeping::Exception, 0));
    assert_eq!(
        found.headline,
        "Out of memory asking for 30.00 MiB: 60.00 MiB of an earlier pass are still held."
    );
    assert!(verdict(&tried_again(111, 30)).kept.is_none());
}

// --- The need of a step ------------------------------------------------------------------------------

#[test]
fn the_step_that_failed_needs_as_much_more_as_it_had_by_then() {
    // At the same place the other steps had added 10 + 40 + 20; this one 10 + 40 + 76 with its
    // request, so 1.8 times as much. They reach 80 in their backward pass.
    let lines = leaking(4, &[], 0).rsplit_once("forward:22 alloc b 20").unwrap().0.to_owned();
    let found = verdict(&format!("{lines}\nforward:22 oom 76"));
    let need = found.need.unwrap();
    assert_eq!(need.like, 3);
    assert!((need.ratio - 1.8).abs() < 1e-9, "{}", need.ratio);
    assert_eq!(need.bytes / MIB, 100 + 144);
    assert!(found.summary.iter().any(|sentence| sentence == "This step is 1.8 times as large as step 4 was at the same place; in all it needs about 244.00 MiB."), "{:?}", found.summary);
}

#[test]
fn the_most_alike_of_the_steps_before_foretells() {
    // The steps differ in `a`: 40, 60, 80, 120; the failing one has 80.
    let mut lines = "load alloc w 100\n".to_owned();
    for a in [40, 60, 80, 120] {
        lines.push_str(&format!("data alloc in 10\nforward:20 alloc a {a}\nforward:22 alloc b 20\nbackward alloc s 10\nsaved free b\nsaved free a\nbackward free s\nown:39 free in\nstep alloc t 10\nstep free t\n"));
    }
    let found =
        verdict(&format!("{lines}data alloc in 10\nforward:20 alloc a 80\nforward:22 oom 20"));
    let need = found.need.unwrap();
    assert_eq!((need.like, need.bytes / MIB), (2, 100 + 120));
    assert!((need.ratio - 1.0).abs() < 1e-9);
}
