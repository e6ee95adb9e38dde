//! Where in the nested value the machine is.

use super::place::{Place, Step, path_from_steps};
use super::slots::{Content, Slots};
use super::{Lower, TextId, Value};
use crate::error::Error;

/// The machine's place, read off its stack, whose last value is the one in hand.
///
/// Below each mark stands the container that the values above it will go to. Writers that add items
/// one by one leave no mark: there a container's next item stands right above it, a dict's key
/// between them.
pub(super) struct Here<'a> {
    pub(super) stack: &'a [Value],
    pub(super) marks: &'a [usize],
    pub(super) slots: &'a Slots,
}

impl Place for Here<'_> {
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut begin = 0;
        let ends = self.marks.iter().copied().filter(|mark| *mark <= self.stack.len());
        for end in ends.chain([self.stack.len()]) {
            if begin < end {
                self.walk(begin, end.saturating_sub(1), &mut steps);
            }
            begin = end;
        }
        steps
    }
}

impl Here<'_> {
    /// The steps from the container below `begin` to the value at `child`, with no mark between.
    fn walk(&self, begin: usize, child: usize, steps: &mut Vec<Step>) {
        let below = begin.checked_sub(1).and_then(|below| self.container(below));
        let mut at = begin;
        match below {
            Some((Content::List, len)) => {
                // Its other values wait beside the one in hand.
                steps.push(index(len.saturating_add(child.saturating_sub(begin))));
                return;
            }
            Some((Content::Dict, _)) => {
                // Past the pairs that are complete: what follows a value is the next key.
                while self.key(at).is_some()
                    && self.key(at.saturating_add(2)).is_some()
                    && at.saturating_add(2) < child
                {
                    at = at.saturating_add(2);
                }
                at = self.enter(at, steps);
            }
            None => {}
        }
        while at < child {
            match self.container(at) {
                Some((Content::List, len)) => {
                    steps.push(index(len));
                    at = at.saturating_add(1);
                }
                Some((Content::Dict, _)) => at = self.enter(at.saturating_add(1), steps),
                None => break,
            }
        }
    }

    /// Steps into the value of the key at `at`, and answers where that value stands.
    fn enter(&self, at: usize, steps: &mut Vec<Step>) -> usize {
        if let Some(key) = self.key(at) {
            steps.push(Step::Key(key));
        }
        at.saturating_add(1)
    }

    fn key(&self, at: usize) -> Option<TextId> {
        match self.stack.get(at) {
            Some(Value::Text(key)) => Some(*key),
            _ => None,
        }
    }

    fn container(&self, at: usize) -> Option<(Content, usize)> {
        let Some(Value::Open(id)) = self.stack.get(at) else { return None };
        self.slots.get(*id).map(|slot| (slot.content, slot.len()))
    }
}

fn index(place: usize) -> Step {
    Step::Index(place as u64)
}

#[cold]
pub(super) fn located<L: Lower>(error: Error, place: &Here<'_>, lower: &L) -> Error {
    error.within(&path_from_steps(&place.steps(), &|key| lower.text_of(key).into_owned()))
}
