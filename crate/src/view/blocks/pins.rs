//! The few blocks that keep mostly empty segments from being used for anything else.
//!
//! The driver takes back whole segments only, and a request must fit into one hole. So one live
//! block makes the rest of its segment useless to whatever does not fit around it.

use super::{Block, BlockMap, Segment};
use crate::findings::Findings;
use crate::findings::category::Category;
use crate::findings::lines::{Holder, holder_of, short_line};
use crate::snapshot::Snapshot;
use crate::snapshot::segment::PoolId;
use crate::timeline::Timeline;
use crate::units::{Bytes, Count};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Sentences told; what the others keep is summed.
const MOST: usize = 8;
/// A segment counts as mostly empty from this share of idle bytes on: less, and its blocks use it
/// rather than keep it.
const MOSTLY_EMPTY: f64 = 0.5;
/// Share of all reserved bytes below which what a line keeps is not told by itself: it would change
/// nothing.
const NOTABLE: f64 = 0.002;

/// The blocks of one line that keep segments mostly empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pin {
    /// The whole in one sentence.
    pub sentence: String,
    /// Idle bytes of the segments: usable, or given back, were these blocks gone.
    pub idle_bytes: u64,
    /// Bytes of the blocks.
    pub block_bytes: u64,
    /// Number of the blocks.
    pub blocks: u64,
    /// Number of the segments.
    pub segments: u64,
    /// What most of these bytes are for.
    pub category: Category,
}

/// All pins of a map.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pins {
    /// The heaviest, most idle bytes first.
    pub pins: Vec<Pin>,
    /// Idle bytes that the ones left out keep.
    pub other_idle_bytes: u64,
    /// How many were left out.
    pub others: u64,
}

/// Blocks that pin, summed over the segments in which one line holds most.
#[derive(Default)]
struct Sum {
    idle: u64,
    bytes: u64,
    blocks: u64,
    segments: u64,
    /// Blocks of other lines in the same segments.
    strangers: u64,
    categories: [u64; 10],
    /// The only segment's bytes and the only block's, while there is one.
    only: Option<(u64, Block)>,
}

impl Pins {
    /// The pins of a map. Expandable segments have none, as their empty pages go back one by one;
    /// those of private pools neither, as a CUDA graph keeps its segments in any case.
    #[must_use]
    pub fn of(snapshot: &Snapshot, findings: &Findings, map: &BlockMap) -> Pins {
        let Some(device) = findings.device(map.device) else { return Pins::default() };
        let mut sums: FxHashMap<Holder, Sum> = FxHashMap::default();
        let mostly_empty = map.segments.iter().filter(|segment| {
            let idle = segment.idle_bytes();
            !segment.is_expandable
                && segment.owner.pool == PoolId::DEFAULT
                && idle < segment.bytes
                && idle as f64 >= MOSTLY_EMPTY * segment.bytes as f64
        });
        for segment in mostly_empty {
            let by_holder = holders(snapshot, findings, &device.timeline, segment);
            let heaviest = by_holder
                .iter()
                .max_by(|a, b| sum_of(a.1).cmp(&sum_of(b.1)).then_with(|| b.0.cmp(a.0)));
            let Some((holder, own)) = heaviest else { continue };
            let sum = sums.entry(holder.clone()).or_default();
            let blocks = segment.active().count() as u64;
            sum.only = match own[..] {
                [only] if sum.segments == 0 && blocks == 1 => Some((segment.bytes, *only)),
                _ => None,
            };
            sum.idle = sum.idle.saturating_add(segment.idle_bytes());
            sum.segments += 1;
            sum.blocks += blocks;
            sum.strangers += blocks - own.len() as u64;
            for block in segment.active() {
                sum.bytes = sum.bytes.saturating_add(block.bytes);
                let category = block.allocation.map_or(Category::Unknown, |held| held.category);
                let of_category = &mut sum.categories[category.place()];
                *of_category = of_category.saturating_add(block.bytes);
            }
        }
        let mut sums: Vec<(Holder, Sum)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.idle.cmp(&a.1.idle).then_with(|| a.0.cmp(&b.0)));
        let reserved: f64 = map.segments.iter().map(|segment| segment.bytes as f64).sum();
        let told = sums.partition_point(|(_, sum)| sum.idle as f64 >= NOTABLE * reserved);
        let rest = sums.split_off(told.min(MOST));
        Pins {
            pins: sums
                .iter()
                .map(|(holder, sum)| pin(snapshot, &device.timeline, holder, sum))
                .collect(),
            other_idle_bytes: rest.iter().map(|(_, sum)| sum.idle).fold(0, u64::saturating_add),
            others: rest.len() as u64,
        }
    }
}

