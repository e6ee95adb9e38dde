//! The range of entries that a chart shows: how zooming and panning move it.

use serde::{Deserialize, Serialize};

/// A range of trace entries.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Window {
    /// First entry shown.
    pub begin: u32,
    /// One past the last entry shown; equal to `begin` only where there is no entry at all.
    pub end: u32,
}

/// Fewer entries are never shown, if the trace has as many: a single column says nothing.
const FEWEST: u32 = 8;

impl Window {
    /// The whole of a trace.
    pub fn whole(entries: u32) -> Window {
        Window { begin: 0, end: entries }
    }

    /// Entries shown.
    pub fn len(&self) -> u32 {
        self.end.saturating_sub(self.begin)
    }

    /// Whether no entry is shown, which only an empty trace leads to.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Narrower by `factor` (below 1: wider) about an entry that keeps its place in the picture.
    pub fn zoomed(&self, entries: u32, about: u32, factor: f64) -> Window {
        let factor = if factor.is_finite() && factor > 0.0 { factor } else { 1.0 };
        let length = f64::from(self.len()) / factor;
        let length = length.round().clamp(1.0, f64::from(entries.max(1)));
        let length = (length as u32).max(FEWEST);
        let about = about.clamp(self.begin, self.end.max(self.begin));
        let share = f64::from(about - self.begin) / f64::from(self.len().max(1));
        let begin = f64::from(about) - share * f64::from(length);
        Window::placed(entries, begin, length)
    }

    /// Moved by a share of its own length: 1 is a whole window towards the end of the trace.
    pub fn panned(&self, entries: u32, share: f64) -> Window {
        let share = if share.is_finite() { share } else { 0.0 };
        let begin = f64::from(self.begin) + share * f64::from(self.len());
        Window::placed(entries, begin, self.len())
    }

    /// From one entry to another, in whichever order they come, both shown.
    pub fn between(entries: u32, one: u32, other: u32) -> Window {
        let (first, last) = (one.min(other), one.max(other));
        let length = (last - first).saturating_add(1).max(FEWEST);
        let middle = (f64::from(first) + f64::from(last) + 1.0) / 2.0;
        Window::placed(entries, middle - f64::from(length) / 2.0, length)
    }

    fn placed(entries: u32, begin: f64, length: u32) -> Window {
        let length = length.min(entries);
        let begin = begin.round().clamp(0.0, f64::from(entries - length)) as u32;
        Window { begin, end: begin + length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_entry_under_the_pointer() {
        let window = Window::whole(10_000).zoomed(10_000, 2_500, 4.0);
        assert_eq!(window, Window { begin: 1_875, end: 4_375 });
        assert_eq!(window.zoomed(10_000, 2_500, 0.25), Window::whole(10_000));
    }

    #[test]
    fn zooming_stays_inside_the_trace() {
        assert_eq!(Window::whole(100).zoomed(100, 99, 0.001), Window::whole(100));
        assert_eq!(Window::whole(100).zoomed(100, 50, 1e9).len(), FEWEST);
        assert_eq!(Window::whole(3).zoomed(3, 1, 10.0), Window::whole(3));
        assert_eq!(Window::whole(0).zoomed(0, 0, 2.0), Window::whole(0));
        assert_eq!(Window::whole(100).zoomed(100, 50, f64::NAN), Window::whole(100));
        assert_eq!(Window::whole(100).zoomed(100, 5_000, 2.0), Window { begin: 50, end: 100 });
    }

    #[test]
    fn panning_stops_at_both_ends() {
        let window = Window { begin: 40, end: 60 };
        assert_eq!(window.panned(100, 0.5), Window { begin: 50, end: 70 });
        assert_eq!(window.panned(100, -9.0), Window { begin: 0, end: 20 });
        assert_eq!(window.panned(100, 9.0), Window { begin: 80, end: 100 });
        assert_eq!(window.panned(100, f64::INFINITY), window);
    }

    #[test]
    fn a_selected_range_may_be_drawn_backwards() {
        assert_eq!(Window::between(1_000, 299, 200), Window { begin: 200, end: 300 });
        assert_eq!(Window::between(1_000, 999, 999).len(), FEWEST);
        assert_eq!(Window::between(0, 5, 9), Window::whole(0));
    }
}
