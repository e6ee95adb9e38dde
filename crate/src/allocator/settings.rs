//! The settings that decide what the allocator does, and the sizes that follow from them.

use super::conf::{self, ConfError};
use crate::snapshot::Snapshot;
use crate::snapshot::settings as recorded;
use std::fmt;

/// One MiB, the unit of most settings.
pub(super) const MIB: u64 = 1 << 20;
/// The granule of blocks, and the least remainder worth splitting off where splitting is free
/// (`kMinBlockSize`).
pub(super) const GRANULE: u64 = 512;
/// The largest block of the small pool, and the largest remainder that stays with a block of the
/// large pool (`kSmallSize`).
pub(super) const SMALL: u64 = MIB;
/// The length of a segment, and of a page, of the small pool (`kSmallBuffer`).
pub(super) const SMALL_SEGMENT: u64 = 2 * MIB;
/// From here on a segment is made for its request (`kMinLargeAlloc`).
const OWN_SEGMENT: u64 = 10 * MIB;
/// Such segments are a multiple of this (`kRoundLarge`).
const SEGMENT_GRANULE: u64 = 2 * MIB;
/// The length of a shared segment, and of a page, of the large pool (`kLargeBuffer`).
pub(super) const LARGE_SEGMENT: u64 = 20 * MIB;

/// What `PYTORCH_CUDA_ALLOC_CONF` sets, as far as it decides where blocks go. PyTorch's defaults
/// are the [`Default`]. Displays in PyTorch's own syntax, defaults left out.
///
/// ```
/// use oomscope::allocator::settings::Settings;
/// let settings = Settings::parse("max_split_size_mb:128, expandable_segments:True")?.settings;
/// assert_eq!(settings.to_string(), "expandable_segments:True,max_split_size_mb:128");
/// # Ok::<(), oomscope::allocator::conf::ConfError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether segments grow and shrink by pages.
    pub expandable_segments: bool,
    /// Blocks from this many bytes on are never split; `None` is no such bound.
    pub max_split_size: Option<u64>,
    /// By how many bytes such a block may exceed its request.
    pub max_non_split_rounding: u64,
    /// The share of the limit, from 0 to 1, from which on cached segments are collected by age; 0
    /// is never. Without a limit it does nothing.
    pub garbage_collection_threshold: f64,
    /// Divisions of a power of two for sizes from 1 MiB, 2 MiB, … 32 GiB on; 0 and 1 are off.
    pub roundup_power2_divisions: [u64; 16],
    /// The share of the card, from 0 to 1, that the process may reserve; `None` is all of it.
    pub per_process_memory_fraction: Option<f64>,
    /// Bytes of a shared segment, and of a page, of the large pool.
    pub large_segment_size: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            expandable_segments: false,
            max_split_size: None,
            max_non_split_rounding: LARGE_SEGMENT,
            garbage_collection_threshold: 0.0,
            roundup_power2_divisions: [0; 16],
            per_process_memory_fraction: None,
            large_segment_size: LARGE_SEGMENT,
        }
    }
}

/// Settings read from a text, with what was read and does not count here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The settings.
    pub settings: Settings,
    /// A sentence for each option that PyTorch knows and that changes nothing here.
    pub notes: Vec<String>,
}

impl Settings {
    /// Reads PyTorch's own syntax, such as `max_split_size_mb:128,expandable_segments:True`. What
    /// is not named is at its default.
    ///
    /// # Errors
    /// [`ConfError`] for what PyTorch refuses too, and for `backend:cudaMallocAsync`, which is
    /// another allocator.
    pub fn parse(conf: &str) -> Result<Parsed, ConfError> {
        conf::parse(conf)
    }

    /// The settings under which `snapshot` was recorded. Files name no memory fraction that was
    /// set by a call, and before PyTorch 2.3 nothing at all.
    #[must_use]
    pub fn recorded(snapshot: &Snapshot) -> Settings {
        let Some(told) = &snapshot.settings else { return Settings::default() };
        // Some options reach the file in the text alone; what it cannot be read for is left at
        // its default, since PyTorch itself accepted it.
        let from_text = Settings::parse(&told.conf).unwrap_or_default().settings;
        Settings {
            expandable_segments: told.expandable_segments,
            max_split_size: told.max_split_size.filter(|size| *size > 0),
            garbage_collection_threshold: told.garbage_collection_threshold,
            roundup_power2_divisions: told.roundup_power2_divisions,
            ..from_text
        }
    }

