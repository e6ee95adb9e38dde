//! The command line: `oomscope report FILE`.
fn main() {
    for path in std::env::args().skip(1) {
        let start = std::time::Instant::now();
        match oomscope::snapshot::read(std::fs::File::open(&path).unwrap()) {
            Ok(s) => println!("{path} {:?} {} entries {} segs {} stacks {} frames {} texts {:?} {:?}", start.elapsed(), s.entries.len(), s.segments.len(), s.stacks.len(), s.stacks.frames().len(), s.texts.len(), s.traces, s.warnings),
            Err(e) => println!("{path} {e}"),
        }
    }
}
