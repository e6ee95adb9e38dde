//! What two runs differ by: at the peak of each, or at the end of each. All parts sum to the whole.

use super::matching::matching;
use super::run::{Moment, Parts, PhasePeak, Place, Run};
use super::site::Frame;
use crate::findings::category::Category;
use crate::findings::marks::Phase;
use crate::units::Signed;
use serde::Serialize;
use std::collections::BTreeMap;

/// Which moments are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// The moment of each at which most was allocated.
    Peak,
    /// The last moment of each.
    End,
}

/// The second run less the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Name of the first run.
    pub a: String,
    /// Name of the second run.
    pub b: String,
    /// Which moments are compared.
    pub at: At,
    /// Where they lie in the first and the second run.
    pub places: [Place; 2],
    /// Allocated bytes then, of the first and the second run.
    pub totals: [u64; 2],
    /// Their difference.
    pub allocated_bytes: i64,
    /// Difference of what was reserved: of the highest values, or at the end.
    pub reserved_bytes: i64,
    /// What was reserved, of the first and the second run.
    pub reserved_totals: [u64; 2],
    /// The difference by category; sums to `allocated_bytes`. Categories that neither has are left
    /// out.
    pub by_category: BTreeMap<Category, i64>,
    /// The same as what each run has.
    pub parts: [Parts; 2],
    /// The difference by call site, largest first; sums to `allocated_bytes`. Empty where one of
    /// the runs has no stacks.
    pub by_stack: Vec<SiteRow>,
    /// The fullest moment of each phase that both have.
    pub by_phase: Vec<PhaseRow>,
}

/// One call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRow {
    /// Its frames, innermost first, with the lines of the second run where it has them.
    pub stack: Vec<Frame>,
    /// Bytes held in the first run.
    pub a_bytes: u64,
    /// Bytes held in the second run.
    pub b_bytes: u64,
    /// Allocations held in the first run.
    pub a_count: u64,
    /// Allocations held in the second run.
    pub b_count: u64,
    /// Bytes of the largest in the first run.
    pub a_largest_bytes: u64,
    /// Bytes of the largest in the second run.
    pub b_largest_bytes: u64,
    /// The difference.
    pub difference_bytes: i64,
    /// The difference by category; sums to it.
    pub by_category: BTreeMap<Category, i64>,
}

/// The fullest moments of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRow {
    /// The phase.
    pub phase: Phase,
    /// The steps in which they lie.
    pub steps: [Option<u32>; 2],
    /// Allocated bytes of the first run.
    pub a_bytes: u64,
    /// Allocated bytes of the second run.
    pub b_bytes: u64,
    /// The difference.
    pub difference_bytes: i64,
    /// The difference by category; sums to it.
    pub by_category: BTreeMap<Category, i64>,
}

impl Difference {
    /// The difference of two runs.
    #[must_use]
    pub fn of(a: &Run, b: &Run, at: At) -> Difference {
        let moments = match at {
            At::Peak => [&a.peak, &b.peak],
            At::End => [&a.end, &b.end],
        };
        let reserved = match at {
            At::Peak => [a.peak_reserved_bytes, b.peak_reserved_bytes],
            At::End => [a.end_reserved_bytes, b.end_reserved_bytes],
        };
        let totals = moments.map(Moment::bytes);
        let parts = moments.map(Moment::parts);
        Difference {
            a: a.name.clone(),
            b: b.name.clone(),
            at,
            places: moments.map(|moment| moment.place),
            totals,
            allocated_bytes: between(totals[0], totals[1]),
            reserved_bytes: between(reserved[0], reserved[1]),
            reserved_totals: reserved,
            by_category: by_category(&parts[0], &parts[1]),
            parts,
            by_stack: if a.has_stacks() && b.has_stacks() {
                by_stack(a, b, moments)
            } else {
                Vec::new()
            },
            by_phase: by_phase(&a.phases, &b.phases),
        }
    }

