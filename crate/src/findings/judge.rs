//! The judgement itself: fragmentation, then a leak, then what fills the card.

use super::Device;
use super::category::Category;
use super::diagnosis::{Cause, Claim, Diagnosis, Evidence};
use super::frame_kind::FrameKinds;
use super::history::History;
use super::leak::{self, Group, Kind};
use super::lines::{self, Holder};
use super::marks::{Phase, StackMarks};
use super::need::{self, Need};
use super::phases::Told;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::Oom;
use crate::units::{Bytes, Count};

/// Idle memory below this share of what is reserved is the caching allocator's ordinary slack:
/// healthy runs show 2 to 10 %.
const IDLE_SHARE: f64 = 0.15;
/// A leak is the cause of a failure when it makes up this share of what was not needed before.
const LEAK_SHARE: f64 = 0.5;
/// Steps from which on a trend is certain.
const LONG: usize = 8;
/// A part of the memory below this share is not worth naming.
const WORTH: f64 = 0.1;

/// Without stacks and annotations no claim is surer than this.
const GUESS: f64 = 0.5;

struct Judge<'a> {
    snapshot: &'a Snapshot,
    device: &'a Device,
    kinds: &'a FrameKinds,
    marks: &'a StackMarks,
    leaks: Vec<Group>,
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
    let judge = Judge { snapshot, device, kinds, marks, leaks };
    match device.timeline.ooms.last() {
        Some(oom) => judge.failure(diagnosis, oom),
        None => judge.no_failure(diagnosis, history),
    }
}

