//! Every relative link in the Markdown files leads to a file, and to a heading where it names one.

use std::fs;
use std::path::{Path, PathBuf};

/// What is built or fetched, and has documents of its own.
const FOREIGN: [&str; 4] = [".git", "dist", "node_modules", "target"];

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if FOREIGN.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The name by which a forge lets a link point at a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading
        .trim_matches(['#', ' '])
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

fn problem(document: &Path, link: &str) -> Option<String> {
    let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap().join(file),
    };
    if !target.exists() {
        return Some(format!("{}: {link} leads nowhere\n", document.display()));
    }
    let has_heading = || {
        let text = fs::read_to_string(&target).unwrap();
        prose(&text).any(|line| line.starts_with('#') && anchor(line) == wanted)
    };
    (!wanted.is_empty() && !has_heading())
        .then(|| format!("{}: {link} names no heading\n", document.display()))
}

#[test]
fn every_relative_link_leads_to_a_file() {
    let mut found = Vec::new();
    documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
    let (mut links, mut wrong) = (0, String::new());
    for document in found {
        let text = fs::read_to_string(&document).unwrap();
        for line in prose(&text) {
            for rest in line.split("](").skip(1) {
                let link = rest.split(')').next().unwrap_or_default();
                if !link.contains("://") && !link.starts_with("mailto:") {
                    links += 1;
                    wrong.extend(problem(&document, link));
                }
            }
        }
    }
    assert!(links > 20, "the scan finds nothing any more");
    assert!(wrong.is_empty(), "\n{wrong}");
}
