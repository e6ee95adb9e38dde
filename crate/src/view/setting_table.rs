//! The allocator's settings side by side. The table fills up in short steps, so that who shows it
//! can stop between them and stays alive meanwhile: first each row, then what takes many replays.

use super::question::{COLD, Question, Subject};
use super::settings::{Asked, SettingRow, compared, recommended};
use crate::allocator::enough::CapacitySearch;
use crate::allocator::settings::Settings;
use crate::allocator::what_if::orders;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::units::Count;
use serde::Serialize;

/// Operations replayed in one step, some fifty milliseconds' worth. A replay is never divided, so
/// that a step takes at least one.
const STEP_OPERATIONS: usize = 200_000;

/// What a table shows by now.
#[derive(Clone, Debug, Serialize)]
pub struct SettingTableView {
    /// The rows known, by place.
    pub rows: Vec<SettingRow>,
    /// All rows that there will be.
    pub count: usize,
    /// How much of the work is done, from 0 to 1.
    pub progress: f64,
    /// What is replayed next; empty when nothing is left.
    pub doing: String,
    /// The best row, once all are known; `None` where none is better than the recorded one.
    pub recommended: Option<usize>,
    /// What was asked beyond the settings, and what limits its truth.
    pub notes: Vec<String>,
}

/// A table on its way.
#[derive(Clone, Debug)]
pub struct SettingTable {
    device: u32,
    question: Question,
    subject: Subject,
    settings: Vec<Settings>,
    rows: Vec<SettingRow>,
    /// Rows of which everything is known.
    complete: usize,
    /// Address orders replayed of the row after those.
    orders: u32,
    search: Option<CapacitySearch>,
}

impl SettingTable {
    /// An empty table for `question` about `device`; `None` where its trace has no allocation.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        findings: &Findings,
        device: &Device,
        question: Question,
    ) -> Option<SettingTable> {
        if device.recording(snapshot).verification.compared == 0 {
            return None;
        }
        Some(SettingTable {
            device: device.timeline.device,
            subject: question.subject(snapshot, findings, device),
            question,
            settings: compared(snapshot),
            rows: Vec::new(),
            complete: 0,
            orders: 0,
            search: None,
        })
    }

    /// Whether it answers `question` about `device`.
    #[must_use]
    pub fn answers(&self, device: u32, question: &Question) -> bool {
        self.device == device && self.question == *question
    }

    /// Whether nothing is left to replay.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete == self.settings.len()
    }

    /// Replays for one step. `device` must be the one that the table was made for.
    pub fn advance(&mut self, snapshot: &Snapshot, device: &Device) {
        let mut left = STEP_OPERATIONS;
        while left > 0 && !self.is_complete() {
            let recording = device.recording(snapshot);
            let operations = self.subject.program(recording).operations.len();
            self.replay(snapshot, device);
            left = left.saturating_sub(operations.max(1));
        }
    }

    /// The next replay.
    fn replay(&mut self, snapshot: &Snapshot, device: &Device) {
        let recording = device.recording(snapshot);
        let asked = Asked { question: &self.question, subject: &self.subject, recording };
        if let Some(settings) = self.settings.get(self.rows.len()) {
            self.rows.push(asked.row(settings, self.rows.len()));
            return;
        }
        let (Some(settings), Some(row)) =
            (self.settings.get(self.complete), self.rows.get_mut(self.complete))
        else {
            return;
        };
        let program = self.subject.program(recording);
        let peak = row.peak_reserved_bytes;
        let [low, high] = *row.band_bytes.get_or_insert([peak, peak]);
        if self.orders < orders(program, settings).end {
            let other = asked.peak_in_order(settings, self.orders);
            row.band_bytes = Some([low.min(other), high.max(other)]);
            self.orders += 1;
            return;
        }
        let search = self.search.get_or_insert_with(|| CapacitySearch::new(program, settings));
        if let Some(bytes) = search.found() {
            row.smallest_capacity_bytes = Some(bytes);
            (self.orders, self.search) = (0, None);
            self.complete += 1;
        } else {
            search.step(program, settings, &self.subject.clear_cache);
        }
    }

    /// What row `place` reserves after each entry of the trace, in bytes; it ends where the replay
    /// does. Empty past the last row.
    #[must_use]
    pub fn reserved(&self, snapshot: &Snapshot, device: &Device, place: usize) -> Vec<u64> {
        let recording = device.recording(snapshot);
        let asked = Asked { question: &self.question, subject: &self.subject, recording };
        self.settings.get(place).map_or_else(Vec::new, |settings| asked.reserved(settings))
    }

    /// What there is to show.
    #[must_use]
    pub fn view(&self) -> SettingTableView {
        let count = self.settings.len();
        let all_known = self.rows.len() == count;
        let place = |place: usize| Count(place as u64 + 1).to_string();
        let doing = if !all_known {
            format!("Replaying setting {} of {count}", place(self.rows.len()))
        } else if self.is_complete() {
            String::new()
        } else if self.search.is_some() {
            format!("Looking for the least memory: setting {} of {count}", place(self.complete))
        } else {
            format!("Trying other address orders: setting {} of {count}", place(self.complete))
        };
        let mut notes = self.subject.notes.clone();
        if self.rows.iter().any(|row| row.starts_cold) {
            notes.push(COLD.to_owned());
        }
        SettingTableView {
            rows: self.rows.clone(),
            count,
            // What is looked for in the end takes several times as long as the row itself.
            progress: (self.rows.len() + 4 * self.complete) as f64 / (5 * count).max(1) as f64,
            doing,
            recommended: all_known.then(|| recommended(&self.rows)).flatten(),
            notes,
        }
    }
}
