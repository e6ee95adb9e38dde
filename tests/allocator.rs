//! The allocator's replay of recordings: exact on every fixture, and right about other settings where
//! both runs are recorded.

use crate::support::{fixtures, open, truth};
use oomscope::allocator::cache::Bounds;
use oomscope::allocator::enough::smallest_capacity;
use oomscope::allocator::program::{Program, What};
use oomscope::allocator::settings::Settings;
use oomscope::allocator::verify::Recording;
use oomscope::allocator::what_if::{
    Addresses, ClearCache, Conditions, Outcome, band, replay, what_if,
};
use oomscope::snapshot::Snapshot;
use oomscope::timeline::Timeline;
use serde_json::Value;
use std::sync::LazyLock;

const MIB: u64 = 1 << 20;

/// A device's trace, replayed under its own settings.
struct Recorded {
    name: String,
    device: u32,
    snapshot: Snapshot,
    timeline: Timeline,
    recording: Recording,
}

/// Every device of every fixture that has a trace with allocations.
static RECORDED: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for name in fixtures() {
        let snapshot = open(&name);
        for device in 0..snapshot.device_count() {
            let timeline = Timeline::replay(&snapshot, device);
            if timeline.allocations.len() > timeline.older {
                let recording = Recording::of(&snapshot, &timeline);
                let (name, snapshot) = (name.clone(), snapshot.clone());
                all.push(Recorded { name, device, snapshot, timeline, recording });
            }
        }
    }
    all
});

fn recorded(name: &str) -> &'static Recorded {
    RECORDED.iter().find(|recorded| recorded.name == name).unwrap()
}

fn settings(conf: &str) -> Settings {
    Settings::parse(conf).unwrap().settings
}

fn limit(bytes: Option<u64>) -> Conditions {
    Conditions::within(Bounds { limit: bytes, capacity: None })
}

/// What the allocator itself counted on device 0; its counters begin with the process.
fn counted(name: &str, counter: &str) -> Option<u64> {
    truth(name)["stats"][counter].as_u64()
}

fn allowed(name: &str) -> Option<u64> {
    truth(name)["allowed_bytes"].as_u64()
}

#[test]
fn the_recorded_settings_replay_to_the_byte() {
    assert!(RECORDED.len() > 20);
    for Recorded { name, device, recording, .. } in &*RECORDED {
        let verification = &recording.verification;
        assert!(verification.is_exact(), "{name}, device {device}: {verification:?}");
        assert!(verification.is_identical(), "{name}, device {device}: {verification:?}");
    }
}

#[test]
fn told_only_the_limit_the_replay_releases_retries_and_fails_as_recorded() {
    for Recorded { name, device, recording, timeline, .. } in &*RECORDED {
        let what = format!("{name}, device {device}");
        let bounds = match allowed(name) {
            Some(bytes) if *device == 0 => Bounds { limit: Some(bytes), capacity: None },
            _ => recording.bounds(),
        };
        let program = &recording.program;
        let mut differs = None;
        let outcome = replay(
            program,
            &program.recorded,
            &Conditions::within(bounds),
            Addresses::Recorded,
            |entry, totals| {
                let allocation =
                    timeline.allocation_of(entry).and_then(|id| timeline.allocation(id));
                let is_request = allocation.is_some_and(|found| found.begin() == Some(entry));
                if is_request && totals.reserved != timeline.usage_after(entry).reserved {
                    differs.get_or_insert(entry);
                }
            },
        );
        assert_eq!(differs, None, "{what}: reserved differs");
        assert_eq!(outcome.stopped, None, "{what}");
        assert_eq!(outcome.totals.ooms, timeline.ooms.len() as u64, "{what}");
        let first = timeline.ooms.first().map(|oom| oom.entry);
        assert_eq!(outcome.first_oom_entry, first, "{what}");
        let complete = timeline.older == 0 && timeline.start.reserved == 0 && *device == 0;
        if let Some(retries) = counted(name, "num_alloc_retries").filter(|_| complete) {
            assert_eq!(outcome.totals.retries, retries, "{what}: retries");
        }
    }
}

#[test]
fn the_true_limit_lies_within_what_the_recording_shows() {
    for Recorded { name, device, recording, .. } in &*RECORDED {
        let Some(allowed) = allowed(name).filter(|_| *device == 0) else { continue };
        let limit = recording.verification.limit;
        assert!(limit.at_least <= allowed, "{name}: {limit:?}");
        assert!(limit.below.is_none_or(|below| allowed < below), "{name}: {limit:?}");
        assert_eq!(limit.capacity, None, "{name}: the card was not full");
    }
    let full = recorded("device_full_default").recording.bounds();
    assert!(full.limit.is_none() && full.capacity.is_some(), "{full:?}");
}

