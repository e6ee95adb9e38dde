//! Finds any of a table of phrases in one pass over a text.

/// A table of phrases, each at least four bytes long, in lower case.
#[derive(Debug)]
pub(crate) struct Needles {
    phrases: Vec<&'static [u8]>,
    /// The first four bytes of each phrase with its place in `phrases`; in order, longer phrases
    /// first, so that the first match at a place is the longest.
    heads: Vec<(u32, usize)>,
    /// Which hashes of four bytes begin a phrase, a bit each. Nearly all places of a text end here.
    filter: Vec<u64>,
}

/// Bits of the hash.
const HASH_BITS: u32 = 14;

impl Needles {
    /// A table of `phrases`; a match is told by the place in this order.
    pub(crate) fn new(phrases: impl Iterator<Item = &'static str>) -> Needles {
        let phrases: Vec<&[u8]> = phrases.map(str::as_bytes).collect();
        let mut heads: Vec<(u32, usize)> = phrases
            .iter()
            .enumerate()
            .filter_map(|(index, phrase)| Some((head(phrase)?, index)))
            .collect();
        heads.sort_by_key(|(head, index)| {
            (*head, std::cmp::Reverse(phrases.get(*index).map_or(0, |phrase| phrase.len())))
        });
        let mut filter = vec![0_u64; 1 << (HASH_BITS - 6)];
        for (head, _) in &heads {
            let (word, bit) = place(*head);
            if let Some(word) = filter.get_mut(word) {
                *word |= bit;
            }
        }
        Needles { phrases, heads, filter }
    }

    /// Calls `found` with the first byte and the phrase of every match, in order of place, and the
    /// longest first of those that begin at one place. ASCII letters of `text` match in either case.
    pub(crate) fn each(&self, text: &str, mut found: impl FnMut(usize, usize)) {
        let text = text.as_bytes();
        let mut head = 0_u32;
        for (end, byte) in text.iter().enumerate() {
            head = head << 8 | u32::from(byte.to_ascii_lowercase());
            let (word, bit) = place(head);
            if self.filter.get(word).is_none_or(|word| word & bit == 0) || end < 3 {
                continue;
            }
            let at = end - 3;
            let first = self.heads.partition_point(|(other, _)| *other < head);
            for (_, index) in self.heads.iter().skip(first).take_while(|(other, _)| *other == head)
            {
                if self.begins(text, at, *index) {
                    found(at, *index);
                }
            }
        }
    }

    /// The phrase's length in bytes.
    pub(crate) fn length(&self, index: usize) -> usize {
        self.phrases.get(index).map_or(0, |phrase| phrase.len())
    }

    fn begins(&self, text: &[u8], at: usize, index: usize) -> bool {
        let phrase = self.phrases.get(index).copied().unwrap_or_default();
        text.get(at..at + phrase.len()).is_some_and(|text| text.eq_ignore_ascii_case(phrase))
    }
}

fn head(phrase: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(phrase.get(..4)?.try_into().ok()?))
}

fn place(head: u32) -> (usize, u64) {
    let hash = head.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_is_found_the_longest_first() {
        let needles = Needles::new(["memory", "memory full", "fullness"].into_iter());
        let mut found = Vec::new();
        needles.each("a Memory fullness, mem memory", |at, index| found.push((at, index)));
        assert_eq!(found, [(2, 1), (2, 0), (9, 2), (23, 0)]);
    }
}
