//! From entries and bytes to pixels and back, with the ticks that people expect.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use super::window::Window;
use crate::units::Count;

/// The horizontal axis: entries of the trace, each as wide as every other.
///
/// A place on it is an entry index with a fraction: entry 5 reaches from 5.0 to 6.0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryScale {
    window: Window,
}

impl EntryScale {
    /// The axis of the entries shown.
    pub fn new(window: Window) -> EntryScale {
        EntryScale { window }
    }

    /// The pixel of a place in the trace; places outside the window lie on its edge.
    pub fn px_from_entry(&self, place: f64, (left, right): (f64, f64)) -> f64 {
        let share = (place - f64::from(self.window.begin)) / f64::from(self.window.len().max(1));
        left + share.clamp(0.0, 1.0) * (right - left)
    }

    /// The entry under a pixel; beyond an edge it is the first or the last shown.
    pub fn entry_from_px(&self, px: f64, (left, right): (f64, f64)) -> u32 {
        let share = (px - left) / (right - left);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        // A pixel on the border of two entries belongs to the later one, whatever the rounding was.
        let steps = (share * f64::from(self.window.len()) + 1e-6).floor() as u32;
        self.window.begin + steps.min(self.window.len().saturating_sub(1))
    }

    /// At most `most` round entry numbers inside the window, ascending.
    pub fn ticks(&self, most: usize) -> Vec<u32> {
        let step = [1, 2, 5]
            .iter()
            .flat_map(|digit| (0..9).map(move |power| digit * 10_u32.pow(power)))
            .filter(|step| (self.window.len() / step) as usize <= most.saturating_sub(1))
            .min();
        let Some(step) = step else { return Vec::new() };
        let (first, last) = (self.window.begin.div_ceil(step), self.window.end / step);
        (first..=last).map(|nth| nth * step).take_while(|&entry| entry < self.window.end).collect()
    }
}

impl Ranged for EntryScale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (left, right): (i32, i32)) -> i32 {
        self.px_from_entry(*place, (f64::from(left), f64::from(right))).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points()).into_iter().map(f64::from).collect()
    }

    fn range(&self) -> Range<f64> {
        f64::from(self.window.begin)..f64::from(self.window.end)
    }
}

/// The vertical axis: bytes from 0 to a little above the most there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByteScale {
    top_bytes: f64,
}

impl ByteScale {
    /// An axis that has room for so many bytes and a little air above.
    pub fn with_room_for(bytes: f64) -> ByteScale {
        let bytes = if bytes.is_finite() { bytes.max(1.0) } else { 1.0 };
        ByteScale { top_bytes: bytes * 1.05 }
    }

    /// At most `most` tick values, from 0 upwards, a power of two apart.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let step =
            (0..63).map(|power| 2_f64.powi(power)).find(|step| self.top_bytes / step < most as f64);
        let Some(step) = step else { return Vec::new() };
        (0..most)
            .map(|nth| nth as f64 * step)
            .take_while(|&bytes| bytes <= self.top_bytes)
            .collect()
    }
}

impl Ranged for ByteScale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, bytes: &f64, (bottom, top): (i32, i32)) -> i32 {
        let share = (bytes / self.top_bytes).clamp(0.0, 1.0);
        (f64::from(bottom) + share * f64::from(top - bottom)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        0.0..self.top_bytes
    }
}

/// A tick's bytes in the largest unit, without zeros that say nothing: `0`, `512 MiB`, `1.25 GiB`.
pub fn tick_label(bytes: f64) -> String {
    let units = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    if bytes == 0.0 {
        return "0".to_owned();
    }
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{} {unit}", trimmed(bytes / size)),
        None => format!("{} bytes", trimmed(bytes)),
    }
}

/// An entry number with separators: `127,602`.
pub fn entry_label(entry: u32) -> String {
    Count(u64::from(entry)).to_string()
}

