//! What a change of the program would bring: each allocation keeps a part of its size, or lives at
//! other times, and the peak is taken again.
//!
//! The peak moves, which is why bytes are never subtracted from the old one: a run whose peak lies
//! in the optimizer's step gains nothing from a smaller batch. The sums are of allocated bytes; how
//! the caching allocator packs them is told by replaying the [changed program](rewrite).

pub mod batch;
pub mod change;
pub mod checkpoint;
mod copies;
pub mod optimizer;
pub mod rewrite;

use super::Device;
use super::category::{Category, Class};
use super::marks::StackMarks;
use crate::batches::for_each;
use crate::timeline::allocation::Allocation;

/// Whether autocast made low-precision copies of weights: then the weights are of 32 bits.
#[must_use]
pub fn has_weight_copies(device: &Device, marks: &StackMarks) -> bool {
    !copies::weight_copies(device, marks).is_empty()
}

/// What is left of an allocation after a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Its size is multiplied by this.
    pub share: f64,
    /// The entries at which it lives, if not those recorded: first and one past the last, twice.
    pub lives: Option<[(u32, u32); 2]>,
}

impl Kept {
    /// As recorded.
    pub const WHOLE: Kept = Kept { share: 1.0, lives: None };
    /// Not at all.
    pub const NOTHING: Kept = Kept { share: 0.0, lives: None };

    /// A part of it.
    #[must_use]
    pub fn part(share: f64) -> Kept {
        Kept { share, lives: None }
    }

    /// What is left after another change too, which leaves its lives where this one does not.
    #[must_use]
    pub fn and(self, other: Kept) -> Kept {
        Kept { share: self.share * other.share, lives: self.lives.or(other.lives) }
    }
}

/// One allocation as a change sees it.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    /// Its place among the timeline's allocations; `None` for the request that failed.
    pub place: Option<usize>,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes requested.
    pub requested: u64,
    /// What it is for.
    pub category: Category,
    /// The entry of its request; `None` for one older than the trace.
    pub entry: Option<u32>,
    /// The allocation; `None` for the request that failed.
    pub allocation: Option<&'a Allocation>,
}

/// The part of a recording whose peak is asked for.
#[derive(Clone, Copy)]
pub struct Recording<'a> {
    /// The device.
    pub device: &'a Device,
    /// The last entry looked at.
    pub upto: u32,
    /// The request that failed there, in bytes, and what it was for.
    pub request: Option<(u64, Category)>,
}

impl<'a> Recording<'a> {
    /// The highest total of allocated bytes after a change, the failed request included.
    pub fn peak(&self, change: impl Fn(&Held<'a>) -> Kept) -> u64 {
        let timeline = &self.device.timeline;
        // What is left of each allocation in its recorded life, by allocation id, and what else
        // comes and goes, by entry.
        let mut left = vec![0_i64; timeline.allocations.len()];
        let mut others: Vec<(u32, i64)> = Vec::new();
        let mut held = 0_i64;
        for_each(self.all(), |item| {
            let kept = change(&item);
            let bytes = (item.size as f64 * kept.share) as i64;
            let mut add = |from: u32, to: u32| {
                if from < to {
                    others.extend([(from, bytes), (to, -bytes)]);
                }
            };
            match (kept.lives, item.place.zip(item.allocation)) {
                (Some(spans), _) => spans.into_iter().for_each(|(from, to)| add(from, to)),
                (None, None) => add(self.upto, u32::MAX),
                (None, Some((_, allocation))) if allocation.last_entry() == 0 => {}
                (None, Some((place, allocation))) => {
                    left[place] = bytes;
                    if allocation.begin().is_none() {
                        held = held.saturating_add(bytes);
                    }
                    // Overwritten by another one's `alloc`, it is not what that entry names.
                    if let Some(end) = allocation.free_requested()
                        && timeline.allocation_of(end).is_none_or(|id| id.0 as usize != place)
                    {
                        others.push((end, -bytes));
                    }
                }
            }
        });
        others.sort_unstable_by_key(|(entry, _)| *entry);
        let mut others = others.into_iter().peekable();
        let mut most = 0;
        for_each(0..=self.upto, |entry| {
            while let Some((_, bytes)) = others.next_if(|(at, _)| *at <= entry) {
                held = held.saturating_add(bytes);
            }
            if let Some(id) = timeline.allocation_of(entry)
                && let Some(allocation) = timeline.allocation(id)
            {
                let bytes = left.get(id.0 as usize).copied().unwrap_or(0);
                if allocation.begin() == Some(entry) {
                    held = held.saturating_add(bytes);
                }
                if allocation.last_entry() == entry {
                    held = held.saturating_sub(bytes);
                }
            }
            most = most.max(held);
        });
        most.unsigned_abs()
    }

    fn all(&self) -> impl Iterator<Item = Held<'a>> {
        let device = self.device;
        let allocations = device.timeline.allocations.iter().zip(&device.classes).enumerate();
        let recorded = allocations
            .filter(|(_, (allocation, _))| allocation.first_entry() <= self.upto)
            .map(|(place, (allocation, Class { category, .. }))| Held {
                place: Some(place),
                size: allocation.size,
                requested: allocation.requested,
                category: *category,
                entry: allocation.begin(),
                allocation: Some(allocation),
            });
        let request = self.request.map(|(bytes, category)| Held {
            place: None,
            size: bytes,
            requested: bytes,
            category,
            entry: Some(self.upto),
            allocation: None,
        });
        recorded.chain(request)
    }
}
