//! A comparison as text: the verdict, what stands behind it, then the tables.

use crate::compare::Comparison;
use crate::compare::difference::{At, Difference, SiteRow};
use crate::compare::growth::Growth;
use crate::compare::ranks::{Overview, Row};
use crate::compare::site::Frame;
use crate::findings::category::Category;
use crate::findings::diagnosis::Cause;
use crate::units::{Bytes, Count, Signed};
use crate::view::compare::place;
use std::fmt::{self, Display, Formatter};

/// Runs printed: of more, those that stand out come first.
const ROWS: usize = 24;
/// Call sites printed.
const SITES: usize = 12;
/// Frames printed of a call site.
const FRAMES: usize = 3;

/// A comparison as text.
#[derive(Clone, Copy, Debug)]
pub struct CompareText<'a>(pub &'a Comparison);

impl Display for CompareText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let comparison = self.0;
        writeln!(f, "{}", comparison.headline)?;
        for note in comparison.notes.iter().chain(&comparison.cards) {
            writeln!(f, "  {note}")?;
        }
        for broken in &comparison.unreadable {
            writeln!(f, "  Left out: {}: {}", broken.name, broken.message)?;
        }
        if let Some(overview) = &comparison.overview {
            table(f, overview)?;
        }
        match &comparison.growth {
            Some(growth) => growing(f, growth)?,
            None => {
                composition(f, &comparison.difference)?;
                sites(f, &comparison.difference)?;
                phases(f, &comparison.difference)?;
            }
        }
        Ok(())
    }
}

fn table(f: &mut Formatter<'_>, overview: &Overview) -> fmt::Result {
    let width = overview.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    writeln!(
        f,
        "\n  {:width$}  {:>12}  {:>12}  {:<34}  at the peak, most is",
        "file", "allocated", "reserved", "at its fullest"
    )?;
    let (mut shown, usual): (Vec<&Row>, Vec<&Row>) = match overview.rows.len() {
        ..=ROWS => (overview.rows.iter().collect(), Vec::new()),
        _ => overview.rows.iter().partition(|row| overview.stands_out(row)),
    };
    let room = ROWS.saturating_sub(shown.len());
    shown.extend(usual.iter().take(room));
    for row in shown {
        let most = row.largest_category.map_or(String::new(), |category| {
            format!("{} {}", Bytes(row.largest_category_bytes), category.label())
        });
        let failed = if row.ran_out { "; ran out of memory" } else { "" };
        let cause = match row.cause {
            Cause::None | Cause::InsufficientData => String::new(),
            cause => format!(" ({})", cause.label()),
        };
        writeln!(
            f,
            "  {:width$}  {:>12}  {:>12}  {:<34}  {most}{failed}{cause}",
            row.name,
            Bytes(row.peak_allocated_bytes).to_string(),
            Bytes(row.peak_reserved_bytes).to_string(),
            place(row.peak_place)
        )?;
    }
    let hidden = usual.len().saturating_sub(room);
    if hidden > 0 {
        writeln!(f, "  … and {hidden} more that do not stand out (--json lists them)")?;
    }
    writeln!(
        f,
        "  The median is {}, and half of them lie within {} of it.",
        Bytes(overview.median_bytes),
        Bytes(overview.deviation_bytes)
    )
}

fn growing(f: &mut Formatter<'_>, growth: &Growth) -> fmt::Result {
    writeln!(f, "\nAllocated at the end of each")?;
    for (name, bytes) in growth.moments.iter().zip(&growth.allocated_bytes) {
        writeln!(f, "  {:>12}  {name}", Bytes(*bytes).to_string())?;
    }
    if growth.growing.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nWhat holds more at the last than at the first")?;
    writeln!(f, "  {:>12}  {:>7}  {:>12}  where", "more", "blocks", "each step")?;
    for row in growth.growing.iter().take(SITES) {
        let rate = row.per_step_bytes.map_or("-".to_owned(), |rate| Bytes(rate).to_string());
        let count = format!("{:+}", row.count);
        let more = Signed(i64::try_from(row.bytes).unwrap_or(i64::MAX)).to_string();
        writeln!(
            f,
            "  {more:>12}  {count:>7}  {rate:>12}  {} [{}]",
            path(&row.stack),
            row.category.label()
        )?;
    }
    more(f, growth.growing.len())
}

fn composition(f: &mut Formatter<'_>, difference: &Difference) -> fmt::Result {
    let when = match difference.at {
        At::Peak => "Allocated at the peak of each",
        At::End => "Allocated at the end of each",
    };
    writeln!(f, "\n{when}: {}, then {}", difference.a, difference.b)?;
    let row = |f: &mut Formatter<'_>, a: u64, b: u64, change: i64, what: &str| {
        let [a, b] = [a, b].map(|bytes| Bytes(bytes).to_string());
        writeln!(f, "  {a:>12}  {b:>12}  {:>12}  {what}", Signed(change).to_string())
    };
    for category in Category::ALL {
        let Some(change) = difference.by_category.get(&category) else { continue };
        let [a, b] = &difference.parts;
        let of = |parts: &crate::compare::run::Parts| parts.get(&category).copied().unwrap_or(0);
        row(f, of(a), of(b), *change, category.label())?;
    }
    let ([a, b], [a_reserved, b_reserved]) = (difference.totals, difference.reserved_totals);
    row(f, a, b, difference.allocated_bytes, "in all")?;
    row(f, a_reserved, b_reserved, difference.reserved_bytes, "reserved, each at its own highest")
}

fn sites(f: &mut Formatter<'_>, difference: &Difference) -> fmt::Result {
    let changed: Vec<&SiteRow> =
        difference.by_stack.iter().filter(|row| row.difference_bytes != 0).collect();
    if changed.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nWhere")?;
    for row in changed.iter().take(SITES) {
        let change = Signed(row.difference_bytes).to_string();
        let blocks = format!("{} → {} blocks", Count(row.a_count), Count(row.b_count));
        let category = row.category().map_or("", Category::label);
        writeln!(f, "  {change:>12}  {blocks:>20}  {} [{category}]", path(&row.stack))?;
    }
    more(f, changed.len())
}

fn phases(f: &mut Formatter<'_>, difference: &Difference) -> fmt::Result {
    if difference.by_phase.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nMost allocated in each phase")?;
    for row in &difference.by_phase {
        let [a, b] = [row.a_bytes, row.b_bytes].map(|bytes| Bytes(bytes).to_string());
        let change = Signed(row.difference_bytes).to_string();
        writeln!(f, "  {a:>12}  {b:>12}  {change:>12}  {}", row.phase.label())?;
    }
    Ok(())
}

fn more(f: &mut Formatter<'_>, all: usize) -> fmt::Result {
    match all.saturating_sub(SITES) {
        0 => Ok(()),
        hidden => writeln!(f, "  … and {hidden} more (--json lists them)"),
    }
}

/// A call site as the way from its innermost frame outwards.
fn path(stack: &[Frame]) -> String {
    if stack.is_empty() {
        return "recorded without a stack".to_owned();
    }
    let mut frames: Vec<String> = stack.iter().take(FRAMES).map(Frame::short).collect();
    if stack.len() > FRAMES {
        frames.push("…".to_owned());
    }
    frames.join(" < ")
}
