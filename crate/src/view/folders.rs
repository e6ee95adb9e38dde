//! Folders left out: what is shown to others names a file without the way to it, which tells who
//! works where and on what. What identifies a line stays: a file's name, and of an installed package
//! the path inside of `site-packages`.

use super::message::MessageReport;
use super::report::Report;
use super::timeline::TimelineView;
use crate::compare::names::names;
use crate::compare::run::Run;
use crate::compare::{Comparison, Unreadable};

/// What lies above installed packages; below it, paths are the same everywhere.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// What may stand in a path that no quotes enclose, besides letters, digits and separators.
const PLAIN: &[char] = &['_', '-', '.', '+', '@', '%', '=', '~', '#', '$'];

/// Letters of the longest ending that a path in a text may have.
const ENDING: usize = 8;

/// A frame's file without its folders: an end of `file`.
///
/// ```
/// use oomscope::view::folders::without_folders;
/// assert_eq!(without_folders("/home/me/work/train.py"), "train.py");
/// assert_eq!(without_folders("/home/me/env/lib/python3.12/site-packages/torch/optim/adam.py"), "torch/optim/adam.py");
/// assert_eq!(without_folders("<frozen runpy>"), "<frozen runpy>");
/// ```
#[must_use]
pub fn without_folders(file: &str) -> &str {
    let mut parts: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for part in file.split(['/', '\\']) {
        parts.push((at, part));
        at += part.len() + 1;
    }
    let package = parts.iter().rposition(|(_, part)| PACKAGES.contains(part));
    let kept = match package {
        Some(place) if place + 1 < parts.len() => parts.get(place + 1),
        _ => parts.last(),
    };
    kept.and_then(|(at, _)| file.get(*at..)).unwrap_or(file)
}

