//! Snapshots made up for a test: a small training loop, written as the JSON form of a snapshot. All
//! of it lies in one segment, and no address is used twice, so that nothing but the loop shows.

use oomscope::compare::run::Run;
use oomscope::findings::Findings;
use oomscope::snapshot;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;

/// One MiB.
pub(crate) const MIB: u64 = 1 << 20;
const SEGMENT: u64 = 256 << 30;

/// What the program is.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Where its memory begins, which differs from process to process.
    pub(crate) base: u64,
    /// When it began, in µs.
    pub(crate) begin_us: i64,
    /// Where its files lie.
    pub(crate) folder: &'static str,
    /// Lines put in above its code.
    pub(crate) drift: u32,
    /// Bytes of the activations that each step's first layer makes.
    pub(crate) activations: u64,
    /// Bytes of the tensor that each step keeps; 0 for a program without a leak.
    pub(crate) kept: u64,
    /// The step in which a request fails.
    pub(crate) fails_in: Option<u32>,
}

impl Default for Program {
    fn default() -> Self {
        Program {
            base: 0x7f00_0000_0000,
            begin_us: 1_000_000,
            folder: "/home/me/job",
            drift: 0,
            activations: 64 * MIB,
            kept: 0,
            fails_in: None,
        }
    }
}

/// The program at work.
pub(crate) struct Recorder {
    program: Program,
    entries: Vec<Value>,
    live: BTreeMap<u64, (u64, Value)>,
    next: u64,
}

impl Recorder {
    /// Begins, and loads four weights of 4 MiB.
    pub(crate) fn new(program: Program) -> Self {
        let next = program.base;
        let mut recorder = Recorder { program, entries: Vec::new(), live: BTreeMap::new(), next };
        recorder.entry("segment_alloc", next, SEGMENT, &json!([]));
        for layer in 0..4 {
            let stack = recorder.stack(&[
                library("convert", "torch/nn/modules/module.py"),
                recorder.own("build", 5 + layer),
            ]);
            recorder.alloc(4 * MIB, &stack);
        }
        recorder
    }

    /// Runs steps, numbered from `first` on.
    pub(crate) fn steps(&mut self, numbers: std::ops::Range<u32>) -> &mut Self {
        for number in numbers {
            self.step(number);
        }
        self
    }

    fn step(&mut self, number: u32) {
        let forward = |this: &Self, line| {
            this.stack(&[
                this.own("forward", line),
                library("_call_impl", "torch/nn/modules/module.py"),
                this.own("train", 40),
            ])
        };
        let backward = self.stack(&[
            native("torch::autograd::generated::MmBackward0::apply(std::vector)"),
            native("torch::autograd::Engine::thread_main()"),
        ]);
        let inputs = self
            .stack(&[library("get_batch", "torch/utils/data/loader.py"), self.own("train", 39)]);
        let batch = self.alloc(self.program.activations / 64, &inputs);
        let first = self.alloc(self.program.activations, &forward(self, 20));
        let second = self.alloc(8 * MIB, &forward(self, 22));
        if self.program.fails_in == Some(number) {
            let stack = forward(self, 23);
            self.entry("oom", 0, 1 << 36, &stack);
            for address in [second, first, batch] {
                self.free(address, &stack);
            }
            return;
        }
        if self.program.kept > 0 {
            let stack = forward(self, 24);
            self.alloc(self.program.kept, &stack);
        }
        let scratch = self.alloc(2 * MIB, &backward);
        for address in [second, first, scratch] {
            self.free(address, &backward);
        }
        let optimizer = self.stack(&[library("step", "torch/optim/sgd.py"), self.own("train", 42)]);
        let scratch = self.alloc(MIB, &optimizer);
        self.free(scratch, &optimizer);
        self.free(batch, &optimizer);
    }

    fn alloc(&mut self, bytes: u64, stack: &Value) -> u64 {
        let address = self.next;
        self.next += bytes;
        self.entry("alloc", address, bytes, stack);
        self.live.insert(address, (bytes, stack.clone()));
        address
    }

    fn free(&mut self, address: u64, stack: &Value) {
        let (bytes, _) = self.live.remove(&address).unwrap();
        self.entry("free_requested", address, bytes, stack);
        self.entry("free_completed", address, bytes, stack);
    }

    fn entry(&mut self, action: &str, address: u64, size: u64, frames: &Value) {
        let time_us = self.program.begin_us + 10 * self.entries.len() as i64;
        self.entries.push(json!({"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": frames}));
    }

    fn own(&self, name: &str, line: u32) -> Value {
        json!({"name": name, "filename": format!("{}/train.py", self.program.folder), "line": line + self.program.drift})
    }

    fn stack(&self, frames: &[Value]) -> Value {
        Value::from(frames.to_vec())
    }

    /// What a dump at this moment says.
    pub(crate) fn snapshot(&self) -> Vec<u8> {
        let mut blocks = Vec::new();
        let mut at = self.program.base;
        for (address, (bytes, stack)) in &self.live {
            if *address > at {
                blocks.push(json!({"address": at, "size": address - at, "requested_size": 0, "state": "inactive", "frames": []}));
            }
            blocks.push(json!({"address": address, "size": bytes, "requested_size": bytes, "state": "active_allocated", "frames": stack}));
            at = address + bytes;
        }
        let end = self.program.base + SEGMENT;
        blocks.push(json!({"address": at, "size": end - at, "requested_size": 0, "state": "inactive", "frames": []}));
        let active: u64 = self.live.values().map(|(bytes, _)| bytes).sum();
        let segment = json!({
            "device": 0, "address": self.program.base, "total_size": SEGMENT, "allocated_size": active,
            "active_size": active, "requested_size": active, "stream": 0, "segment_type": "large",
            "segment_pool_id": [0, 0], "is_expandable": false, "frames": [], "blocks": blocks,
        });
        serde_json::to_vec(&json!({"segments": [segment], "device_traces": [self.entries]}))
            .unwrap()
    }

    /// The run at this moment.
    pub(crate) fn run(&self, name: &str) -> Run {
        run_of(self.snapshot(), name)
    }
}

/// The run in a snapshot's bytes.
pub(crate) fn run_of(bytes: Vec<u8>, name: &str) -> Run {
    let snapshot = snapshot::read(Cursor::new(bytes)).unwrap_or_else(|error| panic!("{error}"));
    Run::of(&snapshot, &Findings::of(&snapshot), name, &[]).unwrap()
}

fn library(name: &str, file: &str) -> Value {
    json!({"name": name, "filename": format!("/venv/lib/python3.12/site-packages/{file}"), "line": 1})
}

fn native(name: &str) -> Value {
    json!({"name": name, "filename": "??", "line": 0})
}
