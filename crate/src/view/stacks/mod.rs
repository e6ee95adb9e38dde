//! Bytes by stack: a tree of the frames that the chosen allocations were made in, cut to pixels as
//! an icicle, to rows as a table, and read out node by node.

pub mod icicle;
pub mod reading;
pub mod tree;

use crate::findings::lines::Holder;
use crate::snapshot::Snapshot;

/// A node's name and, for a Python or native frame, its place as `train.py:88`.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct NodeName {
    /// The function, or what there is instead of one.
    pub name: String,
    /// Its file without the folders, and its line; empty where neither is known.
    pub place: String,
}

impl NodeName {
    /// The name of what a node stands for; `None` is the root.
    #[must_use]
    pub fn of(snapshot: &Snapshot, holder: Option<&Holder>) -> NodeName {
        let Some(holder) = holder else {
            return NodeName { name: "all".to_owned(), place: String::new() };
        };
        let (file, line, name) = super::frames::holder_view(snapshot, holder);
        let short = file.rsplit(['/', '\\']).next().unwrap_or(&file);
        let place = match (short, line) {
            ("" | "??", _) => String::new(),
            (short, 0) => short.to_owned(),
            (short, line) => format!("{short}:{line}"),
        };
        NodeName { name, place }
    }
}
