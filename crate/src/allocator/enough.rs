//! How much is enough: the least capacity for a trace, and whether other settings get past its
//! failure.

use super::cache::Bounds;
use super::program::{Operation, Program, What};
use super::settings::{MIB, Settings};
use super::verify::Recording;
use super::what_if::{ClearCache, Conditions, Outcome, what_if};

/// Operations that a search for the smallest capacity may replay, lest a long trace take minutes.
const SEARCH_OPERATIONS: usize = 60_000_000;

/// The capacities of a search are multiples of this, in bytes: the granule of segments.
const UNIT: u64 = 2 * MIB;

/// A search for the least capacity under which every request of a trace is served, one replay at a
/// time.
#[derive(Clone, Copy, Debug)]
pub struct CapacitySearch {
    /// In units: less is not enough.
    low: u64,
    /// In units: so much is enough; `None` before the first replay.
    high: Option<u64>,
    /// Operations that may still be replayed.
    left: usize,
}

impl CapacitySearch {
    /// A search for `program` under `settings`; every call must be given the same.
    #[must_use]
    pub fn new(program: &Program, settings: &Settings) -> Self {
        let low = program.least_bytes(settings) / UNIT;
        CapacitySearch { low, high: None, left: SEARCH_OPERATIONS }
    }

    /// The answer in bytes; `None` while there is more to replay.
    #[must_use]
    pub fn found(&self) -> Option<u64> {
        self.high
            .filter(|high| self.low >= *high || self.left == 0)
            .map(|high| high.saturating_mul(UNIT))
    }

    /// Replays once (at first up to twice).
    pub fn step(&mut self, program: &Program, settings: &Settings, clear_cache: &ClearCache) {
        let replay = |capacity| {
            let bounds = Bounds { limit: None, capacity };
            what_if(program, settings, &Conditions { bounds, clear_cache: clear_cache.clone() })
        };
        self.left = self.left.saturating_sub(program.operations.len().max(1));
        let Some(high) = self.high else {
            self.high = Some(surely_enough(program, settings, replay).div_ceil(UNIT));
            return;
        };
        let middle = self.low.midpoint(high);
        let outcome = replay(Some(middle.saturating_mul(UNIT)));
        if outcome.goes_through() {
            // Nothing more than this peak was ever asked for.
            self.high = Some(outcome.totals.peak_reserved.div_ceil(UNIT).clamp(self.low, middle));
        } else {
            self.low = middle + 1;
        }
    }
}

/// A capacity that works: every request could have a segment of its own.
fn surely_enough(
    program: &Program,
    settings: &Settings,
    replay: impl Fn(Option<u64>) -> Outcome,
) -> u64 {
    let enough = replay(None).totals.peak_reserved;
    let largest_failed = program.failed.iter().map(|failed| settings.segment_size(failed.size));
    let room = enough.saturating_add(largest_failed.max().unwrap_or(0));
    if room > enough && !replay(Some(enough)).goes_through() { room } else { enough }
}

/// The least capacity, to 2 MiB, under which every request of the trace is served, those that
/// failed in the recording too; the allocator then empties its cache and tries again where it must,
/// so this is less than the peak without bounds. On traces of many millions of operations a
/// capacity that is enough, but perhaps not the least. No limit holds meanwhile.
#[must_use]
pub fn smallest_capacity(program: &Program, settings: &Settings, clear_cache: &ClearCache) -> u64 {
    let mut search = CapacitySearch::new(program, settings);
    loop {
        match search.found() {
            Some(bytes) => return bytes,
            None => search.step(program, settings, clear_cache),
        }
    }
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
