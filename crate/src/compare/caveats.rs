//! What limits the truth of a comparison: moments that are not alike, and files that tell little.

use super::difference::{At, Difference, SiteRow};
use super::run::{Place, Run};
use super::{Comparison, Kind};
use crate::findings::history::{History, StacksTold};
use crate::units::{Bytes, Signed};

/// Peaks closer than this share of the larger one are called equal.
const EQUAL: f64 = 0.005;
/// Within this share of the peak another step is the same: the loop is steady.
const STEADY: f64 = 0.02;

pub(super) fn reserved(difference: &Difference, a: &Run, b: &Run, notes: &mut Vec<String>) {
    let [before, after] = difference.reserved_totals;
    let settings = |conf: &str| {
        if conf.is_empty() { "the default settings".to_owned() } else { conf.to_owned() }
    };
    let why = if a.conf == b.conf {
        String::new()
    } else {
        format!(
            "; {} ran with {}, {} with {}",
            a.name,
            settings(&a.conf),
            b.name,
            settings(&b.conf)
        )
    };
    if is_equal(before, after) && why.is_empty() {
        return;
    }
    // The idle part is what reserved memory has beyond what is allocated.
    notes.push(format!(
        "Reserved at most: {} against {} ({}){why}.",
        Bytes(after),
        Bytes(before),
        Signed(difference.reserved_bytes)
    ));
}

/// Peaks in different phases, or in steps that differ, are not the same moment of the program.
pub(super) fn places(difference: &Difference, a: &Run, b: &Run, notes: &mut Vec<String>) {
    let [one, other] = difference.places;
    let guessed = [a, b].iter().any(|run| !run.has_stacks());
    if one.phase != other.phase && !guessed {
        notes.push(format!(
            "The peaks lie in different places: that of {} {}, that of {} {}; what they consist of is not one moment's.",
            a.name, at(Some(one)), b.name, at(Some(other))
        ));
        if let Some(row) = difference.by_phase.iter().find(|row| row.phase == other.phase) {
            notes.push(format!(
                "In {} alone, {} peaks at {} and {} at {} ({}).",
                row.phase.label(),
                a.name,
                Bytes(row.a_bytes),
                b.name,
                Bytes(row.b_bytes),
                Signed(row.difference_bytes)
            ));
        }
    } else if one.step != other.step {
        // In a steady loop every step is as good as another.
        let in_step = |run: &Run, step: Option<u32>| {
            run.steps.get(step? as usize).map(|step| step.peak_bytes)
        };
        let is_steady = |run: &Run, step| {
            in_step(run, step).is_some_and(|peak| {
                peak.abs_diff(run.peak.bytes()) as f64 <= STEADY * run.peak.bytes() as f64
            })
        };
        if !is_steady(a, other.step) && !is_steady(b, one.step) {
            notes.push(format!(
                "The peaks lie in different steps: that of {} {}, that of {} {}.",
                a.name,
                at(Some(one)),
                b.name,
                at(Some(other))
            ));
            if let (Some(of_a), Some(step)) = (in_step(a, other.step), other.step) {
                notes.push(format!(
                    "In step {}, {} peaks at {} and {} at {}.",
                    u64::from(step) + 1,
                    a.name,
                    Bytes(of_a),
                    b.name,
                    Bytes(in_step(b, other.step).unwrap_or(0))
                ));
            }
        }
    }
}

pub(super) fn at(place: Option<Place>) -> String {
    match place {
        Some(Place { step: Some(step), phase }) => {
            format!("in step {}, in {}", u64::from(step) + 1, phase.label())
        }
        Some(Place { step: None, phase }) => format!("in {}, outside of all steps", phase.label()),
        None => String::new(),
    }
}

pub(super) fn limits(comparison: &Comparison, a: &Run, b: &Run, notes: &mut Vec<String>) {
    let difference = &comparison.difference;
    for (run, other) in [(a, b), (b, a)] {
        if run.has_stacks() {
            continue;
        }
        notes.push(if other.has_stacks() {
            format!("{} has no stacks: only categories are compared, and its own are guessed from sizes and lifetimes, so that a difference between categories may be the guess's.", run.name)
        } else {
            format!("{} has no stacks: only categories are compared, and they are guessed from sizes and lifetimes.", run.name)
        });
    }
    let told = [a.stacks, b.stacks];
    if told.contains(&StacksTold::Python) && told.contains(&StacksTold::PythonAndCpp) {
        notes.push("One of the files has Python frames only, so the backward pass is compared as one place.".to_owned());
    }
    for run in [a, b] {
        let partial = match run.history {
            History::Complete => continue,
            History::LateStart => "began when memory was in use already",
            History::Wrapped => "lost its oldest entries: its true peak may lie before",
            History::StateOnly | History::None => "has no history: it shows the end, not the peak",
        };
        if difference.at == At::Peak {
            notes.push(format!("The recording of {} {partial}.", run.name));
        }
    }
    let has_common = |row: &SiteRow| row.a_count > 0 && row.b_count > 0;
    if comparison.kind != Kind::Moments
        && difference.by_stack.len() > 1
        && !difference.by_stack.iter().any(has_common)
    {
        notes.push("The two have no line in common: they may be different programs.".to_owned());
    }
}

pub(super) fn is_equal(a: u64, b: u64) -> bool {
    a.abs_diff(b) as f64 <= EQUAL * a.max(b) as f64
}
