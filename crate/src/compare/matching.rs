//! Which call sites of two runs are the same one, although lines have moved and files lie elsewhere.
//!
//! Files are paired by their path or, where the program was moved, by the longest common end of it.
//! Inside a function the lines keep their order, so they are paired in order, by what each calls;
//! a site of one run is then looked up among those of the other, frame by frame.

use super::run::Run;
use super::site::{BACKWARD, Frame, Sites};
use crate::findings::history::StacksTold;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Lines of one function that are paired; a function with more is generated, and its lines are
/// taken as they are.
const LINES: usize = 400;

/// The lines of each function, each with what its frames call: the next inner frames' names.
type Functions<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<u32, BTreeSet<&'a str>>>;

/// The sites of two runs under common numbers.
#[derive(Clone, Debug)]
pub(super) struct Matching {
    /// The number of each site of the first run, by site.
    pub(super) a: Vec<u32>,
    /// The number of each site of the second run, by site.
    pub(super) b: Vec<u32>,
    /// How many numbers there are.
    pub(super) count: u32,
}

/// A frame as both runs know it: file and function, and the line of the first run.
type Key<'a> = (&'a str, &'a str, u32);

/// Pairs the sites of two runs.
///
/// A frame of a function that the other run never passes through is left out: a script or a helper
/// that was renamed, put in or taken out. A site of nothing else has no partner.
pub(super) fn matching<'a>(a: &'a Run, b: &'a Run) -> Matching {
    let files = paired_files(&files(&a.sites), &files(&b.sites));
    let (in_a, in_b) = (functions(&a.sites, None), functions(&b.sites, Some(&files)));
    let lines = paired_lines(&in_a, &in_b);
    // Recordings with Python frames only do not tell the nodes of the backward pass apart.
    let folds = [a, b].iter().any(|run| run.stacks == StacksTold::Python);
    let name = |frame: &'a Frame| -> &'a str {
        if folds && frame.is_backward() { BACKWARD } else { &frame.name }
    };
    let key_of_a = |frame: &'a Frame| -> Key<'a> { (&frame.file, name(frame), frame.line) };
    let key_of_b = |frame: &'a Frame| -> Key<'a> {
        let file = files.get(frame.file.as_str()).copied().unwrap_or(&frame.file);
        let line = lines.get(&(file, frame.name.as_str(), frame.line)).copied();
        // A line without a partner must not meet the one that has its number in the other run.
        let alone = if file.is_empty() { 0 } else { frame.line | ONLY_IN_B };
        (file, name(frame), line.unwrap_or(alone))
    };
    let is_common = |(file, name, _): &Key<'a>| {
        file.is_empty() || in_a.contains_key(&(*file, *name)) && in_b.contains_key(&(*file, *name))
    };
    let mut numbers: FxHashMap<(Option<bool>, Vec<Key<'a>>), u32> = FxHashMap::default();
    let mut number = |keys: Vec<Key<'a>>, is_b: bool| {
        let common: Vec<Key<'a>> = keys.iter().copied().filter(is_common).collect();
        let key = if common.is_empty() { (Some(is_b), keys) } else { (None, common) };
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    };
    let of_a = all_frames(&a.sites);
    let of_a =
        of_a.map(|frames| number(frames.into_iter().map(key_of_a).collect(), false)).collect();
    let of_b = all_frames(&b.sites);
    let of_b =
        of_b.map(|frames| number(frames.into_iter().map(key_of_b).collect(), true)).collect();
    Matching { a: of_a, b: of_b, count: numbers.len() as u32 }
}

/// Set in the line of a frame of the second run that has no partner.
const ONLY_IN_B: u32 = 1 << 31;

fn all_frames(sites: &Sites) -> impl Iterator<Item = Vec<&Frame>> {
    (0..sites.len() as u32).map(|site| sites.frames_of(site))
}

fn files(sites: &Sites) -> BTreeSet<&str> {
    all_frames(sites).flatten().map(|frame| frame.file.as_str()).collect()
}

/// For each file of `b` that `a` has not under the same path, the one of `a` that it most likely is.
fn paired_files<'a>(a: &BTreeSet<&'a str>, b: &BTreeSet<&'a str>) -> BTreeMap<&'a str, &'a str> {
    let parts = |path: &'a str| path.rsplit(['/', '\\']).collect::<Vec<&str>>();
    let mut candidates: Vec<(usize, &str, &str)> = Vec::new();
    for to in a.difference(b) {
        for from in b.difference(a) {
            let (to_parts, from_parts) = (parts(to), parts(from));
            let common = to_parts.iter().zip(&from_parts).take_while(|(to, from)| to == from);
            match common.count() {
                0 => {}
                common => candidates.push((common, to, from)),
            }
        }
    }
    candidates.sort_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
    let (mut pairs, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for (_, to, from) in candidates {
        if !pairs.contains_key(from) && taken.insert(to) {
            pairs.insert(from, to);
        }
    }
    pairs
}

