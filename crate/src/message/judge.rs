//! Which cause a message points to, and how surely.

use super::Message;
use super::cause::{Cause, Claim, Claims};
use super::context::{Context, Doing, Program};
use super::facts::Facts;
use super::weigh;
use super::wording::{Backend, Family};
use crate::units::Bytes;

/// Judges the message that counts, in its surroundings; likeliest cause first, never empty.
#[must_use]
pub fn judge(message: Option<&Message>, context: &Context) -> Vec<Claim> {
    let mut claims = Claims::default();
    match message {
        Some(message) => judge_message(message, context, &mut claims),
        None => claims.add(
            Cause::InsufficientData,
            0.95,
            "No out-of-memory message was found in this text.",
        ),
    }
    claims.ranked()
}

fn judge_message(message: &Message, context: &Context, claims: &mut Claims) {
    let facts = &message.facts;
    match message.family {
        Family::Allocator if facts.any() => weigh::weigh(facts, message.backend, context, claims),
        Family::Allocator | Family::Fragment => without_numbers(context, claims),
        Family::FractionRejected => claims.add(
            Cause::MemoryFractionCap,
            0.9,
            "PyTorch refused the request before it tried, because the memory fraction set for this process would have been passed.",
        ),
        Family::Absurd => claims.add(
            Cause::TooBigSingleRequest,
            0.97,
            "More than an exabyte was asked for: a shape was negative or overflowed. This is no lack of memory.",
        ),
        Family::BlockLimit => {
            claims.add(
                Cause::TooBigSingleRequest,
                0.8,
                format!(
                    "One block{} was asked for, more than this platform gives at once, however much is left.",
                    facts.requested_bytes.map_or(String::new(), |bytes| format!(" of {}", Bytes(bytes)))
                ),
            );
            claims.add(
                Cause::PlatformLimit,
                0.7,
                "The limit is one of the platform on a single block, not the device's memory.",
            );
        }
        Family::AddressSpace => claims.add(
            Cause::PlatformLimit,
            0.7,
            "Address space, handles or queues ran out, not the memory itself.",
        ),
        Family::OnChip => claims.add(
            Cause::PlatformLimit,
            0.9,
            "A Triton kernel wanted more shared memory than a multiprocessor has. The device's memory is not the matter: smaller blocks or fewer stages are.",
        ),
        Family::Driver => driver(message, context, claims),
        Family::Library | Family::Collective => library(message, context, claims),
        Family::Nvml => {
            claims.add(
                Cause::InsufficientData,
                0.7,
                "This assertion fails while PyTorch composes its out-of-memory message: memory did run out, but the numbers are lost.",
            );
            claims.add(Cause::PlatformLimit, 0.35, "The driver's management library answers no queries here, as on MIG slices, Jetson boards and in restricted containers.");
            common_suspects(claims);
        }
        Family::Cache => claims.add(
            Cause::KvCache,
            0.85,
            "The serving framework itself says so: what it may use, less the weights and the running pass, does not hold the cache that it needs.",
        ),
        Family::CardInUse => card_in_use(facts, claims),
        Family::Host => host(facts, claims),
        Family::HostKilled => claims.add(
            Cause::HostMemory,
            if message.wording == "killed" { 0.6 } else { 0.9 },
            if message.wording == "killed" {
                "The process was ended from outside by signal 9. Most often the system does that when the machine's own memory runs out; its log (dmesg) says so."
            } else {
                "The system ended the process because the machine's own memory, or the share given to the container or job, ran out. This is not the GPU's memory."
            },
        ),
        Family::Foreign => foreign(message, claims),
    }
}

/// A message of the allocator's whose numbers were not pasted.
fn without_numbers(context: &Context, claims: &mut Claims) {
    claims.add(
        Cause::InsufficientData,
        0.8,
        "The part of the message that has the numbers is missing. Paste the whole sentence, up to \"reserved by PyTorch\".",
    );
    if context.serves() {
        serving(context, claims);
    } else {
        common_suspects(claims);
    }
}

/// What is left to suspect where the text names no suspect.
fn common_suspects(claims: &mut Claims) {
    claims.add(Cause::Activations, 0.25, "The running pass is the most common cause.");
    claims.add(
        Cause::Weights,
        0.2,
        "Weights, gradients and optimizer states may fill the device alone.",
    );
    claims.add(
        Cause::Leak,
        0.15,
        "If it fails after many steps, something is kept that should be let go.",
    );
}

/// A server sets aside a share of the card; what it leaves must hold everything else.
pub(crate) fn serving(context: &Context, claims: &mut Claims) {
    let telling =
        [Doing::Capturing, Doing::Serving, Doing::Caching].iter().any(|doing| context.is(*doing));
    let tgi = context.programs.contains(&Program::Tgi);
    claims.add(
        Cause::KvCache,
        if telling || tgi { 0.82 } else { 0.4 },
        if context.is(Doing::Capturing) {
            "A serving framework was capturing CUDA graphs, after it had set aside memory for its KV cache: what it left over was too little."
        } else if telling || tgi {
            "A serving framework had set aside memory for its KV cache; what it left over was too little for the rest."
        } else {
            "A serving framework is running: it sets aside most of the card for its KV cache. The text does not say whether it had done so yet."
        },
    );
}

