//! The verdict as the page and `--json` show it.

use super::blocks::BlockMap;
use super::blocks::pins::Pins;
use super::frames::{FrameView, holder_view, stack_view};
use crate::findings::Findings;
use crate::findings::category::Category;
use crate::findings::checklist::{self, Item};
use crate::findings::diagnosis::{Cause, Claim, Evidence, Moment};
use crate::findings::fixes::Fix;
use crate::findings::shape::Form;
use crate::snapshot::Snapshot;
use serde::Serialize;

/// The lines shown; what the others hold is in the composition.
const LINES: usize = 40;

/// The sentences on what keeps memory idle; the page's map has more.
const PINS: usize = 3;

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
    /// The blocks that keep segments mostly empty, a sentence each, most idle bytes first; empty
    /// unless fragmentation is the cause.
    pub pins: Vec<String>,
    /// What the fixes are for, as a heading.
    pub fixes_title: &'static str,
    /// What to do, the largest saving first, then what would not help.
    pub fixes: Vec<Fix>,
    /// The shape of the usage over time; `None` without a trace.
    pub shape: Option<ShapeReport>,
    /// The way from the error to its remedy.
    pub checklist: Vec<Item>,
    /// What is often misjudged, with this file's numbers.
    pub misjudgements: Vec<Item>,
}

/// The shape of the usage over time.
#[derive(Clone, Debug, Serialize)]
pub struct ShapeReport {
    /// Which.
    pub form: Form,
    /// The same for people.
    pub label: &'static str,
    /// What such a shape usually means.
    pub meaning: &'static str,
    /// First entry.
    pub begin_entry: u32,
    /// One past the last entry.
    pub end_entry: u32,
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

impl DiagnosisReport {
    /// The file of every line and frame.
    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let lines = self.lines.iter_mut().flat_map(|line| {
            std::iter::once(&mut line.file)
                .chain(line.frames.iter_mut().map(|frame| &mut frame.file))
        });
        let claims = self.ranking.iter_mut().chain(&mut self.contributing);
        let stacks = claims
            .flat_map(|claim| &mut claim.evidence)
            .filter_map(|evidence| evidence.stack.as_mut());
        lines.chain(stacks.flatten().map(|frame| &mut frame.file))
    }
}

pub(super) fn diagnosis_report(snapshot: &Snapshot, findings: &Findings) -> DiagnosisReport {
    let diagnosis = &findings.diagnosis;
    let device = findings.device(diagnosis.device);
    let usage =
        device.map(|device| device.timeline.usage_after(diagnosis.entry)).unwrap_or_default();
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
        pins: match device {
            Some(device) if diagnosis.cause() == Cause::Fragmentation => {
                let map = BlockMap::of(snapshot, device, diagnosis.entry);
                let pins = Pins::of(snapshot, findings, &map).pins;
                pins.into_iter().take(PINS).map(|pin| pin.sentence).collect()
            }
            _ => Vec::new(),
        },
        fixes_title: match diagnosis.cause() {
            Cause::None => "What would lower the peak",
            _ => "What to do",
        },
        fixes: diagnosis.fixes.clone(),
        shape: device.and_then(|device| device.shape).map(|shape| ShapeReport {
            form: shape.form,
            label: shape.form.label(),
            meaning: shape.form.meaning(),
            begin_entry: shape.begin,
            end_entry: shape.end,
        }),
        checklist: checklist::steps(diagnosis, device, findings.stacks),
        misjudgements: checklist::misjudgements(snapshot, diagnosis, device),
    }
}
