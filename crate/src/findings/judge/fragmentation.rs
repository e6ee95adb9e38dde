//! Fragmentation: idle memory in pieces that fit no request.

use super::{IDLE_SHARE, Judge, at};
use crate::findings::diagnosis::{Cause, Claim, Diagnosis};
use crate::findings::need::Need;
use crate::timeline::Oom;
use crate::units::Bytes;

impl Judge<'_> {
    /// Fragmentation needs a request that would fit into what lies idle, and a step that would then
    /// have gone through.
    pub(super) fn fragmentation(
        &self,
        diagnosis: &mut Diagnosis,
        oom: &Oom,
        need: Option<Need>,
        capacity: u64,
    ) {
        let idle_share = oom.usage.idle() as f64 / oom.usage.reserved.max(1) as f64;
        let idle = Bytes(oom.idle_bytes);
        if oom.request_bytes > oom.idle_bytes {
            diagnosis.ruled_out.push((Cause::Fragmentation, format!("even in one piece, the {idle} idle in the request's pool and stream would not have held its {}", Bytes(oom.request_bytes))));
            return;
        }
        let goes_through = need.map(|need| need.bytes <= capacity);
        let is_cause = match goes_through {
            Some(true) => true,
            Some(false) => idle_share >= 2.0 * IDLE_SHARE,
            None => idle_share >= IDLE_SHARE,
        };
        let mut statement = format!(
            "{} were asked for while {idle} lay idle in the same pool and stream, in holes of at most {}.",
            Bytes(oom.request_bytes),
            Bytes(oom.largest_hole_bytes)
        );
        if is_cause {
            if let Some(need) = need.filter(|_| goes_through == Some(true)) {
                statement.push_str(&format!(
                    " By the steps before it, the whole step needs {}, less than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ));
            }
            let confidence = if goes_through.is_none() { 0.9 } else { 0.85 };
            diagnosis.ranking.push(Claim {
                cause: Cause::Fragmentation,
                confidence,
                bytes: oom.idle_bytes,
                evidence: vec![at(statement, oom)],
            });
        } else {
            let but = match need {
                Some(need) => format!(
                    " But by the steps before it, the whole step needs about {}, more than the {} at hand.",
                    Bytes(need.bytes),
                    Bytes(capacity)
                ),
                None => format!(
                    " That is {:.0} % of what is reserved, the allocator's ordinary slack.",
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
}