/// A text without the folders of the paths in it, each of which is cut down to its file; one that
/// names no file, such as a home folder, becomes `…`. Addresses of the web stay.
///
/// Of a path with spaces that no quotes enclose, the words that have no separator stay: nothing
/// tells them from the sentence around it.
#[must_use]
pub fn text_without_folders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        let is_start =
            before.is_none_or(|c| !c.is_alphanumeric() && !PLAIN.contains(&c) && !is_separator(c));
        let taken = if is_start { next_path(rest, before) } else { None };
        match taken {
            Some((length, shown)) => {
                out.push_str(shown);
                before = rest[..length].chars().next_back();
                rest = &rest[length..];
            }
            None => {
                out.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

fn is_separator(c: char) -> bool {
    c == '/' || c == '\\'
}

/// The path or web address that a text begins with: its length, and what to show of it.
fn next_path(text: &str, before: Option<char>) -> Option<(usize, &str)> {
    let is_drive = has_drive(text);
    let token_length = |from: usize| {
        let end = |c: char| !(c.is_alphanumeric() || PLAIN.contains(&c) || is_separator(c));
        text[from..].find(end).map_or(text.len(), |end| from + end)
    };
    if let Some(scheme) = text.find("://")
        && text[..scheme].chars().all(|c| c.is_ascii_alphanumeric() || c == '+')
    {
        let length =
            text.find(|c: char| c.is_whitespace() || "\"'`<>".contains(c)).unwrap_or(text.len());
        let address = &text[..length];
        return Some((
            length,
            if scheme == 4 && address.starts_with("file") { shown(address) } else { address },
        ));
    }
    let is_rooted = is_drive
        || text.starts_with(is_separator)
        || text.starts_with('~')
        || text.starts_with("./")
        || text.starts_with("../");
    let quoted = before.filter(|c| matches!(c, '"' | '\'' | '`')).and_then(|quote| {
        let line = text.split('\n').next().unwrap_or(text);
        line.find(quote)
    });
    let length = match quoted {
        Some(length) if is_rooted => length,
        _ => token_length(if is_drive { 2 } else { 0 }),
    };
    let path = text[..length].trim_end_matches('.');
    let separators = path.matches(is_separator).count();
    let is_path = if is_rooted {
        // `/` alone and `/name` hold no folder.
        separators >= 2 || is_drive || (path.starts_with('~') && separators >= 1)
    } else {
        separators >= 1 && ending(path).is_some()
    };
    is_path.then(|| (path.len(), shown(path)))
}

/// Whether a text begins with a drive of Windows.
fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// What is shown of a path in a text.
fn shown(path: &str) -> &str {
    let mut parts = path.split(is_separator).rev().skip(1);
    // A home is no file, even where the name of its owner has a dot.
    let is_home = parts.next().is_some_and(|part| matches!(part, "home" | "Users" | "export"));
    if is_home || ending(path).is_none() { "…" } else { without_folders(path) }
}

/// The ending of a path's last part, without the dot; `None` where that is no file's name.
fn ending(path: &str) -> Option<&str> {
    let (stem, ending) = path.rsplit(is_separator).next()?.rsplit_once('.')?;
    let is_ending = ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.len() <= ENDING
        && ending.chars().all(|c| c.is_ascii_alphanumeric());
    (is_ending && !stem.is_empty()).then_some(ending)
}

/// Leaves folders out of a file's name in place.
fn leave_out(file: &mut String) {
    let kept = without_folders(file).len();
    file.drain(..file.len() - kept);
}

impl Report {
    /// Leaves the folders of all files out, those of the summary too.
    pub fn leave_out_folders(&mut self) {
        self.diagnosis.files_mut().for_each(leave_out);
        if let Some(run) = &mut self.run {
            run.sites.files_mut().for_each(leave_out);
        }
    }
}

impl MessageReport {
    /// Leaves the folders of all paths out that the text named.
    pub fn leave_out_folders(&mut self) {
        for message in &mut self.messages {
            message.excerpt = text_without_folders(&message.excerpt);
        }
    }
}

impl TimelineView {
    /// The view with annotations that name no folder.
    #[must_use]
    pub fn without_folders(&self) -> TimelineView {
        let mut view = self.clone();
        for span in &mut view.spans {
            span.name = text_without_folders(&span.name);
        }
        view
    }
}

/// The comparison of `runs` without the folders of any file, the compared ones among them: of equal
/// names, the second is counted. `None` for fewer than two runs.
#[must_use]
pub fn comparison_without_folders(runs: &[Run], unreadable: &[Unreadable]) -> Option<Comparison> {
    let given = runs.iter().map(|run| &run.name).chain(unreadable.iter().map(|file| &file.name));
    let files: Vec<String> = given.map(|name| without_folders(name).to_owned()).collect();
    let mut names = names(&files).into_iter();
    let named = |run: &Run| Run { name: names.next().unwrap_or_default(), ..run.clone() };
    let runs: Vec<Run> = runs.iter().map(named).collect();
    let unreadable =
        unreadable.iter().zip(names).map(|(file, name)| Unreadable { name, ..file.clone() });
    let mut comparison = Comparison::of(&runs, unreadable.collect())?;
    comparison.files_mut().for_each(leave_out);
    Some(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_name_or_its_place_among_the_packages() {
        for (file, expected) in [
            ("/home/me/secret/train.py", "train.py"),
            ("D:\\me\\secret\\train.py", "train.py"),
            ("secret/train.py", "train.py"),
            (
                "/home/me/env/lib/python3.12/site-packages/torch/nn/modules/module.py",
                "torch/nn/modules/module.py",
            ),
            ("C:\\me\\Lib\\site-packages\\torch\\optim\\adam.py", "torch\\optim\\adam.py"),
            ("/usr/lib/python3/dist-packages/numpy/core.py", "numpy/core.py"),
            ("/home/me/env/lib/python3.12/threading.py", "threading.py"),
            ("/tmp/torchinductor_me/ab/cab.py", "cab.py"),
            ("/home/me/site-packages", "site-packages"),
            ("<frozen runpy>", "<frozen runpy>"),
            ("??", "??"),
            ("", ""),
        ] {
            assert_eq!(without_folders(file), expected, "{file}");
        }
    }

    #[test]
    fn paths_in_a_text_are_cut_down_to_their_files() {
        for (text, expected) in [
            (
                "  File \"/home/me/my work/train.py\", line 3, in f",
                "  File \"train.py\", line 3, in f",
            ),
            ("/home/me/work/train.py:12: UserWarning", "train.py:12: UserWarning"),
            ("C:\\Users\\me\\work\\train.py:12: warn", "train.py:12: warn"),
            ("in '\\\\server\\share\\a.py'", "in 'a.py'"),
            ("saved to ~/runs/a.pickle.", "saved to a.pickle."),
            ("see src/models/gpt.py, ./a/b.log (../c/d.py)", "see gpt.py, b.log (d.py)"),
            ("HOME=/home/me cd /home/john.smith", "HOME=/home/me cd …"),
            ("(/home/me) [/data/secret/run7]", "(…) […]"),
            ("at /env/site-packages/torch/x.py:3", "at torch/x.py:3"),
            ("file:///home/me/x.py", "x.py"),
            (
                "GET /health N/A, 3.5 GiB/s, and/or. meta-llama/Llama-3.1-8B",
                "GET /health N/A, 3.5 GiB/s, and/or. meta-llama/Llama-3.1-8B",
            ),
            (
                "https://pytorch.org/docs/stable/notes/cuda.html#x",
                "https://pytorch.org/docs/stable/notes/cuda.html#x",
            ),
            ("", ""),
        ] {
            assert_eq!(text_without_folders(text), expected, "{text}");
        }
    }
}
