//! What the pointer is on: a block, a hole, or several blocks too small for a pixel.

use super::cells::{self, Column};
use super::pins::holder_in;
use super::placement::{Placement, Strip};
use super::{Block, BlockMap, Segment};
use crate::findings::Findings;
use crate::findings::category::Category;
use crate::snapshot::Snapshot;
use crate::snapshot::segment::BlockState;
use crate::units::{Bytes, Count};
use crate::view::entry::lifetime;
use crate::view::frames::{FrameView, holder_view, stack_view};
use serde::Serialize;

/// What lies at one pixel of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapReading {
    /// `Block of 1.10 GiB`, `Hole of 89.34 MiB`, `37 blocks`.
    pub title: String,
    /// Facts about it, a line each.
    pub facts: Vec<String>,
    /// What it is for; `None` for a hole.
    pub category: Option<Category>,
    /// Its category for people; empty for a hole.
    pub category_label: &'static str,
    /// The file of the line that made it; empty where there is none to name.
    pub file: String,
    /// That line; 0 where unknown.
    pub line: u32,
    /// Its function, or what there is instead; empty for a hole.
    pub function: String,
    /// The segment around it.
    pub segment: String,
    /// Its stack, innermost first; empty for a hole and where none was recorded.
    pub frames: Vec<FrameView>,
    /// Where it is drawn: row, first pixel, one past the last.
    pub pieces: Vec<(u32, u32, u32)>,
}

impl MapReading {
    /// Reads a pixel of a row; `None` beside all strips.
    #[must_use]
    pub fn at(
        snapshot: &Snapshot,
        findings: &Findings,
        map: &BlockMap,
        placement: &Placement,
        row: u32,
        x_px: u32,
    ) -> Option<MapReading> {
        let (strip, inside) = placement.strip_at(row, x_px)?;
        let blocks = cells::blocks(map, strip);
        let columns = cells::columns(strip, &blocks);
        let column = columns.get(inside as usize)?;
        let same = |other: &Column| other == column;
        let begin = columns.iter().position(same)? as u32;
        let end = columns.iter().rposition(same)? as u32 + 1;
        let pieces = placement.pieces(strip, begin, end).collect();
        let reader = Reader { snapshot, findings, map };
        let reading = match column {
            Column::One(place) => reader.one(blocks.get(*place)?),
            Column::Several(several) => reader.several(blocks.get(several.first..several.end)?),
        };
        Some(MapReading { segment: segment_note(map, strip, &blocks, column)?, pieces, ..reading? })
    }
}

struct Reader<'a> {
    snapshot: &'a Snapshot,
    findings: &'a Findings,
    map: &'a BlockMap,
}

impl Reader<'_> {
    fn one(&self, block: &Block) -> Option<MapReading> {
        let size = Bytes(block.bytes);
        let Some(held) = block.allocation else {
            return Some(MapReading {
                facts: vec![format!(
                    "free for a request of its pool and stream, at {:#x}",
                    block.address
                )],
                ..blank(format!("Hole of {size}"))
            });
        };
        let timeline = &self.findings.device(self.map.device)?.timeline;
        let mut facts = Vec::new();
        facts.push(match held.requested {
            requested if requested == block.bytes => format!("requested {}", Bytes(requested)),
            requested => format!(
                "requested {}, {} more by rounding",
                Bytes(requested),
                Bytes(block.bytes.saturating_sub(requested))
            ),
        });
        if block.state == BlockState::ActivePendingFree {
            facts.push("released by the program, but another stream may still use it".to_owned());
        }
        facts.extend(timeline.allocation(held.id).map(lifetime));
        facts.push(format!("at {:#x}", block.address));
        let holder = holder_in(self.snapshot, self.findings, timeline, block);
        let (file, line, function) = holder_view(self.snapshot, &holder);
        Some(MapReading {
            facts,
            category: Some(held.category),
            category_label: held.category.label(),
            file,
            line,
            function,
            frames: stack_view(self.snapshot, &self.findings.kinds, held.stack),
            ..blank(format!("Block of {size}"))
        })
    }

    fn several(&self, blocks: &[&Block]) -> Option<MapReading> {
        let active = || blocks.iter().filter(|block| block.allocation.is_some());
        let bytes = active().map(|block| block.bytes).fold(0, u64::saturating_add);
        let idle = blocks.iter().filter(|block| block.allocation.is_none());
        let (holes, idle) = idle
            .fold((0_u64, 0_u64), |(count, sum), hole| (count + 1, sum.saturating_add(hole.bytes)));
        let count = active().count() as u64;
        let holes = match holes {
            0 => String::new(),
            1 => format!(", and a hole of {}", Bytes(idle)),
            count => format!(", and {} holes of {} in all", Count(count), Bytes(idle)),
        };
        let Some(largest) = active().max_by_key(|block| block.bytes) else {
            return Some(blank(format!("{} idle", Bytes(idle))));
        };
        let mut reading = self.one(largest)?;
        if count == 1 {
            reading.facts.push(format!("narrower than a pixel{holes}"));
        } else {
            reading.title = format!("{} blocks, {} in all", Count(count), Bytes(bytes));
            reading.facts.insert(0, format!("too small to be drawn apart{holes}"));
            reading.facts.insert(1, format!("the largest has {}:", Bytes(largest.bytes)));
        }
        Some(reading)
    }
}

fn blank(title: String) -> MapReading {
    MapReading {
        title,
        facts: Vec::new(),
        category: None,
        category_label: "",
        file: String::new(),
        line: 0,
        function: String::new(),
        segment: String::new(),
        frames: Vec::new(),
        pieces: Vec::new(),
    }
}

/// The segment around a column of a strip.
fn segment_note(
    map: &BlockMap,
    strip: &Strip,
    blocks: &[&Block],
    column: &Column,
) -> Option<String> {
    let place = match column {
        Column::One(place) => *place,
        Column::Several(several) => several.first,
    };
    let address = blocks.get(place)?.address;
    let holds = |segment: &&Segment| segment.mapped.iter().any(|range| range.contains(&address));
    let mut segments = strip.segments.iter().filter_map(|place| map.segments.get(*place));
    let segment = segments.find(holds)?;
    let size = Bytes(segment.bytes);
    let what = match (segment.is_expandable, segment.mapped.len()) {
        (false, _) => format!("in a segment of {size}"),
        (true, 1) => format!("in an expandable segment, {size} of it mapped"),
        (true, ranges) => format!(
            "in an expandable segment, {size} of it mapped in {} ranges",
            Count(ranges as u64)
        ),
    };
    let active = segment.active().count() as u64;
    let blocks = match active {
        0 => "no block".to_owned(),
        1 => "one block".to_owned(),
        count => format!("{} blocks", Count(count)),
    };
    let idle = match segment.idle_bytes() {
        0 => "none of it idle".to_owned(),
        idle => format!("{} of it idle", Bytes(idle)),
    };
    Some(format!("{what} at {:#x} with {blocks}, {idle}", segment.address))
}
