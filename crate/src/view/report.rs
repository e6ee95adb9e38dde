//! The report: the JSON that `--json` prints and that the page shows.
//!
//! All sizes are bytes, all places entry indices into the device's trace, all times µs.

use super::frames::{FrameView, holder_view, stack_view};
use crate::allocator::verify::Recording;
use crate::container::Container;
use crate::findings::category::Category;
use crate::findings::diagnosis::{Cause, Claim, Evidence, Moment};
use crate::findings::fixes::{Basis, Fix};
use crate::findings::history::{History, StacksTold};
use crate::findings::{Composition, Device, Findings};
use crate::snapshot::Snapshot;
use crate::timeline::usage::{Peak, UsageColumns};
use crate::units::Count;
use crate::warning::{Warning, Warnings};
use serde::Serialize;
use std::collections::BTreeMap;

/// The lines shown; what the others hold is in the composition.
const LINES: usize = 40;

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

/// The verdict.
#[derive(Clone, Debug, Serialize)]
pub struct DiagnosisReport {
    /// The device judged.
    pub device: u32,
    /// The entry judged.
    pub entry: u32,
    /// What it is.
    pub moment: Moment,
    /// The likeliest cause.
    pub cause: Cause,
    /// Its name for people.
    pub cause_label: &'static str,
    /// Its confidence, from 0 to 1.
    pub confidence: f64,
    /// The verdict in one sentence.
    pub headline: String,
    /// What stands behind it.
    pub summary: Vec<String>,
    /// The causes, likeliest first.
    pub ranking: Vec<ClaimReport>,
    /// What made it worse.
    pub contributing: Vec<ClaimReport>,
    /// What it is not.
    pub ruled_out: Vec<RuledOut>,
    /// How many bytes less would have gone through.
    pub margin_bytes: Option<u64>,
    /// The reserved memory at that moment, split up; it sums to it.
    pub bar: Vec<BarPart>,
    /// The lines that hold most.
    pub lines: Vec<LineReport>,
    /// What to do.
    pub fixes: Vec<FixReport>,
}

/// A cause with its evidence.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    cause: Cause,
    label: &'static str,
    confidence: f64,
    bytes: u64,
    evidence: Vec<EvidenceReport>,
}

/// One observation.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceReport {
    statement: String,
    bytes: Option<u64>,
    entry: Option<u32>,
    stack: Option<Vec<FrameView>>,
}

/// A cause that the numbers rule out.
#[derive(Clone, Debug, Serialize)]
pub struct RuledOut {
    cause: Cause,
    label: &'static str,
    because: String,
}

/// A part of the reserved memory.
#[derive(Clone, Debug, Serialize)]
pub struct BarPart {
    /// A category, `pending_free` or `idle`.
    pub key: &'static str,
    /// The same for people.
    pub label: &'static str,
    /// Its bytes.
    pub bytes: u64,
}

/// A line and what it holds.
#[derive(Clone, Debug, Serialize)]
pub struct LineReport {
    /// File; empty where there is no line to name.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Function, or what there is instead.
    pub function: String,
    /// Bytes of its live blocks.
    pub bytes: u64,
    /// Number of its live allocations.
    pub count: u64,
    /// Share of what is allocated, from 0 to 1.
    pub share: f64,
    /// The category with most of these bytes.
    pub category: Category,
    /// The stack with most of these bytes, innermost first.
    pub frames: Vec<FrameView>,
}

/// A thing to do.
#[derive(Clone, Debug, Serialize)]
pub struct FixReport {
    /// Its name for programs.
    pub id: &'static str,
    /// What to do.
    pub title: &'static str,
    /// What it would save.
    pub saves_bytes: Option<u64>,
    /// How that is known.
    pub basis: Basis,
    /// How, and at what cost.
    pub note: String,
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
        }
    }
}

impl Report {
    /// Replays the allocator on each device that has a trace, and says how far that agrees.
    pub fn verify(&mut self, snapshot: &Snapshot, findings: &Findings) {
        for (report, device) in self.devices.iter_mut().zip(&findings.devices) {
            let verification = Recording::of(snapshot, &device.timeline).verification;
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
    let (usage, start, end) = (&timeline.usage, timeline.start, timeline.end);
    let peaks = Peaks {
        requested: UsageColumns::peak(&usage.requested, start.requested).into(),
        allocated: UsageColumns::peak(&usage.allocated, start.allocated).into(),
        active: UsageColumns::peak(&usage.active, start.active).into(),
        reserved: UsageColumns::peak(&usage.reserved, start.reserved).into(),
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

fn diagnosis_report(snapshot: &Snapshot, findings: &Findings) -> DiagnosisReport {
    let diagnosis = &findings.diagnosis;
    let usage = findings
        .device(diagnosis.device)
        .map(|device| device.timeline.usage_after(diagnosis.entry))
        .unwrap_or_default();
    let frames = |stack| stack_view(snapshot, &findings.kinds, stack);
    let evidence = |evidence: &Evidence| EvidenceReport {
        statement: evidence.statement.clone(),
        bytes: evidence.bytes,
        entry: evidence.entry,
        stack: evidence.stack.map(frames),
    };
    let claim = |claim: &Claim| ClaimReport {
        cause: claim.cause,
        label: claim.cause.label(),
        confidence: claim.confidence,
        bytes: claim.bytes,
        evidence: claim.evidence.iter().map(evidence).collect(),
    };
    let mut bar: Vec<BarPart> = Category::ALL
        .iter()
        .zip(diagnosis.composition)
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(category, bytes)| BarPart { key: category.name(), label: category.label(), bytes })
        .collect();
    for (key, label, bytes) in [
        ("pending_free", "awaited by another stream", usage.active.saturating_sub(usage.allocated)),
        ("idle", "reserved, idle", usage.idle()),
    ] {
        if bytes > 0 {
            bar.push(BarPart { key, label, bytes });
        }
    }
    let lines = diagnosis.lines.iter().take(LINES).map(|line| {
        let (file, number, function) = holder_view(snapshot, &line.holder);
        LineReport {
            file,
            line: number,
            function,
            bytes: line.bytes,
            count: line.count,
            share: line.bytes as f64 / usage.allocated.max(1) as f64,
            category: line.category,
            frames: frames(line.stack),
        }
    });
    let fix = |fix: &Fix| FixReport {
        id: fix.id,
        title: fix.title,
        saves_bytes: fix.saves_bytes,
        basis: fix.basis,
        note: fix.note.clone(),
    };
    DiagnosisReport {
        device: diagnosis.device,
        entry: diagnosis.entry,
        moment: diagnosis.moment,
        cause: diagnosis.cause(),
        cause_label: diagnosis.cause().label(),
        confidence: diagnosis.ranking.first().map_or(0.0, |claim| claim.confidence),
        headline: diagnosis.headline.clone(),
        summary: diagnosis.summary.clone(),
        ranking: diagnosis.ranking.iter().map(claim).collect(),
        contributing: diagnosis.contributing.iter().map(claim).collect(),
        ruled_out: diagnosis
            .ruled_out
            .iter()
            .map(|(cause, because)| RuledOut {
                cause: *cause,
                label: cause.label(),
                because: because.clone(),
            })
            .collect(),
        margin_bytes: diagnosis.margin_bytes,
        bar,
        lines: lines.collect(),
        fixes: diagnosis.fixes.iter().map(fix).collect(),
    }
}
