//! The syntax of `PYTORCH_CUDA_ALLOC_CONF`: options `name:value`, between commas
//! (`c10/core/AllocatorConfig.cpp` and `c10/cuda/CUDAAllocatorConfig.cpp` of PyTorch 2.11).

use super::settings::{MIB, Parsed};
use std::fmt;

/// A text that PyTorch would not take for its allocator's settings.
///
/// Displays as one sentence: what is wrong, then what to write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfError {
    what: String,
    remedy: String,
}

impl ConfError {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        ConfError { what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}.", self.what, self.remedy)
    }
}

impl std::error::Error for ConfError {}

/// Options that PyTorch knows and that move no block: whether any value goes, or a truth value.
const WITHOUT_EFFECT: [&str; 10] = [
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "pinned_num_register_threads",
    "pinned_use_background_threads",
    "pinned_reserve_segment_size_mb",
    "graph_capture_record_stream_reuse",
    "throw_on_cudamalloc_oom",
    "expandable_segments_reserve",
];

const KNOWN: &str = "known are expandable_segments, max_split_size_mb, max_non_split_rounding_mb, garbage_collection_threshold, roundup_power2_divisions, per_process_memory_fraction and large_segment_size_mb";

pub(super) fn parse(conf: &str) -> Result<Parsed, ConfError> {
    // PyTorch's own reader drops blanks wherever they stand.
    let conf: String = conf.chars().filter(|character| *character != ' ').collect();
    let mut parsed = Parsed::default();
    for option in options(&conf)? {
        let Some((name, value)) = option.split_once(':') else {
            return Err(ConfError::new(
                format!("the option {option:?} has no value"),
                format!("write it as {option}:VALUE"),
            ));
        };
        read(name, value, &mut parsed)?;
    }
    Ok(parsed)
}

