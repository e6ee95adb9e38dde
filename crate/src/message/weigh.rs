//! Judges the numbers of an allocator's message: each rule is a sum that does or does not come out.

use super::bar::{Outside, outside, own_process};
use super::cause::{Cause, Claims};
use super::context::{Context, Doing, System};
use super::facts::Facts;
use super::judge::serving;
use super::wording::Backend;
use crate::units::Bytes;

const GIB: u64 = 1 << 30;

/// Most that one process's context, NCCL and libraries usually take on a device: 0.3 GiB for the
/// context alone, up to about 2 GiB with everything. What is more belongs to somebody else.
pub(crate) const CONTEXT_BYTES: u64 = 2 * GIB;

/// More than any device has, in bytes.
const ANY_DEVICE_BYTES: u64 = 400 * GIB;

/// A device's memory split by who holds it, as far as it is told.
struct Numbers<'a> {
    facts: &'a Facts,
    request: Option<u64>,
    /// What may be used at most: the device or the limit, whichever is less.
    room: Option<u64>,
    idle: u64,
    reserved: Option<u64>,
    outside: Outside,
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
    numbers.not_told(context, claims);
}

impl Numbers<'_> {
    /// One request larger than, or nearly as large as, all there is.
    fn one_request(&self, claims: &mut Claims) {
        let Some(request) = self.request else { return };
        let Some(room) = self.room else {
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

    /// Memory held by other processes.
    fn others(&self, backend: Backend, claims: &mut Claims) {
        let Some(capacity) = self.facts.capacity_bytes else { return };
        let (held, is_exact) = match self.outside {
            Outside { others: Some(others), .. } => (others, true),
            Outside { both: Some(both), .. } => (both, false),
            _ => return,
        };
        // Without the allocator's own total this bound counts its idle memory, too.
        let share = if self.reserved.is_some() { 4 } else { 2 };
        if held < CONTEXT_BYTES || held < capacity / share {
            return;
        }
        let confidence = match (held >= capacity / 2, is_exact) {
            (true, true) => 0.92,
            (true, false) => 0.85,
            (false, true) => 0.75,
            (false, false) => 0.62,
        };
        let ours = self.reserved.or(self.facts.allocated_bytes).unwrap_or(0);
        claims.add(
            Cause::OtherProcess,
            confidence,
            if is_exact {
                format!("Other processes hold {} of {}; this one's allocator holds {}.", Bytes(held), Bytes(capacity), Bytes(ours))
            } else {
                format!("{} of {} are neither free nor PyTorch's ({}): far more than a process's own context and libraries take.", Bytes(held), Bytes(capacity), Bytes(ours))
            },
        );
        if !is_exact {
            let because = "The text does not tell other processes from this one's memory outside PyTorch's allocator, such as libraries' workspaces.";
            claims.add(Cause::Context, if backend == Backend::Cuda { 0.25 } else { 0.35 }, because);
        }
    }

    /// Whether the request would have fitted into what the allocator held idle.
    fn fragmentation(&self, claims: &mut Claims) {
        let (Some(request), Some(reserved)) = (self.request, self.reserved) else { return };
        let free = self.facts.free_bytes.unwrap_or(0);
        let of_reserved = percent(self.idle, reserved);
        if self.idle >= request {
            // Between a twentieth and a tenth is idle in healthy programs.
            let (large, half) = (self.idle >= reserved / 10, self.idle >= reserved / 3);
            let confidence = match (large, half) {
                (_, true) => 0.82,
                (true, _) => 0.7,
                _ => 0.28,
            };
            claims.add(
                Cause::Fragmentation,
                confidence,
                format!(
                    "{} lay idle in the allocator ({of_reserved} of what it held), more than the {} asked for, but in no single piece.{}",
                    Bytes(self.idle),
                    Bytes(request),
                    if large { "" } else { " So little is idle in healthy programs, too." }
                ),
            );
        } else if self.idle.saturating_add(free) >= request
            && self.idle >= reserved / 5
            && free < request
        {
            claims.add(
                Cause::Fragmentation,
                0.63,
                format!("{} idle in the allocator and {} free would together have held the {} asked for; neither did alone.", Bytes(self.idle), Bytes(free), Bytes(request)),
            );
        }
    }

    /// This process's memory outside the allocator.
    fn own_overhead(&self, context: &Context, claims: &mut Claims) {
        if let (Some(other), Some(allowed)) =
            (self.facts.other_allocations_bytes, self.facts.allowed_bytes)
        {
            if other >= allowed / 2 {
                claims.add(Cause::Context, 0.7, format!("{} of the {} allowed are held by this process outside PyTorch's allocator.", Bytes(other), Bytes(allowed)));
            }
            return;
        }
        let Some(capacity) = self.facts.capacity_bytes else { return };
        let small = capacity <= 8 * GIB + GIB / 4;
        match self.outside {
            Outside { own: Some(own), .. } => {
                let is_large = (small && own >= capacity / 6)
                    || (own > 2 * CONTEXT_BYTES && own >= capacity / 10);
                if is_large {
                    claims.add(
                        Cause::Context,
                        0.55,
                        format!("{} of this process's memory ({} of the device) is not PyTorch's allocator: the driver's context, libraries, NCCL, CUDA graphs.", Bytes(own), percent(own, capacity)),
                    );
                    claims.add(
                        Cause::Weights,
                        0.3,
                        "What is left after that is small, and the model may need more than it.",
                    );
                }
            }
            Outside { both: Some(both), .. }
                if small
                    && both >= capacity / 8
                    && !context.serves()
                    && self.reserved.is_some() =>
            {
                claims.add(
                    Cause::Context,
                    0.3,
                    format!("{} ({}) of this small device are neither free nor PyTorch's: the driver's context, libraries, a desktop or other processes.", Bytes(both), percent(both, capacity)),
                );
            }
            _ => {}
        }
    }

    /// A serving framework on a full card.
    fn served(&self, context: &Context, claims: &mut Claims) {
        if !context.serves() {
            return;
        }
        serving(context, claims);
        if self.facts.private_pool_bytes.is_some() {
            claims.add(Cause::KvCache, 0.65, "A serving framework's CUDA graphs hold private pools, so that its KV cache was set aside already; what that left over was too little.");
        }
    }

    /// What the frames near the message were doing.
    fn doing(&self, context: &Context, claims: &mut Claims) {
        let held = self.facts.allocated_bytes.unwrap_or(0);
        // A model that was moved to an empty card says nothing; one that fills it does.
        let fills =
            self.room.is_some_and(|room| held >= room / 2) || self.facts.allocated_bytes.is_none();
        if context.is(Doing::Optimizing) && fills && !context.serves() {
            claims.add(Cause::Weights, 0.68, "The frames are the optimizer's: it makes its states, two more copies of the weights for Adam, at its first step.");
        }
        if context.is(Doing::Loading)
            && fills
            && !context.is(Doing::Backward)
            && !context.is(Doing::Forward)
            && !context.serves()
        {
            claims.add(
                Cause::Weights,
                0.65,
                "The frames load or move a model: nothing but weights is being built there.",
            );
        }
        // Weights of that size are rare; results of these operations are not.
        if context.is(Doing::Forward)
            && self.request.is_some_and(|request| request >= 512 << 20)
            && !context.serves()
        {
            claims.add(Cause::Activations, 0.66, "The lines near the message compute results that grow with the input, and the block asked for is large.");
        }
    }

    /// A block too large for a weight is a result of the running pass.
    fn large_request(&self, context: &Context, claims: &mut Claims) {
        if context.is(Doing::Caching) {
            return;
        }
        let (Some(request), Some(room)) = (self.request, self.room) else { return };
        // With so much of the device not accounted for, the size explains nothing.
        let held = self.reserved.or(self.facts.allocated_bytes).unwrap_or(0);
        if self.facts.free_bytes.is_none() && held.saturating_add(request) < room - room / 4 {
            return;
        }
        // Where the two together would have sufficed, the size of the block is not what failed.
        let free = self.facts.free_bytes.unwrap_or(0);
        if request <= self.idle.saturating_add(free) && self.idle < self.reserved.unwrap_or(0) / 5 {
            return;
        }
        if request >= room / 4 {
            claims.add(
                Cause::Activations,
                0.62,
                format!("One block of {}, {} of the device, is too large for a weight of a model that fits: it is a result that grows with the input.", Bytes(request), percent(request, room)),
            );
            if request >= room / 2 {
                claims.add(
                    Cause::TooBigSingleRequest,
                    0.45,
                    "It alone takes more than half of the device.",
                );
            }
        } else if context.serves() && request >= room / 10 {
            claims.add(
                Cause::Activations,
                0.84,
                format!("One block of {} beside a cache that was set aside before: it is a result that grows with the prompts, such as logits of every token.", Bytes(request)),
            );
        } else if request >= GIB && request >= room / 16 && !context.serves() {
            claims.add(
                Cause::Activations,
                0.55,
                format!("One block of {} is seldom a weight: most likely a result that grows with batch, sequence or image.", Bytes(request)),
            );
            claims.add(Cause::Weights, 0.3, "The table of a large vocabulary can be that large.");
        }
    }

    /// How far the text leaves it open.
    fn not_told(&self, context: &Context, claims: &mut Claims) {
        let known = self.facts.allocated_bytes.or(self.reserved);
        let because = match (known, self.room, self.request) {
            (None, ..) => "The text does not say what PyTorch held.".to_owned(),
            (Some(0), ..) => "PyTorch held nothing yet.".to_owned(),
            (Some(held), Some(room), _) => format!(
                "PyTorch's live tensors took {} of {}. Weights, activations and a leak all look like this in the message; a memory snapshot tells them apart.",
                Bytes(held),
                Bytes(room)
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
