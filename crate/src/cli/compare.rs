//! `oomscope compare A B [C…]`.

use super::output::{open, print};
use oomscope::compare::run::Run;
use oomscope::compare::{Comparison, Unreadable};
use oomscope::findings::Findings;
use oomscope::limits;
use oomscope::text::CompareText;
use oomscope::units::Bytes;
use oomscope::view::summary;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Files read at a time, however many cores there are: each takes as much memory as it does alone.
const WORKERS: usize = 4;

/// Endings of the files of a folder that are looked into.
const ENDINGS: [&str; 9] = ["pickle", "pkl", "pt", "json", "html", "gz", "xz", "zst", "zip"];

#[derive(clap::Args)]
pub(crate) struct CompareArguments {
    /// Snapshots, summaries (what `oomscope report --json` prints) or folders of them; the first
    /// is what the others are held against.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Exit with 1 if the peak of a later file exceeds that of the first by more than this.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    fail_above: Option<f64>,
    /// Cards that each run is replayed on, in bytes or as 80GiB; may be given again.
    #[arg(long, value_name = "SIZE")]
    capacity: Vec<Bytes>,
}

/// Prints the comparison. The error names the file that it is about.
pub(crate) fn run(asked: &CompareArguments) -> Result<(), (PathBuf, String)> {
    let files = files(&asked.files)?;
    let capacities: Vec<u64> = asked.capacity.iter().map(|size| size.0).collect();
    let read = read_all(&files, &capacities);
    let mut runs = Vec::new();
    let mut unreadable = Vec::new();
    for (file, read) in files.iter().zip(read) {
        match read {
            Ok(run) => runs.push(run),
            Err(None) => {}
            Err(Some(message)) => unreadable.push(Unreadable { name: file.name.clone(), message }),
        }
    }
    let first_broken =
        unreadable.first().map(|broken| (broken.name.clone(), broken.message.clone()));
    let read = runs.len();
    let Some(comparison) = Comparison::of(&runs, unreadable) else {
        let path =
            |name: &str| files.iter().find(|file| file.name == name).map(|file| file.path.clone());
        return Err(match first_broken {
            Some((name, message)) => (path(&name).unwrap_or_default(), message),
            None => (
                asked.files.first().cloned().unwrap_or_default(),
                format!(
                    "a comparison needs two files and has {read}; name another snapshot, or a folder of them."
                ),
            ),
        });
    };
    let failed = |message| (asked.files.first().cloned().unwrap_or_default(), message);
    print(&comparison, &CompareText(&comparison), asked.json).map_err(failed)?;
    let Some(percent) = asked.fail_above else { return Ok(()) };
    if let Some((name, message)) = first_broken {
        // A guard that cannot look must not say that all is well.
        return Err((PathBuf::from(name), message));
    }
    match Comparison::above(&runs, percent) {
        Some((name, above)) => Err((
            PathBuf::from(name),
            format!(
                "its peak is {above:.1} % above that of {}; --fail-above allows {percent} %.",
                comparison.files[0].name
            ),
        )),
        None => Ok(()),
    }
}

/// A run, or what is wrong with its file; nothing of a file that is merely beside others.
type Outcome = Result<Run, Option<String>>;

/// A file to read.
struct Named {
    path: PathBuf,
    name: String,
    /// Found in a folder: what turns out to be something else is passed over.
    is_found: bool,
}

/// All files, those of folders by name, numbers in their order.
fn files(given: &[PathBuf]) -> Result<Vec<Named>, (PathBuf, String)> {
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    for path in given {
        if !path.is_dir() {
            paths.push((path.clone(), false));
            continue;
        }
        let unreadable = |error| {
            (
                path.clone(),
                format!("the folder cannot be read: {error}; check that it may be read."),
            )
        };
        let mut inside = Vec::new();
        for entry in path.read_dir().map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            let is_known = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
            if is_known && file.is_file() {
                inside.push(file);
            }
        }
        inside.sort_by_key(|file| in_order(&file.to_string_lossy()));
        paths.extend(inside.into_iter().map(|file| (file, true)));
    }
    let stems: Vec<String> = paths.iter().map(|(path, _)| stem(path)).collect();
    let name = |place: usize| {
        let stem = &stems[place];
        let is_unique = stems.iter().filter(|other| *other == stem).count() == 1;
        if is_unique { stem.clone() } else { paths[place].0.display().to_string() }
    };
    let mut names: Vec<String> = (0..paths.len()).map(name).collect();
    for place in 1..names.len() {
        // One file given twice.
        let before = names[..place].iter().filter(|other| **other == names[place]).count();
        if before > 0 {
            names[place] = format!("{} ({})", names[place], before + 1);
        }
    }
    let named = paths.into_iter().zip(names);
    Ok(named.map(|((path, is_found), name)| Named { path, name, is_found }).collect())
}

/// The file's name without the endings of its wrapping.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut stem = name.as_str();
    while let Some((before, ending)) = stem.rsplit_once('.')
        && !before.is_empty()
        && ENDINGS.contains(&ending.to_lowercase().as_str())
    {
        stem = before;
    }
    stem.to_owned()
}

/// A key that puts `rank10` behind `rank2`.
fn in_order(name: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(text_end);
        let number_end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(number_end);
        key.push((0, text.to_owned()));
        key.push((number.parse().unwrap_or(u64::MAX), String::new()));
        rest = after;
    }
    key
}

/// Reads the files in a few workers, each one file at a time, and keeps of each what a comparison
/// needs.
fn read_all(files: &[Named], capacities: &[u64]) -> Vec<Outcome> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores.min(WORKERS).min(files.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(place) else { break };
                    let run = read(file, capacities);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((place, run));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, run)| run).collect()
}

fn read(file: &Named, capacities: &[u64]) -> Outcome {
    if let Some(text) = summary_text(&file.path).map_err(Some)? {
        let mut run = summary::read(&text).map_err(Some)?;
        run.name.clone_from(&file.name);
        return Ok(run);
    }
    let is_json = file.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let (snapshot, _) = open(&file.path).map_err(|message| {
        // The folder's own notes beside its snapshots; a file that is cut or empty is named.
        Some(message).filter(|_| !(file.is_found && is_json && holds_other_json(&file.path)))
    })?;
    let findings = Findings::of(&snapshot);
    Run::of(&snapshot, &findings, &file.name, capacities).ok_or_else(|| {
        Some("the file has no memory of any device in it; dump the snapshot in the process that used the GPU.".to_owned())
    })
}

fn holds_other_json(path: &Path) -> bool {
    File::open(path)
        .ok()
        .map(|file| serde_json::from_reader::<_, serde::de::IgnoredAny>(BufReader::new(file)))
        .is_some_and(|read| read.is_ok())
}

/// The text of a summary; `None` for any other file.
fn summary_text(path: &Path) -> Result<Option<String>, String> {
    let unreadable = |error: std::io::Error| {
        format!("the file cannot be read: {error}; check that it exists and may be read.")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err("this is a folder; name the snapshot inside it.".to_owned());
    }
    let mut head = Vec::new();
    file.by_ref().take(64).read_to_end(&mut head).map_err(unreadable)?;
    if !summary::begins(&head) {
        return Ok(None);
    }
    let mut text = head;
    file.take(limits::SUMMARY_BYTES).read_to_end(&mut text).map_err(unreadable)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}
