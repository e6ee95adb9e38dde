//! Where the driver puts new segments. Addresses matter only as tie-breaks: among free blocks of
//! one size the allocator takes the lowest.

use super::program::Grown;
use super::settings::MIB;
use std::collections::{BTreeMap, BTreeSet};

/// Gives the addresses of new memory. Whether there is any left is the allocator's own question.
pub trait Driver {
    /// The address of a new segment of `size` bytes, asked for by the request of `entry`.
    fn allocate(&mut self, entry: u32, size: u64) -> u64;

    /// The segment at `address` went back.
    fn free(&mut self, address: u64, size: u64);

    /// The first byte of a new range for an expandable segment, for the request of `entry`.
    fn reserve(&mut self, entry: u32) -> u64;
}

/// Bytes of address space for one expandable segment. PyTorch takes 9/8 of the card's memory, which
/// no file tells; what counts is that no trace fills it.
pub(super) const VIRTUAL_RANGE: u64 = 1 << 40;

/// The first of the addresses of expandable segments, above all that a driver gives.
const FIRST_RANGE: u64 = 1 << 52;

fn range(count: u64) -> u64 {
    FIRST_RANGE.saturating_add(count.saturating_mul(2 * VIRTUAL_RANGE))
}

/// Above any address of the model's, below every expandable segment.
const TOP: u64 = 1 << 46;

/// The unit in which address space is taken.
const UNIT: u64 = 32 * MIB;

/// A model of `cudaMalloc`, learnt from the addresses of recorded runs and documented nowhere:
/// address space is reserved in units of 32 MiB, each reservation at the top of the highest gap
/// that fits, or else below all others. A segment lies at the low end of its reservation, and what
/// is left is a hole; a request goes into the lowest hole that fits. A reservation without segments
/// becomes a gap again.
#[derive(Clone, Debug)]
pub struct Reservations {
    low: u64,
    /// Starts and ends.
    holes: BTreeMap<u64, u64>,
    gaps: BTreeMap<u64, u64>,
    /// Starts and sizes.
    reservations: BTreeMap<u64, u64>,
    ranges: u64,
}

impl Default for Reservations {
    fn default() -> Self {
        Reservations {
            low: TOP,
            holes: BTreeMap::new(),
            gaps: BTreeMap::new(),
            reservations: BTreeMap::new(),
            ranges: 0,
        }
    }
}

/// Adds `start..end`, joined to its neighbours where `joins` allows a range to grow over the border
/// at an address. Answers the range that came out.
fn join(
    ranges: &mut BTreeMap<u64, u64>,
    mut start: u64,
    mut end: u64,
    joins: impl Fn(u64) -> bool,
) -> (u64, u64) {
    let before = ranges.range(..start).next_back().map(|(from, to)| (*from, *to));
    if let Some((from, to)) = before
        && to == start
        && joins(start)
    {
        ranges.remove(&from);
        start = from;
    }
    if joins(end)
        && let Some(to) = ranges.remove(&end)
    {
        end = to;
    }
    ranges.insert(start, end);
    (start, end)
}

impl Driver for Reservations {
    fn allocate(&mut self, _entry: u32, size: u64) -> u64 {
        let hole = self.holes.iter().find(|(start, end)| **end - **start >= size);
        if let Some((start, end)) = hole.map(|(start, end)| (*start, *end)) {
            self.holes.remove(&start);
            if end - start > size {
                self.holes.insert(start + size, end);
            }
            return start;
        }
        let whole = size.checked_next_multiple_of(UNIT).unwrap_or(size);
        let gap = self.gaps.iter().rev().find(|(start, end)| **end - **start >= whole);
        let base = match gap.map(|(start, end)| (*start, *end)) {
            Some((start, end)) => {
                let base = end - whole;
                self.gaps.remove(&start);
                if base > start {
                    self.gaps.insert(start, base);
                }
                base
            }
            None => {
                self.low = self.low.saturating_sub(whole);
                self.low
            }
        };
        self.reservations.insert(base, whole);
        if whole > size {
            self.holes.insert(base.saturating_add(size), base.saturating_add(whole));
        }
        base
    }

    fn free(&mut self, address: u64, size: u64) {
        let reservations = &self.reservations;
        let end = address.saturating_add(size);
        let (start, end) =
            join(&mut self.holes, address, end, |border| !reservations.contains_key(&border));
        if self.reservations.get(&start) != Some(&(end - start)) {
            return;
        }
        self.reservations.remove(&start);
        self.holes.remove(&start);
        let (start, end) = join(&mut self.gaps, start, end, |_| true);
        if start == self.low {
            self.gaps.remove(&start);
            self.low = end;
        }
    }

    fn reserve(&mut self, _entry: u32) -> u64 {
        self.ranges += 1;
        range(self.ranges)
    }
}

/// The addresses that the recorded run got, wherever the replay asks for what it asked for; the
/// model's elsewhere.
#[derive(Debug)]
pub struct Recorded<'a> {
    grown: &'a [Grown],
    live: BTreeMap<u64, u64>,
    taken: BTreeSet<u32>,
    model: Reservations,
}

