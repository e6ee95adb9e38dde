//! How references are kept, and where: what a leak's numbers alone do not say.

use super::Device;
use super::category::Category;
use super::frame_kind::{FrameKind, FrameKinds};
use super::leak::{Group, Kind};
use super::marks::StackMarks;
use super::passes;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::Oom;

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
    /// One tensor to which more and more is appended.
    Appended,
    /// An earlier pass is still held, as by the traceback of an error in it.
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
    /// The entry from which on the same lines compute anew, for [`Keeping::Exception`].
    pub again: Option<u32>,
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
            Kind::Appended => Keeping::Appended,
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
            again: None,
        })
    }

    /// What an earlier pass left behind and the failure found: a step in which the model begins anew,
    /// after an error or where earlier steps ran it but once, with what the first pass made still
    /// alive.
    #[must_use]
    pub fn of_earlier_pass(
        snapshot: &Snapshot,
        device: &Device,
        kinds: &FrameKinds,
        marks: &StackMarks,
        last: &Oom,
    ) -> Option<References> {
        let again = passes::begins_again(snapshot, device, kinds, marks, last)?;
        let survivors: Vec<usize> = (0..)
            .zip(device.timeline.allocations.iter().zip(&device.classes))
            .filter(|(_, (allocation, class))| {
                let is_of_a_step = matches!(
                    class.category,
                    Category::Activations | Category::Temporaries | Category::Inputs
                );
                let is_before =
                    allocation.begin().is_some_and(|made| again.first <= made && made < again.last);
                is_of_a_step && is_before && allocation.is_live_after(last.entry)
            })
            .map(|(place, _)| place)
            .collect();
        let allocation = |place: &usize| &device.timeline.allocations[*place];
        let bytes =
            survivors.iter().map(|place| allocation(place).size).fold(0, u64::saturating_add);
        let largest = survivors.iter().max_by_key(|place| allocation(place).size)?;
        Some(References {
            keeping: Keeping::Exception,
            site: site(snapshot, kinds, marks, allocation(largest).stack),
            survivors: survivors.iter().map(|place| (*place, again.last)).collect(),
            bytes,
            per_step: 0,
            groups: Vec::new(),
            again: Some(again.last),
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
    kinds
        .python_of(snapshot, stack)
        .rev()
        .take_while(|id| marks.phase_of(*id).is_none())
        .filter(|id| kinds.get(*id) == FrameKind::User)
        .last()
}

/// Whether the user's function that allocates was called by a module, and is not its `forward`.
fn is_in_hook(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId) -> bool {
    let python: Vec<FrameId> = kinds.python_of(snapshot, stack).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of so many bytes.
    fn group(kind: Kind, category: Category, bytes: u64) -> Group {
        Group {
            stack: StackId::EMPTY,
            category,
            kind,
            steps: (2, 9),
            count: 8,
            largest: bytes,
            kept: bytes,
            height: bytes,
            per_step: 2.0,
            entry: 99,
            members: vec![(bytes as usize, 7)],
            is_leak: true,
        }
    }

    fn of(groups: Vec<Group>) -> Option<References> {
        let snapshot = Snapshot::default();
        let kinds = FrameKinds::of(&snapshot);
        References::of(&snapshot, &kinds, &StackMarks::of(&snapshot, &kinds), groups)
    }

    fn steady(bytes: &[(Category, u64)]) -> Keeping {
        let groups = bytes.iter().map(|(category, bytes)| group(Kind::Steady, *category, *bytes));
        of(groups.collect()).unwrap().keeping
    }

    #[test]
    fn how_the_worst_dies_tells_how_it_is_kept() {
        assert_eq!(of(Vec::new()), None);
        for (kind, keeping) in [
            (Kind::Collected, Keeping::Cycle),
            (Kind::Sawtooth, Keeping::Masses),
            (Kind::Appended, Keeping::Appended),
            (Kind::Steady, Keeping::Values),
        ] {
            let groups = vec![
                group(kind, Category::Temporaries, 5),
                group(Kind::Steady, Category::Temporaries, 4),
            ];
            assert_eq!(of(groups).unwrap().keeping, keeping);
        }
    }

    #[test]
    fn activations_of_many_places_are_a_graph() {
        let (graph, other) = (Category::Activations, Category::Temporaries);
        assert_eq!(steady(&[(graph, 60), (graph, 40)]), Keeping::Graph);
        assert_eq!(steady(&[(graph, 100)]), Keeping::Values, "one place");
        assert_eq!(steady(&[(graph, 89), (graph, 11)]), Keeping::Graph);
        assert_eq!(steady(&[(graph, 90), (graph, 10)]), Keeping::Values, "nearly all in one");
        assert_eq!(steady(&[(graph, 25), (graph, 25), (other, 50)]), Keeping::Graph);
        assert_eq!(steady(&[(graph, 25), (graph, 24), (other, 51)]), Keeping::Values);
    }

    #[test]
    fn what_is_kept_adds_up() {
        let gone = Group { kept: 3, ..group(Kind::Sawtooth, Category::Temporaries, 70) };
        let alive = Group { height: 0, ..group(Kind::Steady, Category::Temporaries, 30) };
        let found = of(vec![gone, alive]).unwrap();
        assert_eq!((found.bytes, found.per_step, found.again), (100, 4, None));
        assert_eq!(found.survivors, [(70, 7), (30, 7)]);
        assert_eq!((found.groups.len(), found.site), (2, None));
    }
}
