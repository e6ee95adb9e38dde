//! The records of a complete file become a [`Snapshot`], old layouts in today's form.

use super::decode::{ANNOTATION, Decoder, LIST, List, PLAIN, SEGMENT, TOP};
use super::segment::{Block, BlockState};
use super::settings::Settings;
use super::trace::Entries;
use super::{Snapshot, Wrapping};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::pickle::{Record, TextId, Value};
use crate::warning::WarningKind;
use std::ops::Range;

/// Makes a snapshot of what was read; `value` is the file's own value.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] when the value is none, saying what it probably is.
pub(super) fn assemble(mut decoder: Decoder, value: Value, wrapping: Wrapping) -> Result<Snapshot> {
    let top = decoder.top;
    let segments = match value {
        Value::Record(Record { kind: TOP, .. }) => top.segments,
        // torch.cuda.memory_snapshot() returns the list of segments alone.
        Value::Record(Record { kind: LIST, .. }) if is_segments(&decoder, value) => Some(value),
        _ => return Err(other_file(&decoder, value)),
    };
    let settings = settings(&decoder, top.allocator_settings);
    let annotations = match decoder.list_of(top.external_annotations) {
        List::Records(ANNOTATION, indices) => indices
            .iter()
            .filter_map(|index| decoder.annotations.get(*index as usize))
            .copied()
            .collect(),
        _ => Vec::new(),
    };
    let pinned_host_bytes = records(&decoder, top.host_segments, SEGMENT)
        .iter()
        .filter_map(|index| decoder.segments.get(*index as usize))
        .filter_map(|raw| raw.active_size)
        .fold(0, u64::saturating_add);
    let trace_lists = trace_lists(&decoder, top.device_traces);
    if trace_lists.len() > limits::DEVICES {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("the file has traces of more than {} devices", limits::DEVICES),
        ));
    }
    let mut snapshot =
        Snapshot { wrapping, settings, annotations, pinned_host_bytes, ..Snapshot::default() };
    take_segments(&mut decoder, segments, &mut snapshot);
    let Decoder { texts, stacks, entries, streams, pools, warnings, .. } = decoder;
    (snapshot.entries, snapshot.traces) = gathered(entries, &trace_lists);
    snapshot.texts = texts;
    snapshot.stacks = stacks;
    snapshot.streams = streams;
    snapshot.pools = pools;
    snapshot.warnings = warnings;
    Ok(snapshot)
}

fn is_segments(decoder: &Decoder, value: Value) -> bool {
    matches!(decoder.list_of(Some(value)), List::Empty | List::Records(SEGMENT, _))
}

fn records(decoder: &Decoder, value: Option<Value>, kind: u8) -> Vec<u32> {
    match decoder.list_of(value) {
        List::Records(listed, indices) if *listed == kind => indices.clone(),
        _ => Vec::new(),
    }
}

/// The ranges of entries of each device.
fn trace_lists(decoder: &Decoder, value: Option<Value>) -> Vec<Vec<Range<u32>>> {
    let ranges_of = |list: &List| match list {
        List::Entries(ranges) => ranges.clone(),
        _ => Vec::new(),
    };
    match decoder.list_of(value) {
        List::Records(LIST, lists) => lists
            .iter()
            .map(|index| decoder.lists.get(*index as usize).map(ranges_of).unwrap_or_default())
            .collect(),
        // A flat list of entries is not PyTorch's, but plain enough.
        List::Entries(ranges) => vec![ranges.clone()],
        _ => Vec::new(),
    }
}

/// The entries in the order of the traces. As a rule they were written in it.
fn gathered(entries: Entries, lists: &[Vec<Range<u32>>]) -> (Entries, Vec<Range<usize>>) {
    let single = |ranges: &Vec<Range<u32>>| match ranges.as_slice() {
        [] => Some(0..0),
        [range] => Some(range.start as usize..range.end as usize),
        _ => None,
    };
    if let Some(traces) = lists.iter().map(single).collect() {
        return (entries, traces);
    }
    let mut gathered = Entries::default();
    let mut traces = Vec::new();
    for ranges in lists {
        let begin = gathered.len();
        for index in ranges.iter().cloned().flatten() {
            if let Some(entry) = entries.get(index as usize) {
                gathered.push(entry);
            }
        }
        traces.push(begin..gathered.len());
    }
    (gathered, traces)
}

