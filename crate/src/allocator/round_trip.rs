//! There and back: what the allocator does with a made-up program is written as a trace, and must be
//! read as the same program, whose replay is the same to the byte.

use super::block::State;
use super::cache::{Allocator, Bounds};
use super::driver::Reservations;
use super::program::Request;
use super::settings::{MIB, SMALL_SEGMENT, Settings};
use super::verify::Recording;
use crate::snapshot::{self, Snapshot};
use crate::timeline::Timeline;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;

/// A program at work, and its trace.
struct Run {
    settings: Settings,
    allocator: Allocator<'static>,
    entries: Vec<Value>,
    /// Address and request of what is held.
    live: BTreeMap<u32, (u64, u64)>,
    /// Whose each range is.
    streams: BTreeMap<u64, u16>,
    time_us: i64,
    clears: u32,
}

impl Run {
    fn new(conf: &str, limit: Option<u64>) -> Run {
        let settings = Settings::parse(conf).unwrap().settings;
        let driver = Box::new(Reservations::default());
        let mut allocator =
            Allocator::new(settings.clone(), Bounds { limit, capacity: None }, driver);
        allocator.log = Some(Vec::new());
        let (live, streams) = (BTreeMap::new(), BTreeMap::new());
        Run { settings, allocator, entries: Vec::new(), live, streams, time_us: 0, clears: 0 }
    }

    fn entry(&mut self, action: &str, address: u64, size: u64, stream: u16) {
        self.entries.push(json!({"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.time_us}));
    }

    /// Writes what came and went; answers how many lines that took.
    fn lines(&mut self, stream: u16) -> usize {
        let lines = self.allocator.log.replace(Vec::new()).unwrap();
        for line in &lines {
            let action = line.action.name();
            let stream = if action.ends_with("alloc") || action.ends_with("_map") {
                self.streams.insert(line.address, stream);
                stream
            } else {
                self.stream_of(line.address)
            };
            self.entry(action, line.address, line.size, stream);
        }
        lines.len()
    }

    fn stream_of(&self, address: u64) -> u16 {
        *self.streams.range(..=address).next_back().unwrap().1
    }

    fn alloc(&mut self, id: u32, size: u64, stream: u16) {
        self.time_us += 1_000_000;
        let fits = self.allocator.allocate(0, id, Request { size, stream, pool: 0 }).is_ok();
        self.lines(stream);
        if fits {
            let address = self.allocator.address_of(id).unwrap();
            self.entry("alloc", address, size, stream);
            self.live.insert(id, (address, size));
        } else {
            let size = self.settings.rounded(size);
            self.entries.push(json!({"action": "oom", "device_free": 1_u64 << 40, "size": size, "stream": stream, "time_us": self.time_us}));
            let all: Vec<u32> = self.live.keys().copied().collect();
            all.into_iter().for_each(|id| self.free(id));
        }
    }

    fn free(&mut self, id: u32) {
        self.time_us += 1_000_000;
        let (address, size) = self.live.remove(&id).unwrap();
        let stream = self.stream_of(address);
        self.entry("free_requested", address, size, stream);
        self.entry("free_completed", address, size, stream);
        self.allocator.complete(id);
    }

    fn clear(&mut self) {
        self.time_us += 1_000_000;
        self.allocator.release_cached();
        self.clears += u32::from(self.lines(0) > 0);
    }

    /// Requests of all sizes on two streams, frees and cleared caches.
    fn play(&mut self, seed: u64, steps: u32) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed);
        let mut roll = |sides: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % sides
        };
        for id in 0..steps {
            match roll(100) {
                0..55 => {
                    let magnitude = 3 + roll(24);
                    let size = 1 + roll(1 << magnitude);
                    self.alloc(id, size, u16::from(roll(4) == 0));
                }
                55..98 if !self.live.is_empty() => {
                    let place = roll(self.live.len() as u64) as usize;
                    let id = *self.live.keys().nth(place).unwrap();
                    self.free(id);
                }
                98.. => self.clear(),
                _ => {}
            }
        }
    }

