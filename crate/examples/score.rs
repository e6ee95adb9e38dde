//! Scores the diagnosis against recordings whose cause is known, as they are and made poorer:
//! `cargo run --release --example score -- FOLDER…`, where each FOLDER holds `NAME.pickle.xz` and
//! `NAME.json` with the cause in `cause`, and in `also` what else is true of it.
//!
//! Prints what was said wrongly, how often each kind of input kept its cause, and how often the
//! verdicts of each confidence were right.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../../tests/degrade/mod.rs"]
mod degrade;

use degrade::Degrade;
use oomscope::findings::Findings;
use oomscope::findings::diagnosis::Cause;
use oomscope::snapshot;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Below this a wrong verdict is a weak claim, not a confident one.
const CONFIDENT: f64 = 0.6;
/// Lower ends of the confidence classes, in hundredths.
const CLASSES: [u32; 5] = [0, 40, 60, 75, 90];

/// How a verdict fared.
#[derive(Clone, Copy, Default)]
struct Score {
    right: u32,
    weaker: u32,
    wrong: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut by_input: Vec<(Degrade, Score)> =
        Degrade::ALL.map(|input| (input, Score::default())).to_vec();
    let mut by_confidence: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for folder in std::env::args().skip(1) {
        for path in recordings(Path::new(&folder))? {
            let Some(truth) = causes(&path)? else { continue };
            let recorded = snapshot::read(File::open(&path)?)?;
            for (input, score) in &mut by_input {
                let mut poorer = recorded.clone();
                input.apply(&mut poorer);
                let diagnosis = Findings::of(&poorer).diagnosis;
                let said = serde_json::to_value(diagnosis.cause())?;
                let confidence = diagnosis.ranking.first().map_or(0.0, |claim| claim.confidence);
                let is_right = truth.contains(&said.as_str().unwrap_or_default().to_owned());
                let is_weak =
                    diagnosis.cause() == Cause::InsufficientData || confidence < CONFIDENT;
                match (is_right, is_weak) {
                    (true, _) => score.right += 1,
                    (false, true) => score.weaker += 1,
                    (false, false) => score.wrong += 1,
                }
                let hundredths = (confidence * 100.0).round() as u32;
                let class = CLASSES.into_iter().rev().find(|low| *low <= hundredths).unwrap_or(0);
                if diagnosis.cause() != Cause::InsufficientData {
                    let counts = by_confidence.entry(class).or_default();
                    counts.0 += u32::from(is_right);
                    counts.1 += 1;
                }
                if !is_right {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    println!(
                        "{} {name}, {}: {said} ({confidence:.2}), is {}",
                        if is_weak { "weaker" } else { "WRONG " },
                        input.label(),
                        truth.join(" or ")
                    );
                }
            }
        }
    }
    println!("\n{:32} right  weaker  wrong", "input");
    for (input, score) in by_input {
        println!("{:32} {:5}  {:6}  {:5}", input.label(), score.right, score.weaker, score.wrong);
    }
    println!("\nconfidence   verdicts  right");
    for (class, (right, all)) in by_confidence.into_iter().rev() {
        println!(
            "from {:.2}    {all:8}  {right:5}  ({:.0} %)",
            f64::from(class) / 100.0,
            100.0 * f64::from(right) / f64::from(all.max(1))
        );
    }
    Ok(())
}

fn recordings(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".pickle.xz"))
        .collect();
    paths.sort();
    Ok(paths)
}

/// The causes that count as right; `None` where the truth names none.
fn causes(recording: &Path) -> Result<Option<Vec<String>>, Box<dyn Error>> {
    let truth = PathBuf::from(recording.to_string_lossy().replace(".pickle.xz", ".json"));
    let Ok(truth) = fs::read_to_string(truth) else { return Ok(None) };
    let truth: serde_json::Value = serde_json::from_str(&truth)?;
    let named = |key: &str| match truth.get(key) {
        Some(serde_json::Value::String(cause)) => vec![cause.clone()],
        Some(serde_json::Value::Array(causes)) => {
            causes.iter().filter_map(|cause| Some(cause.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let mut causes = named("cause");
    // A second cause that is as true, where the program has two.
    causes.extend(named("also"));
    Ok((!causes.is_empty()).then_some(causes))
}
