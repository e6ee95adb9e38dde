//! Writes a large snapshot: `cargo run --release --example make_large -- ENTRIES > large.pickle`.

mod made_large;

use std::io::{self, BufWriter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1).ok_or("how many entries?")?.parse()?;
    made_large::write(BufWriter::with_capacity(1 << 20, io::stdout().lock()), wanted)?;
    Ok(())
}
