//! Claims about memory, each with the bytes and stacks behind it. In go a snapshot and its
//! timelines, out come categories, phases, steps and a diagnosis.

mod caches;
pub mod category;
pub mod checklist;
pub mod diagnosis;
#[cfg(test)]
mod drawn;
pub mod fixes;
pub mod frame_kind;
mod growth;
mod guess;
pub mod history;
mod judge;
pub mod keeping;
pub mod leak;
pub mod lines;
pub mod marks;
pub mod need;
mod passes;
pub mod phases;
pub mod savings;
pub mod shape;
mod sizes;
pub mod spans;
pub mod steps;
mod turns;

use crate::allocator::verify::Recording;
use crate::batches::for_each;
use crate::snapshot::Snapshot;
use crate::timeline::Timeline;
use crate::timeline::mapped::{MappedLife, mapped_lives};
use category::{Category, Class};
use diagnosis::Diagnosis;
use frame_kind::FrameKinds;
use history::{History, StacksTold};
use marks::StackMarks;
use phases::Phases;
use shape::Shape;
use spans::Span;
use std::sync::OnceLock;
use steps::Step;

/// Bytes by category, in the order of [`Category::ALL`].
pub type Composition = [u64; 10];

/// What was found on one device.
#[derive(Clone, Debug)]
pub struct Device {
    /// What its memory went through.
    pub timeline: Timeline,
    /// The annotated ranges.
    pub spans: Vec<Span>,
    /// The phase of each entry.
    pub phases: Phases,
    /// The class of each allocation, by allocation id.
    pub classes: Vec<Class>,
    /// The steps: of training, evaluation and generation.
    pub steps: Vec<Step>,
    /// The shape of its usage; `None` without a trace.
    pub shape: Option<Shape>,
    recording: OnceLock<Recording>,
    mapped: OnceLock<Vec<MappedLife>>,
}

/// Everything found in a snapshot.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The devices that have a trace or a segment, by number.
    pub devices: Vec<Device>,
    /// Whose code each frame is.
    pub kinds: FrameKinds,
    /// What each stack says.
    pub marks: StackMarks,
    /// How much of the past the file holds.
    pub history: History,
    /// How much the stacks tell.
    pub stacks: StacksTold,
    /// What happened, and where.
    pub diagnosis: Diagnosis,
}

impl Findings {
    /// Finds everything in a snapshot, and judges the device that failed or is fullest.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Findings {
        Findings::judging(snapshot, None)
    }

    /// The same, but judges `device`; `None` where the file has no memory on it.
    #[must_use]
    pub fn of_device(snapshot: &Snapshot, device: u32) -> Option<Findings> {
        is_used(snapshot, device).then(|| Findings::judging(snapshot, Some(device)))
    }

    fn judging(snapshot: &Snapshot, judged: Option<u32>) -> Findings {
        let kinds = FrameKinds::of(snapshot);
        let marks = StackMarks::of(snapshot, &kinds);
        let used = (0..snapshot.device_count()).filter(|device| is_used(snapshot, *device));
        let timelines: Vec<Timeline> =
            used.map(|device| Timeline::replay(snapshot, device)).collect();
        let history = history::history(snapshot, &timelines);
        let devices: Vec<Device> = timelines
            .into_iter()
            .map(|timeline| Device::of(snapshot, &kinds, &marks, timeline))
            .collect();
        let stacks = history::stacks_told(snapshot);
        let diagnosis = match judged
            .and_then(|judged| devices.iter().find(|device| device.timeline.device == judged))
        {
            Some(device) => {
                Diagnosis::of(snapshot, std::slice::from_ref(device), &kinds, &marks, history)
            }
            None => Diagnosis::of(snapshot, &devices, &kinds, &marks, history),
        };
        Findings { devices, kinds, marks, history, stacks, diagnosis }
    }

    /// How much of the past the file holds, in one sentence with its reason.
    #[must_use]
    pub fn history_note(&self) -> String {
        self.history.note(self.devices.iter().map(|device| &device.timeline))
    }

    /// The findings on device number `device`.
    #[must_use]
    pub fn device(&self, device: u32) -> Option<&Device> {
        self.devices.iter().find(|found| found.timeline.device == device)
    }
}

/// A device that the process merely could have used has neither segments nor entries of its own:
/// each snapshot leaves an entry on all of them.
fn is_used(snapshot: &Snapshot, device: u32) -> bool {
    use crate::snapshot::trace::Action;
    snapshot.segments.iter().any(|segment| segment.device == device)
        || snapshot
            .trace(device)
            .filter_map(|index| snapshot.entries.get(index))
            .any(|entry| entry.action != Action::Snapshot)
}

impl Device {
    fn of(
        snapshot: &Snapshot,
        kinds: &FrameKinds,
        marks: &StackMarks,
        timeline: Timeline,
    ) -> Device {
        let spans = spans::spans_of(snapshot, timeline.device);
        let phases = Phases::of(snapshot, &timeline, marks, &spans);
        let classes = category::classify(snapshot, &timeline, kinds, marks, &phases);
        let steps = steps::steps_of(snapshot, &timeline, &phases, kinds, marks);
        let mut device = Device {
            timeline,
            spans,
            phases,
            classes,
            steps,
            shape: None,
            recording: OnceLock::new(),
            mapped: OnceLock::new(),
        };
        device.shape =
            shape::shape_of(&device.timeline, &device.steps, |entry| device.resident(entry));
        device
    }

    /// The category of an allocation.
    #[must_use]
    pub fn category(&self, allocation: crate::timeline::allocation::AllocationId) -> Category {
        self.classes.get(allocation.0 as usize).map_or(Category::Unknown, |class| class.category)
    }

    /// Allocated bytes by category after `entry`; they sum to what was allocated then.
    #[must_use]
    pub fn composition(&self, entry: u32) -> Composition {
        let mut composition = [0; 10];
        for_each(self.timeline.live_after(entry), |(id, allocation)| {
            let bytes: &mut u64 = &mut composition[self.category(id).place()];
            *bytes = bytes.saturating_add(allocation.size);
        });
        composition
    }

    /// What the program asked the allocator for, and how well its replay agrees with the recording;
    /// replayed when first asked for. `snapshot` must be the one that the device was found in.
    pub fn recording(&self, snapshot: &Snapshot) -> &Recording {
        self.recording.get_or_init(|| Recording::of(snapshot, &self.timeline))
    }

    /// The ranges of device memory that it ever held, each with its life; worked out when first
    /// asked for. `snapshot` must be the one that the device was found in.
    pub fn mapped(&self, snapshot: &Snapshot) -> &[MappedLife] {
        self.mapped.get_or_init(|| mapped_lives(snapshot, self.timeline.device))
    }

    /// Bytes live after `entry` that stay from step to step.
    fn resident(&self, entry: u32) -> u64 {
        const RESIDENT: [Category; 4] =
            [Category::Weights, Category::Gradients, Category::OptimizerStates, Category::KvCache];
        let composition = self.composition(entry);
        RESIDENT.iter().map(|category| composition[category.place()]).sum()
    }

    /// The last entry; 0 for a device without a trace, of which everything is older.
    #[must_use]
    pub fn last_entry(&self) -> u32 {
        self.timeline.entries().saturating_sub(1)
    }
}
