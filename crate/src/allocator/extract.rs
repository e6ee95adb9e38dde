//! From a trace to the program behind it.

use super::burst::{self, Burst};
use super::cache::SegmentLine;
use super::program::{Grown, Operation, Program, Request, StartBlock, StartRange, What};
use super::settings::Settings;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::{PoolId, Segment};
use crate::snapshot::trace::{Action, Entry};
use crate::timeline::allocation::{Allocation, AllocationId};
use crate::timeline::{Timeline, mapped_before};

/// A program with what its recorded run has yet to tell.
pub(super) struct Extracted {
    pub(super) program: Program,
    /// Completions that were late if the burst behind them released the whole cache: the place of
    /// the operation and that of the burst.
    pub(super) perhaps_late: Vec<(usize, usize)>,
}

/// Reads the operations off a trace.
pub(super) fn extract(snapshot: &Snapshot, timeline: &Timeline) -> Extracted {
    let mut extraction = Extraction::new(snapshot, timeline);
    extraction.requests();
    extraction.start();
    for_each(0..timeline.entries(), |entry| {
        if let Some(recorded) = snapshot.entry(timeline.device, entry) {
            extraction.step(entry, &recorded);
        }
    });
    let Extraction { mut program, perhaps_late, .. } = extraction;
    // Segments grow by pages where the trace says so, whatever the settings at its end.
    program.recorded.expandable_segments |=
        program.lines.iter().any(|line| line.action == Action::SegmentMap);
    Extracted { program, perhaps_late }
}

struct Extraction<'a> {
    snapshot: &'a Snapshot,
    timeline: &'a Timeline,
    /// Raw handles, in order.
    streams: Vec<u64>,
    pools: Vec<PoolId>,
    /// Segments of private pools, by address.
    private: Vec<&'a Segment>,
    /// Allocations that end at another one's `alloc`, latest first.
    overrun: Vec<(u32, AllocationId)>,
    /// The first entry behind the burst at hand.
    burst_end: u32,
    perhaps_late: Vec<(usize, usize)>,
    program: Program,
}

impl<'a> Extraction<'a> {
    fn new(snapshot: &'a Snapshot, timeline: &'a Timeline) -> Self {
        let device = timeline.device;
        let mine = || snapshot.segments.iter().filter(move |segment| segment.device == device);
        let mut streams: Vec<u64> = snapshot.streams.clone();
        streams.extend(mine().map(|segment| segment.stream));
        streams.sort_unstable();
        streams.dedup();
        let mut pools: Vec<PoolId> = snapshot.pools.clone();
        pools.extend(mine().map(|segment| segment.pool));
        pools.push(PoolId::DEFAULT);
        pools.sort_unstable();
        pools.dedup();
        let mut private: Vec<&Segment> =
            mine().filter(|segment| segment.pool != PoolId::DEFAULT).collect();
        private.sort_by_key(|segment| segment.address);
        let mut overrun: Vec<(u32, AllocationId)> = (0..)
            .map(AllocationId)
            .zip(&timeline.allocations)
            .filter_map(|(id, allocation)| Some((allocation.free_completed()?, id)))
            .filter(|(entry, id)| timeline.allocation_of(*entry) != Some(*id))
            .collect();
        overrun.sort_unstable_by_key(|(entry, _)| std::cmp::Reverse(*entry));
        let program = Program {
            requests: Vec::new(),
            failed: Vec::new(),
            operations: Vec::with_capacity(timeline.entries() as usize / 3 * 2),
            recorded: Settings::recorded(snapshot),
            entries: timeline.entries(),
            start_ranges: Vec::new(),
            start_blocks: Vec::new(),
            grown: Vec::new(),
            bursts: Vec::new(),
            lines: Vec::new(),
            is_rewritten: false,
            keeps_start: true,
        };
        Extraction {
            snapshot,
            timeline,
            streams,
            pools,
            private,
            overrun,
            burst_end: 0,
            perhaps_late: Vec::new(),
            program,
        }
    }

    fn requests(&mut self) {
        let mut requests = Vec::with_capacity(self.timeline.allocations.len());
        for_each(self.timeline.allocations.iter(), |allocation| {
            let handle = self.snapshot.streams.get(usize::from(allocation.stream));
            requests.push(Request {
                size: allocation.requested,
                stream: self.stream_place(handle.copied().unwrap_or(0)),
                pool: self.pool_place(self.pool_of(allocation)),
            });
        });
        self.program.requests = requests;
    }

