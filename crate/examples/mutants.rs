//! Opens damaged recordings and makes everything of them:
//! `cargo run --example mutants -- COUNT [FIRST]`.
//!
//! Each of the mutants from number FIRST (0) on takes pieces of the recordings in `tests/fixtures`,
//! changes their structure and writes a pickle. Ends with 1 if one panics, takes longer than two
//! seconds or more memory than is granted; the number of such a one is printed, and
//! `mutants 1 NUMBER` does the same again.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../../tests/everything.rs"]
mod everything;
#[path = "../../tests/mutants/mod.rs"]
mod mutants;

use cap::Cap;
use everything::everything;
use mutants::graph::Graph;
use oomscope::snapshot::read;
use std::alloc::System;
use std::fs::{self, File};
use std::io::{Cursor, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Entries of a trace, and blocks, that a piece keeps.
const ENTRIES: [usize; 2] = [24, 120];

/// Larger recordings are left out: taking them apart would need more memory than any mutant.
const MOST_PICKLE: usize = 1_500_000;

/// Longest that one mutant may take, from its bytes to the last view.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Bytes that reading and all views of one mutant may take at once. The reader's window is 1 MiB
/// and a mutant some kilobytes.
const MOST_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(count)), first) = (arguments.next(), arguments.next()) else {
        println!("usage: mutants COUNT [FIRST]");
        return ExitCode::FAILURE;
    };
    let first = first.and_then(Result::ok).unwrap_or(0);
    let pieces = pieces();
    let at_rest = MEMORY.allocated();
    let mut seen = Seen { at_rest, most_bytes: MEMORY.max_allocated(), ..Seen::default() };
    for number in first..first.saturating_add(count) {
        seen.open(&pieces, number);
        if (number + 1 - first).is_multiple_of(10_000) {
            seen.tell(number + 1 - first);
        }
    }
    seen.tell(count);
    println!("{} pieces, {} MiB at rest", pieces.len(), at_rest >> 20);
    if seen.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Pieces of all recordings: their begin, their middle and their end.
fn pieces() -> Vec<Graph> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "xz"));
    paths.sort();
    let mut pieces = Vec::new();
    for path in paths {
        let mut bytes = Vec::new();
        let mut reader = lzma_rust2::XzReader::new(File::open(path).unwrap(), true);
        reader.read_to_end(&mut bytes).unwrap();
        if bytes.len() > MOST_PICKLE {
            continue;
        }
        let graph = Graph::read(&bytes);
        for (entries, share) in [(ENTRIES[0], 0.0), (ENTRIES[1], 0.5), (ENTRIES[1], 1.0)] {
            pieces.push(graph.piece(entries, share));
        }
    }
    pieces
}

/// A moment, by the processor time of this thread where the system tells it: on a busy machine a
/// process stands still for seconds.
struct Clock {
    spent: Option<Duration>,
    begin: Instant,
}

impl Clock {
    fn now() -> Clock {
        Clock { spent: Clock::spent(), begin: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let spent = self.spent.zip(Clock::spent());
        spent.map_or_else(|| self.begin.elapsed(), |(before, now)| now.saturating_sub(before))
    }

    /// Linux has the nanoseconds as the first of three numbers.
    fn spent() -> Option<Duration> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }
}

#[derive(Default)]
struct Seen {
    opened: u64,
    refused: u64,
    failed: u64,
    bytes: u64,
    longest: (Duration, u64),
    /// Most memory in use so far, by the allocator's own count, and before the first mutant.
    most_bytes: usize,
    most_bytes_of: u64,
    at_rest: usize,
}

impl Seen {
    fn open(&mut self, pieces: &[Graph], number: u64) {
        let bytes = mutants::mutant(pieces, number);
        self.bytes += bytes.len() as u64;
        let begin = Clock::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let snapshot = read(Cursor::new(bytes.clone()));
            snapshot.map(|snapshot| drop(everything(&snapshot)))
        }));
        let time = begin.elapsed();
        match outcome {
            Ok(Ok(())) => self.opened += 1,
            Ok(Err(_)) => self.refused += 1,
            Err(_) => self.fail(number, "panicked"),
        }
        if time > MOST_TIME {
            self.fail(number, &format!("took {time:.1?}"));
        }
        self.longest = self.longest.max((time, number));
        let most = MEMORY.max_allocated();
        if most > self.most_bytes {
            (self.most_bytes, self.most_bytes_of) = (most, number);
            let taken = most - self.at_rest;
            if taken > MOST_BYTES {
                self.fail(number, &format!("took {} MiB", taken >> 20));
            }
        }
    }

    fn fail(&mut self, number: u64, what: &str) {
        self.failed += 1;
        println!("mutant {number} {what}");
    }

    fn tell(&self, count: u64) {
        println!(
            "{count} mutants of {} bytes: {} open, {} refused, {} failed; longest {:.0?} (mutant {}), most memory {:.1} MiB (mutant {})",
            self.bytes / count.max(1),
            self.opened,
            self.refused,
            self.failed,
            self.longest.0,
            self.longest.1,
            (self.most_bytes - self.at_rest) as f64 / f64::from(1 << 20),
            self.most_bytes_of,
        );
    }
}
