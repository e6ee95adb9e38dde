//! What the same program would reserve under other settings or another limit: the JSON that
//! `oomscope what-if --json` prints.
//!
//! All sizes are bytes, all places entry indices into the device's trace.

use super::question::{BoundsBasis, COLD, EmptyCache, Question, Subject};
use crate::allocator::enough::smallest_capacity;
use crate::allocator::settings::Settings;
use crate::allocator::verify::{LimitBounds, Recording, Verification};
use crate::allocator::what_if::{Conditions, band, what_if};
use crate::findings::Findings;
use crate::findings::savings::change::{Change, OptimizerStates};
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIfReport {
    /// Version of this form.
    pub oomscope: u32,
    /// The device.
    pub device: u32,
    /// The settings replayed, in PyTorch's syntax; empty for its defaults.
    pub conf: String,
    /// The limit replayed.
    pub limit_bytes: Option<u64>,
    /// The card replayed.
    pub capacity_bytes: Option<u64>,
    /// Where the two come from.
    pub bounds_basis: BoundsBasis,
    /// When the program empties the cache.
    pub empty_cache: EmptyCache,
    /// What is different in the program.
    pub change: Change,
    /// The recorded run, and how far its replay agrees.
    pub recorded: RecordedReport,
    /// The most reserved.
    pub peak_reserved_bytes: u64,
    /// The most active.
    pub peak_active_bytes: u64,
    /// Reserved at the end.
    pub final_reserved_bytes: u64,
    /// Requests that fail.
    pub ooms: u64,
    /// The first of them.
    pub first_oom_entry: Option<u32>,
    /// Where the replay stopped: the first request that fails here and not in the recording.
    pub stopped_at_entry: Option<u32>,
    /// Bytes of the request that fails there.
    pub stopped_request_bytes: Option<u64>,
    /// Requests that failed in the recording and fit here.
    pub ooms_survived: u32,
    /// Whether the recording ends in a failure, so that nothing is known of what comes after.
    pub ends_in_failure: bool,
    /// Times that the cache is emptied for a request.
    pub retries: u64,
    /// Times that the program itself empties the cache.
    pub cache_clears: u64,
    /// Bytes that garbage collection returns.
    pub collected_bytes: u64,
    /// The peak's range over address orders.
    pub band_bytes: [u64; 2],
    /// The least card under which the trace goes through.
    pub smallest_capacity_bytes: u64,
    /// Whether the cache before the trace is left out.
    pub starts_cold: bool,
    /// The answer in one sentence.
    pub headline: String,
    /// What limits its truth.
    pub notes: Vec<String>,
    /// What to do next.
    pub next: String,
}

/// The recorded run.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedReport {
    /// Its settings.
    pub conf: String,
    /// The most reserved.
    pub peak_reserved_bytes: u64,
    /// Its failures.
    pub ooms: u64,
    /// Whether its replay reserves the same at every entry.
    pub exact: bool,
    /// Whether, beyond that, each address, segment and final block is the same.
    pub identical: bool,
    /// Entries at which it does not.
    pub differing_entries: u32,
    /// By how much at most.
    pub largest_difference_bytes: u64,
    /// The first of them.
    pub first_differing_entry: Option<u32>,
    /// Share of the requests at the recorded address, from 0 to 1.
    pub addresses_equal: f64,
    /// Its memory limit is no less.
    pub limit_at_least_bytes: u64,
    /// Its memory limit is less, if there was one.
    pub limit_below_bytes: Option<u64>,
    /// What its card could give, if it was full.
    pub capacity_bytes: Option<u64>,
}

/// The device to ask about where none is named: one with a failure, else the one with most entries.
/// `None` where no device has a trace.
#[must_use]
pub fn device_of(snapshot: &Snapshot) -> Option<u32> {
    let entries = |device: u32| snapshot.trace(device).len();
    let fails = |device: &u32| {
        let mut actions = snapshot.trace(*device).filter_map(|place| snapshot.entries.get(place));
        actions.any(|entry| entry.action == Action::Oom)
    };
    let devices = || (0..snapshot.device_count()).filter(|device| entries(*device) > 0);
    devices().find(fails).or_else(|| devices().max_by_key(|device| entries(*device)))
}

impl WhatIfReport {
    /// Answers `question` about `device`; `None` where its trace has no allocation.
    #[must_use]
    pub fn of(snapshot: &Snapshot, device: u32, question: &Question) -> Option<WhatIfReport> {
        if question.needs_findings() {
            let findings = Findings::of_device(snapshot, device)?;
            let found = findings.device(device)?;
            let subject = question.subject(snapshot, &findings, found);
            let ooms = found.timeline.ooms.len() as u64;
            let recording = found.recording(snapshot);
            return WhatIfReport::answer(recording, &subject, device, ooms, question);
        }
        let timeline = Timeline::replay(snapshot, device);
        let recording = Recording::of(snapshot, &timeline);
        let ooms = timeline.ooms.len() as u64;
        WhatIfReport::answer(&recording, &question.as_recorded(), device, ooms, question)
    }

