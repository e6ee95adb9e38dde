//! Questions about a recording: when the cache is emptied, a changed program, and the table of
//! settings that fills up step by step.

use crate::support::{fixtures, open, truth};
use oomscope::allocator::cache::Bounds;
use oomscope::allocator::program::{Program, SecondLife, What};
use oomscope::allocator::settings::Settings;
use oomscope::allocator::what_if::{Addresses, Conditions, replay, what_if};
use oomscope::findings::Findings;
use oomscope::findings::savings::Kept;
use oomscope::findings::savings::change::{Change, OptimizerStates};
use oomscope::findings::savings::rewrite::rewritten;
use oomscope::timeline::allocation::AllocationId;
use oomscope::view::question::{EmptyCache, Question};
use oomscope::view::setting_table::{SettingTable, SettingTableView};
use oomscope::view::what_if::WhatIfReport;

fn answer(fixture: &str, question: &Question) -> WhatIfReport {
    WhatIfReport::of(&open(fixture), 0, question).unwrap()
}

fn changed(change: Change) -> Question {
    Question { change, ..Question::default() }
}

fn emptying(empty_cache: EmptyCache) -> Question {
    Question { empty_cache, ..Question::default() }
}

#[test]
fn the_cache_is_emptied_never_as_recorded_or_between_the_steps() {
    // A graph's capture begins with an emptied cache.
    let recorded = answer("shape_streams_graphs", &emptying(EmptyCache::Recorded));
    let never = answer("shape_streams_graphs", &emptying(EmptyCache::Never));
    assert_eq!((recorded.cache_clears, never.cache_clears), (1, 0));
    assert!(never.peak_reserved_bytes >= recorded.peak_reserved_bytes);

    let findings = Findings::of(&open("cat_gpt_adamw"));
    let between = findings.devices[0].steps.len() as u64 - 1;
    assert!(between > 0);
    let recorded = answer("cat_gpt_adamw", &emptying(EmptyCache::Recorded));
    let each = answer("cat_gpt_adamw", &emptying(EmptyCache::EveryStep));
    assert_eq!((recorded.cache_clears, each.cache_clears), (0, between));
    assert!(each.headline.contains("the cache emptied between the steps"), "{}", each.headline);
    assert!(each.notes[0].contains(&format!("{between} times")), "{:?}", each.notes);
    // What is active has nothing to do with the cache but for what stays unsplit.
    let difference = each.peak_active_bytes.abs_diff(recorded.peak_active_bytes);
    assert!(difference < recorded.peak_active_bytes / 50);
}

#[test]
fn where_no_steps_are_seen_nothing_is_emptied_and_that_is_said() {
    let each = answer("device_full_default", &emptying(EmptyCache::EveryStep));
    let findings = Findings::of(&open("device_full_default"));
    assert!(findings.devices[0].steps.len() < 2);
    assert_eq!(each.cache_clears, 0);
    assert!(each.notes[0].contains("never emptied"), "{:?}", each.notes);
}

/// The same model was recorded with and without checkpointing: what is reserved is foretold too.
#[test]
fn the_checkpointed_program_reserves_what_the_checkpointed_run_did() {
    let question = changed(Change { checkpointing: true, ..Change::NONE });
    let found = answer("cat_gpt_adamw", &question);
    let real = &truth("cat_gpt_checkpoint")["stats"];
    for (predicted, counter) in [
        (found.peak_reserved_bytes, "reserved_bytes.all.peak"),
        (found.peak_active_bytes, "active_bytes.all.peak"),
    ] {
        let real = real[counter].as_u64().unwrap();
        assert!(predicted.abs_diff(real) < real / 50, "{counter}: {predicted}, not {real}");
    }
    assert!(found.notes[0].starts_with("8 blocks are checkpointed"), "{:?}", found.notes);
    assert!(found.notes.iter().any(|note| note.contains("estimate")), "{:?}", found.notes);
}

