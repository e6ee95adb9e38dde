//! Whose code a frame is.

use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameKind {
    /// The user's own Python.
    User,
    /// Python of PyTorch, of another installed package or of the standard library, or generated.
    Library,
    /// Native code.
    Cpp,
}

/// What lies above installed packages.
pub(crate) const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// In the path of the standard library, and of what was compiled from a model.
pub(crate) const INSTALLED: [&str; 4] =
    ["/lib/python", "/Lib/", "/lib-dynload/", "/torchinductor_"];

/// A PyTorch that was built from source keeps its checkout's paths.
pub(crate) const TORCH_SOURCE: [&str; 5] = [
    "/torch/nn/modules/",
    "/torch/optim/",
    "/torch/autograd/",
    "/torch/_tensor.py",
    "/torch/utils/",
];

/// In the path of a notebook's cell.
pub(crate) const NOTEBOOK: &str = "/ipykernel_";

/// Tells whose code a frame is from its file and line.
///
/// A native frame has no line, or a C-like file, and may stand anywhere between the Python frames:
/// since CPython 3.11 their mutual order means nothing.
#[must_use]
pub fn frame_kind(filename: &str, line: u32) -> FrameKind {
    const NATIVE: &[&str] = &[".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".so", ".inl"];
    if line == 0
        || filename == "??"
        || NATIVE.iter().any(|end| filename.ends_with(end))
        || filename.contains(".so.")
    {
        return FrameKind::Cpp;
    }
    let path = filename.replace('\\', "/");
    let in_notebook =
        path.contains(NOTEBOOK) || path.starts_with("<ipython-input") || path == "<stdin>";
    if in_notebook {
        return FrameKind::User;
    }
    let mut libraries = PACKAGES.iter().chain(&INSTALLED).chain(&TORCH_SOURCE);
    if path.starts_with('<') || path == "none" || libraries.any(|part| path.contains(part)) {
        return FrameKind::Library;
    }
    FrameKind::User
}

/// The kind of each distinct frame of a snapshot, by frame id.
#[derive(Clone, Debug)]
pub struct FrameKinds(Vec<FrameKind>);

impl FrameKinds {
    /// Tells all frames.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let kind = |frame: &crate::snapshot::stack::Frame| {
            frame_kind(snapshot.texts.get(frame.filename), frame.line)
        };
        FrameKinds(snapshot.stacks.frames().iter().map(kind).collect())
    }

    /// The kind of a frame.
    #[must_use]
    pub fn get(&self, frame: FrameId) -> FrameKind {
        self.0.get(frame.0 as usize).copied().unwrap_or(FrameKind::Cpp)
    }

    /// The Python frames of a stack, innermost first. Native frames stand between them in no order
    /// that means anything.
    pub fn python_of<'s>(
        &'s self,
        snapshot: &'s Snapshot,
        stack: StackId,
    ) -> impl DoubleEndedIterator<Item = FrameId> + Clone + 's {
        let frames = snapshot.stacks.frames_of(stack).iter().copied();
        frames.filter(|frame| self.get(*frame) != FrameKind::Cpp)
    }

    /// The user's innermost frame of a stack; without one, the innermost of a library; `None` for
    /// a stack without Python.
    #[must_use]
    pub fn line_of(&self, snapshot: &Snapshot, stack: StackId) -> Option<FrameId> {
        let frames = snapshot.stacks.frames_of(stack);
        let find = |kind| frames.iter().copied().find(|frame| self.get(*frame) == kind);
        find(FrameKind::User).or_else(|| find(FrameKind::Library))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart_by_file_and_line() {
        for (file, line, expected) in [
            ("/home/me/train.py", 10, FrameKind::User),
            ("D:\\work\\train.py", 10, FrameKind::User),
            ("/tmp/ipykernel_77/123.py", 3, FrameKind::User),
            (
                "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
                1762,
                FrameKind::Library,
            ),
            ("C:\\Python\\Lib\\site-packages\\torch\\optim\\adam.py", 5, FrameKind::Library),
            ("<frozen runpy>", 88, FrameKind::Library),
            ("/tmp/torchinductor_me/ab/cab.py", 12, FrameKind::Library),
            ("??", 0, FrameKind::Cpp),
            ("/pytorch/c10/cuda/CUDACachingAllocator.cpp", 120, FrameKind::Cpp),
        ] {
            assert_eq!(frame_kind(file, line), expected, "{file}");
        }
    }
}
