//! What an error's text adds to the snapshot of the same failure: the limit and what others hold are
//! in no field of a snapshot.

use crate::findings::Device;
use crate::message::Reading;
use crate::message::facts::Facts;
use crate::timeline::Oom;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// Text and snapshot side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Completion {
    /// Whether the text is of a failure in the snapshot; `None` where one of the two does not tell.
    pub agrees: Option<bool>,
    /// The entry of that failure.
    pub entry: Option<u32>,
    /// What the two say together, a sentence each; empty where the text has no numbers.
    pub sentences: Vec<String>,
    /// The most that PyTorch's allocator could have reserved then, by the text.
    pub limit_bytes: Option<u64>,
}

/// A text prints three digits: such a share of a number is lost.
const ROUNDING: f64 = 0.006;
/// The text prints the request as the segment it would have needed.
const SEGMENT: u64 = 20 << 20;

/// Compares `reading` with the failures of `device`.
#[must_use]
pub fn complete(device: &Device, reading: &Reading) -> Completion {
    let facts = reading.main.and_then(|main| reading.messages.get(main)).map(|found| &found.facts);
    let Some(facts) = facts else {
        return Completion { agrees: None, entry: None, sentences: Vec::new(), limit_bytes: None };
    };
    let ooms = &device.timeline.ooms;
    let oom = ooms.iter().rev().find(|oom| is_of(oom, facts));
    let says_enough = facts.allocated_bytes.is_some();
    let agrees = (says_enough && !ooms.is_empty()).then_some(oom.is_some());
    let reserved = oom.map(|oom| oom.usage.reserved).or(reserved(facts));
    let others = others(facts);
    let outside = facts.process_bytes.zip(reserved).map(|(all, own)| all.saturating_sub(own));
    let mut sentences = Vec::new();
    match (oom, agrees) {
        (Some(oom), _) => sentences.push(format!(
            "The text is of the failure at entry {}: {} allocated in both.",
            Count(u64::from(oom.entry)),
            Bytes(oom.usage.allocated)
        )),
        (None, Some(_)) => sentences.push(format!(
            "The text is of another failure than the snapshot's: it says {} allocated, the snapshot {}.",
            Bytes(facts.allocated_bytes.unwrap_or(0)),
            Bytes(ooms.last().map_or(0, |oom| oom.usage.allocated))
        )),
        (None, None) => {}
    }
    if let Some(allowed) = facts.allowed_bytes {
        sentences.push(format!(
            "A limit of {} was set on PyTorch: with more allowed, the card could have given more.",
            Bytes(allowed)
        ));
    }
    if let Some(outside) = outside.filter(|bytes| *bytes > 0) {
        sentences.push(format!(
            "{} of this process lie outside of PyTorch's allocator, in no snapshot: the CUDA context, libraries, NCCL.",
            Bytes(outside)
        ));
    }
    if let Some(others) = others.filter(|bytes| *bytes > 0) {
        sentences.push(format!(
            "{} of the card belong to other processes or to the driver.",
            Bytes(others)
        ));
    }
    let of_card = facts
        .capacity_bytes
        .zip(outside)
        .map(|(card, outside)| card.saturating_sub(outside).saturating_sub(others.unwrap_or(0)));
    let limit_bytes = facts.allowed_bytes.into_iter().chain(of_card).min();
    if let Some(limit) = limit_bytes {
        sentences.push(format!("So PyTorch could reserve {} at most.", Bytes(limit)));
    }
    Completion { agrees, entry: oom.map(|oom| oom.entry), sentences, limit_bytes }
}

fn is_of(oom: &Oom, facts: &Facts) -> bool {
    let near = |said: Option<u64>, is: u64, slack: u64| {
        said.is_none_or(|said| said.abs_diff(is) <= slack.max((ROUNDING * is as f64) as u64))
    };
    facts.allocated_bytes.is_some()
        && near(facts.allocated_bytes, oom.usage.allocated, 1 << 20)
        && near(facts.requested_bytes, oom.request_bytes, SEGMENT)
}

fn reserved(facts: &Facts) -> Option<u64> {
    let summed = facts.allocated_bytes.zip(facts.reserved_unallocated_bytes);
    facts.reserved_bytes.or(summed.map(|(live, idle)| live.saturating_add(idle)))
}

fn others(facts: &Facts) -> Option<u64> {
    let (card, free) = (facts.capacity_bytes?, facts.free_bytes?);
    Some(card.saturating_sub(free).saturating_sub(facts.process_bytes?))
}
