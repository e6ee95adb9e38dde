//! Who fills the device, by the numbers: other processes, gaps, overhead, a cache, the running pass.

use super::bar::Outside;
use super::cause::{Cause, Claims};
use super::context::{Context, Doing};
use super::judge::serving;
use super::weigh::{CONTEXT_BYTES, GIB, Numbers, percent};
use super::wording::Backend;
use crate::units::Bytes;

impl Numbers<'_> {
    /// Memory held by other processes.
    pub(crate) fn others(&self, backend: Backend, claims: &mut Claims) {
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
    pub(crate) fn fragmentation(&self, claims: &mut Claims) {
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
    pub(crate) fn own_overhead(&self, context: &Context, claims: &mut Claims) {
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
    pub(crate) fn served(&self, context: &Context, claims: &mut Claims) {
        if !context.serves() {
            return;
        }
        serving(context, claims);
        if self.facts.private_pool_bytes.is_some() {
            claims.add(Cause::KvCache, 0.65, "A serving framework's CUDA graphs hold private pools, so that its KV cache was set aside already; what that left over was too little.");
        }
    }

    /// What the frames near the message were doing.
    pub(crate) fn doing(&self, context: &Context, claims: &mut Claims) {
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
    pub(crate) fn large_request(&self, context: &Context, claims: &mut Claims) {
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
}
