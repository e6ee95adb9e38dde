//! What people try first, with the number that says why it does nothing here.

use super::{Basis, Case, Fix};
use crate::findings::diagnosis::Cause;
use crate::findings::keeping::Keeping;
use crate::units::{Bytes, Count};

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let Some(oom) = case.device.timeline.ooms.last() else { return Vec::new() };
    let useless = |id, title: &str, note: String| {
        Fix::of(id, title, note).saving(0, Basis::Measured).useless()
    };
    let idle = Bytes(oom.usage.idle());
    let mut fixes = vec![useless(
        "empty_cache",
        "`torch.cuda.empty_cache()` would not help",
        format!(
            "PyTorch had done the same before it gave up. The {idle} idle at that moment lie in segments that are partly in use, which cannot be given back."
        ),
    )];
    let stops = case.diagnosis.passage.as_ref().filter(|passage| !passage.at_most);
    if let Some(stop) = stops {
        let entry = stop.outcome.first_oom_entry.unwrap_or(stop.entry);
        fixes.push(
            useless(
                "no_expandable_segments",
                "`expandable_segments` would not help",
                format!(
                    "The recorded requests, replayed so, run out as well, at entry {}.",
                    Count(u64::from(entry))
                ),
            )
            .saving(0, Basis::Replayed),
        );
    } else if oom.usage.idle() < oom.request_bytes && !case.is_expandable() {
        fixes.push(useless(
            "no_expandable_segments",
            "`expandable_segments` would not help",
            format!(
                "It can only win back idle memory: {idle} of {} reserved, less than the {} asked for.",
                Bytes(oom.usage.reserved),
                Bytes(oom.request_bytes)
            ),
        ));
    }
    let cause = case.diagnosis.cause();
    if cause == Cause::Leak {
        let keeping = case.diagnosis.kept.as_ref().map(|kept| kept.keeping);
        let per_step = case.diagnosis.kept.as_ref().map_or(0, |kept| kept.per_step);
        if per_step > 0 {
            fixes.push(useless(
                "no_larger_card",
                "A larger card would only put it off",
                format!("Each further GiB lasts for {} more steps.", (1_u64 << 30) / per_step),
            ));
        }
        if !matches!(keeping, Some(Keeping::Cycle | Keeping::Masses | Keeping::Exception)) {
            fixes.push(useless(
                "no_collect",
                "`gc.collect()` would not help",
                "The tensors are still referred to; the collector frees only what nothing can reach.".to_owned(),
            ));
        }
    }
    fixes
}
