//! The comparison in words.

use super::caveats::{at, is_equal, limits, places, reserved};
use super::difference::Difference;
use super::fingerprint::{Relation, relation};
use super::growth::Growth;
use super::ranks::{Overview, larger_input};
use super::run::Run;
use super::site::Frame;
use super::{Comparison, File, Kind};
use crate::findings::category::Category;
use crate::units::{Bytes, Signed};

/// A category is named from this share of the largest change on.
const NAMED: f64 = 0.04;
/// What is left is named from this share of the whole on.
const REST: f64 = 0.01;
/// Missing ranks named.
const MISSING_NAMED: usize = 4;
/// Categories named.
const CATEGORIES: usize = 4;

/// The headline, and the notes behind it. `a` and `b` are the runs of the difference.
pub(super) fn verdict(comparison: &Comparison, a: &Run, b: &Run) -> (String, Vec<String>) {
    let difference = &comparison.difference;
    let mut notes = Vec::new();
    let headline = match (&comparison.growth, &comparison.overview) {
        (Some(growth), _) => moments(growth, a, b, &mut notes),
        (None, Some(overview)) => many(comparison, overview, &mut notes),
        (None, None) => two(comparison, a, b, &mut notes),
    };
    if comparison.growth.is_none() {
        reserved(difference, a, b, &mut notes);
        places(difference, a, b, &mut notes);
    }
    if let Some(note) = missing(&comparison.missing) {
        notes.push(note);
    }
    limits(comparison, a, b, &mut notes);
    (headline, notes)
}

/// What each run needs on the cards asked about; empty where none was.
pub(super) fn cards(files: &[File]) -> Vec<String> {
    let is_asked = files.iter().any(|file| !file.fits.is_empty());
    let mut sentences = Vec::new();
    for file in files.iter().filter(|_| is_asked) {
        sentences.extend(file.fits.iter().map(|fit| format!("{} {}.", file.name, fit.sentence())));
        if file.fits.is_empty() {
            sentences
                .push(format!("{} has no recorded requests to replay on another card.", file.name));
        }
    }
    sentences
}

fn moments(growth: &Growth, a: &Run, b: &Run, notes: &mut Vec<String>) -> String {
    let [first, .., last] = growth.allocated_bytes.as_slice() else { return String::new() };
    if relation(a, b) == Relation::Same && growth.moments.len() == 2 {
        return format!(
            "The files are the same moment of the same run: {} allocated, no difference.",
            Bytes(*last)
        );
    }
    let later = match growth.steps {
        Some(1) => "one step later".to_owned(),
        Some(steps) if steps > 0 => format!("{steps} steps later"),
        _ => "later".to_owned(),
    };
    if let Some(earliest) = growth.moments.first()
        && earliest != &a.name
    {
        notes.push(format!("{earliest} was recorded first, so growth is counted from there; the difference is of the files as given."));
    }
    if growth.steps.is_none() {
        notes.push("How many steps lie between is not known: the later trace does not reach back to the earlier file, or shows no steps.".to_owned());
    }
    let more = Signed::between(*first, *last);
    let Some(most) = growth.growing.first() else {
        let what = match more.0 {
            0 => format!("the same: {}", Bytes(*last)),
            _ => format!(
                "{} {} ({} against {})",
                Bytes(more.0.unsigned_abs()),
                if more.0 < 0 { "less" } else { "more" },
                Bytes(*last),
                Bytes(*first)
            ),
        };
        return format!("The same run {later} holds {what}.");
    };
    let rate =
        most.per_step_bytes.map_or(String::new(), |rate| format!(", {} in each step", Bytes(rate)));
    if growth.is_confirmed {
        let confirmed = most.confirmed_bytes.unwrap_or(0);
        if confirmed > 0 {
            notes.push(format!(
                "Confirmed by three moments: {} that {} made between the first two are still alive in the last.",
                Bytes(confirmed),
                named(&most.stack)
            ));
        } else {
            notes.push("Nothing that was made between the first two moments at the growing lines is alive in the last: they hold more, but not the same tensors.".to_owned());
        }
    } else {
        notes.push("A third file of the same run, some steps later, would confirm a leak: what was made between the first two and is still alive in the third.".to_owned());
    }
    let verb = if more.0 < 0 { "less in all, but" } else { "more in all:" };
    format!(
        "The same run {later} holds {} {verb} {} holds {} more{rate} ({}).",
        Bytes(more.0.unsigned_abs()),
        named(&most.stack),
        Bytes(most.bytes),
        most.category.label()
    )
}

