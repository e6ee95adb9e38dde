//! Verdicts of small programs at the edges between two: what is told on one side of a threshold and
//! what on the other, with confidences and bytes worked out by hand.

use crate::script::{MIB, script};
use oomscope::findings::Findings;
use oomscope::findings::diagnosis::{Cause, Claim, Diagnosis};

pub(crate) fn verdict(lines: &str) -> Diagnosis {
    Findings::of(&script(lines)).diagnosis
}

/// Causes with their confidence in percent and their MiB.
pub(crate) fn told(claims: &[Claim]) -> Vec<(Cause, u64, u64)> {
    let percent = |share: f64| (share * 100.0).round() as u64;
    claims.iter().map(|claim| (claim.cause, percent(claim.confidence), claim.bytes / MIB)).collect()
}

pub(crate) fn ranking(lines: &str) -> Vec<(Cause, u64, u64)> {
    told(&verdict(lines).ranking)
}

pub(crate) fn first_statement(diagnosis: &Diagnosis) -> &str {
    &diagnosis.ranking[0].evidence[0].statement
}

// --- What fills the card ----------------------------------------------------------------------------

/// Weights, a cache, what a forward pass computes with and what nothing tells, in MiB; then a request
/// that fails at `place`.
pub(crate) fn full(
    weights: u64,
    cache: u64,
    running: u64,
    unknown: u64,
    place: &str,
    asked: u64,
) -> String {
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
