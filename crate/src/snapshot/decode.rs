//! Dicts and lists become records as they are completed.
//!
//! What a dict is follows from the first key that only one kind of record has; where it stands is
//! looked at later, when its parent is complete. An empty list means whatever its key says.

use super::keys::{self as key};
use super::records::pairs_of;
use super::segment::{BlockState, PoolId, Segment};
use super::stack::{FrameId, StackId, Stacks};
use super::text::Texts;
use super::trace::Entries;
use super::{Annotation, fields};
use crate::error::{Error, ErrorKind, Result, shown};
use crate::limits;
use crate::pickle::{Items, Lower, Place, Record, TextId, Value};
use crate::warning::{WarningKind, Warnings};
use std::borrow::Cow;
use std::ops::Range;

pub(super) const FRAME: u8 = 0;
pub(super) const STACK: u8 = 1;
pub(super) const ENTRY: u8 = 2;
pub(super) const BLOCK: u8 = 3;
pub(super) const SEGMENT: u8 = 4;
pub(super) const ANNOTATION: u8 = 5;
pub(super) const POOL: u8 = 6;
pub(super) const FORMER: u8 = 7;
pub(super) const PLAIN: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const TOP: u8 = 10;

/// A complete list of records.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum List {
    Empty,
    /// Entries, as ranges of the entry table in the list's order.
    Entries(Vec<Range<u32>>),
    /// Records of one of the other kinds.
    Records(u8, Vec<u32>),
}

/// The top-level dict's values, by key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Top {
    pub(super) segments: Option<Value>,
    pub(super) device_traces: Option<Value>,
    pub(super) allocator_settings: Option<Value>,
    pub(super) external_annotations: Option<Value>,
    pub(super) host_segments: Option<Value>,
}

/// A block as it was read. `history` is the layout of PyTorch 1.13 and 2.0.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawBlock {
    pub(super) address: Option<u64>,
    pub(super) size: u64,
    pub(super) requested_size: Option<u64>,
    pub(super) state: BlockState,
    pub(super) stack: StackId,
    /// The newest former or current user.
    pub(super) history: Option<Former>,
}

/// A user of a block: what it requested, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Former {
    pub(super) real_size: Option<u64>,
    pub(super) stack: StackId,
}

/// A segment as it was read; `device` is `None` for pinned host memory.
#[derive(Clone, Debug)]
pub(super) struct RawSegment {
    pub(super) device: Option<u32>,
    pub(super) active_size: Option<u64>,
    pub(super) allocated_size: Option<u64>,
    pub(super) segment: Segment,
    pub(super) blocks: Vec<u32>,
}

/// Everything read so far.
#[derive(Debug)]
pub(super) struct Decoder {
    pub(super) texts: Texts,
    pub(super) stacks: Stacks,
    pub(super) entries: Entries,
    pub(super) blocks: Vec<RawBlock>,
    pub(super) segments: Vec<RawSegment>,
    pub(super) annotations: Vec<Annotation>,
    pub(super) streams: Vec<u64>,
    pub(super) pools: Vec<PoolId>,
    pub(super) formers: Vec<Former>,
    /// Dicts without a known kind: keys and values in turn.
    pub(super) plain: Vec<Vec<Value>>,
    pub(super) lists: Vec<List>,
    pub(super) top: Top,
    pub(super) warnings: Warnings,
    frames: Vec<FrameId>,
}

impl Decoder {
    pub(super) fn new() -> Result<Self> {
        let mut texts = Texts::default();
        for text in key::TEXTS {
            texts.intern(text)?;
        }
        Ok(Decoder {
            texts,
            stacks: Stacks::default(),
            entries: Entries::default(),
            blocks: Vec::new(),
            segments: Vec::new(),
            annotations: Vec::new(),
            streams: Vec::new(),
            pools: Vec::new(),
            formers: Vec::new(),
            plain: Vec::new(),
            lists: vec![List::Empty],
            top: Top::default(),
            warnings: Warnings::default(),
            frames: Vec::new(),
        })
    }

    /// The list behind a value; empty for anything else.
    pub(super) fn list_of(&self, value: Option<Value>) -> &List {
        match value {
            Some(Value::Record(Record { kind: LIST, index })) => {
                self.lists.get(index as usize).unwrap_or(&List::Empty)
            }
            _ => &List::Empty,
        }
    }

    pub(super) fn warn(&mut self, kind: WarningKind, place: &dyn Place, suffix: &str) {
        let Decoder { texts, warnings, .. } = self;
        warnings.add(kind, || {
            let path =
                crate::pickle::path_from_steps(&place.steps(), &|key| texts.get(key).to_owned());
            if suffix.is_empty() || path.is_empty() {
                format!("{path}{suffix}")
            } else {
                format!("{path}.{suffix}")
            }
        });
    }

    pub(super) fn unknown_key(&mut self, key: Value, place: &dyn Place) {
        let name = match key {
            Value::Text(id) => shown(self.texts.get(id)),
            _ => "a key that is no text".to_owned(),
        };
        self.warn(WarningKind::UnknownKey, place, &name);
    }

    /// The stack of a `frames` list. Some writers put an empty list, others none.
    pub(super) fn stack(&self, value: Value) -> StackId {
        match value {
            Value::Record(Record { kind: STACK, index }) => StackId(index),
            Value::Record(Record { kind: LIST, index: 0 }) => StackId::EMPTY,
            _ => StackId::ABSENT,
        }
    }
}

