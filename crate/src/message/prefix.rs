//! What loggers, launchers, mail programs and comments put before a line.

/// Longest bracket that counts as a prefix, in bytes.
const BRACKET_BYTES: usize = 96;

/// The line without its prefixes: quote and comment marks, `[rank0]:`, `(Worker pid=7)`, dates and
/// times, levels, `file.py:12]`, the rank that launchers put before a colon.
pub(crate) fn strip(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        // A mark may stand before a sentence's own colon.
        if let Some(next) = mark(rest) {
            rest = next.trim_start();
            continue;
        }
        match bracket(rest).or_else(|| process(rest)).or_else(|| word(rest)) {
            Some(next) => rest = next.trim_start_matches([' ', '\t', ':']),
            None => return rest,
        }
    }
}

fn mark(line: &str) -> Option<&str> {
    line.strip_prefix(['>', '#', '|', '│', '║', '┃', '❱', '!'])
        .or_else(|| line.strip_prefix("//"))
        .or_else(|| line.strip_prefix("&gt;"))
        .or_else(|| line.strip_prefix("- "))
}

/// `[...]` whatever is in it: no wording but one has a bracket in it.
fn bracket(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[').filter(|inside| !inside.starts_with("Expandable"))?;
    let end = inside.bytes().take(BRACKET_BYTES).position(|byte| byte == b']')?;
    inside.get(end + 1..)
}

/// `(...)` that names a process; other parentheses belong to the sentence.
fn process(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('(')?;
    let end = inside.bytes().take(BRACKET_BYTES).position(|byte| byte == b')')?;
    let (name, rest) = (inside.get(..end)?, inside.get(end + 1..)?);
    let names = |word: &str| {
        name.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    (names("pid") || names("rank") || names("worker")).then_some(rest)
}

fn word(line: &str) -> Option<&str> {
    let end = line
        .bytes()
        .take(BRACKET_BYTES)
        .position(|byte| byte.is_ascii_whitespace())
        .or_else(|| (line.len() < BRACKET_BYTES).then_some(line.len()))?;
    let (word, rest) = (line.get(..end)?, line.get(end..)?);
    let is_level = matches!(
        word.trim_end_matches(':'),
        "ERROR" | "WARNING" | "WARN" | "INFO" | "CRITICAL" | "DEBUG" | "FATAL" | "E" | "W" | "I"
    );
    let bytes = word.as_bytes();
    let is_stamp = bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.iter().all(|byte| byte.is_ascii_digit() || b":-./,TZ+".contains(byte))
        && bytes.iter().any(|byte| b":-/".contains(byte));
    let is_place = word.ends_with(']') && word.contains(':');
    let lower = bytes.get(..4).is_some_and(|first| first.eq_ignore_ascii_case(b"rank"));
    let is_rank = lower && word.ends_with(':') && word.len() < 12;
    (is_level || is_stamp || is_place || is_rank).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_and_sentences_stay() {
        for line in [
            "> > CUDA out",
            "[rank3]: CUDA out",
            "(EngineCore_0 pid=77) ERROR 03-09 11:22:33 [core.py:12] CUDA out",
            "2031-04-05T06:07:08.9Z ERROR: CUDA out",
            "  # CUDA out",
            "5: CUDA out",
            "rank7: CUDA out",
            "│ CUDA out",
        ] {
            assert_eq!(strip(line), "CUDA out", "{line}");
        }
        for line in ["(GPU 0; 7.00 GiB total capacity;", "3.50 GiB already allocated;", "E2 x"] {
            assert_eq!(strip(line), line);
        }
    }
}