/// Both runs of a script are recorded: each foretells the other.
#[test]
fn one_run_foretells_the_run_under_other_settings() {
    for (from, to) in [
        ("fragmentation_varlen_default", "fragmentation_varlen_expandable"),
        ("fragmentation_varlen_expandable", "fragmentation_varlen_default"),
        ("side_stream_tight_default", "side_stream_tight_expandable"),
        ("side_stream_tight_expandable", "side_stream_tight_default"),
        ("shape_streams_graphs", "shape_graphs_expandable"),
        ("shape_graphs_expandable", "shape_streams_graphs"),
    ] {
        let program = &recorded(from).recording.program;
        let real = truth(to);
        let conf = settings(real["alloc_conf"].as_str().unwrap_or_default());
        let conditions = limit(allowed(to));
        let outcome = what_if(program, &conf, &conditions);
        let peak = real["stats"]["reserved_bytes.all.peak"].as_u64().unwrap();
        let (low, high) = band(program, &conf, &conditions, &outcome);
        let found = outcome.totals.peak_reserved;
        if conf.expandable_segments {
            assert_eq!((found, low, high), (peak, peak, peak), "{from} -> {to}");
        } else {
            // When cross-stream frees complete is not known for the other run.
            assert!(found.abs_diff(peak) <= peak / 200, "{from} -> {to}: {found}, not {peak}");
            assert!(low <= found && found <= high);
        }
        assert_eq!(outcome.totals.ooms > 0, real["oom"] == Value::Bool(true), "{from} -> {to}");
    }
}

#[test]
fn a_fragmented_run_passes_its_failure_with_expandable_segments() {
    let Recorded { recording, timeline, .. } = recorded("fragmentation_varlen_default");
    let expandable = settings("expandable_segments:True");
    let passage = recording.passes_its_failure(&expandable).unwrap();
    assert_eq!(passage.entry, timeline.ooms[0].entry);
    assert!(passage.at_most && passage.outcome.survived == 1 && passage.outcome.ends_in_failure);
    let same = recording.passes_its_failure(&recording.program.recorded).unwrap();
    assert!(!same.at_most && !same.at_least);
    // Weights that fill the card are no matter of settings.
    let full = &recorded("weights_too_big_to_load").recording;
    assert!(!full.passes_its_failure(&expandable).unwrap().at_most);
    // Nothing failed.
    let healthy = &recorded("cat_lstm").recording;
    assert_eq!(healthy.passes_its_failure(&expandable), None);
}

#[test]
fn the_smallest_capacity_is_enough_and_2_mib_less_is_not() {
    for name in ["fragmentation_varlen_default", "cat_gpt_fp32_sgd", "oversize_split128"] {
        let program = &recorded(name).recording.program;
        for conf in ["", "expandable_segments:True"] {
            let conf = settings(conf);
            let least = smallest_capacity(program, &conf, &ClearCache::AsRecorded);
            let run = |capacity| {
                let bounds = Bounds { limit: None, capacity: Some(capacity) };
                what_if(program, &conf, &Conditions::within(bounds))
            };
            assert!(run(least).goes_through(), "{name}: {least}");
            assert!(!run(least - 2 * MIB).goes_through(), "{name}: {least}");
            assert!(least >= program.least_bytes(&conf), "{name}: {least}");
        }
    }
}

#[test]
fn the_cache_is_emptied_when_the_caller_says() {
    let program = &recorded("cat_gpt_fp32_sgd").recording.program;
    let run = |clear_cache| {
        let conditions = Conditions { bounds: Bounds::NONE, clear_cache };
        what_if(program, &program.recorded, &conditions).totals
    };
    let never = run(ClearCache::Never);
    let last = program.entries() - 1;
    let once = run(ClearCache::Before(vec![last]));
    assert_eq!(never.peak_reserved, once.peak_reserved);
    assert!(once.reserved < never.reserved, "{once:?}");
}

#[test]
fn a_rewritten_program_holds_what_is_left_of_it() {
    let program = &recorded("cat_gpt_fp32_sgd").recording.program;
    let run = |program: &Program| what_if(program, &settings(""), &limit(None)).totals;
    let before = run(program);

    let mut halved = program.clone();
    halved.resize(|_, size| size.div_ceil(2));
    let half = run(&halved).peak_active as f64 / before.peak_active as f64;
    assert!((0.45..0.55).contains(&half), "{half}");

    let mut nothing = program.clone();
    nothing.retain(|_| false);
    assert_eq!(run(&nothing).peak_active, 0);

    // What is freed right after its request never meets the next one.
    let mut brief = program.clone();
    let ends = program.operations.iter().filter_map(|operation| match operation.what {
        What::Allocate(id) => Some((operation.entry + 1, id)),
        _ => None,
    });
    brief.free_at(ends.collect());
    let largest = program.requests.iter().map(|request| request.size).max().unwrap();
    assert!(run(&brief).peak_active < largest + 2 * MIB);
    assert_eq!(run(&brief).active, 0);
}

/// Nothing of a replay may hang on where the recorded run put its blocks.
#[test]
fn a_program_has_no_addresses_of_allocations() {
    let Recorded { recording, .. } = recorded("fragmentation_varlen_default");
    let mut rewritten = recording.program.clone();
    rewritten.resize(|_, size| size);
    let peaks = |program: &Program, addresses| {
        let conditions = limit(None);
        replay(program, &program.recorded, &conditions, addresses, |_, _| {}).totals
    };
    for addresses in [Addresses::Modelled, Addresses::Shuffled(0), Addresses::Shuffled(5)] {
        assert_eq!(peaks(&rewritten, addresses), peaks(&recording.program, addresses));
    }
}

#[test]
fn an_outcome_without_bounds_never_fails() {
    for Recorded { name, recording, snapshot, .. } in &*RECORDED {
        assert!(!snapshot.entries.is_empty());
        for conf in ["", "expandable_segments:True", "max_split_size_mb:32"] {
            let outcome: Outcome = what_if(&recording.program, &settings(conf), &limit(None));
            assert_eq!(outcome.totals.ooms, 0, "{name}");
            assert!(outcome.goes_through() && outcome.passes(0));
        }
    }
}
