//! Judges the numbers of an allocator's message: each rule is a sum that does or does not come out.

use super::bar::{Outside, outside, own_process};
use super::cause::{Cause, Claims};
use super::context::{Context, System};
use super::facts::Facts;
use super::wording::Backend;
use crate::units::Bytes;

pub(crate) const GIB: u64 = 1 << 30;

/// Most that one process's context, NCCL and libraries usually take on a device: 0.3 GiB for the
/// context alone, up to about 2 GiB with everything. What is more belongs to somebody else.
pub(crate) const CONTEXT_BYTES: u64 = 2 * GIB;

/// More than any device has, in bytes.
const ANY_DEVICE_BYTES: u64 = 400 * GIB;

/// A device's memory split by who holds it, as far as it is told.
pub(crate) struct Numbers<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) request: Option<u64>,
    /// What may be used at most: the device or the limit, whichever is less.
    pub(crate) room: Option<u64>,
    pub(crate) idle: u64,
    pub(crate) reserved: Option<u64>,
    pub(crate) outside: Outside,
}

/// Adds what the numbers say.
pub(crate) fn weigh(facts: &Facts, backend: Backend, context: &Context, claims: &mut Claims) {
    let room = match (facts.capacity_bytes, facts.allowed_bytes) {
        (Some(capacity), Some(allowed)) => Some(capacity.min(allowed)),
        (capacity, allowed) => capacity.or(allowed),
    };
    let numbers = Numbers {
        facts,
        request: facts.requested_bytes,
        room,
        idle: facts.reserved_unallocated_bytes.unwrap_or(0),
        reserved: facts.reserved_bytes,
        outside: outside(facts),
    };
    numbers.one_request(claims);
    numbers.limit(backend, claims);
    let is_spilled = numbers.spilled(claims);
    let had_room = !is_spilled && numbers.had_room(context, claims);
    if !had_room {
        numbers.others(backend, claims);
        if !is_spilled {
            numbers.fragmentation(claims);
        }
        numbers.own_overhead(context, claims);
        numbers.served(context, claims);
        numbers.doing(context, claims);
        if !is_spilled {
            numbers.large_request(context, claims);
        }
    }
    numbers.not_told(backend, context, claims);
}

