//! The steps as a table, and as a picture of what each began from and rose to.

use crate::findings::category::Category;
use crate::findings::steps::Step;
use crate::findings::{Composition, Device};
use crate::snapshot::Snapshot;
use crate::units::Signed;
use serde::{Deserialize, Serialize};

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRow {
    /// Its number, from 1.
    pub number: u32,
    /// `training` where it has a backward pass, else `forward only`.
    pub kind: &'static str,
    /// First entry.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
    /// Least allocated in it.
    pub baseline_bytes: u64,
    /// The baseline less that of the step before; empty for the first.
    pub growth: String,
    /// Most allocated in it.
    pub peak_bytes: u64,
    /// The first entry after which so much was.
    pub peak_entry: u32,
    /// The category with most of the bytes at the peak.
    pub category: &'static str,
    /// The same for people.
    pub category_label: &'static str,
    /// Its part of the peak, 0 to 1.
    pub category_share: f64,
    /// From its first entry to its last, where the file has a clock.
    pub duration_us: Option<i64>,
    /// Whether a request failed in it for good.
    pub failed: bool,
}

/// All steps of a device, in their order.
#[must_use]
pub fn rows(snapshot: &Snapshot, device: &Device) -> Vec<StepRow> {
    let peaks = peaks(device);
    let trace = snapshot.trace(device.timeline.device);
    let at = |entry: u32| snapshot.entries.time_us(trace.start + entry as usize);
    let mut before: Option<u64> = None;
    let row = |(number, (step, (peak_entry, composition))): (u32, (&Step, (u32, Composition)))| {
        let most = (0..10).rev().max_by_key(|place| composition[*place]).unwrap_or(0);
        let whole = composition.iter().sum::<u64>().max(1);
        let growth = before.map(|before| Signed::between(before, step.baseline).to_string());
        before = Some(step.baseline);
        let range = step.begin..step.end;
        let times = at(step.begin).zip(at(step.end.saturating_sub(1)));
        StepRow {
            number,
            kind: if step.trains { "training" } else { "forward only" },
            begin: step.begin,
            end: step.end,
            baseline_bytes: step.baseline,
            growth: growth.unwrap_or_default(),
            peak_bytes: step.peak,
            peak_entry,
            category: Category::ALL[most].name(),
            category_label: Category::ALL[most].label(),
            category_share: composition[most] as f64 / whole as f64,
            duration_us: times.map(|(first, last)| last.saturating_sub(first)),
            failed: device.timeline.ooms.iter().any(|oom| range.contains(&oom.entry)),
        }
    };
    (1..).zip(device.steps.iter().zip(peaks)).map(row).collect()
}

/// The entry of each step's peak with what is live after it, in one pass over the trace.
fn peaks(device: &Device) -> Vec<(u32, Composition)> {
    let timeline = &device.timeline;
    let peak_of = |step: &Step| {
        let allocated = |entry: &u32| timeline.usage_after(*entry).allocated;
        let first = (step.begin..step.end).find(|entry| allocated(entry) == step.peak);
        first.unwrap_or(step.begin)
    };
    let wanted: Vec<u32> = device.steps.iter().map(peak_of).collect();
    let mut live: Composition = [0; 10];
    for (id, allocation) in
        (0..).map(crate::timeline::allocation::AllocationId).zip(&timeline.allocations)
    {
        // What was released before the trace is in no state of it.
        if allocation.begin().is_none() && allocation.last_entry() > 0 {
            live[device.category(id).place()] += allocation.size;
        }
    }
    let mut peaks = Vec::with_capacity(wanted.len());
    let mut next = wanted.into_iter().peekable();
    for entry in 0..timeline.entries() {
        if next.peek().is_none() {
            break;
        }
        if let Some(id) = timeline.allocation_of(entry)
            && let Some(allocation) = timeline.allocation(id)
        {
            let bytes = &mut live[device.category(id).place()];
            if allocation.begin() == Some(entry) {
                *bytes = bytes.saturating_add(allocation.size);
            }
            if entry > 0 && allocation.free_requested() == Some(entry) {
                *bytes = bytes.saturating_sub(allocation.size);
            }
        }
        while next.next_if_eq(&entry).is_some() {
            peaks.push((entry, live));
        }
    }
    peaks
}

/// Why there are no steps and what would give them, in plain sentences.
pub const NO_STEPS: &str = "No steps are seen in this recording. Steps are told by backward passes and calls of the optimizer on the stacks, by ranges of torch.profiler.record_function around them, or by a loop that comes round at least three times. Record over several iterations, with stacks.";

/// What the picture shows: steps from left to right, several to a column where there are more than
/// pixels.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StepsPicture {
    /// Steps in all.
    pub steps: u32,
    /// The highest peak.
    pub top_bytes: f64,
    /// The columns, left to right.
    pub columns: Vec<StepColumn>,
}

/// One step, or a stretch of them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StepColumn {
    /// Place of the first among the steps, from 0.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
    /// The least baseline.
    pub baseline_bytes: f64,
    /// The highest peak.
    pub peak_bytes: f64,
    /// The category that has most of that peak.
    pub category: String,
    /// Whether a request failed in one of them.
    pub failed: bool,
}

impl StepsPicture {
    /// The steps in at most so many columns.
    #[must_use]
    pub fn of(rows: &[StepRow], most: u32) -> StepsPicture {
        let count = rows.len().min(most.max(1) as usize);
        let part = |nth: usize| rows.len() * nth / count.max(1);
        let column = |nth: usize| {
            let (begin, end) = (part(nth), part(nth + 1));
            let steps = &rows[begin..end];
            let highest = steps.iter().max_by_key(|step| step.peak_bytes);
            StepColumn {
                begin: begin as u32,
                end: end as u32,
                baseline_bytes: steps.iter().map(|step| step.baseline_bytes).min().unwrap_or(0)
                    as f64,
                peak_bytes: highest.map_or(0.0, |step| step.peak_bytes as f64),
                category: highest.map_or("", |step| step.category).to_owned(),
                failed: steps.iter().any(|step| step.failed),
            }
        };
        StepsPicture {
            steps: rows.len() as u32,
            top_bytes: rows.iter().map(|step| step.peak_bytes).max().unwrap_or(0) as f64,
            columns: (0..count).map(column).collect(),
        }
    }
}
