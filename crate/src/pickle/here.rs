//! Where in the nested value the machine is.

use super::place::{Place, Step, path_from_steps};
use super::slots::{Content, Slots};
use super::{Lower, Value};
use crate::error::Error;

/// The machine's place, read off its stack: below each mark stands the container that the values
/// above it will go to.
pub(super) struct Here<'a> {
    pub(super) stack: &'a [Value],
    pub(super) marks: &'a [usize],
    pub(super) slots: &'a Slots,
}

impl Place for Here<'_> {
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (level, mark) in self.marks.iter().enumerate() {
            let above = level.checked_add(1).and_then(|next| self.marks.get(next));
            // The innermost container is the value in hand itself.
            let Some(child) = above.and_then(|mark| mark.checked_sub(1)) else { break };
            let Some(Value::Open(id)) = mark.checked_sub(1).and_then(|place| self.stack.get(place))
            else {
                continue;
            };
            let Some(slot) = self.slots.get(*id) else { continue };
            match slot.content {
                Content::List => {
                    let index = slot.len().saturating_add(child.saturating_sub(*mark));
                    steps.push(Step::Index(index as u64));
                }
                Content::Dict => {
                    if let Some(Value::Text(key)) =
                        child.checked_sub(1).and_then(|place| self.stack.get(place))
                    {
                        steps.push(Step::Key(*key));
                    }
                }
            }
        }
        steps
    }
}

#[cold]
pub(super) fn located<L: Lower>(error: Error, place: &Here<'_>, lower: &L) -> Error {
    error.within(&path_from_steps(&place.steps(), &|key| lower.text_of(key).into_owned()))
}
