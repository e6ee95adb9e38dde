//! The causes that an error text can point to.

use serde::Serialize;

/// Why memory ran out.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Weights, gradients and optimizer states fill the device.
    Weights,
    /// What the running pass needs beside them.
    Activations,
    /// Enough lay idle, in pieces.
    Fragmentation,
    /// Something is kept that should be let go.
    Leak,
    /// A server's cache and its reservation.
    KvCache,
    /// The text does not tell.
    InsufficientData,
    /// One block as large as the device.
    TooBigSingleRequest,
    /// Another process holds the memory.
    OtherProcess,
    /// A limit below the device's memory.
    MemoryFractionCap,
    /// The driver's context, NCCL and libraries take what is left.
    Context,
    /// The machine's own memory.
    HostMemory,
    /// The driver or the system refuses though memory is left.
    PlatformLimit,
    /// Another program's message.
    NotPytorch,
}

impl Cause {
    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Cause::Weights => "weights, gradients and optimizer states",
            Cause::Activations => "activations",
            Cause::Fragmentation => "fragmentation",
            Cause::Leak => "a leak",
            Cause::KvCache => "the KV cache's reservation",
            Cause::InsufficientData => "the text alone cannot tell",
            Cause::TooBigSingleRequest => "one request too big",
            Cause::OtherProcess => "another process on the device",
            Cause::MemoryFractionCap => "a memory limit below the device's size",
            Cause::Context => "the driver's context and libraries",
            Cause::HostMemory => "the machine's own memory",
            Cause::PlatformLimit => "a limit of the platform",
            Cause::NotPytorch => "not a message of PyTorch",
        }
    }
}

/// A cause with how sure the text makes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The cause.
    pub cause: Cause,
    /// From 0 to 1: the share of such texts of which the claim would be expected to hold. Set by
    /// hand; the claims of one text may be true together.
    pub confidence: f64,
    /// The sentence that gives the reason, with its numbers.
    pub because: String,
}

/// The claims so far.
#[derive(Debug, Default)]
pub(crate) struct Claims(Vec<Claim>);

impl Claims {
    /// Adds a claim; of two of one cause the surer stays.
    pub(crate) fn add(&mut self, cause: Cause, confidence: f64, because: impl Into<String>) {
        let because = because.into();
        match self.0.iter_mut().find(|claim| claim.cause == cause) {
            Some(claim) if claim.confidence >= confidence => {}
            Some(claim) => *claim = Claim { cause, confidence, because },
            None => self.0.push(Claim { cause, confidence, because }),
        }
    }

    /// The surest, from 0.
    pub(crate) fn best(&self) -> f64 {
        self.0.iter().map(|claim| claim.confidence).fold(0.0, f64::max)
    }

    /// Likeliest first; of equals, the first added.
    pub(crate) fn ranked(mut self) -> Vec<Claim> {
        self.0.sort_by(|left, right| right.confidence.total_cmp(&left.confidence));
        self.0
    }
}
