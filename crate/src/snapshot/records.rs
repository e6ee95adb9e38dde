//! What each kind of dict is taken apart into.

use super::Annotation;
use super::decode::{
    ANNOTATION, BLOCK, Decoder, ENTRY, FORMER, FRAME, Former, List, PLAIN, POOL, RawBlock,
    RawSegment, SEGMENT, TOP, intern, record,
};
use super::fields;
use super::keys::{self as key};
use super::read::too_many_entries;
use super::segment::{Block, BlockState, PoolId, Segment};
use super::stack::{Frame, StackId};
use super::trace::{Action, Entry};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::pickle::{Place, Record, TextId, Value};
use crate::warning::WarningKind;

impl Decoder {
    fn stream(&mut self, value: Value) -> Result<u16> {
        let raw = fields::address("stream", value)?;
        intern(&mut self.streams, raw, "streams")
    }

    pub(super) fn frame(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
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

    pub(super) fn entry(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
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
        if index >= limits::ENTRIES as usize {
            return Err(too_many_entries(index as u64));
        }
        record(ENTRY, index, "entries")
    }

    pub(super) fn block(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
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

    pub(super) fn segment(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
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

    pub(super) fn annotation(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
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

    pub(super) fn former(&mut self, pairs: &[Value]) -> Result<Value> {
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

    pub(super) fn top(&mut self, pairs: &[Value], place: &dyn Place) -> Value {
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

    pub(super) fn plain(&mut self, pairs: &[Value]) -> Value {
        if self.plain.len() >= limits::PLAIN_DICTS {
            return Value::Opaque;
        }
        self.plain.push(pairs.to_vec());
        let index = u32::try_from(self.plain.len().saturating_sub(1)).unwrap_or(0);
        Value::Record(Record { kind: PLAIN, index })
    }
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

pub(super) fn pairs_of(pairs: &[Value]) -> impl Iterator<Item = (Value, Value)> + '_ {
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
