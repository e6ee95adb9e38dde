//! What gathers: from where on allocations that outlive their steps are a leak, blocks of one size a
//! cache, and a course of the steps a shape. Worked out by hand.

use crate::script::{MIB, script};
use oomscope::findings::category::Category;
use oomscope::findings::diagnosis::Cause;
use oomscope::findings::keeping::Keeping;
use oomscope::findings::leak::leaks;
use oomscope::findings::shape::Form;
use oomscope::findings::{Findings, history::StacksTold};

/// Steps of training over `weights` MiB, each with a batch of 10, activations of `of(step)` and 20
/// and 10 of scratch memory; `kept(step)` are more lines in its forward pass.
fn training(
    weights: u64,
    steps: usize,
    of: impl Fn(usize) -> u64,
    kept: impl Fn(usize) -> String,
) -> String {
    let mut lines = format!("load alloc w {weights}\n");
    for n in 0..steps {
        lines.push_str(&format!(
            "data alloc in 10\nforward:20 alloc a {}\nforward:22 alloc b 20\n",
            of(n)
        ));
        lines.push_str(&kept(n));
        lines.push_str("backward alloc s 10\nsaved free b\nsaved free a\nbackward free s\nown:39 free in\nstep alloc t 10\nstep free t\n");
    }
    lines
}

// --- Leaks -------------------------------------------------------------------------------------------

/// Per leak the MiB kept, of 13 steps of which `in_steps` keep so much.
fn kept_in(in_steps: &[usize], size: &str) -> Vec<u64> {
    let lines = training(
        100,
        13,
        |_| 40,
        |n| {
            if in_steps.contains(&n) {
                format!("forward:24 alloc k{n} {size}\n")
            } else {
                String::new()
            }
        },
    );
    let snapshot = script(&lines);
    let found = Findings::of(&snapshot);
    let device = &found.devices[0];
    assert_eq!(device.steps.len(), 13);
    let groups = leaks(&snapshot, device, &found.marks, device.last_entry());
    groups.iter().map(|group| group.kept / MIB).collect()
}

#[test]
fn a_leak_shows_in_three_steps_that_span_half_of_them_and_lately() {
    // Of 13 steps 9 count: not the first two, nor the last two.
    assert_eq!(kept_in(&[3, 5, 7], "10"), [30]);
    assert!(kept_in(&[3, 7], "10").is_empty(), "in two steps");
    assert!(kept_in(&[4, 6, 7], "10").is_empty(), "over four of nine steps");
    assert!(kept_in(&[2, 4, 6], "10").is_empty(), "none in the last third");
    // The first two steps may keep what they make, and the last ones may yet let go.
    assert_eq!(kept_in(&[0, 1, 3, 5, 7, 11, 12], "10"), [30]);
    assert_eq!(kept_in(&[3, 5, 10], "10"), [30]);
    assert!(kept_in(&[3, 5, 11], "10").is_empty());
}

#[test]
fn a_leak_is_worth_a_word_from_a_ten_thousandth_of_the_peak_a_step_on() {
    let every: Vec<usize> = (0..13).collect();
    // The peak is 180 MiB and less than one more: 18.4 to 18.6 KiB.
    let found = |size: &str| {
        let lines = training(100, 13, |_| 40, |n| format!("forward:24 alloc k{n} {size}\n"));
        let snapshot = script(&lines);
        let found = Findings::of(&snapshot);
        leaks(&snapshot, &found.devices[0], &found.marks, found.devices[0].last_entry()).len()
    };
    assert_eq!((found("18K"), found("19K")), (0, 1));
    assert_eq!(kept_in(&every, "10"), [90]);
}

#[test]
fn too_few_steps_are_no_trend() {
    let cause = |steps| {
        let lines = training(100, steps, |_| 40, |n| format!("forward:24 alloc k{n} 20\n"));
        Findings::of(&script(&lines)).diagnosis.cause()
    };
    // Two to warm up, three that keep, and two that may yet let go.
    assert_eq!(cause(7), Cause::Leak);
    assert_eq!(cause(6), Cause::None);
}

