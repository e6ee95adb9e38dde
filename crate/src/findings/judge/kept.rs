//! References kept: whether they explain the failure, and how surely.

use super::{Judge, LONG};
use crate::findings::category::Category;
use crate::findings::diagnosis::{Cause, Claim, Diagnosis, Evidence};
use crate::findings::keeping::{Keeping, References};
use crate::findings::leak::{Group, Kind};
use crate::timeline::Oom;
use crate::units::{Bytes, Count};

/// A leak is the cause of a failure when it makes up this share of what was not needed before.
const LEAK_SHARE: f64 = 0.5;
/// What an earlier failure left behind is worth naming from this share of the memory on.
const LEFTOVER: f64 = 0.25;

impl Judge<'_> {
    /// Answers the leaked bytes.
    pub(super) fn leak(&self, diagnosis: &mut Diagnosis, oom: &Oom) -> u64 {
        let left =
            References::of_earlier_pass(self.snapshot, self.device, self.kinds, self.marks, oom)
                .filter(|left| left.bytes as f64 >= LEFTOVER * oom.usage.allocated as f64);
        if let Some(left) = left {
            return self.leftover(diagnosis, left);
        }
        let steps: Vec<u64> = self
            .device
            .steps
            .iter()
            .filter(|step| step.begin <= oom.entry)
            .map(|step| step.peak)
            .collect();
        let kept = self.kept.as_ref().filter(|kept| kept.groups.iter().any(|group| group.kept > 0));
        let Some(kept) = kept else {
            if steps.len() >= 5 {
                diagnosis.ruled_out.push((
                    Cause::Leak,
                    format!(
                        "over {} steps no place in the code keeps more and more.",
                        Count(steps.len() as u64)
                    ),
                ));
            }
            return 0;
        };
        let leaked = kept.groups.iter().map(|group| group.kept).fold(0, u64::saturating_add);
        // What used to fit: the median peak of the first third after the warm-up.
        let mut early: Vec<u64> =
            steps.iter().copied().skip(2).take((steps.len() / 3).max(1)).collect();
        early.sort_unstable();
        let fitted = early.get(early.len() / 2).copied().unwrap_or(0);
        let excess = oom.usage.allocated.saturating_add(oom.request_bytes).saturating_sub(fitted);
        if leaked as f64 >= LEAK_SHARE * excess as f64 {
            let confidence = self.trust_in(kept, steps.len());
            diagnosis.ranking.push(self.leak_claim(kept, confidence));
        } else {
            diagnosis.contributing.push(self.leak_claim(kept, 0.4));
        }
        diagnosis.kept = Some(kept.clone());
        leaked
    }

    /// How surely what is kept is a leak.
    pub(super) fn trust_in(&self, kept: &References, steps: usize) -> f64 {
        let trains = self.device.steps.iter().any(|step| step.trains);
        match kept.keeping {
            Keeping::Masses => 0.5,
            // Without a failure, a buffer that still fills looks the same.
            Keeping::Values if self.device.timeline.ooms.is_empty() && steps < LONG => 0.5,
            // Several forward passes for one backward keep their graphs as well, on purpose.
            Keeping::Graph if !trains => {
                if steps >= LONG {
                    0.8
                } else {
                    0.55
                }
            }
            _ => {
                if steps >= LONG {
                    0.95
                } else {
                    0.7
                }
            }
        }
    }

    /// Batches and other data that are kept may well be a buffer of fixed length that is not full
    /// yet: nothing in a recording without a failure tells.
    pub(super) fn may_be_buffer(&self, kept: &References) -> bool {
        kept.keeping == Keeping::Values
            && kept.groups.iter().all(|group| {
                matches!(group.category, Category::Inputs | Category::Unknown)
                    && group.kind == Kind::Steady
            })
    }

    /// The groups of one line as one, the most kept first.
    pub(super) fn by_line(&self, kept: &References) -> Vec<Group> {
        let mut lines: Vec<(String, Group)> = Vec::new();
        for group in &kept.groups {
            let place = self.place(group.stack);
            match lines.iter_mut().find(|(known, of)| *known == place && of.kind == group.kind) {
                Some((_, sum)) => {
                    sum.kept = sum.kept.saturating_add(group.kept);
                    sum.height = sum.height.saturating_add(group.height);
                    sum.per_step += group.per_step;
                    sum.count += group.count;
                }
                None => lines.push((place, group.clone())),
            }
        }
        lines.sort_by_key(|(_, group)| std::cmp::Reverse(group.kept.max(group.height)));
        lines.into_iter().map(|(_, group)| group).collect()
    }

    pub(super) fn leak_claim(&self, kept: &References, confidence: f64) -> Claim {
        let groups = self.by_line(kept);
        let evidence = groups.iter().take(3).map(|group| Evidence {
            statement: self.leak_story(group),
            bytes: Some(group.kept.max(group.height)),
            entry: Some(group.entry),
            stack: Some(group.stack),
        });
        Claim { cause: Cause::Leak, confidence, bytes: kept.bytes, evidence: evidence.collect() }
    }

    fn leftover(&self, diagnosis: &mut Diagnosis, left: References) -> u64 {
        let bytes = left.bytes;
        let again = left.again.unwrap_or(0);
        diagnosis.ranking.push(Claim {
            cause: Cause::Leak,
            confidence: 0.85,
            bytes,
            evidence: vec![Evidence {
                statement: format!("{} from before entry {} are still held, while the same lines compute anew from there on.", Bytes(bytes), Count(u64::from(again))),
                bytes: Some(bytes),
                entry: Some(again),
                stack: None,
            }],
        });
        diagnosis.kept = Some(left);
        bytes
    }
}
