//! Against a key/value cache that fills the card.

use super::{Basis, Case, Fix};
use crate::findings::category::Category;
use crate::findings::savings::Kept;
use crate::units::Bytes;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let cache = case.of(Category::KvCache);
    let halved = case.effect(|held| match held.category {
        Category::KvCache => Kept::part(0.5),
        _ => Kept::WHOLE,
    });
    let saves = halved.saves;
    let request = case.recording.request.filter(|(_, category)| *category == Category::KvCache);
    let mut fixes = vec![
        Fix::of(
            "shorter_cache",
            "Keep half as many tokens",
            "The cache grows in proportion to the concurrent requests and to the context of each: half of either halves it. In vLLM that is `max_num_seqs` and `max_model_len`, in SGLang `max_running_requests` and `context_length`.",
        )
        .bringing(halved, Basis::Estimated)
        .costing("Shorter contexts or less throughput."),
        Fix::of(
            "quantised_cache",
            "Store the cache in 8 bits",
            "The number takes the cache to be of 16 bits an element now. In vLLM and SGLang it is one option, in Transformers `cache_implementation=\"quantized\"`.",
        )
        .saving(saves, Basis::Estimated)
        .costing("A little accuracy.")
        .with("vllm serve MODEL --kv-cache-dtype fp8"),
        Fix::of(
            "reservation",
            "Look at both reservations together",
            "A serving framework reserves its cache up front, as a share of the card (`gpu_memory_utilization` in vLLM, `mem_fraction_static` in SGLang). What it leaves over must hold the activations, the CUDA context and the allocator's slack: lower the share until they fit, and leave the allocator's settings for the rest.",
        ),
        Fix::of(
            "offloaded_cache",
            "Keep the cache in CPU memory",
            "Transformers brings one layer's cache to the GPU at a time with `cache_implementation=\"offloaded\"`.",
        )
        .costing("Slower: the cache crosses the bus for each token."),
    ];
    if let Some((bytes, _)) = request.filter(|(bytes, _)| bytes.saturating_mul(20) > cache) {
        fixes.push(
            Fix::of(
                "preallocated_cache",
                "Make the cache once, at its full length",
                format!("Each `torch.cat` holds the old cache beside the new one: this request of {} is a copy of what was there. A cache of fixed length (`cache_implementation=\"static\"` in Transformers) is written in place.", Bytes(bytes)),
            )
            .saving(bytes, Basis::Measured)
            .costing("The full length is reserved from the first token on."),
        );
    }
    fixes
}
