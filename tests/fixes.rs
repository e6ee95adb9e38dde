//! The fixes of small programs, each with the bytes that it takes off their peak, worked out by hand;
//! and from where on one is worth naming.

use crate::script::{MIB, script};
use oomscope::findings::Findings;
use oomscope::findings::fixes::{Basis, Fix};

fn fixes(lines: &str) -> Vec<Fix> {
    Findings::of(&script(lines)).diagnosis.fixes
}

/// What helps, with its MiB where there is a number.
fn helpful(lines: &str) -> Vec<(&'static str, Option<u64>)> {
    let fixes = fixes(lines).into_iter().filter(|fix| fix.helps);
    fixes.map(|fix| (fix.id, fix.saves_bytes.map(|bytes| bytes / MIB))).collect()
}

fn saving(lines: &str, id: &str) -> Option<u64> {
    helpful(lines).into_iter().find(|(known, _)| *known == id).and_then(|(_, saves)| saves)
}

#[track_caller]
fn named(lines: &str, id: &str) -> Fix {
    let all = fixes(lines);
    let ids: Vec<&str> = all.iter().map(|fix| fix.id).collect();
    let found = all.iter().find(|fix| fix.id == id);
    found.unwrap_or_else(|| panic!("no {id} among {ids:?}")).clone()
}

fn has(lines: &str, id: &str) -> bool {
    fixes(lines).iter().any(|fix| fix.id == id)
}

// --- Weights, gradients, optimizer states --------------------------------------------------------------

#[test]
fn a_model_that_only_runs_is_quantised_or_sharded() {
    let lines = "load alloc w 80\nforward:23 oom 20";
    assert_eq!(helpful(lines), [("shard", Some(40)), ("quantised_weights", Some(40))]);
    assert!(named(lines, "shard").note.contains("8 would take 70.00 MiB off each"));
    assert_eq!(named(lines, "quantised_weights").basis, Basis::Estimated);
}

/// A step of training with two weights of 50 MiB, their gradients and two states each, then a second
/// one whose forward pass asks for 100 MiB. The step's scratch memory is `scratch` MiB.
fn trained(scratch: u64) -> String {
    format!(
        "load alloc w0 50\nload alloc w1 50\ndata alloc in 10\nforward:20 alloc a 40\n\
         backward alloc g0 50\nbackward alloc g1 50\nsaved free a\n\
         state alloc m0 50\nstate alloc v0 50\nstate alloc m1 50\nstate alloc v1 50\n\
         step alloc t {scratch}\nstep free t\nzero free g0\nzero free g1\nown:39 free in\n\
         data alloc in2 10\nforward:20 oom 100"
    )
}

#[test]
fn each_way_to_train_with_less_takes_its_part_off_the_peak() {
    // In the optimizer's step 100 of weights, 100 of gradients, 200 of states, 10 of a batch and 20
    // of scratch memory: 430. At the failure 100 + 200 + 10 + 100 = 410. In backward 250.
    let all = helpful(&trained(20));
    assert_eq!(
        all,
        [
            // Without states backward is the peak.
            ("offloaded_optimizer", Some(430 - 250)),
            // Halves: the failure is the peak, 50 + 100 + 10 + 100.
            ("shard", Some(430 - 260)),
            // States of half their size and no scratch memory: both moments need 310.
            ("small_optimizer", Some(430 - 310)),
            ("fused_optimizer", Some(20)),
        ]
    );
    // An eighth: 12.5 + 25 + 10 + 100 at the failure.
    assert!(named(&trained(20), "shard").note.contains("8 would take 282.50 MiB off each"));
    assert!(named(&trained(20), "small_optimizer").note.contains("of 16 bits now"));
}

#[test]
fn a_saving_below_a_fiftieth_of_the_peak_is_not_named() {
    // Beside 410 MiB.
    assert_eq!(saving(&trained(9), "fused_optimizer"), Some(9));
    assert_eq!(saving(&trained(8), "fused_optimizer"), None);
}