fn take_segments(decoder: &mut Decoder, value: Option<Value>, snapshot: &mut Snapshot) {
    for (place, index) in records(decoder, value, SEGMENT).into_iter().enumerate() {
        let Some(raw) = decoder.segments.get_mut(index as usize) else { continue };
        if raw.device.is_none() {
            continue;
        }
        let mut segment = raw.segment.clone();
        let (stated_active, stated_allocated) = (raw.active_size, raw.allocated_size);
        let begin = snapshot.blocks.len();
        let mut next = segment.address;
        let (mut active, mut allocated) = (0_u64, 0_u64);
        let mut fills = true;
        for index in std::mem::take(&mut raw.blocks) {
            let Some(block) = decoder.blocks.get(index as usize) else { continue };
            let block = block.finished(next);
            fills &= block.address == next;
            next = block.address.saturating_add(block.size);
            if block.state != BlockState::Inactive {
                active = active.saturating_add(block.size);
            }
            if block.state == BlockState::ActiveAllocated {
                allocated = allocated.saturating_add(block.size);
            }
            snapshot.blocks.push(block);
        }
        if begin == snapshot.blocks.len() {
            snapshot.blocks.push(Block {
                address: segment.address,
                size: segment.total_size,
                requested_size: 0,
                state: BlockState::Inactive,
                stack: super::stack::StackId::ABSENT,
            });
            next = segment.address.saturating_add(segment.total_size);
        }
        segment.blocks = begin..snapshot.blocks.len();
        if segment.total_size == 0 {
            segment.total_size = next.saturating_sub(segment.address);
        }
        if !fills || next != segment.address.saturating_add(segment.total_size) {
            decoder
                .warnings
                .add(WarningKind::BlocksDoNotFillSegment, || format!("segments[{place}]"));
        } else if stated_active.is_some_and(|stated| stated != active)
            || stated_allocated.is_some_and(|stated| stated != allocated)
        {
            decoder
                .warnings
                .add(WarningKind::SegmentTotalsDisagree, || format!("segments[{place}]"));
        }
        snapshot.segments.push(segment);
    }
}

fn plain_pairs(decoder: &Decoder, value: Option<Value>) -> impl Iterator<Item = (&str, Value)> {
    let pairs = match value {
        Some(Value::Record(Record { kind: PLAIN, index })) => {
            decoder.plain.get(index as usize).map(Vec::as_slice).unwrap_or_default()
        }
        _ => &[],
    };
    pairs.chunks_exact(2).filter_map(|pair| match pair {
        [Value::Text(key), value] => Some((decoder.texts.get(*key), *value)),
        _ => None,
    })
}

fn settings(decoder: &Decoder, value: Option<Value>) -> Option<Settings> {
    value?;
    let text = |id: TextId| decoder.texts.get(id).to_owned();
    let mut settings = Settings::default();
    for (key, value) in plain_pairs(decoder, value) {
        match (key, value) {
            (
                "PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_ALLOC_CONF" | "PYTORCH_HIP_ALLOC_CONF",
                Value::Text(conf),
            ) => settings.conf = text(conf),
            ("max_split_size", Value::Int(size)) => {
                settings.max_split_size = u64::try_from(size).ok()
            }
            ("garbage_collection_threshold", Value::Float(fraction)) if fraction.is_finite() => {
                settings.garbage_collection_threshold = fraction
            }
            ("expandable_segments", Value::Bool(on)) => settings.expandable_segments = on,
            ("roundup_power2_divisions", table) => {
                for (mebibytes, divisions) in plain_pairs(decoder, Some(table)) {
                    let interval = mebibytes.parse::<u32>().ok().and_then(u32::checked_ilog2);
                    let place = interval.and_then(|interval| {
                        settings.roundup_power2_divisions.get_mut(interval as usize)
                    });
                    if let (Some(place), Value::Int(divisions)) = (place, divisions) {
                        *place = u64::try_from(divisions).unwrap_or(0);
                    }
                }
            }
            _ => {}
        }
    }
    Some(settings)
}

/// What a file that is no snapshot probably is.
#[cold]
fn other_file(decoder: &Decoder, value: Value) -> Error {
    let keys: Vec<&str> = plain_pairs(decoder, Some(value)).map(|(key, _)| key).collect();
    let has = |name: &str| keys.contains(&name);
    let what = if has("allocated_bytes.all.current") || has("num_alloc_retries") {
        "this is what torch.cuda.memory_stats() returns: counters of one moment, without blocks or stacks".to_owned()
    } else if has("traceEvents") {
        "this is a trace of torch.profiler, not a memory snapshot".to_owned()
    } else if has("state_dict") || has("model_state_dict") || has("optimizer_state_dict") {
        "this is a training checkpoint, not a memory snapshot".to_owned()
    } else if let [first, ..] = keys.as_slice() {
        let first: String = first.chars().take(40).collect();
        format!(
            "this is a dict with {} keys, the first {first:?}, but neither segments nor device_traces",
            keys.len()
        )
    } else {
        "the file holds neither segments nor device_traces".to_owned()
    };
    Error::new(ErrorKind::NotASnapshot, what)
}
