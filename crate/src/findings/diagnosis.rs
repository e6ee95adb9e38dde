//! The verdict: what happened, judged at the failure or, without one, at the fullest moment.
//!
//! A failure is judged by the state at its `oom` entry. The segments of the file are of no use
//! for that: they are written after the exception has unwound and let go of what filled the card.

use super::frame_kind::FrameKinds;
use super::history::History;
use super::keeping::References;
use super::lines::{self, Line};
use super::marks::StackMarks;
use super::need::Need;
use super::savings::Recording;
use super::{Composition, Device, fixes, judge};
use crate::allocator::enough::Passage;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A cause.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Weights, gradients and optimizer states.
    Weights,
    /// What the running step computes with and keeps for its backward pass.
    Activations,
    /// Idle reserved memory in pieces that fit no request.
    Fragmentation,
    /// References kept.
    Leak,
    /// The key/value cache of a language model.
    KvCache,
    /// Nothing failed.
    None,
    /// The file cannot tell.
    InsufficientData,
}

/// One observation behind a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// One sentence.
    pub statement: String,
    /// The bytes that it speaks of.
    pub bytes: Option<u64>,
    /// The entry that shows it.
    pub entry: Option<u32>,
    /// The stack that shows it.
    pub stack: Option<StackId>,
}

/// A cause with what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The cause.
    pub cause: Cause,
    /// From 0 to 1.
    pub confidence: f64,
    /// The bytes that it accounts for.
    pub bytes: u64,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
}

/// The moment that is judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// A failed allocation.
    Oom,
    /// The fullest moment of a recording without one.
    Peak,
    /// The end: there is no trace.
    End,
}

/// What happened, where, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The device judged: the one that failed, or else the fullest.
    pub device: u32,
    /// The entry judged.
    pub entry: u32,
    /// What it is.
    pub moment: Moment,
    /// The causes, likeliest first; never empty.
    pub ranking: Vec<Claim>,
    /// What made it worse.
    pub contributing: Vec<Claim>,
    /// Causes that the numbers rule out, and why.
    pub ruled_out: Vec<(Cause, String)>,
    /// Whether the recorded requests get past the failure with expandable segments, where fragmentation
    /// was in question.
    pub passage: Option<Passage>,
    /// What the step that failed needs in all, by the steps before it.
    pub need: Option<Need>,
    /// How many bytes less would have gone through, where that is known.
    pub margin_bytes: Option<u64>,
    /// Allocated bytes by category at the moment.
    pub composition: Composition,
    /// What holds them, most bytes first.
    pub lines: Vec<Line>,
    /// The references kept, where there is a leak.
    pub kept: Option<References>,
    /// What to do, and what would not help.
    pub fixes: Vec<fixes::Fix>,
    /// The verdict in one sentence.
    pub headline: String,
    /// What stands behind it, a few sentences.
    pub summary: Vec<String>,
}

/// Fewer allocations than this tell nothing.
const FEW_ALLOCATIONS: usize = 10;

impl Cause {
    /// Its name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Cause::Weights => "weights, gradients and optimizer states",
            Cause::Activations => "activations",
            Cause::Fragmentation => "fragmentation",
            Cause::Leak => "leak",
            Cause::KvCache => "KV cache",
            Cause::None => "no failure",
            Cause::InsufficientData => "the file cannot tell",
        }
    }
}

impl Evidence {
    /// A sentence and the bytes that it speaks of.
    pub(super) fn of_bytes(statement: String, bytes: u64) -> Evidence {
        Evidence { statement, bytes: Some(bytes), entry: None, stack: None }
    }
}

impl Diagnosis {
    /// Judges a snapshot.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        devices: &[Device],
        kinds: &FrameKinds,
        marks: &StackMarks,
        history: History,
    ) -> Diagnosis {
        let fullest = |device: &Device| device.timeline.peaks.allocated;
        let failed = devices
            .iter()
            .filter(|device| !device.timeline.ooms.is_empty())
            .max_by_key(|device| fullest(device).bytes);
        let Some(device) =
            failed.or_else(|| devices.iter().max_by_key(|device| fullest(device).bytes))
        else {
            return empty();
        };
        let oom = device.timeline.ooms.last();
        let moment = match oom {
            Some(_) => Moment::Oom,
            None if device.timeline.entries() == 0 => Moment::End,
            None if matches!(history, History::None | History::StateOnly) => Moment::End,
            None => Moment::Peak,
        };
        let entry = match (oom, moment) {
            (Some(oom), _) => oom.entry,
            (None, Moment::End) => device.last_entry(),
            (None, _) => fullest(device).entry,
        };
        let composition = device.composition(entry);
        let mut diagnosis = Diagnosis {
            device: device.timeline.device,
            entry,
            moment,
            ranking: Vec::new(),
            contributing: Vec::new(),
            ruled_out: Vec::new(),
            passage: None,
            need: None,
            margin_bytes: None,
            composition,
            lines: lines::lines_at(snapshot, &device.timeline, kinds, &device.classes, entry),
            kept: None,
            fixes: Vec::new(),
            headline: String::new(),
            summary: Vec::new(),
        };
        let allocations = device.timeline.allocations.len() - device.timeline.older;
        let is_silent =
            matches!(history, History::None | History::StateOnly) || allocations < FEW_ALLOCATIONS;
        match oom {
            None if is_silent => diagnosis.cannot_tell(device, history),
            _ => judge::judge(&mut diagnosis, snapshot, device, kinds, marks, history),
        }
        let recording = Recording {
            device,
            upto: if moment == Moment::Oom { entry } else { device.last_entry() },
            request: oom.map(|oom| {
                (oom.request_bytes, judge::request_category(snapshot, device, marks, oom))
            }),
        };
        let case = fixes::Case::new(snapshot, kinds, marks, &diagnosis, recording);
        diagnosis.fixes = fixes::fixes(&case);
        diagnosis
    }

    /// The first of the ranking.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.ranking.first().map_or(Cause::InsufficientData, |claim| claim.cause)
    }

    fn cannot_tell(&mut self, device: &Device, history: History) {
        let held = device.timeline.usage_after(self.entry);
        let why = match history {
            History::None => "nothing was recorded before it was written",
            History::StateOnly => "it holds the last state only, without the way there",
            _ => "its trace has too few allocations",
        };
        self.headline = format!("This file cannot tell why memory ran out: {why}.");
        self.summary = vec![format!(
            "At the end {} were allocated and {} reserved.",
            Bytes(held.allocated),
            Bytes(held.reserved)
        )];
        self.ranking = vec![Claim {
            cause: Cause::InsufficientData,
            confidence: 0.95,
            bytes: held.allocated,
            evidence: vec![Evidence::of_bytes(
                format!(
                    "The file shows {} allocated at the end, and {why}.",
                    Bytes(held.allocated)
                ),
                held.allocated,
            )],
        }];
    }
}

fn empty() -> Diagnosis {
    Diagnosis {
        device: 0,
        entry: 0,
        moment: Moment::End,
        ranking: vec![Claim {
            cause: Cause::InsufficientData,
            confidence: 0.95,
            bytes: 0,
            evidence: vec![Evidence::of_bytes(
                "The process held no CUDA memory when the file was written.".to_owned(),
                0,
            )],
        }],
        contributing: Vec::new(),
        ruled_out: Vec::new(),
        passage: None,
        need: None,
        margin_bytes: None,
        composition: [0; 10],
        lines: Vec::new(),
        kept: None,
        fixes: Vec::new(),
        headline: "This file is empty: the process held no CUDA memory when it was written."
            .to_owned(),
        summary: Vec::new(),
    }
}
