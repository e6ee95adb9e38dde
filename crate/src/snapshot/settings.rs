//! The allocator's settings, as far as the file tells them.

/// `allocator_settings`, written from PyTorch 2.3 on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The settings string as it was given (`PYTORCH_CUDA_ALLOC_CONF`); empty where unset.
    pub conf: String,
    /// `max_split_size_mb` in bytes; `None` is unlimited.
    pub max_split_size: Option<u64>,
    /// `garbage_collection_threshold`, a fraction; 0 is off.
    pub garbage_collection_threshold: f64,
    /// The setting; whether segments are expandable is told by each of them.
    pub expandable_segments: bool,
    /// `roundup_power2_divisions` for sizes from 1 MiB, 2 MiB, … 32 GiB on; 0 is off.
    pub roundup_power2_divisions: [u64; 16],
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            conf: String::new(),
            max_split_size: None,
            garbage_collection_threshold: 0.0,
            expandable_segments: false,
            roundup_power2_divisions: [0; 16],
        }
    }
}

impl Settings {
    /// The size of the block that serves a request of `requested` bytes, before any splitting.
    #[must_use]
    pub fn rounded(&self, requested: u64) -> u64 {
        rounded(&self.roundup_power2_divisions, requested)
    }
}

/// The size of the block that serves a request of `requested` bytes, before any splitting, with
/// `divisions` for sizes from 1 MiB, 2 MiB, … 32 GiB on (`CUDACachingAllocator.cpp`, `round_size`).
#[must_use]
pub fn rounded(divisions: &[u64; 16], requested: u64) -> u64 {
    const GRANULE: u64 = 512;
    if requested < GRANULE {
        return GRANULE;
    }
    let interval = requested.ilog2().clamp(20, 35).saturating_sub(20);
    let divisions = divisions.get(interval as usize).copied().unwrap_or(0);
    if divisions > 1 && requested > GRANULE.saturating_mul(divisions) {
        if requested.is_power_of_two() {
            return requested;
        }
        let floor = 1_u64.checked_shl(requested.ilog2()).unwrap_or(0);
        let step = floor.checked_div(divisions).unwrap_or(0);
        return if step == 0 {
            floor.saturating_mul(2)
        } else {
            requested.checked_next_multiple_of(step).unwrap_or(requested)
        };
    }
    requested.checked_next_multiple_of(GRANULE).unwrap_or(requested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_round_up_to_512_or_to_a_fraction_of_a_power_of_two() {
        let plain = Settings::default();
        assert_eq!(
            [1, 512, 513, 5_000_000].map(|size| plain.rounded(size)),
            [512, 512, 1024, 5_000_192]
        );
        let quarters = Settings { roundup_power2_divisions: [4; 16], ..Settings::default() };
        assert_eq!(quarters.rounded(1200 << 20), 1280 << 20);
        assert_eq!(quarters.rounded(1024 << 20), 1024 << 20);
    }
}
