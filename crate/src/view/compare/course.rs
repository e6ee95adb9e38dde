//! Two runs over one axis. Entry numbers mean nothing across runs: where both have steps, step lies
//! over step; else each run takes the whole width.

use crate::compare::run::{Run, StepPeak};
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// Rows of the same as a table.
const ROWS: usize = 12;

/// What the axis counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Steps: number `n`, counted from 1, reaches from `n - 1` to `n`; what comes before the first
    /// lies below 0.
    #[default]
    Steps,
    /// The share of each run's trace, from 0 to 1.
    Share,
}

/// One run's allocated bytes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CourseLine {
    /// The run's name.
    pub name: String,
    /// Places on the axis, ascending, with the bytes there: the outline of a staircase.
    pub points: Vec<(f64, f64)>,
}

/// A stretch of the axis, for those who do not see the picture.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CourseRow {
    /// Which stretch.
    pub label: String,
    /// The most allocated in it by each run, in bytes; absent where a run has ended.
    pub bytes: [Option<f64>; 2],
}

/// Two runs over one axis.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CourseView {
    /// What the axis counts.
    pub axis: Axis,
    /// Where it begins.
    pub begin: f64,
    /// Where it ends.
    pub end: f64,
    /// The most that either run has, in bytes.
    pub top_bytes: f64,
    /// The first and the second run.
    pub lines: [CourseLine; 2],
    /// The same as a table.
    pub rows: Vec<CourseRow>,
    /// What the axis is, in a sentence.
    pub note: String,
}

impl CourseView {
    /// The courses of `a` and `b`; `None` where one has no trace.
    #[must_use]
    pub fn of(a: &Run, b: &Run) -> Option<CourseView> {
        if a.course.is_empty() || b.course.is_empty() {
            return None;
        }
        let axis = if a.steps.is_empty() || b.steps.is_empty() { Axis::Share } else { Axis::Steps };
        let lines =
            [a, b].map(|run| CourseLine { name: run.name.clone(), points: outline(run, axis) });
        let points = || lines.iter().flat_map(|line| &line.points);
        let begin = points().map(|point| point.0).fold(0.0, f64::min);
        let end = points().map(|point| point.0).fold(begin, f64::max);
        let top_bytes = points().map(|point| point.1).fold(0.0, f64::max);
        let rows = match axis {
            Axis::Steps => step_rows(a, b),
            Axis::Share => share_rows(&lines),
        };
        let note = match axis {
            Axis::Steps => "Allocated memory, step laid over step.",
            Axis::Share => {
                "Allocated memory, each recording over the whole width: no steps are seen in both."
            }
        };
        Some(CourseView { axis, begin, end, top_bytes, lines, rows, note: note.to_owned() })
    }
}

fn outline(run: &Run, axis: Axis) -> Vec<(f64, f64)> {
    let count = run.course.len() as u64;
    let place = |stretch: usize| {
        let entry = (stretch as u64 * u64::from(run.entries) / count.max(1)) as u32;
        match axis {
            Axis::Steps => in_steps(&run.steps, run.entries, entry),
            Axis::Share => stretch as f64 / count as f64,
        }
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (stretch, bytes) in run.course.iter().enumerate() {
        let (bytes, right) = (*bytes as f64, place(stretch + 1));
        match points.last_mut() {
            Some(last) if last.1 == bytes => last.0 = right,
            _ => points.extend([(place(stretch), bytes), (right, bytes)]),
        }
    }
    points
}

/// An entry on the axis of steps. What lies between two steps belongs to the earlier; what lies
/// before all, and after, is as wide as a step.
fn in_steps(steps: &[StepPeak], entries: u32, entry: u32) -> f64 {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return 0.0 };
    let share = |from: u32, to: u32| {
        f64::from(entry.saturating_sub(from)) / f64::from(to.saturating_sub(from).max(1))
    };
    if entry < first.begin {
        return share(0, first.begin) - 1.0;
    }
    if entry >= last.end {
        return steps.len() as f64 + share(last.end, entries).min(1.0);
    }
    let begun = steps.partition_point(|step| step.begin <= entry);
    let begin = steps.get(begun.saturating_sub(1)).map_or(0, |step| step.begin);
    let end = steps.get(begun).map_or(last.end, |step| step.begin);
    begun as f64 - 1.0 + share(begin, end).min(1.0)
}

fn step_rows(a: &Run, b: &Run) -> Vec<CourseRow> {
    let steps = a.steps.len().max(b.steps.len());
    let height = steps.div_ceil(ROWS).max(1);
    let row = |begin: usize| {
        let end = (begin + height).min(steps);
        let most = |run: &Run| {
            let inside = run.steps.get(begin..end.min(run.steps.len()))?;
            inside.iter().map(|step| step.peak_bytes as f64).reduce(f64::max)
        };
        let number = |step: usize| Count(step as u64 + 1);
        let label = if end - begin == 1 {
            format!("Step {}", number(begin))
        } else {
            format!("Steps {} to {}", number(begin), number(end - 1))
        };
        CourseRow { label, bytes: [most(a), most(b)] }
    };
    (0..steps).step_by(height).map(row).collect()
}

fn share_rows(lines: &[CourseLine; 2]) -> Vec<CourseRow> {
    let row = |tenth: u32| {
        let (from, to) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
        let most = |line: &CourseLine| {
            // Each stretch of the staircase is a pair of points.
            let stretches = line.points.windows(2).filter(|pair| pair[0].1 == pair[1].1);
            let inside = stretches.filter(|pair| pair[0].0 < to && pair[1].0 > from);
            inside.map(|pair| pair[0].1).reduce(f64::max)
        };
        CourseRow {
            label: format!("{} to {} %", tenth * 10, (tenth + 1) * 10),
            bytes: [most(&lines[0]), most(&lines[1])],
        }
    };
    (0..10).map(row).collect()
}
