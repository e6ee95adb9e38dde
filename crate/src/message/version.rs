//! Which versions of PyTorch print a sentence, told by its spelling.

use super::wording::Family;

/// A spelling with the versions that have it, the most particular first.
const SPELLINGS: [(&str, &str); 12] = [
    ("preemptively", "2.12 or later"),
    ("customallocatorbackingthismempool", "2.15 or later"),
    ("optimizing-memory-usage-with", "2.11 or later"),
    ("settingpytorch_alloc_conf", "2.9 or 2.10"),
    ("allocatedinprivatepools", "2.4 to 2.10"),
    ("expandable_segments:truetoavoid", "2.2 to 2.10"),
    ("totalcapacty", "2.1"),
    ("totalcapacity", "2.2 or later"),
    ("max_split_size_mb", "1.10 to 2.0"),
    ("allowed;", "1.8 to 2.0"),
    ("reservedintotalbypytorch", "1.4 to 2.0"),
    ("cached", "1.0 to 1.3"),
];

/// The versions whose sentence this is, where its spelling says.
pub(crate) fn of_sentence(sentence: &str, family: Family) -> Option<&'static str> {
    if !matches!(family, Family::Allocator | Family::Fragment | Family::FractionRejected) {
        return None;
    }
    let old_form = sentence.contains("alreadyallocated");
    SPELLINGS
        .iter()
        .filter(|(spelling, _)| !old_form || *spelling != "totalcapacity")
        .find(|(spelling, _)| sentence.contains(spelling))
        .map(|(_, versions)| *versions)
}

/// Major and minor number of a version such as `2.3.1+cu121`.
#[must_use]
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether the version, or the sentence's spelling, is older than PyTorch `major.minor`; `false`
/// where neither says.
#[must_use]
pub fn is_before(told: Option<&str>, spelling: Option<&str>, major: u32, minor: u32) -> bool {
    if let Some(version) = told.and_then(numbers) {
        return version < (major, minor);
    }
    // The last version of the range.
    let last = spelling.and_then(|range| range.rsplit(' ').find_map(numbers));
    last.is_some_and(|last| last < (major, minor))
        && !spelling.is_some_and(|range| range.ends_with("later"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_told_outweighs_the_spelling() {
        assert!(is_before(Some("1.13.1+cu117"), Some("2.2 or later"), 2, 1));
        assert!(is_before(None, Some("1.4 to 2.0"), 2, 1));
        assert!(!is_before(None, Some("2.2 or later"), 2, 9));
        assert!(!is_before(None, None, 2, 1));
    }
}
