//! Comparisons: the parts sum to the whole, both directions agree, and the sentence is the right one.

use crate::made_run::{MIB, Program, Recorder};
use crate::support::{fixtures, open, truth};
use oomscope::compare::difference::{At, Difference};
use oomscope::compare::fingerprint::{Relation, relation};
use oomscope::compare::growth::Growth;
use oomscope::compare::run::Run;
use oomscope::compare::{Comparison, Kind};
use oomscope::findings::Findings;
use oomscope::findings::category::Category;
use oomscope::text::CompareText;
use oomscope::view::report::Report;
use oomscope::view::summary;

fn run(fixture: &str) -> Run {
    let snapshot = open(fixture);
    Run::of(&snapshot, &Findings::of(&snapshot), fixture, &[]).unwrap()
}

fn summarised(fixture: &str) -> Run {
    let snapshot = open(fixture);
    let findings = Findings::of(&snapshot);
    let mut report = Report::of(&snapshot, &findings, fixture, 0);
    report.summarise(&snapshot, &findings);
    let text = serde_json::to_string_pretty(&report).unwrap();
    assert!(summary::begins(&text.as_bytes()[..64]));
    summary::read(&text).unwrap()
}

fn compared(runs: &[Run]) -> Comparison {
    let comparison = Comparison::of(runs, Vec::new()).unwrap();
    let text = CompareText(&comparison).to_string();
    assert!(text.starts_with(&comparison.headline));
    serde_json::to_string(&comparison).unwrap();
    comparison
}

#[track_caller]
fn sums(difference: &Difference) {
    let what = format!("{} and {}", difference.a, difference.b);
    let [a, b] = difference.totals;
    assert_eq!(difference.allocated_bytes, b as i64 - a as i64, "{what}");
    assert_eq!(difference.by_category.values().sum::<i64>(), difference.allocated_bytes, "{what}");
    for row in &difference.by_stack {
        assert_eq!(row.difference_bytes, row.b_bytes as i64 - row.a_bytes as i64, "{what}");
        assert_eq!(row.by_category.values().sum::<i64>(), row.difference_bytes, "{what}");
    }
    if !difference.by_stack.is_empty() {
        let of = |bytes: fn(&oomscope::compare::difference::SiteRow) -> u64| {
            difference.by_stack.iter().map(bytes).sum::<u64>()
        };
        assert_eq!([of(|row| row.a_bytes), of(|row| row.b_bytes)], difference.totals, "{what}");
    }
    for phase in &difference.by_phase {
        assert_eq!(phase.by_category.values().sum::<i64>(), phase.difference_bytes, "{what}");
    }
}

/// Every fixture against its neighbour, at both moments, in both directions.
#[test]
fn the_parts_sum_to_the_difference_and_both_directions_agree() {
    let names = fixtures();
    let runs: Vec<Run> = names
        .iter()
        .filter_map(|name| {
            let snapshot = open(name);
            Run::of(&snapshot, &Findings::of(&snapshot), name, &[])
        })
        .collect();
    for pair in runs.windows(2) {
        let [a, b] = pair else { unreachable!() };
        for at in [At::Peak, At::End] {
            let there = Difference::of(a, b, at);
            let back = Difference::of(b, a, at);
            sums(&there);
            assert_eq!(there.allocated_bytes, -back.allocated_bytes);
            assert_eq!(there.reserved_bytes, -back.reserved_bytes);
            for (category, bytes) in &there.by_category {
                assert_eq!(*bytes, -back.by_category[category], "{} {}", a.name, b.name);
            }
            let sizes = |difference: &Difference, sign: i64| {
                let mut sizes: Vec<i64> =
                    difference.by_stack.iter().map(|row| sign * row.difference_bytes).collect();
                sizes.sort_unstable();
                sizes
            };
            assert_eq!(sizes(&there, 1), sizes(&back, -1), "{} {}", a.name, b.name);
        }
        compared(pair);
    }
}

