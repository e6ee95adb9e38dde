//! The report: the JSON that `--json` prints and that the page shows.
//!
//! All sizes are bytes, all places entry indices into the device's trace, all times µs.

use super::diagnosis::{DiagnosisReport, diagnosis_report};
use crate::compare::run::Run;
use crate::container::Container;
use crate::findings::category::Category;
use crate::findings::diagnosis::Cause;
use crate::findings::history::{History, StacksTold};
use crate::findings::{Composition, Device, Findings};
use crate::snapshot::Snapshot;
use crate::timeline::usage::Peak;
use crate::units::Count;
use crate::warning::{Warning, Warnings};
use serde::Serialize;
use std::collections::BTreeMap;

/// A whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this form.
    pub oomscope: u32,
    /// The program that made it.
    pub version: &'static str,
    /// The file.
    pub file: FileReport,
    /// How much of the past it holds.
    pub history: History,
    /// The same in a sentence.
    pub history_note: String,
    /// How much the stacks tell.
    pub stacks: StacksTold,
    /// The same in a sentence.
    pub stacks_note: &'static str,
    /// The allocator's settings string, where the file has it.
    pub alloc_conf: Option<String>,
    /// What was odd; empty for most files.
    pub warnings: Vec<WarningReport>,
    /// The devices with a trace or memory, by number.
    pub devices: Vec<DeviceReport>,
    /// The verdict.
    pub diagnosis: DiagnosisReport,
    /// How to record a file that can tell, where this one cannot.
    pub record: Option<RecordReport>,
    /// What no snapshot shows.
    pub not_in_file: &'static str,
    /// What a comparison needs of it; `None` where it was not asked for.
    pub run: Option<Run>,
}

/// The file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Its size as it lies on the disk.
    pub bytes: u64,
    /// Its outermost wrapping.
    pub container: Container,
    /// The pickle's protocol.
    pub protocol: Option<u8>,
}

/// A warning with its sentence.
#[derive(Clone, Debug, Serialize)]
pub struct WarningReport {
    /// Kind, count and first place.
    #[serde(flatten)]
    pub warning: Warning,
    /// The kind, for people.
    pub message: &'static str,
}

/// One device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// Its number in the process.
    pub device: u32,
    /// The same for people.
    pub label: String,
    /// Entries in its trace.
    pub entries: u32,
    /// The highest value of each total, each at its own entry.
    pub peaks: Peaks,
    /// The totals after the last entry.
    pub end: End,
    /// The failed allocations.
    pub ooms: Vec<OomReport>,
    /// Allocated bytes by category.
    pub composition: CompositionReport,
    /// The training steps; empty where none is seen.
    pub steps: Vec<StepReport>,
    /// How far the allocator's replay agrees with the recording; `None` where it was not run.
    pub replay: Option<ReplayReport>,
}

/// How far the allocator's replay under the recorded settings agrees with the recording.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReplayReport {
    /// Whether it reserves the recorded bytes at every entry.
    pub exact: bool,
    /// The entries at which it does not.
    pub differing_entries: u32,
    /// By how much at most.
    pub largest_difference_bytes: u64,
}

/// The highest values.
#[derive(Clone, Debug, Serialize)]
pub struct Peaks {
    requested: PeakReport,
    allocated: PeakReport,
    active: PeakReport,
    reserved: PeakReport,
}

/// One of them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeakReport {
    entry: u32,
    bytes: u64,
}

impl From<Peak> for PeakReport {
    fn from(peak: Peak) -> Self {
        PeakReport { entry: peak.entry, bytes: peak.bytes }
    }
}

/// The totals after the last entry.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    requested_bytes: u64,
    allocated_bytes: u64,
    active_bytes: u64,
    reserved_bytes: u64,
}

/// A failed allocation.
#[derive(Clone, Debug, Serialize)]
pub struct OomReport {
    entry: u32,
    request_bytes: u64,
    device_free_bytes: Option<u64>,
    allocated_bytes: u64,
    active_bytes: u64,
    reserved_bytes: u64,
    idle_bytes: u64,
    largest_hole_bytes: u64,
}

/// Allocated bytes by category at three moments.
#[derive(Clone, Debug, Serialize)]
pub struct CompositionReport {
    at_peak: BTreeMap<&'static str, u64>,
    at_oom: Option<BTreeMap<&'static str, u64>>,
    at_end: BTreeMap<&'static str, u64>,
}

/// One training step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    begin_entry: u32,
    end_entry: u32,
    baseline_bytes: u64,
    peak_bytes: u64,
}

/// How to record a file that can tell.
#[derive(Clone, Debug, Serialize)]
pub struct RecordReport {
    /// What this file lacks.
    pub why: String,
    /// The lines to add.
    pub code: &'static str,
}

