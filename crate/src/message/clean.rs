//! The text without noise: one string in lower case with no blanks, so that neither colours, quote
//! marks, log prefixes nor line breaks stand between the words of a sentence.
//!
//! A terminal breaks lines anywhere, so blanks and line breaks say nothing about where words end.
//! Only digits need care: two numbers must not become one.

use super::prefix;
use std::iter::Peekable;
use std::str::Chars;

/// Stands between two numbers with only blanks between them.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// Stands between two digits with a line break or a quote between them: one number or two, none can tell.
pub(crate) const BREAK: char = '\u{1d}';

/// Shortest line that a terminal may have broken for lack of width, in bytes.
const WIDTH: usize = 40;

/// A text without its noise.
#[derive(Debug)]
pub(crate) struct Clean {
    /// Lower case, without blanks, quotes, colours and line prefixes.
    pub(crate) text: String,
    /// For each line of the source: where it begins in `text` and in the source, in bytes.
    lines: Vec<(usize, usize)>,
}

/// What stood between two characters that were kept.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Gap {
    None,
    Blank,
    Line,
}

impl Clean {
    /// Takes the noise out of `source`, in one pass.
    pub(crate) fn of(source: &str) -> Clean {
        let mut clean = Clean { text: String::with_capacity(source.len()), lines: Vec::new() };
        let (mut begin, mut widths) = (0, [0; 2]);
        let lines = source.split_inclusive('\n');
        for line in lines {
            clean.lines.push((clean.text.len(), begin));
            begin += line.len();
            let bare = line.trim_end_matches(['\n', '\r']);
            // Two lines of one width in a row: the terminal broke the first, not the writer.
            let broken = widths[1] >= WIDTH && (widths[0] == widths[1] || widths[1] == bare.len());
            clean.line(prefix::strip(bare), if broken { Gap::None } else { Gap::Line });
            widths = [widths[1], bare.len()];
        }
        clean
    }

    /// The line of the source that holds `at`, counted from 1.
    pub(crate) fn line_number(&self, at: usize) -> usize {
        self.lines.partition_point(|(begin, _)| *begin <= at).max(1)
    }

    /// Where the line that holds `at` begins in the source, in bytes.
    pub(crate) fn source_offset(&self, at: usize) -> usize {
        self.lines.get(self.line_number(at) - 1).map_or(0, |(_, source)| *source)
    }

    fn line(&mut self, line: &str, first_gap: Gap) {
        let mut gap = first_gap;
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\u{1b}' => {
                    skip_escape_sequence(&mut characters);
                    gap = Gap::Line;
                }
                // A colour whose escape character was lost on the way.
                '[' if is_colour(characters.clone()) => {
                    while characters.next_if(|next| *next != 'm').is_some() {}
                    characters.next();
                }
                '\\' => match unescape(&mut characters) {
                    Some('\n') => gap = Gap::Line,
                    Some(character) => self.push(character, &mut gap),
                    None => gap = Gap::Line,
                },
                // A progress bar begins its line anew.
                '\r' => gap = Gap::Line,
                _ => self.push(character, &mut gap),
            }
        }
    }

    fn push(&mut self, character: char, gap: &mut Gap) {
        match character {
            // These separate the thousands of one number.
            '\u{a0}' | '\u{202f}' | '\u{2009}' => return,
            _ if character.is_whitespace() || character.is_control() => {
                if *gap == Gap::None {
                    *gap = Gap::Blank;
                }
                return;
            }
            '"' | '\'' | '`' | '*' | '’' | '‘' | '“' | '”' | '\u{2500}'..='\u{259f}' => {
                // Between digits it says no more than a line break does.
                *gap = Gap::Line;
                return;
            }
            '\u{200b}'..='\u{200f}' | '\u{feff}' => return,
            _ => {}
        }
        let character = folded(character);
        if character.is_ascii_digit() && *gap != Gap::None {
            let tail = self.text.as_bytes();
            let [before, last] = [2, 1].map(|back| {
                tail.len().checked_sub(back).and_then(|at| tail.get(at)).copied().unwrap_or(0)
            });
            let is_point = matches!(last, b'.' | b',') && before.is_ascii_digit();
            if last.is_ascii_digit() || is_point {
                self.text.push(if *gap == Gap::Line { BREAK } else { SEPARATOR });
            }
        }
        *gap = Gap::None;
        self.text.push(character);
    }
}

