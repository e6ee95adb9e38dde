//! What fills the card.

use super::{Judge, WORTH, at};
use crate::findings::category::Category;
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
}
