//! Verdicts of small programs at the edges between two: what is told on one side of a threshold and
//! what on the other, with confidences and bytes worked out by hand.

use crate::script::{MIB, script};
use oomscope::findings::Findings;
use oomscope::findings::diagnosis::{Cause, Claim, Diagnosis};
use oomscope::findings::keeping::Keeping;

fn verdict(lines: &str) -> Diagnosis {
    Findings::of(&script(lines)).diagnosis
}

/// Causes with their confidence in percent and their MiB.
fn told(claims: &[Claim]) -> Vec<(Cause, u64, u64)> {
    let percent = |share: f64| (share * 100.0).round() as u64;
    claims.iter().map(|claim| (claim.cause, percent(claim.confidence), claim.bytes / MIB)).collect()
}

fn ranking(lines: &str) -> Vec<(Cause, u64, u64)> {
    told(&verdict(lines).ranking)
}

fn first_statement(diagnosis: &Diagnosis) -> &str {
    &diagnosis.ranking[0].evidence[0].statement
}

// --- What fills the card ----------------------------------------------------------------------------

/// Weights, a cache, what a forward pass computes with and what nothing tells, in MiB; then a request
/// that fails at `place`.
fn full(weights: u64, cache: u64, running: u64, unknown: u64, place: &str, asked: u64) -> String {
    let mut lines = String::new();
    for (of, name, size) in [
        ("load", "weights", weights),
        ("cache", "cache", cache),
        ("generate:20", "running", running),
        ("zero", "unknown", unknown),
    ] {
        if size > 0 {
            lines.push_str(&format!("{of} alloc {name} {size}\n"));
        }
    }
    lines + &format!("{place} oom {asked}")
}

#[test]
fn the_largest_part_is_the_cause_and_the_others_have_their_share() {
    use Cause::{Activations, KvCache, Weights};
    let forward = "generate:23";
    assert_eq!(
        ranking(&full(60, 0, 20, 0, forward, 20)),
        [(Weights, 80, 60), (Activations, 40, 40)]
    );
    assert_eq!(
        ranking(&full(30, 0, 50, 0, forward, 20)),
        [(Activations, 90, 70), (Weights, 30, 30)]
    );
    assert_eq!(
        ranking(&full(20, 50, 20, 0, forward, 10)),
        [(KvCache, 70, 50), (Activations, 30, 30), (Weights, 20, 20)]
    );
    // Nothing is surer than 95 %, and what comes second never surer than 45 %.
    assert_eq!(ranking(&full(96, 0, 0, 0, forward, 4)), [(Weights, 95, 96)]);
    assert_eq!(
        ranking(&full(52, 0, 28, 0, forward, 20)),
        [(Weights, 72, 52), (Activations, 45, 48)]
    );
    assert_eq!(
        ranking(&full(34, 0, 32, 0, forward, 34)),
        [(Activations, 86, 66), (Weights, 34, 34)]
    );
    let thirds = ranking(&full(28, 26, 22, 0, "data", 24));
    assert_eq!(thirds[0], (Activations, 66, 46));
}

#[test]
fn a_part_below_a_tenth_is_not_named() {
    let count = |weights, asked| ranking(&full(weights, 0, 0, 0, "forward:23", asked)).len();
    assert_eq!(count(90, 10), 2);
    assert_eq!(count(91, 9), 1);
}

#[test]
fn while_loading_or_in_the_optimizers_step_nothing_else_is_being_built() {
    use Cause::{Activations, KvCache, Weights};
    for place in ["step", "load:9"] {
        assert_eq!(
            ranking(&full(30, 0, 50, 0, place, 20)),
            [(Weights, 70, 50), (Activations, 45, 50)],
            "{place}"
        );
    }
    // But for a cache of half of the memory, which a server reserves while it loads.
    let causes = |lines: String| ranking(&lines).iter().map(|claim| claim.0).collect::<Vec<_>>();
    assert_eq!(causes(full(11, 49, 20, 0, "load:9", 20)), [Weights, KvCache, Activations]);
    assert_eq!(causes(full(20, 51, 9, 0, "load:9", 20)), [KvCache, Weights]);
    assert_eq!(causes(full(11, 49, 20, 0, "generate:9", 20)), [KvCache, Activations, Weights]);
}