/// Lower case; full-width forms, which translators write, become ASCII.
fn folded(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(character as u32 - 0xfee0)
            .map_or(character, |character| character.to_ascii_lowercase()),
        _ if character.is_ascii() => character.to_ascii_lowercase(),
        _ => character.to_lowercase().next().unwrap_or(character),
    }
}

fn is_colour(rest: Peekable<Chars<'_>>) -> bool {
    // The longest, 24-bit colours for both grounds, have 35 characters.
    let mut digits = 0;
    for next in rest.take(40) {
        match next {
            '0'..='9' | ';' => digits += 1,
            'm' => return digits > 0,
            _ => return false,
        }
    }
    false
}

/// Terminal commands: `ESC [ … letter`, `ESC ] … BEL`, `ESC character`. A digit is kept: it may be a
/// number's, and the commands that it could be are harmless.
fn skip_escape_sequence(rest: &mut Peekable<Chars<'_>>) {
    match rest.next_if(|next| !next.is_ascii_digit()) {
        Some('[') => {
            while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {}
            rest.next();
        }
        Some(']') => {
            while rest.next_if(|next| !matches!(next, '\u{7}' | '\u{1b}')).is_some() {}
            if rest.next() == Some('\u{1b}') {
                rest.next();
            }
        }
        _ => {}
    }
}

/// The character that a JSON or Python escape stands for, after its backslash. `None` where nothing
/// is to be kept; a path's backslash is harmless to lose.
fn unescape(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    match rest.peek()? {
        'n' | 'r' => {
            rest.next();
            Some('\n')
        }
        't' => {
            rest.next();
            Some(' ')
        }
        'u' => {
            let code: String = rest.clone().skip(1).take(4).collect();
            let character = char::from_u32(u32::from_str_radix(&code, 16).ok()?)?;
            rest.nth(4);
            if character == '\u{1b}' {
                skip_escape_sequence(rest);
                return None;
            }
            Some(character)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(source: &str) -> String {
        Clean::of(source).text
    }

    #[test]
    fn noise_goes() {
        assert_eq!(clean("\u{1b}[31mCUDA\u{1b}[0m out\n> of"), "cudaoutof");
        assert_eq!(clean("[1;31mCUDA[0m"), "cuda");
        assert_eq!(clean(r#""CUDA out\n[rank0]: of \u001b[1mmemory""#), "cudaout[rank0]:ofmemory");
        assert_eq!(clean("（GPU 0；"), "(gpu0;");
    }

    #[test]
    fn numbers_stay_apart() {
        assert_eq!(clean("GPU 0 12.5 GiB"), format!("gpu0{SEPARATOR}12.5gib"));
        assert_eq!(clean("1\n2.5 GiB"), format!("1{BREAK}2.5gib"));
        assert_eq!(clean("1\u{a0}024,00 MiB"), "1024,00mib");
        // A terminal's width is seen by two lines of it.
        let wide = "x".repeat(49) + "1";
        assert_eq!(clean(&format!("{wide}\n{wide}\n2.5 GiB")), format!("{wide}{wide}2.5gib"));
    }

    #[test]
    fn lines_are_found_again() {
        let clean = Clean::of("one\ntwo\r\nthree");
        assert_eq!(clean.line_number(0), 1);
        assert_eq!(clean.source_offset(clean.text.find("three").unwrap()), 9);
    }
}
