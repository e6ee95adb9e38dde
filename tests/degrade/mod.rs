//! Recordings made poorer, as users' recordings are: each way drops what another recording option,
//! an older version or a ring too short would have dropped.

use oomscope::findings::frame_kind::{FrameKind, FrameKinds};
use oomscope::snapshot::Snapshot;
use oomscope::snapshot::stack::{FrameId, StackId, Stacks};
use oomscope::snapshot::trace::{Entries, Entry};

/// A way of making a recording poorer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Degrade {
    /// As recorded.
    Nothing,
    /// Python frames only (`stacks="python"`).
    NativeFrames,
    /// No stacks (`context=None`).
    Stacks,
    /// No stacks and no annotations.
    StacksAndAnnotations,
    /// The first half of each trace (`max_entries` too small).
    FirstHalf,
}

impl Degrade {
    /// All of them.
    pub(crate) const ALL: [Degrade; 5] = [
        Degrade::Nothing,
        Degrade::NativeFrames,
        Degrade::Stacks,
        Degrade::StacksAndAnnotations,
        Degrade::FirstHalf,
    ];

    /// In words.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Degrade::Nothing => "as recorded",
            Degrade::NativeFrames => "Python frames only",
            Degrade::Stacks => "no stacks",
            Degrade::StacksAndAnnotations => "no stacks, no annotations",
            Degrade::FirstHalf => "first half of the trace missing",
        }
    }

    /// The poorer snapshot.
    pub(crate) fn apply(self, snapshot: &mut Snapshot) {
        match self {
            Degrade::Nothing => {}
            Degrade::NativeFrames => keep_python(snapshot),
            Degrade::Stacks => drop_stacks(snapshot),
            Degrade::StacksAndAnnotations => {
                drop_stacks(snapshot);
                snapshot.annotations.clear();
            }
            Degrade::FirstHalf => keep_second_half(snapshot),
        }
    }
}

fn drop_stacks(snapshot: &mut Snapshot) {
    snapshot.stacks = Stacks::default();
    restack(snapshot, |_| StackId::ABSENT);
}

fn keep_python(snapshot: &mut Snapshot) {
    let kinds = FrameKinds::of(snapshot);
    let mut stacks = Stacks::default();
    let count = u32::try_from(snapshot.stacks.len()).unwrap();
    let moved: Vec<StackId> = (0..count)
        .map(|id| {
            let frames = snapshot.stacks.frames_of(StackId(id)).iter();
            let python: Vec<FrameId> = frames
                .filter(|id| kinds.get(**id) != FrameKind::Cpp)
                .map(|id| stacks.intern_frame(*snapshot.stacks.frame(*id).unwrap()).unwrap())
                .collect();
            stacks.intern_stack(&python).unwrap()
        })
        .collect();
    snapshot.stacks = stacks;
    restack(snapshot, |id| moved.get(id.0 as usize).copied().unwrap_or(StackId::ABSENT));
}

fn restack(snapshot: &mut Snapshot, moved: impl Fn(StackId) -> StackId) {
    let mut entries = Entries::default();
    for index in 0..snapshot.entries.len() {
        let entry = snapshot.entries.get(index).unwrap();
        entries.push(Entry { stack: moved(entry.stack), ..entry });
    }
    snapshot.entries = entries;
    for block in &mut snapshot.blocks {
        block.stack = moved(block.stack);
    }
    for segment in &mut snapshot.segments {
        segment.stack = moved(segment.stack);
    }
}

fn keep_second_half(snapshot: &mut Snapshot) {
    let mut entries = Entries::default();
    let mut since = i64::MAX;
    for trace in &mut snapshot.traces {
        let middle = trace.start + trace.len() / 2;
        let begin = entries.len();
        for index in middle..trace.end {
            let entry = snapshot.entries.get(index).unwrap();
            since = since.min(entry.time_us.unwrap_or(i64::MAX));
            entries.push(entry);
        }
        *trace = begin..entries.len();
    }
    snapshot.entries = entries;
    snapshot.annotations.retain(|annotation| annotation.time_us >= since);
}