#[test]
fn what_stays_on_purpose_is_no_leak() {
    let leaking = |place: &str| {
        let lines = training(100, 13, |_| 40, |n| format!("{place} alloc k{n} 10\n"));
        Findings::of(&script(&lines)).diagnosis.kept.is_some()
    };
    assert!(leaking("forward:24"));
    assert!(!leaking("load:24"), "weights");
    assert!(!leaking("adagrad"), "optimizer states");
    // Each is let go of two steps later: one step boundary more than is ordinary, but not kept.
    let lines = training(
        100,
        13,
        |_| 40,
        |n| {
            let free =
                n.checked_sub(2).map_or(String::new(), |n| format!("forward:24 free k{n}\n"));
            format!("{free}forward:24 alloc k{n} 10\n")
        },
    );
    assert!(Findings::of(&script(&lines)).diagnosis.kept.is_none());
}

#[test]
fn a_graph_is_kept_without_training_where_gradients_are_on() {
    let mut lines = "load alloc w 100\n".to_owned();
    for n in 0..12 {
        lines.push_str(&format!(
            "data alloc in 10\nforward:20 alloc a{n} 10\nforward:22 alloc b{n} 10\nown:50 free in\n"
        ));
    }
    let sure = |count: usize| {
        let lines: Vec<&str> = lines.lines().take(1 + 4 * count).collect();
        let found = Findings::of(&script(&lines.join("\n"))).diagnosis;
        assert_eq!(found.kept.as_ref().map(|kept| kept.keeping), Some(Keeping::Graph), "{count}");
        let fix = found.fixes.into_iter().find(|fix| fix.id == "no_grad").unwrap();
        assert!(fix.title.starts_with("Run the loop at train.py:40"), "{}", fix.title);
        (found.ranking[0].confidence * 100.0).round() as u64
    };
    assert_eq!((sure(7), sure(8)), (55, 80));
}

// --- Caches ------------------------------------------------------------------------------------------

/// MiB of the cache, where these lines come before and amid a forward pass over 40 MiB.
fn cache(lines: &str) -> u64 {
    let snapshot = script(&format!("load alloc w 100\n{lines}\ngenerate:20 alloc a 40"));
    let device = Findings::of(&snapshot).devices.remove(0);
    device.composition(device.last_entry())[Category::KvCache.place()] / MIB
}

/// So many blocks of so many MiB, made by one line of the program.
fn blocks(count: usize, size: u64) -> String {
    (0..count).map(|n| format!("own:9 alloc k{n} {size}\n")).collect()
}

#[test]
fn equal_blocks_made_ahead_by_one_line_are_a_cache() {
    // Four are from a tenth of the peak on: 16 of 156.
    assert_eq!(cache(&blocks(4, 4)), 16);
    assert_eq!(cache(&blocks(4, 3)), 0);
    // Fewer are from a quarter on.
    assert_eq!(cache(&blocks(1, 48)), 48);
    assert_eq!(cache(&blocks(1, 46)), 0);
    assert_eq!(cache(&blocks(3, 12)), 0);
    // Loading makes weights, and a backward pass anything but a cache.
    assert_eq!(cache(&blocks(4, 10).replace("own:9", "load:9")), 0);
    assert_eq!(cache(&format!("{}generate:20 alloc x 2\nbackward alloc g 2", blocks(4, 10))), 0);
    // What is made anew before each pass is its input.
    let apart: String =
        (0..4).map(|n| format!("own:9 alloc k{n} 10\ngenerate:20 alloc x{n} 2\n")).collect();
    assert_eq!(cache(&apart), 0);
}

#[test]
fn where_native_frames_are_recorded_a_cache_has_attention_and_a_factory() {
    // A native frame says nothing of a factory, so that none is seen in the cache's own stack.
    let with = |place: &str| cache(&format!("{place} alloc n 2\n{}", blocks(4, 10)));
    assert_eq!(with("reduce"), 0);
    assert_eq!(with("reduce alloc m 2\nattention"), 40);
    assert_eq!(with("attention"), 40);
}

