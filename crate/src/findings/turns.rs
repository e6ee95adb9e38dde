//! Turns of the program's own loops, told by stacks: where a later allocation comes from an earlier
//! line of the same function, that function has begun its loop anew.
//!
//! Training steps are found by their backward passes and optimizer; generation and evaluation have
//! neither, and this is what divides them.

use super::frame_kind::FrameKinds;
use super::marks::{Phase, StackMarks};
use super::phases::Phases;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Fewer turns than this are no loop.
const FEWEST: usize = 3;
/// A loop spans at least this share of the entries looked at.
const SPAN: f64 = 0.4;

/// A function, by the texts of its name and file.
type Function = (u32, u32);

/// The ordinary code around the first marked frame of a stack, outermost first, and what follows.
struct Path {
    outer: Vec<FrameId>,
    /// The first marked frame.
    marked: Option<FrameId>,
    /// The function that the outermost module's call runs.
    forward: Option<FrameId>,
}

/// A loop: the frames around the function that loops, and that function.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Loop {
    around: Vec<FrameId>,
    function: Function,
    /// The line at which a turn begins.
    line: u32,
}

/// The loops of one device's trace.
pub(super) struct Loops<'a> {
    snapshot: &'a Snapshot,
    timeline: &'a Timeline,
    phases: &'a Phases,
    paths: Vec<Path>,
    main: Option<Function>,
}

impl<'a> Loops<'a> {
    pub(super) fn of(
        snapshot: &'a Snapshot,
        timeline: &'a Timeline,
        kinds: &FrameKinds,
        marks: &StackMarks,
        phases: &'a Phases,
    ) -> Self {
        let count = u32::try_from(snapshot.stacks.len()).unwrap_or(u32::MAX);
        let paths: Vec<Path> =
            (0..count).map(|id| path(snapshot, kinds, marks, StackId(id))).collect();
        // Other threads have loops of their own.
        let mut outermost: FxHashMap<Function, u32> = FxHashMap::default();
        for path in &paths {
            if let Some(function) = path.outer.first().and_then(|id| function(snapshot, *id)) {
                *outermost.entry(function).or_default() += 1;
            }
        }
        let main = outermost.into_iter().max_by_key(|(function, count)| (*count, function.0));
        Loops { snapshot, timeline, phases, paths, main: main.map(|(function, _)| function) }
    }

    /// The entries in `range` at which a turn begins, of the outermost loop around forward passes;
    /// empty where there is none.
    pub(super) fn turns(&self, range: Range<u32>) -> Vec<u32> {
        let mut loops: FxHashMap<Loop, Vec<u32>> = FxHashMap::default();
        let mut passes: FxHashMap<Loop, Vec<u32>> = FxHashMap::default();
        let mut heads: FxHashMap<Vec<FrameId>, StackId> = FxHashMap::default();
        let mut lines: FxHashMap<Vec<FrameId>, StackId> = FxHashMap::default();
        let mut called: FxHashMap<Vec<FrameId>, FxHashSet<Function>> = FxHashMap::default();
        let mut known: FxHashMap<(StackId, StackId), Option<Loop>> = FxHashMap::default();
        let mut before: Option<StackId> = None;
        for_each(range.clone(), |entry| {
            let Some(here) = self.snapshot.entry(self.timeline.device, entry) else { return };
            let Some(path) = self.paths.get(here.stack.0 as usize) else { return };
            let is_main = path.outer.first().and_then(|id| function(self.snapshot, *id));
            if here.action != Action::Alloc || is_main.is_none() || is_main != self.main {
                return;
            }
            if path.forward.is_some() && !heads.contains_key(&path.outer) {
                heads.insert(path.outer.clone(), here.stack);
            }
            if let Some(last) = before.filter(|last| *last != here.stack) {
                let turn = known
                    .entry((last, here.stack))
                    .or_insert_with(|| self.turn_between(last, here.stack));
                if let Some(turn) = turn {
                    loops.entry(turn.clone()).or_default().push(entry);
                }
                if let Some((around, calls)) = self.calls_between(last, here.stack) {
                    let called = called.entry(around.clone()).or_default();
                    called.insert(calls.0);
                    if !called.insert(calls.1) {
                        // Called before, and something else since: the line runs again.
                        called.clear();
                        called.insert(calls.1);
                        let again = Loop { line: 0, function: calls.1, around };
                        loops.entry(again).or_default().push(entry);
                    }
                }
                if heads.get(&path.outer) == Some(&here.stack)
                    && let Some(pass) = self.pass_between(last, here.stack)
                {
                    passes.entry(pass).or_default().push(entry);
                }
                if let Some(line) = self.line_between(last, here.stack)
                    && *lines.entry(line.around.clone()).or_insert(here.stack) == here.stack
                {
                    passes.entry(line).or_default().push(entry);
                }
            }
            before = Some(here.stack);
        });
        self.outermost(loops, &range).or_else(|| self.outermost(passes, &range)).unwrap_or_default()
    }

