//! Traces drawn as lines of text, for tests.

use crate::snapshot::{self, Snapshot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;

pub(super) const MIB: u64 = 1 << 20;
const BASE: u64 = 1 << 40;
const SEGMENT: u64 = 1 << 40;

/// The snapshot of a trace of `alloc NAME MIB` and `free NAME`, which is two entries: the second
/// makes the block reusable. The segment is older than the trace, and a name freed before it was
/// allocated (`free NAME MIB`) is too. No address is used twice.
pub(super) fn drawn(lines: &str) -> Snapshot {
    drawn_on_devices(&[lines])
}

/// The same for several devices.
pub(super) fn drawn_on_devices(devices: &[&str]) -> Snapshot {
    let (mut segments, mut traces) = (Vec::new(), Vec::new());
    for (device, lines) in devices.iter().enumerate() {
        let mut trace: Vec<Value> = Vec::new();
        let mut blocks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        let mut next = BASE;
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split(' ').collect();
            if let Some(mib) = words.get(2) {
                let bytes = mib.parse::<u64>().unwrap() * MIB;
                blocks.insert(words[1], (next, bytes));
                next += bytes;
            }
            let (address, bytes) = blocks[words[1]];
            let mut put = |action: &str| {
                trace.push(json!({"action": action, "addr": address, "size": bytes, "stream": 0}));
            };
            match words[0] {
                "alloc" => {
                    put("alloc");
                    live.insert(address, bytes);
                }
                "free" => {
                    put("free_requested");
                    put("free_completed");
                    live.remove(&address);
                }
                other => panic!("{other} is no action"),
            }
        }
        let (mut tiles, mut at) = (Vec::new(), BASE);
        for (address, bytes) in live {
            if address > at {
                tiles.push(json!({"address": at, "size": address - at, "state": "inactive"}));
            }
            tiles.push(json!({"address": address, "size": bytes, "requested_size": bytes, "state": "active_allocated"}));
            at = address + bytes;
        }
        tiles.push(json!({"address": at, "size": BASE + SEGMENT - at, "state": "inactive"}));
        segments.push(json!({"device": device, "address": BASE, "total_size": SEGMENT, "stream": 0, "segment_type": "large", "blocks": tiles}));
        traces.push(trace);
    }
    let text = json!({"segments": segments, "device_traces": traces}).to_string();
    snapshot::read(Cursor::new(text.into_bytes())).unwrap()
}
