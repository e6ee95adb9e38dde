//! The holes of each pool and stream, and what a failed request found there.

use super::{BlockMap, Owner};
use crate::findings::Device;
use crate::snapshot::segment::PoolId;
use crate::units::{Bytes, Count};
use serde::Serialize;

/// What one kind of requests shares: a pool of one stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolView {
    /// Who may use it.
    #[serde(skip)]
    pub owner: Owner,
    /// The same for people: `Large pool, default stream`.
    pub label: String,
    /// `4.71 GiB in 42 segments`.
    pub size_note: String,
    /// `1.77 GiB idle in 61 holes, the largest 89.34 MiB`.
    pub hole_note: String,
    /// Number of its segments.
    pub segments: u64,
    /// Bytes of its segments.
    pub reserved_bytes: u64,
    /// Bytes of its holes.
    pub idle_bytes: u64,
    /// Number of its holes.
    pub holes: u64,
    /// Bytes of the largest.
    pub largest_hole_bytes: u64,
}

impl Owner {
    fn label(&self) -> String {
        let size = if self.is_small { "Small" } else { "Large" };
        let stream = match self.stream {
            0 => "default stream".to_owned(),
            handle => format!("stream {handle:#x}"),
        };
        if self.pool == PoolId::DEFAULT {
            format!("{size} pool, {stream}")
        } else {
            format!("{size} pool, {stream}, private pool ({}, {})", self.pool.0, self.pool.1)
        }
    }
}

/// The pools of a map, most bytes first.
#[must_use]
pub fn pools(map: &BlockMap) -> Vec<PoolView> {
    let mut pools: Vec<PoolView> = Vec::new();
    for segment in &map.segments {
        let place =
            pools.iter().position(|pool| pool.owner == segment.owner).unwrap_or_else(|| {
                pools.push(PoolView {
                    owner: segment.owner,
                    label: segment.owner.label(),
                    size_note: String::new(),
                    hole_note: String::new(),
                    segments: 0,
                    reserved_bytes: 0,
                    idle_bytes: 0,
                    holes: 0,
                    largest_hole_bytes: 0,
                });
                pools.len() - 1
            });
        let pool = &mut pools[place];
        pool.segments += 1;
        pool.reserved_bytes = pool.reserved_bytes.saturating_add(segment.bytes);
        for hole in segment.holes() {
            pool.holes += 1;
            pool.idle_bytes = pool.idle_bytes.saturating_add(hole.bytes);
            pool.largest_hole_bytes = pool.largest_hole_bytes.max(hole.bytes);
        }
    }
    for pool in &mut pools {
        (pool.size_note, pool.hole_note) = notes(pool);
    }
    pools.sort_by(|a, b| b.reserved_bytes.cmp(&a.reserved_bytes).then(a.owner.cmp(&b.owner)));
    pools
}

fn notes(pool: &PoolView) -> (String, String) {
    let reserved = Bytes(pool.reserved_bytes);
    let size = match pool.segments {
        1 => format!("{reserved} in one segment"),
        count => format!("{reserved} in {} segments", Count(count)),
    };
    let holes = match pool.holes {
        0 => "no hole".to_owned(),
        1 => format!("{} idle in one hole", Bytes(pool.idle_bytes)),
        count => format!(
            "{} idle in {} holes, the largest {}",
            Bytes(pool.idle_bytes),
            Count(count),
            Bytes(pool.largest_hole_bytes)
        ),
    };
    (size, holes)
}

/// What the request that failed at the map's entry found; `None` where that entry is no failure.
#[must_use]
pub fn request_sentence(device: &Device, map: &BlockMap) -> Option<String> {
    let oom = device.timeline.ooms.iter().find(|oom| oom.entry == map.entry)?;
    let request = Bytes(oom.request_bytes);
    let (idle, largest) = (Bytes(oom.idle_bytes), Bytes(oom.largest_hole_bytes));
    Some(if oom.idle_bytes == 0 {
        format!(
            "{request} were asked for here, and nothing lay idle in the pool and stream of that request."
        )
    } else if oom.largest_hole_bytes >= oom.request_bytes {
        // Only garbage collection and the largest blocks' rule against splitting lead here.
        format!(
            "{request} were asked for here. The largest hole in the request's pool and stream had {largest}, but the allocator may not split such a block for this request."
        )
    } else if oom.idle_bytes >= oom.request_bytes {
        format!(
            "{request} were asked for here. {idle} lay idle in the request's pool and stream, but the largest hole there had only {largest}, and a block must fit into one hole."
        )
    } else {
        format!(
            "{request} were asked for here. All that lay idle in the request's pool and stream was {idle}, the largest hole {largest}."
        )
    })
}
