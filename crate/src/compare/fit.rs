//! Code or card: whether a run would have fitted on a card, and the least change that makes it fit.
//! The recorded requests are replayed within the card's room, under several settings.

use crate::allocator::cache::Bounds;
use crate::allocator::enough::smallest_capacity;
use crate::allocator::program::Program;
use crate::allocator::settings::Settings;
use crate::allocator::what_if::{ClearCache, Conditions, what_if};
use crate::findings::diagnosis::Diagnosis;
use crate::findings::fixes::Basis;
use crate::findings::savings::batch::Batch;
use crate::findings::savings::{Kept, Recording};
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Settings tried where the recorded ones do not fit, the most likely first. None costs speed or
/// changes a result.
const TRIED: [&str; 3] =
    ["expandable_segments:True", "max_split_size_mb:128", "expandable_segments:False"];

/// Fixes that settings are tried for already, or that say what the change is measured by.
const NOT_TRIED: [&str; 3] = ["expandable_segments", "steadier_sizes", "half_batch"];

/// Shares of the batch tried, in sixteenths, the largest first.
const BATCHES: [u32; 8] = [14, 12, 10, 8, 6, 4, 2, 1];

/// A change that makes a run fit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Change {
    /// Its name for programs: `settings`, `smaller_batch`, or a fix of the report.
    pub id: String,
    /// What to do.
    pub title: String,
    /// How that is known.
    pub basis: Basis,
}

/// One run on one card.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Fit {
    /// What the card can give to the process, in bytes.
    pub capacity_bytes: u64,
    /// Whether the run fits as it is.
    pub fits: bool,
    /// Whether it ends in a failure, so that only the way there is known.
    pub ends_in_failure: bool,
    /// The least card under the recorded settings, in bytes: for what was recorded, or for the
    /// whole of the step that failed.
    pub needed_bytes: u64,
    /// The settings under which least is needed, in PyTorch's syntax; empty for its defaults.
    pub best_conf: String,
    /// The least card under those.
    pub best_needed_bytes: u64,
    /// What makes it fit, the least change first; empty where it fits, or where no single change
    /// that can be counted is enough.
    pub changes: Vec<Change>,
}

impl Fit {
    /// Replays `device` on a card with room for `capacity_bytes`; `None` where its trace has no
    /// allocation.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        findings: &Findings,
        device: &Device,
        capacity_bytes: u64,
    ) -> Option<Fit> {
        let recording = device.recording(snapshot);
        if recording.verification.compared == 0 {
            return None;
        }
        let program = &recording.program;
        let diagnosis = &findings.diagnosis;
        let need = diagnosis.need.map_or(0, |need| need.bytes);
        let goes_through = |settings: &Settings| {
            let bounds = Bounds { limit: None, capacity: Some(capacity_bytes) };
            need <= capacity_bytes
                && what_if(program, settings, &Conditions::within(bounds)).goes_through()
        };
        let needed = |settings: &Settings| {
            smallest_capacity(program, settings, &ClearCache::AsRecorded).max(need)
        };
        let recorded = &program.recorded;
        let needed_bytes = needed(recorded);
        let fits = goes_through(recorded);
        let others = others(program);
        let best = others
            .iter()
            .map(|settings| (needed(settings), settings))
            .min_by_key(|(bytes, _)| *bytes)
            .filter(|(bytes, _)| *bytes < needed_bytes)
            .unwrap_or((needed_bytes, recorded));
        let mut changes = Vec::new();
        if !fits {
            let fitting = others.iter().find(|settings| goes_through(settings));
            changes.extend(fitting.map(|settings| Change {
                id: "settings".to_owned(),
                title: format!("set PYTORCH_CUDA_ALLOC_CONF={settings}"),
                basis: Basis::Replayed,
            }));
            let short = best.0.saturating_sub(capacity_bytes);
            if changes.is_empty() && short > 0 {
                changes.extend(fix(diagnosis, short));
                changes.extend(smaller_batch(findings, device, need, best.0, capacity_bytes));
            }
        }
        Some(Fit {
            capacity_bytes,
            fits,
            ends_in_failure: program.end_in_failure().is_some(),
            needed_bytes,
            best_conf: best.1.to_string(),
            best_needed_bytes: best.0,
            changes,
        })
    }

    /// The answer in a sentence without its subject.
    #[must_use]
    pub fn sentence(&self) -> String {
        let capacity = Bytes(self.capacity_bytes);
        if self.fits && self.ends_in_failure {
            return format!(
                "gets past its failure on a card with room for {capacity}; what comes after is not recorded"
            );
        }
        if self.fits {
            return format!(
                "fits into {capacity} as it is: {} are enough",
                Bytes(self.needed_bytes)
            );
        }
        let needs = Bytes(self.needed_bytes);
        match self.changes.first() {
            Some(change) => {
                format!(
                    "needs {needs} and does not fit into {capacity}; the least change that makes it fit: {}",
                    change.title
                )
            }
            None if self.best_needed_bytes < self.needed_bytes => format!(
                "needs {needs} and does not fit into {capacity}; with {} it needs {}, and no single change that can be counted is enough",
                if self.best_conf.is_empty() {
                    "PyTorch's default settings"
                } else {
                    &self.best_conf
                },
                Bytes(self.best_needed_bytes)
            ),
            None => format!(
                "needs {needs} and does not fit into {capacity}; no setting of the allocator helps, and no single change that can be counted is enough"
            ),
        }
    }
}

fn others(program: &Program) -> Vec<Settings> {
    let parsed = TRIED.iter().filter_map(|conf| Settings::parse(conf).ok());
    parsed.map(|parsed| parsed.settings).filter(|other| *other != program.recorded).collect()
}

/// The fix of the report that saves enough, one without a cost first, then the smallest.
fn fix(diagnosis: &Diagnosis, short: u64) -> Option<Change> {
    let enough = diagnosis.fixes.iter().filter(|fix| {
        fix.helps
            && !NOT_TRIED.contains(&fix.id)
            && fix.saves_bytes.is_some_and(|saves| saves >= short)
    });
    let least = enough.min_by_key(|fix| (!fix.cost.is_empty(), fix.saves_bytes))?;
    Some(Change {
        id: least.id.to_owned(),
        title: format!(
            "{} (saves {}, {})",
            lower_first(&least.title),
            Bytes(least.saves_bytes.unwrap_or(0)),
            least.basis.label()
        ),
        basis: least.basis,
    })
}

/// The largest batch that fits. What the allocator needs beyond the allocated peak stays.
fn smaller_batch(
    findings: &Findings,
    device: &Device,
    need: u64,
    needed: u64,
    capacity: u64,
) -> Option<Change> {
    let recording = Recording { device, upto: device.last_entry(), request: None };
    let whole = recording.peak(|_| Kept::WHOLE).max(1);
    let peak = device.timeline.peaks.allocated.bytes.max(need);
    let beyond = needed.saturating_sub(peak);
    let batch = Batch::of(recording, &findings.marks);
    let fits = |sixteenths: &u32| {
        let share = batch.peak(f64::from(*sixteenths) / 16.0) as f64 / whole as f64;
        (share * peak as f64) as u64 + beyond <= capacity
    };
    let sixteenths = BATCHES.into_iter().find(fits)?;
    Some(Change {
        id: "smaller_batch".to_owned(),
        title: format!("run {} % of the batch at a time (estimated)", sixteenths * 100 / 16),
        basis: Basis::Estimated,
    })
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
