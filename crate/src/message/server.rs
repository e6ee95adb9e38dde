//! The numbers of serving frameworks: a start refused, and the budget that vLLM logs.

use super::facts::Facts;
use super::labels;
use super::size;

/// Reads `Free memory on device (f/t GiB) on startup is less than …`.
pub(crate) fn start(text: &str, [start, anchor, end]: [usize; 3]) -> Facts {
    let mut facts = Facts::default();
    let sentence = text.get(start..end).unwrap_or_default();
    let word = "freememoryondevice";
    let Some(at) = sentence.rfind(word).filter(|at| start + at < anchor) else { return facts };
    let rest = sentence.get(at + word.len()..).unwrap_or_default();
    let (device, rest) = rest.split_once('(').unwrap_or_default();
    if let Some(number) = device.strip_prefix("cuda:").filter(|device| device.len() < 4) {
        facts.gpu_index = number.parse().ok();
    }
    // The first number has its unit behind the second.
    let Some((free, rest)) = rest.split_once('/') else { return facts };
    let Some((capacity, _)) = rest.split_once(')') else { return facts };
    let unit: String = capacity.chars().filter(char::is_ascii_alphabetic).collect();
    let one = |text: &str| size::sizes(text, 0, text.len()).first().and_then(|size| size.bytes);
    facts.free_bytes = one(&format!("{free}{unit}"));
    facts.capacity_bytes = one(capacity);
    facts
}

/// What vLLM says that its memory goes to, in bytes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Budget {
    pub(crate) weights: Option<u64>,
    pub(crate) activations: Option<u64>,
    pub(crate) other: Option<u64>,
    pub(crate) graphs: Option<u64>,
    pub(crate) cache: Option<u64>,
    /// What one request of the largest length needs.
    pub(crate) needed: Option<u64>,
}

/// A number's place in the budget.
type Place = fn(&mut Budget) -> &mut Option<u64>;

/// The words beside each number, before and after it.
const BUDGET: [(Place, &str, &str); 13] = [
    (|budget| &mut budget.weights, "modelweightstake", ""),
    (|budget| &mut budget.weights, "", "forweight"),
    (|budget| &mut budget.weights, "", "forconsumedmemory"),
    (|budget| &mut budget.weights, "modelloadingtook", ""),
    (|budget| &mut budget.activations, "activationpeakmemorytakes", ""),
    (|budget| &mut budget.activations, "", "forpeakactivation"),
    (|budget| &mut budget.other, "non_torch_memorytakes", ""),
    (|budget| &mut budget.other, "", "fornon-torchmemory"),
    (|budget| &mut budget.graphs, "", "forcudagraphmemory"),
    (|budget| &mut budget.cache, "reservedforkvcacheis", ""),
    (|budget| &mut budget.cache, "availablekvcachememory:", ""),
    (|budget| &mut budget.cache, "availablekvcachememory(", ""),
    (|budget| &mut budget.needed, "", "kvcacheisneeded"),
];

/// Most of a log that is searched for the budget, in bytes before the message.
const BEFORE_BYTES: usize = 200_000;

impl Budget {
    /// The budget logged before or in the message at `anchor`.
    pub(crate) fn of(text: &str, anchor: usize) -> Budget {
        let mut budget = Budget::default();
        let from = labels::boundary(text, anchor.saturating_sub(BEFORE_BYTES));
        let to = labels::boundary(text, anchor.saturating_add(1_000));
        for size in size::sizes(text, from, to) {
            let before = text.get(..size.start).unwrap_or_default();
            let after = text.get(size.end..).unwrap_or_default();
            for (place, word_before, word_after) in BUDGET {
                let fits = if word_before.is_empty() {
                    after.starts_with(word_after)
                } else {
                    before.ends_with(word_before)
                };
                if fits && !size.is_short {
                    *place(&mut budget) = size.bytes;
                }
            }
        }
        budget
    }
}
