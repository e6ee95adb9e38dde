//! Trace entries as columns.

use super::stack::StackId;
use crate::pickle::TextId;

/// What an entry records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Action {
    /// The program got a block. `size` is what it requested.
    Alloc,
    /// The program released a block.
    FreeRequested,
    /// The block returned to the cache.
    FreeCompleted,
    /// The driver gave a segment. `size` is the segment's.
    SegmentAlloc,
    /// A segment went back to the driver.
    SegmentFree,
    /// Pages were mapped into an expandable segment.
    SegmentMap,
    /// Pages were unmapped from an expandable segment.
    SegmentUnmap,
    /// An earlier snapshot was taken here.
    Snapshot,
    /// An allocation failed for good. `size` is the request rounded to a block.
    Oom,
    /// A label was attached to a live allocation afterwards; without effect on memory.
    Annotate,
    /// None of these; counted, and without effect.
    Other,
}

impl Action {
    /// The action as PyTorch's writer spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Alloc => "alloc",
            Action::FreeRequested => "free_requested",
            Action::FreeCompleted => "free_completed",
            Action::SegmentAlloc => "segment_alloc",
            Action::SegmentFree => "segment_free",
            Action::SegmentMap => "segment_map",
            Action::SegmentUnmap => "segment_unmap",
            Action::Snapshot => "snapshot",
            Action::Oom => "oom",
            Action::Annotate => "annotate",
            Action::Other => "other",
        }
    }

    pub(super) fn from_name(name: &str) -> Action {
        match name {
            "alloc" => Action::Alloc,
            "free_requested" => Action::FreeRequested,
            "free_completed" => Action::FreeCompleted,
            "segment_alloc" => Action::SegmentAlloc,
            "segment_free" => Action::SegmentFree,
            "segment_map" => Action::SegmentMap,
            "segment_unmap" => Action::SegmentUnmap,
            "snapshot" | "workspace_snapshot" => Action::Snapshot,
            "oom" => Action::Oom,
            "annotate" => Action::Annotate,
            _ => Action::Other,
        }
    }
}

/// One trace entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// What happened.
    pub action: Action,
    /// Start of the block, segment or mapped range; for [`Action::Oom`] the bytes that the driver
    /// had free, if the file tells.
    pub address: u64,
    /// Bytes; their meaning depends on the action.
    pub size: u64,
    /// Index into [`Snapshot::streams`](super::Snapshot::streams): the stream that owns the block.
    pub stream: u16,
    /// Index into [`Snapshot::pools`](super::Snapshot::pools), from PyTorch 2.12 on.
    pub pool: Option<u16>,
    /// µs since the Unix epoch, from PyTorch 2.2 on.
    pub time_us: Option<i64>,
    /// Where it happened; for frees the place of the free, or once more that of the allocation,
    /// depending on how it was recorded.
    pub stack: StackId,
    /// `compile_context`, where it says something.
    pub compile_context: Option<TextId>,
    /// `user_metadata`, where it says something.
    pub user_metadata: Option<TextId>,
}

/// A column of values that most files do not have: it takes no room until the first one comes.
#[derive(Clone, Debug)]
struct Sparse<T> {
    missing: T,
    values: Vec<T>,
}

impl<T: Copy + PartialEq> Sparse<T> {
    fn new(missing: T) -> Self {
        Sparse { missing, values: Vec::new() }
    }

    fn push(&mut self, place: usize, value: T) {
        if value == self.missing && self.values.is_empty() {
            return;
        }
        if self.values.len() < place {
            self.values.resize(place, self.missing);
        }
        self.values.push(value);
    }

    fn reserve(&mut self, count: usize) {
        if !self.values.is_empty() {
            self.values.reserve_exact(count.saturating_sub(self.values.len()));
        }
    }

    #[inline]
    fn get(&self, place: usize) -> Option<T> {
        self.values.get(place).copied().filter(|value| *value != self.missing)
    }
}

const NO_TIME: i64 = i64::MIN;
const NO_TEXT: u32 = u32::MAX;
const NO_POOL: u16 = u16::MAX;

/// What every entry has, in 24 bytes.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    size: u64,
    stack: StackId,
    stream: u16,
    action: Action,
}

/// Many entries: what all have side by side, the rest a column each field.
#[derive(Clone, Debug)]
pub struct Entries {
    rows: Vec<Row>,
    time_us: Sparse<i64>,
    pool: Sparse<u16>,
    compile_context: Sparse<u32>,
    user_metadata: Sparse<u32>,
}

impl Default for Entries {
    fn default() -> Self {
        Entries {
            rows: Vec::new(),
            time_us: Sparse::new(NO_TIME),
            pool: Sparse::new(NO_POOL),
            compile_context: Sparse::new(NO_TEXT),
            user_metadata: Sparse::new(NO_TEXT),
        }
    }
}

impl Entries {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entry at `index`; `None` past the end.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<Entry> {
        let Row { address, size, stack, stream, action } = *self.rows.get(index)?;
        Some(Entry {
            action,
            address,
            size,
            stream,
            stack,
            pool: self.pool.get(index),
            time_us: self.time_us.get(index),
            compile_context: self.compile_context.get(index).map(TextId),
            user_metadata: self.user_metadata.get(index).map(TextId),
        })
    }

    /// The action of the entry at `index`; `None` past the end.
    #[must_use]
    pub fn action(&self, index: usize) -> Option<Action> {
        self.rows.get(index).map(|row| row.action)
    }

    /// The stack of the entry at `index`; `None` past the end.
    #[must_use]
    pub fn stack(&self, index: usize) -> Option<StackId> {
        self.rows.get(index).map(|row| row.stack)
    }

    /// Makes room for `count` entries in all, so that a trace of known length does not outgrow its
    /// room time and again, each time beside a copy of it.
    pub(super) fn reserve(&mut self, count: usize) {
        self.rows.reserve_exact(count.saturating_sub(self.rows.len()));
        self.time_us.reserve(count);
    }

    /// The time of the entry at `index`, where the file has a clock.
    #[must_use]
    pub fn time_us(&self, index: usize) -> Option<i64> {
        self.time_us.get(index)
    }

    /// How many more there is room for.
    pub(super) fn room(&self) -> usize {
        self.rows.capacity().saturating_sub(self.rows.len())
    }

    /// Appends an entry and answers its index.
    pub fn push(&mut self, entry: Entry) -> usize {
        let place = self.rows.len();
        let Entry { address, size, stack, stream, action, .. } = entry;
        self.rows.push(Row { address, size, stack, stream, action });
        self.time_us.push(place, entry.time_us.unwrap_or(NO_TIME));
        self.pool.push(place, entry.pool.unwrap_or(NO_POOL));
        self.compile_context.push(place, entry.compile_context.map_or(NO_TEXT, |text| text.0));
        self.user_metadata.push(place, entry.user_metadata.map_or(NO_TEXT, |text| text.0));
        place
    }
}
