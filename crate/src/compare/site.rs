//! Call sites: the program's own frames of a stack, as far as two recordings can have them in
//! common. Native frames and those of PyTorch change with every version, so they are left out.

use crate::findings::frame_kind::{FrameKind, FrameKinds};
use crate::findings::lines::{Holder, holder_of};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::{FrameId, StackId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// One frame of a call site.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Frame {
    /// The function; where there is no Python frame, what there is instead.
    pub name: String,
    /// Its file as recorded; empty where there is no Python frame.
    pub file: String,
    /// The line, counted from 1; 0 where unknown.
    pub line: u32,
}

/// What stands for the stacks of the backward pass, with the node's name behind it.
pub(super) const BACKWARD: &str = "backward pass";

impl Frame {
    fn without_place(name: impl Into<String>) -> Self {
        Frame { name: name.into(), file: String::new(), line: 0 }
    }

    /// Whether it stands for a node of the autograd graph.
    pub(super) fn is_backward(&self) -> bool {
        self.file.is_empty() && self.name.starts_with(BACKWARD)
    }

    /// The frame as `train.py:88 forward`.
    #[must_use]
    pub fn short(&self) -> String {
        if self.file.is_empty() {
            return self.name.clone();
        }
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        format!("{file}:{} {}", self.line, self.name)
    }
}

/// The call sites of a run. A site is known by its place in the table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Sites {
    /// Distinct frames.
    frames: Vec<Frame>,
    /// The frames of each site, as places in `frames`, innermost first.
    sites: Vec<Vec<u32>>,
}

impl Sites {
    /// Number of sites.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// The frames of `site`, innermost first; empty for a site of another table.
    #[must_use]
    pub fn frames_of(&self, site: u32) -> Vec<&Frame> {
        let frames = self.sites.get(site as usize).map(Vec::as_slice).unwrap_or_default();
        frames.iter().filter_map(|frame| self.frames.get(*frame as usize)).collect()
    }

    /// The file of every frame.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.frames.iter_mut().map(|frame| &mut frame.file)
    }
}

/// Makes the [`Sites`] of a snapshot, each stack looked at once.
pub(super) struct SiteMaker<'a> {
    snapshot: &'a Snapshot,
    kinds: &'a FrameKinds,
    sites: Sites,
    frame_places: FxHashMap<Frame, u32>,
    site_places: FxHashMap<Vec<u32>, u32>,
    of_stack: FxHashMap<(StackId, bool), u32>,
}

impl<'a> SiteMaker<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, kinds: &'a FrameKinds) -> Self {
        SiteMaker {
            snapshot,
            kinds,
            sites: Sites::default(),
            frame_places: FxHashMap::default(),
            site_places: FxHashMap::default(),
            of_stack: FxHashMap::default(),
        }
    }

    /// The site of `stack`; `is_older` says that it was allocated before the recording.
    pub(super) fn site(&mut self, stack: StackId, is_older: bool) -> u32 {
        if let Some(site) = self.of_stack.get(&(stack, is_older)) {
            return *site;
        }
        let mut frames = Vec::new();
        for frame in self.frames_of(stack, is_older) {
            let next = self.sites.frames.len() as u32;
            let place = *self.frame_places.entry(frame.clone()).or_insert(next);
            if place == next {
                self.sites.frames.push(frame);
            }
            frames.push(place);
        }
        let next = self.sites.sites.len() as u32;
        let site = *self.site_places.entry(frames.clone()).or_insert(next);
        if site == next {
            self.sites.sites.push(frames);
        }
        self.of_stack.insert((stack, is_older), site);
        site
    }

    pub(super) fn finish(self) -> Sites {
        self.sites
    }

    fn frames_of(&self, stack: StackId, is_older: bool) -> Vec<Frame> {
        let frames = self.snapshot.stacks.frames_of(stack);
        let of = |kind| {
            let of_kind = frames.iter().filter(move |frame| self.kinds.get(**frame) == kind);
            of_kind.filter_map(|frame| self.frame(*frame)).collect::<Vec<Frame>>()
        };
        let own = of(FrameKind::User);
        if !own.is_empty() {
            return own;
        }
        match holder_of(self.snapshot, self.kinds, stack) {
            Holder::Frame(innermost) => {
                // A program that is itself an installed package.
                let packages = of(FrameKind::Library);
                let own: Vec<Frame> =
                    packages.into_iter().filter(|frame| !frame.file.contains("/torch/")).collect();
                if own.is_empty() { self.frame(innermost).into_iter().collect() } else { own }
            }
            Holder::Node(node) => vec![Frame::without_place(format!("{BACKWARD}: {node}"))],
            Holder::Native => vec![Frame::without_place("native code without a Python caller")],
            Holder::Older | Holder::NoStack if is_older => {
                vec![Frame::without_place("allocated before the recording")]
            }
            // Of a recording with Python frames only, the thread of the backward pass.
            Holder::Older | Holder::NoStack if stack == StackId::EMPTY => {
                vec![Frame::without_place(BACKWARD)]
            }
            Holder::Older | Holder::NoStack => {
                vec![Frame::without_place("recorded without a stack")]
            }
        }
    }

    fn frame(&self, id: FrameId) -> Option<Frame> {
        let frame = self.snapshot.stacks.frame(id)?;
        Some(Frame {
            name: self.snapshot.texts.get(frame.name).to_owned(),
            file: self.snapshot.texts.get(frame.filename).to_owned(),
            line: frame.line,
        })
    }
}
