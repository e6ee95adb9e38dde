//! A trace made up of the input: its timeline, its findings, and what the allocator would have made
//! of it under every setting.
#![no_main]

#[path = "../../everything.rs"]
mod everything;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use oomscope::findings::Findings;
use oomscope::snapshot::trace::Action;
use oomscope::snapshot::{Snapshot, read};
use oomscope::view::question::{EmptyCache, Question};
use oomscope::view::setting_table::SettingTable;
use serde_json::{Value, json};
use std::io::Cursor;

/// One of few addresses, so that they meet again, or any at all.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Address {
    Page(u8),
    Inside(u8, u16),
    High(u8),
    Any(u64),
}

impl Address {
    fn bytes(self) -> u64 {
        match self {
            Address::Page(page) => 0x7f00_0000_0000 + (u64::from(page) << 21),
            Address::Inside(page, offset) => {
                0x7f00_0000_0000 + (u64::from(page) << 21) + u64::from(offset) * 512
            }
            Address::High(pages) => u64::MAX - (u64::from(pages) << 21),
            Address::Any(bytes) => bytes,
        }
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    Bytes(u16),
    Pages(u8),
    Absurd(u64),
}

impl Size {
    fn bytes(self) -> u64 {
        match self {
            Size::Bytes(bytes) => u64::from(bytes),
            Size::Pages(pages) => u64::from(pages) << 21,
            Size::Absurd(bytes) => bytes % ((1 << 60) + 1),
        }
    }
}

const ACTIONS: [Action; 11] = [
    Action::Alloc,
    Action::FreeRequested,
    Action::FreeCompleted,
    Action::SegmentAlloc,
    Action::SegmentFree,
    Action::SegmentMap,
    Action::SegmentUnmap,
    Action::Snapshot,
    Action::Oom,
    Action::Annotate,
    Action::Other,
];

#[derive(Arbitrary, Debug)]
struct Entry {
    /// One of [`ACTIONS`].
    action: u8,
    address: Address,
    size: Size,
    /// Streams, pool, device, whether the clock goes back, and the stack.
    bits: u8,
    stack: u8,
}

#[derive(Arbitrary, Debug)]
enum Kind {
    Allocated,
    Pending,
    Inactive,
}

#[derive(Arbitrary, Debug)]
struct Segment {
    address: Address,
    bits: u8,
    blocks: Vec<(Size, Size, Kind)>,
}

#[derive(Arbitrary, Debug)]
struct Trace {
    conf: u8,
    max_split: Option<i32>,
    limit: Size,
    capacity: Size,
    segments: Vec<Segment>,
    entries: Vec<Entry>,
}

const CONFS: [&str; 6] = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "garbage_collection_threshold:0.5",
    "roundup_power2_divisions:[1:8,64:2,>:4]",
    "expandable_segments:True,max_split_size_mb:32,garbage_collection_threshold:0.7",
];

const FRAMES: [(&str, &str); 8] = [
    ("forward", "torch/nn/modules/linear.py"),
    ("forward", "model.py"),
    ("backward", "torch/autograd/__init__.py"),
    ("step", "torch/optim/adam.py"),
    ("zero_grad", "torch/optim/optimizer.py"),
    ("train", "train.py"),
    ("generate", "transformers/generation/utils.py"),
    ("at::empty", "??"),
];

impl Trace {
    fn json(&self) -> Value {
        let frames = |stack: u8| -> Value {
            let frame = |place: usize| {
                let (name, filename) = FRAMES[place];
                json!({"name": name, "filename": filename, "line": place})
            };
            (0..8).filter(|place| stack >> place & 1 == 1).map(frame).collect()
        };
        let segment = |segment: &Segment| {
            let total: u64 = segment.blocks.iter().map(|(size, ..)| size.bytes() % (1 << 40)).sum();
            let block = |(size, requested, kind): &(Size, Size, Kind)| {
                let state = match kind {
                    Kind::Allocated => "active_allocated",
                    Kind::Pending => "active_pending_free",
                    Kind::Inactive => "inactive",
                };
                json!({"size": size.bytes() % (1 << 40), "requested_size": requested.bytes(), "state": state})
            };
            let bits = segment.bits;
            let kind = if bits >> 2 & 1 == 1 { "large" } else { "small" };
            json!({"device": bits & 1, "address": segment.address.bytes(), "total_size": total,
                "stream": bits >> 1 & 1, "segment_type": kind,
                "segment_pool_id": [bits >> 3 & 1, 0], "is_expandable": bits >> 4 & 1 == 1,
                "blocks": segment.blocks.iter().map(block).collect::<Value>()})
        };
        let entry = |(place, entry): (usize, &Entry)| {
            let bits = entry.bits;
            let action = ACTIONS[usize::from(entry.action) % ACTIONS.len()];
            let time = if bits >> 3 & 1 == 1 { 0 } else { place };
            json!({"action": action.name(), "addr": entry.address.bytes(), "device_free": entry.address.bytes(),
                "size": entry.size.bytes(), "stream": bits & 3, "pool_id": [bits >> 2 & 1, 0],
                "time_us": time, "frames": frames(entry.stack)})
        };
        let of = |device: u8| -> Value {
            let entries = self.entries.iter().enumerate();
            entries.filter(|(_, entry)| entry.bits >> 7 == device).map(entry).collect()
        };
        let conf = CONFS[usize::from(self.conf) % CONFS.len()];
        json!({"segments": self.segments.iter().map(segment).collect::<Value>(), "device_traces": [of(0), of(1)],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": conf, "max_split_size": self.max_split.unwrap_or(-1),
                "expandable_segments": conf.contains("expandable"), "garbage_collection_threshold": 0.0}})
    }
}

/// The page's table of settings, until it is complete.
fn replay(snapshot: &Snapshot, findings: &Findings, question: &Question) {
    for device in &findings.devices {
        let table = SettingTable::new(snapshot, findings, device, question.clone());
        let Some(mut table) = table else { continue };
        while !table.is_complete() {
            table.advance(snapshot, device);
        }
        let _ = table.view();
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::arbitrary(&mut Unstructured::new(bytes)) else { return };
    let text = trace.json().to_string();
    let Ok(snapshot) = read(Cursor::new(text.into_bytes())) else { return };
    let _ = everything::everything(&snapshot);
    let findings = Findings::of(&snapshot);
    let empty_cache = [EmptyCache::Recorded, EmptyCache::Never, EmptyCache::EveryStep];
    let question = Question {
        limit: Some(trace.limit.bytes()),
        capacity: Some(trace.capacity.bytes()),
        empty_cache: empty_cache[usize::from(trace.conf) / 86],
        ..Question::default()
    };
    replay(&snapshot, &findings, &question);
    for device in &findings.devices {
        let timeline = &device.timeline;
        for entry in 0..timeline.entries() {
            let held = timeline.live_after(entry).map(|(_, allocation)| allocation.size);
            let held: u128 = held.map(u128::from).sum();
            // Past 64 bits the totals stay at their end, and mean nothing from there on.
            if held > u64::MAX.into() {
                break;
            }
            assert_eq!(held, timeline.usage_after(entry).allocated.into());
        }
    }
});
