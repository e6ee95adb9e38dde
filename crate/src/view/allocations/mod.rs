//! The chosen allocations as a table: filtered, in an order, and a stretch of rows at a time.

pub mod question;
pub mod rows;

use crate::findings::Device;
use crate::findings::frame_kind::FrameKinds;
use crate::findings::lines::{Holder, holder_of, is_unseen};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::allocation::{Allocation, AllocationId};
use crate::view::frames::holder_view;
use question::{Column, Fate, Pool, Question};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;

/// The allocations that pass the filters, in the order asked for.
#[derive(Clone, Debug)]
pub struct Table {
    /// By row.
    pub allocations: Vec<AllocationId>,
    /// What the page says above the rows.
    pub head: TableHead,
}

/// What there is to say of a table, and to choose from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableHead {
    /// Rows.
    pub count: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Allocations before the filters.
    pub of_count: u64,
    /// Whether the file has times.
    pub has_clock: bool,
    /// The streams of all allocations before the filters, by their place in the snapshot.
    pub streams: Vec<StreamChoice>,
    /// The pools of all allocations before the filters.
    pub pools: Vec<PoolChoice>,
    /// Why a filter was left aside, in a sentence.
    pub problem: Option<String>,
}

/// A stream to filter by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamChoice {
    /// Its place in the snapshot.
    pub stream: u16,
    /// Its raw handle.
    pub handle: String,
}

/// A pool to filter by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolChoice {
    /// As the page says it.
    pub pool: Pool,
    /// Its name.
    pub label: &'static str,
}

impl Table {
    /// The table of some allocations of a device.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        device: &Device,
        chosen: &[AllocationId],
        question: &Question,
    ) -> Table {
        let timeline = &device.timeline;
        let (bounds, problem) = question.bounds();
        let mut streams: Vec<u16> = Vec::new();
        let mut pools: Vec<Pool> = Vec::new();
        let mut kept: Vec<(AllocationId, &Allocation)> = Vec::new();
        for id in chosen {
            let Some(allocation) = timeline.allocation(*id) else { continue };
            let pool = Pool::of(allocation);
            if !streams.contains(&allocation.stream) {
                streams.push(allocation.stream);
            }
            if !pools.contains(&pool) {
                pools.push(pool);
            }
            let lifetime = lifetime_entries(allocation, timeline.entries());
            let passes = bounds.bytes.contains(&allocation.size)
                && bounds.lifetime.contains(&u64::from(lifetime))
                && question.stream.is_none_or(|stream| stream == allocation.stream)
                && question.pool.is_none_or(|wanted| wanted == pool)
                && match question.fate {
                    Fate::Any => true,
                    Fate::Held => allocation.free_requested().is_none(),
                    Fate::Freed => allocation.free_requested().is_some(),
                    Fate::Older => allocation.begin().is_none(),
                };
            if passes {
                kept.push((*id, allocation));
            }
        }
        streams.sort_unstable();
        pools.sort_unstable();
        let bytes = kept.iter().map(|(_, allocation)| allocation.size).sum();
        let allocations = sorted(snapshot, kinds, device, &kept, question);
        let handle = |stream: u16| snapshot.streams.get(usize::from(stream)).copied().unwrap_or(0);
        let head = TableHead {
            count: allocations.len() as u64,
            bytes,
            of_count: chosen.len() as u64,
            has_clock: has_clock(snapshot, device),
            streams: streams
                .into_iter()
                .map(|stream| StreamChoice { stream, handle: format!("{:#x}", handle(stream)) })
                .collect(),
            pools: pools.into_iter().map(|pool| PoolChoice { pool, label: pool.label() }).collect(),
            problem,
        };
        Table { allocations, head }
    }
}

/// Entries between an allocation's begin and its end; as far as the trace reaches, where one of them
/// lies outside.
fn lifetime_entries(allocation: &Allocation, entries: u32) -> u32 {
    allocation.last_entry().min(entries).saturating_sub(allocation.first_entry())
}