    /// What a dump at this moment says.
    fn snapshot(&self, conf: &str) -> Snapshot {
        let requests: BTreeMap<u64, u64> = self.live.values().copied().collect();
        let mut segments = Vec::new();
        for chain in self.allocator.segments() {
            for mapped in chain.split(|(.., state)| *state == State::Unmapped) {
                let Some((address, ..)) = mapped.first() else { continue };
                let total: u64 = mapped.iter().map(|(_, size, _)| size).sum();
                let is_small = if self.settings.expandable_segments {
                    !total.is_multiple_of(10 * SMALL_SEGMENT)
                } else {
                    total == SMALL_SEGMENT
                };
                let blocks = mapped.iter().map(|(address, size, state)| match state {
                    State::Allocated => json!({"address": address, "size": size, "requested_size": requests[address], "state": "active_allocated"}),
                    _ => json!({"address": address, "size": size, "state": "inactive"}),
                });
                segments.push(json!({
                    "device": 0, "address": address, "total_size": total, "stream": self.stream_of(*address),
                    "segment_type": if is_small { "small" } else { "large" },
                    "is_expandable": self.settings.expandable_segments, "blocks": blocks.collect::<Vec<_>>(),
                }));
            }
        }
        let divisions: BTreeMap<String, u64> = (0..16)
            .map(|power| {
                let divisions = self.settings.roundup_power2_divisions[power as usize];
                ((1_u64 << power).to_string(), divisions)
            })
            .collect();
        let limit = self.settings.max_split_size.map_or(json!(-1), |size| json!(size));
        let told = json!({
            "PYTORCH_CUDA_ALLOC_CONF": conf, "max_split_size": limit,
            "garbage_collection_threshold": self.settings.garbage_collection_threshold,
            "expandable_segments": self.settings.expandable_segments,
            "roundup_power2_divisions": divisions,
        });
        let text = json!({"segments": segments, "device_traces": [self.entries], "allocator_settings": told});
        snapshot::read(Cursor::new(text.to_string().into_bytes())).unwrap()
    }
}

const CONFS: [&str; 5] = [
    "",
    "max_split_size_mb:32",
    "garbage_collection_threshold:0.6",
    "roundup_power2_divisions:4",
    "large_segment_size_mb:40,max_non_split_rounding_mb:64,max_split_size_mb:64",
];

#[test]
fn a_trace_of_the_allocators_own_replays_to_the_byte() {
    for conf in CONFS {
        for (seed, limit) in [(1, None), (2, Some(400)), (3, Some(150))] {
            let limit = limit.map(|limit| limit * MIB);
            let mut run = Run::new(conf, limit);
            run.play(seed, 600);
            let snapshot = run.snapshot(conf);
            let timeline = Timeline::replay(&snapshot, 0);
            let what = format!("{conf:?} within {limit:?}");
            let warnings = timeline.warnings.as_slice();
            assert!(warnings.is_empty(), "{what}: {warnings:?}");
            assert_eq!(timeline.peaks.reserved.bytes, run.allocator.totals().peak_reserved);
            let Recording { program, verification } = Recording::of(&snapshot, &timeline);
            assert!(verification.is_identical(), "{what}: {verification:?}");
            let bounds = verification.limit;
            let limit = limit.unwrap_or(u64::MAX);
            assert!(bounds.at_least <= limit, "{what}: {bounds:?}");
            assert!(bounds.below.is_none_or(|below| limit < below), "{what}: {bounds:?}");
            assert_eq!(bounds.capacity, None, "{what}");
            let allocs = run.entries.iter().filter(|entry| entry["action"] == "alloc");
            assert_eq!(program.requests.len(), allocs.count(), "{what}");
            assert_eq!(verification.releases.by_program, run.clears, "{what}");
        }
    }
}