fn sum_of(blocks: &[&Block]) -> u64 {
    blocks.iter().map(|block| block.bytes).fold(0, u64::saturating_add)
}

fn holders<'s>(
    snapshot: &Snapshot,
    findings: &Findings,
    timeline: &Timeline,
    segment: &'s Segment,
) -> FxHashMap<Holder, Vec<&'s Block>> {
    let mut holders: FxHashMap<Holder, Vec<&Block>> = FxHashMap::default();
    for block in segment.active() {
        let holder = holder_in(snapshot, findings, timeline, block);
        holders.entry(holder).or_default().push(block);
    }
    holders
}

/// What there is to name for a block.
pub(super) fn holder_in(
    snapshot: &Snapshot,
    findings: &Findings,
    timeline: &Timeline,
    block: &Block,
) -> Holder {
    let Some(held) = block.allocation else { return Holder::NoStack };
    let allocation = timeline.allocation(held.id);
    if allocation.is_some_and(|allocation| allocation.begin().is_none() && !allocation.has_stack())
    {
        return Holder::Older;
    }
    holder_of(snapshot, &findings.kinds, held.stack)
}

fn pin(snapshot: &Snapshot, timeline: &Timeline, holder: &Holder, sum: &Sum) -> Pin {
    let by = match holder {
        Holder::Frame(frame) => format!("from `{}`", short_line(snapshot, *frame)),
        Holder::Node(node) => format!("of the backward pass (`{node}`)"),
        Holder::Native => "of native code without a Python caller".to_owned(),
        Holder::Older => "allocated before the recording".to_owned(),
        Holder::NoStack => "recorded without a stack".to_owned(),
    };
    let most = (0..10).max_by_key(|place| sum.categories[*place]).unwrap_or(0);
    let category = Category::ALL[most];
    let what = if category == Category::Unknown {
        String::new()
    } else {
        format!(" ({})", category.label())
    };
    let (idle, bytes) = (Bytes(sum.idle), Bytes(sum.bytes));
    let sentence = if let Some((segment_bytes, block)) = sum.only {
        format!(
            "One block of {bytes} {by}{what}{} keeps {idle} idle in its segment of {}.",
            life(timeline, &block),
            Bytes(segment_bytes)
        )
    } else {
        let blocks = match sum.blocks {
            1 => format!("One block of {bytes}"),
            count => format!("{} blocks, {bytes} in all,", Count(count)),
        };
        let by = if sum.strangers > 0 { format!("most bytes {by}") } else { by };
        let comma = if sum.strangers > 0 { "," } else { "" };
        let segments = match sum.segments {
            1 => "one segment".to_owned(),
            count => format!("{} segments", Count(count)),
        };
        let keep = if sum.blocks == 1 { "keeps" } else { "keep" };
        format!("{blocks} {by}{what}{comma} {keep} {idle} idle in {segments}.")
    };
    Pin {
        sentence,
        idle_bytes: sum.idle,
        block_bytes: sum.bytes,
        blocks: sum.blocks,
        segments: sum.segments,
        category,
    }
}

/// How long a block is held, where that is recorded.
fn life(timeline: &Timeline, block: &Block) -> String {
    let Some(allocation) = block.allocation.and_then(|held| timeline.allocation(held.id)) else {
        return String::new();
    };
    let entry = |entry: u32| Count(u64::from(entry));
    match (allocation.begin(), allocation.free_requested()) {
        (Some(begin), None) => format!(", held from entry {} to the end,", entry(begin)),
        (Some(begin), Some(free)) => {
            format!(", held from entry {} to {},", entry(begin), entry(free))
        }
        (None, Some(free)) => format!(", held to entry {},", entry(free)),
        (None, None) => ", held to the end,".to_owned(),
    }
}
