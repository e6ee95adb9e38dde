//! One recording, cut down to what a comparison needs: some tens of kilobytes, whatever the file.
//! `oomscope report --json` writes it as `run`, so that runs can be compared far from their files.

use super::course::course;
use super::fingerprint::Fingerprint;
use super::fit::Fit;
use super::site::{SiteMaker, Sites};
use crate::findings::category::Category;
use crate::findings::diagnosis::Cause;
use crate::findings::history::{History, StacksTold};
use crate::findings::marks::{Phase, Signs};
use crate::findings::steps::Step;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::Action;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes by category; categories without any are left out.
pub type Parts = BTreeMap<Category, u64>;

/// What one call site holds of one category.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Held {
    /// The site, by its place in the run's [`Sites`].
    pub site: u32,
    /// What for.
    pub category: Category,
    /// Bytes of its live allocations.
    pub bytes: u64,
    /// Number of them.
    pub count: u64,
    /// Bytes of the largest.
    pub largest: u64,
}

/// Where in the program a moment lies.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Place {
    /// The step, counted from 0; `None` outside of all steps.
    pub step: Option<u32>,
    /// The phase.
    pub phase: Phase,
}

/// What was allocated at one moment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Moment {
    /// Where it lies.
    pub place: Place,
    /// Who holds what; all that was allocated, in the order in which sites first allocate.
    pub held: Vec<Held>,
}

/// The fullest moment of one phase.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PhasePeak {
    /// Where it lies.
    pub place: Place,
    /// What was allocated then, in bytes.
    pub parts: Parts,
}

/// One step.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct StepPeak {
    /// When it first allocated, in µs since the Unix epoch; `None` where the file has no clock.
    pub begin_us: Option<i64>,
    /// Most allocated in it, in bytes.
    pub peak_bytes: u64,
    /// Its first entry.
    pub begin: u32,
    /// One past its last entry.
    pub end: u32,
}

/// A request that failed for good.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Failure {
    /// Where it lies.
    pub place: Place,
    /// Bytes requested.
    pub request_bytes: u64,
}

/// One allocation alive at the end.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Live {
    /// The site that made it.
    pub site: u32,
    /// First byte.
    pub address: u64,
    /// Bytes of its block.
    pub bytes: u64,
    /// When it was made, where the trace has that and a clock.
    pub made_us: Option<i64>,
}

/// What a comparison needs of one recording: of the device that failed or is fullest.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    /// What to call it.
    pub name: String,
    /// The device, by its number in the process.
    pub device: u32,
    /// The allocator's settings, in PyTorch's syntax; empty for its defaults.
    pub conf: String,
    /// How much of the past it holds.
    pub history: History,
    /// How much its stacks tell.
    pub stacks: StacksTold,
    /// Entries in its trace.
    pub entries: u32,
    /// Most allocated in each of some hundred equal stretches of the trace, oldest first, in bytes;
    /// empty without a trace.
    pub course: Vec<u64>,
    /// What tells it from recordings of other processes.
    pub fingerprint: Fingerprint,
    /// The moment with most allocated.
    pub peak: Moment,
    /// The most reserved, which may be at another moment, in bytes.
    pub peak_reserved_bytes: u64,
    /// The last moment.
    pub end: Moment,
    /// Reserved at the end, in bytes.
    pub end_reserved_bytes: u64,
    /// The fullest moment of each phase, in the order of [`Phase::ALL`].
    pub phases: Vec<PhasePeak>,
    /// The steps, oldest first; empty where none is seen.
    pub steps: Vec<StepPeak>,
    /// The last failed request.
    pub failure: Option<Failure>,
    /// The cause that is likeliest.
    pub cause: Cause,
    /// The verdict in a sentence.
    pub headline: String,
    /// Whether activation checkpointing was seen at work.
    pub recomputes: bool,
    /// The call sites.
    pub sites: Sites,
    /// The allocations alive at the end, by address; empty for a run that was read from a summary.
    #[serde(skip)]
    pub live: Vec<Live>,
    /// How it would fare on the cards asked about; empty for a run that was read from a summary.
    #[serde(skip)]
    pub fits: Vec<Fit>,
    /// Whether it was read from a summary, which tells less than the snapshot.
    #[serde(skip)]
    pub is_summary: bool,
}

impl Moment {
    /// Bytes allocated.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.held.iter().map(|held| held.bytes).fold(0, u64::saturating_add)
    }

    /// Bytes by category; they sum to [`bytes`](Moment::bytes).
    #[must_use]
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::new();
        for held in &self.held {
            let part = parts.entry(held.category).or_default();
            *part = part.saturating_add(held.bytes);
        }
        parts
    }
}

impl PhasePeak {
    /// Bytes allocated.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.values().copied().fold(0, u64::saturating_add)
    }
}

