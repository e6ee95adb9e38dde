//! References kept: allocations that outlive the steps that made them, again and again.
//!
//! A survivor is a candidate, not a leak. The first two steps may keep what they make (gradients,
//! optimizer states, caches), and one step boundary is ordinary: the last batch, loss and logits
//! live until they are overwritten. What remains is grouped by the stack that made it, and each
//! group is judged by how its members die.

use super::Device;
use super::category::{Because, Category};
use super::growth::growth;
use super::marks::{Phase, Signs, StackMarks};
use super::phases::Told;
use super::steps::Step;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::allocation::Allocation;
use rustc_hash::FxHashMap;

/// First steps that may keep what they make.
const WARM_UP: usize = 2;
/// Step boundaries that an ordinary value outlives.
const ORDINARY: usize = 1;
/// Contributing steps from which on there is a trend.
const TREND: usize = 3;
/// Share of the steps seen that the contributing ones must span.
const SPAN: f64 = 0.5;
/// The last contribution lies in this last share of the steps; else the growth has levelled off.
const RECENT: f64 = 1.0 / 3.0;
/// Bytes kept per step, as a share of the peak, below which growth is not worth a word: 10 % in a
/// thousand steps.
const RATE: f64 = 1e-4;
/// Share of what is kept by which the steps' least usage must have risen.
const CLIMB: f64 = 0.5;

/// Growth of one tensor from which on it is gathering without end.
const APPENDED: f64 = 1.5;

/// How the survivors of one place die.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// They do not.
    Steady,
    /// Many at once, freed by Python's cyclic collector.
    Collected,
    /// Many at once, and who freed them is not recorded.
    Sawtooth,
    /// Many at once, by ordinary code: a list that is cleared.
    Cleared,
    /// Each after about as many steps: a buffer of fixed length.
    Bounded,
    /// One by one after varying numbers of steps: a pool.
    Pool,
    /// The newest is long ago: something that filled up.
    Levelled,
    /// One tensor to which more is appended, each time as a larger copy.
    Appended,
}

/// The survivors of one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Where they are made.
    pub stack: StackId,
    /// What they are.
    pub category: Category,
    /// How they die.
    pub kind: Kind,
    /// First and last contributing step, from 0.
    pub steps: (usize, usize),
    /// Survivors in all, and bytes of the largest.
    pub count: usize,
    /// Bytes of the largest.
    pub largest: u64,
    /// Bytes of those alive at the moment judged.
    pub kept: u64,
    /// Most bytes of them alive at once.
    pub height: u64,
    /// Bytes that each step adds.
    pub per_step: f64,
    /// Last contributing allocation's entry.
    pub entry: u32,
    /// Its members: places among the timeline's allocations, each with the end of its step.
    pub members: Vec<(usize, u32)>,
    /// Whether this is a leak by its own numbers.
    pub is_leak: bool,
}

/// The leaks of a device up to an entry, the fastest first; empty where the steps' least usage
/// does not rise with what they keep.
#[must_use]
pub fn leaks(snapshot: &Snapshot, device: &Device, marks: &StackMarks, upto: u32) -> Vec<Group> {
    let steps: Vec<Step> = device
        .steps
        .iter()
        .filter(|step| step.begin <= upto)
        .map(|step| Step { end: step.end.min(upto.saturating_add(1)), ..*step })
        .collect();
    if steps.len() < WARM_UP + TREND {
        return Vec::new();
    }
    let mut groups: Vec<Group> = survivors(device, &steps, upto)
        .into_iter()
        .filter_map(|(stack, members)| judge(snapshot, device, marks, &steps, stack, &members))
        .filter(|group| group.is_leak)
        .collect();
    groups.extend(appended(device, upto));
    groups.sort_by(|a, b| b.per_step.total_cmp(&a.per_step).then(a.stack.cmp(&b.stack)));
    // The least usage of each step must climb with what is kept.
    let baselines: Vec<u64> = steps.iter().skip(WARM_UP).map(|step| least(device, step)).collect();
    let early = baselines.iter().take((baselines.len() / 3).max(1)).min().copied().unwrap_or(0);
    let climb = baselines.iter().max().copied().unwrap_or(0).saturating_sub(early);
    let kept: u64 = groups.iter().map(|group| group.kept).sum();
    let height = groups.iter().map(|group| group.height).max().unwrap_or(0);
    if (climb as f64) < CLIMB * kept.max(height) as f64 { Vec::new() } else { groups }
}

