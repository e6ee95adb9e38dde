//! Rows of the table: a stretch to show, and all of them as comma-separated values.

use super::question::Pool;
use super::{Table, holder, lifetime_entries, lifetime_us};
use crate::findings::Device;
use crate::findings::frame_kind::FrameKinds;
use crate::findings::lines::is_unseen;
use crate::snapshot::Snapshot;
use crate::snapshot::stack::StackId;
use crate::timeline::allocation::AllocationId;
use crate::view::folders::without_folders;
use crate::view::frames::holder_view;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::fmt::Write as _;

/// Rows that a file of comma-separated values has at most: what spreadsheets open.
const MOST_SAVED: usize = 1_000_000;

/// One allocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AllocationRow {
    /// Its number in the timeline.
    pub id: u32,
    /// Bytes of its block.
    pub size_bytes: u64,
    /// Bytes requested.
    pub requested_bytes: u64,
    /// What it is for.
    pub category: &'static str,
    /// The same for people.
    pub category_label: &'static str,
    /// The entry that made it; `None` where it is older than the trace.
    pub made: Option<u32>,
    /// The entry at which the program released it; `None` where it is alive at the end.
    pub freed: Option<u32>,
    /// Entries between the two, as far as the trace reaches.
    pub lifetime_entries: u32,
    /// Time between the two, as far as the trace reaches; `None` without a clock.
    pub lifetime_us: Option<i64>,
    /// The raw handle of its stream.
    pub stream: String,
    /// Its pool.
    pub pool: &'static str,
    /// The file of the user's innermost line; empty where there is no such line.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function, or what there is instead of one.
    pub function: String,
}

/// Writes rows; a place is worked out once for each stack.
struct Writer<'s> {
    snapshot: &'s Snapshot,
    kinds: &'s FrameKinds,
    device: &'s Device,
    /// File, line and function by stack, and by whether the file does not say who it was.
    places: FxHashMap<(StackId, bool), (String, u32, String)>,
}

impl<'s> Writer<'s> {
    fn new(snapshot: &'s Snapshot, kinds: &'s FrameKinds, device: &'s Device) -> Self {
        Writer { snapshot, kinds, device, places: FxHashMap::default() }
    }

    fn row(&mut self, id: AllocationId) -> Option<AllocationRow> {
        let Writer { snapshot, kinds, device, places } = self;
        let allocation = device.timeline.allocation(id)?;
        let category = device.category(id);
        let handle = snapshot.streams.get(usize::from(allocation.stream)).copied().unwrap_or(0);
        let key = (allocation.stack, is_unseen(&device.timeline, id, allocation));
        let place = places.entry(key).or_insert_with(|| {
            holder_view(snapshot, &holder(snapshot, kinds, device, id, allocation))
        });
        let (file, line, function) = place.clone();
        Some(AllocationRow {
            id: id.0,
            size_bytes: allocation.size,
            requested_bytes: allocation.requested,
            category: category.name(),
            category_label: category.label(),
            made: allocation.begin(),
            freed: allocation.free_requested(),
            lifetime_entries: lifetime_entries(allocation, device.timeline.entries()),
            lifetime_us: lifetime_us(snapshot, device, allocation),
            stream: format!("{handle:#x}"),
            pool: Pool::of(allocation).label(),
            file,
            line,
            function,
        })
    }
}

impl Table {
    /// The rows from `from` to `to`, exclusive; fewer where the table ends.
    #[must_use]
    pub fn rows(
        &self,
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        device: &Device,
        from: usize,
        to: usize,
    ) -> Vec<AllocationRow> {
        let end = to.min(self.allocations.len());
        let ids = self.allocations.get(from.min(end)..end).unwrap_or_default();
        let mut writer = Writer::new(snapshot, kinds, device);
        ids.iter().filter_map(|id| writer.row(*id)).collect()
    }

    /// All rows as comma-separated values, with a head and lines that end as RFC 4180 has them; the
    /// first million of more. `has_folders` says whether files are named with their folders.
    #[must_use]
    pub fn csv(
        &self,
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        device: &Device,
        has_folders: bool,
    ) -> String {
        let mut out = String::from(
            "size_bytes,requested_bytes,category,made_at_entry,freed_at_entry,lifetime_entries,lifetime_us,stream,pool,file,line,function\r\n",
        );
        let mut writer = Writer::new(snapshot, kinds, device);
        let number = |number: Option<i64>| number.map_or(String::new(), |value| value.to_string());
        for id in self.allocations.iter().take(MOST_SAVED) {
            let Some(row) = writer.row(*id) else { continue };
            let _ = write!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
                row.size_bytes,
                row.requested_bytes,
                row.category,
                number(row.made.map(i64::from)),
                number(row.freed.map(i64::from)),
                row.lifetime_entries,
                number(row.lifetime_us),
                row.stream,
                quoted(row.pool),
                quoted(if has_folders { &row.file } else { without_folders(&row.file) }),
                row.line,
                quoted(&row.function),
            );
        }
        out
    }
}

/// A text as a field.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
