//! The verdict: what happened, judged at the failure or, without one, at the fullest moment.
//!
//! A failure is judged by the state at its `oom` entry. The segments of the file are of no use
//! for that: they are written after the exception has unwound and let go of what filled the card.

use super::category::Category;
use super::frame_kind::FrameKinds;
use super::history::History;
use super::lines::{self, Line};
use super::marks::{Phase, StackMarks};
use super::{Composition, Device, fixes};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::Oom;
use crate::timeline::usage::UsageColumns;
use crate::units::Bytes;
use serde::Serialize;

/// A cause.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
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
    /// How many bytes less would have gone through, where that is known.
    pub margin_bytes: Option<u64>,
    /// Allocated bytes by category at the moment.
    pub composition: Composition,
    /// What holds them, most bytes first.
    pub lines: Vec<Line>,
    /// What to do.
    pub fixes: Vec<fixes::Fix>,
    /// The verdict in one sentence.
    pub headline: String,
    /// What stands behind it, a few sentences.
    pub summary: Vec<String>,
}

/// Idle memory below this share of what is reserved is the caching allocator's ordinary slack.
const IDLE_SHARE: f64 = 0.15;
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

fn say(statement: String, bytes: u64) -> Evidence {
    Evidence { statement, bytes: Some(bytes), entry: None, stack: None }
}