#[test]
fn what_nothing_tells_of_makes_resident_memory_less_sure() {
    use Cause::{Activations, Weights};
    let mixed = verdict(&full(40, 0, 0, 40, "forward:23", 20));
    assert_eq!(told(&mixed.ranking), [(Weights, 70, 80), (Activations, 20, 20)]);
    let statement = first_statement(&mixed);
    assert!(statement.starts_with("What stays from step to step holds 80.00 MiB: "), "{statement}");
    assert!(statement.contains("weights 40.00 MiB, unknown 40.00 MiB"), "{statement}");
    let dark = verdict(&full(0, 0, 0, 80, "forward:23", 20));
    assert_eq!(told(&dark.ranking), [(Weights, 45, 80), (Activations, 20, 20)]);
    assert_eq!(first_statement(&dark), "Memory of unknown purpose: 80.00 MiB.");
}

#[test]
fn what_the_running_step_holds_and_asked_for_is_said() {
    let said = |lines: &str| first_statement(&verdict(lines)).to_owned();
    assert_eq!(
        said(&full(0, 0, 80, 0, "generate:23", 20)),
        "The running step holds 80.00 MiB and asked for 20.00 MiB more."
    );
    assert_eq!(said(&full(0, 0, 80, 0, "step", 5)), "The running step holds 80.00 MiB.");
    assert_eq!(
        said(&full(20, 0, 0, 0, "generate:23", 80)),
        "The running step asked for 80.00 MiB."
    );
}

// --- Headlines ---------------------------------------------------------------------------------------

#[test]
fn the_headline_names_what_fills_which_room() {
    let headline = |lines: &str| verdict(lines).headline;
    assert_eq!(
        headline(&full(80, 0, 0, 0, "forward:23", 20)),
        "Out of memory asking for 20.00 MiB: weights fill the card with 80.00 MiB."
    );
    // 19 MiB free are too few for the segment of 20 MiB that the request needs, 20 MiB are not.
    let with_free = |free: u64| format!("{} {free}", full(80, 0, 0, 0, "forward:23", 20));
    let (short, limited) = (verdict(&with_free(19)), verdict(&with_free(20)));
    assert_eq!(short.headline, headline(&full(80, 0, 0, 0, "forward:23", 20)));
    assert_eq!(short.margin_bytes, Some(MIB));
    assert_eq!(
        limited.headline,
        "Out of memory asking for 20.00 MiB: weights fill the memory limit with 80.00 MiB."
    );
    assert_eq!(limited.margin_bytes, None);
    let tells_limit = |diagnosis: &Diagnosis| {
        diagnosis
            .summary
            .iter()
            .any(|sentence| sentence.starts_with("The driver still had 20.00 MiB free"))
    };
    assert!(tells_limit(&limited) && !tells_limit(&short));
    assert_eq!(
        headline(&full(20, 60, 0, 0, "generate:23", 20)),
        "Out of memory asking for 20.00 MiB: the KV cache fills the card with 60.00 MiB."
    );
    assert_eq!(
        headline(&full(20, 0, 60, 0, "generate:23", 20)),
        "Out of memory asking for 20.00 MiB: the running step's activations need 80.00 MiB."
    );
}

#[test]
fn what_fills_the_card_is_named_from_a_fiftieth_on() {
    // States are made in the optimizer's step; a forward pass ends the backward one before it.
    let held = |weights: u64, states: u64| {
        let lines = format!(
            "load alloc w {weights}\nstate alloc s {states}\nforward:20 alloc a 2\nforward:23 oom 20"
        );
        verdict(&lines).headline
    };
    let all = "weights and optimizer states fill the card";
    assert!(held(96, 4).contains(all), "{}", held(96, 4));
    assert!(held(97, 3).contains(all));
    assert!(held(98, 2).contains(": weights fill the card"));
    assert!(held(2, 98).contains(": optimizer states fill the card"));
}

#[test]
fn each_failure_counts_and_the_last_is_judged() {
    let lines = full(60, 0, 20, 0, "generate:23", 20);
    let twice = verdict(&format!("{lines}\ngenerate:20 alloc more 20\ngenerate:23 oom 40"));
    assert!(twice.headline.contains("asking for 40.00 MiB"), "{}", twice.headline);
    let counted = |diagnosis: &Diagnosis| {
        diagnosis.summary.iter().any(|sentence| {
            sentence == "2 allocations failed in this recording; this is the last of them."
        })
    };
    assert!(counted(&twice) && !counted(&verdict(&lines)));
}

// --- Holes -------------------------------------------------------------------------------------------

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

// --- References kept ---------------------------------------------------------------------------------

/// So many steps of training over weights of 100 MiB, each of which keeps what `kept` says (places
/// and MiB); then one whose forward pass fails.
fn leaking(steps: usize, kept: &[(&str, u64)], asked: u64) -> String {
    let mut lines = "load alloc w 100\n".to_owned();
    for n in 0..=steps {
        lines
            .push_str(&format!("data alloc in 10\nforward:20 alloc a 40\nforward:22 alloc b 20\n"));
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
