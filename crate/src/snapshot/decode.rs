//! Dicts and lists become records as they are completed.
//!
//! What a dict is follows from the first key that only one kind of record has; where it stands is
//! looked at later, when its parent is complete. An empty list means whatever its key says.

use super::keys::{self as key};
use super::segment::{Block, BlockState, PoolId, Segment};
use super::stack::{Frame, FrameId, StackId, Stacks};
use super::text::Texts;
use super::trace::{Action, Entries, Entry};
use super::{Annotation, fields};
use crate::error::{Error, ErrorKind, Result};
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

    fn warn(&mut self, kind: WarningKind, place: &dyn Place, suffix: &str) {
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

    fn unknown_key(&mut self, key: Value, place: &dyn Place) {
        let name = match key {
            Value::Text(id) => self.texts.get(id).to_owned(),
            _ => "a key that is no text".to_owned(),
        };
        self.warn(WarningKind::UnknownKey, place, &name);
    }

    /// The stack of a `frames` list. Some writers put an empty list, others none.
    fn stack(&self, value: Value) -> StackId {
        match value {
            Value::Record(Record { kind: STACK, index }) => StackId(index),
            Value::Record(Record { kind: LIST, index: 0 }) => StackId::EMPTY,
            _ => StackId::ABSENT,
        }
    }

    fn stream(&mut self, value: Value) -> Result<u16> {
        let raw = fields::address("stream", value)?;
        intern(&mut self.streams, raw, "streams")
    }

    fn frame(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        let mut frame = Frame { name: key::NOTHING, filename: key::NOTHING, line: 0 };
        for (name, value) in pairs_of(pairs) {
            match (name, value) {
                (Value::Text(key::NAME), Value::Text(text)) => frame.name = text,
                (Value::Text(key::FILENAME), Value::Text(text)) => frame.filename = text,
                (Value::Text(key::LINE), line) => frame.line = fields::line(line),
                (
                    Value::Text(
                        key::NAME
                        | key::FILENAME
                        | key::FX_NODE_OP
                        | key::FX_NODE_NAME
                        | key::FX_NODE_TARGET
                        | key::FX_NODE_INFO
                        | key::FX_ORIGINAL_TRACE,
                    ),
                    _,
                ) => {}
                (other, _) => self.unknown_key(other, place),
            }
        }
        let id = self.stacks.intern_frame(frame)?;
        Ok(Value::Record(Record { kind: FRAME, index: id.0 }))
    }

    fn entry(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        let mut entry = Entry {
            action: Action::Other,
            address: 0,
            size: 0,
            stream: 0,
            pool: None,
            time_us: None,
            stack: StackId::ABSENT,
            compile_context: None,
            user_metadata: None,
        };
        let mut stream = Value::Int(0);
        for (name, value) in pairs_of(pairs) {
            let Value::Text(name) = name else {
                self.unknown_key(name, place);
                continue;
            };
            match name {
                key::ACTION => {
                    entry.action = match value {
                        Value::Text(action) => Action::from_name(self.texts.get(action)),
                        _ => Action::Other,
                    };
                    if entry.action == Action::Other {
                        self.warn(WarningKind::UnknownAction, place, "action");
                    }
                }
                key::ADDR => entry.address = fields::address("addr", value)?,
                key::DEVICE_FREE => entry.address = fields::address("device_free", value)?,
                key::SIZE => entry.size = fields::size("size", value)?,
                key::STREAM => stream = value,
                key::TIME_US => entry.time_us = fields::time(value),
                key::FRAMES => entry.stack = self.stack(value),
                key::COMPILE_CONTEXT => entry.compile_context = said(value),
                key::USER_METADATA => entry.user_metadata = said(value),
                key::POOL_ID => {
                    if let Value::Record(Record { kind: POOL, index }) = value {
                        entry.pool = u16::try_from(index).ok();
                    }
                }
                key::INTERNAL_METADATA | key::FORWARD_FRAMES | key::CATEGORY | key::DEVICE => {}
                _ => self.unknown_key(Value::Text(name), place),
            }
        }
        entry.stream = self.stream(stream)?;
        let index = self.entries.push(entry);
        record(ENTRY, index, "entries")
    }

    fn block(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        let mut block = RawBlock {
            address: None,
            size: 0,
            requested_size: None,
            state: BlockState::Inactive,
            stack: StackId::ABSENT,
            history: None,
        };
        let mut sized = false;
        for (name, value) in pairs_of(pairs) {
            match name {
                Value::Text(key::ADDRESS) => {
                    block.address = Some(fields::address("address", value)?)
                }
                Value::Text(key::SIZE) => {
                    block.size = fields::size("size", value)?;
                    sized = true;
                }
                // Stale rubbish in inactive blocks: no reason to refuse a file.
                Value::Text(key::REQUESTED_SIZE) => {
                    block.requested_size = fields::size("requested_size", value).ok()
                }
                Value::Text(key::STATE) => {
                    let name = match value {
                        Value::Text(name) => self.texts.get(name),
                        _ => "",
                    };
                    block.state = match name {
                        "active_allocated" => BlockState::ActiveAllocated,
                        "active_pending_free" | "active_awaiting_free" => {
                            BlockState::ActivePendingFree
                        }
                        "inactive" => BlockState::Inactive,
                        _ => {
                            self.warn(WarningKind::UnknownState, place, "state");
                            BlockState::ActiveAllocated
                        }
                    };
                }
                Value::Text(key::FRAMES) => block.stack = self.stack(value),
                Value::Text(key::HISTORY) => {
                    block.history = match self.list_of(Some(value)) {
                        List::Records(FORMER, users) => {
                            users.first().and_then(|user| self.formers.get(*user as usize)).copied()
                        }
                        _ => None,
                    };
                }
                Value::Text(key::FORWARD_FRAMES | key::DEVICE | key::STREAM) => {}
                other => self.unknown_key(other, place),
            }
        }
        if !sized {
            return Err(Error::new(ErrorKind::Shape, "a block states no size").within("size"));
        }
        self.blocks.push(block);
        record(BLOCK, self.blocks.len().saturating_sub(1), "blocks")
    }

    fn segment(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        let segment = Segment {
            device: 0,
            address: 0,
            total_size: 0,
            stream: 0,
            is_small: false,
            pool: PoolId::DEFAULT,
            is_expandable: false,
            stack: StackId::ABSENT,
            blocks: 0..0,
        };
        let mut raw = RawSegment {
            device: Some(0),
            active_size: None,
            allocated_size: None,
            segment,
            blocks: Vec::new(),
        };
        for (name, value) in pairs_of(pairs) {
            match name {
                Value::Text(key::DEVICE) => raw.device = fields::device(value)?,
                Value::Text(key::ADDRESS) => {
                    raw.segment.address = fields::address("address", value)?
                }
                Value::Text(key::TOTAL_SIZE) => {
                    raw.segment.total_size = fields::size("total_size", value)?
                }
                Value::Text(key::ALLOCATED_SIZE) => {
                    raw.allocated_size = fields::size("allocated_size", value).ok()
                }
                Value::Text(key::ACTIVE_SIZE) => {
                    raw.active_size = fields::size("active_size", value).ok()
                }
                Value::Text(key::STREAM) => raw.segment.stream = fields::address("stream", value)?,
                Value::Text(key::SEGMENT_TYPE) => {
                    raw.segment.is_small =
                        matches!(value, Value::Text(text) if self.texts.get(text) == "small");
                }
                Value::Text(key::SEGMENT_POOL_ID) => {
                    if let Value::Record(Record { kind: POOL, index }) = value {
                        raw.segment.pool =
                            self.pools.get(index as usize).copied().unwrap_or_default();
                    }
                }
                Value::Text(key::IS_EXPANDABLE) => {
                    raw.segment.is_expandable = value == Value::Bool(true)
                }
                Value::Text(key::FRAMES) => raw.segment.stack = self.stack(value),
                Value::Text(key::BLOCKS) => {
                    raw.blocks = match self.list_of(Some(value)) {
                        List::Records(BLOCK, blocks) => blocks.clone(),
                        _ => Vec::new(),
                    };
                }
                Value::Text(key::REQUESTED_SIZE | key::FORWARD_FRAMES) => {}
                other => self.unknown_key(other, place),
            }
        }
        raw.segment.device = raw.device.unwrap_or(0);
        self.segments.push(raw);
        record(SEGMENT, self.segments.len().saturating_sub(1), "segments")
    }

    fn annotation(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        let mut annotation =
            Annotation { is_start: false, name: key::NOTHING, device: None, time_us: 0 };
        for (name, value) in pairs_of(pairs) {
            match (name, value) {
                (Value::Text(key::STAGE), stage) => {
                    annotation.is_start = stage == Value::Text(key::START)
                }
                (Value::Text(key::NAME), Value::Text(text)) => annotation.name = text,
                (Value::Text(key::DEVICE), device) => {
                    annotation.device = fields::device(device).ok().flatten()
                }
                (Value::Text(key::TIME_US), time) => {
                    annotation.time_us = fields::time(time).unwrap_or(0)
                }
                (other, _) => self.unknown_key(other, place),
            }
        }
        self.annotations.push(annotation);
        record(ANNOTATION, self.annotations.len().saturating_sub(1), "annotations")
    }

    fn former(&mut self, pairs: &[Value]) -> Result<Value> {
        let mut former = Former { real_size: None, stack: StackId::ABSENT };
        for (name, value) in pairs_of(pairs) {
            match name {
                Value::Text(key::REAL_SIZE) => {
                    former.real_size = Some(fields::size("real_size", value)?)
                }
                Value::Text(key::FRAMES) => former.stack = self.stack(value),
                _ => {}
            }
        }
        self.formers.push(former);
        record(FORMER, self.formers.len().saturating_sub(1), "former users")
    }

    fn top(&mut self, pairs: &[Value], place: &dyn Place) -> Value {
        for (name, value) in pairs_of(pairs) {
            match name {
                Value::Text(key::SEGMENTS) => self.top.segments = Some(value),
                Value::Text(key::DEVICE_TRACES) => self.top.device_traces = Some(value),
                Value::Text(key::ALLOCATOR_SETTINGS) => self.top.allocator_settings = Some(value),
                Value::Text(key::EXTERNAL_ANNOTATIONS) => {
                    self.top.external_annotations = Some(value)
                }
                Value::Text(key::HOST_SEGMENTS) => self.top.host_segments = Some(value),
                Value::Text(key::HOST_TRACES) => {}
                other => self.unknown_key(other, place),
            }
        }
        Value::Record(Record { kind: TOP, index: 0 })
    }

    fn plain(&mut self, pairs: &[Value]) -> Value {
        if self.plain.len() >= limits::PLAIN_DICTS {
            return Value::Opaque;
        }
        self.plain.push(pairs.to_vec());
        let index = u32::try_from(self.plain.len().saturating_sub(1)).unwrap_or(0);
        Value::Record(Record { kind: PLAIN, index })
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
                List::Entries(Vec::from([index..index.saturating_add(len)]))
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
                if indices.len() < values.len() {
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
        matches!(value, Value::Record(Record { kind: STACK, .. }))
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

fn pairs_of(pairs: &[Value]) -> impl Iterator<Item = (Value, Value)> + '_ {
    pairs.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value))
}

/// A text that says something: neither empty nor the writer's word for nothing.
fn said(value: Value) -> Option<TextId> {
    match value {
        Value::Text(key::NOTHING | key::NOT_APPLICABLE) => None,
        Value::Text(text) => Some(text),
        _ => None,
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
fn intern<T: PartialEq>(table: &mut Vec<T>, item: T, what: &str) -> Result<u16> {
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

fn record(kind: u8, index: usize, what: &str) -> Result<Value> {
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

impl RawBlock {
    /// The block in today's layout, at `address` where the file states none.
    pub(super) fn finished(&self, address: u64) -> Block {
        let Former { real_size, stack } =
            self.history.unwrap_or(Former { real_size: None, stack: StackId::ABSENT });
        let is_live = self.state != BlockState::Inactive;
        Block {
            address: self.address.unwrap_or(address),
            size: self.size,
            requested_size: self.requested_size.or(real_size).unwrap_or(self.size),
            state: self.state,
            // The history of an inactive block names its former users, not an owner.
            stack: if self.stack == StackId::ABSENT && is_live { stack } else { self.stack },
        }
    }
}
