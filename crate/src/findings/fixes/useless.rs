//! What people try first, with the number that says why it does nothing here.

use super::{Basis, Case, Fix};
use crate::findings::diagnosis::Cause;
use crate::findings::keeping::Keeping;
use crate::findings::marks::Signs;
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
    } else if case.diagnosis.passage.is_none()
        && oom.usage.idle() < oom.request_bytes
        && !case.is_expandable()
    {
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
        fixes.extend((1_u64 << 30).checked_div(per_step).map(|steps| {
            useless(
                "no_larger_card",
                "A larger card would only put it off",
                format!("Each further GiB lasts for {} more steps.", Count(steps)),
            )
        }));
        // The collector ran and left them: they are still referred to.
        let collected = case.device.timeline.allocations.iter().any(|allocation| {
            let free = allocation.free_requested().filter(|_| case.device.phases.frees_tell);
            free.and_then(|entry| case.snapshot.entry(case.device.timeline.device, entry))
                .is_some_and(|entry| case.marks.get(entry.stack).signs.has(Signs::COLLECTOR))
        });
        if collected && matches!(keeping, Some(Keeping::Graph | Keeping::Values | Keeping::Hook)) {
            fixes.push(useless(
                "no_collect",
                "`gc.collect()` would not help",
                "The collector ran in this recording and left them: something still refers to them.".to_owned(),
            ));
        }
    }
    fixes
}
