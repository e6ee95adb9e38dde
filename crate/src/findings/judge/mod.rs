//! The judgement itself: fragmentation, then a leak, then what fills the card.

mod fill;
mod fragmentation;
mod kept;
mod story;

use super::Device;
use super::category::Category;
use super::diagnosis::{Cause, Claim, Diagnosis, Evidence};
use super::frame_kind::FrameKinds;
use super::history::History;
use super::keeping::References;
use super::leak;
use super::marks::{Phase, Signs, StackMarks};
use super::need;
use super::phases::Told;
use crate::allocator::settings::Settings;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::Oom;
use crate::units::{Bytes, Count};

/// Idle memory below this share of what is reserved is the caching allocator's ordinary slack:
/// healthy runs show 2 to 10 %.
const IDLE_SHARE: f64 = 0.15;
/// Steps from which on a trend is certain.
const LONG: usize = 8;
/// A part of the memory below this share is not worth naming.
const WORTH: f64 = 0.1;

/// Idle memory from this share of what is reserved on may have been what was lacking.
const OPEN_SHARE: f64 = 0.1;
/// And then no claim about what fills the card is surer than this.
const OPEN: f64 = 0.58;
/// A cache of this share of the memory, and growing, is what fills it.
const CACHE_SHARE: f64 = 0.3;
/// Without stacks and annotations no claim is surer than this.
const GUESS: f64 = 0.5;
/// Without stacks, but with the optimizer's annotations.
const NO_STACKS: f64 = 0.58;

struct Judge<'a> {
    snapshot: &'a Snapshot,
    device: &'a Device,
    kinds: &'a FrameKinds,
    marks: &'a StackMarks,
    kept: Option<References>,
    history: History,
}

/// Judges a device at the moment chosen, and writes the verdict into `diagnosis`.
pub(super) fn judge(
    diagnosis: &mut Diagnosis,
    snapshot: &Snapshot,
    device: &Device,
    kinds: &FrameKinds,
    marks: &StackMarks,
    history: History,
) {
    let upto = device.timeline.ooms.last().map_or_else(|| device.last_entry(), |oom| oom.entry);
    let leaks = leak::leaks(snapshot, device, marks, upto);
    let kept = References::of(snapshot, kinds, marks, leaks);
    let judge = Judge { snapshot, device, kinds, marks, kept, history };
    match device.timeline.ooms.last() {
        Some(oom) => judge.failure(diagnosis, oom),
        None => judge.no_failure(diagnosis),
    }
}