    fn start(&mut self) {
        let ranges = mapped_before(self.snapshot, self.timeline.device);
        let ranges = ranges.iter().map(|range| StartRange {
            address: range.address,
            size: range.size,
            stream: self.stream_place(range.stream),
            pool: self.pool_place(range.pool),
            is_small: range.is_small,
            is_expandable: range.is_expandable,
        });
        self.program.start_ranges = ranges.collect();
        let first = self.timeline.allocation_of(0);
        let released_first = self
            .snapshot
            .entry(self.timeline.device, 0)
            .is_some_and(|entry| entry.action == Action::FreeRequested);
        let older = (0..).map(AllocationId).zip(&self.timeline.allocations);
        let older = older.take(self.timeline.older).map(|(id, allocation)| StartBlock {
            address: allocation.address,
            size: allocation.size,
            is_pending: allocation.free_requested() == Some(0)
                && !(released_first && first == Some(id)),
        });
        self.program.start_blocks = older.collect();
    }

    /// The pool of an allocation. Entries before PyTorch 2.12 name none, but its segment may.
    fn pool_of(&self, allocation: &Allocation) -> PoolId {
        let recorded = allocation
            .begin()
            .and_then(|entry| self.snapshot.entry(self.timeline.device, entry)?.pool)
            .and_then(|pool| self.snapshot.pools.get(usize::from(pool)));
        if let Some(pool) = recorded {
            return *pool;
        }
        if !allocation.is_private {
            return PoolId::DEFAULT;
        }
        let after = self.private.partition_point(|segment| segment.address <= allocation.address);
        let segment = after.checked_sub(1).and_then(|place| self.private.get(place));
        segment.map_or(PoolId::DEFAULT, |segment| segment.pool)
    }

