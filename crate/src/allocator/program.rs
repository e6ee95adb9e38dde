//! What the program asked of the allocator, apart from what the allocator made of it: the part of a
//! recording that stays the same under other settings, and that may be rewritten before a replay.

use super::burst::Burst;
use super::cache::SegmentLine;
use super::settings::Settings;
use crate::timeline::allocation::AllocationId;
use rustc_hash::FxHashMap;

/// One request for memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request {
    /// Bytes requested.
    pub size: u64,
    /// Which of the program's streams, in the order of their handles.
    pub stream: u16,
    /// Which of the program's pools; 0 is the default pool, all else belongs to CUDA graphs or
    /// `MemPool`s.
    pub pool: u16,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// The program allocates.
    Allocate(AllocationId),
    /// The program releases, and nothing else is awaited.
    Free(AllocationId),
    /// The program releases what another stream may still use.
    Release(AllocationId),
    /// The other stream is done.
    Complete(AllocationId),
    /// The other stream is done, which the recorded run noticed only because a release of the
    /// whole cache waited for it, inside the request that follows.
    CompleteLate(AllocationId),
    /// The program empties the cache.
    ClearCache,
    /// A request that failed for good, by its place in [`Program::failed`].
    Fail(u32),
}

/// One thing that the program did, in its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operation {
    /// Its entry; operations are in the order of their entries.
    pub entry: u32,
    /// What it did.
    pub what: What,
}

/// An allocation that goes and comes back: see [`Program::ask_again`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SecondLife {
    /// Which.
    pub id: AllocationId,
    /// The entry at which its first life ends.
    pub gone: u32,
    /// The entry at which its second begins.
    pub again: u32,
}

/// The recorded growth that one request caused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    /// The request's entry.
    pub(super) entry: u32,
    pub(super) address: u64,
    pub(super) size: u64,
    /// The first pages mapped, or else a segment.
    pub(super) is_map: bool,
}

/// A mapped range before the first entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartRange {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) stream: u16,
    pub(super) pool: u16,
    pub(super) is_small: bool,
    pub(super) is_expandable: bool,
}

/// An allocation older than the trace, where it lay.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartBlock {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) is_pending: bool,
}

/// A recorded trace as a list of operations. Nothing in it depends on where a block lay, but for
/// the state before the trace and the addresses that the driver gave.
#[derive(Clone, Debug)]
pub struct Program {
    /// The request behind each [`AllocationId`] of the timeline: those older than the trace first.
    pub requests: Vec<Request>,
    /// The requests that failed for good, rounded to a block.
    pub failed: Vec<Request>,
    /// What the program did, in order.
    pub operations: Vec<Operation>,
    /// The settings under which it ran.
    pub recorded: Settings,
    pub(super) entries: u32,
    /// What was mapped before the trace, by address.
    pub(super) start_ranges: Vec<StartRange>,
    /// Those of `requests` that are older than the trace, by address.
    pub(super) start_blocks: Vec<StartBlock>,
    pub(super) grown: Vec<Grown>,
    pub(super) bursts: Vec<Burst>,
    /// All segment lines of the trace.
    pub(super) lines: Vec<SegmentLine>,
    /// Whether a caller changed what was recorded.
    pub(super) is_rewritten: bool,
    /// Whether allocations older than the trace are as they were, so that their places mean
    /// something.
    pub(super) keeps_start: bool,
}

impl Program {
    /// Entries of the trace.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// How many allocations are older than the trace.
    #[must_use]
    pub fn older(&self) -> usize {
        self.start_blocks.len()
    }

    /// Gives each allocation the size that `size_of` answers for it and its present size. Requests
    /// that failed are no allocations: change [`failed`](Self::failed) along.
    pub fn resize(&mut self, mut size_of: impl FnMut(AllocationId, u64) -> u64) {
        self.is_rewritten = true;
        for (id, request) in (0..).zip(&mut self.requests).filter(|(_, request)| request.size > 0) {
            let size = size_of(AllocationId(id), request.size).max(1);
            if size != request.size && (id as usize) < self.start_blocks.len() {
                self.keeps_start = false;
            }
            request.size = size;
        }
    }

    /// Leaves out the allocations of which `is_kept` is false, from their request to their free.
    pub fn retain(&mut self, mut is_kept: impl FnMut(AllocationId) -> bool) {
        self.is_rewritten = true;
        let ids = (0..).map(AllocationId).take(self.requests.len());
        let kept: Vec<bool> = ids.map(&mut is_kept).collect();
        if kept.iter().take(self.start_blocks.len()).any(|kept| !kept) {
            // Of older ones only the frees are operations, so they go with a request of nothing.
            self.keeps_start = false;
            for (request, _) in self.requests.iter_mut().zip(&kept).filter(|(_, kept)| !**kept) {
                request.size = 0;
            }
        }
        let is_kept = |id: AllocationId| kept.get(id.0 as usize).copied().unwrap_or(true);
        self.operations.retain(|operation| operation.what.allocation().is_none_or(is_kept));
    }

