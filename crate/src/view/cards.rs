//! Cards to ask "what if" about.

use serde::Serialize;

/// A card, by what PyTorch calls its total capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Its name.
    pub name: &'static str,
    /// `torch.cuda.get_device_properties(0).total_memory`, as PyTorch's messages print it, in MiB.
    pub total_mib: u32,
}

/// What the CUDA context and its libraries take before the first tensor, in MiB: 300 to 700 were
/// seen, more with NCCL.
pub const CONTEXT_MIB: u32 = 500;

/// Cards in use for training and serving, the smallest first. Drivers differ by a few MiB.
pub const CARDS: [Card; 17] = [
    Card { name: "RTX 2080 Ti, 11 GB", total_mib: 11_018 },
    Card { name: "RTX 3060, 12 GB", total_mib: 12_042 },
    Card { name: "T4, 16 GB", total_mib: 14_930 },
    Card { name: "V100, 16 GB", total_mib: 16_151 },
    Card { name: "RTX 4080, 16 GB", total_mib: 16_100 },
    Card { name: "L4, 24 GB", total_mib: 22_487 },
    Card { name: "A10G, 24 GB", total_mib: 22_723 },
    Card { name: "RTX 3090, 24 GB", total_mib: 24_259 },
    Card { name: "RTX 4090, 24 GB", total_mib: 24_210 },
    Card { name: "RTX 5090, 32 GB", total_mib: 32_110 },
    Card { name: "V100, 32 GB", total_mib: 32_502 },
    Card { name: "A100, 40 GB", total_mib: 40_335 },
    Card { name: "L40S, 48 GB", total_mib: 45_466 },
    Card { name: "RTX A6000, 48 GB", total_mib: 48_538 },
    Card { name: "A100, 80 GB", total_mib: 81_040 },
    Card { name: "H100, 80 GB", total_mib: 81_009 },
    Card { name: "H200, 141 GB", total_mib: 143_160 },
];