#[test]
fn a_run_against_itself_differs_in_nothing() {
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        let Some(run) = Run::of(&snapshot, &Findings::of(&snapshot), &fixture, &[]) else {
            continue;
        };
        assert_eq!(relation(&run, &run), Relation::Same, "{fixture}");
        let again = Run { name: "again".to_owned(), ..run.clone() };
        let comparison = compared(&[run, again]);
        assert_eq!(comparison.difference.allocated_bytes, 0, "{fixture}");
        assert!(comparison.difference.by_stack.iter().all(|row| row.difference_bytes == 0));
        assert!(comparison.growing.is_empty(), "{fixture}");
        assert!(comparison.headline.contains("same moment"), "{}", comparison.headline);
    }
}

#[test]
fn the_peak_is_the_one_that_the_allocator_counted() {
    let [off, on] = ["cat_gpt_adamw", "cat_gpt_checkpoint"].map(|name| {
        let counted = truth(name)["stats"]["allocated_bytes.all.peak"].as_u64().unwrap();
        assert_eq!(run(name).peak.bytes(), counted, "{name}");
        counted
    });
    let difference = Difference::of(&run("cat_gpt_adamw"), &run("cat_gpt_checkpoint"), At::Peak);
    assert_eq!(difference.allocated_bytes, on as i64 - off as i64);
}

#[test]
fn checkpointing_shows_as_fewer_activations() {
    let comparison = compared(&[run("cat_gpt_adamw"), run("cat_gpt_checkpoint")]);
    assert_eq!(comparison.kind, Kind::Runs);
    let headline = &comparison.headline;
    assert!(
        headline.starts_with("cat_gpt_checkpoint peaks 882.01 MiB lower than cat_gpt_adamw (1.75 GiB against 2.61 GiB): −882.01 MiB activations, of which −505.00 MiB in scenarios.py:99 forward"),
        "{headline}"
    );
    assert!(comparison.notes.iter().any(|note| note.contains("activation checkpointing")));
    // The script's two entry functions have other names; the lines below them are the same.
    let row = &comparison.difference.by_stack[0];
    assert!(row.a_count > 0 && row.b_count > 0, "{row:?}");
}

#[test]
fn without_stacks_only_categories_are_compared_and_it_is_said() {
    let comparison = compared(&[run("shape_no_stacks"), run("shape_python_stacks")]);
    assert!(
        comparison.headline.contains("peak alike, at 2.14 GiB allocated."),
        "{}",
        comparison.headline
    );
    assert!(comparison.difference.by_stack.is_empty());
    assert!(comparison.notes.iter().any(|note| note.contains("only categories are compared")));
    let python = Difference::of(&run("shape_python_stacks"), &run("cat_gpt_adamw"), At::Peak);
    let backward =
        python.by_stack.iter().filter(|row| row.stack[0].name.starts_with("backward pass"));
    assert!(backward.count() <= 1);
}

#[test]
fn other_settings_show_in_what_is_reserved() {
    let runs = [run("side_stream_tight_default"), run("side_stream_tight_expandable")];
    let comparison = compared(&runs);
    assert!(comparison.headline.contains("peak alike"), "{}", comparison.headline);
    assert!(comparison.notes.iter().any(|note| note.contains("expandable_segments:True")));
}

#[test]
fn a_summary_compares_as_its_snapshot_does() {
    let names = ["cat_gpt_adamw", "cat_gpt_checkpoint"];
    let snapshots = compared(&names.map(run));
    let summaries = compared(&names.map(summarised));
    assert_eq!(summaries.difference, snapshots.difference);
    assert_eq!(summaries.headline, snapshots.headline);
    assert!(summaries.files.iter().all(|file| file.is_summary));
    let mixed = compared(&[run(names[0]), summarised(names[1])]);
    assert_eq!(mixed.difference, snapshots.difference);
}

