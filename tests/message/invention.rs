//! No number is told that the text does not have, wherever it is cut and however damaged.

use super::wordings::CASES;
use super::{conserves, stated, whole};
use std::collections::BTreeSet;

/// All numbers of a text, each as the bytes that it could mean with any unit; with and without the
/// blanks between them.
fn numbers(text: &str) -> BTreeSet<u64> {
    let is_noise =
        |character: &char| character.is_whitespace() || "\\\"'`*\u{1b}".contains(*character);
    let joined: String = text.chars().filter(|character| !is_noise(character)).collect();
    let mut found = BTreeSet::new();
    for text in [text, &joined] {
        let bytes = text.as_bytes();
        let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
        for start in (0..bytes.len()).filter(is_digit) {
            let end = (start..bytes.len())
                .find(|at| !is_digit(at) && !b".,".contains(&bytes[*at]))
                .unwrap_or(bytes.len());
            let number = &text[start..end];
            for number in [number.replace(',', ""), number.replace('.', "").replace(',', ".")] {
                let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { continue };
                found.extend((0..5).map(|power| (number * 1024_f64.powi(power)).round() as u64));
            }
        }
    }
    found
}

#[track_caller]
fn invents_nothing(text: &str) {
    let reading = whole(text);
    let numbers = numbers(text);
    for message in &reading.messages {
        for (name, bytes) in stated(&message.facts) {
            assert!(numbers.contains(&bytes), "{name} = {bytes} is not in {text:?}");
        }
        for process in &message.facts.process_list {
            assert!(numbers.contains(&process.bytes), "{process:?} is not in {text:?}");
        }
    }
    if let Some(bar) = &reading.bar {
        conserves(bar);
    }
}

#[test]
fn cuts_invent_nothing() {
    for case in CASES {
        let places: Vec<usize> = case.text.char_indices().map(|(at, _)| at).collect();
        for at in places {
            invents_nothing(&case.text[..at]);
            invents_nothing(&case.text[at..]);
        }
    }
}

/// A sequence of numbers that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn damage_invents_nothing() {
    let mut random = Random(7);
    let pieces: Vec<char> =
        "0123456789.,; \n\t()[]>#:%GiBMKbytesfree\u{1b}\\\"…é内\u{a0}\u{ff10}".chars().collect();
    for round in 0..20_000 {
        let case = &CASES[round % CASES.len()];
        let mut text: Vec<char> = case.text.chars().collect();
        for _ in 0..=random.below(6) {
            let (at, piece) = (random.below(text.len()), pieces[random.below(pieces.len())]);
            match random.below(4) {
                0 => text[at] = piece,
                1 => text.insert(at, piece),
                2 => drop(text.remove(at)),
                _ => text.swap(at, at / 2),
            }
        }
        let text: String = text.into_iter().collect();
        // Full-width digits are digits, too; the check below reads ASCII alone.
        invents_nothing(&text.replace('\u{ff10}', "0"));
    }
}