/// Tensors outside of all modules to which more and more is appended: results that are gathered.
fn appended(device: &Device, upto: u32) -> Vec<Group> {
    let mut by_stack: FxHashMap<StackId, Vec<usize>> = FxHashMap::default();
    let all = device.timeline.allocations.iter().zip(&device.classes).enumerate();
    for_each(all, |(place, (allocation, class))| {
        let Some(begin) = allocation.begin().filter(|begin| *begin <= upto) else { return };
        if allocation.has_stack()
            && device.phases.get(begin) == Phase::Between
            && class.category != Category::KvCache
        {
            by_stack.entry(allocation.stack).or_default().push(place);
        }
    });
    let mut stacks: Vec<(StackId, Vec<usize>)> = by_stack.into_iter().collect();
    stacks.sort_unstable_by_key(|(stack, _)| *stack);
    let groups = stacks.into_iter().filter_map(|(stack, places)| {
        let growth = growth(&device.timeline, &places).filter(|growth| growth.ratio >= APPENDED)?;
        let allocation = |place: usize| &device.timeline.allocations[place];
        let live: Vec<usize> =
            places.iter().copied().filter(|place| allocation(*place).is_live_after(upto)).collect();
        let (first, last) = (*places.first()?, *live.last()?);
        let kept = live.iter().map(|place| allocation(*place).size).fold(0, u64::saturating_add);
        let step = |place: usize| step_of(&device.steps, allocation(place).first_entry());
        let grown = allocation(last).size.saturating_sub(allocation(first).size);
        Some(Group {
            stack,
            category: device.classes.get(last)?.category,
            kind: Kind::Appended,
            steps: (step(first).unwrap_or(0), step(last).unwrap_or(0)),
            count: growth.increases,
            largest: allocation(last).size,
            kept,
            height: kept,
            per_step: grown as f64 / growth.increases as f64,
            entry: allocation(last).first_entry(),
            members: live.iter().map(|place| (*place, allocation(*place).first_entry())).collect(),
            is_leak: true,
        })
    });
    groups.collect()
}

fn least(device: &Device, step: &Step) -> u64 {
    let allocated = device
        .timeline
        .usage
        .allocated
        .get(step.begin as usize..step.end as usize)
        .unwrap_or_default();
    allocated.iter().min().copied().unwrap_or(0)
}

/// A survivor: its allocation, the step that made it, and the step that let go of it.
struct Survivor<'a> {
    place: usize,
    allocation: &'a Allocation,
    category: Category,
    made: usize,
    ended: Option<usize>,
}

fn step_of(steps: &[Step], entry: u32) -> Option<usize> {
    steps.partition_point(|step| step.begin <= entry).checked_sub(1)
}