#[test]
fn a_damaged_summary_is_told_in_one_sentence() {
    let run = run("cat_lstm");
    let whole = serde_json::json!({"oomscope": 1, "run": run}).to_string();
    assert_eq!(summary::read(&whole).unwrap().peak, run.peak);
    for cut in [10, 100, whole.len() / 2, whole.len() - 1] {
        let message = summary::read(&whole[..cut]).unwrap_err();
        assert!(message.contains("; ") && message.ends_with('.'), "{message}");
    }
    assert!(summary::read("{\"oomscope\": 1}").unwrap_err().contains("nothing to compare"));
    // Places that the file does not have are passed over.
    let mut forged = serde_json::json!({"oomscope": 1, "run": run});
    for held in forged["run"]["peak"]["held"].as_array_mut().unwrap() {
        held["site"] = u32::MAX.into();
        held["bytes"] = u64::MAX.into();
    }
    let forged = summary::read(&forged.to_string()).unwrap();
    compared(&[run, forged]);
}

/// Three moments of a program that keeps 3 MiB a step.
fn moments() -> [Run; 3] {
    let mut program = Recorder::new(Program { kept: 3 * MIB, ..Program::default() });
    let first = program.steps(0..6).run("first");
    let second = program.steps(6..14).run("second");
    [first, second, program.steps(14..26).run("third")]
}

#[test]
fn two_moments_name_the_line_that_keeps_and_its_rate() {
    let [first, second, _] = moments();
    let comparison = compared(&[first, second]);
    assert_eq!(comparison.kind, Kind::Moments);
    let growing = &comparison.growing[0];
    assert_eq!((growing.stack[0].name.as_str(), growing.stack[0].line), ("forward", 24));
    assert_eq!((growing.bytes, growing.count), (8 * 3 * MIB, 8));
    assert_eq!(growing.per_step_bytes, Some(3 * MIB));
    assert_eq!(growing.made_bytes, Some(8 * 3 * MIB));
    assert_eq!(growing.confirmed_bytes, None);
    assert_eq!(comparison.growing.len(), 1);
    sums(&comparison.difference);
}

#[test]
fn a_third_moment_confirms_what_is_kept() {
    let [first, second, third] = moments();
    let comparison = compared(&[first.clone(), second.clone(), third.clone()]);
    let growth = comparison.growth.unwrap();
    assert!(growth.is_confirmed);
    assert_eq!(growth.steps, Some(20));
    assert_eq!(growth.growing[0].confirmed_bytes, Some(8 * 3 * MIB));
    assert_eq!(growth.growing[0].bytes, 20 * 3 * MIB);
    // In whatever order they are given.
    let other = compared(&[third, first, second]).growth.unwrap();
    assert_eq!(other.growing, growth.growing);
    assert_eq!(other.moments, ["first", "second", "third"]);
}

/// A value that each step replaces holds as much at each moment, and is never the same.
#[test]
fn what_is_replaced_does_not_grow() {
    let mut program = Recorder::new(Program::default());
    let first = program.steps(0..6).run("first");
    let second = program.steps(6..14).run("second");
    let comparison = compared(&[first, second]);
    assert_eq!(comparison.kind, Kind::Moments);
    assert!(comparison.growing.is_empty());
    assert!(comparison.headline.contains("holds the same"), "{}", comparison.headline);
}

#[test]
fn one_process_is_told_from_two() {
    let [first, second, third] = moments();
    assert_eq!(relation(&first, &second), Relation::Earlier);
    assert_eq!(relation(&third, &second), Relation::Later);
    let record = |base, begin_us| {
        Recorder::new(Program { base, begin_us, ..Program::default() }).steps(0..6).run("other")
    };
    // At the same addresses, later or at the same time: the clocks tell.
    assert_eq!(relation(&first, &record(0x7f00_0000_0000, 9_000_000_000)), Relation::Apart);
    assert_eq!(relation(&first, &record(0x7f00_0000_0000, 1_000_003)), Relation::Beside);
    assert_eq!(relation(&first, &record(0x7e00_0000_0000, 9_000_000_000)), Relation::Apart);
    let alone = [&first];
    assert!(Growth::of(&alone).is_none());
}

