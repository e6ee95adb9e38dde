//! A program replayed under other settings or another limit.

use super::cache::{Allocator, Bounds, Refused, Totals};
use super::driver::{Driver, Recorded, Reservations, Shuffled};
use super::program::{Operation, Program, Request, What};
use super::settings::Settings;
use std::ops::Range;

/// When the cache is emptied by the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClearCache {
    /// Where the recorded program did.
    #[default]
    AsRecorded,
    /// Never.
    Never,
    /// Right before each of these entries, in their order, and nowhere else.
    Before(Vec<u32>),
}

/// The circumstances of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// What may be reserved.
    pub bounds: Bounds,
    /// When the cache is emptied.
    pub clear_cache: ClearCache,
}

impl Conditions {
    /// The recorded program under `bounds`.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        Conditions { bounds, clear_cache: ClearCache::AsRecorded }
    }
}

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What was counted, in bytes: peaks, what is held at the end, retries, failures.
    pub totals: Totals,
    /// The first request that failed.
    pub first_oom_entry: Option<u32>,
    /// The first request that failed here and not in the recording, at which the replay stopped.
    pub stopped: Option<(u32, Refused)>,
    /// Requests that failed in the recording and fit here.
    pub survived: u32,
    /// Times that the program empties the cache, each of which waits for the GPU.
    pub clears: u64,
    /// Whether the replay ran to the end of a recording that ends in a failure. Where that request
    /// fits here, the run goes past this point; whether it would have finished is not known.
    pub ends_in_failure: bool,
    /// Whether what lay in the cache before the trace is left out, since other settings would have
    /// left other blocks there.
    pub starts_cold: bool,
}

impl Outcome {
    /// Whether every request of the trace was served, those that failed in the recording too.
    #[must_use]
    pub fn goes_through(&self) -> bool {
        self.totals.ooms == 0
    }

    /// Whether the requests up to and including the one of `entry` were served.
    #[must_use]
    pub fn passes(&self, entry: u32) -> bool {
        self.first_oom_entry.is_none_or(|first| first > entry)
    }
}

/// Where segments lie in a replay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Addresses {
    /// Where they were recorded, as long as the replay asks for the same; else as modelled.
    Recorded,
    /// Where [`Reservations`] puts them.
    Modelled,
    /// Where [`Shuffled`] puts them.
    Shuffled(u32),
}

impl Addresses {
    /// The best guess: the recorded addresses mean something only if the same segments are asked for.
    #[must_use]
    pub fn for_replay(program: &Program, settings: &Settings) -> Self {
        if settings.places_like(&program.recorded) && !program.is_rewritten {
            Addresses::Recorded
        } else {
            Addresses::Modelled
        }
    }
}

/// Replays `program` under `settings` until its end, or until the first request that fails here and
/// did not in the recording.
#[must_use]
pub fn what_if(program: &Program, settings: &Settings, conditions: &Conditions) -> Outcome {
    let addresses = Addresses::for_replay(program, settings);
    replay(program, settings, conditions, addresses, |_, _| {})
}

/// The same with a choice of addresses; `each` is told the entry of every operation and what was
/// counted up to it.
pub fn replay(
    program: &Program,
    settings: &Settings,
    conditions: &Conditions,
    addresses: Addresses,
    each: impl FnMut(u32, &Totals),
) -> Outcome {
    let live = program.start_ranges.iter().filter(|range| !range.is_expandable);
    let driver: Box<dyn Driver + '_> = match addresses {
        Addresses::Recorded => {
            Box::new(Recorded::new(&program.grown, live.map(|range| (range.address, range.size))))
        }
        Addresses::Modelled => Box::new(Reservations::default()),
        Addresses::Shuffled(seed) => Box::new(Shuffled::new(seed)),
    };
    let allocator = Allocator::new(settings.clone(), conditions.bounds, driver);
    Run { program, allocator, late: Vec::new(), outcome: Outcome::default() }.run(conditions, each)
}

struct Run<'a> {
    program: &'a Program,
    allocator: Allocator<'a>,
    /// Completions that wait for a release of the whole cache, or else for the end of a request.
    late: Vec<u32>,
    outcome: Outcome,
}