    fn answer(
        recording: &Recording,
        subject: &Subject,
        device: u32,
        ooms: u64,
        question: &Question,
    ) -> Option<WhatIfReport> {
        let verification = &recording.verification;
        let program = subject.program(recording);
        if verification.compared == 0 {
            return None;
        }
        let settings = match &question.conf {
            Some(parsed) => &parsed.settings,
            None => &program.recorded,
        };
        let (bounds, bounds_basis) = question.bounds(settings, recording);
        let conditions = Conditions { bounds, clear_cache: subject.clear_cache.clone() };
        let outcome = what_if(program, settings, &conditions);
        let (low, high) = band(program, settings, &conditions, &outcome);
        let mut report = WhatIfReport {
            oomscope: 1,
            device,
            conf: settings.to_string(),
            limit_bytes: bounds.limit,
            capacity_bytes: bounds.capacity,
            bounds_basis,
            empty_cache: question.empty_cache,
            change: question.change,
            recorded: recorded(&program.recorded, verification, ooms),
            peak_reserved_bytes: outcome.totals.peak_reserved,
            peak_active_bytes: outcome.totals.peak_active,
            final_reserved_bytes: outcome.totals.reserved,
            ooms: outcome.totals.ooms,
            first_oom_entry: outcome.first_oom_entry,
            stopped_at_entry: outcome.stopped.map(|(entry, _)| entry),
            stopped_request_bytes: outcome.stopped.map(|(_, refused)| refused.request_bytes),
            ooms_survived: outcome.survived,
            ends_in_failure: outcome.ends_in_failure,
            retries: outcome.totals.retries,
            cache_clears: outcome.clears,
            collected_bytes: outcome.totals.collected,
            band_bytes: [low, high],
            smallest_capacity_bytes: smallest_capacity(program, settings, &subject.clear_cache),
            starts_cold: outcome.starts_cold,
            headline: String::new(),
            notes: Vec::new(),
            next: String::new(),
        };
        report.headline = headline(&report);
        report.notes = notes(&report, question, settings);
        report.notes.splice(0..0, subject.notes.iter().cloned());
        report.next = next(&report, question, settings);
        Some(report)
    }
}

impl WhatIfReport {
    /// Whether the recorded failures are served under the highest limit that they allow, and might not
    /// be under the one there was.
    fn depends_on_limit(&self) -> bool {
        self.bounds_basis == BoundsBasis::Inferred
            && self.ooms_survived > 0
            && self.ooms == 0
            && self.smallest_capacity_bytes > self.recorded.limit_at_least_bytes
    }
}

fn recorded(settings: &Settings, verification: &Verification, ooms: u64) -> RecordedReport {
    let LimitBounds { at_least, below, capacity } = verification.limit;
    RecordedReport {
        conf: settings.to_string(),
        peak_reserved_bytes: verification.recorded_peak,
        ooms,
        exact: verification.is_exact(),
        identical: verification.is_identical(),
        differing_entries: verification.differing_entries,
        largest_difference_bytes: verification.largest_difference_bytes,
        first_differing_entry: verification.first_differing_entry,
        addresses_equal: verification.addresses_equal_share(),
        limit_at_least_bytes: at_least,
        limit_below_bytes: below,
        capacity_bytes: capacity,
    }
}

fn headline(report: &WhatIfReport) -> String {
    let under = match (report.limit_bytes, report.capacity_bytes) {
        (Some(limit), _) if report.depends_on_limit() => {
            format!("Under a limit of {}, the highest that the recording allows", Bytes(limit))
        }
        (Some(limit), _) => format!("Under a limit of {}", Bytes(limit)),
        (None, Some(capacity)) => format!("On a card with room for {}", Bytes(capacity)),
        (None, None) => "Without any limit".to_owned(),
    };
    let with = match report.conf.as_str() {
        "" => "PyTorch's default settings",
        conf => conf,
    };
    let at = |entry: u32| Count(u64::from(entry)).to_string();
    let what = match (report.stopped_at_entry, report.ooms, report.ooms_survived) {
        (Some(entry), ..) => format!(
            "a request of {} that the recorded run served fails at entry {}",
            Bytes(report.stopped_request_bytes.unwrap_or(0)),
            at(entry)
        ),
        (None, 1.., _) => format!(
            "{} as in the recording at entry {}",
            if report.ooms == 1 { "a request fails" } else { "requests fail" },
            at(report.first_oom_entry.unwrap_or(0))
        ),
        (None, 0, 1..) if report.ends_in_failure => {
            "the run goes past the point where it failed".to_owned()
        }
        (None, 0, 1..) => "every request is served, those that failed too".to_owned(),
        (None, 0, 0) => "every request is served".to_owned(),
    };
    format!("{under}, with {with}{}, {what}.", also(report))
}

