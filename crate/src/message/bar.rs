//! The device's memory as one bar, of parts that sum to it.

use super::facts::Facts;
use serde::Serialize;

/// One part.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Part {
    /// Its name for programs.
    pub key: &'static str,
    /// The same for people.
    pub label: &'static str,
    /// Its bytes.
    pub bytes: u64,
}

/// What the device's memory held at the failure.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Bar {
    /// The parts, those of PyTorch first; none is empty.
    pub parts: Vec<Part>,
    /// Their sum.
    pub total_bytes: u64,
    /// The device's memory, or the limit where only that is told.
    pub capacity_bytes: u64,
    /// The limit set below it, where the text tells one.
    pub allowed_bytes: Option<u64>,
    /// What was asked for, beside the bar.
    pub request_bytes: Option<u64>,
    /// Whether the parts exceed the device: its driver has lent memory of the machine.
    pub is_spilled: bool,
}

/// Numbers are printed with two decimals; so far may a sum of five of them in GiB be off.
pub const ROUNDING_BYTES: u64 = 32 << 20;

/// Who holds what PyTorch's allocator does not, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Outside {
    /// This process, outside the allocator: the driver's context, NCCL, libraries.
    pub own: Option<u64>,
    /// Other processes.
    pub others: Option<u64>,
    /// Both, where they cannot be told apart.
    pub both: Option<u64>,
}

/// What this process holds in all.
///
/// In a container the driver names this process by the host's number, as `Process 123`. It is the
/// one that holds at least what the allocator holds; unless so much is unaccounted for that this
/// process may be missing from the list.
#[must_use]
pub fn own_process(facts: &Facts) -> Option<u64> {
    let reserved = facts.reserved_bytes?;
    if let Some(process) = facts.process_bytes {
        // Less than the allocator holds: the driver could not see the process.
        return (process.saturating_add(ROUNDING_BYTES) >= reserved).then_some(process);
    }
    let listed = facts.process_list.iter().map(|process| process.bytes);
    let used = facts.capacity_bytes?.saturating_sub(facts.free_bytes?);
    let unlisted = used.saturating_sub(listed.clone().fold(0, u64::saturating_add));
    let own = listed.filter(|bytes| bytes.saturating_add(ROUNDING_BYTES) >= reserved).min()?;
    (unlisted < (reserved / 2).max(ROUNDING_BYTES)).then_some(own)
}

/// Splits what PyTorch's allocator does not hold.
#[must_use]
pub fn outside(facts: &Facts) -> Outside {
    let (Some(capacity), Some(free)) = (facts.capacity_bytes, facts.free_bytes) else {
        let own = own_process(facts).zip(facts.reserved_bytes);
        return Outside {
            own: own.map(|(own, reserved)| own.saturating_sub(reserved)),
            ..Outside::default()
        };
    };
    let used = capacity.saturating_sub(free);
    match (own_process(facts), facts.reserved_bytes) {
        (Some(own), Some(reserved)) => Outside {
            own: Some(own.saturating_sub(reserved)),
            others: Some(used.saturating_sub(own)),
            both: Some(used.saturating_sub(reserved)),
        },
        (_, Some(reserved)) => {
            Outside { both: Some(used.saturating_sub(reserved)), ..Outside::default() }
        }
        // What the allocator holds idle is not told: this is the most that others can hold.
        _ => Outside {
            both: facts.allocated_bytes.map(|allocated| used.saturating_sub(allocated)),
            ..Outside::default()
        },
    }
}

impl Bar {
    /// The bar of a message; `None` where it tells neither the device's memory nor a limit.
    #[must_use]
    pub fn of(facts: &Facts) -> Option<Bar> {
        let capacity = facts.capacity_bytes.or(facts.allowed_bytes)?;
        let is_device = facts.capacity_bytes.is_some();
        let pools = facts.private_pool_bytes.unwrap_or(0);
        let tensors = facts.allocated_bytes.map(|allocated| allocated.saturating_sub(pools));
        let idle = match (facts.reserved_unallocated_bytes, tensors, facts.reserved_bytes) {
            (None, None, Some(_)) => None,
            (idle, ..) => idle,
        };
        let outside = if is_device { outside(facts) } else { Outside::default() };
        let mut parts = Vec::new();
        let mut add = |key, label, bytes: Option<u64>| {
            if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
                parts.push(Part { key, label, bytes });
            }
        };
        add("allocated", "live tensors", tensors);
        add("private_pools", "idle in private pools (CUDA graphs)", facts.private_pool_bytes);
        add("idle", "reserved, idle", idle);
        if tensors.is_none() {
            add("reserved", "reserved by PyTorch", facts.reserved_bytes);
        }
        if let (Some(own), Some(others)) = (outside.own, outside.others) {
            add("own_other", "this process outside PyTorch's allocator", Some(own));
            add("other_processes", "other processes and the driver", Some(others));
        }
        add(
            "other_allocations",
            "this process outside PyTorch's allocator",
            facts.other_allocations_bytes,
        );
        add("free", "free", facts.free_bytes);
        let known = sum(&parts);
        let rest = capacity.saturating_sub(known);
        // What is left has a name by what is known.
        let (key, label) = if !is_device {
            ("under_limit", "left under the limit")
        } else if facts.free_bytes.is_none() {
            ("not_told", "free, or held by others: the text does not say")
        } else if facts.allocated_bytes.is_none() && facts.reserved_bytes.is_none() {
            ("in_use", "in use, by whom the text does not say")
        } else if facts.reserved_bytes.is_none() {
            ("not_told", "idle in PyTorch's allocator, or outside it: the text does not say")
        } else if outside.others.is_some() {
            ("other_processes", "other processes and the driver")
        } else {
            ("outside", "outside PyTorch's allocator: context, libraries, other processes")
        };
        let place = parts.iter().position(|part| part.key == "free").unwrap_or(parts.len());
        if rest > 0 {
            match parts.iter_mut().find(|part| part.key == key) {
                Some(part) => part.bytes += rest,
                None => parts.insert(place, Part { key, label, bytes: rest }),
            }
        }
        Some(Bar {
            total_bytes: sum(&parts),
            parts,
            capacity_bytes: capacity,
            allowed_bytes: facts.allowed_bytes.filter(|allowed| *allowed < capacity),
            request_bytes: facts.requested_bytes,
            is_spilled: known > capacity.saturating_add(ROUNDING_BYTES.max(capacity / 100)),
        })
    }
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add)
}
