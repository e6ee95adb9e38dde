//! The program after a change, to be replayed: the same [`Kept`] whose sums are taken elsewhere tell
//! here what is requested, and when. So the answer has the allocator's packing in it.
//!
//! What a change makes anew while it computes again (the scratch memory of a recomputed block) is
//! not added: it was freed in the recorded pass too.

use super::{Held, Kept, Recording};
use crate::allocator::program::{Program, SecondLife};
use crate::findings::Device;
use crate::findings::judge::request_category;
use crate::findings::marks::StackMarks;
use crate::snapshot::Snapshot;
use crate::timeline::allocation::AllocationId;

/// What the program of `device` asks for after a change. The requests that failed change along.
#[must_use]
pub fn rewritten<'a>(
    snapshot: &Snapshot,
    device: &'a Device,
    marks: &StackMarks,
    change: impl Fn(&Held<'a>) -> Kept,
) -> Program {
    let mut program = device.recording(snapshot).program.clone();
    let all = Recording { device, upto: u32::MAX, request: None };
    let kept: Vec<Kept> = all.all().map(|held| change(&held)).collect();
    let of = |id: AllocationId| kept.get(id.0 as usize).copied().unwrap_or(Kept::WHOLE);
    program.resize(|id, size| part(size, of(id).share));
    program.retain(|id| of(id).share > 0.0);
    let (mut ends, mut second) = (Vec::new(), Vec::new());
    for (place, kept) in (0..).zip(&kept).filter(|(_, kept)| kept.share > 0.0) {
        let id = AllocationId(place);
        match kept.lives {
            Some([(_, gone), (again, end)]) if again < end => {
                second.push(SecondLife { id, gone, again });
            }
            Some([(_, gone), _]) => ends.push((gone, id)),
            None => {}
        }
    }
    if !ends.is_empty() {
        program.free_at(ends);
    }
    program.ask_again(&second);
    for (failed, oom) in program.failed.iter_mut().zip(&device.timeline.ooms) {
        let held = Held {
            place: None,
            size: failed.size,
            requested: failed.size,
            category: request_category(snapshot, device, marks, oom),
            entry: Some(oom.entry),
            allocation: None,
        };
        failed.size = part(failed.size, change(&held).share);
    }
    program
}

fn part(size: u64, share: f64) -> u64 {
    if share == 1.0 { size } else { (size as f64 * share) as u64 }
}