#[test]
fn a_moved_and_edited_program_keeps_its_lines() {
    let before = Recorder::new(Program::default()).steps(0..4).run("before");
    let program = Program {
        base: 0x7e00_0000_0000,
        begin_us: 50_000_000,
        folder: "/scratch/copy/job",
        drift: 7,
        activations: 96 * MIB,
        ..Program::default()
    };
    let after = Recorder::new(program).steps(0..4).run("after");
    let comparison = compared(&[before, after]);
    let difference = &comparison.difference;
    sums(difference);
    for row in &difference.by_stack {
        assert!(row.a_count > 0 && row.b_count > 0, "{row:?}");
    }
    let row = &difference.by_stack[0];
    assert_eq!((row.a_bytes, row.b_bytes, row.stack[0].line), (64 * MIB, 96 * MIB, 27));
    assert_eq!(difference.by_category[&Category::Activations], 32 * MIB as i64);
    assert!(
        comparison.headline.starts_with("after peaks 32.50 MiB higher than before"),
        "{}",
        comparison.headline
    );
    assert!(
        comparison.notes.iter().any(|note| note.contains("1.5 times as large")),
        "{:?}",
        comparison.notes
    );
}

/// Eight ranks of one job, of which one has the long sequences and runs out.
#[test]
fn the_rank_that_stands_out_is_named_with_its_reason() {
    let rank = |number: u64| {
        let is_long = number == 5;
        let program = Program {
            base: 0x7f00_0000_0000 - (number << 40),
            begin_us: 1_000_000 + number as i64 * 3,
            activations: if is_long { 512 * MIB } else { 64 * MIB },
            fails_in: is_long.then_some(3),
            ..Program::default()
        };
        Recorder::new(program).steps(0..5).run(&format!("rank{number}"))
    };
    let runs: Vec<Run> = (0..8).map(rank).collect();
    let comparison = compared(&runs);
    assert_eq!(comparison.kind, Kind::Ranks);
    let overview = comparison.overview.unwrap();
    assert_eq!(overview.rows.len(), 8);
    assert_eq!(overview.outliers.len(), 1);
    let outlier = &overview.outliers[0];
    assert_eq!(outlier.name, "rank5");
    assert!(outlier.reason.starts_with("rank5 ran out asking for 64.00 GiB"), "{}", outlier.reason);
    assert!(
        outlier.reason.contains("activations, most in train.py:20 forward"),
        "{}",
        outlier.reason
    );
    assert!(outlier.reason.contains("8 times as large"), "{}", outlier.reason);
    assert!(
        comparison.headline.ends_with("The other 7 ranks peak at 91.00 MiB."),
        "{}",
        comparison.headline
    );
    assert_eq!(comparison.difference.b, "rank5");
    sums(&comparison.difference);
}

#[test]
fn peaks_in_other_steps_are_not_compared_silently() {
    let steady = Recorder::new(Program::default()).steps(0..4).run("steady");
    let failing = Program {
        base: 0x7e00_0000_0000,
        begin_us: 1_000_001,
        activations: 512 * MIB,
        fails_in: Some(2),
        ..Program::default()
    };
    let failing = Recorder::new(failing).steps(0..3).run("failing");
    let comparison = compared(&[steady, failing]);
    let notes = comparison.notes.join("\n");
    assert!(notes.contains("two ranks of one job"), "{notes}");
    assert!(
        comparison.headline.starts_with(
            "failing ran out of memory; it peaks 455.00 MiB higher than steady (546.00 MiB against 91.00 MiB)"
        ) && comparison
            .headline
            .ends_with("its batches are 8 times as large (more samples or longer sequences)."),
        "{}",
        comparison.headline
    );
    assert!(notes.contains("failing ran out asking for 64.00 GiB in step 3"), "{notes}");
}

#[test]
fn a_guard_compares_peaks_with_the_first() {
    let runs = [run("cat_gpt_checkpoint"), run("cat_gpt_adamw")];
    let (name, above) = Comparison::above(&runs, 20.0).unwrap();
    assert_eq!(name, "cat_gpt_adamw");
    assert!((49.0..50.0).contains(&above), "{above}");
    assert_eq!(Comparison::above(&runs, 60.0), None);
    assert_eq!(Comparison::above(&runs[..1], 0.0), None);
}