impl Run {
    /// Cuts a snapshot down; `None` where no device has a trace or memory. `capacities` are the
    /// cards asked about, in bytes.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        findings: &Findings,
        name: &str,
        capacities: &[u64],
    ) -> Option<Run> {
        let diagnosis = &findings.diagnosis;
        let device = findings.device(diagnosis.device)?;
        let timeline = &device.timeline;
        let mut sites = SiteMaker::new(snapshot, &findings.kinds);
        let peak = moment(device, &mut sites, timeline.peaks.allocated.entry);
        let end = moment(device, &mut sites, device.last_entry());
        let live = live(snapshot, device, &mut sites);
        Some(Run {
            name: name.to_owned(),
            device: timeline.device,
            conf: snapshot.settings.as_ref().map(|told| told.conf.clone()).unwrap_or_default(),
            history: findings.history,
            stacks: findings.stacks,
            entries: timeline.entries(),
            course: course(&timeline.usage.allocated),
            fingerprint: Fingerprint::of(snapshot, timeline),
            peak,
            peak_reserved_bytes: timeline.peaks.reserved.bytes,
            end,
            end_reserved_bytes: timeline.end.reserved,
            phases: phase_peaks(device),
            steps: steps(snapshot, device),
            failure: timeline.ooms.last().map(|oom| Failure {
                place: place(device, oom.entry),
                request_bytes: oom.request_bytes,
            }),
            cause: diagnosis.cause(),
            headline: diagnosis.headline.clone(),
            recomputes: recomputes(snapshot, findings),
            sites: sites.finish(),
            live,
            fits: capacities
                .iter()
                .filter_map(|capacity| Fit::of(snapshot, findings, device, *capacity))
                .collect(),
            is_summary: false,
        })
    }

    /// Whether a line of the program can be named.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        self.stacks != StacksTold::None
    }
}

fn recomputes(snapshot: &Snapshot, findings: &Findings) -> bool {
    let stacks = u32::try_from(snapshot.stacks.len()).unwrap_or(u32::MAX);
    (0..stacks).any(|stack| findings.marks.get(StackId(stack)).signs.has(Signs::RECOMPUTED))
}

fn place(device: &Device, entry: u32) -> Place {
    let step = device.steps.partition_point(|step| step.begin <= entry).checked_sub(1);
    let inside = |step: &usize| device.steps.get(*step).is_some_and(|step| entry < step.end);
    Place {
        step: step.filter(inside).and_then(|step| u32::try_from(step).ok()),
        phase: device.phases.get(entry),
    }
}

fn moment(device: &Device, sites: &mut SiteMaker<'_>, entry: u32) -> Moment {
    let mut held: Vec<Held> = Vec::new();
    let mut places: FxHashMap<(u32, Category), usize> = FxHashMap::default();
    for (id, allocation) in device.timeline.live_after(entry) {
        let is_older = (id.0 as usize) < device.timeline.older;
        let (site, category) = (sites.site(allocation.stack, is_older), device.category(id));
        let place = *places.entry((site, category)).or_insert(held.len());
        if place == held.len() {
            held.push(Held { site, category, bytes: 0, count: 0, largest: 0 });
        }
        let sum = &mut held[place];
        sum.bytes = sum.bytes.saturating_add(allocation.size);
        sum.count += 1;
        sum.largest = sum.largest.max(allocation.size);
    }
    Moment { place: place(device, entry), held }
}

fn live(snapshot: &Snapshot, device: &Device, sites: &mut SiteMaker<'_>) -> Vec<Live> {
    let trace = snapshot.trace(device.timeline.device);
    let made_us =
        |begin: Option<u32>| snapshot.entries.time_us(trace.start.checked_add(begin? as usize)?);
    let alive = device.timeline.live_after(device.last_entry());
    let mut live: Vec<Live> = alive
        .map(|(id, allocation)| Live {
            site: sites.site(allocation.stack, (id.0 as usize) < device.timeline.older),
            address: allocation.address,
            bytes: allocation.size,
            made_us: made_us(allocation.begin()),
        })
        .collect();
    live.sort_unstable_by_key(|live| live.address);
    live
}

fn phase_peaks(device: &Device) -> Vec<PhasePeak> {
    let mut peaks = [(0_u64, None); Phase::ALL.len()];
    for (entry, bytes) in (0..).zip(&device.timeline.usage.allocated) {
        let phase = device.phases.get(entry);
        let place = Phase::ALL.iter().position(|one| *one == phase).unwrap_or(0);
        if *bytes > peaks[place].0 {
            peaks[place] = (*bytes, Some(entry));
        }
    }
    let parts = |entry| {
        let all = Category::ALL.into_iter().zip(device.composition(entry));
        all.filter(|(_, bytes)| *bytes > 0).collect()
    };
    let entries = peaks.into_iter().filter_map(|(_, entry)| entry);
    entries.map(|entry| PhasePeak { place: place(device, entry), parts: parts(entry) }).collect()
}

fn steps(snapshot: &Snapshot, device: &Device) -> Vec<StepPeak> {
    let trace = snapshot.trace(device.timeline.device);
    // What the step before let go of may still complete after the step's first entry.
    let begin_us = |step: &Step| {
        let entries = (step.begin..step.end).map(|entry| trace.start + entry as usize);
        let mut entries = entries.filter_map(|place| snapshot.entries.get(place));
        entries.find(|entry| entry.action == Action::Alloc)?.time_us
    };
    let of = |step: &Step| StepPeak {
        begin_us: begin_us(step),
        peak_bytes: step.peak,
        begin: step.begin,
        end: step.end,
    };
    device.steps.iter().map(of).collect()
}
