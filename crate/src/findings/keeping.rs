//! How references are kept, and where: what a leak's numbers alone do not say.

use super::Device;
use super::category::Category;
use super::frame_kind::{FrameKind, FrameKinds};
use super::leak::{Group, Kind};
use super::marks::StackMarks;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::Oom;
use rustc_hash::FxHashSet;

/// How references are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keeping {
    /// The autograd graph of whole forward passes: many places keep at once.
    Graph,
    /// Single tensors: a list, a dict, an attribute.
    Values,
    /// A hook of a module stores what it sees.
    Hook,
    /// Objects that refer to each other; the cyclic collector frees them now and then.
    Cycle,
    /// They go in masses, and the file does not say who frees them.
    Masses,
    /// The traceback of an earlier failure holds the frames of its step.
    Exception,
}

/// The references kept.
#[derive(Clone, Debug, PartialEq)]
pub struct References {
    /// How.
    pub keeping: Keeping,
    /// The user's line under which what is kept was made: outside of all modules, in the loop that
    /// keeps it.
    pub site: Option<FrameId>,
    /// What is kept: places among the timeline's allocations, each with the entry at which it
    /// would have ended.
    pub survivors: Vec<(usize, u32)>,
    /// Bytes alive at the moment judged, or most at once where they come and go.
    pub bytes: u64,
    /// Bytes that each step adds; 0 where that is not by step.
    pub per_step: u64,
    /// The places, the fastest first; empty for [`Keeping::Exception`].
    pub groups: Vec<Group>,
    /// The failure whose traceback holds them, for [`Keeping::Exception`].
    pub failure: Option<u32>,
}

/// Share of a leak's bytes that a single place must not exceed for it to be a graph.
const GRAPH: f64 = 0.9;

impl References {
    /// What the leaking places have in common; `None` where nothing leaks.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        marks: &StackMarks,
        groups: Vec<Group>,
    ) -> Option<References> {
        let worst = groups.first()?;
        let bytes = |group: &Group| group.kept.max(group.height);
        let total = groups.iter().map(bytes).fold(0, u64::saturating_add);
        let of_graph = groups.iter().filter(|group| group.category == Category::Activations);
        let graph = of_graph.clone().map(bytes).fold(0, u64::saturating_add);
        let is_graph = of_graph.count() > 1
            && graph as f64 >= 0.5 * total as f64
            && (bytes(worst) as f64) < GRAPH * total as f64;
        let keeping = match worst.kind {
            Kind::Collected => Keeping::Cycle,
            Kind::Sawtooth => Keeping::Masses,
            _ if is_in_hook(snapshot, kinds, worst.stack) => Keeping::Hook,
            _ if is_graph => Keeping::Graph,
            _ => Keeping::Values,
        };
        Some(References {
            keeping,
            site: site(snapshot, kinds, marks, worst.stack),
            survivors: groups.iter().flat_map(|group| group.members.iter().copied()).collect(),
            bytes: total,
            per_step: groups.iter().map(|group| group.per_step).sum::<f64>() as u64,
            groups,
            failure: None,
        })
    }

    /// What an earlier failure left behind and the last one found: allocations that were alive when
    /// it failed, of no use to what was tried after it, and made again by that.
    #[must_use]
    pub fn of_failure(
        snapshot: &Snapshot,
        device: &Device,
        kinds: &FrameKinds,
        marks: &StackMarks,
        last: &Oom,
    ) -> Option<References> {
        let earlier = device.timeline.ooms.iter().rev().find(|oom| oom.entry < last.entry)?;
        let begin = device
            .steps
            .iter()
            .rfind(|step| step.begin <= earlier.entry)
            .map_or(0, |step| step.begin);
        let made_after: FxHashSet<StackId> = (earlier.entry..last.entry)
            .filter_map(|entry| {
                let allocation =
                    device.timeline.allocation(device.timeline.allocation_of(entry)?)?;
                (allocation.begin() == Some(entry)).then_some(allocation.stack)
            })
            .collect();
        let all = device.timeline.allocations.iter().zip(&device.classes).enumerate();
        let survivors: Vec<usize> = all
            .filter(|(_, (allocation, class))| {
                let is_of_a_step = matches!(
                    class.category,
                    Category::Activations
                        | Category::Temporaries
                        | Category::Inputs
                        | Category::Communication
                );
                let begin =
                    allocation.begin().is_some_and(|made| (begin..earlier.entry).contains(&made));
                is_of_a_step && begin && allocation.is_live_after(last.entry)
            })
            .map(|(place, _)| place)
            .collect();
        let allocation = |place: &usize| &device.timeline.allocations[*place];
        let sum = |places: &mut dyn Iterator<Item = &usize>| {
            places.map(|place| allocation(place).size).fold(0, u64::saturating_add)
        };
        let bytes = sum(&mut survivors.iter());
        let again = sum(&mut survivors
            .iter()
            .filter(|place| made_after.contains(&allocation(place).stack)));
        // A failure caught inside one forward pass, and worked round there, leaves that pass alive.
        if bytes == 0 || again * 2 < bytes {
            return None;
        }
        let largest = survivors.iter().max_by_key(|place| allocation(place).size)?;
        Some(References {
            keeping: Keeping::Exception,
            site: site(snapshot, kinds, marks, allocation(largest).stack),
            survivors: survivors.iter().map(|place| (*place, earlier.entry + 1)).collect(),
            bytes,
            per_step: 0,
            groups: Vec::new(),
            failure: Some(earlier.entry),
        })
    }
}

/// The user's innermost line outside of the first marked frame: what called the model.
fn site(
    snapshot: &Snapshot,
    kinds: &FrameKinds,
    marks: &StackMarks,
    stack: StackId,
) -> Option<FrameId> {
    let outer = snapshot.stacks.frames_of(stack).iter().rev().copied();
    outer
        .filter(|id| kinds.get(*id) != FrameKind::Cpp)
        .take_while(|id| marks.phase_of(*id).is_none())
        .filter(|id| kinds.get(*id) == FrameKind::User)
        .last()
}

/// Whether the user's function that allocates was called by a module, and is not its `forward`.
fn is_in_hook(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId) -> bool {
    let python: Vec<FrameId> = snapshot
        .stacks
        .frames_of(stack)
        .iter()
        .copied()
        .filter(|id| kinds.get(*id) != FrameKind::Cpp)
        .collect();
    let name =
        |id: FrameId| snapshot.stacks.frame(id).map_or("", |frame| snapshot.texts.get(frame.name));
    let file = |id: FrameId| {
        snapshot.stacks.frame(id).map_or("", |frame| snapshot.texts.get(frame.filename))
    };
    let Some(place) = python.iter().position(|id| kinds.get(*id) == FrameKind::User) else {
        return false;
    };
    let (Some(user), Some(caller)) = (python.get(place), python.get(place + 1)) else {
        return false;
    };
    let is_module = file(*caller).replace('\\', "/").ends_with("nn/modules/module.py");
    is_module && !matches!(name(*user), "forward" | "__call__") && name(*caller) != "_apply"
}
