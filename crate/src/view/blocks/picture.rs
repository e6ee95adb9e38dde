//! The map as the page draws and tells it, cut to its pixels.

use super::BlockMap;
use super::cells::{self, Column};
use super::pins::Pins;
use super::placement::{POOLS, Placement, Strip};
use super::pools::{self, PoolView};
use crate::findings::category::Category;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::snapshot::segment::PoolId;
use crate::units::{Bytes, Count};
use serde::{Deserialize, Serialize};

/// What is painted. Columns of equal length, one place a cell, in the order of the strips.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// Row.
    pub row: Vec<u32>,
    /// First pixel.
    pub left: Vec<u32>,
    /// One past the last pixel.
    pub right: Vec<u32>,
    /// Place of its category in [`Category::ALL`]; past 10 for blocks pending free.
    pub look: Vec<u32>,
    /// How much of the row's height is in use, from the bottom, in 256th; all for one block, less
    /// where blocks and holes share a pixel.
    pub height: Vec<u32>,
}

/// The outlines of what is mapped, a piece for each row. Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlines {
    /// Row.
    pub row: Vec<u32>,
    /// First pixel.
    pub left: Vec<u32>,
    /// One past the last pixel.
    pub right: Vec<u32>,
    /// Which ends are drawn: 1 the left, 2 the right, 3 both; a strip is open where it goes on in
    /// another row.
    pub ends: Vec<u32>,
}

/// The rows of one pool with its heading.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Rows {
    /// `Large pool, default stream`.
    pub label: String,
    /// Its notes: what it has, and what is idle in it.
    pub notes: Vec<String>,
    /// First row.
    pub begin: u32,
    /// One past the last row.
    pub end: u32,
}

/// A way in which cells are painted, for the legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// A category's name, `pending_free` or `idle`.
    pub key: &'static str,
    /// The same for people.
    pub label: &'static str,
}

/// What the painter needs of a map.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct MapPicture {
    /// Pixels of a row.
    pub width_px: u32,
    /// The categories in the order of [`Category::ALL`].
    pub categories: Vec<String>,
    /// The pools with their rows.
    pub pools: Vec<Rows>,
    /// See [`Cells`].
    #[serde(skip)]
    pub cells: Cells,
    /// See [`Outlines`].
    #[serde(skip)]
    pub outlines: Outlines,
}

/// What is said of a map, beside its picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapStory {
    /// The device.
    pub device: u32,
    /// The entry.
    pub entry: u32,
    /// Bytes of all segments.
    pub reserved_bytes: u64,
    /// Bytes of all holes.
    pub idle_bytes: u64,
    /// Number of segments.
    pub segments: u64,
    /// Bytes of a full row of the picture.
    pub row_bytes: u64,
    /// The pools, most bytes first.
    pub pools: Vec<PoolView>,
    /// What the picture has in it.
    pub keys: Vec<Key>,
    /// What the request that failed here found; `None` where none did.
    pub request: Option<String>,
    /// What keeps segments mostly empty.
    pub pins: Pins,
    /// How to read the picture, what it could not show apart, and what the file contradicts itself
    /// in.
    pub notes: Vec<String>,
}

impl MapPicture {
    /// The picture of a placed map.
    #[must_use]
    pub fn of(map: &BlockMap, pools: &[PoolView], placement: &Placement) -> MapPicture {
        let mut picture = MapPicture {
            width_px: placement.width_px,
            categories: Category::ALL.iter().map(|category| category.name().to_owned()).collect(),
            ..MapPicture::default()
        };
        for rows in &placement.pools {
            if let Some(pool) = pools.get(rows.pool) {
                picture.pools.push(Rows {
                    label: pool.label.clone(),
                    notes: vec![pool.size_note.clone(), pool.hole_note.clone()],
                    begin: rows.begin,
                    end: rows.end,
                });
            }
        }
        for strip in &placement.strips {
            picture.paint(map, placement, strip);
            picture.outline(map, placement, strip);
        }
        picture
    }

    fn paint(&mut self, map: &BlockMap, placement: &Placement, strip: &Strip) {
        let blocks = cells::blocks(map, strip);
        let columns = cells::columns(strip, &blocks);
        let bytes_a_px = strip.bytes as f64 / f64::from(strip.width.max(1));
        let mut begin = 0;
        for run in columns.chunk_by(|one, other| one == other) {
            let end = begin + run.len() as u32;
            let painted = match run[0] {
                Column::One(place) => {
                    blocks.get(place).and_then(|block| cells::look(block)).map(|look| (look, 256))
                }
                Column::Several(several) if several.active > 0 => {
                    // A third of the row at least, or it could not be seen.
                    let share = 256.0 * several.active as f64 / bytes_a_px;
                    Some((several.look(), (share as u32).clamp(86, 256)))
                }
                Column::Several(_) => None,
            };
            if let Some((look, height)) = painted {
                for (row, left, right) in placement.pieces(strip, begin, end) {
                    self.cells.row.push(row);
                    self.cells.left.push(left);
                    self.cells.right.push(right);
                    self.cells.look.push(look as u32);
                    self.cells.height.push(height);
                }
            }
            begin = end;
        }
    }