#[test]
fn a_card_is_judged_by_the_replay() {
    let snapshot = open("cat_gpt_adamw");
    let findings = Findings::of(&snapshot);
    let cards = [8 << 30, 2 << 30];
    let run = Run::of(&snapshot, &findings, "run", &cards).unwrap();
    let [large, small] = run.fits.as_slice() else { panic!("{:?}", run.fits) };
    assert!(large.fits && large.changes.is_empty());
    assert!(!small.fits && small.needed_bytes > 2 << 30);
    assert!(small.changes.iter().any(|change| change.id == "checkpointing"), "{small:?}");
    assert!(
        small.sentence().contains("the least change that makes it fit"),
        "{}",
        small.sentence()
    );
}

/// A recording of `fixtures/compared`, under its own name.
fn recorded(name: &str) -> Run {
    Run { name: name.to_owned(), ..run(&format!("compared/{name}")) }
}

#[test]
fn recorded_moments_of_one_leak_confirm_the_line_and_its_rate() {
    let names = ["leak_moment_1", "leak_moment_2", "leak_moment_3"];
    let truth = &truth("compared/truth")["moments"];
    let of = |name: &str, key: &str| truth[name][key].as_u64().unwrap();
    let comparison = compared(&names.map(recorded));
    let growth = comparison.growth.unwrap();
    assert!(growth.is_confirmed);
    let steps = of(names[2], "step") - of(names[0], "step");
    assert_eq!(growth.steps, Some(steps as u32));
    let kept = &growth.growing[0];
    assert_eq!((kept.stack[0].name.as_str(), kept.stack[0].line), ("train_step", 13));
    let per_step = of(names[0], "kept_per_step");
    assert_eq!(kept.per_step_bytes, Some(per_step));
    assert_eq!(kept.bytes, of(names[2], "allocated") - of(names[0], "allocated"));
    let between = of(names[1], "kept") - of(names[0], "kept");
    assert_eq!(kept.confirmed_bytes, Some(between * per_step));
    // Two of them suffice for the rate, in whatever order.
    let two = compared(&[recorded(names[1]), recorded(names[0])]);
    assert_eq!(two.growth.unwrap().growing[0].per_step_bytes, Some(per_step));
}

#[test]
fn a_second_version_of_a_program_differs_by_what_was_changed() {
    let truth = truth("compared/truth");
    let peak = |name: &str| truth[name]["peak"].as_u64().unwrap();
    let comparison = compared(&[recorded("version_old"), recorded("version_new")]);
    let difference = &comparison.difference;
    sums(difference);
    assert_eq!(difference.totals, [peak("version_old"), peak("version_new")]);
    // AdamW keeps two tensors a weight, SGD with momentum one; the loss goes in chunks.
    let states = difference.by_category[&Category::OptimizerStates];
    assert!((-110 * MIB as i64..=-100 * MIB as i64).contains(&states), "{states}");
    assert_eq!(difference.by_category[&Category::Weights], 0);
    assert!(difference.by_category[&Category::Activations] < -(1024 * MIB as i64));
    assert!(comparison.headline.contains("lower than version_old"), "{}", comparison.headline);
}

#[test]
fn of_two_ranks_of_a_job_the_one_that_ran_out_is_told_with_its_reason() {
    let truth = truth("compared/truth");
    let comparison = compared(&[recorded("pair_rank0"), recorded("pair_rank1")]);
    let peaks = ["pair_rank0", "pair_rank1"].map(|name| truth[name]["peak"].as_u64().unwrap());
    assert_eq!(comparison.difference.totals, peaks);
    assert!(comparison.headline.starts_with("pair_rank1 ran out of memory"));
    assert!(comparison.headline.contains("its batches are 8 times as large"));
    // Both ranks have the same buckets for their gradients; the rest of the model is no collective's.
    let difference = &comparison.difference;
    sums(difference);
    assert_eq!(difference.by_category.get(&Category::Communication).copied().unwrap_or(0), 0);
    assert!(difference.by_category[&Category::Activations] > 2048 * MIB as i64);
}