#[test]
fn a_cache_that_grows_would_fill_any_room() {
    // Ten segments with holes of 19 MiB; some of the blocks are a cache that asks for more.
    let verdict = |of_cache: usize| {
        let mut lines = String::new();
        for n in 0..10 {
            let place = if n < of_cache { "cache" } else { "load" };
            lines.push_str(&format!(
                "{place} alloc b{n} 40\n{place} free b{n}\n{place} alloc s{n} 21\n"
            ));
        }
        Findings::of(&script(&format!("{lines}cache oom 50 10"))).diagnosis
    };
    // From three tenths of what is allocated on.
    assert_eq!(verdict(2).cause(), Cause::Fragmentation);
    let grown = verdict(3);
    assert_ne!(grown.cause(), Cause::Fragmentation);
    let beside = &grown.contributing[0];
    assert_eq!((beside.cause, beside.bytes / MIB), (Cause::Fragmentation, 190));
    assert!(
        beside.evidence[0]
            .statement
            .ends_with("But what grows would soon have filled that room too.")
    );
}

// --- What would lower a peak that did not fail ------------------------------------------------------------

#[test]
fn the_larger_of_what_stays_and_what_runs_is_mended() {
    let first = |weights: u64| {
        let lines = training(weights, 4, |_| 40, |_| String::new());
        Findings::of(&script(&lines))
            .diagnosis
            .fixes
            .into_iter()
            .map(|fix| fix.id)
            .collect::<Vec<_>>()
    };
    // At the fullest 80 MiB run: a batch of 10, 40 and 20 of activations, 10 of scratch memory.
    assert!(first(78).contains(&"half_batch") && !first(78).contains(&"shard"));
    assert!(first(80).contains(&"shard") && !first(80).contains(&"half_batch"));
}

// --- Shapes ------------------------------------------------------------------------------------------

fn form(lines: &str) -> Form {
    Findings::of(&script(lines)).devices[0].shape.unwrap().form
}

#[test]
fn a_climb_rises_by_a_twentieth_of_the_peak() {
    // From the third of 8 steps to the last it rises by 50 MiB; the peak is 160 above the weights.
    let climb = |weights: u64| {
        form(&training(weights, 8, |_| 40, |n| format!("forward:24 alloc k{n} 10\n")))
    };
    assert_eq!(climb(838), Form::Climb);
    assert_ne!(climb(844), Form::Climb);
    // Four of the five changes from step to step go upwards, or three.
    let with = |skipped: &[usize]| {
        form(&training(
            100,
            8,
            |_| 40,
            |n| {
                if skipped.contains(&n) {
                    String::new()
                } else {
                    format!("forward:24 alloc k{n} 20\n")
                }
            },
        ))
    };
    assert_eq!(with(&[4]), Form::Climb);
    assert_ne!(with(&[4, 5]), Form::Climb);
}

#[test]
fn a_saw_falls_by_half_of_what_had_gathered() {
    // Ten steps keep 20 MiB each; in the seventh so many of those before it go.
    let saw = |gone: usize| {
        form(&training(
            100,
            10,
            |_| 40,
            |n| {
                let frees: String = if n == 7 {
                    (2..2 + gone).map(|old| format!("forward:24 free k{old}\n")).collect()
                } else {
                    String::new()
                };
                format!("{frees}forward:24 alloc k{n} 20\n")
            },
        ))
    };
    assert_eq!(saw(0), Form::Climb);
    assert_eq!(saw(5), Form::Saw);
    assert_ne!(saw(1), Form::Saw);
}

#[test]
fn a_spike_is_above_13_tenths_of_the_median_peak() {
    // Four steps that reach 20 + 80 MiB, but the last.
    let last = |activations: u64| {
        form(&training(20, 4, |n| if n == 3 { activations } else { 40 }, |_| String::new()))
    };
    assert_eq!(last(72), Form::Spike);
    assert_eq!(last(70), Form::Waves);
}

#[test]
fn a_level_holds_seven_tenths_of_the_peak() {
    // 80 MiB run on top of what stays.
    let with = |weights: u64| form(&training(weights, 4, |_| 40, |_| String::new()));
    assert_eq!(with(188), Form::Level);
    assert_eq!(with(184), Form::Waves);
}

#[test]
fn how_much_stacks_tell_is_told() {
    let told = |lines: &str| Findings::of(&script(lines)).stacks;
    assert_eq!(told("none alloc a 2"), StacksTold::None);
    assert_eq!(told("own alloc a 2"), StacksTold::Python);
    assert_eq!(told("own alloc a 2\nbackward alloc b 2"), StacksTold::PythonAndCpp);
}