    fn outline(&mut self, map: &BlockMap, placement: &Placement, strip: &Strip) {
        let scale = f64::from(strip.width) / strip.bytes.max(1) as f64;
        let mapped = match strip.segments[..] {
            [only] => map.segments.get(only).map_or(&[][..], |segment| &segment.mapped),
            _ => &[],
        };
        let mut ends: Vec<u32> = mapped
            .iter()
            .scan(0_u64, |bytes, range| {
                *bytes = bytes.saturating_add(range.end - range.start);
                Some((*bytes as f64 * scale).round() as u32)
            })
            .collect();
        // The last end is the strip's, however the widths were rounded.
        ends.pop();
        ends.push(strip.width);
        let mut begin = 0;
        for end in ends.into_iter().map(|end| end.min(strip.width)) {
            let pieces: Vec<_> = placement.pieces(strip, begin, end).collect();
            for (place, (row, left, right)) in pieces.iter().enumerate() {
                let ends = u32::from(place == 0) + 2 * u32::from(place + 1 == pieces.len());
                self.outlines.row.push(*row);
                self.outlines.left.push(*left);
                self.outlines.right.push(*right);
                self.outlines.ends.push(ends);
            }
            begin = end.max(begin);
        }
    }
}

impl MapStory {
    /// What there is to say of a placed map.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        findings: &Findings,
        device: &Device,
        map: &BlockMap,
        placement: &Placement,
    ) -> MapStory {
        let pools = pools::pools(map);
        let sum = |part: fn(&PoolView) -> u64| pools.iter().map(part).fold(0, u64::saturating_add);
        MapStory {
            device: map.device,
            entry: map.entry,
            reserved_bytes: sum(|pool| pool.reserved_bytes),
            idle_bytes: sum(|pool| pool.idle_bytes),
            segments: map.segments.len() as u64,
            row_bytes: placement.row_bytes as u64,
            keys: keys(map),
            request: pools::request_sentence(device, map),
            pins: Pins::of(snapshot, findings, map),
            notes: notes(map, &pools, placement),
            pools,
        }
    }
}

/// What a map has in it, in the order of the legend.
fn keys(map: &BlockMap) -> Vec<Key> {
    let mut seen = [false; 20];
    let mut has_hole = false;
    for block in map.segments.iter().flat_map(|segment| &segment.blocks) {
        match cells::look(block) {
            Some(look) => seen[look] = true,
            None => has_hole = true,
        }
    }
    let held = Category::ALL.iter().zip(seen);
    let mut keys: Vec<Key> = held
        .filter(|(_, seen)| *seen)
        .map(|(category, _)| Key { key: category.name(), label: category.label() })
        .collect();
    if seen[10..].contains(&true) {
        keys.push(Key { key: "pending_free", label: "released, awaited by another stream" });
    }
    if has_hole {
        keys.push(Key { key: "idle", label: "hole: reserved, idle" });
    }
    keys
}

fn notes(map: &BlockMap, pools: &[PoolView], placement: &Placement) -> Vec<String> {
    let mut notes = vec![
        "A hole serves requests of its own pool and stream only: the small pool those of at most 1 MiB, the large pool all others.".to_owned(),
    ];
    if pools.iter().any(|pool| pool.owner.pool != PoolId::DEFAULT) {
        notes.push("A private pool belongs to a CUDA graph or a `MemPool`.".to_owned());
    }
    if map.segments.iter().any(|segment| segment.mapped.len() > 1) {
        notes.push(
            "An expandable segment has a line across where what is mapped of it has a gap."
                .to_owned(),
        );
    }
    let together = placement.strips.iter().filter(|strip| strip.segments.len() > 1);
    let (count, bytes) = together.fold((0, 0_u64), |(count, bytes), strip| {
        (count + strip.segments.len() as u64, bytes.saturating_add(strip.bytes))
    });
    if count > 0 {
        notes.push(format!(
            "{} segments are too small to be drawn apart; they stand together, {} in all, at the end of their pool.",
            Count(count),
            Bytes(bytes)
        ));
    }
    if let Some(hidden) = pools.get(POOLS..).filter(|hidden| !hidden.is_empty()) {
        let bytes = hidden.iter().map(|pool| pool.reserved_bytes).fold(0, u64::saturating_add);
        notes.push(format!(
            "{} more pools and streams, {} in all, are not drawn.",
            Count(hidden.len() as u64),
            Bytes(bytes)
        ));
    }
    if map.stray_bytes > 0 {
        notes.push(format!(
            "{} of blocks lie in no recorded segment, or over another block: there the file contradicts itself.",
            Bytes(map.stray_bytes)
        ));
    }
    notes
}