    /// The call site that adds most to the difference of `category`, in the difference's own
    /// direction; `None` where no site does.
    #[must_use]
    pub fn leading_site(&self, category: Category) -> Option<(&SiteRow, i64)> {
        let whole = self.by_category.get(&category).copied().unwrap_or(0);
        let share = |row: &SiteRow| row.by_category.get(&category).copied().unwrap_or(0);
        let led = self.by_stack.iter().filter(|row| share(row).signum() == whole.signum());
        let most = led.max_by_key(|row| share(row).unsigned_abs())?;
        (whole != 0).then(|| (most, share(most)))
    }
}

/// `b` less `a`.
pub(super) fn between(a: u64, b: u64) -> i64 {
    Signed::between(a, b).0
}

fn by_category(a: &Parts, b: &Parts) -> BTreeMap<Category, i64> {
    let bytes = |parts: &Parts, category| parts.get(&category).copied().unwrap_or(0);
    let shown = Category::ALL
        .into_iter()
        .filter(|category| bytes(a, *category) > 0 || bytes(b, *category) > 0);
    shown.map(|category| (category, between(bytes(a, category), bytes(b, category)))).collect()
}

fn by_stack(a: &Run, b: &Run, moments: [&Moment; 2]) -> Vec<SiteRow> {
    let matching = matching(a, b);
    let mut rows: Vec<Option<(SiteRow, [Parts; 2])>> = vec![None; matching.count as usize];
    let sides = [(a, &matching.a), (b, &matching.b)];
    for (side, (run, numbers)) in sides.into_iter().enumerate() {
        for held in &moments[side].held {
            // A summary may name a site that it does not have.
            let number = numbers.get(held.site as usize).copied().unwrap_or(0);
            let Some(place) = rows.get_mut(number as usize) else { continue };
            let (row, parts) = place.get_or_insert_with(|| (SiteRow::empty(), Default::default()));
            if side == 1 && row.b_count == 0 || row.stack.is_empty() {
                row.stack = run.sites.frames_of(held.site).into_iter().cloned().collect();
            }
            let (bytes, count, largest) = match side {
                0 => (&mut row.a_bytes, &mut row.a_count, &mut row.a_largest_bytes),
                _ => (&mut row.b_bytes, &mut row.b_count, &mut row.b_largest_bytes),
            };
            *bytes = bytes.saturating_add(held.bytes);
            *count = count.saturating_add(held.count);
            *largest = (*largest).max(held.largest);
            let part = parts[side].entry(held.category).or_default();
            *part = part.saturating_add(held.bytes);
        }
    }
    let mut rows: Vec<SiteRow> = rows
        .into_iter()
        .flatten()
        .map(|(row, [a, b])| SiteRow {
            difference_bytes: between(row.a_bytes, row.b_bytes),
            by_category: by_category(&a, &b),
            ..row
        })
        .collect();
    rows.sort_by(|one, other| {
        let size =
            |row: &SiteRow| (row.difference_bytes.unsigned_abs(), row.a_bytes.max(row.b_bytes));
        size(other).cmp(&size(one)).then_with(|| one.stack.cmp(&other.stack))
    });
    rows
}

impl SiteRow {
    fn empty() -> Self {
        SiteRow {
            stack: Vec::new(),
            a_bytes: 0,
            b_bytes: 0,
            a_count: 0,
            b_count: 0,
            a_largest_bytes: 0,
            b_largest_bytes: 0,
            difference_bytes: 0,
            by_category: BTreeMap::new(),
        }
    }

    /// The category that changes most.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let most = self.by_category.iter().max_by_key(|(_, bytes)| bytes.unsigned_abs());
        most.map(|(category, _)| *category)
    }
}

fn by_phase(a: &[PhasePeak], b: &[PhasePeak]) -> Vec<PhaseRow> {
    let row = |one: &PhasePeak| {
        let other = b.iter().find(|other| other.place.phase == one.place.phase)?;
        Some(PhaseRow {
            phase: one.place.phase,
            steps: [one.place.step, other.place.step],
            a_bytes: one.bytes(),
            b_bytes: other.bytes(),
            difference_bytes: between(one.bytes(), other.bytes()),
            by_category: by_category(&one.parts, &other.parts),
        })
    };
    a.iter().filter_map(row).collect()
}
