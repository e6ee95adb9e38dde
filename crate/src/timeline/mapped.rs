//! The ranges of device memory that were mapped at one entry: backwards from the file's segments to
//! the first entry, forwards from there.

use super::layout::{Kind, SMALL_SEGMENT};
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::{PoolId, Segment};
use crate::snapshot::trace::{Action, Entry};
use crate::warning::{WarningKind, Warnings};
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// The ranges that `device` held before the first entry of its trace, by address. Ranges that one
/// expandable segment mapped at different times stand apart.
#[must_use]
pub fn mapped_before(snapshot: &Snapshot, device: u32) -> Vec<MappedRange> {
    let ranges = ranges_before(snapshot, device, &mut Warnings::default());
    ranges.into_iter().map(MappedRange::from).collect()
}

/// The ranges that `device` holds after `entry` of its trace, by address; those that it held before
/// the first where there is no trace. What contradicts the rest of the trace is left out, and
/// [`Timeline::replay`](super::Timeline::replay) warns of it.
#[must_use]
pub fn mapped_after(snapshot: &Snapshot, device: u32, entry: u32) -> Vec<MappedRange> {
    let trace = snapshot.trace(device);
    let mut ranges = ranges_before(snapshot, device, &mut Warnings::default());
    let pools = PrivateSegment::all(snapshot, device);
    for_each((0..=entry).zip(trace), |(index, place)| {
        let Some(entry) = snapshot.entries.get(place) else { return };
        match entry.action {
            Action::SegmentAlloc | Action::SegmentMap => {
                let end = entry.address.saturating_add(entry.size);
                let before = ranges.range(..end).next_back();
                let is_free = before.is_none_or(|(address, range)| {
                    address.saturating_add(range.size) <= entry.address
                });
                if is_free && entry.size > 0 {
                    let kind = kind_in(snapshot, &pools, index, &entry);
                    ranges.insert(entry.address, Range { size: entry.size, kind });
                }
            }
            Action::SegmentFree | Action::SegmentUnmap => {
                cut(&mut ranges, entry.address, entry.size);
            }
            _ => {}
        }
    });
    ranges.into_iter().map(MappedRange::from).collect()
}

/// A range of device memory, from the entry that mapped it to the one that let it go.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedLife {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// The entry that mapped it; 0 for what is older than the trace.
    pub begin: u32,
    /// The entry from which on it is gone; past every entry for what is mapped at the end.
    pub end: u32,
}

/// All ranges that `device` ever held during its trace, each as long as it stayed whole: of one that
/// is cut, what is left is a range of its own. In the order of their ends.
#[must_use]
pub fn mapped_lives(snapshot: &Snapshot, device: u32) -> Vec<MappedLife> {
    let before = mapped_before(snapshot, device);
    let mut open: BTreeMap<u64, (u64, u32)> =
        before.into_iter().map(|range| (range.address, (range.size, 0))).collect();
    let mut lives = Vec::new();
    for_each((0..).zip(snapshot.trace(device)), |(entry, index)| {
        let grows = match snapshot.entries.action(index) {
            Some(Action::SegmentAlloc | Action::SegmentMap) => true,
            Some(Action::SegmentFree | Action::SegmentUnmap) => false,
            _ => return,
        };
        let Some(recorded) = snapshot.entries.get(index) else { return };
        let address = recorded.address;
        let gone_to = address.saturating_add(recorded.size);
        // Whatever lay there has ended, even where the trace forgot to say so.
        while let Some((&begin, &(size, since))) = open.range(..gone_to).next_back() {
            let end = begin.saturating_add(size);
            if end <= address {
                break;
            }
            open.remove(&begin);
            lives.push(MappedLife { address: begin, size, begin: since, end: entry });
            if end > gone_to {
                open.insert(gone_to, (end - gone_to, entry));
            }
            if begin < address {
                open.insert(begin, (address - begin, entry));
            }
        }
        if grows && recorded.size > 0 {
            open.insert(address, (recorded.size, entry));
        }
    });
    let left = open.into_iter();
    lives.extend(left.map(|(address, (size, begin))| MappedLife {
        address,
        size,
        begin,
        end: NONE,
    }));
    lives
}

/// A range of device memory that was mapped at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedRange {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Raw stream handle of the owner.
    pub stream: u64,
    /// Whether it belongs to the small pool.
    pub is_small: bool,
    /// Its pool.
    pub pool: PoolId,
    /// Whether it is of an expandable segment.
    pub is_expandable: bool,
}

impl From<(u64, Range)> for MappedRange {
    fn from((address, Range { size, kind }): (u64, Range)) -> MappedRange {
        MappedRange {
            address,
            size,
            stream: kind.stream,
            is_small: kind.is_small,
            pool: kind.pool,
            is_expandable: kind.is_expandable,
        }
    }
}

/// A mapped range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) size: u64,
    pub(super) kind: Kind,
}

