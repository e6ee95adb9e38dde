//! What to do, what it would bring and what it costs; and what would not help.

mod allocator;
mod cache;
mod kept;
mod replay;
mod resident;
mod running;
mod useless;

use super::Device;
use super::category::Category;
use super::diagnosis::{Cause, Diagnosis};
use super::frame_kind::FrameKinds;
use super::marks::StackMarks;
use super::savings::{Held, Kept, Recording};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::FrameId;
use replay::Effect;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// How a saving is known.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The recorded requests, run through the allocator's rules under other settings.
    Replayed,
    /// Read off the recording.
    Measured,
    /// Estimated from the recording.
    Estimated,
    /// Not known.
    None,
}

impl Basis {
    /// The same for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Basis::Replayed => "replayed",
            Basis::Measured => "measured",
            Basis::Estimated => "estimated",
            Basis::None => "not known",
        }
    }
}

/// One thing to do, or one that people try and that would not help here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fix {
    /// Its name for programs.
    pub id: &'static str,
    /// What to do, in a few words.
    pub title: String,
    /// Whether it helps here.
    pub helps: bool,
    /// What it takes off the peak of what was recorded, in bytes.
    pub saves_bytes: Option<u64>,
    /// How that is known.
    pub basis: Basis,
    /// Where, how, and why the number.
    pub note: String,
    /// What it costs; empty where nothing.
    pub cost: &'static str,
    /// Code to copy.
    pub snippet: Option<String>,
}

impl Fix {
    fn of(id: &'static str, title: impl Into<String>, note: impl Into<String>) -> Fix {
        Fix {
            id,
            title: title.into(),
            helps: true,
            saves_bytes: None,
            basis: Basis::None,
            note: note.into(),
            cost: "",
            snippet: None,
        }
    }

    fn saving(mut self, bytes: u64, basis: Basis) -> Fix {
        self.saves_bytes = Some(bytes);
        self.basis = basis;
        self
    }

    /// What a change brings: its number, and the replay's sentence behind the note.
    fn bringing(mut self, effect: Effect, basis: Basis) -> Fix {
        self.note.push_str(&effect.replayed.unwrap_or_default());
        self.saving(effect.saves, basis)
    }

    fn costing(mut self, cost: &'static str) -> Fix {
        self.cost = cost;
        self
    }

    fn with(mut self, snippet: impl Into<String>) -> Fix {
        self.snippet = Some(snippet.into());
        self
    }

    fn useless(mut self) -> Fix {
        self.helps = false;
        self
    }
}

/// What the fixes are worked out from.
pub(super) struct Case<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) device: &'a Device,
    pub(super) kinds: &'a FrameKinds,
    pub(super) marks: &'a StackMarks,
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) recording: Recording<'a>,
    /// The peak as recorded, in bytes.
    pub(super) peak: u64,
    /// Operations that may still be replayed.
    operations: Cell<usize>,
}

/// A saving below this share of the peak is not worth the work.
const WORTH: f64 = 0.02;

/// The fixes of the first cause, the largest saving first, then of others beside it, then what would
/// not help.
pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut fixes = match case.diagnosis.cause() {
        Cause::Fragmentation => allocator::fixes(case),
        Cause::Leak => kept::fixes(case),
        Cause::Activations => running::fixes(case),
        Cause::Weights => resident::fixes(case),
        Cause::KvCache => cache::fixes(case),
        // Nothing to mend, but what would lower the peak is worth knowing.
        Cause::None if case.of_running() > case.of_resident() => running::fixes(case),
        Cause::None => resident::fixes(case),
        Cause::InsufficientData => Vec::new(),
    };
    fixes.sort_by_key(|fix| std::cmp::Reverse(fix.saves_bytes));
    // A cause of its own weight beside the first deserves its best remedy too.
    for claim in case.diagnosis.ranking.iter().skip(1).take(2) {
        if claim.bytes as f64 >= 0.25 * case.peak as f64 {
            let more = match claim.cause {
                Cause::Activations => running::fixes(case),
                Cause::Weights => resident::fixes(case),
                Cause::KvCache => cache::fixes(case),
                _ => Vec::new(),
            };
            fixes.extend(more.into_iter().max_by_key(|fix| fix.saves_bytes));
        }
    }
    let least = (case.peak as f64 * WORTH) as u64;
    fixes.retain(|fix| fix.saves_bytes.is_none_or(|saves| saves >= least));
    let mut seen: Vec<&'static str> = Vec::new();
    fixes.retain(|fix| {
        let is_new = !seen.contains(&fix.id);
        seen.push(fix.id);
        is_new
    });
    fixes.extend(useless::fixes(case));
    fixes
}

impl<'a> Case<'a> {
    /// The case of `diagnosis`, whose fixes are not known yet.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        kinds: &'a FrameKinds,
        marks: &'a StackMarks,
        diagnosis: &'a Diagnosis,
        recording: Recording<'a>,
    ) -> Self {
        let (device, peak) = (recording.device, recording.peak(|_| Kept::WHOLE));
        let operations = Cell::new(replay::OPERATIONS);
        Case { snapshot, device, kinds, marks, diagnosis, recording, peak, operations }
    }

    fn of(&self, category: Category) -> u64 {
        self.diagnosis.composition[category.place()]
    }

    fn of_running(&self) -> u64 {
        self.of(Category::Activations) + self.of(Category::Temporaries) + self.of(Category::Inputs)
    }

    fn of_resident(&self) -> u64 {
        self.of(Category::Weights)
            + self.of(Category::Gradients)
            + self.of(Category::OptimizerStates)
    }

    /// What a change takes off the peak.
    fn saves(&self, change: impl Fn(&Held<'a>) -> Kept) -> u64 {
        self.peak.saturating_sub(self.recording.peak(change))
    }

    fn is_expandable(&self) -> bool {
        let device = self.device.timeline.device;
        self.snapshot.settings.as_ref().is_some_and(|settings| settings.expandable_segments)
            || self
                .snapshot
                .segments
                .iter()
                .any(|segment| segment.device == device && segment.is_expandable)
    }

    /// Whether any backward pass or optimizer was recorded.
    fn trains(&self) -> bool {
        use super::marks::Phase;
        let phases = &self.device.phases.by_entry;
        phases.iter().any(|phase| matches!(phase, Phase::Backward | Phase::Optimizer))
    }

    /// A line as `model.py:88`.
    fn line(&self, frame: FrameId) -> String {
        super::lines::short_line(self.snapshot, frame)
    }
}