/// Recording into a ring of 200,000 entries, and a dump at the failure itself: before the exception
/// unwinds and lets go of what filled the card.
pub const RECORD_CODE: &str = "\
import torch
torch.cuda.memory._record_memory_history(max_entries=200_000)
torch._C._cuda_attach_out_of_memory_observer(
    lambda *args: torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"))
# … your program; without a failure, dump at the end:
torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")
";

const NOT_IN_FILE: &str = "A snapshot knows PyTorch's caching allocator only: the CUDA context, NCCL's buffers, what libraries allocate for themselves and other processes on the card are in no snapshot.";

impl Report {
    /// The report on a snapshot; `name` and `bytes` are the file's.
    #[must_use]
    pub fn of(snapshot: &Snapshot, findings: &Findings, name: &str, bytes: u64) -> Report {
        let mut warnings = Warnings::default();
        warnings.merge(&snapshot.warnings);
        for device in &findings.devices {
            warnings.merge(&device.timeline.warnings);
        }
        let diagnosis = diagnosis_report(snapshot, findings);
        let record = (diagnosis.cause == Cause::InsufficientData).then(|| RecordReport {
            why: "Add these lines before the model is built, and open the file that they write."
                .to_owned(),
            code: RECORD_CODE,
        });
        Report {
            oomscope: 1,
            version: crate::VERSION,
            file: FileReport {
                name: name.to_owned(),
                bytes,
                container: snapshot.wrapping.container,
                protocol: snapshot.wrapping.protocol,
            },
            history: findings.history,
            history_note: findings.history_note(),
            stacks: findings.stacks,
            stacks_note: findings.stacks.note(),
            alloc_conf: snapshot.settings.as_ref().map(|settings| settings.conf.clone()),
            warnings: warnings
                .as_slice()
                .iter()
                .map(|warning| WarningReport {
                    warning: warning.clone(),
                    message: warning.kind.message(),
                })
                .collect(),
            devices: findings.devices.iter().map(device_report).collect(),
            diagnosis,
            record,
            not_in_file: NOT_IN_FILE,
            run: None,
        }
    }
}

impl Report {
    /// Adds what a comparison needs, so that the report is a summary that stands for its file.
    pub fn summarise(&mut self, snapshot: &Snapshot, findings: &Findings) {
        self.run = Run::of(snapshot, findings, &self.file.name, &[]);
    }

    /// Says of each device how far the allocator's replay agrees with the recording.
    pub fn verify(&mut self, snapshot: &Snapshot, findings: &Findings) {
        for (report, device) in self.devices.iter_mut().zip(&findings.devices) {
            let verification = &device.recording(snapshot).verification;
            report.replay = (verification.compared > 0).then(|| ReplayReport {
                exact: verification.is_exact(),
                differing_entries: verification.differing_entries,
                largest_difference_bytes: verification.largest_difference_bytes,
            });
        }
    }
}

impl DeviceReport {
    /// Allocated bytes after the last entry.
    #[must_use]
    pub fn end_allocated(&self) -> u64 {
        self.end.allocated_bytes
    }

    /// Reserved bytes after the last entry.
    #[must_use]
    pub fn end_reserved(&self) -> u64 {
        self.end.reserved_bytes
    }
}

fn device_report(device: &Device) -> DeviceReport {
    let timeline = &device.timeline;
    let (reached, end) = (timeline.peaks, timeline.end);
    let peaks = Peaks {
        requested: reached.requested.into(),
        allocated: reached.allocated.into(),
        active: reached.active.into(),
        reserved: reached.reserved.into(),
    };
    let at = |entry| named(&device.composition(entry));
    DeviceReport {
        device: timeline.device,
        label: format!(
            "cuda:{} ({} entries)",
            timeline.device,
            Count(u64::from(timeline.entries()))
        ),
        entries: timeline.entries(),
        composition: CompositionReport {
            at_peak: at(peaks.allocated.entry),
            at_oom: timeline.ooms.last().map(|oom| at(oom.entry)),
            at_end: at(device.last_entry()),
        },
        peaks,
        end: End {
            requested_bytes: end.requested,
            allocated_bytes: end.allocated,
            active_bytes: end.active,
            reserved_bytes: end.reserved,
        },
        ooms: timeline
            .ooms
            .iter()
            .map(|oom| OomReport {
                entry: oom.entry,
                request_bytes: oom.request_bytes,
                device_free_bytes: oom.device_free_bytes,
                allocated_bytes: oom.usage.allocated,
                active_bytes: oom.usage.active,
                reserved_bytes: oom.usage.reserved,
                idle_bytes: oom.idle_bytes,
                largest_hole_bytes: oom.largest_hole_bytes,
            })
            .collect(),
        steps: device
            .steps
            .iter()
            .map(|step| StepReport {
                begin_entry: step.begin,
                end_entry: step.end,
                baseline_bytes: step.baseline,
                peak_bytes: step.peak,
            })
            .collect(),
        replay: None,
    }
}

/// A composition by name, without the empty categories.
fn named(composition: &Composition) -> BTreeMap<&'static str, u64> {
    Category::ALL
        .iter()
        .zip(composition)
        .filter(|(_, bytes)| **bytes > 0)
        .map(|(category, bytes)| (category.name(), *bytes))
        .collect()
}
