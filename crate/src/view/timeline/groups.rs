//! What the colours of a timeline stand for.

use super::Band;
use crate::findings::category::Category;
use crate::findings::lines::{Holder, holder_of, short_line};
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::allocation::AllocationId;
use crate::view::frames::holder_view;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// What allocations of one colour have in common.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// What they are for.
    #[default]
    Category,
    /// The line of the user's that made them.
    Line,
}

/// Lines with a colour of their own; all others share one.
const LINES: usize = 9;

/// The keys of the lines' colours, the rest last.
pub const LINE_KEYS: [&str; LINES + 1] = [
    "line-0",
    "line-1",
    "line-2",
    "line-3",
    "line-4",
    "line-5",
    "line-6",
    "line-7",
    "line-8",
    "line-rest",
];

/// Every allocation of a device in one of a few groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The groups, lowest band first.
    pub bands: Vec<Band>,
    /// The place of each allocation's group among the bands, by allocation id.
    of: Vec<u8>,
}

impl Groups {
    /// The allocations of a device by what they have in common. A group of no allocation is left
    /// out.
    #[must_use]
    pub fn of(snapshot: &Snapshot, findings: &Findings, device: &Device, by: By) -> Groups {
        match by {
            By::Category => by_category(device),
            By::Line => by_line(snapshot, findings, device),
        }
    }

    /// The place of an allocation's group among the bands.
    #[must_use]
    pub fn get(&self, id: AllocationId) -> usize {
        self.of.get(id.0 as usize).map_or(0, |place| usize::from(*place))
    }
}

fn by_category(device: &Device) -> Groups {
    let mut seen = [false; 10];
    for class in &device.classes {
        seen[class.category.place()] = true;
    }
    let mut places = [0; 10];
    let mut bands = Vec::new();
    for category in Category::ALL {
        if seen[category.place()] {
            places[category.place()] = bands.len() as u8;
            bands.push(Band {
                key: category.name().to_owned(),
                label: category.label().to_owned(),
                text: None,
            });
        }
    }
    let of = device.classes.iter().map(|class| places[class.category.place()]).collect();
    Groups { bands, of }
}

/// The lines that held most at any one time.
fn by_line(snapshot: &Snapshot, findings: &Findings, device: &Device) -> Groups {
    let timeline = &device.timeline;
    let mut lines: Vec<Holder> = Vec::new();
    let mut places: FxHashMap<Holder, usize> = FxHashMap::default();
    let mut of_stack: FxHashMap<(StackId, bool), usize> = FxHashMap::default();
    let line_of: Vec<usize> = (0..)
        .zip(&timeline.allocations)
        .map(|(id, allocation): (usize, _)| {
            let is_older = id < timeline.older && !allocation.has_stack();
            *of_stack.entry((allocation.stack, is_older)).or_insert_with(|| {
                let holder = if is_older {
                    Holder::Older
                } else {
                    holder_of(snapshot, &findings.kinds, allocation.stack)
                };
                *places.entry(holder.clone()).or_insert_with(|| {
                    lines.push(holder);
                    lines.len() - 1
                })
            })
        })
        .collect();

    let mut live = vec![0_u64; lines.len()];
    for (line, allocation) in line_of.iter().zip(&timeline.allocations).take(timeline.older) {
        if allocation.free_requested() != Some(0) {
            live[*line] = live[*line].saturating_add(allocation.size);
        }
    }
    let mut most = live.clone();
    for entry in 0..timeline.entries() {
        let Some(id) = timeline.allocation_of(entry) else { continue };
        let (Some(allocation), Some(line)) = (timeline.allocation(id), line_of.get(id.0 as usize))
        else {
            continue;
        };
        if allocation.begin() == Some(entry) {
            live[*line] = live[*line].saturating_add(allocation.size);
            most[*line] = most[*line].max(live[*line]);
        } else if allocation.free_requested() == Some(entry) {
            live[*line] = live[*line].saturating_sub(allocation.size);
        }
    }

    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|line| (std::cmp::Reverse(most[*line]), *line));
    let own = order.len().min(if order.len() == LINES + 1 { LINES + 1 } else { LINES });
    let mut place_of = vec![own as u8; lines.len()];
    let mut bands: Vec<Band> = Vec::new();
    for (place, line) in order[..own].iter().enumerate() {
        place_of[*line] = place as u8;
        bands.push(band(snapshot, LINE_KEYS[place], &lines[*line]));
    }
    if order.len() > own {
        let label = format!("{} other lines", order.len() - own);
        bands.push(Band { key: LINE_KEYS[LINES].to_owned(), label, text: None });
    }
    Groups { bands, of: line_of.into_iter().map(|line| place_of[line]).collect() }
}

fn band(snapshot: &Snapshot, key: &str, holder: &Holder) -> Band {
    let (_, _, function) = holder_view(snapshot, holder);
    let line = match holder {
        Holder::Frame(frame) => Some(short_line(snapshot, *frame)),
        _ => None,
    };
    let label = line.as_ref().map_or(function.clone(), |line| format!("{line} {function}"));
    Band { key: key.to_owned(), label, text: line }
}