#[test]
fn copies_of_the_weights_tell_that_they_are_wide() {
    // Autocast's copies of 25 MiB live as long as the activation beside them.
    let wide = trained(20)
        .replace("forward:20 alloc a 40\n", "cast:19 alloc c 25\nforward:20 alloc a 40\n")
        .replace("saved free a\n", "saved free a\nsaved free c\n");
    assert_eq!(saving(&wide, "low_precision"), Some(430 - 260));
    assert_eq!(saving(&trained(20), "low_precision"), None);
    // A quarter of 200 MiB and a 256th for the scales is left; then backward is no peak yet.
    let left = 200.0 * (0.25 + 1.0 / 256.0);
    let peak = [100.0 + 100.0 + left + 10.0, 100.0 + left + 10.0 + 100.0, 250.0 + 26.0];
    let peak = peak.into_iter().fold(0.0, f64::max);
    assert_eq!(saving(&wide, "small_optimizer"), Some((430.0 - peak) as u64));
    assert!(named(&wide, "small_optimizer").note.contains("of 32 bits now"));
    // A conversion of another size is an activation's.
    let other = wide.replace("cast:19 alloc c 25", "cast:19 alloc c 30");
    assert_eq!(saving(&other, "low_precision"), None);
}

#[test]
fn gradients_that_live_through_the_forward_pass_can_be_dropped() {
    // Made once after 200 MiB of activations are gone, and there when the next 200 are made.
    let mut lines = "load alloc w0 50\nload alloc w1 50\n".to_owned();
    for n in 0..3 {
        lines.push_str("data alloc in 10\nforward:20 alloc a 200\nbackward alloc s 2\nsaved free a\nbackward free s\n");
        lines.push_str(if n == 0 {
            "backward alloc g0 50\nbackward alloc g1 50\n"
        } else {
            "backward alloc h 50\nbackward free h\n"
        });
        lines.push_str("own:39 free in\nstep alloc t 2\nstep free t\n");
    }
    let failing = format!("{lines}load alloc more 200\nload:9 oom 300");
    // 100 + 100 + 200 + 300 at the failure; without the gradients 100 less, and no moment before
    // needs more than 100 + 10 + 200 + 2.
    assert_eq!(saving(&failing, "set_to_none"), Some(100), "{:?}", helpful(&failing));
    assert!(!has(&trained(20), "set_to_none"));
}

// --- What a step computes with --------------------------------------------------------------------------

/// A step over a weight of 100 MiB: a batch of 10, 2 outside of all blocks, four blocks of 20 + 20 +
/// 10, and a gradient of 2.
fn blocks() -> String {
    let mut lines = "load alloc w 100\ndata alloc in 10\nforward:19 alloc e 2\n".to_owned();
    for n in 0..4 {
        lines.push_str(&format!(
            "block:1 alloc x{n} 20\nblock:2 alloc y{n} 20\nblock:3 alloc z{n} 10\n"
        ));
    }
    lines.push_str("backward alloc g 2\n");
    for n in (0..4).rev() {
        lines.push_str(&format!("saved free z{n}\nsaved free y{n}\nsaved free x{n}\n"));
    }
    lines + "saved free e\nzero free g\nown:39 free in"
}

#[test]
fn half_a_batch_halves_what_the_step_computes_with() {
    // 100 + 10 + 2 + 200 + 2, of which 212 are halved.
    assert_eq!(saving(&blocks(), "half_batch"), Some(106));
    // Over two halves, the gradient lives through the second, beside one more of its size.
    let note = named(&blocks(), "half_batch").note;
    assert!(note.contains("the step stays the same and 104.00 MiB are saved."), "{note}");
}