fn part(composition: &Composition, category: Category) -> u64 {
    composition[category.place()]
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
        let fullest = |device: &Device| {
            UsageColumns::peak(&device.timeline.usage.allocated, device.timeline.start.allocated)
        };
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
            None => Moment::Peak,
        };
        let entry = oom.map_or_else(|| fullest(device).entry, |oom| oom.entry);
        let composition = device.composition(entry);
        let mut diagnosis = Diagnosis {
            device: device.timeline.device,
            entry,
            moment,
            ranking: Vec::new(),
            contributing: Vec::new(),
            ruled_out: Vec::new(),
            margin_bytes: None,
            composition,
            lines: lines::lines_at(snapshot, &device.timeline, kinds, &device.classes, entry),
            fixes: Vec::new(),
            headline: String::new(),
            summary: Vec::new(),
        };
        let allocations = device.timeline.allocations.len() - device.timeline.older;
        let is_silent =
            matches!(history, History::None | History::StateOnly) || allocations < FEW_ALLOCATIONS;
        match oom {
            None if is_silent => diagnosis.cannot_tell(device, history),
            None => diagnosis.no_failure(device),
            Some(oom) => diagnosis.failure(snapshot, device, marks, oom),
        }
        diagnosis.fixes = fixes::fixes(snapshot, device, &diagnosis);
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
            evidence: vec![say(
                format!(
                    "The file shows {} allocated at the end, and {why}.",
                    Bytes(held.allocated)
                ),
                held.allocated,
            )],
        }];
    }

    fn no_failure(&mut self, device: &Device) {
        let peak = device.timeline.usage_after(self.entry);
        self.headline = format!(
            "Nothing failed in this recording; at its fullest it held {}.",
            Bytes(peak.allocated)
        );
        self.summary = vec![format!(
            "At the peak {} were allocated and {} reserved.",
            Bytes(peak.allocated),
            Bytes(peak.reserved)
        )];
        self.ranking = vec![Claim {
            cause: Cause::None,
            confidence: 0.5,
            bytes: 0,
            evidence: vec![say(
                "No allocation failed while it was recorded.".to_owned(),
                peak.allocated,
            )],
        }];
    }

    fn failure(&mut self, snapshot: &Snapshot, device: &Device, marks: &StackMarks, oom: &Oom) {
        let usage = oom.usage;
        let request = oom.request_bytes;
        self.margin_bytes = margin(oom);
        let idle_share = usage.idle() as f64 / usage.reserved.max(1) as f64;
        let fits = request <= oom.idle_bytes;
        let is_fragmented = fits && idle_share >= IDLE_SHARE;
        if is_fragmented {
            self.ranking.push(Claim {
                cause: Cause::Fragmentation,
                confidence: 0.9,
                bytes: oom.idle_bytes,
                evidence: vec![say(format!("{} were asked for and {} lay idle in the same pool and stream, the largest hole {}.", Bytes(request), Bytes(oom.idle_bytes), Bytes(oom.largest_hole_bytes)), oom.idle_bytes)],
            });
        } else if fits {
            self.contributing.push(Claim {
                cause: Cause::Fragmentation,
                confidence: 0.3,
                bytes: oom.idle_bytes,
                evidence: vec![say(format!("The request would have fitted into the {} that lay idle, a small share of what is reserved.", Bytes(oom.idle_bytes)), oom.idle_bytes)],
            });
        } else {
            self.ruled_out.push((Cause::Fragmentation, format!("even as one piece, the {} idle in the request's pool and stream would not have held {}", Bytes(oom.idle_bytes), Bytes(request))));
        }
        self.fill(snapshot, device, marks, oom);
        let what = match self.cause() {
            Cause::Fragmentation => format!(
                "{} of reserved memory lay idle in holes too small for the request",
                Bytes(oom.idle_bytes)
            ),
            Cause::Weights => format!(
                "weights, gradients and optimizer states hold {}",
                Bytes(self.ranking[0].bytes)
            ),
            Cause::KvCache => format!("the KV cache holds {}", Bytes(self.ranking[0].bytes)),
            _ => format!(
                "the running step's activations and temporaries need {}",
                Bytes(self.ranking[0].bytes)
            ),
        };
        self.headline = format!("Out of memory asking for {}: {what}.", Bytes(request));
        self.summary.push(format!(
            "When the request failed, {} were allocated and {} reserved.",
            Bytes(usage.allocated),
            Bytes(usage.reserved)
        ));
        if let Some(line) = self.lines.first() {
            let share = 100.0 * line.bytes as f64 / usage.allocated.max(1) as f64;
            self.summary.push(format!(
                "The line that holds most has {} ({share:.0} %).",
                Bytes(line.bytes)
            ));
        }
    }

    /// What fills the card: resident state, cache, or the running step. The largest names the
    /// cause, the others follow with their share.
    fn fill(&mut self, snapshot: &Snapshot, device: &Device, marks: &StackMarks, oom: &Oom) {
        let of = |category| part(&self.composition, category);
        let older = of(Category::Unknown);
        let resident =
            of(Category::Weights) + of(Category::OptimizerStates) + of(Category::Gradients) + older;
        let cache = of(Category::KvCache);
        let phase = snapshot
            .entry(device.timeline.device, oom.entry)
            .map_or(Phase::Unknown, |entry| marks.get(entry.stack).phase);
        let is_resident_phase = matches!(phase, Phase::Optimizer | Phase::Loading);
        let running = oom.usage.allocated.saturating_sub(resident + cache)
            + if is_resident_phase { 0 } else { oom.request_bytes };
        let resident = resident + if is_resident_phase { oom.request_bytes } else { 0 };
        let total = (resident + cache + running).max(1);
        let mut parts = vec![
            (
                Cause::Weights,
                resident,
                format!(
                    "Weights {}, gradients {}, optimizer states {}, older than the recording {}.",
                    Bytes(of(Category::Weights)),
                    Bytes(of(Category::Gradients)),
                    Bytes(of(Category::OptimizerStates)),
                    Bytes(older)
                ),
            ),
            (
                Cause::KvCache,
                cache,
                format!(
                    "The key/value cache holds {} of {} allocated.",
                    Bytes(cache),
                    Bytes(oom.usage.allocated)
                ),
            ),
            (
                Cause::Activations,
                running,
                format!(
                    "The running step holds {} and asked for {} more.",
                    Bytes(oom.usage.allocated.saturating_sub(resident + cache)),
                    Bytes(oom.request_bytes)
                ),
            ),
        ];
        // A failure while loading or in the optimizer's step has nothing else being built.
        parts.sort_by_key(|(cause, bytes, _)| {
            (
                !(is_resident_phase && *cause == Cause::Weights && cache * 2 < total),
                std::cmp::Reverse(*bytes),
            )
        });
        for (place, (cause, bytes, statement)) in parts.into_iter().enumerate() {
            let share = bytes as f64 / total as f64;
            if share < 0.1 {
                continue;
            }
            let confidence = (share + if place == 0 { 0.2 } else { 0.0 }).min(0.95);
            self.ranking.push(Claim {
                cause,
                confidence,
                bytes,
                evidence: vec![say(statement, bytes)],
            });
        }
    }
}

/// How many bytes less would have gone through: the segment that the request needs, less what the
/// driver had. Unknown where a limit below the card refused the request, for then the driver had
/// enough and the file does not tell the limit.
fn margin(oom: &Oom) -> Option<u64> {
    let segment = segment_bytes(oom.request_bytes);
    oom.device_free_bytes.filter(|free| *free < segment).map(|free| segment - free)
}

/// The segment that serves a request of its own (`get_allocation_size` in
/// `CUDACachingAllocator.cpp`).
#[must_use]
pub fn segment_bytes(rounded: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    match rounded {
        0..=MIB => 2 * MIB,
        _ if rounded < 10 * MIB => 20 * MIB,
        _ => rounded.next_multiple_of(2 * MIB),
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
            evidence: vec![say(
                "The process held no CUDA memory when the file was written.".to_owned(),
                0,
            )],
        }],
        contributing: Vec::new(),
        ruled_out: Vec::new(),
        margin_bytes: None,
        composition: [0; 10],
        lines: Vec::new(),
        fixes: Vec::new(),
        headline: "This file is empty: the process held no CUDA memory when it was written."
            .to_owned(),
        summary: Vec::new(),
    }
}
