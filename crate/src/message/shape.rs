//! What shape could make a block of a given size.

/// Shapes are given where rounding leaves them this certain, as a share.
const TOLERANCE: f64 = 0.001;

/// Sentences that name a shape for `bytes`; empty where none suggests itself. They are examples, not
/// findings: many shapes have one size.
pub(crate) fn examples(bytes: u64) -> Vec<String> {
    let mut examples = Vec::new();
    // Attention without a fused kernel: batch times heads squares of the sequence's length.
    for heads in [8_u64, 12, 16, 32, 64] {
        for (element, name) in [(2, "16 bits"), (4, "32 bits")] {
            let length = (bytes as f64 / (heads * element) as f64).sqrt();
            let round = (length / 1_024.0).round() * 1_024.0;
            let is_near = round >= 1_024.0
                && ((round * round * (heads * element) as f64) / bytes as f64 - 1.0).abs()
                    < TOLERANCE;
            if is_near && examples.len() < 2 {
                examples.push(format!("{heads} heads × {round:.0} × {round:.0} at {name} (attention over {round:.0} positions)"));
            }
        }
    }
    // Square matrices of all pairs.
    let pairs = (bytes as f64 / 4.0).sqrt();
    if examples.is_empty() && pairs >= 20_000.0 {
        examples
            .push(format!("all pairs of {:.0} items at 32 bits ({pairs:.0} × {pairs:.0})", pairs));
    }
    // Logits: a vocabulary for each position, in 32 bits as the loss wants it.
    for (vocabulary, name) in [
        (32_000_u64, "32,000"),
        (50_257, "50,257"),
        (128_256, "128,256"),
        (151_936, "151,936"),
        (256_000, "256,000"),
    ] {
        let positions = bytes as f64 / (vocabulary * 4) as f64;
        let round = (positions / 1_024.0).round() * 1_024.0;
        if round >= 1_024.0 && ((round / positions) - 1.0).abs() < TOLERANCE && examples.len() < 3 {
            examples
                .push(format!("{round:.0} positions × a vocabulary of {name} at 32 bits (logits)"));
        }
    }
    examples
}
