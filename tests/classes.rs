//! What allocations are for, in small programs in which that is plain.

use crate::script::script;
use oomscope::findings::Findings;
use oomscope::findings::category::Category::{self, *};
use oomscope::snapshot::Snapshot;

/// The categories of the allocations of a script, in the order of its lines.
fn classes(lines: &str) -> Vec<(String, Category)> {
    let snapshot = script(lines);
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    assert_eq!(device.timeline.older, 0);
    let names = lines.lines().map(|line| line.trim().split(' ').collect::<Vec<_>>());
    let names =
        names.filter(|words| words.get(1) == Some(&"alloc")).map(|words| words[2].to_owned());
    let found = device.classes.iter().map(|class| class.category);
    let all: Vec<(String, Category)> = names.zip(found).collect();
    assert_eq!(all.len(), device.classes.len());
    all
}

#[track_caller]
fn are(lines: &str, expected: &[(&str, Category)]) {
    let found = classes(lines);
    for (name, category) in expected {
        let (_, is) = found.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(is, category, "{name}");
    }
}

/// A step of training around `inside`, which runs between its forward and backward pass.
fn step(inside: &str) -> String {
    format!(
        "load alloc w 4\ndata alloc in 2\nforward:20 alloc a 6\n{inside}\nbackward alloc s 2\nbackward alloc g 4\n\
         saved free a\nbackward free s\nstate alloc m 4\nstep alloc t 2\nstep free t\nzero free g\nown:39 free in\n\
         data alloc in2 2\nforward:20 alloc a2 6"
    )
}

#[test]
fn a_step_of_training_has_its_categories() {
    are(
        &step(""),
        &[
            ("w", Weights),
            ("in", Inputs),
            ("a", Activations),
            ("s", Temporaries),
            ("g", Gradients),
            ("m", OptimizerStates),
            ("t", Temporaries),
            ("in2", Inputs),
            ("a2", Activations),
        ],
    );
}

#[test]
fn what_dies_before_the_backward_pass_is_temporary() {
    let lines = step("forward:21 alloc brief 2\nforward:22 free brief\nforward:21 alloc kept 2");
    are(&lines, &[("brief", Temporaries), ("kept", Activations)]);
    // Where nothing trains, it is what the pass computes with.
    are("forward:21 alloc brief 2\nforward:22 free brief", &[("brief", Activations)]);
}

#[test]
fn tell_tales_come_before_phases() {
    let lines = step(
        "workspace alloc ws 32\nreduce alloc bucket 2\nclip alloc norm 2\nown alloc p 2\nset_grad free p\n\
         cache alloc kv 2\nadagrad alloc sum 4",
    );
    are(
        &lines,
        &[
            ("ws", Workspaces),
            ("bucket", Communication),
            ("norm", Temporaries),
            ("p", Gradients),
            // In training a cache is an activation like any other.
            ("kv", Activations),
            ("sum", OptimizerStates),
        ],
    );
    are("cache alloc kv 2\ngenerate:20 alloc a 2", &[("kv", KvCache), ("a", Activations)]);
}

#[test]
fn what_loading_drops_before_the_first_forward_pass_is_temporary() {
    let lines = format!("load alloc read 2\nload free read\n{}", step(""));
    are(&lines, &[("read", Temporaries), ("w", Weights)]);
    // What is freed only later was a weight until then.
    let lines = step("").replace("own:39 free in", "own:39 free in\nown:39 free w");
    are(&lines, &[("w", Weights)]);
}

#[test]
fn what_the_optimizer_keeps_beyond_its_step_is_a_state() {
    let lines = step("").replace("data alloc in2", "step alloc n 4\ndata alloc in2");
    are(&format!("{lines}\nown:39 free n"), &[("n", OptimizerStates)]);
    let lines = lines.replace("data alloc in2", "own:39 free n\ndata alloc in2");
    are(&lines, &[("n", Temporaries)]);
}

#[test]
fn what_is_computed_again_is_an_activation_and_what_backward_drops_is_not() {
    let lines = step("")
        .replace("backward free s", "backward free s\nrecompute:20 alloc r 6\nsaved free r");
    are(&lines, &[("r", Activations), ("s", Temporaries), ("g", Gradients)]);
}

