//! What can be asked of a recording: other settings, another limit or card, another use of the
//! cache, a changed program.

use crate::allocator::cache::Bounds;
use crate::allocator::program::Program;
use crate::allocator::settings::{Parsed, Settings};
use crate::allocator::verify::Recording;
use crate::allocator::what_if::ClearCache;
use crate::findings::savings::change::Change;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Count};
use serde::{Deserialize, Serialize};

/// Of a replay that starts without the cache from before the trace.
pub(super) const COLD: &str = "What lay in the cache before the recording began is left out: record from the start of the process to have it counted.";

/// When the program calls `torch.cuda.empty_cache()`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyCache {
    /// Never.
    Never,
    /// Where the recorded program did.
    #[default]
    Recorded,
    /// Between the steps, and nowhere else.
    EveryStep,
}

/// What is asked.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Question {
    /// Settings; `None` for those of the recording.
    #[serde(skip)]
    pub conf: Option<Parsed>,
    /// Bytes that the process may reserve.
    pub limit: Option<u64>,
    /// Bytes that the card can give.
    pub capacity: Option<u64>,
    /// When the cache is emptied.
    pub empty_cache: EmptyCache,
    /// What is different in the program.
    pub change: Change,
}

/// How the bounds of the replay are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundsBasis {
    /// They were asked for.
    Told,
    /// The recorded run shows them.
    Inferred,
    /// There are none, so that nothing fails.
    None,
}

/// What is replayed for a question, apart from settings and bounds.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The changed program; `None` for the recorded one.
    changed: Option<Program>,
    /// When its cache is emptied.
    pub clear_cache: ClearCache,
    /// What was changed and what could not be, a sentence each.
    pub notes: Vec<String>,
}

impl Subject {
    /// The program that is replayed.
    #[must_use]
    pub fn program<'a>(&'a self, recording: &'a Recording) -> &'a Program {
        self.changed.as_ref().unwrap_or(&recording.program)
    }
}

impl Question {
    /// Whether steps or categories must be known to answer it.
    #[must_use]
    pub fn needs_findings(&self) -> bool {
        self.empty_cache == EmptyCache::EveryStep || !self.change.is_none()
    }

    /// What is replayed for a question that needs no findings.
    #[must_use]
    pub fn as_recorded(&self) -> Subject {
        let clear_cache = match self.empty_cache {
            EmptyCache::Never => ClearCache::Never,
            EmptyCache::Recorded | EmptyCache::EveryStep => ClearCache::AsRecorded,
        };
        Subject { clear_cache, ..Subject::default() }
    }

    /// What is replayed of `device`.
    #[must_use]
    pub fn subject(&self, snapshot: &Snapshot, findings: &Findings, device: &Device) -> Subject {
        let mut subject = self.as_recorded();
        let recorded = device.recording(snapshot).verification.recorded_peak;
        if !self.change.is_none() {
            let changed = self.change.applied(snapshot, findings, device);
            subject.changed = Some(changed.program);
            subject.notes = changed.notes;
            subject.notes.push(format!(
                "A changed program is an estimate, however exact its replay is; the recorded one reserved {} at most.",
                Bytes(recorded)
            ));
        }
        if self.empty_cache == EmptyCache::EveryStep {
            let between: Vec<u32> = device.steps.iter().skip(1).map(|step| step.begin).collect();
            subject.notes.push(match between.len() {
                0 => "No two steps are seen, so the cache is never emptied.".to_owned(),
                count => format!(
                    "The cache is emptied between the steps, {} times; each time waits for the GPU, and the next step asks the driver again.",
                    Count(count as u64)
                ),
            });
            subject.clear_cache = ClearCache::Before(between);
        }
        subject
    }

    /// What may be reserved under `settings`.
    pub(super) fn bounds(
        &self,
        settings: &Settings,
        recording: &Recording,
    ) -> (Bounds, BoundsBasis) {
        let fraction = settings.per_process_memory_fraction.zip(self.capacity);
        let limit =
            self.limit.or(fraction.map(|(fraction, capacity)| (fraction * capacity as f64) as u64));
        let told = Bounds { limit, capacity: self.capacity };
        let inferred = recording.bounds();
        if told.is_bounded() {
            (told, BoundsBasis::Told)
        } else if inferred.is_bounded() {
            (inferred, BoundsBasis::Inferred)
        } else {
            (Bounds::NONE, BoundsBasis::None)
        }
    }
}