/// The mapped ranges before the trace, by address.
pub(super) fn ranges_before(
    snapshot: &Snapshot,
    device: u32,
    warnings: &mut Warnings,
) -> BTreeMap<u64, Range> {
    let mut ranges = BTreeMap::new();
    for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
        let kind = Kind {
            stream: segment.stream,
            is_small: segment.is_small,
            pool: segment.pool,
            is_expandable: segment.is_expandable,
        };
        ranges.insert(segment.address, Range { size: segment.total_size, kind });
    }
    for_each(snapshot.trace(device).rev(), |index| {
        // Few entries are a segment's, and the action alone is quickly had.
        let returned = match snapshot.entries.action(index) {
            Some(Action::SegmentFree | Action::SegmentUnmap) => true,
            Some(Action::SegmentAlloc | Action::SegmentMap) => false,
            _ => return,
        };
        let Some(entry) = snapshot.entries.get(index) else { return };
        if returned {
            let range = Range { size: entry.size, kind: kind_of(snapshot, &entry) };
            ranges.insert(entry.address, range);
        } else if !cut(&mut ranges, entry.address, entry.size) {
            warnings.add(WarningKind::SegmentContradiction, || {
                format!("device {device}: {} of {:#x}", entry.action.name(), entry.address)
            });
        }
    });
    ranges
}

/// The kind of a range of which the entry is known, and the private pools that the file ends with.
pub(super) fn kind_in(
    snapshot: &Snapshot,
    pools: &[PrivateSegment],
    index: u32,
    entry: &Entry,
) -> Kind {
    let mut kind = kind_of(snapshot, entry);
    if let Some(segment) = pools.iter().find(|segment| segment.covers(index, entry)) {
        kind.pool = segment.pool;
    }
    kind
}

/// The kind of a range of which only the entry is known.
fn kind_of(snapshot: &Snapshot, entry: &Entry) -> Kind {
    let pool = entry
        .pool
        .and_then(|pool| snapshot.pools.get(usize::from(pool)))
        .copied()
        .unwrap_or_default();
    let is_expandable = matches!(entry.action, Action::SegmentMap | Action::SegmentUnmap);
    // Segments of the small pool, and its pages, are 2 MiB; those of the large pool never are.
    let is_small = if is_expandable {
        !entry.size.is_multiple_of(10 * SMALL_SEGMENT)
    } else {
        entry.size == SMALL_SEGMENT
    };
    Kind { stream: snapshot.stream(entry), is_small, pool, is_expandable }
}

/// Cuts [`address`, `address + size`) out of the ranges; false when nothing of it was there.
fn cut(ranges: &mut BTreeMap<u64, Range>, address: u64, size: u64) -> bool {
    let end = address.saturating_add(size);
    let mut found = false;
    while let Some((begin, range)) =
        ranges.range(..end).next_back().map(|(begin, range)| (*begin, *range))
    {
        let range_end = begin.saturating_add(range.size);
        if range_end <= address {
            break;
        }
        found = true;
        ranges.remove(&begin);
        if range_end > end {
            ranges.insert(end, Range { size: range_end.saturating_sub(end), ..range });
        }
        if begin < address {
            ranges.insert(begin, Range { size: address.saturating_sub(begin), ..range });
            break;
        }
    }
    found
}

/// A segment of a private pool. Entries before PyTorch 2.12 name no pool, so a segment's pool is
/// known only from the file's end.
#[derive(Clone, Debug)]
pub(super) struct PrivateSegment {
    addresses: std::ops::Range<u64>,
    pool: PoolId,
    /// The last `segment_alloc` of this address: the driver gives addresses again. `None` for an
    /// expandable range, whose address stays its pool's.
    since: Option<u32>,
}

impl PrivateSegment {
    fn covers(&self, index: u32, entry: &Entry) -> bool {
        self.addresses.contains(&entry.address) && self.since.is_none_or(|since| since == index)
    }

    /// Those of a device.
    pub(super) fn all(snapshot: &Snapshot, device: u32) -> Vec<PrivateSegment> {
        let is_private =
            |segment: &&Segment| segment.device == device && segment.pool != PoolId::DEFAULT;
        let mut pools: Vec<PrivateSegment> = snapshot
            .segments
            .iter()
            .filter(is_private)
            .map(|segment| PrivateSegment {
                addresses: segment.address..segment.address.saturating_add(segment.total_size),
                pool: segment.pool,
                since: if segment.is_expandable { None } else { Some(NONE) },
            })
            .collect();
        if pools.is_empty() {
            return pools;
        }
        for (index, place) in (0..).zip(snapshot.trace(device)) {
            let Some(entry) =
                snapshot.entries.get(place).filter(|entry| entry.action == Action::SegmentAlloc)
            else {
                continue;
            };
            if let Some(segment) = pools
                .iter_mut()
                .find(|segment| segment.since.is_some() && segment.addresses.start == entry.address)
            {
                segment.since = Some(index);
            }
        }
        pools
    }
}
