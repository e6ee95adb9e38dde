//! `oomscope compare A B [C…]`.

use super::output::print;
use oomscope::compare::names::{in_order, is_known, names};
use oomscope::compare::run::Run;
use oomscope::compare::{Comparison, Unreadable};
use oomscope::text::CompareText;
use oomscope::text::markdown::CompareMarkdown;
use oomscope::units::Bytes;
use oomscope::view::folders::comparison_without_folders;
use oomscope::view::summary;
use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Files read at a time, however many cores there are: each takes as much memory as it does alone.
const WORKERS: usize = 4;

#[derive(clap::Args)]
pub(crate) struct CompareArguments {
    /// Snapshots, summaries (what `oomscope report --json` prints) or folders of them; the first
    /// is what the others are held against.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print Markdown, for an issue tracker.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Exit with 1 if the peak of a later file exceeds that of the first by more than this.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    fail_above: Option<f64>,
    /// Cards that each run is replayed on, in bytes or as 80GiB; may be given again.
    #[arg(long, value_name = "SIZE")]
    capacity: Vec<Bytes>,
    /// Name files without their folders, the compared ones too.
    #[arg(long)]
    strip_paths: bool,
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
    let compared = if asked.strip_paths {
        comparison_without_folders(&runs, &unreadable)
    } else {
        Comparison::of(&runs, unreadable)
    };
    let Some(comparison) = compared else {
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
    if asked.markdown {
        print(&comparison, &CompareMarkdown(&comparison), false).map_err(failed)?;
    } else {
        print(&comparison, &CompareText(&comparison), asked.json).map_err(failed)?;
    }
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
            if is_known(&file.to_string_lossy()) && file.is_file() {
                inside.push(file);
            }
        }
        inside.sort_by_key(|file| in_order(&file.to_string_lossy()));
        paths.extend(inside.into_iter().map(|file| (file, true)));
    }
    let shown: Vec<String> = paths.iter().map(|(path, _)| path.display().to_string()).collect();
    let names = names(&shown);
    let named = paths.into_iter().zip(names);
    Ok(named.map(|((path, is_found), name)| Named { path, name, is_found }).collect())
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
    let unreadable = |error: std::io::Error| {
        Some(format!("the file cannot be read: {error}; check that it exists and may be read."))
    };
    let source = File::open(&file.path).map_err(unreadable)?;
    if source.metadata().map_err(unreadable)?.is_dir() {
        return Err(Some("this is a folder; name the snapshot inside it.".to_owned()));
    }
    summary::run_of(source, &file.name, capacities).map_err(|message| {
        // The folder's own notes beside its snapshots; a file that is cut or empty is named.
        let is_note = file.is_found
            && has_json_ending(&file.path)
            && File::open(&file.path).is_ok_and(summary::is_other_json);
        Some(message).filter(|_| !is_note)
    })
}

fn has_json_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}
