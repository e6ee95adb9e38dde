//! One allocation, as the pointer reads it off a picture of them.

use super::entry::lifetime;
use super::frames::{FrameView, stack_view};
use crate::findings::category::Category;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::timeline::allocation::AllocationId;
use serde::Serialize;

/// An allocation with its life.
#[derive(Clone, Debug, Serialize)]
pub struct AllocationView {
    /// Its id: its place in the timeline.
    pub id: u32,
    /// Bytes of its block.
    pub size_bytes: u64,
    /// Bytes requested.
    pub requested_bytes: u64,
    /// First byte, in hexadecimal.
    pub address: String,
    /// What it is for.
    pub category: Category,
    /// The same for people.
    pub category_label: &'static str,
    /// The entry that made it; absent for one older than the trace.
    pub begin: Option<u32>,
    /// The entry at which the program let it go; absent for one alive at the end.
    pub end: Option<u32>,
    /// How long it lives, in a few words.
    pub lifetime: String,
    /// Its stack, innermost first; empty where none was recorded.
    pub frames: Vec<FrameView>,
}

impl AllocationView {
    /// Reads an allocation; `None` where the device has none of this id.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        findings: &Findings,
        device: &Device,
        id: u32,
    ) -> Option<AllocationView> {
        let allocation = device.timeline.allocation(AllocationId(id))?;
        let category = device.category(AllocationId(id));
        Some(AllocationView {
            id,
            size_bytes: allocation.size,
            requested_bytes: allocation.requested,
            address: format!("{:#x}", allocation.address),
            category,
            category_label: category.label(),
            begin: allocation.begin(),
            end: allocation.free_requested(),
            lifetime: lifetime(allocation),
            frames: stack_view(snapshot, &findings.kinds, allocation.stack),
        })
    }
}
