//! A comparison as the page shows it: its tables with their names for people, and both courses on
//! one axis.

pub mod alone;
pub mod course;
pub mod ranks;

use crate::compare::difference::{At, Difference, SiteRow};
use crate::compare::growth::{Growing, Growth};
use crate::compare::run::{Parts, Place, Run};
use crate::compare::site::Frame;
use crate::compare::{Comparison, Kind, Unreadable};
use crate::findings::category::Category;
use crate::units::Count;
use course::CourseView;
use ranks::RanksView;
use serde::Serialize;

/// Call sites shown; the rest is one row.
const SITES: usize = 40;

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct CompareView {
    /// What the files are to each other.
    pub kind: Kind,
    /// The same for people.
    pub kind_label: String,
    /// The verdict in a sentence.
    pub headline: String,
    /// What stands behind it and what limits its truth.
    pub notes: Vec<String>,
    /// What each run needs on the cards asked about.
    pub cards: Vec<String>,
    /// The files, in the order given.
    pub files: Vec<FileView>,
    /// The files that could not be compared.
    pub unreadable: Vec<Unreadable>,
    /// What the two runs differ by.
    pub difference: DifferenceView,
    /// Their allocated bytes over time; absent for moments of one run and without a trace.
    pub course: Option<CourseView>,
    /// What moments of one run keep.
    pub growth: Option<GrowthView>,
    /// All of many runs.
    pub ranks: Option<RanksView>,
}

/// A file that was compared.
#[derive(Clone, Debug, Serialize)]
pub struct FileView {
    /// Its name.
    pub name: String,
    /// Whether it is a summary.
    pub is_summary: bool,
    /// The verdict on it alone.
    pub headline: String,
}

/// Bytes of one name in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRow {
    /// A category's key; empty for sums and phases.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// Bytes of the first run.
    pub a_bytes: u64,
    /// Bytes of the second run.
    pub b_bytes: u64,
    /// The difference.
    pub difference_bytes: i64,
}

/// What two runs differ by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceView {
    /// Name of the first run.
    pub a: String,
    /// Name of the second run.
    pub b: String,
    /// Which moments are compared.
    pub title: &'static str,
    /// By category; they sum to `total`.
    pub categories: Vec<PartRow>,
    /// All that was allocated.
    pub total: PartRow,
    /// What was reserved.
    pub reserved: PartRow,
    /// The call sites that differ most, the largest difference first; empty without stacks.
    pub sites: Vec<SiteView>,
    /// All other call sites; with those shown they sum to `total`. Absent where there are none.
    pub other_sites: Option<PartRow>,
    /// The fullest moment of each phase.
    pub phases: Vec<PartRow>,
}

/// One call site in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteView {
    /// Its frames, innermost first.
    pub frames: Vec<Frame>,
    /// The key of the category that changes most.
    pub category: Category,
    /// Its name for people.
    pub category_label: &'static str,
    /// Bytes of the first run.
    pub a_bytes: u64,
    /// Bytes of the second run.
    pub b_bytes: u64,
    /// Allocations of the first run.
    pub a_count: u64,
    /// Allocations of the second run.
    pub b_count: u64,
    /// The difference in bytes.
    pub difference_bytes: i64,
}

/// From the first to the last of some moments of one run.
#[derive(Clone, Debug, Serialize)]
pub struct GrowthView {
    /// Each moment's name and allocated bytes, earliest first.
    pub moments: Vec<(String, u64)>,
    /// Whether three or more moments tell what is kept for sure.
    pub is_confirmed: bool,
    /// Whether the rate of each step is known.
    pub has_rate: bool,
    /// What grows, what is confirmed first.
    pub rows: Vec<GrowingView>,
    /// Call sites that grow and are not shown.
    pub hidden: usize,
}

/// One call site that grows.
#[derive(Clone, Debug, Serialize)]
pub struct GrowingView {
    /// What grows there.
    #[serde(flatten)]
    pub growing: Growing,
    /// The category for people.
    pub category_label: &'static str,
}

/// Bytes of one category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The category.
    pub key: Category,
    /// Its name for people.
    pub label: &'static str,
    /// Bytes of it.
    pub bytes: u64,
}

impl CompareView {
    /// What the page shows of `comparison`, which is of `runs`.
    #[must_use]
    pub fn of(comparison: &Comparison, runs: &[Run]) -> CompareView {
        let difference = &comparison.difference;
        let run = |name: &str| runs.iter().find(|run| run.name == name);
        let pair = run(&difference.a).zip(run(&difference.b));
        let course =
            pair.filter(|_| comparison.growth.is_none()).and_then(|(a, b)| CourseView::of(a, b));
        CompareView {
            kind: comparison.kind,
            kind_label: kind_label(comparison.kind, comparison.files.len()),
            headline: comparison.headline.clone(),
            notes: comparison.notes.clone(),
            cards: comparison.cards.clone(),
            files: comparison
                .files
                .iter()
                .map(|file| FileView {
                    name: file.name.clone(),
                    is_summary: file.is_summary,
                    headline: file.headline.clone(),
                })
                .collect(),
            unreadable: comparison.unreadable.clone(),
            difference: DifferenceView::of(difference),
            course,
            growth: comparison.growth.as_ref().map(GrowthView::of),
            ranks: comparison
                .overview
                .as_ref()
                .map(|overview| RanksView::of(overview, comparison.kind)),
        }
    }
}

