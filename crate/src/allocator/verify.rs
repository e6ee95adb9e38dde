//! The recorded settings replayed: does the replay do what the recorded run did?

use super::block::State;
use super::burst::{Authors, Burst};
use super::cache::{Allocator, Bounds};
use super::driver::Recorded;
use super::extract::{Extracted, extract};
use super::program::{Operation, Program, What};
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::BlockState;
use crate::timeline::Timeline;
use rustc_hash::FxHashMap;

/// How often segments were returned, and by which rule. One request may set off several.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Releases {
    /// The program emptied the cache.
    pub by_program: u32,
    /// Garbage collection.
    pub collections: u32,
    /// Cached blocks above `max_split_size` were returned for a request.
    pub oversize: u32,
    /// All was returned for a request. Ones that found nothing leave no entry and do not count.
    pub full: u32,
    /// No rule returns what was returned.
    pub unexplained: u32,
}

/// What the recorded run tells of its memory limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LimitBounds {
    /// The limit, if any, is no less: so much was allowed.
    pub at_least: u64,
    /// The limit is less: a request for so much was refused. `None` where nothing ever was.
    pub below: Option<u64>,
    /// What the driver could give in all, where it, and not a limit, refused a request.
    pub capacity: Option<u64>,
}

/// A replay under the recorded settings, compared with the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Requests compared; 0 where the trace has none.
    pub compared: u32,
    /// Requests after which another sum was reserved than recorded.
    pub differing_entries: u32,
    /// The largest such difference, in bytes.
    pub largest_difference_bytes: u64,
    /// The first such entry.
    pub first_differing_entry: Option<u32>,
    /// Requests served at the recorded address.
    pub addresses_equal: u32,
    /// Whether segments came and went in the recorded order, at the recorded addresses.
    pub segments_equal: bool,
    /// Blocks at the end that are not those of the file.
    pub final_blocks_differing: u32,
    /// The most that was reserved in the recording, in bytes.
    pub recorded_peak: u64,
    /// The most that was reserved in the replay, in bytes.
    pub replayed_peak: u64,
    /// Who returned memory.
    pub releases: Releases,
    /// What this tells of the memory limit.
    pub limit: LimitBounds,
}

impl Verification {
    /// Whether the replay reserves, after each entry and at its peak, what was recorded.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.compared > 0 && self.differing_entries == 0 && self.recorded_peak == self.replayed_peak
    }

    /// Whether, beyond that, each address, each segment and each block at the end is the recorded
    /// one, and each return of memory has its rule.
    #[must_use]
    pub fn is_identical(&self) -> bool {
        self.is_exact()
            && self.addresses_equal == self.compared
            && self.segments_equal
            && self.final_blocks_differing == 0
            && self.releases.unexplained == 0
    }

    /// The share of the requests served at the recorded address, from 0 to 1.
    #[must_use]
    pub fn addresses_equal_share(&self) -> f64 {
        f64::from(self.addresses_equal) / f64::from(self.compared.max(1))
    }
}

/// A recorded run: the program behind it, and how well the replay knows its allocator.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What the program asked for.
    pub program: Program,
    /// The replay under the recorded settings.
    pub verification: Verification,
}

impl Recording {
    /// Reads the program off the trace of `timeline`, which must be of `snapshot`, and replays it
    /// once.
    #[must_use]
    pub fn of(snapshot: &Snapshot, timeline: &Timeline) -> Recording {
        let Extracted { mut program, perhaps_late } = extract(snapshot, timeline);
        let (verification, authors) = verify(&program, snapshot, timeline);
        for (operation, burst) in perhaps_late {
            let waited = authors.get(burst).copied().flatten().is_some_and(|authors| authors.full);
            if waited
                && let Some(Operation { what, .. }) = program.operations.get_mut(operation)
                && let What::Complete(id) = *what
            {
                *what = What::CompleteLate(id);
            }
        }
        Recording { program, verification }
    }
}

/// Replays the recorded releases as they were, so that nothing need be known of a limit; answers
/// the authors of each burst too.
fn verify(
    program: &Program,
    snapshot: &Snapshot,
    timeline: &Timeline,
) -> (Verification, Vec<Option<Authors>>) {
    let segments = program.start_ranges.iter().filter(|range| !range.is_expandable);
    let live = segments.map(|range| (range.address, range.size));
    let driver = Box::new(Recorded::new(&program.grown, live));
    let mut allocator = Allocator::new(program.recorded.clone(), Bounds::NONE, driver);
    let lost = allocator.adopt(program);
    allocator.log = Some(Vec::new());
    let mut replay = Replay {
        allocator,
        verification: Verification {
            recorded_peak: timeline.peaks.reserved.bytes,
            ..Verification::default()
        },
        below: u64::MAX,
        authors: Vec::with_capacity(program.bursts.len()),
    };
    let mut bursts = program.bursts.iter().peekable();
    for_each(program.operations.iter(), |operation| {
        while let Some(burst) = bursts.next_if(|burst| burst.entry <= operation.entry) {
            replay.burst(burst);
        }
        replay.step(program, timeline, operation);
    });
    bursts.for_each(|burst| replay.burst(burst));
    let Replay { allocator, mut verification, below, authors } = replay;

    verification.replayed_peak = allocator.totals.peak_reserved;
    verification.segments_equal = allocator.log.as_ref() == Some(&program.lines);
    verification.final_blocks_differing =
        final_blocks_differing(&allocator, snapshot, timeline.device)
            .saturating_add(u32::try_from(lost).unwrap_or(u32::MAX));
    let threshold = program.recorded.garbage_collection_threshold;
    let limit = &mut verification.limit;
    limit.at_least = limit.at_least.max(allocator.totals.allowed_growth);
    if threshold > 0.0 {
        let uncollected = (allocator.uncollected as f64 / threshold).ceil() as u64;
        limit.at_least = limit.at_least.max(uncollected);
    }
    limit.below = Some(below).filter(|below| *below != u64::MAX && limit.at_least < *below);
    let capacities = timeline.ooms.iter().filter_map(|oom| {
        // A limit refuses while the card has room; only a full card has less than was asked for.
        let free = oom.device_free_bytes?;
        let wanted = program.recorded.segment_size(oom.request_bytes);
        (free < wanted).then_some(oom.usage.reserved.saturating_add(free))
    });
    limit.capacity = capacities.min();
    (verification, authors)
}