/// Time between the same; `None` without a clock.
fn lifetime_us(snapshot: &Snapshot, device: &Device, allocation: &Allocation) -> Option<i64> {
    let trace = snapshot.trace(device.timeline.device);
    let last = device.last_entry();
    let at = |entry: u32| snapshot.entries.time_us(trace.start + entry as usize);
    Some(at(allocation.last_entry().min(last))?.saturating_sub(at(allocation.first_entry())?))
}

fn has_clock(snapshot: &Snapshot, device: &Device) -> bool {
    let trace = snapshot.trace(device.timeline.device);
    !trace.is_empty() && snapshot.entries.time_us(trace.start).is_some()
}

/// What holds an allocation.
fn holder(
    snapshot: &Snapshot,
    kinds: &FrameKinds,
    device: &Device,
    id: AllocationId,
    allocation: &Allocation,
) -> Holder {
    if is_unseen(&device.timeline, id, allocation) {
        return Holder::Older;
    }
    holder_of(snapshot, kinds, allocation.stack)
}

/// In the order asked for; the timeline's among equals.
fn sorted(
    snapshot: &Snapshot,
    kinds: &FrameKinds,
    device: &Device,
    kept: &[(AllocationId, &Allocation)],
    question: &Question,
) -> Vec<AllocationId> {
    let entries = device.timeline.entries();
    let ranks = match question.sort {
        Column::Place => place_ranks(snapshot, kinds, device, kept),
        _ => FxHashMap::default(),
    };
    let key = |id: AllocationId, allocation: &Allocation| -> u64 {
        match question.sort {
            Column::Size => allocation.size,
            Column::Requested => allocation.requested,
            Column::Category => device.category(id).place() as u64,
            Column::Made => allocation.begin().map_or(0, |entry| u64::from(entry) + 1),
            Column::Freed => u64::from(allocation.last_entry()),
            Column::Lifetime => u64::from(lifetime_entries(allocation, entries)),
            Column::Time => {
                let time = lifetime_us(snapshot, device, allocation).unwrap_or(0);
                u64::try_from(time).unwrap_or(0)
            }
            Column::Stream => u64::from(allocation.stream),
            Column::Pool => Pool::of(allocation) as u64,
            Column::Place => {
                let place = (allocation.stack, is_unseen(&device.timeline, id, allocation));
                ranks.get(&place).copied().unwrap_or(0)
            }
        }
    };
    let mut keyed: Vec<(u64, AllocationId)> =
        kept.iter().map(|(id, allocation)| (key(*id, allocation), *id)).collect();
    match question.descending {
        true => keyed.sort_unstable_by_key(|(key, id)| (Reverse(*key), *id)),
        false => keyed.sort_unstable(),
    }
    keyed.into_iter().map(|(_, id)| id).collect()
}

/// The order of places, by stack: by file, line and function; what has no file comes last.
fn place_ranks(
    snapshot: &Snapshot,
    kinds: &FrameKinds,
    device: &Device,
    kept: &[(AllocationId, &Allocation)],
) -> FxHashMap<(StackId, bool), u64> {
    let mut distinct: FxHashMap<(StackId, bool), (AllocationId, &Allocation)> =
        FxHashMap::default();
    for (id, allocation) in kept {
        let key = (allocation.stack, is_unseen(&device.timeline, *id, allocation));
        distinct.entry(key).or_insert((*id, allocation));
    }
    let mut places: Vec<_> = distinct
        .into_iter()
        .map(|(key, (id, allocation))| {
            let place = holder_view(snapshot, &holder(snapshot, kinds, device, id, allocation));
            ((place.0.is_empty(), place), key)
        })
        .collect();
    places.sort();
    let mut rank = 0;
    let mut ranks = FxHashMap::default();
    for at in 0..places.len() {
        if at > 0 && places[at].0 != places[at - 1].0 {
            rank += 1;
        }
        ranks.insert(places[at].1, rank);
    }
    ranks
}
