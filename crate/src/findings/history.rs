//! How much of the past the file holds.

use crate::snapshot::Snapshot;
use crate::snapshot::segment::BlockState;
use crate::snapshot::stack::StackId;
use crate::snapshot::trace::Action;
use crate::timeline::Timeline;
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// How much of the past the file holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Everything since memory was first used.
    Complete,
    /// Recording began when memory was in use already.
    LateStart,
    /// The ring of entries was too short: the oldest are lost.
    Wrapped,
    /// No entries, but stacks of what was live at the end.
    StateOnly,
    /// No entries and no stacks.
    None,
}

/// How much stacks tell.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StacksTold {
    /// Python and native frames.
    PythonAndCpp,
    /// Python frames only: nothing of the backward pass, which runs on a thread without Python.
    Python,
    /// No stacks.
    None,
}

/// Tells how much of the past the file holds, over all devices.
#[must_use]
pub fn history(snapshot: &Snapshot, timelines: &[Timeline]) -> History {
    let told = timelines.iter().filter(|timeline| has_history(snapshot, timeline));
    let told: Vec<&Timeline> = told.collect();
    if told.is_empty() {
        let has_stacks = snapshot.blocks.iter().any(|block| {
            block.state != BlockState::Inactive
                && block.stack != StackId::ABSENT
                && block.stack != StackId::EMPTY
        });
        return if has_stacks { History::StateOnly } else { History::None };
    }
    let incomplete =
        told.iter().filter(|timeline| timeline.older > 0 || timeline.start.reserved > 0);
    incomplete.fold(History::Complete, |worst, timeline| match worst {
        History::Wrapped => worst,
        // A ring is as long as somebody asked for, and people ask for round numbers.
        _ if timeline.entries() >= 100 && timeline.entries().is_multiple_of(100) => {
            History::Wrapped
        }
        _ => History::LateStart,
    })
}

/// Whether a device's trace has more than the one entry that a recording without history leaves.
fn has_history(snapshot: &Snapshot, timeline: &Timeline) -> bool {
    let trace = snapshot.trace(timeline.device);
    let mut telling = trace
        .filter_map(|index| snapshot.entries.get(index))
        .filter(|entry| entry.action != Action::Snapshot);
    telling.nth(1).is_some()
}

/// Tells what kinds of frames the stacks have.
#[must_use]
pub fn stacks_told(snapshot: &Snapshot) -> StacksTold {
    if snapshot.stacks.is_empty() {
        return StacksTold::None;
    }
    let is_native = |frame: &crate::snapshot::stack::Frame| {
        super::frame_kind::frame_kind(snapshot.texts.get(frame.filename), frame.line)
            == super::frame_kind::FrameKind::Cpp
    };
    if snapshot.stacks.frames().iter().any(is_native) {
        StacksTold::PythonAndCpp
    } else {
        StacksTold::Python
    }
}

impl History {
    /// The same in one sentence, with its reason.
    #[must_use]
    pub fn note<'t>(self, timelines: impl Iterator<Item = &'t Timeline>) -> String {
        let (entries, older) = timelines.fold((0, 0), |(entries, older), timeline| {
            (entries + u64::from(timeline.entries()), older + timeline.older as u64)
        });
        let (entries, older) = (Count(entries), Count(older));
        match self {
            History::Complete => format!("The file holds everything since memory was first used: {entries} entries."),
            History::LateStart => format!("Recording began when memory was in use already: of {older} older allocations only the size is known."),
            History::Wrapped => format!("The oldest entries are lost: the ring held {entries}, a round number, and memory was in use before the first of them."),
            History::StateOnly => "The file holds the state at the end and no history: recording was switched on with enabled=\"state\", or kept one entry only.".to_owned(),
            History::None => "The file holds no history and no stacks: recording was never switched on in the process that wrote it.".to_owned(),
        }
    }
}

impl StacksTold {
    /// The same in one sentence.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            StacksTold::PythonAndCpp => "Stacks have Python and C++ frames.",
            StacksTold::Python => {
                "Stacks have Python frames only, so what the backward pass allocates has none: its thread runs no Python."
            }
            StacksTold::None => "The file has no stacks, so no line of code can be named.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn::drawn_on_devices;
    use super::*;

    fn told(devices: &[&str]) -> History {
        let snapshot = drawn_on_devices(devices);
        let timelines: Vec<Timeline> =
            (0..).zip(devices).map(|(device, _)| Timeline::replay(&snapshot, device)).collect();
        history(&snapshot, &timelines)
    }

    /// A ring of 100 entries, whose first frees what it does not show.
    fn ring() -> String {
        let pairs: String = (0..32).map(|n| format!("alloc {n} 2\nfree {n}\n")).collect();
        format!("free before 2\n{pairs}alloc a 2\nalloc b 2")
    }

    #[test]
    fn a_round_number_of_entries_without_a_beginning_is_a_ring_that_wrapped() {
        assert_eq!(told(&[&ring()]), History::Wrapped);
        assert_eq!(told(&[&format!("{}\nalloc c 2", ring())]), History::LateStart);
        assert_eq!(told(&["free before 2\nalloc a 2"]), History::LateStart);
    }

    #[test]
    fn the_poorest_history_of_any_device_is_told() {
        let late = "free before 2\nalloc a 2";
        assert_eq!(told(&[&ring(), late]), History::Wrapped);
        assert_eq!(told(&[late, &ring()]), History::Wrapped);
    }

    #[test]
    fn one_entry_is_no_history() {
        assert_eq!(told(&["alloc a 2"]), History::None);
        assert_eq!(told(&["alloc a 2", &ring()]), History::Wrapped);
    }
}