impl Judge<'_> {
    fn no_failure(&self, diagnosis: &mut Diagnosis, history: History) {
        let peak = self.device.timeline.usage_after(diagnosis.entry);
        let steps = self.device.steps.len();
        let summary = format!(
            "At the peak {} were allocated and {} reserved.",
            Bytes(peak.allocated),
            Bytes(peak.reserved)
        );
        if let Some(worst) = self.leaks.first() {
            let confidence = match worst.kind {
                Kind::Sawtooth => 0.5,
                _ if steps >= LONG => 0.9,
                _ => 0.6,
            };
            diagnosis.ranking.push(self.leak_claim(confidence));
            self.limit_trust(diagnosis);
            diagnosis.headline = format!(
                "Memory leaks: each step keeps {} more, made at {}.",
                Bytes(self.leak_rate() as u64),
                self.place(worst.stack)
            );
            diagnosis.summary = vec![self.leak_story(worst)];
            diagnosis.summary.extend(caveat(worst));
            diagnosis.summary.push(summary);
            diagnosis
                .summary
                .push("Nothing failed yet in this recording; a longer run will.".to_owned());
            return;
        }
        let how =
            if steps == 0 { String::new() } else { format!(" over {} steps", Count(steps as u64)) };
        diagnosis.headline = format!(
            "Nothing failed in this recording; at its fullest it held {}.",
            Bytes(peak.allocated)
        );
        diagnosis.summary = vec![summary];
        if steps >= 3 {
            diagnosis
                .ruled_out
                .push((Cause::Leak, format!("no place in the code keeps more and more{how}")));
        }
        // What is lost may have failed.
        let confidence = match history {
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
        diagnosis.margin_bytes = margin(oom);
        self.fragmentation(diagnosis, oom, need, oom.usage.reserved + headroom);
        let leaked = self.leak(diagnosis, oom);
        self.fill(diagnosis, oom, leaked);
        self.limit_trust(diagnosis);
        diagnosis.ranking.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        self.tell_failure(diagnosis, oom, need);
    }

    /// Fragmentation needs a request that would fit into what lies idle, and a step that would then
    /// have gone through.
    fn fragmentation(
        &self,
        diagnosis: &mut Diagnosis,
        oom: &Oom,
        need: Option<Need>,
        capacity: u64,
    ) {
        let idle_share = oom.usage.idle() as f64 / oom.usage.reserved.max(1) as f64;
        let idle = Bytes(oom.idle_bytes);
        if oom.request_bytes > oom.idle_bytes {
            diagnosis.ruled_out.push((Cause::Fragmentation, format!("even in one piece, the {idle} idle in the request's pool and stream would not have held its {}", Bytes(oom.request_bytes))));
            return;
        }
        let goes_through = need.map(|need| need.bytes <= capacity);
        let is_cause = match goes_through {
            Some(true) => true,
            Some(false) => idle_share >= 2.0 * IDLE_SHARE,
            None => idle_share >= IDLE_SHARE,
        };
        let mut statement = format!(
            "{} were asked for while {idle} lay idle in the same pool and stream, in holes of at most {}.",
            Bytes(oom.request_bytes),
            Bytes(oom.largest_hole_bytes)
        );
        if is_cause {
            if let Some(need) = need.filter(|_| goes_through == Some(true)) {
                statement.push_str(&format!(
                    " By the steps before it, the whole step needs {}, less than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ));
            }
            let confidence = if goes_through.is_none() { 0.9 } else { 0.85 };
            diagnosis.ranking.push(Claim {
                cause: Cause::Fragmentation,
                confidence,
                bytes: oom.idle_bytes,
                evidence: vec![at(statement, oom)],
            });
        } else {
            let but = match need {
                Some(need) => format!(
                    " But by the steps before it, the whole step needs about {}, more than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ),
                None => format!(
                    " That is {:.0} % of what is reserved, the allocator's ordinary slack.",
                    100.0 * idle_share
                ),
            };
            diagnosis.contributing.push(Claim {
                cause: Cause::Fragmentation,
                confidence: 0.3,
                bytes: oom.idle_bytes,
                evidence: vec![at(statement + &but, oom)],
            });
        }
    }

    /// Answers the leaked bytes.
    fn leak(&self, diagnosis: &mut Diagnosis, oom: &Oom) -> u64 {
        let steps: Vec<u64> = self
            .device
            .steps
            .iter()
            .filter(|step| step.begin <= oom.entry)
            .map(|step| step.peak)
            .collect();
        let leaked = self.leaks.iter().map(|group| group.kept).fold(0, u64::saturating_add);
        if self.leaks.is_empty() || leaked == 0 {
            if steps.len() >= 5 {
                diagnosis.ruled_out.push((
                    Cause::Leak,
                    format!(
                        "over {} steps no place in the code keeps more and more",
                        Count(steps.len() as u64)
                    ),
                ));
            }
            return 0;
        }
        // What used to fit: the median peak of the first third after the warm-up.
        let mut early: Vec<u64> =
            steps.iter().copied().skip(2).take((steps.len() / 3).max(1)).collect();
        early.sort_unstable();
        let fitted = early.get(early.len() / 2).copied().unwrap_or(0);
        let excess = oom.usage.allocated.saturating_add(oom.request_bytes).saturating_sub(fitted);
        if leaked as f64 >= LEAK_SHARE * excess as f64 {
            diagnosis.ranking.push(self.leak_claim(if steps.len() >= LONG { 0.95 } else { 0.7 }));
        } else {
            diagnosis.contributing.push(self.leak_claim(0.4));
        }
        leaked
    }

    /// What fills the card: resident state, cache, or the running step. The largest names the
    /// cause, the others follow with their share.
    fn fill(&self, diagnosis: &mut Diagnosis, oom: &Oom, leaked: u64) {
        let composition = diagnosis.composition;
        let has_cause = !diagnosis.ranking.is_empty();
        let of = |category: Category| composition[category.place()];
        let older = of(Category::Unknown);
        let phase = self
            .snapshot
            .entry(self.device.timeline.device, oom.entry)
            .map_or(Phase::Unknown, |entry| self.marks.get(entry.stack).phase);
        let is_resident_phase = matches!(phase, Phase::Optimizer | Phase::Loading);
        let (of_resident, of_running) =
            if is_resident_phase { (oom.request_bytes, 0) } else { (0, oom.request_bytes) };
        let held =
            of(Category::Weights) + of(Category::OptimizerStates) + of(Category::Gradients) + older;
        let cache = of(Category::KvCache);
        let running = oom.usage.allocated.saturating_sub(held + cache + leaked);
        let total = (held + cache + running + oom.request_bytes).max(1);
        let asked = if of_running > 0 {
            format!(" and asked for {} more", Bytes(of_running))
        } else {
            String::new()
        };
        let kinds =
            [Category::Weights, Category::Gradients, Category::OptimizerStates, Category::Unknown];
        let kinds: Vec<String> = kinds
            .into_iter()
            .filter(|category| of(*category) > 0)
            .map(|category| format!("{} {}", category.label(), Bytes(of(category))))
            .collect();
        // Nothing says that bytes of unknown purpose stay from step to step.
        let resident = if held == older {
            format!("Memory of unknown purpose: {}.", Bytes(older))
        } else {
            format!("What stays from step to step holds {}: {}.", Bytes(held), kinds.join(", "))
        };
        let mut parts = vec![
            (Cause::Weights, held + of_resident, resident),
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
                running + of_running,
                format!("The running step holds {}{asked}.", Bytes(running)),
            ),
        ];
        // A failure while loading or in the optimizer's step has nothing else being built.
        let is_forced =
            |cause: Cause| is_resident_phase && cause == Cause::Weights && cache * 2 < total;
        parts.sort_by_key(|(cause, bytes, _)| (!is_forced(*cause), std::cmp::Reverse(*bytes)));
        for (place, (cause, bytes, statement)) in parts.into_iter().enumerate() {
            let share = bytes as f64 / total as f64;
            if share < WORTH {
                continue;
            }
            // Beside a cause found already, what fills the card is circumstance. Bytes of unknown
            // purpose may be anything.
            let is_first = place == 0 && !has_cause;
            let unknown =
                if cause == Cause::Weights { older as f64 / bytes.max(1) as f64 } else { 0.0 };
            let confidence = if is_first {
                (share + 0.2).clamp(0.5, 0.95) - 0.5 * unknown
            } else {
                share.min(0.45)
            };
            diagnosis.ranking.push(Claim {
                cause,
                confidence,
                bytes,
                evidence: vec![at(statement, oom)],
            });
        }
    }

    fn tell_failure(&self, diagnosis: &mut Diagnosis, oom: &Oom, need: Option<Need>) {
        let bytes = Bytes(diagnosis.ranking.first().map_or(0, |claim| claim.bytes));
        let what = match diagnosis.cause() {
            Cause::Fragmentation => {
                format!("{bytes} of reserved memory lay idle, in holes too small for it")
            }
            Cause::Leak => format!("{bytes} are kept by references that no step lets go of"),
            Cause::Weights => {
                format!("weights, gradients and optimizer states fill the card with {bytes}")
            }
            Cause::KvCache => format!("the KV cache fills the card with {bytes}"),
            _ => format!("the running step's activations need {bytes}"),
        };
        diagnosis.headline =
            format!("Out of memory asking for {}: {what}.", Bytes(oom.request_bytes));
        let summary = &mut diagnosis.summary;
        summary.push(format!(
            "When the request failed, {} were allocated and {} reserved.",
            Bytes(oom.usage.allocated),
            Bytes(oom.usage.reserved)
        ));
        if let Some(worst) = self.leaks.first() {
            summary.push(self.leak_story(worst));
            summary.extend(caveat(worst));
            match self.leaks.len() {
                1 => {}
                2 => summary.push("One other place keeps memory in the same way.".to_owned()),
                count => {
                    summary.push(format!("{} other places keep memory in the same way.", count - 1))
                }
            }
        }
        if let Some(line) = diagnosis.lines.first() {
            let share = 100.0 * line.bytes as f64 / oom.usage.allocated.max(1) as f64;
            summary.push(format!(
                "The line that holds most is {}, with {} ({share:.0} %).",
                self.holder(&line.holder),
                Bytes(line.bytes)
            ));
        }
        if let Some(need) = need.filter(|need| need.ratio > 1.3) {
            summary.push(format!("This step is {:.1} times as large as step {} was at the same place; in all it needs about {}.", need.ratio, Count(need.like as u64 + 1), Bytes(need.bytes)));
        }
        if oom.device_free_bytes.is_some_and(|free| free >= segment_bytes(oom.request_bytes)) {
            summary.push(format!("The driver still had {} free, so a limit below the card's size refused the request (set_per_process_memory_fraction, or another limit).", Bytes(oom.device_free_bytes.unwrap_or(0))));
        }
        if self.device.timeline.ooms.len() > 1 {
            summary.push(format!(
                "{} allocations failed in this recording; this is the last of them.",
                Count(self.device.timeline.ooms.len() as u64)
            ));
        }
    }

    /// What is guessed from sizes and lifetimes is no more than a guess.
    fn limit_trust(&self, diagnosis: &mut Diagnosis) {
        if self.device.phases.told == Told::Guessed {
            for claim in &mut diagnosis.ranking {
                claim.confidence = claim.confidence.min(GUESS);
            }
        }
    }

    fn leak_rate(&self) -> f64 {
        self.leaks.iter().map(|group| group.per_step).sum()
    }

    fn leak_claim(&self, confidence: f64) -> Claim {
        let kept = self
            .leaks
            .iter()
            .map(|group| group.kept.max(group.height))
            .fold(0, u64::saturating_add);
        let evidence = self.leaks.iter().take(5).map(|group| Evidence {
            statement: self.leak_story(group),
            bytes: Some(group.kept.max(group.height)),
            entry: Some(group.entry),
            stack: Some(group.stack),
        });
        Claim { cause: Cause::Leak, confidence, bytes: kept, evidence: evidence.collect() }
    }

    fn leak_story(&self, group: &Group) -> String {
        let per_step = Bytes(group.per_step as u64);
        let place = self.place(group.stack);
        let since = Count(group.steps.0 as u64 + 1);
        match group.kind {
            Kind::Collected => format!(
                "{place} leaves {per_step} behind in each step, in reference cycles: only Python's cyclic collector frees them, now and then; up to {} had gathered.",
                Bytes(group.height)
            ),
            Kind::Sawtooth => format!(
                "{place} leaves {per_step} behind in each step; they go all at once, now and then, as with reference cycles or a list that is cleared; up to {} had gathered.",
                Bytes(group.height)
            ),
            _ => format!(
                "{place} has kept {per_step} more in each step since step {since}: {} in {} pieces, none of them freed.",
                Bytes(group.kept),
                Count(group.count as u64)
            ),
        }
    }

    fn place(&self, stack: StackId) -> String {
        self.holder(&lines::holder_of(self.snapshot, self.kinds, stack))
    }

    /// A holder in a sentence: `step (train.py:88)`.
    fn holder(&self, holder: &Holder) -> String {
        match holder {
            Holder::Frame(id) => match self.snapshot.stacks.frame(*id) {
                Some(frame) => {
                    let file = self.snapshot.texts.get(frame.filename);
                    let short = file.rsplit(['/', '\\']).next().unwrap_or(file);
                    format!("{short}:{} ({})", frame.line, self.snapshot.texts.get(frame.name))
                }
                None => "an unknown line".to_owned(),
            },
            Holder::Node(node) => format!("the backward pass ({node})"),
            Holder::Native => "native code".to_owned(),
            Holder::Older => "code that ran before the recording".to_owned(),
            Holder::NoStack => "code without a recorded stack".to_owned(),
        }
    }
}

/// What else would look like this leak.
fn caveat(group: &Group) -> Option<String> {
    (group.kind == Kind::Steady)
        .then(|| "A buffer that is still filling would look the same.".to_owned())
}

fn at(statement: String, oom: &Oom) -> Evidence {
    Evidence { entry: Some(oom.entry), ..Evidence::of_bytes(statement, oom.request_bytes) }
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
fn segment_bytes(rounded: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    match rounded {
        0..=MIB => 2 * MIB,
        _ if rounded < 10 * MIB => 20 * MIB,
        _ => rounded.next_multiple_of(2 * MIB),
    }
}