impl DifferenceView {
    /// A difference with its sums.
    #[must_use]
    pub fn of(difference: &Difference) -> DifferenceView {
        let [a, b] = &difference.parts;
        let bytes = |parts: &Parts, category| parts.get(&category).copied().unwrap_or(0);
        let categories = Category::ALL.into_iter().filter_map(|category| {
            Some(PartRow {
                key: category.name().to_owned(),
                label: category.label().to_owned(),
                a_bytes: bytes(a, category),
                b_bytes: bytes(b, category),
                difference_bytes: *difference.by_category.get(&category)?,
            })
        });
        let changed = difference.by_stack.iter().filter(|row| row.difference_bytes != 0);
        let sites: Vec<SiteView> = changed.take(SITES).map(SiteView::of).collect();
        let shown =
            |bytes: fn(&SiteView) -> u64| sites.iter().map(bytes).fold(0, u64::saturating_add);
        let [a_total, b_total] = difference.totals;
        let others = difference.by_stack.len().saturating_sub(sites.len());
        let other_sites = (others > 0).then(|| {
            sum(
                &if others == 1 {
                    "1 other line".to_owned()
                } else {
                    format!("{} other lines", Count(others as u64))
                },
                [
                    a_total.saturating_sub(shown(|site| site.a_bytes)),
                    b_total.saturating_sub(shown(|site| site.b_bytes)),
                ],
            )
        });
        DifferenceView {
            a: difference.a.clone(),
            b: difference.b.clone(),
            title: match difference.at {
                At::Peak => "Allocated at the peak of each",
                At::End => "Allocated at the end of each",
            },
            categories: categories.collect(),
            total: sum("in all", difference.totals),
            reserved: sum(
                match difference.at {
                    At::Peak => "reserved, each at its highest",
                    At::End => "reserved",
                },
                difference.reserved_totals,
            ),
            sites,
            other_sites,
            phases: difference
                .by_phase
                .iter()
                .map(|row| sum(row.phase.label(), [row.a_bytes, row.b_bytes]))
                .collect(),
        }
    }
}

impl SiteView {
    fn of(row: &SiteRow) -> SiteView {
        let category = row.category().unwrap_or(Category::Unknown);
        SiteView {
            frames: row.stack.clone(),
            category,
            category_label: category.label(),
            a_bytes: row.a_bytes,
            b_bytes: row.b_bytes,
            a_count: row.a_count,
            b_count: row.b_count,
            difference_bytes: row.difference_bytes,
        }
    }
}

impl GrowthView {
    fn of(growth: &Growth) -> GrowthView {
        let row = |growing: &Growing| GrowingView {
            category_label: growing.category.label(),
            growing: growing.clone(),
        };
        GrowthView {
            moments: growth
                .moments
                .iter()
                .cloned()
                .zip(growth.allocated_bytes.iter().copied())
                .collect(),
            is_confirmed: growth.is_confirmed,
            has_rate: growth.growing.iter().any(|row| row.per_step_bytes.is_some()),
            rows: growth.growing.iter().take(SITES).map(row).collect(),
            hidden: growth.growing.len().saturating_sub(SITES),
        }
    }
}

fn kind_label(kind: Kind, files: usize) -> String {
    let count = if files == 2 { "Two".to_owned() } else { Count(files as u64).to_string() };
    match kind {
        Kind::Moments => format!("{count} moments of one run"),
        Kind::Ranks => format!("{count} ranks of one job"),
        Kind::Runs => format!("{count} runs"),
    }
}

fn parts(parts: &Parts) -> Vec<Part> {
    let part = |category: Category| {
        let bytes = *parts.get(&category)?;
        Some(Part { key: category, label: category.label(), bytes })
    };
    Category::ALL.into_iter().filter_map(part).collect()
}

/// Where a moment lies, in words: `step 3, the backward pass`.
pub(crate) fn place(place: Place) -> String {
    match place.step {
        Some(step) => format!("step {}, {}", Count(u64::from(step) + 1), place.phase.label()),
        None => place.phase.label().to_owned(),
    }
}

fn sum(label: &str, [a_bytes, b_bytes]: [u64; 2]) -> PartRow {
    PartRow {
        key: String::new(),
        label: label.to_owned(),
        a_bytes,
        b_bytes,
        difference_bytes: crate::units::Signed::between(a_bytes, b_bytes).0,
    }
}