impl Lower for Decoder {
    fn text(&mut self, bytes: &[u8]) -> Result<TextId> {
        self.texts.intern_bytes(bytes)
    }

    fn tuple(&mut self, items: &[Value]) -> Value {
        // The only tuple that PyTorch writes is a pool's pair.
        pool_of(items)
            .and_then(|pool| intern(&mut self.pools, pool, "pools").ok())
            .map_or(Value::Opaque, |index| {
                Value::Record(Record { kind: POOL, index: u32::from(index) })
            })
    }

    fn dict(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        for (name, _) in pairs_of(pairs) {
            match name {
                Value::Text(key::ACTION) => return self.entry(pairs, place),
                Value::Text(key::FILENAME) => return self.frame(pairs, place),
                Value::Text(key::STATE) => return self.block(pairs, place),
                Value::Text(key::TOTAL_SIZE | key::BLOCKS | key::SEGMENT_TYPE) => {
                    return self.segment(pairs, place);
                }
                Value::Text(key::STAGE) => return self.annotation(pairs, place),
                Value::Text(key::REAL_SIZE) => return self.former(pairs),
                Value::Text(key::SEGMENTS | key::DEVICE_TRACES) => {
                    return Ok(self.top(pairs, place));
                }
                _ => {}
            }
        }
        Ok(self.plain(pairs))
    }

    fn list(&mut self, items: Items<'_>, place: &dyn Place) -> Result<Value> {
        let list = match items {
            Items::Values([]) => return Ok(Value::Record(Record { kind: LIST, index: 0 })),
            Items::Run { first, .. } if first.kind == FRAME => return self.stack_of(items),
            Items::Run { first: Record { kind: ENTRY, index }, len } => {
                List::Entries(std::iter::once(index..index.saturating_add(len)).collect())
            }
            Items::Run { first, len } => {
                List::Records(first.kind, (first.index..first.index.saturating_add(len)).collect())
            }
            Items::Values(values) => {
                let Some(kind) = values.iter().find_map(|value| match value {
                    Value::Record(record) => Some(record.kind),
                    _ => None,
                }) else {
                    // JSON has no tuples: a pool's pair comes as a list. Texts are forward frames.
                    return Ok(self.tuple(values));
                };
                if kind == FRAME {
                    return self.stack_of(items);
                }
                let indices: Vec<u32> = values
                    .iter()
                    .filter_map(|value| match value {
                        Value::Record(record) if record.kind == kind => Some(record.index),
                        _ => None,
                    })
                    .collect();
                // Lists of nothing known stand under unknown keys, which are counted themselves.
                if indices.len() < values.len() && kind != PLAIN && kind != POOL {
                    self.warn(WarningKind::StrayValue, place, "");
                }
                if kind == ENTRY {
                    List::Entries(ranges(&indices))
                } else {
                    List::Records(kind, indices)
                }
            }
        };
        self.lists.push(list);
        record(LIST, self.lists.len().saturating_sub(1), "lists")
    }

    fn is_repeatable(&self, value: Value) -> bool {
        matches!(value, Value::Record(Record { kind: STACK, .. } | Record { kind: LIST, index: 0 }))
    }

    fn text_of(&self, id: TextId) -> Cow<'_, str> {
        Cow::Borrowed(self.texts.get(id))
    }
}

impl Decoder {
    fn stack_of(&mut self, items: Items<'_>) -> Result<Value> {
        self.frames.clear();
        match items {
            Items::Run { first, len } => {
                self.frames.extend((first.index..first.index.saturating_add(len)).map(FrameId))
            }
            Items::Values(values) => {
                self.frames.extend(values.iter().filter_map(|value| match value {
                    Value::Record(Record { kind: FRAME, index }) => Some(FrameId(*index)),
                    _ => None,
                }))
            }
        }
        let id = self.stacks.intern_stack(&self.frames)?;
        Ok(Value::Record(Record { kind: STACK, index: id.0 }))
    }
}

fn pool_of(items: &[Value]) -> Option<PoolId> {
    let number = |value: &Value| fields::address("pool", *value).ok();
    match items {
        [first, second] => Some(PoolId(number(first)?, number(second)?)),
        _ => None,
    }
}

/// The place of `item` in a short table, which it is added to if new.
pub(super) fn intern<T: PartialEq>(table: &mut Vec<T>, item: T, what: &str) -> Result<u16> {
    let place = table.iter().position(|known| *known == item).unwrap_or_else(|| {
        table.push(item);
        table.len().saturating_sub(1)
    });
    // Tables this short are searched item by item; real files have a handful.
    u16::try_from(place)
        .ok()
        .filter(|place| *place < 4096)
        .ok_or_else(|| Error::new(ErrorKind::Limit, format!("the file has more than 4,096 {what}")))
}

pub(super) fn record(kind: u8, index: usize, what: &str) -> Result<Value> {
    let index = u32::try_from(index).ok().filter(|index| *index < limits::HANDLES);
    let index = index.ok_or_else(|| {
        Error::new(ErrorKind::Limit, format!("the file has more than {} {what}", limits::HANDLES))
    })?;
    Ok(Value::Record(Record { kind, index }))
}

fn ranges(indices: &[u32]) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for &index in indices {
        match ranges.last_mut() {
            Some(last) if last.end == index => last.end = index.saturating_add(1),
            _ => ranges.push(index..index.saturating_add(1)),
        }
    }
    ranges
}
