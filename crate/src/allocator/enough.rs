//! How much is enough: the least capacity for a trace, and whether other settings get past its
//! failure.

use super::cache::Bounds;
use super::program::{Operation, Program, What};
use super::settings::{MIB, Settings};
use super::verify::Recording;
use super::what_if::{Conditions, Outcome, what_if};

/// Operations that a search for the smallest capacity may replay, lest a long trace take minutes.
const SEARCH_OPERATIONS: usize = 60_000_000;

/// The least capacity, to 2 MiB, under which every request of the trace is served, those that
/// failed in the recording too; the allocator then empties its cache and tries again where it must,
/// so this is less than the peak without bounds. On traces of many millions of operations a
/// capacity that is enough, but perhaps not the least. No limit holds meanwhile.
#[must_use]
pub fn smallest_capacity(program: &Program, settings: &Settings) -> u64 {
    let replay = |capacity| {
        let bounds = Bounds { limit: None, capacity };
        what_if(program, settings, &Conditions::within(bounds))
    };
    let least = program.least_bytes(settings);
    // So much surely works: every request could have a segment of its own.
    let mut enough = replay(None).totals.peak_reserved;
    let largest_failed = program.failed.iter().map(|failed| settings.segment_size(failed.size));
    let room = enough.saturating_add(largest_failed.max().unwrap_or(0));
    if room > enough && !replay(Some(enough)).goes_through() {
        enough = room;
    }
    let unit = 2 * MIB;
    let (mut low, mut high) = (least / unit, enough.div_ceil(unit));
    let mut left = SEARCH_OPERATIONS;
    while low < high && left > 0 {
        left = left.saturating_sub(program.operations.len().max(1));
        let middle = low.midpoint(high);
        if replay(Some(middle.saturating_mul(unit))).goes_through() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high.saturating_mul(unit)
}

/// Whether a recorded failure is passed under other settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The entry of the failure.
    pub entry: u32,
    /// Whether it is passed under the least limit that the recording allows.
    pub at_least: bool,
    /// Whether it is passed under the greatest; the two differ where the recording leaves open
    /// what decides it.
    pub at_most: bool,
    /// The replay under the greatest.
    pub outcome: Outcome,
}

impl Recording {
    /// The bounds under which the recorded run stood, as far as it tells: the capacity of a card
    /// that was full, else the greatest limit that explains every refusal, else none.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let limit = self.verification.limit;
        match (limit.capacity, limit.below) {
            (Some(capacity), _) => Bounds { limit: None, capacity: Some(capacity) },
            (None, Some(below)) => Bounds { limit: Some(below.saturating_sub(1)), capacity: None },
            (None, None) => Bounds::NONE,
        }
    }

    /// The same, but the least limit that explains what was allowed.
    #[must_use]
    pub fn least_bounds(&self) -> Bounds {
        let most = self.bounds();
        Bounds { limit: most.limit.map(|_| self.verification.limit.at_least), ..most }
    }

    /// Whether the trace gets past its last failure under `settings`, with everything else as it
    /// was: two replays. `None` without a failure or without a bound to hold it against.
    #[must_use]
    pub fn passes_its_failure(&self, settings: &Settings) -> Option<Passage> {
        let failure = |operation: &&Operation| matches!(operation.what, What::Fail(_));
        let entry = self.program.operations.iter().rev().find(failure)?.entry;
        let most = self.bounds();
        if !most.is_bounded() {
            return None;
        }
        let least = self.least_bounds();
        let run = |bounds| what_if(&self.program, settings, &Conditions::within(bounds));
        let outcome = run(most);
        let at_most = outcome.passes(entry);
        let at_least = at_most && (least == most || run(least).passes(entry));
        Some(Passage { entry, at_least, at_most, outcome })
    }
}
