//! Frames as they are shown.

use crate::findings::frame_kind::{FrameKind, FrameKinds};
use crate::findings::lines::Holder;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use serde::Serialize;

/// One frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameView {
    /// The function.
    pub name: String,
    /// Its file, as recorded.
    pub file: String,
    /// The line; 0 where unknown.
    pub line: u32,
    /// `user`, `library` or `cpp`.
    pub kind: &'static str,
}

/// The name that the page and the text give a kind.
fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::User => "user",
        FrameKind::Library => "library",
        FrameKind::Cpp => "cpp",
    }
}

/// A frame to show; `None` for an id of another snapshot.
#[must_use]
pub fn frame_view(snapshot: &Snapshot, kinds: &FrameKinds, id: FrameId) -> Option<FrameView> {
    let frame = snapshot.stacks.frame(id)?;
    Some(FrameView {
        name: snapshot.texts.get(frame.name).to_owned(),
        file: snapshot.texts.get(frame.filename).to_owned(),
        line: frame.line,
        kind: kind_name(kinds.get(id)),
    })
}

/// The frames of a stack, innermost first; empty without one.
#[must_use]
pub fn stack_view(snapshot: &Snapshot, kinds: &FrameKinds, stack: StackId) -> Vec<FrameView> {
    snapshot
        .stacks
        .frames_of(stack)
        .iter()
        .filter_map(|id| frame_view(snapshot, kinds, *id))
        .collect()
}

/// A holder as file, line and function; file and line are empty where it is no Python frame.
#[must_use]
pub fn holder_view(snapshot: &Snapshot, holder: &Holder) -> (String, u32, String) {
    match holder {
        Holder::Frame(id) => match snapshot.stacks.frame(*id) {
            Some(frame) => (
                snapshot.texts.get(frame.filename).to_owned(),
                frame.line,
                snapshot.texts.get(frame.name).to_owned(),
            ),
            None => (String::new(), 0, String::new()),
        },
        Holder::Node(node) => (String::new(), 0, format!("backward pass: {node}")),
        Holder::Native => (String::new(), 0, "native code without a Python caller".to_owned()),
        Holder::Older => (String::new(), 0, "allocated before the recording".to_owned()),
        Holder::NoStack => (String::new(), 0, "recorded without a stack".to_owned()),
    }
}
