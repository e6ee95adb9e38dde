//! Against fragmentation.

use super::{Basis, Case, Fix};
use crate::units::Bytes;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    if case.is_expandable() {
        return vec![Fix::of(
            "steadier_sizes",
            "Ask for fewer different sizes",
            "Segments can grow already, so the settings have little left to give: pad sequences to a few fixed lengths, or run the longest batch first.",
        )];
    }
    let replayed =
        case.diagnosis.passage.as_ref().filter(|passage| passage.at_least).map(|passage| {
            let recorded = case.device.recording(case.snapshot).verification.recorded_peak;
            (recorded, passage.outcome.totals.peak_reserved)
        });
    let result = replayed.map_or_else(String::new, |(recorded, peak)| {
        format!(
            "The recorded requests, replayed so, reserve {} at most instead of {} and get past the failure. ",
            Bytes(peak),
            Bytes(recorded)
        )
    });
    let mut expandable =
        Fix::of(
            "expandable_segments",
            "Let segments grow",
            result + "With expandable segments the allocator maps pages into one range of addresses, so that freed memory of any size can be used again. Set it before the process first uses the GPU. Before PyTorch 2.9 the variable is called PYTORCH_CUDA_ALLOC_CONF.",
        )
        .costing("None in most programs; memory shared between processes needs a recent driver.")
        .with("PYTORCH_ALLOC_CONF=expandable_segments:True python train.py");
    if let Some((recorded, peak)) = replayed {
        expandable = expandable.saving(recorded.saturating_sub(peak), Basis::Replayed);
    }
    vec![
        expandable,
        Fix::of(
            "steadier_sizes",
            "Ask for fewer different sizes",
            "Pad sequences to a few fixed lengths, or run the longest batch first: holes of one size fit the next request of that size.",
        )
        .costing("Padding is computed for nothing."),
    ]
}