/// Survivors by stack, in the order in which each stack first contributes. Without stacks, those
/// of one size and phase stand for one place.
fn survivors<'a>(
    device: &'a Device,
    steps: &[Step],
    upto: u32,
) -> Vec<(StackId, Vec<Survivor<'a>>)> {
    let mut places: FxHashMap<(StackId, u64, u8), usize> = FxHashMap::default();
    let mut groups: Vec<(StackId, Vec<Survivor<'a>>)> = Vec::new();
    let all = device.timeline.allocations.iter().zip(&device.classes).enumerate();
    for_each(all, |(number, (allocation, class))| {
        let Some(begin) = allocation.begin().filter(|begin| *begin <= upto) else { return };
        // Written over in place, grown on purpose, or dropped at each step's end.
        let is_kept_on_purpose = matches!(
            class.category,
            Category::Weights | Category::OptimizerStates | Category::KvCache
        ) || allocation.is_private
            || class.because == Because::ZeroGrad;
        let Some(made) = step_of(steps, begin).filter(|made| *made >= WARM_UP) else { return };
        if is_kept_on_purpose {
            return;
        }
        let ended = allocation
            .free_requested()
            .filter(|free| *free <= upto)
            .and_then(|free| step_of(steps, free));
        let survives = match ended {
            Some(ended) => ended > made + ORDINARY,
            None => made + 2 + ORDINARY <= steps.len(),
        };
        if survives {
            let key = if allocation.has_stack() {
                (allocation.stack, 0, 0)
            } else {
                (allocation.stack, allocation.requested, device.phases.get(begin) as u8)
            };
            let place = *places.entry(key).or_insert_with(|| {
                groups.push((allocation.stack, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(Survivor {
                place: number,
                allocation,
                category: class.category,
                made,
                ended,
            });
        }
    });
    groups
}

fn judge(
    snapshot: &Snapshot,
    device: &Device,
    marks: &StackMarks,
    steps: &[Step],
    stack: StackId,
    members: &[Survivor<'_>],
) -> Option<Group> {
    let mut made: Vec<usize> = members.iter().map(|member| member.made).collect();
    made.sort_unstable();
    made.dedup();
    let (first, last) = (*made.first()?, *made.last()?);
    let alive: Vec<&Survivor<'_>> =
        members.iter().filter(|member| member.ended.is_none()).collect();
    let dead: Vec<&Survivor<'_>> = members.iter().filter(|member| member.ended.is_some()).collect();
    let window = steps.len().saturating_sub(WARM_UP + 1 + ORDINARY).max(1);
    let recent_from = steps
        .len()
        .saturating_sub(2 + ORDINARY)
        .saturating_sub(((window as f64 * RECENT).ceil() as usize).max(1));
    let mut kind = manner_of_death(&dead, &alive, steps.len());
    if kind == Kind::Steady && last < recent_from {
        kind = Kind::Levelled;
    }
    if kind == Kind::Sawtooth {
        kind = who_freed(snapshot, device, marks, &dead);
    }
    let is_saw = matches!(kind, Kind::Sawtooth | Kind::Collected);
    let counted: Vec<&Survivor<'_>> =
        if is_saw || alive.is_empty() { members.iter().collect() } else { alive.clone() };
    let steps_counted = counted.iter().map(|member| member.made);
    let spanned = steps_counted.clone().max()? - steps_counted.min()? + 1;
    let bytes = |members: &[&Survivor<'_>]| {
        members.iter().map(|member| member.allocation.size).fold(0, u64::saturating_add)
    };
    let per_step = bytes(&counted) as f64 / spanned as f64;
    let kept = bytes(&alive);
    let peak = steps.iter().map(|step| step.peak).max().unwrap_or(0).max(1);
    let span = (last - first + 1) as f64 / window as f64;
    let is_leak = (is_saw || kind == Kind::Steady)
        && made.len() >= TREND
        && span >= SPAN
        && per_step / peak as f64 >= RATE;
    Some(Group {
        stack,
        category: members.first()?.category,
        kind,
        steps: (first, last),
        count: members.len(),
        largest: members.iter().map(|member| member.allocation.size).max()?,
        kept,
        height: if is_saw { height(members) } else { kept },
        per_step,
        entry: members.iter().map(|member| member.allocation.first_entry()).max()?,
        members: members
            .iter()
            .map(|member| (member.place, steps.get(member.made).map_or(u32::MAX, |step| step.end)))
            .collect(),
        is_leak,
    })
}

/// Whether the dead died in a mass, each in its turn, or one by one.
fn manner_of_death(dead: &[&Survivor<'_>], alive: &[&Survivor<'_>], steps: usize) -> Kind {
    if dead.is_empty() {
        return Kind::Steady;
    }
    let mut lags: Vec<usize> =
        dead.iter().filter_map(|member| Some(member.ended? - member.made)).collect();
    lags.sort_unstable();
    let at = |tenth: usize| lags[(lags.len() * tenth / 10).min(lags.len() - 1)];
    let (low, median, high) = (at(1), lags[lags.len() / 2], at(9));
    let oldest_alive = alive.iter().map(|member| steps - 1 - member.made).max().unwrap_or(0);
    // A fifth of the median on either side is one buffer's length.
    if (high - low) as f64 <= (0.2 * median as f64).max(1.0)
        && oldest_alive as f64 <= 1.2 * median as f64 + 2.0
    {
        return Kind::Bounded;
    }
    let mut deaths: FxHashMap<usize, usize> = FxHashMap::default();
    for member in dead {
        *deaths.entry(member.ended.unwrap_or(0)).or_default() += 1;
    }
    let most = deaths.values().max().copied().unwrap_or(0);
    let mut makers: Vec<usize> = dead.iter().map(|member| member.made).collect();
    makers.sort_unstable();
    makers.dedup();
    let in_masses = most >= 3
        && (most as f64 >= 0.3 * dead.len() as f64 || deaths.len() * 2 <= makers.len().max(2));
    if in_masses {
        Kind::Sawtooth
    } else if dead.len() > alive.len() {
        Kind::Pool
    } else {
        Kind::Steady
    }
}

/// A mass death is the collector's or the program's own; the frees' stacks tell, if they have
/// native frames.
fn who_freed(
    snapshot: &Snapshot,
    device: &Device,
    marks: &StackMarks,
    dead: &[&Survivor<'_>],
) -> Kind {
    if !device.phases.frees_tell || device.phases.told != Told::ByStacks {
        return Kind::Sawtooth;
    }
    let frees = dead.iter().filter_map(|member| {
        snapshot.entry(device.timeline.device, member.allocation.free_requested()?)
    });
    let signs: Vec<Signs> = frees
        .filter(|entry| entry.stack != StackId::ABSENT && entry.stack != StackId::EMPTY)
        .map(|entry| marks.get(entry.stack).signs)
        .collect();
    let collected = signs.iter().filter(|signs| signs.has(Signs::COLLECTOR)).count();
    match signs.len() {
        0 => Kind::Sawtooth,
        told if collected * 2 >= told => Kind::Collected,
        _ => Kind::Cleared,
    }
}

/// Most bytes of the members alive at once.
fn height(members: &[Survivor<'_>]) -> u64 {
    let begins = members
        .iter()
        .map(|member| (member.allocation.first_entry(), false, member.allocation.size));
    let ends = members.iter().filter_map(|member| {
        Some((member.allocation.free_requested()?, true, member.allocation.size))
    });
    let mut changes: Vec<(u32, bool, u64)> = begins.chain(ends).collect();
    changes.sort_unstable();
    let (mut live, mut most) = (0_u64, 0);
    for (_, is_end, size) in changes {
        live = if is_end { live.saturating_sub(size) } else { live.saturating_add(size) };
        most = most.max(live);
    }
    most
}

#[cfg(test)]
mod tests;