/// The options between the commas that stand outside brackets. The last comma may be followed by
/// nothing.
fn options(conf: &str) -> Result<Vec<&str>, ConfError> {
    let (mut options, mut begin, mut depth) = (Vec::new(), 0, 0_u32);
    for (place, character) in conf.char_indices() {
        match character {
            '[' if depth == 0 => depth = 1,
            ']' if depth == 1 => depth = 0,
            '[' | ']' => depth = u32::MAX,
            ',' if depth == 0 => {
                options.push(&conf[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
        if depth == u32::MAX {
            break;
        }
    }
    if depth != 0 {
        return Err(ConfError::new(
            "a bracket has no partner",
            "write lists as roundup_power2_divisions:[256:1,512:2,>:4]",
        ));
    }
    if begin < conf.len() {
        options.push(&conf[begin..]);
    }
    if options.contains(&"") {
        return Err(ConfError::new(
            "an option is missing between two commas",
            "separate options by one comma",
        ));
    }
    Ok(options)
}

fn read(name: &str, value: &str, parsed: &mut Parsed) -> Result<(), ConfError> {
    let settings = &mut parsed.settings;
    match name {
        "expandable_segments" => settings.expandable_segments = truth(name, value)?,
        "max_split_size_mb" => settings.max_split_size = Some(mebibytes(name, value, 20)?),
        "max_non_split_rounding_mb" => {
            settings.max_non_split_rounding = mebibytes(name, value, 20)?
        }
        "large_segment_size_mb" => settings.large_segment_size = mebibytes(name, value, 11)?,
        "garbage_collection_threshold" => {
            settings.garbage_collection_threshold = share(name, value, "0 and 1, both excluded")
                .and_then(|share| match share {
                    share if share > 0.0 && share < 1.0 => Ok(share),
                    _ => Err(out_of(name, value, "0 and 1, both excluded")),
                })?;
        }
        "per_process_memory_fraction" => {
            let fraction = share(name, value, "0 and 1")?;
            settings.per_process_memory_fraction = Some(fraction).filter(|share| *share < 1.0);
        }
        "roundup_power2_divisions" => {
            settings.roundup_power2_divisions = match value.strip_prefix('[') {
                Some(list) => table(list.strip_suffix(']').unwrap_or(list))?,
                None => [divisions(value)?; 16],
            };
        }
        "backend" if value == "native" => {}
        "backend" => {
            return Err(ConfError::new(
                format!(
                    "backend:{value} is not PyTorch's caching allocator, which alone is replayed here"
                ),
                "leave the option out, or write backend:native",
            ));
        }
        _ if WITHOUT_EFFECT.contains(&name) => {
            parsed.notes.push(format!("{name} moves no block in this replay and was left out."));
        }
        _ => {
            return Err(ConfError::new(format!("PyTorch has no allocator option {name:?}"), KNOWN));
        }
    }
    Ok(())
}

fn truth(name: &str, value: &str) -> Result<bool, ConfError> {
    match value {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err(ConfError::new(
            format!("{name} is {value:?}, neither True nor False"),
            format!("write {name}:True, with a capital letter"),
        )),
    }
}

fn number(name: &str, value: &str) -> Result<u64, ConfError> {
    value.parse().map_err(|_| {
        ConfError::new(
            format!("{name} has {value:?} where a whole number belongs"),
            format!("write it without a unit, such as {name}:128"),
        )
    })
}

fn mebibytes(name: &str, value: &str, least: u64) -> Result<u64, ConfError> {
    let size = number(name, value)?;
    if size < least {
        return Err(ConfError::new(
            format!("{name} is {size}, which PyTorch refuses as too small"),
            format!("give at least {least} (it counts MiB)"),
        ));
    }
    Ok(size.saturating_mul(MIB))
}

fn out_of(name: &str, value: &str, range: &str) -> ConfError {
    ConfError::new(
        format!("{name} is {value:?}, which is not between {range}"),
        format!("write a fraction, such as {name}:0.8"),
    )
}

fn share(name: &str, value: &str, range: &str) -> Result<f64, ConfError> {
    let share: Option<f64> = value.parse().ok();
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| out_of(name, value, range))
}

fn divisions(value: &str) -> Result<u64, ConfError> {
    let divisions = number("roundup_power2_divisions", value)?;
    if divisions != 0 && !divisions.is_power_of_two() {
        return Err(ConfError::new(
            format!("roundup_power2_divisions has {divisions}, which is no power of two"),
            "give 2, 4, 8, …, or 0 for none",
        ));
    }
    Ok(divisions)
}

/// `256:1,512:2,>:4`: from which size on, in MiB, how many divisions. The first also serves all
/// that is smaller, `>` all that is larger than the last one named. Before PyTorch 2.9 `>` took the
/// last one's place too.
fn table(list: &str) -> Result<[u64; 16], ConfError> {
    let mut table = [0; 16];
    let mut last: Option<usize> = None;
    for pair in list.split(',') {
        let malformed = || {
            ConfError::new(
                format!("roundup_power2_divisions has {pair:?} in its list"),
                "write pairs of a size in MiB, a power of two, and its divisions, such as [256:1,512:2,>:4]",
            )
        };
        let (size, value) = pair.split_once(':').ok_or_else(malformed)?;
        let value = divisions(value)?;
        if size == ">" {
            table[last.map_or(0, |last| last + 1)..].fill(value);
            continue;
        }
        let size: u64 = size.parse().map_err(|_| malformed())?;
        if !size.is_power_of_two() {
            return Err(malformed());
        }
        let interval = (size.ilog2() as usize).min(table.len() - 1);
        table[if last.is_none() { 0 } else { interval }..=interval].fill(value);
        last = Some(interval);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    #[track_caller]
    fn refused(conf: &str) -> String {
        Settings::parse(conf).expect_err(conf).to_string()
    }

    #[test]
    fn every_option_is_read() {
        let conf = "expandable_segments:True, max_split_size_mb:128,max_non_split_rounding_mb:40,\
                    garbage_collection_threshold:0.6,roundup_power2_divisions:4,\
                    per_process_memory_fraction:0.5,large_segment_size_mb:32,";
        let expected = Settings {
            expandable_segments: true,
            max_split_size: Some(128 * MIB),
            max_non_split_rounding: 40 * MIB,
            garbage_collection_threshold: 0.6,
            roundup_power2_divisions: [4; 16],
            per_process_memory_fraction: Some(0.5),
            large_segment_size: 32 * MIB,
        };
        assert_eq!(Settings::parse(conf).unwrap(), Parsed { settings: expected, notes: vec![] });
        assert_eq!(Settings::parse("").unwrap(), Parsed::default());
    }

    #[test]
    fn a_list_gives_each_power_of_two_its_divisions() {
        let list = Settings::parse("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]").unwrap();
        let mut expected = [1; 16];
        expected[9..].copy_from_slice(&[2, 4, 8, 8, 8, 8, 8]);
        assert_eq!(list.settings.roundup_power2_divisions, expected);
        let alone = Settings::parse("roundup_power2_divisions:[>:2]").unwrap();
        assert_eq!(alone.settings.roundup_power2_divisions, [2; 16]);
    }

    #[test]
    fn options_without_effect_are_noted() {
        let parsed = Settings::parse("backend:native,pinned_num_register_threads:8").unwrap();
        assert_eq!(parsed.settings, Settings::default());
        assert_eq!(parsed.notes.len(), 1);
    }

    #[test]
    fn what_pytorch_refuses_is_refused_with_a_remedy() {
        for (conf, word) in [
            ("expandable_segments:true", "capital"),
            ("expandable_segments", "expandable_segments:VALUE"),
            ("max_split_size_mb:19", "at least 20"),
            ("max_split_size_mb:128MB", "without a unit"),
            ("large_segment_size_mb:10", "at least 11"),
            ("garbage_collection_threshold:1.0", "fraction"),
            ("garbage_collection_threshold:nan", "fraction"),
            ("per_process_memory_fraction:80", "fraction"),
            ("roundup_power2_divisions:3", "power of two"),
            ("roundup_power2_divisions:[100:2]", "power of two"),
            ("roundup_power2_divisions:[256:2", "bracket"),
            ("roundup_power2_divisions:[256:2]]", "bracket"),
            ("roundup_power2_divisions:[[256:2]]", "bracket"),
            ("roundup_power2_divisions:256:2]", "bracket"),
            ("max_split_size:128", "known are"),
            ("max_split_size_mb:128,,expandable_segments:True", "one comma"),
            ("backend:cudaMallocAsync", "backend:native"),
        ] {
            let sentence = refused(conf);
            assert!(sentence.contains(word) && sentence.contains("; "), "{conf}: {sentence}");
        }
    }
}