impl Numbers<'_> {
    /// One request larger than, or nearly as large as, all there is.
    fn one_request(&self, claims: &mut Claims) {
        let Some(request) = self.request else { return };
        // What would fit into the device but not under the limit is the limit's matter.
        let Some(room) = self.facts.capacity_bytes.or(self.room) else {
            if request >= ANY_DEVICE_BYTES {
                claims.add(Cause::TooBigSingleRequest, 0.9, format!("{} in one block is more than any device has: a shape is wrong by orders of magnitude.", Bytes(request)));
            }
            return;
        };
        if request >= room {
            claims.add(
                Cause::TooBigSingleRequest,
                0.95,
                format!("One block of {} was asked for; the device has {} in all. It fails on an empty device, too.", Bytes(request), Bytes(room)),
            );
        } else if request / 2 >= room / 3 {
            claims.add(
                Cause::TooBigSingleRequest,
                0.8,
                format!(
                    "One block of {} was asked for, {} of all that the device has ({}).",
                    Bytes(request),
                    percent(request, room),
                    Bytes(room)
                ),
            );
        }
        if request / 2 >= room / 3 {
            claims.add(Cause::Activations, 0.4, "Such a block is a result whose shape grows with the input: attention over a whole sequence, logits over a whole vocabulary, all pairs of two sets.");
        }
    }

    /// A limit set below the device's memory.
    fn limit(&self, backend: Backend, claims: &mut Claims) {
        // MPS prints its own limit in every message, so that its presence says nothing.
        let Some(allowed) = self.facts.allowed_bytes.filter(|_| backend != Backend::Mps) else {
            return;
        };
        let is_lower =
            self.facts.capacity_bytes.is_none_or(|capacity| allowed < capacity - capacity / 50);
        let held = self.reserved.or(self.facts.allocated_bytes).unwrap_or(0);
        let left = allowed.saturating_sub(held);
        let reached = match self.request {
            Some(request) => request > left,
            None => left < allowed / 10,
        };
        let had_free =
            self.facts.free_bytes.zip(self.request).map(|(free, request)| free >= request);
        if is_lower && reached {
            claims.add(
                Cause::MemoryFractionCap,
                match had_free {
                    Some(true) => 0.92,
                    Some(false) => 0.45,
                    None => 0.75,
                },
                format!(
                    "PyTorch may use {} and held {}; the limit comes from set_per_process_memory_fraction or a setting that calls it.{}",
                    Bytes(allowed),
                    Bytes(held),
                    if had_free == Some(false) { " The device itself was full as well." } else { "" }
                ),
            );
        }
    }

    /// More allocated than the device has: the driver lends memory of the machine, and neither
    /// "free" nor idle memory mean what they say.
    fn spilled(&self, claims: &mut Claims) -> bool {
        let (Some(held), Some(capacity)) =
            (self.reserved.or(self.facts.allocated_bytes), self.facts.capacity_bytes)
        else {
            return false;
        };
        let is_spilled = held > capacity + capacity / 100;
        if is_spilled {
            claims.add(
                Cause::InsufficientData,
                0.6,
                format!("PyTorch held {} on a device of {}: the driver, as on Windows, lends memory of the machine. When that ends says little about what filled it.", Bytes(held), Bytes(capacity)),
            );
            claims.add(
                Cause::Activations,
                0.4,
                "What is needed is more than the device has, whatever it is.",
            );
            if self.request.is_some_and(|request| self.idle >= request) {
                claims.add(Cause::Fragmentation, 0.3, format!("{} lay idle.", Bytes(self.idle)));
            }
        }
        is_spilled
    }

    /// The driver had more left than was asked for, by more than rounding and the driver's own pages.
    fn had_room(&self, context: &Context, claims: &mut Claims) -> bool {
        let (Some(free), Some(request)) = (self.facts.free_bytes, self.request) else {
            return false;
        };
        if free < request.saturating_add(request / 8).saturating_add(64 << 20) {
            return false;
        }
        let windows = context.systems.contains(&System::Windows);
        claims.add(
            Cause::InsufficientData,
            0.7,
            format!("The driver had {} left and refused {}: this is no plain lack of memory, and the text does not say what it is.", Bytes(free), Bytes(request)),
        );
        claims.add(
            Cause::PlatformLimit,
            if windows || free / 8 > request { 0.4 } else { 0.3 },
            if windows {
                "On Windows and WSL the free memory that the driver reports is no promise."
            } else {
                "A limit of the driver may be reached: address space, open handles, mappings, or a container's."
            },
        );
        claims.add(Cause::OtherProcess, 0.3, "Another process may have held the memory at that moment and let go of it before the message was made.");
        true
    }

    /// How far the text leaves it open.
    fn not_told(&self, backend: Backend, context: &Context, claims: &mut Claims) {
        let known = self.facts.allocated_bytes.or(self.reserved);
        let because = match (known, self.room, self.request) {
            (None, ..) => "The text does not say what PyTorch held.".to_owned(),
            (Some(0), ..) => "PyTorch held nothing yet.".to_owned(),
            (Some(held), Some(room), _) => format!(
                "PyTorch's live tensors took {} of {}. Weights, activations and a leak all look like this in the message{}.",
                Bytes(held),
                Bytes(room),
                // MPS has none.
                if backend == Backend::Mps { "" } else { "; a memory snapshot tells them apart" }
            ),
            (Some(_), None, _) => "The device's memory is missing from the text.".to_owned(),
        };
        let is_open = claims.best() < 0.5;
        claims.add(Cause::InsufficientData, if is_open { 0.6 } else { 0.3 }, because);
        if is_open && !context.serves() && own_process(self.facts).is_none_or(|own| own > 0) {
            claims.add(
                Cause::Activations,
                0.25,
                "If a smaller batch or a shorter sequence passes, it is the running pass.",
            );
            claims.add(Cause::Weights, 0.22, "If it fails at the first step whatever the batch, it is weights, gradients and optimizer states.");
            claims.add(
                Cause::Leak,
                0.18,
                "If it fails after many equal steps, something is kept that should be let go.",
            );
        }
    }
}

/// A share for people.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}
