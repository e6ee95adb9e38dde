//! Frames and stacks, each distinct one stored once.

use super::text::Texts;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::pickle::TextId;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher as _;

/// A frame of the snapshot's [`Stacks`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FrameId(pub u32);

/// A stack of the snapshot's [`Stacks`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StackId(pub u32);

impl StackId {
    /// The stack without frames: recorded, but the thread ran no code that was looked for. With
    /// `stacks="python"` that is the thread of the backward pass.
    pub const EMPTY: StackId = StackId(0);
    /// No stack was recorded.
    pub const ABSENT: StackId = StackId(u32::MAX);
}

/// One frame.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Frame {
    /// Function: a Python code name without class, or a demangled C++ symbol.
    pub name: TextId,
    /// Source file as the interpreter or the debug information has it; `??` where stripped.
    pub filename: TextId,
    /// Line, counted from 1; 0 where unknown.
    pub line: u32,
}

/// All distinct frames and stacks of a snapshot.
#[derive(Clone, Debug)]
pub struct Stacks {
    frames: Vec<Frame>,
    frame_ids: HashTable<u32>,
    /// The frames of all stacks, one stack after another, innermost frame first.
    flat: Vec<FrameId>,
    /// Where each stack ends in `flat`.
    ends: Vec<usize>,
    stack_ids: HashTable<u32>,
}

impl Default for Stacks {
    fn default() -> Self {
        let mut stacks = Stacks {
            frames: Vec::new(),
            frame_ids: HashTable::new(),
            flat: Vec::new(),
            ends: vec![0],
            stack_ids: HashTable::new(),
        };
        let hash = hash_of(&[]);
        stacks.stack_ids.insert_unique(hash, 0, |_| hash);
        stacks
    }
}

impl Stacks {
    /// The frames of `stack`, innermost first; empty for [`StackId::EMPTY`] and
    /// [`StackId::ABSENT`].
    #[must_use]
    pub fn frames_of(&self, stack: StackId) -> &[FrameId] {
        slice(&self.flat, &self.ends, stack.0)
    }

    /// The frame behind `id`.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.0 as usize)
    }

    /// All distinct frames, by id.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Number of distinct stacks, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether only the empty stack is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.len() <= 1
    }

    /// The frame as a line: `name at file:line`.
    #[must_use]
    pub fn line_of(&self, id: FrameId, texts: &Texts) -> String {
        match self.frame(id) {
            Some(frame) => {
                format!("{} at {}:{}", texts.get(frame.name), texts.get(frame.filename), frame.line)
            }
            None => String::new(),
        }
    }

    /// The id of `frame`, added if it is new.
    ///
    /// # Errors
    /// `Limit` beyond [`limits::HANDLES`].
    pub fn intern_frame(&mut self, frame: Frame) -> Result<FrameId> {
        let hash = FxBuildHasher.hash_one(frame);
        let Stacks { frames, frame_ids, .. } = self;
        if let Some(id) = frame_ids.find(hash, |id| frames.get(*id as usize) == Some(&frame)) {
            return Ok(FrameId(*id));
        }
        let id = next_id(frames.len(), "frames")?;
        frames.push(frame);
        frame_ids.insert_unique(hash, id, |other| {
            // Of the frame itself: an Option of it has another hash, and would be lost in growing.
            frames.get(*other as usize).map_or(0, |frame| FxBuildHasher.hash_one(frame))
        });
        Ok(FrameId(id))
    }

    /// The id of the stack of `frames` (innermost first), added if it is new.
    ///
    /// # Errors
    /// `Limit` beyond [`limits::HANDLES`].
    pub fn intern_stack(&mut self, frames: &[FrameId]) -> Result<StackId> {
        let hash = hash_of(frames);
        let Stacks { flat, ends, stack_ids, .. } = self;
        if let Some(id) = stack_ids.find(hash, |id| slice(flat, ends, *id) == frames) {
            return Ok(StackId(*id));
        }
        let id = next_id(ends.len(), "stacks")?;
        flat.extend_from_slice(frames);
        ends.push(flat.len());
        stack_ids.insert_unique(hash, id, |other| hash_of(slice(flat, ends, *other)));
        Ok(StackId(id))
    }
}

fn slice<'a>(flat: &'a [FrameId], ends: &[usize], id: u32) -> &'a [FrameId] {
    let id = id as usize;
    let Some(end) = ends.get(id).copied() else { return &[] };
    let begin = id.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    flat.get(begin..end).unwrap_or_default()
}

fn hash_of(frames: &[FrameId]) -> u64 {
    FxBuildHasher.hash_one(frames)
}

fn next_id(len: usize, what: &str) -> Result<u32> {
    let id = u32::try_from(len).ok().filter(|id| *id < limits::HANDLES);
    id.ok_or_else(|| {
        Error::new(
            ErrorKind::Limit,
            format!("the file has more than {} distinct {what}", limits::HANDLES),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_again_after_the_table_has_grown() {
        let mut stacks = Stacks::default();
        let frame = |line| Frame { name: TextId(0), filename: TextId(1), line };
        let ids: Vec<FrameId> =
            (0..1000).map(|line| stacks.intern_frame(frame(line)).unwrap()).collect();
        for (line, id) in (0..).zip(ids) {
            assert_eq!(stacks.intern_frame(frame(line)).unwrap(), id);
        }
    }

    #[test]
    fn equal_stacks_are_one_and_no_frames_is_the_empty_one() {
        let mut stacks = Stacks::default();
        let frame = |line| Frame { name: TextId(0), filename: TextId(1), line };
        let (a, b) =
            (stacks.intern_frame(frame(1)).unwrap(), stacks.intern_frame(frame(2)).unwrap());
        assert_eq!(stacks.intern_frame(frame(1)).unwrap(), a);
        let stack = stacks.intern_stack(&[a, b]).unwrap();
        assert_eq!(stacks.intern_stack(&[a, b]).unwrap(), stack);
        assert_ne!(stacks.intern_stack(&[b, a]).unwrap(), stack);
        assert_eq!(stacks.intern_stack(&[]).unwrap(), StackId::EMPTY);
        assert_eq!(stacks.frames_of(stack), &[a, b]);
        assert_eq!(stacks.frames_of(StackId::ABSENT), &[]);
    }
}
