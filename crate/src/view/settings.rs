//! The allocator's settings side by side: what the recorded requests would have come to under each.
//! One row is one replay, so that a page can ask for them one by one.

use super::what_if::{BoundsBasis, Question, bounds};
use crate::allocator::cache::Bounds;
use crate::allocator::settings::Settings;
use crate::allocator::verify::Recording;
use crate::allocator::what_if::{Addresses, Conditions, Outcome, replay, what_if};
use crate::findings::Device;
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// The settings compared, in PyTorch's syntax; the first is the recorded one.
const COMPARED: [&str; 7] = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:128",
    "garbage_collection_threshold:0.6",
    "roundup_power2_divisions:4",
    "expandable_segments:True,roundup_power2_divisions:4",
    "expandable_segments:False",
];

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
    /// Times that the cache is emptied for a request: each stalls the GPU.
    pub retries: u64,
    /// The entry at which it runs out.
    pub fails_at_entry: Option<u32>,
}

/// The rows to ask for.
#[must_use]
pub fn count(snapshot: &Snapshot) -> usize {
    compared(snapshot).len()
}

/// The recorded settings, and the others that differ from them.
fn compared(snapshot: &Snapshot) -> Vec<Settings> {
    let recorded = Settings::recorded(snapshot);
    let others = COMPARED.iter().skip(1).filter_map(|conf| Settings::parse(conf).ok());
    let mut all = vec![recorded];
    for parsed in others {
        if !all.contains(&parsed.settings) {
            all.push(parsed.settings);
        }
    }
    all
}

impl SettingRow {
    /// Row `place` for `device`; `None` past the last, or where the trace has no allocation.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        device: &Device,
        place: usize,
        question: &Question,
    ) -> Option<SettingRow> {
        let settings = compared(snapshot).into_iter().nth(place)?;
        let recording = device.recording(snapshot);
        if recording.verification.compared == 0 {
            return None;
        }
        let (bounds, basis) = bounds(question, &settings, recording);
        let run = |bounds| what_if(&recording.program, &settings, &Conditions::within(bounds));
        let (least, most) = (least_of(bounds, basis, recording), bounds);
        let outcome = run(least);
        let fate = match (outcome.goes_through(), outcome.survived > 0 && outcome.ends_in_failure) {
            (false, _) if least != most && run(most).goes_through() => Fate::Unsure,
            (false, _) => Fate::Fails,
            (true, true) => Fate::Passes,
            (true, false) => Fate::Served,
        };
        Some(SettingRow {
            place,
            conf: settings.to_string(),
            is_recorded: place == 0,
            fate,
            fate_note: note(fate, &outcome, least, most),
            peak_reserved_bytes: outcome.totals.peak_reserved,
            retries: outcome.totals.retries,
            fails_at_entry: outcome.first_oom_entry,
        })
    }
}

/// What row `place` reserves after each entry of the trace, in bytes; it ends where the replay does.
/// Empty past the last row, or where the trace has no allocation.
#[must_use]
pub fn reserved(
    snapshot: &Snapshot,
    device: &Device,
    place: usize,
    question: &Question,
) -> Vec<u64> {
    let mut after: Vec<u64> = Vec::new();
    let Some(settings) = compared(snapshot).into_iter().nth(place) else { return after };
    let recording = device.recording(snapshot);
    if recording.verification.compared == 0 {
        return after;
    }
    let (bounds, basis) = bounds(question, &settings, recording);
    let bounds = least_of(bounds, basis, recording);
    let addresses = Addresses::for_replay(&recording.program, &settings);
    let conditions = Conditions::within(bounds);
    replay(&recording.program, &settings, &conditions, addresses, |entry, totals| {
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

/// Where the limit was worked out from the recording, the least that it can have been.
fn least_of(bounds: Bounds, basis: BoundsBasis, recording: &Recording) -> Bounds {
    if basis == BoundsBasis::Inferred { recording.least_bounds() } else { bounds }
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
