//! The verdict in sentences.

use super::{Judge, segment_bytes};
use crate::findings::category::Category;
use crate::findings::diagnosis::{Cause, Diagnosis};
use crate::findings::keeping::{Keeping, References};
use crate::findings::leak::{Group, Kind};
use crate::findings::lines::{self, Holder};
use crate::findings::need::Need;
use crate::snapshot::stack::StackId;
use crate::timeline::Oom;
use crate::units::{Bytes, Count};

impl Judge<'_> {
    /// A leak in a recording in which nothing failed.
    pub(super) fn tell_leak(&self, diagnosis: &mut Diagnosis, kept: &References, peak: String) {
        let site = kept.site.map_or_else(String::new, |site| {
            format!(", under `{}`", lines::short_line(self.snapshot, site))
        });
        diagnosis.headline =
            format!("Memory leaks: each step keeps {} more{site}.", Bytes(kept.per_step));
        diagnosis.summary = self.kept_sentences(kept);
        diagnosis.summary.push(peak);
        let lasts = (1_u64 << 30) / kept.per_step.max(1);
        diagnosis.summary.push(if matches!(kept.keeping, Keeping::Cycle | Keeping::Masses) {
            "Nothing failed yet in this recording; a larger batch or a rarer collection will.".to_owned()
        } else {
            format!("Nothing failed yet in this recording; each GiB that is still free lasts for {} more steps.", Count(lasts))
        });
    }

    /// What is kept, by whom, and what would look the same.
    pub(super) fn kept_sentences(&self, kept: &References) -> Vec<String> {
        let site = kept.site.map(|site| lines::short_line(self.snapshot, site));
        let under = site.map_or_else(String::new, |site| format!(" of the pass begun at `{site}`"));
        let mut sentences = vec![match kept.keeping {
            Keeping::Graph => format!("Each step keeps the whole graph{under}, made in {} places: something holds an output with its gradient function, a loss that is summed up for example.", kept.groups.len()),
            Keeping::Values => format!("One tensor more{under} is kept in each step: a list, a dict or an attribute holds it."),
            Keeping::Hook => "A hook keeps what it sees in each pass.".to_owned(),
            Keeping::Cycle => "Objects that refer to each other hold tensors; Python's cyclic collector frees them only now and then, and it does not see GPU memory.".to_owned(),
            Keeping::Masses => "What is kept goes all at once, now and then: reference cycles that the collector frees, or a list that is cleared. The frees' C++ frames would tell which.".to_owned(),
            Keeping::Appended => "Results are gathered into one tensor that grows without end; each time it is copied whole.".to_owned(),
            Keeping::Exception => "What an earlier pass computed is still held while the same lines compute anew. After an error, its traceback holds the frames and with them their tensors: so it is inside an `except` block, and in a notebook until the next error.".to_owned(),
        }];
        let lines = self.by_line(kept);
        if let Some(worst) = lines.first() {
            let others = match lines.len() {
                1 => String::new(),
                2 => " One other line keeps memory in the same way.".to_owned(),
                count => format!(" {} other lines keep memory in the same way.", count - 1),
            };
            let caveat = if worst.kind == Kind::Steady && kept.keeping == Keeping::Values {
                " A buffer that is still filling would look the same."
            } else {
                ""
            };
            sentences.push(format!("{}{others}{caveat}", self.leak_story(worst)));
        }
        sentences
    }

    pub(super) fn tell_failure(&self, diagnosis: &mut Diagnosis, oom: &Oom, need: Option<Need>) {
        let bytes = Bytes(diagnosis.ranking.first().map_or(0, |claim| claim.bytes));
        let is_limited =
            oom.device_free_bytes.is_some_and(|free| free >= segment_bytes(oom.request_bytes));
        let room = if is_limited { "memory limit" } else { "card" };
        let what = match diagnosis.cause() {
            Cause::Fragmentation => {
                format!("{bytes} of reserved memory lay idle, in holes too small for it")
            }
            Cause::Leak
                if diagnosis
                    .kept
                    .as_ref()
                    .is_some_and(|kept| kept.keeping == Keeping::Exception) =>
            {
                format!("{bytes} of an earlier pass are still held")
            }
            Cause::Leak
                if diagnosis
                    .kept
                    .as_ref()
                    .is_some_and(|kept| kept.keeping == Keeping::Appended) =>
            {
                format!("{bytes} are gathered in a tensor that grows with each step")
            }
            Cause::Leak => format!("{bytes} are kept by references that no step lets go of"),
            Cause::Weights => format!("{} fill the {room} with {bytes}", held_kinds(diagnosis)),
            Cause::KvCache => format!("the KV cache fills the {room} with {bytes}"),
            _ => format!("the running step's activations need {bytes}"),
        };
        diagnosis.headline =
            format!("Out of memory asking for {}: {what}.", Bytes(oom.request_bytes));
        // What is kept beside another cause is told where that contributes.
        let kept = diagnosis.kept.clone().filter(|_| diagnosis.cause() == Cause::Leak);
        if let Some(kept) = &kept {
            diagnosis.summary.extend(self.kept_sentences(kept));
        }
        let summary = &mut diagnosis.summary;
        // Whoever leaks is named already.
        if let Some(line) = diagnosis.lines.first().filter(|_| kept.is_none()) {
            let share = 100.0 * line.bytes as f64 / oom.usage.allocated.max(1) as f64;
            summary.push(format!(
                "When it failed, {} were allocated and {} reserved; {} holds most of it, {} ({share:.0} %).",
                Bytes(oom.usage.allocated),
                Bytes(oom.usage.reserved),
                self.holder(&line.holder),
                Bytes(line.bytes)
            ));
        }
        if let Some(need) = need.filter(|need| need.ratio > 1.3) {
            summary.push(format!("This step is {:.1} times as large as step {} was at the same place; in all it needs about {}.", need.ratio, Count(need.like as u64 + 1), Bytes(need.bytes)));
        }
        if is_limited {
            summary.push(format!("The driver still had {} free, so a limit below the card's size refused the request (`set_per_process_memory_fraction`, or another limit).", Bytes(oom.device_free_bytes.unwrap_or(0))));
        }
        if self.device.timeline.ooms.len() > 1 {
            summary.push(format!(
                "{} allocations failed in this recording; this is the last of them.",
                Count(self.device.timeline.ooms.len() as u64)
            ));
        }
    }

    pub(super) fn leak_story(&self, group: &Group) -> String {
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
            Kind::Appended => format!(
                "{place} appends to one tensor, each time as a larger copy: {} so far, about {per_step} more each time; the old and the new exist at once.",
                Bytes(group.kept)
            ),
            _ => format!(
                "{place} has kept {per_step} more in each step since step {since}: {} in {} pieces, none of them freed.",
                Bytes(group.kept),
                Count(group.count as u64)
            ),
        }
    }

    pub(super) fn place(&self, stack: StackId) -> String {
        self.holder(&lines::holder_of(self.snapshot, self.kinds, stack))
    }

    /// A holder in a sentence: `step (train.py:88)`.
    fn holder(&self, holder: &Holder) -> String {
        match holder {
            Holder::Frame(id) => match self.snapshot.stacks.frame(*id) {
                Some(frame) => {
                    let file = self.snapshot.texts.get(frame.filename);
                    let short = file.rsplit(['/', '\\']).next().unwrap_or(file);
                    format!("`{short}:{}` (`{}`)", frame.line, self.snapshot.texts.get(frame.name))
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

/// What of weights, gradients and optimizer states there is, in words.
fn held_kinds(diagnosis: &Diagnosis) -> String {
    let kinds = [Category::Weights, Category::Gradients, Category::OptimizerStates];
    let of = |category: &Category| diagnosis.composition[category.place()];
    let total: u64 = kinds.iter().map(of).sum();
    // A few stray bytes do not fill a card.
    let named: Vec<&str> = kinds
        .iter()
        .filter(|category| of(category).saturating_mul(50) > total)
        .map(|category| category.label())
        .collect();
    match named.as_slice() {
        [] => Cause::Weights.label().to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
