//! Allocations where they lay: time across, addresses upwards.

use super::{Columns, IDLE, PENDING, Pixels, look_of};
use crate::findings::Device;
use crate::snapshot::Snapshot;
use crate::timeline::mapped::MappedLife;
use crate::view::timeline::TimelineView;
use std::ops::Range;

/// Paints all addresses that the device ever had mapped, those that were never mapped left out.
/// What is thinner than a pixel still has one: it may be all that keeps a segment.
pub(super) fn paint(
    snapshot: &Snapshot,
    device: &Device,
    view: &TimelineView,
    mut pixels: Pixels,
) -> Pixels {
    let lives = device.mapped(snapshot);
    let islands = Islands::of(lives);
    pixels.top_bytes = (islands.bytes as f64).max(1.0);
    let columns = Columns::of(&view.moments);
    let row_bytes = pixels.top_bytes / f64::from(pixels.rows);
    let most = pixels.rows as usize;
    let rows = |address: u64, size: u64| -> Option<Range<usize>> {
        let below = islands.below(address)? as f64;
        let row = |bytes: f64| (bytes / row_bytes).round() as usize;
        let first = row(below).min(most - 1);
        Some(first..row(below + size as f64).clamp(first + 1, most.max(first + 1)))
    };

    for life in lives {
        if let Some(rows) = rows(life.address, life.size) {
            pixels.fill(columns.between(life.begin, life.end), rows, IDLE, 0);
        }
    }
    // Of many in one row of pixels, each column shows the first: the rest would be painted in vain.
    let mut thin_to = vec![0; most];
    for (id, allocation) in (0..).zip(&device.timeline.allocations) {
        let end = allocation.free_completed().unwrap_or(u32::MAX);
        let mut held = columns.between(allocation.first_entry(), allocation.last_entry());
        let mut pending = columns.between(allocation.last_entry(), end);
        if held.is_empty() && pending.is_empty() {
            continue;
        }
        let Some(rows) = rows(allocation.address, allocation.size) else { continue };
        if rows.len() == 1 {
            let thin_to = &mut thin_to[rows.start];
            held.start = held.start.max(*thin_to).min(held.end);
            pending.start = pending.start.max(*thin_to).min(pending.end);
            *thin_to = held.end.max(pending.end).max(*thin_to);
        }
        pixels.fill(held, rows.clone(), look_of(device, id, id), id + 1);
        pixels.fill(pending, rows, PENDING, id + 1);
    }
    pixels
}

impl Pixels {
    fn fill(&mut self, columns: Range<usize>, rows: Range<usize>, look: u8, allocation: u32) {
        for column in columns {
            let start = self.column(column).start;
            self.look[start + rows.start..start + rows.end].fill(look);
            self.allocation[start + rows.start..start + rows.end].fill(allocation);
        }
    }
}

/// The addresses that were ever mapped, as ranges that do not touch, with what lies below each.
struct Islands {
    /// First address, bytes, and the bytes of the islands below.
    ranges: Vec<(u64, u64, u64)>,
    bytes: u64,
}

impl Islands {
    fn of(lives: &[MappedLife]) -> Islands {
        let mut spans: Vec<(u64, u64)> = lives
            .iter()
            .map(|life| (life.address, life.address.saturating_add(life.size)))
            .collect();
        spans.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in spans {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        let mut bytes = 0_u64;
        let ranges = merged
            .into_iter()
            .map(|(begin, end)| {
                let below = bytes;
                bytes = bytes.saturating_add(end - begin);
                (begin, end - begin, below)
            })
            .collect();
        Islands { ranges, bytes }
    }

    /// The bytes of all islands below an address; `None` for one that was never mapped.
    fn below(&self, address: u64) -> Option<u64> {
        let after = self.ranges.partition_point(|(begin, ..)| *begin <= address);
        let (begin, bytes, below) = self.ranges.get(after.checked_sub(1)?)?;
        let inside = address - begin;
        (inside < *bytes).then(|| below.saturating_add(inside))
    }
}
