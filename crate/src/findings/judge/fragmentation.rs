//! Fragmentation: idle memory in pieces that fit no request.

use super::{IDLE_SHARE, Judge, at};
use crate::allocator::enough::Passage;
use crate::allocator::settings::Settings;
use crate::findings::diagnosis::{Cause, Claim, Diagnosis};
use crate::findings::need::Need;
use crate::timeline::Oom;
use crate::units::Bytes;

impl Judge<'_> {
    /// Fragmentation needs a request that would fit into what lies idle, a replay with segments that
    /// grow which gets past it, and a step that would then have gone through.
    pub(super) fn fragmentation(
        &self,
        diagnosis: &mut Diagnosis,
        oom: &Oom,
        need: Option<Need>,
        capacity: u64,
        grows_on: bool,
    ) {
        let idle_share = oom.usage.idle() as f64 / oom.usage.reserved.max(1) as f64;
        let idle = Bytes(oom.idle_bytes);
        let passage = self.with_growing_segments();
        let passes = passage.as_ref().map(|passage| passage.at_least);
        let fits = oom.request_bytes <= oom.idle_bytes;
        match passes {
            Some(false) if fits => {
                diagnosis.ruled_out.push((Cause::Fragmentation, format!("the {idle} idle would have held the request in one piece, but replayed with segments that grow, the recorded requests run out as well.")));
                diagnosis.passage = passage;
                return;
            }
            Some(false) | None if !fits => {
                let request = Bytes(oom.request_bytes);
                let because = if oom.idle_bytes == 0 {
                    "nothing lay idle in the request's pool and stream.".to_owned()
                } else {
                    format!(
                        "even in one piece, the {idle} idle in the request's pool and stream would not have held its {request}."
                    )
                };
                diagnosis.ruled_out.push((Cause::Fragmentation, because));
                return;
            }
            _ => {}
        }
        let is_replayed = passes == Some(true);
        diagnosis.passage = passage;
        let goes_through = need.map(|need| need.bytes <= capacity);
        // What grows without end fills any room that it is given.
        let is_cause = !grows_on
            && match goes_through {
                Some(true) => true,
                Some(false) => idle_share >= 2.0 * IDLE_SHARE,
                None => idle_share >= IDLE_SHARE,
            };
        let mut statement = format!(
            "{} were asked for while {idle} lay idle in the same pool and stream, in holes of at most {}.",
            Bytes(oom.request_bytes),
            Bytes(oom.largest_hole_bytes)
        );
        if is_replayed {
            statement.push_str(
                " Replayed with segments that grow, the recorded requests get past this point.",
            );
        }
        if is_cause {
            if let Some(need) = need.filter(|_| goes_through == Some(true)) {
                statement.push_str(&format!(
                    " By the steps before it, the whole step needs {}, less than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ));
            }
            let confidence = match (is_replayed, goes_through) {
                (true, Some(true) | None) => 0.95,
                (false, None) => 0.9,
                _ => 0.85,
            };
            diagnosis.ranking.push(Claim {
                cause: Cause::Fragmentation,
                confidence,
                bytes: oom.idle_bytes,
                evidence: vec![at(statement, oom)],
            });
        } else {
            let but = match need {
                _ if grows_on => " But what grows would soon have filled that room too.".to_owned(),
                Some(need) => format!(
                    " But by the steps before it, the whole step needs about {}, more than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ),
                None => format!(
                    " But that is {:.0} % of what is reserved, the allocator's ordinary slack: it would not last.",
                    100.0 * idle_share
                ),
            };
            diagnosis.contributing.push(Claim {
                cause: Cause::Fragmentation,
                confidence: 0.3,
                bytes: oom.idle_bytes,
                evidence: vec![at(statement + &but, oom)],
            });
        }
    }

    /// Whether the recorded requests get past the failure with segments that grow; `None` where they
    /// grow already, where no limit shows in the recording, or where the replay of what was recorded
    /// differs from it.
    fn with_growing_segments(&self) -> Option<Passage> {
        let recorded = Settings::recorded(self.snapshot);
        let recording = self.device.recording(self.snapshot);
        if recorded.expandable_segments || !recording.verification.is_exact() {
            return None;
        }
        recording.passes_its_failure(&Settings { expandable_segments: true, ..recorded })
    }
}