impl Run<'_> {
    fn run(mut self, conditions: &Conditions, mut each: impl FnMut(u32, &Totals)) -> Outcome {
        let program = self.program;
        let keeps_kind =
            self.allocator.settings.expandable_segments == program.recorded.expandable_segments;
        self.outcome.starts_cold =
            !(program.keeps_start && (keeps_kind || program.start_blocks.is_empty()));
        if !self.outcome.starts_cold {
            self.allocator.adopt(program);
        } else if let Err(refused) = self.allocator.ask_anew(program) {
            self.outcome.first_oom_entry = Some(0);
            self.outcome.stopped = Some((0, refused));
            self.outcome.totals = self.allocator.totals;
            return self.outcome;
        }
        let (as_recorded, clears) = match &conditions.clear_cache {
            ClearCache::AsRecorded => (true, &[][..]),
            ClearCache::Never => (false, &[][..]),
            ClearCache::Before(entries) => (false, &entries[..]),
        };
        let mut clears = clears.iter().peekable();
        for operation in &program.operations {
            while clears.next_if(|entry| **entry <= operation.entry).is_some() {
                self.clear();
            }
            let goes_on = self.step(operation, as_recorded);
            each(operation.entry, &self.allocator.totals);
            if !goes_on {
                break;
            }
        }
        if self.outcome.stopped.is_none() {
            clears.for_each(|_| self.clear());
        }
        self.outcome.ends_in_failure =
            self.outcome.stopped.is_none() && program.end_in_failure().is_some();
        self.outcome.totals = self.allocator.totals;
        self.outcome
    }

    /// Does one operation; false where the run ends here.
    // Never inlined: see `crate::batches`.
    #[inline(never)]
    fn step(&mut self, operation: &Operation, as_recorded: bool) -> bool {
        let Operation { entry, what } = *operation;
        match what {
            What::Allocate(id) => {
                let Some(request) = self.program.requests.get(id.0 as usize) else { return true };
                let served = self.allocator.allocate(entry, id.0, *request);
                self.finish_late();
                if let Err(refused) = served {
                    self.outcome.first_oom_entry.get_or_insert(entry);
                    self.outcome.stopped = Some((entry, refused));
                    return false;
                }
            }
            What::Free(id) | What::Complete(id) => self.allocator.complete(id.0),
            What::Release(id) => self.allocator.release(id.0),
            What::CompleteLate(id) => {
                self.allocator.release(id.0);
                self.late.push(id.0);
            }
            What::ClearCache if as_recorded => self.clear(),
            What::ClearCache => {}
            What::Fail(place) => {
                if let Some(failed) = self.program.failed.get(place as usize) {
                    self.ask_again(entry, *failed);
                }
            }
        }
        true
    }

    fn clear(&mut self) {
        self.allocator.release_cached();
        self.outcome.clears += 1;
    }

    fn finish_late(&mut self) {
        for id in self.late.drain(..) {
            self.allocator.complete(id);
        }
    }

    /// A request that failed in the recording: the program had no block of it, and has none here.
    fn ask_again(&mut self, entry: u32, failed: Request) {
        if self.allocator.bounds.is_bounded() {
            let id = u32::try_from(self.program.requests.len()).unwrap_or(u32::MAX - 1);
            match self.allocator.allocate(entry, id, failed) {
                Ok(()) => {
                    self.outcome.survived += 1;
                    self.allocator.complete(id);
                }
                Err(_) => {
                    self.outcome.first_oom_entry.get_or_insert(entry);
                }
            }
        }
        self.finish_late();
    }
}

/// Address orders that a band is taken over, besides the ascending one and the model's.
const ORDERS: u32 = 8;

/// The address orders over which the peak may differ; none where the addresses are known or do not
/// matter: an expandable segment has one range.
#[must_use]
pub fn orders(program: &Program, settings: &Settings) -> Range<u32> {
    let is_certain = settings.expandable_segments
        || Addresses::for_replay(program, settings) == Addresses::Recorded;
    if is_certain { 0..0 } else { 0..ORDERS + 1 }
}

/// The peak of reserved bytes in one of the [`orders`].
#[must_use]
pub fn peak_in_order(
    program: &Program,
    settings: &Settings,
    conditions: &Conditions,
    order: u32,
) -> u64 {
    let addresses = Addresses::Shuffled(order);
    replay(program, settings, conditions, addresses, |_, _| {}).totals.peak_reserved
}

/// The least and the greatest peak of reserved bytes over all [`orders`], that of `outcome` included.
#[must_use]
pub fn band(
    program: &Program,
    settings: &Settings,
    conditions: &Conditions,
    outcome: &Outcome,
) -> (u64, u64) {
    let peak = outcome.totals.peak_reserved;
    orders(program, settings).fold((peak, peak), |(low, high), order| {
        let other = peak_in_order(program, settings, conditions, order);
        (low.min(other), high.max(other))
    })
}
