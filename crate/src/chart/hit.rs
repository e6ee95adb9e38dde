//! From a pointer to the entry under it, and back.

use super::layout::PlotRect;
use super::scale::EntryScale;
use super::window::Window;

/// The entry under a pointer, `x` CSS pixels from the canvas's left edge; beyond the plot area it is
/// the first or last shown.
pub fn entry_at(rect: &PlotRect, window: Window, x_css_px: f64) -> u32 {
    EntryScale::new(window).entry_from_px(x_css_px, (rect.left, rect.right))
}

/// The middle of an entry, CSS pixels from the canvas's left edge; absent when it is not shown.
pub fn x_of(rect: &PlotRect, window: Window, entry: u32) -> Option<f64> {
    (window.begin <= entry && entry < window.end).then(|| {
        EntryScale::new(window).px_from_entry(f64::from(entry) + 0.5, (rect.left, rect.right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECT: PlotRect = PlotRect { left: 60.0, top: 0.0, right: 760.0, bottom: 300.0 };

    #[test]
    fn a_pointer_on_an_entry_finds_it() {
        let window = Window { begin: 1_000, end: 1_350 };
        for entry in window.begin..window.end {
            let x = x_of(&RECT, window, entry).unwrap();
            assert_eq!(entry_at(&RECT, window, x), entry);
        }
    }

    #[test]
    fn an_entry_that_is_not_shown_has_no_place() {
        let window = Window { begin: 10, end: 20 };
        assert_eq!(x_of(&RECT, window, 9), None);
        assert_eq!(x_of(&RECT, window, 20), None);
        assert_eq!(x_of(&RECT, Window::whole(0), 0), None);
    }
}
