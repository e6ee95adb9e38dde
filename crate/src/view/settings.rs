//! One setting of the allocator: what the requests come to under it.

use super::question::{BoundsBasis, Question, Subject};
use crate::allocator::cache::Bounds;
use crate::allocator::program::Program;
use crate::allocator::settings::Settings;
use crate::allocator::verify::Recording;
use crate::allocator::what_if::{Addresses, Conditions, Outcome, peak_in_order, replay, what_if};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// The settings compared with the recorded ones, in PyTorch's syntax.
const COMPARED: [&str; 6] = [
    "expandable_segments:True",
    "max_split_size_mb:128",
    "garbage_collection_threshold:0.6",
    "roundup_power2_divisions:4",
    "expandable_segments:True,roundup_power2_divisions:4",
    "expandable_segments:False",
];

/// The recorded settings, and the others that differ from them.
pub(super) fn compared(snapshot: &Snapshot) -> Vec<Settings> {
    let recorded = Settings::recorded(snapshot);
    let mut all = vec![recorded];
    for parsed in COMPARED.iter().filter_map(|conf| Settings::parse(conf).ok()) {
        if !all.contains(&parsed.settings) {
            all.push(parsed.settings);
        }
    }
    all
}

/// How a run fares under a setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Every request is served.
    Served,
    /// It gets past the point at which the recorded run failed; what comes after is not known.
    Passes,
    /// It runs out under the least limit that the recording allows, and not under the greatest.
    Unsure,
    /// It runs out of memory.
    Fails,
}

/// One setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingRow {
    /// Its place in the list.
    pub place: usize,
    /// In PyTorch's syntax; empty for its defaults.
    pub conf: String,
    /// Whether the run was recorded with it.
    pub is_recorded: bool,
    /// How the run fares.
    pub fate: Fate,
    /// The same in words.
    pub fate_note: String,
    /// The most reserved, in bytes; up to where it failed, if it did.
    pub peak_reserved_bytes: u64,
    /// The least and the greatest peak over the orders in which the driver may give addresses;
    /// `None` until they are replayed.
    pub band_bytes: Option<[u64; 2]>,
    /// The least card under which the trace goes through, in bytes; `None` until it is found.
    pub smallest_capacity_bytes: Option<u64>,
    /// Times that the cache is emptied for a request: each stalls the GPU.
    pub retries: u64,
    /// Times that the program empties the cache itself: each stalls the GPU too.
    pub cache_clears: u64,
    /// The entry at which it runs out.
    pub fails_at_entry: Option<u32>,
    /// Whether the cache before the trace is left out.
    pub starts_cold: bool,
}

/// What one row is worked out from.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) question: &'a Question,
    pub(super) subject: &'a Subject,
    pub(super) recording: &'a Recording,
}

impl Asked<'_> {
    fn program(&self) -> &Program {
        self.subject.program(self.recording)
    }

    /// The bounds that a row is held against: the least that the recording allows.
    fn least(&self, settings: &Settings) -> Bounds {
        let (bounds, basis) = self.question.bounds(settings, self.recording);
        if basis == BoundsBasis::Inferred { self.recording.least_bounds() } else { bounds }
    }

    fn conditions(&self, bounds: Bounds) -> Conditions {
        Conditions { bounds, clear_cache: self.subject.clear_cache.clone() }
    }

    /// Row `place`, without what takes many replays.
    pub(super) fn row(&self, settings: &Settings, place: usize) -> SettingRow {
        let (most, least) =
            (self.question.bounds(settings, self.recording).0, self.least(settings));
        let run = |bounds| what_if(self.program(), settings, &self.conditions(bounds));
        let outcome = run(least);
        let fate = match (outcome.goes_through(), outcome.survived > 0 && outcome.ends_in_failure) {
            (false, _) if least != most && run(most).goes_through() => Fate::Unsure,
            (false, _) => Fate::Fails,
            (true, true) => Fate::Passes,
            (true, false) => Fate::Served,
        };
        SettingRow {
            place,
            conf: settings.to_string(),
            is_recorded: place == 0,
            fate,
            fate_note: note(fate, &outcome, least, most),
            peak_reserved_bytes: outcome.totals.peak_reserved,
            band_bytes: None,
            smallest_capacity_bytes: None,
            retries: outcome.totals.retries,
            cache_clears: outcome.clears,
            fails_at_entry: outcome.first_oom_entry,
            starts_cold: outcome.starts_cold,
        }
    }

    /// The peak in one of the [`orders`](crate::allocator::what_if::orders) of addresses.
    pub(super) fn peak_in_order(&self, settings: &Settings, order: u32) -> u64 {
        let conditions = self.conditions(self.least(settings));
        peak_in_order(self.program(), settings, &conditions, order)
    }

    /// What is reserved after each entry of the trace, in bytes; it ends where the replay does.
    pub(super) fn reserved(&self, settings: &Settings) -> Vec<u64> {
        let mut after: Vec<u64> = Vec::new();
        let addresses = Addresses::for_replay(self.program(), settings);
        let conditions = self.conditions(self.least(settings));
        replay(self.program(), settings, &conditions, addresses, |entry, totals| {
            // Entries without an operation change nothing.
            let before = after.last().copied().unwrap_or(totals.reserved);
            after.resize((entry as usize).max(after.len()), before);
            if after.len() == entry as usize {
                after.push(totals.reserved);
            } else if let Some(last) = after.last_mut() {
                *last = totals.reserved;
            }
        });
        after
    }
}

fn note(fate: Fate, outcome: &Outcome, least: Bounds, most: Bounds) -> String {
    match fate {
        Fate::Fails => {
            format!("Runs out at entry {}", Count(u64::from(outcome.first_oom_entry.unwrap_or(0))))
        }
        Fate::Unsure => format!(
            "Depends on the exact limit, between {} and {}",
            Bytes(least.limit.unwrap_or(0)),
            Bytes(most.limit.unwrap_or(0))
        ),
        Fate::Passes => "Gets past the failure".to_owned(),
        Fate::Served => match least.limit.or(least.capacity) {
            Some(most) => format!("Fits into {}", Bytes(most)),
            None => "Fits".to_owned(),
        },
    }
}

/// The best of some rows: the one that gets furthest, then stalls least, then reserves least; `None`
/// where none is better than what was recorded. A saving of less than a fiftieth is no reason to
/// change anything.
#[must_use]
pub fn recommended(rows: &[SettingRow]) -> Option<usize> {
    let recorded = rows.iter().find(|row| row.is_recorded)?;
    let rank = |row: &SettingRow| {
        let gets_to = match row.fate {
            Fate::Fails | Fate::Unsure => row.fails_at_entry.unwrap_or(0),
            Fate::Served | Fate::Passes => u32::MAX,
        };
        (std::cmp::Reverse(gets_to), row.retries, row.peak_reserved_bytes, row.place)
    };
    let best = rows.iter().min_by_key(|row| rank(row))?;
    let (best_rank, recorded_rank) = (rank(best), rank(recorded));
    let is_better = best_rank.0 < recorded_rank.0
        || best_rank.0 == recorded_rank.0
            && (best.retries < recorded.retries
                || best.peak_reserved_bytes.saturating_mul(50)
                    < recorded.peak_reserved_bytes.saturating_mul(49));
    is_better.then_some(best.place)
}