#[test]
fn a_smaller_batch_and_smaller_states_reserve_less_and_a_larger_batch_more() {
    let of = |change| answer("cat_gpt_adamw", &changed(change)).peak_active_bytes;
    let batch = |batch| of(Change { batch, ..Change::NONE });
    let states = |optimizer_states| of(Change { optimizer_states, ..Change::NONE });
    let whole = batch(1.0);
    assert!(batch(0.25) < batch(0.5) && batch(0.5) < whole && whole < batch(2.0));
    let (eight, none) = (states(OptimizerStates::EightBit), states(OptimizerStates::None));
    assert!(none < eight && eight < whole);
    // Two states of 32 bits for each weight; three quarters of them go.
    let held = truth("cat_gpt_adamw")["optimizer_bytes"].as_u64().unwrap();
    let (gone, less) = (whole - none, whole - eight);
    assert!(gone <= held + held / 50, "{gone} of {held}");
    assert!(less * 4 <= held * 3 + held / 50, "{less} of {held}");
    // Together they bring no less than each alone.
    let both =
        of(Change { batch: 0.5, checkpointing: true, optimizer_states: OptimizerStates::None });
    assert!(both <= none.min(batch(0.5)));
}

/// What a forward pass had kept when it failed is freed by the failure, not by a backward pass.
#[test]
fn a_checkpointed_forward_pass_gets_past_its_failure() {
    let question = changed(Change { checkpointing: true, ..Change::NONE });
    let found = answer("activation_batch_first_step", &question);
    assert_eq!((found.ooms, found.ooms_survived), (0, 1));
    assert!(found.peak_active_bytes * 2 < found.recorded.peak_reserved_bytes);
}

/// The refused request was of 12 GiB under a limit of 24: no setting can serve it beside 13.4 GiB, but
/// the recording allows any limit up to 25.5 GiB.
#[test]
fn what_hangs_on_the_limit_is_said() {
    let conf = Some(Settings::parse("expandable_segments:True").unwrap());
    let found = answer("activation_naive_attention", &Question { conf, ..Question::default() });
    let limit = truth("activation_naive_attention")["allowed_bytes"].as_u64().unwrap();
    assert!(found.smallest_capacity_bytes > limit);
    assert!(found.headline.contains("the highest that the recording allows"), "{}", found.headline);
    assert!(found.next.contains("--limit"), "{}", found.next);
}

/// A program with an 8-bit Adam of its own.
#[test]
fn states_of_eight_bits_stay() {
    let change = Change { optimizer_states: OptimizerStates::EightBit, ..Change::NONE };
    let found = answer("compact_adam", &changed(change));
    assert!(found.notes[0].contains("in 8 bits already"), "{:?}", found.notes);
    let findings = Findings::of(&open("compact_adam"));
    let fixes = &findings.diagnosis.fixes;
    assert!(fixes.iter().all(|fix| fix.id != "small_optimizer"));
}

#[test]
fn what_cannot_be_changed_is_said() {
    let change =
        Change { batch: 1.0, checkpointing: true, optimizer_states: OptimizerStates::EightBit };
    let found = answer("fragmentation_varlen_default", &changed(change));
    assert!(found.notes[0].contains("nothing is checkpointed"), "{:?}", found.notes);
    assert!(found.notes[1].contains("none are changed"), "{:?}", found.notes);
}

/// Active bytes after each entry.
fn active(program: &Program) -> Vec<u64> {
    let mut after = vec![0; program.entries() as usize + 1];
    let conditions = Conditions::within(Bounds::NONE);
    let settings = Settings::parse("expandable_segments:True").unwrap().settings;
    replay(program, &settings, &conditions, Addresses::Modelled, |entry, totals| {
        after[entry as usize] = totals.active;
    });
    after
}

#[test]
fn a_change_of_nothing_changes_nothing() {
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let recorded = &device.recording(&snapshot).program;
            let same = rewritten(&snapshot, device, &findings.marks, |_| Kept::WHOLE);
            assert_eq!(same.requests, recorded.requests, "{fixture}");
            assert_eq!(same.operations, recorded.operations, "{fixture}");
            assert_eq!(same.failed, recorded.failed, "{fixture}");
        }
    }
}