    fn stream_place(&self, handle: u64) -> u16 {
        let place = self.streams.partition_point(|known| *known < handle);
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    fn pool_place(&self, pool: PoolId) -> u16 {
        let place = self.pools.partition_point(|known| *known < pool);
        u16::try_from(place).unwrap_or(0)
    }

    fn entry(&self, index: u32) -> Option<Entry> {
        self.snapshot.entry(self.timeline.device, index)
    }

    fn push(&mut self, entry: u32, what: What) {
        self.program.operations.push(Operation { entry, what });
    }

    fn step(&mut self, index: u32, entry: &Entry) {
        while let Some((end, id)) = self.overrun.pop_if(|(end, _)| *end <= index) {
            self.push(end, What::Free(id));
        }
        let id = self.timeline.allocation_of(index);
        match (entry.action, id) {
            (Action::Alloc, Some(id)) => {
                self.growth_before(index);
                self.push(index, What::Allocate(id));
            }
            (Action::FreeRequested, Some(id)) => self.push(index, What::Release(id)),
            (Action::FreeCompleted, Some(id)) => self.complete(index, entry, id),
            (Action::Oom, _) => {
                self.late_before(index, None);
                let place = u32::try_from(self.program.failed.len()).unwrap_or(u32::MAX);
                self.program.failed.push(self.failed(entry));
                self.push(index, What::Fail(place));
            }
            (Action::SegmentFree | Action::SegmentUnmap, _) => {
                self.line(entry);
                if index >= self.burst_end {
                    self.burst(index, entry);
                }
            }
            (Action::SegmentAlloc | Action::SegmentMap, _) => self.line(entry),
            _ => {}
        }
    }

    fn line(&mut self, entry: &Entry) {
        let Entry { action, address, size, .. } = *entry;
        self.program.lines.push(SegmentLine { action, address, size });
    }

    fn failed(&self, entry: &Entry) -> Request {
        let pool = entry.pool.and_then(|pool| self.snapshot.pools.get(usize::from(pool)));
        Request {
            size: entry.size,
            stream: self.stream_place(self.snapshot.stream(entry)),
            pool: self.pool_place(pool.copied().unwrap_or_default()),
        }
    }

    /// The two entries of an ordinary free stand together and have one stack; a free that another
    /// stream held up was completed from some later request, and has that one's.
    fn complete(&mut self, index: u32, entry: &Entry, id: AllocationId) {
        let is_ordinary = index
            .checked_sub(1)
            .and_then(|before| self.entry(before))
            .is_some_and(|before| before.stack == entry.stack);
        match self.program.operations.last_mut() {
            Some(last)
                if is_ordinary
                    && last.entry.checked_add(1) == Some(index)
                    && last.what == What::Release(id) =>
            {
                last.what = What::Free(id);
            }
            _ => self.push(index, What::Complete(id)),
        }
    }

    /// Notes the segment, or the first of the pages, that came right before the request at `index`.
    fn growth_before(&mut self, index: u32) {
        let before = |index: u32| {
            let before = index.checked_sub(1)?;
            Some((before, self.entry(before)?))
        };
        let mut found = before(index);
        while let Some((place, entry)) = found
            && matches!(
                entry.action,
                Action::SegmentFree | Action::SegmentUnmap | Action::FreeCompleted
            )
            // A request's own lines alone: they begin where a burst does.
            && place >= self.burst_end.saturating_sub(1)
        {
            found = before(place);
        }
        let Some((mut place, mut grown)) = found else { return };
        let is_map = grown.action == Action::SegmentMap;
        if !is_map && grown.action != Action::SegmentAlloc {
            return;
        }
        while is_map
            && let Some((earlier, entry)) = before(place)
            && entry.action == Action::SegmentMap
        {
            (place, grown) = (earlier, entry);
        }
        let Entry { address, size, .. } = grown;
        self.program.grown.push(Grown { entry: index, address, size, is_map });
    }

    /// A run of releases begins at `index`.
    fn burst(&mut self, index: u32, entry: &Entry) {
        let mut lines = Vec::new();
        let mut end = index;
        let mut last_time = None;
        let following = loop {
            let Some(next) = self.entry(end) else { break None };
            match next.action {
                Action::SegmentFree | Action::SegmentUnmap => {
                    let Entry { action, address, size, .. } = next;
                    lines.push(SegmentLine { action, address, size });
                }
                Action::FreeCompleted => {}
                _ => break Some(next),
            }
            last_time = next.time_us;
            end += 1;
        };
        self.burst_end = end;
        let serves_request = following.is_some_and(|next| {
            let grows =
                matches!(next.action, Action::SegmentAlloc | Action::SegmentMap | Action::Oom);
            let passed =
                next.time_us.zip(last_time).map_or(0, |(next, last)| next.saturating_sub(last));
            let names = burst::named_by(self.snapshot, entry.stack);
            grows && (names.is_some() || passed < burst::SAME_CALL_US)
        });
        let by_program =
            burst::named_by(self.snapshot, entry.stack) == Some(true) || !serves_request;
        let mut request = None;
        if by_program {
            self.push(index, What::ClearCache);
        } else {
            self.late_before(index, Some(self.program.bursts.len()));
            request = self.request_behind(end);
        }
        self.program.bursts.push(Burst { entry: index, lines, by_program, request });
    }

    /// The request that a run of releases was made for: the first one behind the growth at `index`.
    fn request_behind(&self, mut index: u32) -> Option<(u32, Request)> {
        loop {
            let entry = self.entry(index)?;
            match entry.action {
                Action::SegmentAlloc | Action::SegmentMap => index += 1,
                Action::Alloc => {
                    let id = self.timeline.allocation_of(index)?;
                    return Some((index, *self.program.requests.get(id.0 as usize)?));
                }
                Action::Oom => return Some((index, self.failed(&entry))),
                _ => return None,
            }
        }
    }

    /// The completions right before a release that waited for all streams, or before a failure,
    /// were noticed by that wait.
    fn late_before(&mut self, index: u32, burst: Option<usize>) {
        let mut place = index;
        let mut operation = self.program.operations.len();
        while let Some(before) = place.checked_sub(1)
            && let Some(entry) = self.entry(before)
        {
            match entry.action {
                Action::SegmentFree | Action::SegmentUnmap if burst.is_none() => {}
                Action::FreeCompleted => break,
                _ => return,
            }
            place = before;
        }
        while let Some(before) = place.checked_sub(1)
            && let Some(last) = operation.checked_sub(1)
            && let Some(found) = self.program.operations.get_mut(last)
            && found.entry == before
            && let What::Complete(id) | What::CompleteLate(id) = found.what
        {
            match burst {
                Some(burst) => self.perhaps_late.push((last, burst)),
                None => found.what = What::CompleteLate(id),
            }
            (place, operation) = (before, last);
        }
    }
}