fn two(comparison: &Comparison, a: &Run, b: &Run, notes: &mut Vec<String>) -> String {
    let difference = &comparison.difference;
    let [before, after] = difference.totals;
    let ran_out = |run: &Run| {
        run.failure.map(|failure| {
            format!("{} ran out asking for {}", run.name, Bytes(failure.request_bytes))
        })
    };
    if comparison.kind == Kind::Ranks {
        notes.push(
            "The two were recorded at the same time by different processes: two ranks of one job."
                .to_owned(),
        );
    }
    notes.extend([a, b].into_iter().filter_map(|run| {
        ran_out(run).map(|what| {
            format!("{what} {}: {}", at(run.failure.map(|failure| failure.place)), run.headline)
        })
    }));
    if is_equal(before, after) {
        return alike(difference);
    }
    let how = if after < before { "lower" } else { "higher" };
    let why = parts(difference);
    let (one, other) = if b.recomputes { (b, a) } else { (a, b) };
    if one.recomputes && !other.recomputes {
        notes.push(format!(
            "{} runs with activation checkpointing: it drops activations in the forward pass and computes them again in the backward pass; {} keeps them.",
            one.name, other.name
        ));
    }
    let larger = larger_input(difference);
    let by = Bytes(difference.allocated_bytes.unsigned_abs());
    if b.failure.is_some() && a.failure.is_none() {
        let because = larger.map_or(String::new(), |larger| format!("; {larger}"));
        return format!(
            "{} ran out of memory; it peaks {by} {how} than {} ({} against {}): {why}{because}.",
            b.name,
            a.name,
            Bytes(after),
            Bytes(before)
        );
    }
    notes.extend(larger.map(|larger| format!("In {}, {larger}.", b.name)));
    format!(
        "{} peaks {by} {how} than {} ({} against {}): {why}.",
        b.name,
        a.name,
        Bytes(after),
        Bytes(before)
    )
}

/// The headline where the peaks are equal: then what the allocator reserves may still differ.
fn alike(difference: &Difference) -> String {
    let [before, after] = difference.totals;
    let held = if difference.allocated_bytes == 0 {
        Bytes(before).to_string()
    } else {
        format!("{} and {} ({})", Bytes(before), Bytes(after), Signed(difference.allocated_bytes))
    };
    let [reserved_before, reserved_after] = difference.reserved_totals;
    let (a, b) = (&difference.a, &difference.b);
    if is_equal(reserved_before, reserved_after) {
        return format!("{a} and {b} peak alike, at {held} allocated.");
    }
    format!(
        "{a} and {b} peak alike, at {held} allocated, but {b} reserves {} {} for it ({} against {}).",
        Bytes(difference.reserved_bytes.unsigned_abs()),
        if reserved_after < reserved_before { "less" } else { "more" },
        Bytes(reserved_after),
        Bytes(reserved_before)
    )
}

fn many(comparison: &Comparison, overview: &Overview, notes: &mut Vec<String>) -> String {
    let what = if comparison.kind == Kind::Ranks { "ranks" } else { "runs" };
    let usual = match overview.usual() {
        Some((count, low, high)) if is_equal(low, high) => {
            format!("{count} {what} peak at {}", Bytes(high))
        }
        Some((count, low, high)) => {
            format!("{count} {what} peak between {} and {}", Bytes(low), Bytes(high))
        }
        None => format!("no two of the {} {what} are alike", overview.rows.len()),
    };
    notes.extend(overview.outliers.iter().skip(1).map(|outlier| outlier.reason.clone()));
    match overview.outliers.first() {
        Some(outlier) => {
            format!("{} The other {usual}.", outlier.reason).replace("The other no two", "No two")
        }
        None => format!("No outlier: {usual}."),
    }
}

/// The ranks that are not there; of many only the first.
fn missing(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    let who = match others {
        [] => last.clone(),
        _ if names.len() > MISSING_NAMED => {
            format!(
                "{} and {} more",
                names[..MISSING_NAMED].join(", "),
                names.len() - MISSING_NAMED
            )
        }
        _ => format!("{} and {last}", others.join(", ")),
    };
    let is = if names.len() == 1 { "is" } else { "are" };
    Some(format!("{who} {is} missing: no file of that name is among those given."))
}

/// What makes up a difference: the categories that change most, each with the line behind it.
fn parts(difference: &Difference) -> String {
    let mut categories: Vec<(Category, i64)> =
        difference.by_category.iter().map(|(category, bytes)| (*category, *bytes)).collect();
    categories.sort_by_key(|(category, bytes)| {
        (std::cmp::Reverse(bytes.unsigned_abs()), category.place())
    });
    let largest = categories.first().map_or(0, |(_, bytes)| bytes.unsigned_abs());
    let is_named = |bytes: i64| bytes != 0 && bytes.unsigned_abs() as f64 >= NAMED * largest as f64;
    let mut named_bytes = 0_i64;
    let mut words = Vec::new();
    for (category, bytes) in
        categories.iter().filter(|(_, bytes)| is_named(*bytes)).take(CATEGORIES)
    {
        named_bytes = named_bytes.saturating_add(*bytes);
        let mut word = format!("{} {}", Signed(*bytes), category.label());
        if let Some((row, share)) = difference.leading_site(*category)
            && words.len() < 2
        {
            word += &format!(", of which {} in {}", Signed(share), named(&row.stack));
        }
        words.push(word);
    }
    let rest = difference.allocated_bytes.saturating_sub(named_bytes);
    if rest.unsigned_abs() as f64 >= REST * difference.allocated_bytes.unsigned_abs() as f64 {
        words.push(format!("{} in the rest", Signed(rest)));
    }
    words.join("; ")
}

/// A call site as its innermost frame; where a module's `forward` holds it, with the caller too.
fn named(stack: &[Frame]) -> String {
    match stack {
        [] => "code without a stack".to_owned(),
        [frame] => frame.short(),
        [frame, outer @ ..] => {
            // The frame that the whole pass is run from tells which pass it is.
            let caller = outer.iter().find(|caller| caller.name != frame.name);
            caller.map_or(frame.short(), |caller| {
                format!("{} under {}", frame.short(), caller.short())
            })
        }
    }
}