fn driver(message: &Message, context: &Context, claims: &mut Claims) {
    if context.serves() {
        serving(context, claims);
    }
    if context.is(Doing::Pinning) {
        claims.add(
            Cause::HostMemory,
            0.6,
            "The frames pin memory of the machine, which fails with the same words.",
        );
    }
    claims.add(
        Cause::InsufficientData,
        0.7,
        if message.wording == "thc" {
            "PyTorch before 1.0 printed no numbers."
        } else {
            "The driver refused an allocation outside PyTorch's allocator, or reports an earlier failure late. There are no numbers."
        },
    );
    claims.add(
        Cause::Context,
        0.3,
        "The driver's context, a library's handle or a CUDA graph may have found no room.",
    );
    claims.add(
        Cause::OtherProcess,
        0.28,
        "If it fails at the first use of the GPU, another process fills it: see nvidia-smi.",
    );
    common_suspects(claims);
}

fn library(message: &Message, context: &Context, claims: &mut Claims) {
    // A handle that cannot be made has other common reasons; no fitting algorithm, too.
    let is_weak = matches!(message.wording, "cublas_init" | "cudnn_init" | "cudnn_algorithm");
    let because = if message.family == Family::Collective {
        "NCCL's buffers, which lie outside PyTorch's allocator, found no room: PyTorch had reserved the rest of the card, or other processes had."
    } else if is_weak {
        "A library could not start or found no algorithm that fits. A full card is the usual reason, an earlier failed kernel or an unsupported type another."
    } else {
        "A library's handle or workspace, which lies outside PyTorch's allocator, found no room: the card was full but for what PyTorch held."
    };
    claims.add(Cause::Context, if is_weak { 0.5 } else { 0.7 }, because);
    if context.serves() {
        claims.add(
            Cause::KvCache,
            0.45,
            "A serving framework's reservation leaves the libraries what it does not take.",
        );
    }
    claims.add(Cause::InsufficientData, 0.4, "There are no numbers, and errors of kernels are reported late: set CUDA_LAUNCH_BLOCKING=1 to see whether the line is right.");
    claims.add(
        Cause::Weights,
        0.25,
        "What fills the card may be weights, gradients and optimizer states.",
    );
    claims.add(Cause::OtherProcess, 0.2, "Another process may fill the card: see nvidia-smi.");
}

fn card_in_use(facts: &Facts, claims: &mut Claims) {
    let used = facts
        .capacity_bytes
        .zip(facts.free_bytes)
        .map(|(all, free)| (all, all.saturating_sub(free)));
    match used {
        // The driver and a desktop take a little; what is more belongs to somebody.
        Some((all, used)) if used < weigh::CONTEXT_BYTES && used < all / 10 => claims.add(
            Cause::KvCache,
            0.75,
            format!("Only {} of {} were in use before the server started: the share that it was told to take is larger than a card ever has free.", Bytes(used), Bytes(all)),
        ),
        Some((all, used)) => claims.add(
            Cause::OtherProcess,
            0.85,
            format!("{} of {} were in use before the server had allocated anything.", Bytes(used), Bytes(all)),
        ),
        None => claims.add(Cause::OtherProcess, 0.7, "The memory in use changed while the server measured it: another process works on the card."),
    }
    claims.add(
        Cause::KvCache,
        0.4,
        "A smaller share (gpu_memory_utilization) would start beside the other process.",
    );
}

fn host(facts: &Facts, claims: &mut Claims) {
    let asked = facts.requested_bytes;
    claims.add(
        Cause::HostMemory,
        0.95,
        match asked {
            Some(bytes) => format!("{} of the machine's own memory were asked for and refused. The GPU is not involved.", Bytes(bytes)),
            None => "The machine's own memory, or its shared memory, ran out. The GPU is not involved.".to_owned(),
        },
    );
    // More than most machines have, in one block.
    if let Some(bytes) = asked.filter(|bytes| *bytes >= 32 << 30) {
        claims.add(
            Cause::TooBigSingleRequest,
            0.5,
            format!("{} in one block is more than most machines have at all.", Bytes(bytes)),
        );
    }
}

fn foreign(message: &Message, claims: &mut Claims) {
    claims.add(
        Cause::NotPytorch,
        if message.backend == Backend::Other { 0.85 } else { 0.95 },
        match message.backend {
            Backend::Jax | Backend::Tensorflow => format!("This is {}'s message. It takes most of the card when it starts, and has its own allocator and tools.", message.backend.label()),
            backend => format!("This message comes from {}, not from PyTorch.", backend.label()),
        },
    );
    if message.speaks_of_host {
        claims.add(Cause::HostMemory, 0.4, "The machine's own memory was asked for.");
    }
}