fn functions<'a>(sites: &'a Sites, files: Option<&BTreeMap<&'a str, &'a str>>) -> Functions<'a> {
    let mut functions = Functions::new();
    for frames in all_frames(sites) {
        let mut inner = "";
        for frame in frames {
            let file = frame.file.as_str();
            let file = files.and_then(|files| files.get(file).copied()).unwrap_or(file);
            let lines = functions.entry((file, frame.name.as_str())).or_default();
            lines.entry(frame.line).or_default().insert(inner);
            inner = &frame.name;
        }
    }
    functions
}

/// For each line of `b`, as file, function and line, its line in `a`.
fn paired_lines<'a>(
    a: &Functions<'a>,
    b: &Functions<'a>,
) -> FxHashMap<(&'a str, &'a str, u32), u32> {
    let mut pairs = FxHashMap::default();
    for ((file, name), lines) in b {
        let Some(others) = a.get(&(*file, *name)) else { continue };
        for (to, from) in in_order(others, lines) {
            pairs.insert((*file, *name, from), to);
        }
    }
    pairs
}

/// Pairs the lines of one function in their order, so that as much as possible of what they call
/// agrees.
fn in_order(
    a: &BTreeMap<u32, BTreeSet<&str>>,
    b: &BTreeMap<u32, BTreeSet<&str>>,
) -> Vec<(u32, u32)> {
    let is_same = a.keys().eq(b.keys());
    if is_same || a.len().max(b.len()) > LINES {
        return a.keys().filter(|line| b.contains_key(line)).map(|line| (*line, *line)).collect();
    }
    // The outcome must not depend on which of the two is the first.
    if (b.len(), b.keys().collect::<Vec<_>>()) < (a.len(), a.keys().collect::<Vec<_>>()) {
        return in_order(b, a).into_iter().map(|(from, to)| (to, from)).collect();
    }
    let (rows, columns): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    let width = columns.len() + 1;
    // Most agreement of the lines from each pair of places on.
    let mut best = vec![0_u32; (rows.len() + 1) * width];
    let score = |row: usize, column: usize| {
        let ((line_a, calls_a), (line_b, calls_b)) = (rows[row], columns[column]);
        let common = calls_a.intersection(calls_b).count();
        let all = calls_a.union(calls_b).count().max(1);
        // What is called weighs most; an unmoved line breaks ties.
        (common > 0).then(|| 1000 + 200 * common as u32 / all as u32 + u32::from(line_a == line_b))
    };
    for row in (0..rows.len()).rev() {
        for column in (0..columns.len()).rev() {
            let pair =
                score(row, column).map_or(0, |score| score + best[(row + 1) * width + column + 1]);
            let skip = best[(row + 1) * width + column].max(best[row * width + column + 1]);
            best[row * width + column] = pair.max(skip);
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows.len() && column < columns.len() {
        let here = best[row * width + column];
        let pair = score(row, column).map(|score| score + best[(row + 1) * width + column + 1]);
        if pair == Some(here) {
            pairs.push((*rows[row].0, *columns[column].0));
            (row, column) = (row + 1, column + 1);
        } else if best[(row + 1) * width + column] == here {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[(u32, &'static str)]) -> BTreeMap<u32, BTreeSet<&'static str>> {
        of.iter().map(|(line, calls)| (*line, BTreeSet::from([*calls]))).collect()
    }

    #[test]
    fn lines_are_paired_through_a_drift_and_an_inserted_line() {
        let old = lines(&[(10, "attention"), (11, ""), (14, "head")]);
        let new = lines(&[(12, "attention"), (13, "log"), (14, ""), (17, "head")]);
        assert_eq!(in_order(&old, &new), [(10, 12), (11, 14), (14, 17)]);
        assert_eq!(in_order(&new, &old), [(12, 10), (14, 11), (17, 14)]);
        assert_eq!(in_order(&old, &old), [(10, 10), (11, 11), (14, 14)]);
    }

    #[test]
    fn a_moved_file_is_found_by_the_end_of_its_path() {
        let a = BTreeSet::from(["/home/me/job/train.py", "/home/me/job/model/net.py"]);
        let b = BTreeSet::from(["/mnt/job/model/net.py", "/mnt/other.py", "/home/me/job/train.py"]);
        assert_eq!(
            paired_files(&a, &b),
            BTreeMap::from([("/mnt/job/model/net.py", "/home/me/job/model/net.py")])
        );
    }
}
