//! Recordings written as lines of text: what a program asks for, where, and what its allocator does
//! by PyTorch's rules, so that a replay of them is exact.
//!
//! A line is `PLACE alloc NAME SIZE`, `PLACE free NAME`, `PLACE oom SIZE [FREE]`, `conf CONF`,
//! `note start NAME`, `note end NAME` or `forget`, which loses all entries so far. A size is in MiB,
//! or in KiB with a `K`. A place is the name of a stack, a line of the program behind a colon, and a
//! stream behind an `@`: `forward:20@1`.

use oomscope::snapshot::{self, Snapshot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;

/// One MiB.
pub(crate) const MIB: u64 = 1 << 20;
const BASE: u64 = 1 << 40;
/// Between two entries, in µs.
const TICK: i64 = 10;

/// A block of a segment: where, how large, and who holds it.
type Block = (u64, u64, Option<String>);

struct Segment {
    stream: u64,
    is_small: bool,
    blocks: Vec<Block>,
}

impl Segment {
    fn size(&self) -> u64 {
        self.blocks.iter().map(|(_, size, _)| size).sum()
    }
}

#[derive(Default)]
struct Recorder {
    entries: Vec<Value>,
    lost: usize,
    annotations: Vec<Value>,
    segments: BTreeMap<u64, Segment>,
    /// Of each name its segment, its block, its bytes, and its stream and frames.
    live: BTreeMap<String, (u64, u64, u64, u64, Value)>,
    mapped: u64,
    conf: String,
}

/// The recording of `lines`.
pub(crate) fn script(lines: &str) -> Snapshot {
    let bytes = written(lines);
    snapshot::read(Cursor::new(bytes)).unwrap_or_else(|error| panic!("{error}"))
}

/// The same as the JSON form of a snapshot.
pub(crate) fn written(lines: &str) -> Vec<u8> {
    let mut recorder = Recorder::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        recorder.line(line);
    }
    recorder.file()
}