#[test]
fn a_failure_lets_go_of_things_before_their_time() {
    // Freed by the unwinding, these tell nothing by when they die.
    let failed = "forward:21 alloc b 6\nforward:23 oom 900\nown free b\n";
    are(&step(failed), &[("b", Activations)]);
    are(
        "load alloc w 4\nload alloc v 4\nload oom 900\nown free v\nforward:20 alloc a 2",
        &[("v", Weights)],
    );
    let lines = step("").replace(
        "data alloc in2",
        "state alloc n 4\nstep alloc u 2\nstep oom 900\nown free n\nown free u\ndata alloc in2",
    );
    are(&lines, &[("n", OptimizerStates), ("u", Temporaries)]);
    // Where backward was cut, a gradient is what has the size of a weight that has none yet.
    let cut = "load alloc w 4\nload alloc v 6\ndata alloc in 2\nforward:20 alloc a 8\nbackward alloc g 4\n\
         backward alloc h 6\nbackward alloc i 6\nbackward alloc x 10\nbackward oom 900\nown free g\nown free h\nown free i\nown free x";
    are(cut, &[("g", Gradients), ("h", Gradients), ("i", Temporaries), ("x", Temporaries)]);
}

#[test]
fn what_the_programs_own_code_makes_is_told_by_what_comes_next() {
    // Kept from before the first pass: a weight that nobody names, if gradients of its size are
    // dropped; other sizes are data.
    let lines = format!("own:3 alloc early 4\nown:3 alloc table 10\n{}", step(""));
    are(&lines, &[("early", Weights), ("table", Inputs)]);
    // Made ahead of a forward pass and alive in it: what goes in.
    let lines =
        step("").replace("data alloc in2", "own:38 alloc x 2\ndata alloc in2") + "\nown:39 free x";
    are(&lines, &[("x", Inputs)]);
    // Made ahead of a backward pass and dropped by it: a loss.
    are(
        &step("own:41 alloc loss 2").replace("saved free a", "saved free a\nsaved free loss"),
        &[("loss", Activations)],
    );
    are(&step("own:41 alloc brief 2\nown:41 free brief"), &[("brief", Temporaries)]);
    // After everything, and kept.
    are(&(step("") + "\nown:60 alloc late 2"), &[("late", Inputs)]);
    // Without any pass nothing tells.
    are("own:3 alloc x 2\nload alloc w 2", &[("x", Unknown), ("w", Weights)]);
    are("zero alloc x 2\nforward:20 alloc a 2", &[("x", Unknown)]);
}

/// The MiB of each category after the last entry.
fn held(snapshot: &Snapshot) -> Vec<(Category, u64)> {
    let findings = Findings::of(snapshot);
    let device = &findings.devices[0];
    let all = device.composition(device.last_entry());
    Category::ALL
        .into_iter()
        .map(|category| (category, all[category.place()] >> 20))
        .filter(|(_, bytes)| *bytes > 0)
        .collect()
}

#[test]
fn blocks_older_than_the_trace_are_told_by_the_stacks_that_the_file_keeps() {
    let older = "load alloc w 30\nstate alloc m 32\nbackward alloc g 34\ncache alloc kv 36\nforward:20 alloc a 38\n\
         workspace alloc ws 40\nown alloc x 42\nforget\nown alloc last 44\nown free last\n";
    assert_eq!(
        held(&script(older)),
        [
            (Weights, 30),
            (OptimizerStates, 32),
            (Gradients, 34),
            (KvCache, 36),
            (Unknown, 42),
            (Workspaces, 40),
            (Activations, 38),
        ]
    );
}

#[test]
fn blocks_older_than_the_trace_are_told_by_who_frees_them() {
    let of = |place: &str| {
        let lines = format!(
            "load alloc w 30\nload alloc x 32\nforget\ndata alloc in 2\n{place} free x\nforward:20 alloc a 4"
        );
        let findings = Findings::of(&script(&lines));
        let device = &findings.devices[0];
        let place = device.timeline.allocations.iter().position(|one| one.requested == 32 << 20);
        assert!(place.unwrap() < device.timeline.older);
        device.classes[place.unwrap()].category
    };
    assert_eq!(of("zero"), Gradients);
    assert_eq!(of("set_grad"), Gradients);
    assert_eq!(of("saved"), Activations);
    assert_eq!(of("backward"), Activations);
    assert_eq!(of("own"), Unknown);
}

#[test]
fn every_category_has_a_place_and_a_name_of_its_own() {
    let names: Vec<&str> = Category::ALL.iter().map(|category| category.name()).collect();
    for (place, category) in Category::ALL.into_iter().enumerate() {
        assert_eq!(category.place(), place);
        assert_eq!(category.label().to_lowercase(), names[place].replace('_', " "));
        assert_eq!(serde_json::to_value(category).unwrap(), names[place]);
    }
}