    /// Ends allocations at other entries: each is freed right before what its entry does. Entries
    /// before an allocation's own are not looked for.
    pub fn free_at(&mut self, mut ends: Vec<(u32, AllocationId)>) {
        self.is_rewritten = true;
        ends.sort_unstable_by_key(|(entry, id)| (*entry, id.0));
        let mut moved: Vec<u32> = ends.iter().map(|(_, id)| id.0).collect();
        moved.sort_unstable();
        let is_moved = |what: &What| match what {
            What::Free(id) | What::Release(id) | What::Complete(id) | What::CompleteLate(id) => {
                moved.binary_search(&id.0).is_ok()
            }
            _ => false,
        };
        let mut ends = ends.into_iter().peekable();
        let mut operations = Vec::with_capacity(self.operations.len());
        for operation in self.operations.drain(..) {
            while let Some((entry, id)) = ends.next_if(|(entry, _)| *entry <= operation.entry) {
                operations.push(Operation { entry, what: What::Free(id) });
            }
            if !is_moved(&operation.what) {
                operations.push(operation);
            }
        }
        operations.extend(ends.map(|(entry, id)| Operation { entry, what: What::Free(id) }));
        self.operations = operations;
    }

    /// Gives allocations a second life: each is freed right before what entry `gone` does and asked
    /// for again right before what entry `again` does, in the order given among those of one entry.
    /// The recorded free then ends the second life. An allocation may be named once, with
    /// `begin < gone < again`.
    pub fn ask_again(&mut self, lives: &[SecondLife]) {
        self.is_rewritten = true;
        let mut anew: FxHashMap<u32, AllocationId> = FxHashMap::default();
        let mut added: Vec<Operation> = Vec::with_capacity(lives.len() * 2);
        for SecondLife { id, gone, again } in lives {
            let Some(request) = self.requests.get(id.0 as usize).copied() else { continue };
            let Ok(next) = u32::try_from(self.requests.len()).map(AllocationId) else { return };
            self.requests.push(request);
            anew.insert(id.0, next);
            added.push(Operation { entry: *gone, what: What::Free(*id) });
            added.push(Operation { entry: *again, what: What::Allocate(next) });
        }
        added.sort_by_key(|operation| operation.entry);
        let mut added = added.into_iter().peekable();
        let mut operations = Vec::with_capacity(self.operations.len() + added.len());
        for Operation { entry, mut what } in self.operations.drain(..) {
            while let Some(operation) = added.next_if(|operation| operation.entry <= entry) {
                operations.push(operation);
            }
            match &mut what {
                What::Free(id)
                | What::Release(id)
                | What::Complete(id)
                | What::CompleteLate(id) => {
                    *id = anew.get(&id.0).copied().unwrap_or(*id);
                }
                What::Allocate(_) | What::ClearCache | What::Fail(_) => {}
            }
            operations.push(Operation { entry, what });
        }
        operations.extend(added);
        self.operations = operations;
    }

    /// The entry of the last failure, if the program allocated nothing afterwards: what it would
    /// have asked for had it gone on is not recorded.
    #[must_use]
    pub fn end_in_failure(&self) -> Option<u32> {
        let asks = |what: &What| matches!(what, What::Allocate(_) | What::Fail(_));
        let last = self.operations.iter().rev().find(|operation| asks(&operation.what))?;
        matches!(last.what, What::Fail(_)).then_some(last.entry)
    }

    /// The most that was allocated at once when every block is exactly as large as its request
    /// rounded: no allocator needs less. Requests that failed count as well.
    #[must_use]
    pub fn least_bytes(&self, settings: &Settings) -> u64 {
        let size = |id: AllocationId| {
            self.requests.get(id.0 as usize).map_or(0, |request| settings.rounded(request.size))
        };
        let older = self.requests.iter().take(self.older()).filter(|request| request.size > 0);
        let mut held =
            older.map(|request| settings.rounded(request.size)).fold(0, u64::saturating_add);
        let mut most = held;
        for operation in &self.operations {
            match operation.what {
                What::Allocate(id) => held = held.saturating_add(size(id)),
                What::Free(id) | What::Complete(id) | What::CompleteLate(id) => {
                    held = held.saturating_sub(size(id));
                }
                What::Fail(place) => {
                    let asked = self.failed.get(place as usize).map_or(0, |failed| failed.size);
                    most = most.max(held.saturating_add(asked));
                }
                What::Release(_) | What::ClearCache => {}
            }
            most = most.max(held);
        }
        most
    }
}

impl What {
    /// The allocation concerned.
    #[must_use]
    pub fn allocation(&self) -> Option<AllocationId> {
        match self {
            What::Allocate(id)
            | What::Free(id)
            | What::Release(id)
            | What::Complete(id)
            | What::CompleteLate(id) => Some(*id),
            What::ClearCache | What::Fail(_) => None,
        }
    }
}
