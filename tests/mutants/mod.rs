//! Recordings whose structure was damaged at random: what opens is analysed whole, what does not is
//! refused. The suites take some hundred of them, `crate/examples/mutants.rs` any number.

pub(crate) mod graph;
pub(crate) mod mutate;
pub(crate) mod numbers;
pub(crate) mod write;

use graph::Graph;
use mutate::mutate;
use numbers::Numbers;

/// Mutant `number` of the pieces: the same bytes each time.
pub(crate) fn mutant(pieces: &[Graph], number: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(number);
    let mut graph = numbers.pick(pieces).clone();
    for _ in 0..=numbers.below(6) {
        mutate(&mut graph, &mut numbers);
    }
    let (mut bytes, starts) = write::pickle(&graph, &mut numbers);
    if numbers.below(4) == 0 {
        mutate::opcodes(&mut bytes, &starts, &mut numbers);
    }
    bytes
}