struct Replay<'a> {
    allocator: Allocator<'a>,
    verification: Verification,
    below: u64,
    authors: Vec<Option<Authors>>,
}

impl Replay<'_> {
    fn step(&mut self, program: &Program, timeline: &Timeline, operation: &Operation) {
        let Operation { entry, what } = *operation;
        match what {
            What::Allocate(id) => {
                let Some(request) = program.requests.get(id.0 as usize) else { return };
                // Without bounds nothing is refused, but for what no address space holds.
                let _ = self.allocator.allocate(entry, id.0, *request);
                let address = timeline.allocation(id).map(|allocation| allocation.address);
                let verification = &mut self.verification;
                verification.compared += 1;
                verification.addresses_equal +=
                    u32::from(self.allocator.address_of(id.0) == address);
                let recorded = timeline.usage_after(entry).reserved;
                let difference = self.allocator.totals.reserved.abs_diff(recorded);
                if difference > 0 {
                    verification.differing_entries += 1;
                    verification.first_differing_entry.get_or_insert(entry);
                    verification.largest_difference_bytes =
                        verification.largest_difference_bytes.max(difference);
                }
            }
            What::Free(id) => {
                self.allocator.complete(id.0);
            }
            What::Release(id) => self.allocator.release(id.0),
            What::Complete(id) | What::CompleteLate(id) => self.allocator.complete(id.0),
            What::ClearCache => {}
            What::Fail(place) => {
                if let Some(failed) = program.failed.get(place as usize) {
                    let wanted = program.recorded.segment_size(failed.size);
                    let refused = self.allocator.totals.reserved.saturating_add(wanted);
                    self.below = self.below.min(refused);
                }
            }
        }
    }

    fn burst(&mut self, burst: &Burst) {
        let explanation = self.allocator.explain(burst);
        let releases = &mut self.verification.releases;
        self.allocator.released_for = burst.request.map(|(entry, _)| entry);
        match &explanation {
            None => {
                releases.unexplained += 1;
                self.allocator.give_literally(&burst.lines);
            }
            Some(explanation) => {
                let Authors { collection, oversize, full } = explanation.authors;
                if burst.by_program {
                    releases.by_program += 1;
                } else {
                    releases.collections += u32::from(collection);
                    releases.oversize += u32::from(oversize);
                    releases.full += u32::from(full);
                }
                let limit = &mut self.verification.limit;
                limit.at_least = limit.at_least.max(explanation.limit.0);
                self.below = self.below.min(explanation.limit.1);
                for block in &explanation.blocks {
                    self.allocator.give(*block);
                }
            }
        }
        self.authors.push(explanation.map(|explanation| explanation.authors));
    }
}

/// Blocks of the replay's end and of the file that the other has not.
fn final_blocks_differing(allocator: &Allocator<'_>, snapshot: &Snapshot, device: u32) -> u32 {
    let mut replayed: FxHashMap<u64, (u64, State)> = FxHashMap::default();
    let mapped = allocator.segments().flatten().filter(|(.., state)| *state != State::Unmapped);
    for (address, size, state) in mapped {
        replayed.insert(address, (size, state));
    }
    let mut differing = 0_u32;
    for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
        for block in snapshot.blocks_of(segment) {
            let state = match block.state {
                BlockState::ActiveAllocated => State::Allocated,
                BlockState::ActivePendingFree => State::Pending,
                BlockState::Inactive => State::Inactive,
            };
            differing += u32::from(replayed.remove(&block.address) != Some((block.size, state)));
        }
    }
    differing.saturating_add(u32::try_from(replayed.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_identical_only_if_nothing_differs() {
        let same = Verification {
            compared: 3,
            addresses_equal: 3,
            segments_equal: true,
            recorded_peak: 5,
            replayed_peak: 5,
            ..Verification::default()
        };
        assert!(same.is_exact() && same.is_identical());
        let in_bytes: [fn(&mut Verification); 3] =
            [|it| it.compared = 0, |it| it.differing_entries = 1, |it| it.replayed_peak = 6];
        for change in in_bytes {
            let mut other = same.clone();
            change(&mut other);
            assert!(!other.is_exact() && !other.is_identical(), "{other:?}");
        }
        let in_order: [fn(&mut Verification); 4] = [
            |it| it.addresses_equal = 2,
            |it| it.segments_equal = false,
            |it| it.final_blocks_differing = 1,
            |it| it.releases.unexplained = 1,
        ];
        for change in in_order {
            let mut other = same.clone();
            change(&mut other);
            assert!(other.is_exact() && !other.is_identical(), "{other:?}");
        }
        assert_eq!(
            Verification { addresses_equal: 0, ..same.clone() }.addresses_equal_share(),
            0.0
        );
        assert_eq!(same.addresses_equal_share(), 1.0);
    }
}
