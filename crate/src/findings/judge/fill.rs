//! What fills the card.

use super::{Judge, WORTH, at};
use crate::findings::category::{Because, Category};
use crate::findings::diagnosis::{Cause, Claim, Diagnosis};
use crate::findings::marks::Phase;
use crate::timeline::Oom;
use crate::units::Bytes;

impl Judge<'_> {
    /// What fills the card: resident state, cache, or the running step. The largest names the
    /// cause, the others follow with their share.
    pub(super) fn fill(&self, diagnosis: &mut Diagnosis, oom: &Oom, leaked: u64) {
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
        let left = if has_cause { 0 } else { self.left_by_earlier_steps(oom) };
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
                if running > 0 {
                    format!("The running step holds {}{asked}.", Bytes(running))
                } else {
                    format!("The running step asked for {}.", Bytes(of_running))
                },
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
            let of_cause = |part: u64| part as f64 / bytes.max(1) as f64;
            let doubt = match cause {
                Cause::Weights => 0.5 * of_cause(older),
                Cause::KvCache => 0.2 * of_cause(self.cache_by_shape(oom)),
                _ if left * 2 > running => 0.5,
                _ => 0.0,
            };
            let confidence =
                if is_first { (share + 0.2).clamp(0.5, 0.95) - doubt } else { share.min(0.45) };
            let statement = if cause == Cause::Activations && left * 2 > running {
                diagnosis.ranking.push(self.left_over(oom, left));
                format!("{statement} Most of it is older than this step.")
            } else {
                statement
            };
            diagnosis.ranking.push(Claim {
                cause,
                confidence,
                bytes,
                evidence: vec![at(statement, oom)],
            });
        }
    }

    /// Bytes of what a step computes with that were made before the step ahead of the running one.
    fn left_by_earlier_steps(&self, oom: &Oom) -> u64 {
        let running = self.device.steps.partition_point(|step| step.begin <= oom.entry);
        // The last batch, loss and logits live until they are overwritten.
        let Some(before) = running.checked_sub(2).and_then(|step| self.device.steps.get(step))
        else {
            return 0;
        };
        let made_before = self.device.timeline.live_after(oom.entry).filter(|(id, allocation)| {
            allocation.first_entry() < before.begin
                && matches!(
                    self.device.category(*id),
                    Category::Activations | Category::Temporaries
                )
        });
        made_before.map(|(_, allocation)| allocation.size).fold(0, u64::saturating_add)
    }

    /// What earlier steps left behind, where the recording is too short to show that it grows.
    fn left_over(&self, oom: &Oom, bytes: u64) -> Claim {
        let statement = format!(
            "{} that earlier steps computed are still alive; too few steps are recorded to see whether they grow.",
            Bytes(bytes)
        );
        Claim { cause: Cause::Leak, confidence: 0.55, bytes, evidence: vec![at(statement, oom)] }
    }

    /// Bytes of the cache that only its behaviour tells.
    fn cache_by_shape(&self, oom: &Oom) -> u64 {
        let by_shape = self.device.timeline.live_after(oom.entry).filter(|(id, _)| {
            let class = self.device.classes.get(id.0 as usize);
            class.is_some_and(|class| class.because == Because::Shape)
        });
        by_shape.map(|(_, allocation)| allocation.size).fold(0, u64::saturating_add)
    }
}