impl<'a> Recorded<'a> {
    /// `grown` in the order of their entries; `live` are the segments before the first of them.
    pub(super) fn new(grown: &'a [Grown], live: impl Iterator<Item = (u64, u64)>) -> Self {
        Recorded {
            grown,
            live: live.collect(),
            taken: BTreeSet::new(),
            model: Reservations::default(),
        }
    }

    fn of(&mut self, entry: u32) -> Option<&'a Grown> {
        let place = self.grown.partition_point(|grown| grown.entry < entry);
        let grown = self.grown.get(place).filter(|grown| grown.entry == entry)?;
        self.taken.insert(entry).then_some(grown)
    }
}

impl Driver for Recorded<'_> {
    fn allocate(&mut self, entry: u32, size: u64) -> u64 {
        let recorded = self.of(entry).filter(|grown| !grown.is_map && grown.size == size);
        let address = recorded.map(|grown| grown.address).filter(|address| {
            // Once the runs differ, the place may still be occupied.
            let before = self.live.range(..address.saturating_add(size)).next_back();
            before.is_none_or(|(start, size)| start.saturating_add(*size) <= *address)
        });
        let address = address.unwrap_or_else(|| self.model.allocate(entry, size));
        self.live.insert(address, size);
        address
    }

    fn free(&mut self, address: u64, size: u64) {
        self.live.remove(&address);
        if self.model.reservations.range(..=address).next_back().is_some_and(|(start, whole)| {
            address.saturating_add(size) <= start.saturating_add(*whole)
        }) {
            self.model.free(address, size);
        }
    }

    fn reserve(&mut self, entry: u32) -> u64 {
        match self.of(entry).filter(|grown| grown.is_map) {
            Some(grown) => grown.address,
            None => self.model.reserve(entry),
        }
    }
}

/// Addresses in an order of their own, to see how much depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Shuffled {
    seed: u32,
    count: u32,
    ranges: u64,
}

impl Shuffled {
    /// Ascending addresses for seed 0, else one of many orders without a pattern.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Shuffled { seed, count: 0, ranges: 0 }
    }
}

impl Driver for Shuffled {
    fn allocate(&mut self, _entry: u32, _size: u64) -> u64 {
        const PLACES: u32 = (1 << 24) - 1;
        self.count = self.count.wrapping_add(1) & PLACES;
        let mut place = self.count;
        if self.seed > 0 {
            // Each step maps the 2^24 places one to one, so no two live segments meet.
            for round in 0..3_u32 {
                place ^= place >> 11;
                place = place.wrapping_mul(0x9E_37_79 | 1) & PLACES;
                place = place.wrapping_add(self.seed.wrapping_mul(0x5B_D1_E9) >> round) & PLACES;
            }
        }
        u64::from(place) << 39
    }

    fn free(&mut self, _address: u64, _size: u64) {}

    fn reserve(&mut self, _entry: u32) -> u64 {
        self.ranges += 1;
        range(self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_lies_at_the_low_end_of_its_reservation() {
        let mut driver = Reservations::default();
        let first = driver.allocate(0, 36 * MIB);
        assert_eq!(first, TOP - 64 * MIB);
        assert_eq!(driver.allocate(0, 20 * MIB), first + 36 * MIB, "the hole behind it");
        assert_eq!(driver.allocate(0, 20 * MIB), first - 32 * MIB);
    }

    #[test]
    fn a_reservation_without_segments_is_given_again() {
        let mut driver = Reservations::default();
        let [first, second, third] = [40, 100, 40].map(|size| driver.allocate(0, size * MIB));
        driver.free(second, 100 * MIB);
        let again = driver.allocate(0, 64 * MIB);
        assert_eq!(again, first - 64 * MIB, "at the top of the gap");
        driver.free(again, 64 * MIB);
        driver.free(third, 40 * MIB);
        driver.free(first, 40 * MIB);
        let empty = Reservations::default();
        assert_eq!((driver.low, driver.gaps, driver.holes), (empty.low, empty.gaps, empty.holes));
    }

    #[test]
    fn what_is_filled_exactly_leaves_nothing_behind() {
        let mut driver = Reservations::default();
        let [_, second, _] = [36, 64, 64].map(|size| driver.allocate(0, size * MIB));
        assert_eq!(driver.allocate(0, 28 * MIB), TOP - 28 * MIB, "the hole behind the first");
        assert!(driver.holes.is_empty());
        driver.free(second, 64 * MIB);
        assert_eq!(driver.gaps.len(), 1);
        assert_eq!(driver.allocate(0, 64 * MIB), second);
        assert!(driver.gaps.is_empty());
    }

    #[test]
    fn each_expandable_segment_has_a_range_of_its_own() {
        let mut drivers: [Box<dyn Driver>; 3] = [
            Box::new(Reservations::default()),
            Box::new(Recorded::new(&[], std::iter::empty())),
            Box::new(Shuffled::new(1)),
        ];
        for driver in &mut drivers {
            let bases: BTreeSet<u64> = (0..5).map(|_| driver.reserve(0)).collect();
            assert_eq!(bases.len(), 5);
        }
    }

    #[test]
    fn no_order_gives_an_address_twice() {
        for seed in 0..8 {
            let mut driver = Shuffled::new(seed);
            let addresses: BTreeSet<u64> = (0..100_000).map(|_| driver.allocate(0, 1)).collect();
            assert_eq!(addresses.len(), 100_000);
        }
    }
}