/// What goes and comes back is missing in between, and nowhere else.
#[test]
fn a_second_life_takes_the_memory_out_of_the_middle_only() {
    let snapshot = open("cat_lstm");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let recorded = &device.recording(&snapshot).program;
    let longest = (0..)
        .zip(&device.timeline.allocations)
        .filter(|(_, allocation)| allocation.begin().is_some() && allocation.size > 1 << 20)
        .max_by_key(|(_, allocation)| {
            allocation.last_entry().min(recorded.entries()) - allocation.first_entry()
        });
    let (id, allocation) = longest.unwrap();
    let (begin, end) = (allocation.first_entry(), allocation.last_entry().min(recorded.entries()));
    let (gone, again) = (begin + (end - begin) / 3, begin + (end - begin) / 3 * 2);
    assert!(begin < gone && gone < again);
    let mut changed = recorded.clone();
    changed.ask_again(&[SecondLife { id: AllocationId(id), gone, again }]);
    let allocates = |program: &Program| {
        program.operations.iter().filter(|each| matches!(each.what, What::Allocate(_))).count()
    };
    assert_eq!(allocates(&changed), allocates(recorded) + 1);
    let (before, after) = (active(recorded), active(&changed));
    for operation in &recorded.operations {
        let entry = operation.entry as usize;
        let is_between = (gone..again).contains(&operation.entry);
        let missing = if is_between { allocation.size } else { 0 };
        assert!(before[entry] - missing == after[entry], "entry {entry}");
    }
    let settings = Settings::default();
    assert_eq!(
        what_if(&changed, &settings, &Conditions::within(Bounds::NONE)).totals.active,
        what_if(recorded, &settings, &Conditions::within(Bounds::NONE)).totals.active
    );
}

/// All that a table shows on its way, to its end.
fn table(fixture: &str, question: &Question) -> Vec<SettingTableView> {
    let snapshot = open(fixture);
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let mut table = SettingTable::new(&snapshot, &findings, device, question.clone()).unwrap();
    assert!(table.answers(0, question) && !table.answers(1, question));
    let mut views = Vec::new();
    while !table.is_complete() {
        table.advance(&snapshot, device);
        views.push(table.view());
    }
    views
}

#[test]
fn a_table_ends_in_the_answers_of_its_settings() {
    let fixture = "fragmentation_varlen_default";
    for question in [
        Question { capacity: Some(5 << 30), ..Question::default() },
        Question {
            capacity: Some(6 << 30),
            empty_cache: EmptyCache::Never,
            change: Change { batch: 0.5, ..Change::NONE },
            ..Question::default()
        },
    ] {
        let views = table(fixture, &question);
        let last = views.last().unwrap();
        assert!(last.doing.is_empty() && last.progress == 1.0 && last.rows.len() == last.count);
        for row in &last.rows {
            let conf = Some(Settings::parse(&row.conf).unwrap());
            let whole = answer(fixture, &Question { conf, ..question.clone() });
            assert_eq!(row.peak_reserved_bytes, whole.peak_reserved_bytes, "{}", row.conf);
            assert_eq!(row.band_bytes, Some(whole.band_bytes), "{}", row.conf);
            let least = Some(whole.smallest_capacity_bytes);
            assert_eq!(row.smallest_capacity_bytes, least, "{}", row.conf);
            assert_eq!((row.retries, row.cache_clears), (whole.retries, whole.cache_clears));
            assert_eq!(row.fails_at_entry, whole.first_oom_entry, "{}", row.conf);
        }
    }
}

/// A long trace needs many steps; each adds to what is known and none takes anything back.
#[test]
fn a_table_fills_up_step_by_step() {
    let views = table("leak_refcycle_sawtooth", &Question::default());
    assert!(views.len() > 2, "{} steps", views.len());
    for pair in views.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert!(before.rows.len() <= after.rows.len() && before.progress <= after.progress);
        assert!(!before.doing.is_empty());
        for (old, new) in before.rows.iter().zip(&after.rows) {
            assert_eq!(old.peak_reserved_bytes, new.peak_reserved_bytes);
            let known = old.smallest_capacity_bytes.is_some();
            assert!(!known || old.smallest_capacity_bytes == new.smallest_capacity_bytes);
        }
    }
    for row in &views.last().unwrap().rows {
        let [low, high] = row.band_bytes.unwrap();
        assert!(low <= row.peak_reserved_bytes && row.peak_reserved_bytes <= high);
        assert!(row.smallest_capacity_bytes.unwrap() <= high);
    }
}
