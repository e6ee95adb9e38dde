//! Times the stages on each file named: `cargo run --release --example read -- FILE…`.
//! Prints the median of three turns, in seconds, and the reader's throughput.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use oomscope::findings::Findings;
use oomscope::snapshot;
use std::fs::File;
use std::time::Instant;

const TURNS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::metadata(&path)?.len();
        let (mut reading, mut finding) = (Vec::new(), Vec::new());
        let mut entries: u32 = 0;
        for _ in 0..TURNS {
            let begin = Instant::now();
            let snapshot = snapshot::read(File::open(&path)?)?;
            reading.push(begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            let findings = Findings::of(&snapshot);
            finding.push(begin.elapsed().as_secs_f64());
            entries = findings.devices.iter().map(|device| device.timeline.entries()).sum();
        }
        let (read, find) = (median(reading), median(finding));
        println!(
            "{path}: {entries} entries, read {read:.2} s ({:.0} MB/s, {:.0} ns an entry), findings {find:.2} s ({:.0} ns an entry)",
            bytes as f64 / 1e6 / read,
            read * 1e9 / f64::from(entries.max(1)),
            find * 1e9 / f64::from(entries.max(1)),
        );
    }
    Ok(())
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
