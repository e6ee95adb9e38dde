//! Whether two recordings are of one process.
//!
//! An entry's clock has microseconds and its address is the process's own, so that an entry which
//! two files share is proof. Of each trace the entries with the smallest hashes are kept: whatever
//! part two traces have in common, those of its entries are in both samples. Traces without a
//! common part are held together by the blocks alive at the end of one and before the other.

use super::run::Run;
use crate::snapshot::Snapshot;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Entries kept of a trace. A common part of a hundredth is then seen in two or three of them.
const ENTRIES: usize = 256;
/// Entries that two samples must share. Hashes have 52 bits, so one could be chance in files of
/// many millions of entries, two hardly.
const SHARED: usize = 2;
/// Blocks kept, the largest first: weights and optimizer states, which stay where they are.
const BLOCKS: usize = 64;
/// Of the blocks before one trace, the share that must be those at the end of the other; fewer
/// blocks than this tell nothing.
const BLOCKS_SHARED: f64 = 0.5;
const BLOCKS_TELLING: usize = 4;

/// What tells a recording from those of other processes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Fingerprint {
    /// Times of the first and the last entry, in µs since the Unix epoch; `None` without a clock.
    pub clock_us: Option<[i64; 2]>,
    /// A sample of its entries, as hashes of 52 bits, ascending.
    entries: Vec<u64>,
    /// The largest blocks before the trace, as hashes of address and size.
    start: Vec<u64>,
    /// The largest blocks at the end.
    end: Vec<u64>,
}

/// How two recordings stand to each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    /// The same moment of the same process.
    Same,
    /// Two moments of one process, the first one earlier.
    Earlier,
    /// Two moments of one process, the first one later.
    Later,
    /// Two processes at the same time.
    Beside,
    /// Two processes, or nothing tells.
    Apart,
}

impl Fingerprint {
    pub(super) fn of(snapshot: &Snapshot, timeline: &Timeline) -> Self {
        let trace = snapshot.trace(timeline.device);
        let entries = || trace.clone().filter_map(|index| snapshot.entries.get(index));
        let mut sample = BTreeSet::new();
        let mut clock: Option<[i64; 2]> = None;
        for entry in entries() {
            let Some(time_us) = entry.time_us else { continue };
            clock = Some(
                clock.map_or([time_us; 2], |[first, last]| [first.min(time_us), last.max(time_us)]),
            );
            // Each snapshot leaves such an entry in the trace that it has written already.
            if entry.action == Action::Snapshot {
                continue;
            }
            let hash = mixed(&[time_us as u64, entry.address, entry.size, entry.action as u64]);
            if sample.len() < ENTRIES || sample.last().is_some_and(|largest| hash < *largest) {
                sample.insert(hash);
                if sample.len() > ENTRIES {
                    sample.pop_last();
                }
            }
        }
        let older = timeline.allocations.iter().take(timeline.older);
        let last = timeline.entries().saturating_sub(1);
        Fingerprint {
            clock_us: clock,
            entries: sample.into_iter().collect(),
            start: largest(older.map(|allocation| (allocation.size, allocation.address))),
            end: largest(
                timeline
                    .live_after(last)
                    .map(|(_, allocation)| (allocation.size, allocation.address)),
            ),
        }
    }

    /// Whether the two recorded at the same time.
    #[must_use]
    pub fn overlaps(&self, other: &Fingerprint) -> bool {
        match (self.clock_us, other.clock_us) {
            (Some([a_first, a_last]), Some([b_first, b_last])) => {
                a_first <= b_last && b_first <= a_last
            }
            _ => false,
        }
    }
}

/// How `a` stands to `b`.
#[must_use]
pub fn relation(a: &Run, b: &Run) -> Relation {
    let (one, other) = (&a.fingerprint, &b.fingerprint);
    let has_trace = !one.entries.is_empty() && !other.entries.is_empty();
    let is_same = one.entries == other.entries
        && one.end == other.end
        && a.entries == b.entries
        && a.end.bytes() == b.end.bytes();
    if is_same && (has_trace || !one.end.is_empty()) {
        return Relation::Same;
    }
    let times = one.clock_us.zip(other.clock_us);
    let shared = one.entries.iter().filter(|hash| other.entries.binary_search(hash).is_ok());
    if shared.count() >= SHARED {
        let [a_last, b_last] = [one, other].map(|print| print.clock_us.map(|clock| clock[1]));
        return if a_last <= b_last { Relation::Earlier } else { Relation::Later };
    }
    if has_trace && one.overlaps(other) {
        return Relation::Beside;
    }
    match times {
        Some((a, b)) if a[0] <= b[0] && stays(&one.end, &other.start) => Relation::Earlier,
        Some((a, b)) if a[0] > b[0] && stays(&other.end, &one.start) => Relation::Later,
        // Without a trace in either, nothing tells which is the earlier one: they are taken in the
        // order in which they are given.
        None if stays(&one.end, &other.end) => Relation::Earlier,
        _ => Relation::Apart,
    }
}

/// Whether what lay there at the end of one recording lies there still before the next.
fn stays(end: &[u64], start: &[u64]) -> bool {
    let staying = start.iter().filter(|hash| end.contains(hash)).count();
    start.len() >= BLOCKS_TELLING && staying as f64 >= BLOCKS_SHARED * start.len() as f64
}

fn largest(blocks: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
    let mut blocks: Vec<(u64, u64)> = blocks.collect();
    blocks.sort_unstable_by(|a, b| b.cmp(a));
    blocks.iter().take(BLOCKS).map(|(size, address)| mixed(&[*size, *address])).collect()
}

/// SplitMix64 over the values, cut to the 52 bits that every reader of JSON keeps.
fn mixed(values: &[u64]) -> u64 {
    let mut state = 0_u64;
    for value in values {
        state = (state ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state >> 12
}
