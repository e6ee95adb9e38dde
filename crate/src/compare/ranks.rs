//! Many runs side by side: the ranks of one job, or runs of one program. Who stands out, and why.

use super::difference::{At, Difference, SiteRow};
use super::run::{Parts, Place, Run};
use crate::findings::category::Category;
use crate::findings::diagnosis::Cause;
use crate::units::{Bytes, Signed};
use serde::Serialize;

/// A peak is usual within so many deviations of the median. The median deviation is 0.67 of a
/// normal distribution's standard deviation, so this is some three of those.
const DEVIATIONS: u64 = 5;
/// … and within this share of the median: ranks that do the same differ by less.
const USUAL: f64 = 0.05;
/// Tensors this many times as large at the same place are another input.
const LARGER: f64 = 1.2;
/// Smaller allocations tell nothing of the input.
const TELLING_BYTES: u64 = 1 << 20;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its device.
    pub device: u32,
    /// Most allocated, in bytes.
    pub peak_allocated_bytes: u64,
    /// What that consists of.
    pub parts: Parts,
    /// Most reserved, in bytes.
    pub peak_reserved_bytes: u64,
    /// Where the first of them lies.
    pub peak_place: Place,
    /// Steps seen.
    pub steps: u32,
    /// Whether a request failed.
    pub ran_out: bool,
    /// The cause, or that nothing failed.
    pub cause: Cause,
    /// The category with most bytes at the peak.
    pub largest_category: Option<Category>,
    /// Bytes of it.
    pub largest_category_bytes: u64,
}

/// One that stands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Its name.
    pub name: String,
    /// Its peak less the median, in bytes.
    pub difference_bytes: i64,
    /// What it is and why, in a sentence.
    pub reason: String,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// Each, in the order given.
    pub rows: Vec<Row>,
    /// The median peak, in bytes.
    pub median_bytes: u64,
    /// The median distance from it, in bytes.
    pub deviation_bytes: u64,
    /// Those that ran out or lie far from the median: the farthest first.
    pub outliers: Vec<Outlier>,
}

impl Row {
    fn of(run: &Run) -> Row {
        let parts = run.peak.parts();
        let largest = parts.iter().max_by_key(|(_, bytes)| **bytes);
        let (largest_category, largest_category_bytes) =
            largest.map_or((None, 0), |(category, bytes)| (Some(*category), *bytes));
        Row {
            name: run.name.clone(),
            device: run.device,
            peak_allocated_bytes: run.peak.bytes(),
            peak_reserved_bytes: run.peak_reserved_bytes,
            peak_place: run.peak.place,
            steps: u32::try_from(run.steps.len()).unwrap_or(u32::MAX),
            ran_out: run.failure.is_some(),
            cause: run.cause,
            largest_category,
            largest_category_bytes,
            parts,
        }
    }
}

impl Overview {
    /// The overview of `runs`.
    #[must_use]
    pub fn of(runs: &[Run]) -> Overview {
        let rows: Vec<Row> = runs.iter().map(Row::of).collect();
        let median_bytes = median(rows.iter().map(|row| row.peak_allocated_bytes));
        let distance = |row: &Row| row.peak_allocated_bytes.abs_diff(median_bytes);
        let deviation_bytes = median(rows.iter().map(distance));
        let usual =
            deviation_bytes.saturating_mul(DEVIATIONS).max((median_bytes as f64 * USUAL) as u64);
        let is_outlier = |row: &Row| row.ran_out || distance(row) > usual;
        // What is typical: the peak nearest to the median, of one that did not run out if any.
        let typical = (0..runs.len())
            .min_by_key(|place| rows.get(*place).map(|row| (row.ran_out, distance(row))));
        let mut outliers: Vec<Outlier> = Vec::new();
        for (place, (run, row)) in runs.iter().zip(&rows).enumerate() {
            if is_outlier(row) {
                let other = typical.filter(|typical| *typical != place).and_then(|at| runs.get(at));
                outliers.push(Outlier {
                    name: row.name.clone(),
                    difference_bytes: Signed::between(median_bytes, row.peak_allocated_bytes).0,
                    reason: reason(run, other, median_bytes),
                });
            }
        }
        outliers.sort_by_key(|outlier| std::cmp::Reverse(outlier.difference_bytes.unsigned_abs()));
        Overview { rows, median_bytes, deviation_bytes, outliers }
    }