#[test]
fn checkpointed_blocks_keep_their_output_only() {
    // The fourth block's 50 MiB beside the outputs of three: 100 + 12 + 30 + 50, of 314.
    let fix = named(&blocks(), "checkpointing");
    assert_eq!(fix.saves_bytes, Some((314 - 192) * MIB));
    assert_eq!(fix.title, "Checkpoint the 4 blocks called at train.py:30");
    // Two blocks are not worth it, three are.
    let fewer = |count: usize| {
        let all = blocks();
        let kept = all.lines().filter(|line| {
            let name = line.split(' ').nth(2).unwrap();
            let number = name.chars().last().and_then(|last| last.to_digit(10));
            !name.starts_with(['x', 'y', 'z']) || number.is_none_or(|n| (n as usize) < count)
        });
        kept.collect::<Vec<_>>().join("\n")
    };
    assert!(has(&fewer(3), "checkpointing"));
    assert!(!has(&fewer(2), "checkpointing"));
}

#[test]
fn a_forward_pass_without_backward_is_advised_to_keep_no_gradients() {
    assert!(!has(&blocks(), "no_grad"));
    let forward = "load alloc w 20\ngenerate:20 alloc a 60\ngenerate:23 oom 20";
    assert!(has(forward, "no_grad"));
    assert_eq!(saving(forward, "half_batch"), Some(40));
}

#[test]
fn the_loss_in_chunks_keeps_an_eighth() {
    let lines = blocks()
        .replace("backward alloc g 2", "loss:41 alloc l 64\nbackward alloc g 2\nsaved free l");
    // 64 MiB on top of 312 before the gradient comes; an eighth is 8.
    assert_eq!(saving(&lines, "chunked_loss"), Some(56));
    assert!(!has(&blocks(), "chunked_loss"));
}

#[test]
fn matrices_of_attention_are_four_times_as_large_as_what_is_beside_them() {
    let lines = |matrix: u64| {
        let made = "attention:1 alloc q 10\nattention:1 alloc k 10\nattention:2 alloc m";
        blocks().replace(
            "backward alloc g 2",
            &format!(
                "{made} {matrix}\nbackward alloc g 2\nsaved free m\nsaved free k\nsaved free q"
            ),
        )
    };
    assert_eq!(saving(&lines(40), "fused_attention"), Some(40));
    assert_eq!(saving(&lines(38), "fused_attention"), None);
}

// --- A cache -----------------------------------------------------------------------------------------------

#[test]
fn a_cache_is_halved_or_made_at_once() {
    let lines = |asked: u64| format!("load alloc w 20\ncache alloc c 60\ncache oom {asked}");
    assert_eq!(
        helpful(&lines(20)),
        [
            ("shorter_cache", Some(40)),
            ("quantised_cache", Some(40)),
            ("preallocated_cache", Some(20)),
            ("reservation", None),
            ("offloaded_cache", None),
        ]
    );
    assert_eq!(named(&lines(20), "preallocated_cache").basis, Basis::Measured);
    // A copy of the cache is more than a twentieth of it.
    assert!(has(&lines(4), "preallocated_cache"));
    assert!(!has(&lines(3), "preallocated_cache"));
    assert!(!has("load alloc w 20\ncache alloc c 60\ngenerate:23 oom 20", "preallocated_cache"));
}

// --- Several causes -----------------------------------------------------------------------------------------

#[test]
fn a_second_cause_of_a_quarter_of_the_peak_has_its_best_remedy_too() {
    let lines = |weights: u64, running: u64| {
        format!("load alloc w {weights}\ngenerate:20 alloc a {running}\ngenerate:23 oom 10")
    };
    assert_eq!(saving(&lines(74, 16), "half_batch"), Some(13));
    assert_eq!(saving(&lines(76, 14), "half_batch"), None);
}

#[test]
fn the_largest_saving_comes_first() {
    for lines in
        [trained(20), blocks(), "load alloc w 20\ncache alloc c 60\ncache oom 20".to_owned()]
    {
        let saves: Vec<Option<u64>> = helpful(&lines).into_iter().map(|(_, saves)| saves).collect();
        assert!(saves.is_sorted_by(|a, b| a >= b), "{saves:?}");
    }
}

// --- Holes --------------------------------------------------------------------------------------------------