    /// The loop that has turned between two successive allocations.
    fn turn_between(&self, a: StackId, b: StackId) -> Option<Loop> {
        let a = self.paths.get(a.0 as usize)?;
        let b = self.paths.get(b.0 as usize)?;
        let depth = a.outer.iter().zip(&b.outer).position(|(a, b)| a != b)?;
        self.back(*a.outer.get(depth)?, *b.outer.get(depth)?, a.outer.get(..depth)?)
    }

    /// The line that has called one function and then another, and the two: for a loop whose body
    /// is a single line.
    fn calls_between(
        &self,
        a: StackId,
        b: StackId,
    ) -> Option<(Vec<FrameId>, (Function, Function))> {
        let (a, b) = (self.paths.get(a.0 as usize)?, self.paths.get(b.0 as usize)?);
        let depth = a.outer.iter().zip(&b.outer).take_while(|(a, b)| a == b).count();
        let callee = |path: &Path| {
            let frame = path.outer.get(depth).copied().or(path.marked)?;
            function(self.snapshot, frame)
        };
        let calls = (callee(a)?, callee(b)?);
        (depth > 0 && calls.0 != calls.1).then(|| (a.outer[..depth].to_vec(), calls))
    }

    /// The call of a module that has begun anew between two successive allocations: for a loop
    /// whose body allocates in a single line.
    fn pass_between(&self, a: StackId, b: StackId) -> Option<Loop> {
        let a = self.paths.get(a.0 as usize)?;
        let b = self.paths.get(b.0 as usize)?;
        if a.outer != b.outer {
            return None;
        }
        self.back(a.forward?, b.forward?, &a.outer)
    }

    /// The line that has called a module and then allocates itself: for a loop whose only line makes
    /// the module's input too.
    fn line_between(&self, a: StackId, b: StackId) -> Option<Loop> {
        let a = self.paths.get(a.0 as usize)?;
        let b = self.paths.get(b.0 as usize)?;
        let is_back = a.forward.is_some() && b.marked.is_none() && a.outer == b.outer;
        let function = function(self.snapshot, *a.outer.last()?)?;
        is_back.then(|| Loop { around: a.outer.clone(), function, line: 0 })
    }

    fn back(&self, a: FrameId, b: FrameId, around: &[FrameId]) -> Option<Loop> {
        let (from, to) = (self.snapshot.stacks.frame(a)?, self.snapshot.stacks.frame(b)?);
        let is_back = (from.name, from.filename) == (to.name, to.filename) && to.line < from.line;
        is_back.then(|| Loop {
            around: around.to_vec(),
            function: (to.name.0, to.filename.0),
            line: to.line,
        })
    }

    /// Of the loops that turn often enough around forward passes, the outermost; of one function's
    /// the one that begins highest.
    fn outermost(&self, loops: FxHashMap<Loop, Vec<u32>>, range: &Range<u32>) -> Option<Vec<u32>> {
        let least_span = f64::from(range.end - range.start) * SPAN;
        let is_loop = |turns: &[u32]| {
            let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return false };
            turns.len() >= FEWEST
                && f64::from(last - first) >= least_span
                && turns.windows(2).all(|turn| self.computes(turn[0]..turn[1]))
        };
        loops
            .into_iter()
            .filter(|(_, turns)| is_loop(turns))
            .min_by_key(|(found, _)| (found.around.len(), found.line, found.function.0))
            .map(|(_, turns)| turns)
    }

    fn computes(&self, mut turn: Range<u32>) -> bool {
        turn.any(|entry| self.phases.get(entry) == Phase::Forward)
    }
}

fn path(snapshot: &Snapshot, kinds: &FrameKinds, marks: &StackMarks, stack: StackId) -> Path {
    let python = || kinds.python_of(snapshot, stack).rev();
    let outer: Vec<FrameId> = python().take_while(|id| marks.phase_of(*id).is_none()).collect();
    let mut inner = python().skip(outer.len());
    let is_forward = |id: &FrameId| marks.phase_of(*id) == Some(Phase::Forward);
    let marked = inner.clone().next();
    let forward = match inner.next() {
        Some(first) if is_forward(&first) => inner.find(|id| !is_forward(id)),
        _ => None,
    };
    Path { outer, marked, forward }
}

fn function(snapshot: &Snapshot, frame: FrameId) -> Option<Function> {
    snapshot.stacks.frame(frame).map(|frame| (frame.name.0, frame.filename.0))
}