    /// The typical run and the one that stands out most, by name; `None` where none does.
    pub(super) fn telling_pair(&self) -> Option<(&str, &str)> {
        let outlier = self.outliers.first()?;
        let distance =
            |row: &&Row| (row.ran_out, row.peak_allocated_bytes.abs_diff(self.median_bytes));
        let others = self.rows.iter().filter(|row| row.name != outlier.name);
        Some((&others.min_by_key(distance)?.name, &outlier.name))
    }

    /// Whether `row` is among the outliers.
    #[must_use]
    pub fn stands_out(&self, row: &Row) -> bool {
        self.outliers.iter().any(|outlier| outlier.name == row.name)
    }

    /// How many do not stand out, with the least and the greatest of their peaks; `None` where all
    /// do.
    #[must_use]
    pub fn usual(&self) -> Option<(usize, u64, u64)> {
        let ordinary = self.rows.iter().filter(|row| !self.stands_out(row));
        let usual = || ordinary.clone().map(|row| row.peak_allocated_bytes);
        Some((usual().count(), usual().min()?, usual().max()?))
    }
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let upper = values.get(values.len() / 2).copied().unwrap_or(0);
    let lower = values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    lower.midpoint(upper)
}

fn reason(run: &Run, typical: Option<&Run>, median_bytes: u64) -> String {
    let peak = run.peak.bytes();
    let mut reason = match &run.failure {
        Some(failure) => format!(
            "{} ran out asking for {}: it peaks at {}, the median is {}",
            run.name,
            Bytes(failure.request_bytes),
            Bytes(peak),
            Bytes(median_bytes)
        ),
        None => format!(
            "{} peaks at {}, {} the median of {}",
            run.name,
            Bytes(peak),
            if peak > median_bytes { "above" } else { "below" },
            Bytes(median_bytes)
        ),
    };
    let Some(typical) = typical else { return reason + "." };
    let difference = Difference::of(typical, run, At::Peak);
    let most = difference.by_category.iter().max_by_key(|(_, bytes)| bytes.unsigned_abs());
    if let Some((category, bytes)) = most.filter(|(_, bytes)| **bytes != 0) {
        reason += &format!("; against {}, {} {}", typical.name, Signed(*bytes), category.label());
        if let Some((row, _)) = difference.leading_site(*category)
            && let Some(frame) = row.stack.first()
        {
            reason += &format!(", most in {}", frame.short());
        }
    }
    if let Some(larger) = larger_input(&difference) {
        reason += &format!("; {larger}");
    }
    reason + "."
}

/// How much larger the input is in the second run of a difference, in words: by the batches that one
/// line makes in both, or else by the largest tensor that each line makes, weighed by what the lines
/// hold. `None` where they are alike.
pub(super) fn larger_input(difference: &Difference) -> Option<String> {
    let ratio = |row: &SiteRow| row.b_largest_bytes as f64 / row.a_largest_bytes as f64;
    let in_both = |row: &&SiteRow| row.a_largest_bytes > 0 && row.b_largest_bytes > 0;
    let is_batch = |row: &&SiteRow| row.by_category.contains_key(&Category::Inputs);
    let batches = difference.by_stack.iter().filter(in_both).filter(is_batch);
    let (ratio, what) = if let Some(batch) = batches.max_by_key(|row| row.b_largest_bytes) {
        (ratio(batch), "its batches are")
    } else {
        let is_running = |row: &&SiteRow| {
            row.by_category.contains_key(&Category::Activations)
                && row.a_largest_bytes >= TELLING_BYTES
                && row.b_largest_bytes >= TELLING_BYTES
        };
        let mut ratios: Vec<(f64, u64)> = difference
            .by_stack
            .iter()
            .filter(is_running)
            .map(|row| (ratio(row), row.b_bytes))
            .collect();
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        let half = ratios
            .iter()
            .map(|(_, bytes)| bytes)
            .fold(0_u64, |all, bytes| all.saturating_add(*bytes))
            / 2;
        let mut passed = 0_u64;
        let middle = ratios.iter().find(|(_, bytes)| {
            passed = passed.saturating_add(*bytes);
            passed > half
        });
        (middle?.0, "what the same lines make is")
    };
    if (1.0 / LARGER..LARGER).contains(&ratio) {
        return None;
    }
    let (times, which, means) = if ratio > 1.0 {
        (ratio, "large", "more samples or longer sequences")
    } else {
        (1.0 / ratio, "small", "fewer samples or shorter sequences")
    };
    let times = if (times - times.round()).abs() < 0.05 {
        format!("{times:.0}")
    } else {
        format!("{times:.1}")
    };
    Some(format!("{what} {times} times as {which} ({means})"))
}
