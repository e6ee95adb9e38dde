//! Which module may use which. A new edge is made here, in review.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module of the crate with the modules that it may use, besides itself.
const EDGES: [(&str, &[&str]); 19] = [
    ("batches", &[]),
    ("units", &["limits", "error", "warning"]),
    ("limits", &["units", "error", "warning"]),
    ("error", &["units", "limits", "warning"]),
    ("warning", &["units", "limits", "error"]),
    ("container", &["error", "limits"]),
    ("pickle", &["error", "limits"]),
    ("snapshot", &["pickle", "container", "error", "warning", "limits", "units"]),
    ("timeline", &["batches", "snapshot", "warning", "units"]),
    ("allocator", &["batches", "timeline", "snapshot", "units", "warning", "error", "limits"]),
    ("findings", &["batches", "allocator", "timeline", "snapshot", "units", "warning"]),
    ("compare", &["findings", "allocator", "timeline", "snapshot", "units"]),
    ("message", &["units", "limits"]),
    (
        "view",
        &[
            "compare",
            "findings",
            "allocator",
            "timeline",
            "snapshot",
            "container",
            "message",
            "units",
            "limits",
            "warning",
        ],
    ),
    ("stripped", &["pickle", "container", "findings", "view", "error"]),
    ("chart", &["view", "units"]),
    ("text", &["view", "compare", "findings", "message", "units"]),
    ("wasm", &["*"]),
    ("cli", &["*"]),
];

/// The modules that may name plotters or one of its back ends.
const DRAWING: [&str; 2] = ["chart", "wasm"];

/// The crate's own root and its program may use everything.
const ROOTS: [&str; 3] = ["lib", "main", "cli"];

struct Source {
    path: PathBuf,
    /// The module of the crate's root that it belongs to.
    module: String,
    text: String,
}

fn sources() -> Vec<Source> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let source = |path: PathBuf| {
        let inside = path.strip_prefix(&root).unwrap().with_extension("");
        let module = inside.iter().next().unwrap().to_str().unwrap().to_owned();
        Source { text: fs::read_to_string(&path).unwrap(), path, module }
    };
    files.into_iter().map(source).collect()
}

/// The code without comments, each line with its number. Texts stay: none of ours holds a path.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.split_once("//").map_or(line, |(before, _)| before)))
}

/// The root modules that a piece of code names: `crate::a::b`, `crate::{a, b::{c, d}}`.
fn named(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let first_name = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let Some(group) = rest.strip_prefix('{') else {
            found.push((at, first_name(rest)));
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (place, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                character if begins && !character.is_whitespace() => {
                    found.push((code.len() - group.len() + place, first_name(&group[place..])));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Each use of a root module: the source, the line, the module named.
fn uses(sources: &[Source]) -> Vec<(&Source, usize, String)> {
    let mut uses = Vec::new();
    for source in sources {
        // A group may stand over several lines.
        let bare: Vec<&str> = code(&source.text).map(|(_, line)| line).collect();
        let bare = bare.join("\n");
        for (at, name) in named(&bare) {
            let line = bare[..at].matches('\n').count() + 1;
            uses.push((source, line, name));
        }
    }
    uses
}

fn shown(source: &Source, line: usize) -> String {
    let text = source.text.lines().nth(line - 1).unwrap_or_default().trim();
    format!("{}:{line}: {text}\n", source.path.display())
}

#[test]
fn each_module_uses_only_what_it_may() {
    let sources = sources();
    let uses = uses(&sources);
    assert!(uses.len() > 100, "the scan finds nothing any more");
    let mut wrong = String::new();
    for (source, line, name) in uses {
        if name == source.module || ROOTS.contains(&source.module.as_str()) {
            continue;
        }
        let edges = EDGES.iter().find(|(module, _)| *module == source.module);
        let (module, allowed) = edges.unwrap_or_else(|| {
            panic!("{} belongs to no module named in EDGES", source.path.display())
        });
        let is_module = EDGES.iter().any(|(module, _)| *module == name);
        let may = allowed.contains(&"*") || allowed.contains(&name.as_str());
        // The root itself holds nothing but the version.
        if !may && (is_module || name != "VERSION") {
            wrong += &format!("{module} may not use {name}\n    {}", shown(source, line));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// `super::super` could lead out of a module past the scan.
#[test]
fn no_path_climbs_to_the_root() {
    for source in sources() {
        let inside = source.path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        let inside = inside.unwrap();
        let is_folder = inside.file_stem().is_some_and(|stem| stem == "mod");
        let mut depth = inside.iter().count() - usize::from(is_folder);
        for (line, text) in code(&source.text) {
            depth += usize::from(text.starts_with("mod tests {"));
            assert!(!text.contains(&"super::".repeat(depth)), "{}", shown(&source, line));
        }
    }
}

#[test]
fn only_the_charts_know_plotters() {
    for source in sources() {
        if DRAWING.contains(&source.module.as_str()) {
            continue;
        }
        for (line, text) in code(&source.text) {
            assert!(!text.contains("plotters"), "{}", shown(&source, line));
        }
    }
}

#[test]
fn only_the_border_knows_the_browser() {
    for source in sources().iter().filter(|source| source.module != "wasm") {
        for (line, text) in code(&source.text) {
            for name in ["wasm_bindgen", "web_sys", "js_sys", "plotters_canvas"] {
                assert!(!text.contains(name), "{}", shown(source, line));
            }
        }
    }
}

#[test]
fn only_the_program_prints() {
    for source in sources().iter().filter(|source| source.module != "main") {
        for (line, text) in code(&source.text) {
            for name in ["println!", "eprintln!", "std::process", "std::env::"] {
                assert!(!text.contains(name), "{}", shown(source, line));
            }
        }
    }
}

#[test]
fn every_module_of_the_crate_has_its_row() {
    let sources = sources();
    let known =
        |name: &str| EDGES.iter().any(|(module, _)| *module == name) || ROOTS.contains(&name);
    for source in &sources {
        assert!(known(&source.module), "{} has no row", source.path.display());
    }
    for (module, _) in EDGES {
        assert!(sources.iter().any(|source| source.module == module), "{module} is gone");
    }
}

#[test]
fn groups_and_paths_are_told_apart() {
    let names = |code| named(code).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(names("use crate::error::{Error, Result};"), ["error"]);
    assert_eq!(
        names("use crate::{\n    error::{Error, Result},\n    units, };"),
        ["error", "units"]
    );
    assert_eq!(names("crate::pickle::f(crate::limits::X)"), ["pickle", "limits"]);
    assert_eq!(names("pub(crate) fn f() {} not_crate::x()"), [""; 0]);
}
