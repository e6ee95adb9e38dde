//! Which allocations a view counts: those of a moment or of a range of entries, by category and by
//! what their stacks say.

use crate::findings::Device;
use crate::findings::category::Category;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use crate::timeline::allocation::{Allocation, AllocationId};
use serde::Deserialize;

/// What is counted of a range of entries.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Held by the program after the last entry, whenever it was made.
    Live,
    /// Made in the range and held after its last entry.
    Kept,
    /// Made in the range.
    Allocated,
    /// Released by the program in the range.
    Freed,
}

/// A choice among the allocations of a device, as the page says it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Selection {
    /// First entry of the range.
    pub begin: u32,
    /// One past the last entry of the range.
    pub end: u32,
    /// What is counted of it.
    pub counted: Counted,
    /// The one category to count; all where absent.
    pub category: Option<Category>,
    /// What some frame of the stack must contain, written as `name at file:line`, in any case;
    /// empty for no such wish.
    pub text: String,
}

impl Selection {
    /// Everything that is live after an entry.
    #[must_use]
    pub fn live_after(entry: u32) -> Selection {
        Selection {
            begin: entry,
            end: entry.saturating_add(1),
            counted: Counted::Live,
            category: None,
            text: String::new(),
        }
    }

    /// The allocations chosen, in the order of the timeline. A device without a trace has the state
    /// of the file's end at its entry 0.
    #[must_use]
    pub fn allocations(&self, snapshot: &Snapshot, device: &Device) -> Vec<AllocationId> {
        let says = StacksThatSay::of(snapshot, &self.text);
        (0..)
            .map(AllocationId)
            .zip(&device.timeline.allocations)
            .filter(|(id, allocation)| {
                self.counts(allocation)
                    && self.category.is_none_or(|category| device.category(*id) == category)
                    && says.holds(allocation.stack)
            })
            .map(|(id, _)| id)
            .collect()
    }

    fn counts(&self, allocation: &Allocation) -> bool {
        let range = self.begin..self.end;
        let is_live = || allocation.is_live_after(self.end.saturating_sub(1));
        let is_made = || allocation.begin().is_some_and(|entry| range.contains(&entry));
        match self.counted {
            Counted::Live => is_live(),
            Counted::Kept => is_made() && is_live(),
            Counted::Allocated => is_made(),
            Counted::Freed => {
                allocation.free_requested().is_some_and(|entry| range.contains(&entry))
            }
        }
    }
}

/// The stacks in which some frame contains a text; all stacks where none is wanted.
struct StacksThatSay(Option<Vec<bool>>);

impl StacksThatSay {
    fn of(snapshot: &Snapshot, text: &str) -> StacksThatSay {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() {
            return StacksThatSay(None);
        }
        let stacks = &snapshot.stacks;
        let says = |frame| stacks.line_of(frame, &snapshot.texts).to_lowercase().contains(&wanted);
        let frames: Vec<bool> =
            (0..stacks.frames().len() as u32).map(|frame| says(FrameId(frame))).collect();
        let holds = |stack| {
            let mut on_stack = stacks.frames_of(stack).iter();
            on_stack.any(|frame| frames.get(frame.0 as usize) == Some(&true))
        };
        StacksThatSay(Some((0..stacks.len() as u32).map(|stack| holds(StackId(stack))).collect()))
    }

    fn holds(&self, stack: StackId) -> bool {
        self.0.as_ref().is_none_or(|says| says.get(stack.0 as usize) == Some(&true))
    }
}