/// A tick's time since the trace began, told as finely as the ticks lie apart: `250 ms`, `1.5 s`,
/// `12 min`.
pub fn time_label(us: f64, step_us: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(60e6, "min"), (1e6, "s"), (1e3, "ms"), (1.0, "µs")];
    if us == 0.0 {
        return "0".to_owned();
    }
    // Minutes are told whole.
    let fits = |(size, _): &&(f64, &str)| us >= *size && (*size < 60e6 || step_us >= *size);
    let (size, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let digits = (size / step_us.max(1.0)).log10().ceil().clamp(0.0, 6.0) as usize;
    format!("{:.digits$} {unit}", us / size)
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    #[test]
    fn entries_survive_the_way_to_pixels_and_back() {
        for (begin, end, right) in
            [(0, 1, 900.0), (0, 700, 901.0), (12_345, 12_445, 333.3), (7, 2_000, 2_500.0)]
        {
            let scale = EntryScale::new(Window { begin, end });
            for entry in begin..end {
                let px = scale.px_from_entry(f64::from(entry), (58.0, right));
                assert_eq!(scale.entry_from_px(px, (58.0, right)), entry);
            }
        }
    }

    #[test]
    fn pixels_outside_belong_to_the_nearest_entry() {
        let scale = EntryScale::new(Window { begin: 10, end: 20 });
        assert_eq!(scale.entry_from_px(-1e9, (50.0, 150.0)), 10);
        assert_eq!(scale.entry_from_px(150.0, (50.0, 150.0)), 19);
        assert_eq!(scale.entry_from_px(f64::NAN, (50.0, 150.0)), 10);
        assert_eq!(scale.entry_from_px(60.0, (50.0, 50.0)), 10);
        assert_eq!(EntryScale::new(Window::whole(0)).entry_from_px(70.0, (50.0, 150.0)), 0);
    }

    #[test]
    fn entry_ticks_are_round_and_few() {
        let ticks = |begin, end, most| EntryScale::new(Window { begin, end }).ticks(most);
        assert_eq!(ticks(0, 45_000, 6), [0, 10_000, 20_000, 30_000, 40_000]);
        assert_eq!(ticks(12_345, 12_405, 4), [12_360, 12_380, 12_400]);
        assert_eq!(ticks(0, 1, 6), [0]);
        assert!(ticks(0, 0, 6).is_empty());
        assert_eq!(ticks(u32::MAX - 5, u32::MAX, 9).len(), 5);
        for most in 1..12 {
            assert!(ticks(0, 987_654, most).len() <= most);
        }
    }

    #[test]
    fn byte_ticks_are_powers_of_two_apart() {
        let labels = |bytes, most| -> Vec<String> {
            ByteScale::with_room_for(bytes).ticks(most).into_iter().map(tick_label).collect()
        };
        assert_eq!(labels(9.0 * GIB, 6), ["0", "2 GiB", "4 GiB", "6 GiB", "8 GiB"]);
        assert_eq!(
            labels(1.2 * GIB, 6),
            ["0", "256 MiB", "512 MiB", "768 MiB", "1 GiB", "1.25 GiB"]
        );
        assert_eq!(labels(139.8 * GIB, 6), ["0", "32 GiB", "64 GiB", "96 GiB", "128 GiB"]);
        assert_eq!(labels(0.0, 6), ["0", "1 bytes"]);
        assert_eq!(labels(f64::NAN, 6), ["0", "1 bytes"]);
        assert_eq!(labels(GIB, 0), [""; 0]);
    }

    #[test]
    fn times_are_told_as_finely_as_their_ticks() {
        assert_eq!(time_label(0.0, 100.0), "0");
        assert_eq!(time_label(250e3, 50e3), "250 ms");
        assert_eq!(time_label(2e6, 100e3), "2.0 s");
        assert_eq!(time_label(2_000_010.0, 10.0), "2.00001 s");
        assert_eq!(time_label(720e6, 60e6), "12 min");
        assert_eq!(time_label(90e6, 10e6), "90 s");
        assert_eq!(time_label(700.0, 100.0), "700 µs");
    }

    #[test]
    fn bytes_beyond_the_axis_stay_on_its_edge() {
        let scale = ByteScale::with_room_for(100.0);
        assert_eq!(scale.map(&-5.0, (200, 10)), 200);
        assert_eq!(scale.map(&1e9, (200, 10)), 10);
    }
}
