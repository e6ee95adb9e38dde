//! The way from an error to its remedy as a list, and the misjudgements on that way, each with
//! this file's own numbers.

use super::diagnosis::{Cause, Diagnosis};
use super::history::StacksTold;
use super::need::Need;
use super::{Device, fixes};
use crate::snapshot::Snapshot;
use crate::snapshot::segment::BlockState;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// How an item stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Done with this file.
    Done,
    /// Yet to do.
    Open,
    /// A misjudgement that this file's numbers speak against.
    Warned,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// What it is.
    pub title: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// Why, with numbers.
    pub note: String,
}

/// The five steps, in order.
#[must_use]
pub fn steps(diagnosis: &Diagnosis, device: Option<&Device>, stacks: StacksTold) -> Vec<Item> {
    use Standing::{Done, Open};
    let item =
        |title, is_done, note| Item { title, standing: if is_done { Done } else { Open }, note };
    let oom = device.and_then(|device| device.timeline.ooms.last());
    let numbers = match oom {
        Some(oom) => format!(
            "{} allocated and {} reserved when {} were asked for.",
            Bytes(oom.usage.allocated),
            Bytes(oom.usage.reserved),
            Bytes(oom.request_bytes)
        ),
        None => "No failure lies in this file: paste the error's text beside it.".to_owned(),
    };
    let is_told = diagnosis.cause() != Cause::InsufficientData;
    let place = diagnosis.headline.clone();
    let fix = diagnosis.fixes.iter().find(|fix| fix.helps);
    let fix_note = match fix {
        Some(fixes::Fix { title, saves_bytes: Some(saves), .. }) => {
            format!("First: {title}, which takes {} off the peak.", Bytes(*saves))
        }
        Some(fix) => format!("First: {}.", fix.title),
        None => "Nothing to mend was found.".to_owned(),
    };
    vec![
        item("Note allocated and reserved at the error", oom.is_some(), numbers),
        item("Record a snapshot with stacks", stacks != StacksTold::None, stacks.note().to_owned()),
        item("Find the peak or the climb, and its code", is_told, place),
        item("Apply the fix that fits", false, fix_note),
        item(
            "Still failing? Compare the peak on a larger card",
            false,
            larger_card(diagnosis, device),
        ),
    ]
}

/// What a card would have to hold.
fn larger_card(diagnosis: &Diagnosis, device: Option<&Device>) -> String {
    let Some(oom) = device.and_then(|device| device.timeline.ooms.last()) else {
        return "The peak above, and a tenth more for what the allocator cannot use, must fit."
            .to_owned();
    };
    match diagnosis.need {
        Some(Need { bytes, .. }) => format!(
            "By the steps before it, the step that failed needs {}; the process held {} reserved.",
            Bytes(bytes),
            Bytes(oom.usage.reserved)
        ),
        None => format!(
            "The request alone brings it to {}; how much the rest of the step needs is not in the file.",
            Bytes(oom.usage.allocated.saturating_add(oom.request_bytes))
        ),
    }
}

/// The four misjudgements.
#[must_use]
pub fn misjudgements(
    snapshot: &Snapshot,
    diagnosis: &Diagnosis,
    device: Option<&Device>,
) -> Vec<Item> {
    let Some(device) = device else { return Vec::new() };
    let oom = device.timeline.ooms.last();
    let usage = device.timeline.usage_after(diagnosis.entry);
    let idle = usage.idle();
    let share = 100.0 * idle as f64 / usage.reserved.max(1) as f64;
    let warned = |title, is_warned, note| Item {
        title,
        standing: if is_warned { Standing::Warned } else { Standing::Done },
        note,
    };
    let cache = match oom {
        Some(oom) => format!(
            "It would return nothing here: PyTorch had given back every idle segment before it gave up. You need {} more.",
            Bytes(oom.request_bytes)
        ),
        None => format!(
            "At the end it would return {}, the segments without a live block, to the driver; no tensor gets smaller by it.",
            Bytes(idle_segments(snapshot, device))
        ),
    };
    let fragmented = diagnosis.cause() == Cause::Fragmentation;
    let expandable = match oom {
        Some(oom) if !fragmented => format!(
            "They can win back at most the {} that lay idle; {} were asked for.",
            Bytes(idle),
            Bytes(oom.request_bytes)
        ),
        _ => format!("They can win back at most what lies idle: {} at this moment.", Bytes(idle)),
    };
    let kept = diagnosis.kept.as_ref();
    let climb = match kept {
        Some(kept) if kept.per_step > 0 => {
            format!("Each step keeps {} more: this is no normal growth.", Bytes(kept.per_step))
        }
        _ => match device.steps.len() {
            0 => "No steps were recognised, so nothing says whether memory grows.".to_owned(),
            steps => format!("Over {} steps nothing is kept that grows.", Count(steps as u64)),
        },
    };
    vec![
        warned("`empty_cache()` makes more memory", oom.is_some(), cache),
        warned(
            "`expandable_segments` end every out-of-memory error",
            oom.is_some() && !fragmented,
            expandable,
        ),
        warned(
            "Fragmentation taken for too small a card",
            fragmented,
            format!(
                "Reserved less active is {} here, {share:.0} % of what is reserved.",
                Bytes(idle)
            ),
        ),
        warned("A slow climb taken for normal growth", kept.is_some(), climb),
    ]
}

/// Bytes of the segments in which nothing is alive, when the file was written.
fn idle_segments(snapshot: &Snapshot, device: &Device) -> u64 {
    let of_device =
        snapshot.segments.iter().filter(|segment| segment.device == device.timeline.device);
    of_device
        .filter(|segment| {
            snapshot.blocks_of(segment).iter().all(|block| block.state == BlockState::Inactive)
        })
        .map(|segment| segment.total_size)
        .fold(0, u64::saturating_add)
}
