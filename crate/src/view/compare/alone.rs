//! A run with nothing to compare it with: what a summary can show by itself.

use super::{Part, parts, place};
use crate::compare::run::Run;
use crate::compare::site::Frame;
use crate::findings::category::Category;
use crate::units::{Bytes, Count};
use serde::Serialize;
use std::cmp::Reverse;

/// Call sites shown.
const SITES: usize = 12;

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct AloneView {
    /// Its name.
    pub name: String,
    /// Whether it was read from a summary.
    pub is_summary: bool,
    /// The verdict in a sentence.
    pub headline: String,
    /// What was allocated at the peak; sums to it.
    pub peak: Vec<Part>,
    /// What else is known, a sentence each.
    pub facts: Vec<String>,
    /// The call sites that hold most at the peak, the most first.
    pub sites: Vec<AloneSite>,
}

/// One call site at the peak.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AloneSite {
    /// Its frames, innermost first.
    pub frames: Vec<Frame>,
    /// What it holds.
    pub category: Category,
    /// The same for people.
    pub category_label: &'static str,
    /// Number of its allocations.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl AloneView {
    /// What is known of `run`.
    #[must_use]
    pub fn of(run: &Run) -> AloneView {
        let mut facts = vec![format!(
            "Peak: {} allocated, in {}; {} reserved at most.",
            Bytes(run.peak.bytes()),
            place(run.peak.place),
            Bytes(run.peak_reserved_bytes)
        )];
        if let Some(failure) = run.failure {
            facts.push(format!(
                "A request for {} failed, in {}.",
                Bytes(failure.request_bytes),
                place(failure.place)
            ));
        }
        if !run.steps.is_empty() {
            facts.push(format!("Steps seen: {}.", Count(run.steps.len() as u64)));
        }
        facts.push(format!("Entries recorded: {}.", Count(u64::from(run.entries))));
        if !run.conf.is_empty() {
            facts.push(format!("Allocator settings: `{}`.", run.conf));
        }
        let mut held: Vec<_> = run.peak.held.iter().collect();
        held.sort_by_key(|held| Reverse(held.bytes));
        let sites = held.into_iter().take(SITES).map(|held| AloneSite {
            frames: run.sites.frames_of(held.site).into_iter().cloned().collect(),
            category: held.category,
            category_label: held.category.label(),
            count: held.count,
            bytes: held.bytes,
        });
        AloneView {
            name: run.name.clone(),
            is_summary: run.is_summary,
            headline: run.headline.clone(),
            peak: parts(&run.peak.parts()),
            facts,
            sites: sites.collect(),
        }
    }
}