impl Recorder {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["conf", conf] => self.conf = conf.to_owned(),
            ["forget"] => {
                self.lost += self.entries.len();
                self.entries.clear();
            }
            ["note", stage, name] => {
                let stage = stage.to_uppercase();
                self.annotations.push(
                    json!({"stage": stage, "name": name, "device": 0, "time_us": self.now()}),
                );
            }
            [place, "alloc", name, size] => self.alloc(place, name, bytes_of(size)),
            [place, "free", name] => self.free(place, name),
            [place, "oom", size] => self.oom(place, bytes_of(size), 0),
            [place, "oom", size, free] => self.oom(place, bytes_of(size), bytes_of(free)),
            _ => panic!("{line} is no line"),
        }
    }

    fn now(&self) -> i64 {
        TICK * (self.lost + self.entries.len()) as i64
    }

    fn put(&mut self, action: &str, address: u64, size: u64, stream: u64, frames: &Value) {
        let key = if action == "oom" { "device_free" } else { "addr" };
        let mut entry =
            json!({"action": action, "size": size, "stream": stream, "time_us": self.now()});
        entry[key] = address.into();
        if !frames.is_null() {
            entry["frames"] = frames.clone();
        }
        self.entries.push(entry);
    }

    /// Best fit of the pool and stream, or a new segment.
    fn alloc(&mut self, place: &str, name: &str, bytes: u64) {
        let (stream, frames) = stack(place);
        let is_small = bytes <= MIB;
        let rounded = bytes.max(512).next_multiple_of(512);
        let hole = |segments: &BTreeMap<u64, Segment>| {
            let pool = segments
                .iter()
                .filter(|(_, segment)| (segment.stream, segment.is_small) == (stream, is_small));
            let holes = pool.flat_map(|(base, segment)| {
                let free = segment.blocks.iter().filter(|(_, _, holder)| holder.is_none());
                free.map(|(address, size, _)| (*size, *address, *base))
            });
            holes.filter(|(size, ..)| *size >= rounded).min()
        };
        if hole(&self.segments).is_none() {
            let size = match rounded {
                _ if is_small => 2 * MIB,
                _ if rounded < 10 * MIB => 20 * MIB,
                _ => rounded.next_multiple_of(2 * MIB),
            };
            let base = BASE + self.mapped;
            self.mapped += size;
            self.put("segment_alloc", base, size, stream, &frames);
            let blocks = vec![(base, size, None)];
            self.segments.insert(base, Segment { stream, is_small, blocks });
        }
        let (size, address, base) = hole(&self.segments).unwrap();
        let rest = size - rounded;
        let splits = if is_small { rest >= 512 } else { rest > MIB };
        let blocks = &mut self.segments.get_mut(&base).unwrap().blocks;
        let at = blocks.iter().position(|(start, ..)| *start == address).unwrap();
        blocks[at] = (address, if splits { rounded } else { size }, Some(name.to_owned()));
        if splits {
            blocks.insert(at + 1, (address + rounded, rest, None));
        }
        self.put("alloc", address, bytes, stream, &frames);
        let old = self.live.insert(name.to_owned(), (base, address, bytes, stream, frames));
        assert!(old.is_none(), "{name} is there already");
    }

    fn free(&mut self, place: &str, name: &str) {
        let (base, address, bytes, stream, _) =
            self.live.remove(name).unwrap_or_else(|| panic!("there is no {name}"));
        let frames = stack(place).1;
        self.put("free_requested", address, bytes, stream, &frames);
        self.put("free_completed", address, bytes, stream, &frames);
        let blocks = &mut self.segments.get_mut(&base).unwrap().blocks;
        let mut merged: Vec<Block> = Vec::new();
        for (start, size, holder) in blocks.drain(..) {
            let holder = holder.filter(|_| start != address);
            match merged.last_mut() {
                Some((_, before, None)) if holder.is_none() => *before += size,
                _ => merged.push((start, size, holder)),
            }
        }
        *blocks = merged;
    }

    /// Before it gives up, the allocator returns every segment in which nothing lives.
    fn oom(&mut self, place: &str, bytes: u64, free: u64) {
        let (stream, frames) = stack(place);
        let is_idle =
            |segment: &Segment| segment.blocks.iter().all(|(.., holder)| holder.is_none());
        let idle: Vec<u64> = self
            .segments
            .iter()
            .filter(|(_, segment)| is_idle(segment))
            .map(|(base, _)| *base)
            .collect();
        for base in idle {
            let segment = self.segments.remove(&base).unwrap();
            self.put("segment_free", base, segment.size(), segment.stream, &frames);
        }
        self.put("oom", free, bytes, stream, &frames);
    }

    fn file(self) -> Vec<u8> {
        let segments: Vec<Value> = self
            .segments
            .iter()
            .map(|(base, segment)| {
                let blocks: Vec<Value> = segment.blocks.iter().map(|block| self.block(block)).collect();
                json!({
                    "device": 0, "address": base, "total_size": segment.size(), "stream": segment.stream,
                    "segment_type": if segment.is_small { "small" } else { "large" },
                    "segment_pool_id": [0, 0], "is_expandable": false, "frames": [], "blocks": blocks,
                })
            })
            .collect();
        let expandable = self.conf.contains("expandable_segments:True");
        let settings =
            json!({"PYTORCH_CUDA_ALLOC_CONF": self.conf, "expandable_segments": expandable});
        serde_json::to_vec(&json!({
            "segments": segments, "device_traces": [self.entries],
            "allocator_settings": settings, "external_annotations": self.annotations,
        }))
        .unwrap()
    }

    fn block(&self, (address, size, holder): &Block) -> Value {
        match holder.as_ref().map(|name| &self.live[name]) {
            Some((.., bytes, _, frames)) => {
                json!({"address": address, "size": size, "requested_size": bytes, "state": "active_allocated", "frames": frames.as_array().cloned().unwrap_or_default()})
            }
            None => {
                json!({"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []})
            }
        }
    }
}

fn bytes_of(size: &str) -> u64 {
    match size.strip_suffix('K') {
        Some(kib) => kib.parse::<u64>().unwrap() << 10,
        None => size.parse::<u64>().unwrap_or_else(|_| panic!("{size} is no size")) * MIB,
    }
}

/// The stream and the frames of a place, innermost first; null for one without a stack.
fn stack(place: &str) -> (u64, Value) {
    let (place, stream) = place.split_once('@').unwrap_or((place, "0"));
    let (name, line) = place.split_once(':').unwrap_or((place, "1"));
    let line: u32 = line.parse().unwrap();
    let own =
        |name: &str, line: u32| json!({"name": name, "filename": "/job/train.py", "line": line});
    let torch = |name: &str, file: &str| json!({"name": name, "filename": format!("/lib/python3.12/site-packages/torch/{file}"), "line": 7});
    let native = |name: &str| json!({"name": name, "filename": "??", "line": 0});
    let call = torch("_call_impl", "nn/modules/module.py");
    let engine = native("torch::autograd::Engine::thread_main()");
    let step = torch("step", "optim/adamw.py");
    let frames = match name {
        "none" => return (stream.parse().unwrap(), Value::Null),
        "empty" => vec![],
        // A module is built, and its parameters brought to the device.
        "load" => vec![torch("convert", "nn/modules/module.py"), own("build", line)],
        "forward" => vec![own("forward", line), call, own("train", 40)],
        // Each of several blocks is called from one line of the model.
        "block" => {
            vec![own("block", line), call.clone(), own("forward", 30), call, own("train", 40)]
        }
        "attention" => vec![own("attention", line), call, own("train", 40)],
        "cast" => {
            vec![native("at::autocast::cached_cast"), own("forward", line), call, own("train", 40)]
        }
        "loss" => vec![torch("cross_entropy", "nn/functional.py"), own("train", line)],
        "hook" => vec![own("keep", line), call, own("train", 40)],
        "cache" => vec![own("update_cache", line), call, own("generate", 50)],
        "generate" => vec![own("forward", line), call, own("generate", 50)],
        "backward" => vec![native("torch::autograd::generated::MmBackward0::apply"), engine],
        "saved" => vec![native("torch::autograd::SavedVariable::reset_data()"), engine],
        "recompute" => {
            vec![own("forward", line), call, torch("recompute_fn", "utils/checkpoint.py"), engine]
        }
        "state" => vec![torch("_init_group", "optim/adamw.py"), step, own("train", 42)],
        "step" => vec![step, own("train", 42)],
        "clip" => vec![torch("clip_grad_norm_", "nn/utils/clip_grad.py"), own("train", 41)],
        "zero" => vec![torch("zero_grad", "optim/optimizer.py"), own("train", 43)],
        "data" => vec![own("get_batch", line), own("train", 39)],
        "own" => vec![own("train", line)],
        "other" => vec![own("evaluate", line), own("train", 60)],
        "collector" => vec![native("gc_collect_main"), own("train", line)],
        "workspace" => vec![
            native("at::cuda::getCUDABlasLtWorkspace"),
            own("forward", line),
            call,
            own("train", 40),
        ],
        "reduce" => vec![native("c10d::Reducer::Reducer"), own("train", line)],
        "set_grad" => vec![native("THPVariable_set_grad"), own("train", line)],
        "adagrad" => vec![torch("__init__", "optim/adagrad.py"), own("train", line)],
        "left" => vec![own("left", 5), own("train", line)],
        "right" => vec![own("forward", 6), call, own("train", line)],
        "thread" => vec![own("watch", line)],
        other => panic!("{other} is no place"),
    };
    (stream.parse().unwrap(), Value::from(frames))
}