/// Ten segments of 40 MiB with 21 in use each.
fn holes(asked: u64) -> String {
    let mut lines = String::new();
    for n in 0..10 {
        lines.push_str(&format!("load alloc b{n} 40\nload free b{n}\nload alloc s{n} 21\n"));
    }
    lines + &format!("forward:23 oom {asked} 10")
}

#[test]
fn growing_segments_reserve_what_is_in_use() {
    let fix = named(&holes(50), "expandable_segments");
    // 210 + 50 MiB instead of 400.
    assert_eq!((fix.saves_bytes, fix.basis), (Some(140 * MIB), Basis::Replayed));
    assert!(
        fix.note.starts_with(
            "The recorded requests, replayed so, reserve 260.00 MiB at most instead of 400.00 MiB"
        ),
        "{}",
        fix.note
    );
    assert!(!has(&holes(50), "no_expandable_segments"));
    assert!(has(&holes(192), "no_expandable_segments"));
}

#[test]
fn what_does_not_help_says_why_in_numbers() {
    let lines = "load alloc w 80\nload alloc b 40\nload free b\nload alloc s 30\nforward:23 oom 20";
    let fix = named(lines, "empty_cache");
    assert!(!fix.helps && fix.saves_bytes == Some(0));
    assert!(fix.note.contains("The 10.00 MiB idle at that moment"), "{}", fix.note);
    let fix = named(lines, "no_expandable_segments");
    assert!(
        fix.note.ends_with("10.00 MiB of 120.00 MiB reserved, less than the 20.00 MiB asked for."),
        "{}",
        fix.note
    );
    assert!(!has(&format!("conf expandable_segments:True\n{lines}"), "no_expandable_segments"));
    assert!(!has(&blocks(), "empty_cache"), "nothing failed");
}

// --- References kept -------------------------------------------------------------------------------------------

/// Twelve steps that keep 10 MiB each, then one that fails over 120 MiB.
fn leaking(kept: &str) -> String {
    let mut lines = "load alloc w 100\nown alloc junk 2\n".to_owned();
    for n in 0..=12 {
        lines.push_str("data alloc in 10\nforward:20 alloc a 40\nforward:22 alloc b 20\n");
        if n < 12 {
            lines.push_str(&kept.replace('#', &n.to_string()));
            lines.push_str("backward alloc s 10\nsaved free b\nsaved free a\nbackward free s\nown:39 free in\nstep alloc t 10\nstep free t\n");
        }
    }
    lines + "forward:23 oom 120"
}

#[test]
fn what_is_kept_would_die_with_its_step() {
    let values = leaking("forward:24 alloc k# 10\n");
    // Nine of the twelve are seen to be kept; the first two may be, the last may yet go.
    // Half a batch would halve them too, what the step holds and what it asked for.
    assert_eq!(
        helpful(&values),
        [("let_go", Some(90)), ("try_collect", None), ("half_batch", Some((120 + 70 + 120) / 2))]
    );
    assert_eq!(named(&values, "let_go").basis, Basis::Measured);
    assert!(named(&values, "let_go").title.ends_with(" at train.py:40"));
    // 1024 MiB of 10 each.
    assert!(named(&values, "no_larger_card").note.contains("for 102 more steps"));
    let graph = leaking("forward:24 alloc k# 10\nforward:25 alloc l# 10\n");
    assert_eq!(saving(&graph, "let_go"), Some(180));
    assert!(named(&graph, "let_go").title.starts_with("Keep numbers"));
    assert!(
        named(&leaking("hook:24 alloc k# 10\n"), "let_go").title.starts_with("Empty what the hook")
    );
}

#[test]
fn a_collection_that_left_them_says_that_another_would_not_help() {
    let values = leaking("forward:24 alloc k# 10\n");
    assert!(!has(&values, "no_collect"));
    assert!(has(
        &values.replace("forward:23 oom", "collector free junk\nforward:23 oom"),
        "no_collect"
    ));
}