    /// The block size that serves a request of `requested` bytes
    /// (`CUDACachingAllocator.cpp`, `round_size`).
    #[must_use]
    pub fn rounded(&self, requested: u64) -> u64 {
        recorded::rounded(&self.roundup_power2_divisions, requested)
    }

    /// The segment that a request, already rounded, would ask the driver for
    /// (`CUDACachingAllocator.cpp`, `get_allocation_size`).
    #[must_use]
    pub fn segment_size(&self, rounded: u64) -> u64 {
        if rounded <= SMALL {
            SMALL_SEGMENT
        } else if rounded < OWN_SEGMENT {
            self.large_segment_size
        } else {
            rounded.checked_next_multiple_of(SEGMENT_GRANULE).unwrap_or(rounded)
        }
    }

    /// The page of an expandable segment.
    pub(super) fn page(&self, is_small: bool) -> u64 {
        if is_small { SMALL_SEGMENT } else { self.large_segment_size.max(1) }
    }

    /// Whether blocks go where they went under `other`, as long as the limit does not interfere.
    pub(super) fn places_like(&self, other: &Settings) -> bool {
        self.expandable_segments == other.expandable_segments
            && self.max_split_size == other.max_split_size
            && self.max_non_split_rounding == other.max_non_split_rounding
            && self.roundup_power2_divisions == other.roundup_power2_divisions
            && self.large_segment_size == other.large_segment_size
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Settings::default();
        let mut parts = Vec::new();
        if self.expandable_segments {
            parts.push("expandable_segments:True".to_owned());
        }
        if let Some(size) = self.max_split_size {
            parts.push(format!("max_split_size_mb:{}", size / MIB));
        }
        if self.max_non_split_rounding != default.max_non_split_rounding {
            parts.push(format!("max_non_split_rounding_mb:{}", self.max_non_split_rounding / MIB));
        }
        if self.garbage_collection_threshold > 0.0 {
            parts.push(format!(
                "garbage_collection_threshold:{}",
                self.garbage_collection_threshold
            ));
        }
        let divisions = &self.roundup_power2_divisions;
        if divisions.iter().all(|each| *each == divisions[0]) {
            if divisions[0] > 0 {
                parts.push(format!("roundup_power2_divisions:{}", divisions[0]));
            }
        } else {
            let each = (0..).zip(divisions).map(|(power, each)| format!("{}:{each}", 1 << power));
            parts
                .push(format!("roundup_power2_divisions:[{}]", each.collect::<Vec<_>>().join(",")));
        }
        if let Some(fraction) = self.per_process_memory_fraction {
            parts.push(format!("per_process_memory_fraction:{fraction}"));
        }
        if self.large_segment_size != default.large_segment_size {
            parts.push(format!("large_segment_size_mb:{}", self.large_segment_size / MIB));
        }
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_2_mib_20_mib_or_made_for_its_request() {
        let settings = Settings::default();
        let sizes = [512, SMALL, SMALL + 512, 10 * MIB - 512, 10 * MIB, 11 * MIB - 512, 11 * MIB];
        assert_eq!(sizes.map(|size| settings.segment_size(size) / MIB), [2, 2, 20, 20, 10, 12, 12]);
        let wide = Settings { large_segment_size: 64 * MIB, ..settings };
        assert_eq!(wide.segment_size(2 * MIB), 64 * MIB);
    }

    #[test]
    fn the_display_reads_as_the_same_settings() {
        for conf in [
            "",
            "expandable_segments:True",
            "max_split_size_mb:128,max_non_split_rounding_mb:64,garbage_collection_threshold:0.6",
            "roundup_power2_divisions:4",
            "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
            "per_process_memory_fraction:0.5,large_segment_size_mb:40",
        ] {
            let settings = Settings::parse(conf).unwrap().settings;
            assert_eq!(
                Settings::parse(&settings.to_string()).unwrap().settings,
                settings,
                "{conf}"
            );
        }
    }

    #[test]
    fn settings_place_alike_only_if_all_that_places_blocks_agrees() {
        let default = Settings::default();
        for conf in [
            "expandable_segments:True",
            "max_split_size_mb:128",
            "max_non_split_rounding_mb:40",
            "roundup_power2_divisions:4",
            "large_segment_size_mb:32",
        ] {
            let other = Settings::parse(conf).unwrap().settings;
            assert!(other.places_like(&other) && !other.places_like(&default), "{conf}");
        }
        for conf in ["garbage_collection_threshold:0.6", "per_process_memory_fraction:0.5"] {
            assert!(Settings::parse(conf).unwrap().settings.places_like(&default), "{conf}");
        }
    }
}