impl Judge<'_> {
    fn no_failure(&self, diagnosis: &mut Diagnosis) {
        let peak = self.device.timeline.usage_after(diagnosis.entry);
        let steps = self.device.steps.len();
        let summary = format!(
            "At the peak {} were allocated and {} reserved.",
            Bytes(peak.allocated),
            Bytes(peak.reserved)
        );
        let buffer = self.kept.as_ref().filter(|kept| self.may_be_buffer(kept));
        if let Some(kept) = self.kept.as_ref().filter(|_| buffer.is_none()) {
            let confidence = self.trust_in(kept, steps);
            diagnosis.ranking.push(self.leak_claim(kept, confidence));
            self.limit_trust(diagnosis);
            self.tell_leak(diagnosis, kept, summary);
            diagnosis.kept = Some(kept.clone());
            return;
        }
        let how = match steps {
            0 => String::new(),
            1 => " over one step".to_owned(),
            _ => format!(" over {} steps", Count(steps as u64)),
        };
        diagnosis.headline = format!(
            "Nothing failed in this recording; at its fullest it held {}.",
            Bytes(peak.allocated)
        );
        diagnosis.summary = vec![summary];
        if let Some(kept) = buffer {
            diagnosis.contributing.push(self.leak_claim(kept, 0.4));
            diagnosis.summary.extend(self.kept_sentences(kept));
        } else if steps >= 3 {
            diagnosis
                .ruled_out
                .push((Cause::Leak, format!("no place in the code keeps more and more{how}.")));
        }
        // What is lost may have failed.
        let confidence = match self.history {
            _ if buffer.is_some() => 0.5,
            History::Complete if steps >= 3 => 0.9,
            History::Complete => 0.7,
            _ => 0.55,
        };
        diagnosis.ranking.push(Claim {
            cause: Cause::None,
            confidence,
            bytes: 0,
            evidence: vec![Evidence::of_bytes(
                format!("No allocation failed{how}."),
                peak.allocated,
            )],
        });
    }

    fn failure(&self, diagnosis: &mut Diagnosis, oom: &Oom) {
        let need = need::need(self.snapshot, self.device, oom);
        let headroom = oom
            .device_free_bytes
            .filter(|free| *free < segment_bytes(oom.request_bytes))
            .unwrap_or(0);
        diagnosis.need = need;
        diagnosis.margin_bytes = margin(oom);
        let leaked = self.leak(diagnosis, oom);
        let grows_on = !diagnosis.ranking.is_empty() || self.cache_grows(diagnosis, oom);
        let known = self.device.recording(self.snapshot).verification.limit;
        let capacity = (oom.usage.reserved + headroom).max(known.at_least);
        self.fragmentation(diagnosis, oom, need, capacity, grows_on);
        self.fill(diagnosis, oom, leaked);
        self.leave_holes_open(diagnosis, oom);
        self.limit_trust(diagnosis);
        diagnosis.ranking.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        self.tell_failure(diagnosis, oom, need);
    }

    /// Where much lay idle and no replay says whether it mattered, what fills the card is no sure
    /// cause: without the beginning, or with several streams, other settings cannot be replayed
    /// exactly.
    fn leave_holes_open(&self, diagnosis: &mut Diagnosis, oom: &Oom) {
        let timeline = &self.device.timeline;
        let is_much = oom.usage.idle() as f64 >= OPEN_SHARE * oom.usage.reserved as f64;
        let first = timeline.allocations.first().map(|allocation| allocation.stream);
        let several =
            timeline.allocations.iter().any(|allocation| Some(allocation.stream) != first);
        let is_blind = self.history != History::Complete || several || diagnosis.passage.is_none();
        let expandable = Settings::recorded(self.snapshot).expandable_segments;
        if is_much && is_blind && !expandable && diagnosis.cause() != Cause::Fragmentation {
            for claim in &mut diagnosis.ranking {
                if matches!(claim.cause, Cause::Activations | Cause::Weights) {
                    claim.confidence = claim.confidence.min(OPEN);
                }
            }
        }
    }

    /// Whether the failure is one of a cache that grows with every token: more room only puts it off.
    fn cache_grows(&self, diagnosis: &Diagnosis, oom: &Oom) -> bool {
        let cache = diagnosis.composition[Category::KvCache.place()];
        let category = request_category(self.snapshot, self.device, self.marks, oom);
        let stack = self.snapshot.entry(self.device.timeline.device, oom.entry);
        // A cache without a telling name is known by the place that makes it.
        let of_cache = stack.is_some_and(|entry| {
            let all = self.device.timeline.allocations.iter().zip(&self.device.classes);
            entry.stack != StackId::ABSENT
                && all
                    .filter(|(allocation, _)| allocation.stack == entry.stack)
                    .any(|(_, class)| class.category == Category::KvCache)
        });
        (category == Category::KvCache || of_cache)
            && cache as f64 >= CACHE_SHARE * oom.usage.allocated as f64
    }

    /// What is guessed from sizes and lifetimes is no more than a guess.
    fn limit_trust(&self, diagnosis: &mut Diagnosis) {
        let most = match self.device.phases.told {
            Told::Guessed => GUESS,
            Told::ByAnnotations => NO_STACKS,
            Told::ByStacks | Told::ByPythonStacks => return,
        };
        for claim in &mut diagnosis.ranking {
            claim.confidence = claim.confidence.min(most);
        }
    }
}

fn at(statement: String, oom: &Oom) -> Evidence {
    Evidence { entry: Some(oom.entry), ..Evidence::of_bytes(statement, oom.request_bytes) }
}

/// What the request that failed was for.
pub(super) fn request_category(
    snapshot: &Snapshot,
    device: &Device,
    marks: &StackMarks,
    oom: &Oom,
) -> Category {
    let stack = snapshot.entry(device.timeline.device, oom.entry).map(|entry| entry.stack);
    let marks = stack.map(|stack| marks.get(stack));
    let signs = marks.map_or(Signs::default(), |marks| marks.signs);
    let trains = device.phases.by_entry.contains(&Phase::Backward);
    match marks.map_or(Phase::Unknown, |marks| marks.phase) {
        Phase::Optimizer if signs.has(Signs::STATE_MADE) => Category::OptimizerStates,
        Phase::Optimizer | Phase::Backward => Category::Temporaries,
        Phase::Loading => Category::Weights,
        _ if signs.has(Signs::KV_CACHE) && !trains => Category::KvCache,
        Phase::Forward => Category::Activations,
        Phase::Between if signs.has(Signs::DATA) => Category::Inputs,
        Phase::Between | Phase::ZeroGrad | Phase::Unknown => Category::Unknown,
    }
}

/// How many bytes less would have gone through: the segment that the request needs, less what the
/// driver had. Unknown where a limit below the card refused the request, for then the driver had
/// enough and the file does not tell the limit.
fn margin(oom: &Oom) -> Option<u64> {
    let segment = segment_bytes(oom.request_bytes);
    oom.device_free_bytes.filter(|free| *free < segment).map(|free| segment - free)
}

/// The segment that would serve a request of its own.
fn segment_bytes(rounded: u64) -> u64 {
    Settings::default().segment_size(rounded)
}
