//! What the files of a comparison are called, in which order they come, and which number is missing
//! among them.

/// Endings of the files of a folder that are looked into.
const ENDINGS: [&str; 9] = ["pickle", "pkl", "pt", "json", "html", "gz", "xz", "zst", "zip"];

/// Whether a file found in a folder is looked into, by its ending.
#[must_use]
pub fn is_known(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| is_ending(ending))
}

/// What to call each file: its name without the endings of its wrapping where only one has it, else
/// its whole path; a path given twice is counted.
#[must_use]
pub fn names(paths: &[String]) -> Vec<String> {
    let stems: Vec<&str> = paths.iter().map(|path| stem(path)).collect();
    let mut names: Vec<String> = Vec::with_capacity(paths.len());
    for (path, stem) in paths.iter().zip(&stems) {
        let is_unique = stems.iter().filter(|other| *other == stem).count() == 1;
        let name = if is_unique { (*stem).to_owned() } else { path.clone() };
        let before = paths[..names.len()].iter().filter(|other| *other == path).count();
        names.push(if before > 0 { format!("{name} ({})", before + 1) } else { name });
    }
    names
}

/// A key that puts `rank10` behind `rank2`.
#[must_use]
pub fn in_order(name: &str) -> Vec<(u64, String)> {
    let parts = split(name);
    let key = |(text, number): (&str, &str)| {
        [(0, text.to_owned()), (number.parse().unwrap_or(u64::MAX), String::new())]
    };
    parts.into_iter().flat_map(key).collect()
}

/// Names that would fill the gaps in a numbered row of them, `rank2` between `rank1` and `rank3`:
/// the files that a job should have left and that are not there. Empty where the names are no row,
/// or where as many are missing as there are, which no copying loses.
#[must_use]
pub fn missing(names: &[&str]) -> Vec<String> {
    let rows: Vec<Vec<(&str, &str)>> = names.iter().map(|name| split(name)).collect();
    let Some((first, others)) = rows.split_first() else { return Vec::new() };
    let is_alike = |row: &Vec<(&str, &str)>| {
        row.len() == first.len() && row.iter().zip(first).all(|(one, other)| one.0 == other.0)
    };
    let varies = |place: &usize| others.iter().any(|row| row[*place].1 != first[*place].1);
    if !others.iter().all(is_alike) {
        return Vec::new();
    }
    let varying: Vec<usize> = (0..first.len()).filter(varies).collect();
    let [place] = varying.as_slice() else { return Vec::new() };
    let digits: Vec<&str> = rows.iter().map(|row| row[*place].1).collect();
    let mut numbers: Vec<u64> = digits.iter().filter_map(|digits| digits.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let (Some(least), Some(greatest)) = (numbers.first(), numbers.last()) else {
        return Vec::new();
    };
    let gaps = (greatest - least).saturating_add(1).saturating_sub(numbers.len() as u64);
    if numbers.len() < names.len() || gaps >= numbers.len() as u64 {
        return Vec::new();
    }
    // `rank007` is as wide as `rank010`.
    let width = digits.iter().map(|digits| digits.len()).min().unwrap_or(0);
    let named = |number: u64| {
        let mut name = String::new();
        for (at, (text, digits)) in first.iter().enumerate() {
            name += text;
            name += &if at == *place { format!("{number:0width$}") } else { (*digits).to_owned() };
        }
        name
    };
    (*least..*greatest).filter(|number| numbers.binary_search(number).is_err()).map(named).collect()
}

fn is_ending(ending: &str) -> bool {
    ENDINGS.contains(&ending.to_lowercase().as_str())
}

/// The file's name without the endings of its wrapping.
fn stem(path: &str) -> &str {
    let mut stem = path.rsplit(['/', '\\']).next().unwrap_or(path);
    while let Some((before, ending)) = stem.rsplit_once('.')
        && !before.is_empty()
        && is_ending(ending)
    {
        stem = before;
    }
    stem
}

/// The name as pairs of a text and the digits behind it, either of which may be empty.
fn split(name: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits_at = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits_at);
        let text_at = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (digits, after) = after.split_at(text_at);
        parts.push((text, digits));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn a_name_is_as_short_as_it_can_be() {
        assert_eq!(names(&owned(&["a/x.pickle.xz", "b/y.json"])), ["x", "y"]);
        assert_eq!(names(&owned(&["a/x.pickle", "b/x.pickle"])), ["a/x.pickle", "b/x.pickle"]);
        assert_eq!(names(&owned(&["x.pkl", "x.pkl"])), ["x.pkl", "x.pkl (2)"]);
        assert_eq!(names(&owned(&[".pickle", "notes"])), [".pickle", "notes"]);
    }

    #[test]
    fn numbers_come_in_their_order() {
        let mut files = owned(&["r/rank10.pickle", "r/rank2.pickle", "r/rank1.pickle"]);
        files.sort_by_key(|file| in_order(file));
        assert_eq!(files, ["r/rank1.pickle", "r/rank2.pickle", "r/rank10.pickle"]);
    }

    #[test]
    fn endings_decide_in_a_folder() {
        assert!(is_known("job/rank0.pickle") && is_known("rank0.PKL") && is_known("a.pickle.gz"));
        assert!(!is_known("notes.txt") && !is_known("pickle") && !is_known(".hidden"));
    }

    #[test]
    fn gaps_in_a_row_are_named() {
        assert_eq!(missing(&["rank0", "rank1", "rank3", "rank4"]), ["rank2"]);
        assert_eq!(missing(&["node8_rank009_oom", "node8_rank011_oom"]), ["node8_rank010_oom"]);
        assert_eq!(missing(&["9", "8", "12", "11"]), ["10"]);
    }

    #[test]
    fn what_is_no_row_has_no_gaps() {
        for names in [
            &["rank0", "rank1", "rank2"][..],
            &["before", "after"],
            &["step100", "step200", "step300"],
            &["node0_rank0", "node1_rank3", "node1_rank4"],
            &["rank0", "other5"],
            &["rank1", "rank01"],
            &["rank1"],
            &[],
        ] {
            assert!(missing(names).is_empty(), "{names:?}");
        }
    }
}