/// What is asked beyond settings and bounds, each with a comma before it.
fn also(report: &WhatIfReport) -> String {
    let Change { batch, checkpointing, optimizer_states } = report.change;
    let mut parts = Vec::new();
    if batch != 1.0 {
        parts.push(format!("{batch} times the batch"));
    }
    if checkpointing {
        parts.push("activations checkpointed".to_owned());
    }
    match optimizer_states {
        OptimizerStates::Recorded => {}
        OptimizerStates::EightBit => parts.push("optimizer states in 8 bits".to_owned()),
        OptimizerStates::None => parts.push("no optimizer states".to_owned()),
    }
    match report.empty_cache {
        EmptyCache::Recorded => {}
        EmptyCache::Never => parts.push("the cache never emptied by the program".to_owned()),
        EmptyCache::EveryStep => parts.push("the cache emptied between the steps".to_owned()),
    }
    parts.iter().map(|part| format!(", {part}")).collect()
}

fn notes(report: &WhatIfReport, question: &Question, settings: &Settings) -> Vec<String> {
    let mut notes: Vec<String> =
        question.conf.as_ref().map(|parsed| parsed.notes.clone()).unwrap_or_default();
    let recorded = &report.recorded;
    if recorded.exact {
        notes.push(format!(
            "The recorded settings, replayed, reserve the recorded bytes at every entry{}.",
            if recorded.identical { ", at every address" } else { "" }
        ));
    } else {
        notes.push(format!(
            "The recorded settings, replayed, differ from the recording at {} entries, by up to {}: take the numbers as estimates.",
            Count(u64::from(recorded.differing_entries)),
            Bytes(recorded.largest_difference_bytes)
        ));
    }
    let [low, high] = report.band_bytes;
    if low < high {
        notes.push(format!(
            "Which of several equal holes is used depends on the driver's addresses; over many orders of them the peak lies between {} and {}.",
            Bytes(low),
            Bytes(high)
        ));
    }
    if report.ends_in_failure {
        notes.push(
            "The recording ends at a failure, so nothing is known of what the program would have asked for afterwards."
                .to_owned(),
        );
    }
    if report.starts_cold {
        notes.push(COLD.to_owned());
    }
    if let (BoundsBasis::Inferred, Some(limit)) = (report.bounds_basis, report.limit_bytes) {
        notes.push(format!(
            "The limit was worked out from the recorded refusals: it is at least {} and at most {}; --limit sets another.",
            Bytes(recorded.limit_at_least_bytes),
            Bytes(limit)
        ));
    }
    if settings.garbage_collection_threshold > 0.0 && report.limit_bytes.is_none() {
        notes.push(
            "garbage_collection_threshold does nothing without a memory fraction (--limit)."
                .to_owned(),
        );
    }
    if settings.per_process_memory_fraction.is_some() && report.limit_bytes.is_none() {
        notes.push(
            "per_process_memory_fraction needs the card's size to mean bytes (--capacity)."
                .to_owned(),
        );
    }
    notes
}

fn next(report: &WhatIfReport, question: &Question, settings: &Settings) -> String {
    let least = Bytes(report.smallest_capacity_bytes);
    let set = |conf: &str| format!("PYTORCH_CUDA_ALLOC_CONF={conf}");
    if report.bounds_basis == BoundsBasis::None {
        return format!(
            "Nothing bounds this replay: give the card's or the limit's size, such as --limit 24GiB, to see whether it fits; {least} are enough."
        );
    }
    if report.depends_on_limit() {
        return format!(
            "Give the limit, with --limit: {least} are needed, and the recorded one lies between {} and {}.",
            Bytes(report.recorded.limit_at_least_bytes),
            Bytes(report.limit_bytes.unwrap_or(0))
        );
    }
    if report.ooms > 0 && !settings.expandable_segments {
        return format!(
            "Ask the same with --conf expandable_segments:True; under these settings {least} are needed."
        );
    }
    if report.ooms > 0 {
        return format!(
            "No setting of the allocator is known to need less than expandable segments do ({least}): make the program hold less (smaller batches, checkpointing, fewer copies)."
        );
    }
    if question.conf.is_some() && report.recorded.ooms > 0 {
        return format!("Start the program with {} in its environment.", set(&report.conf));
    }
    format!("Nothing to do: {least} would be enough.")
}
