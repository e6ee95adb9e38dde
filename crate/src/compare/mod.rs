//! Several recordings against each other. In go [`Run`]s, out comes a [`Comparison`]: what
//! `oomscope compare --json` prints.
//!
//! Moments of one process are held against each other at their ends: what do they keep more of? Runs
//! of different processes are held against each other at their peaks, which explains the difference
//! by category and by call site. Many runs become a table, and those that stand out get a reason.
//! Entry numbers of two runs mean nothing to each other, so everything is named by step and phase.

pub mod carried;
mod caveats;
mod course;
pub mod difference;
pub mod fingerprint;
pub mod fit;
pub mod growth;
mod matching;
pub mod names;
pub mod ranks;
pub mod run;
pub mod site;
mod verdict;

use difference::{At, Difference};
use fingerprint::{Relation, relation};
use fit::Fit;
use growth::{Growing, Growth};
use ranks::Overview;
use run::Run;
use serde::{Deserialize, Serialize};

/// What the files are to each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Moments of one process.
    Moments,
    /// Processes at the same time: the ranks of one job.
    Ranks,
    /// Runs, one after another or nothing tells.
    Runs,
}

/// A file that could not be compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Unreadable {
    /// Its name.
    pub name: String,
    /// What is wrong with it and what to do, in one sentence.
    pub message: String,
}

/// One file that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Whether it is a summary, which tells less.
    pub is_summary: bool,
    /// Its device.
    pub device: u32,
    /// The verdict on it alone.
    pub headline: String,
    /// The cards asked about.
    pub fits: Vec<Fit>,
}

/// Several recordings against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this form.
    pub oomscope: u32,
    /// What the files are to each other.
    pub kind: Kind,
    /// The verdict in a sentence.
    pub headline: String,
    /// What stands behind it and what limits its truth.
    pub notes: Vec<String>,
    /// What each run needs on the cards asked about, a sentence each; empty where none was.
    pub cards: Vec<String>,
    /// The files compared, in the order given.
    pub files: Vec<File>,
    /// The files that could not be.
    pub unreadable: Vec<Unreadable>,
    /// Names of ranks whose files are not among those given; empty of other kinds.
    pub missing: Vec<String>,
    /// The last given against the first; of many ranks, the one that stands out most against the
    /// typical one.
    pub difference: Difference,
    /// Of moments: what they keep more of, the most first; else empty.
    pub growing: Vec<Growing>,
    /// Of moments: the way from the first to the last.
    pub growth: Option<Growth>,
    /// Of three or more runs: all of them.
    pub overview: Option<Overview>,
}

impl Comparison {
    /// Compares `runs`; `None` for fewer than two. The first is what the others are held against.
    #[must_use]
    pub fn of(runs: &[Run], unreadable: Vec<Unreadable>) -> Option<Comparison> {
        let [first, .., last] = runs else { return None };
        let kind = kind(runs);
        let (at, ordered) = match kind {
            Kind::Moments => (At::End, in_time(runs)),
            Kind::Ranks | Kind::Runs => (At::Peak, Vec::new()),
        };
        let growth = Growth::of(&ordered);
        let overview = (growth.is_none() && runs.len() > 2).then(|| Overview::of(runs));
        let by_name = |name: &str| runs.iter().find(|run| run.name == name);
        let pair = match &overview {
            Some(overview) if kind == Kind::Ranks => overview.telling_pair(),
            _ => None,
        };
        let (a, b) =
            pair.and_then(|(a, b)| Some((by_name(a)?, by_name(b)?))).unwrap_or((first, last));
        let difference = Difference::of(a, b, at);
        let given =
            runs.iter().map(|run| &run.name).chain(unreadable.iter().map(|file| &file.name));
        let given: Vec<&str> = given.map(String::as_str).collect();
        let missing = if kind == Kind::Ranks { names::missing(&given) } else { Vec::new() };
        let mut comparison = Comparison {
            oomscope: 1,
            kind,
            headline: String::new(),
            notes: Vec::new(),
            cards: Vec::new(),
            files: runs
                .iter()
                .map(|run| File {
                    name: run.name.clone(),
                    is_summary: run.is_summary,
                    device: run.device,
                    headline: run.headline.clone(),
                    fits: run.fits.clone(),
                })
                .collect(),
            unreadable,
            missing,
            difference,
            growing: growth.as_ref().map(|growth| growth.growing.clone()).unwrap_or_default(),
            growth,
            overview,
        };
        (comparison.headline, comparison.notes) = verdict::verdict(&comparison, a, b);
        comparison.cards = verdict::cards(&comparison.files);
        Some(comparison)
    }

    /// The file of every frame.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let growth = self.growth.iter_mut().flat_map(|growth| &mut growth.growing);
        let growing = self.growing.iter_mut().chain(growth).map(|row| &mut row.stack);
        let differing = self.difference.by_stack.iter_mut().map(|row| &mut row.stack);
        growing.chain(differing).flatten().map(|frame| &mut frame.file)
    }

    /// The first run after the first one whose peak is more than `percent` above it, as its name and
    /// how much that is in percent.
    #[must_use]
    pub fn above(runs: &[Run], percent: f64) -> Option<(&str, f64)> {
        let (first, others) = runs.split_first()?;
        let base = first.peak.bytes().max(1) as f64;
        let above = |run: &Run| 100.0 * (run.peak.bytes() as f64 / base - 1.0);
        let run = others.iter().find(|run| above(run) > percent)?;
        Some((&run.name, above(run)))
    }
}

fn kind(runs: &[Run]) -> Kind {
    let relations = runs.iter().zip(runs.iter().skip(1)).map(|(a, b)| relation(a, b));
    let is_one =
        |relation| matches!(relation, Relation::Same | Relation::Earlier | Relation::Later);
    if relations.clone().all(is_one) {
        return Kind::Moments;
    }
    let overlaps = |run: &&Run| {
        let others = runs.iter().filter(|other| !std::ptr::eq(*other, *run));
        others.into_iter().any(|other| run.fingerprint.overlaps(&other.fingerprint))
    };
    // A rank that died early may have ended before the others' short traces begin.
    if runs.iter().filter(overlaps).count() * 2 > runs.len() { Kind::Ranks } else { Kind::Runs }
}

/// The moments of one run, earliest first.
fn in_time(runs: &[Run]) -> Vec<&Run> {
    let mut moments: Vec<&Run> = runs.iter().collect();
    // Stable, so that what has no clock stays as given.
    moments.sort_by_key(|run| run.fingerprint.clock_us.map(|[_, last]| last));
    moments
}
