//! The diagnosis against what is known of the recordings: causes, also of poorer recordings, shapes,
//! and the savings that a change would bring.

use crate::degrade::Degrade;
use crate::support::{fixtures, open, truth};
use oomscope::findings::diagnosis::Cause;
use oomscope::findings::savings::batch::Batch;
use oomscope::findings::savings::checkpoint::Checkpointing;
use oomscope::findings::savings::{Kept, Recording};
use oomscope::findings::shape::Form;
use oomscope::findings::{Device, Findings};

/// From here on a verdict is confident: it must not be wrong.
const CONFIDENT: f64 = 0.6;

fn causes(fixture: &str) -> Option<Vec<String>> {
    match &truth(fixture)["cause"] {
        serde_json::Value::String(cause) => Some(vec![cause.clone()]),
        serde_json::Value::Array(all) => {
            Some(all.iter().map(|cause| cause.as_str().unwrap().to_owned()).collect())
        }
        _ => None,
    }
}

fn name_of(cause: Cause) -> String {
    serde_json::to_value(cause).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn every_recording_keeps_its_cause_and_a_poorer_one_is_never_confidently_wrong() {
    for fixture in fixtures() {
        let Some(causes) = causes(&fixture) else { continue };
        for input in Degrade::ALL {
            let mut snapshot = open(&fixture);
            input.apply(&mut snapshot);
            let diagnosis = Findings::of(&snapshot).diagnosis;
            let said = name_of(diagnosis.cause());
            let is_weak = diagnosis.cause() == Cause::InsufficientData
                || diagnosis.ranking[0].confidence < CONFIDENT;
            let is_right = causes.contains(&said);
            let may_miss = input != Degrade::Nothing && is_weak;
            assert!(
                is_right || may_miss,
                "{fixture}, {}: {said} ({}), is {causes:?}",
                input.label(),
                diagnosis.ranking[0].confidence
            );
        }
    }
}

#[test]
fn the_shape_is_the_one_that_the_eye_sees() {
    let shapes = [
        ("leak_loss_history", Form::Climb),
        ("leak_refcycle_sawtooth", Form::Saw),
        ("weights_7b_first_step", Form::Level),
        ("kv_cache_preallocated", Form::Level),
        ("activation_naive_attention", Form::Spike),
        ("shape_oom_observer", Form::Spike),
        ("cat_gpt_adamw", Form::Waves),
        ("cat_lstm", Form::Waves),
    ];
    for (fixture, form) in shapes {
        let findings = Findings::of(&open(fixture));
        let shape = findings.devices[0].shape.unwrap();
        assert_eq!(shape.form, form, "{fixture}");
        let entries = findings.devices[0].timeline.entries();
        assert!(shape.begin < shape.end && shape.end <= entries, "{fixture}: {shape:?}");
    }
}

/// The whole recording of a device, failure included.
fn recording(device: &Device) -> Recording<'_> {
    Recording { device, upto: device.last_entry(), request: None }
}

#[test]
fn without_a_change_the_peak_is_the_recorded_one() {
    for fixture in fixtures() {
        for device in &Findings::of(&open(&fixture)).devices {
            if device.timeline.entries() == 0 {
                continue;
            }
            let peak = device.timeline.peaks.allocated.bytes;
            assert_eq!(recording(device).peak(|_| Kept::WHOLE), peak, "{fixture}");
            assert_eq!(recording(device).peak(|_| Kept::NOTHING), 0, "{fixture}");
        }
    }
}

/// The same model was recorded with and without checkpointing.
#[test]
fn checkpointing_is_predicted_from_the_run_without_it() {
    let snapshot = open("cat_gpt_adamw");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let found =
        Checkpointing::of(&snapshot, &findings.kinds, &findings.marks, recording(device)).unwrap();
    let peak = recording(device).peak(|held| found.kept(held));
    let measured = truth("cat_gpt_checkpoint")["stats"]["allocated_bytes.all.peak"].as_u64();
    let error = peak as f64 / measured.unwrap() as f64 - 1.0;
    assert!(error.abs() < 0.005, "predicted {peak} of {measured:?}");
    assert_eq!(found.blocks, 8);
}

#[test]
fn a_batch_of_its_own_size_changes_nothing_and_a_smaller_one_never_needs_more() {
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let batch = Batch::of(recording(device), &findings.marks);
            let whole = recording(device).peak(|_| Kept::WHOLE);
            assert_eq!(batch.peak(1.0), whole, "{fixture}");
            assert!(batch.peak(0.5) <= whole, "{fixture}");
            assert!(batch.peak(0.25) <= batch.peak(0.5), "{fixture}");
        }
    }
}

#[test]
fn a_fix_saves_no_more_than_there_is_and_what_does_not_help_saves_nothing() {
    for fixture in fixtures() {
        let findings = Findings::of(&open(&fixture));
        let diagnosis = &findings.diagnosis;
        let Some(device) = findings.device(diagnosis.device) else { continue };
        let asked = device.timeline.ooms.last().map_or(0, |oom| oom.request_bytes);
        let peak = device.timeline.peaks.reserved.bytes + asked;
        for fix in &diagnosis.fixes {
            let saves = fix.saves_bytes.unwrap_or(0);
            assert!(saves <= peak, "{fixture}: {} saves {saves} of {peak}", fix.id);
            assert!(fix.helps || saves == 0, "{fixture}: {}", fix.id);
        }
    }
}

#[test]
fn expandable_segments_are_never_advised_where_they_are_on() {
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        let is_on = snapshot.settings.as_ref().is_some_and(|settings| settings.expandable_segments);
        let advised = Findings::of(&snapshot)
            .diagnosis
            .fixes
            .iter()
            .any(|fix| fix.helps && fix.id == "expandable_segments");
        assert!(!(is_on && advised), "{fixture}");
    }
}
