//! Draws views through plotters on any backend.
//!
//! In come a view, the size of the picture and what is selected; out go calls to a
//! [`DrawingBackend`](plotters::prelude::DrawingBackend), and where the plot area came to lie.
//! Nothing here knows a canvas, a pointer or the snapshot behind the view.
//!
//! No text is ever measured: on the page that would put elements with inline styles into the
//! document, which a strict content security policy forbids. Widths are estimated instead.

mod axis;
pub mod blocks;
pub mod courses;
pub mod hit;
pub mod icicle;
pub mod layout;
pub mod overview;
pub mod pixels;
pub mod scale;
mod stack;
pub mod steps;
pub mod table;
pub mod theme;
pub mod timeline;
pub mod window;

#[cfg(test)]
mod recorder;

use plotters::coord::Shift;
use plotters::prelude::{
    BLACK, DrawingArea, DrawingAreaErrorKind, DrawingBackend, RGBColor, Rectangle,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, TextStyle};

/// What a drawing function gives back: its result, or why the backend refused a call.
pub type Drawn<T, DB> = Result<T, DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// The size of a picture: its pixels, and how many of them make one CSS pixel.
///
/// Lengths in the layout are CSS pixels; everything is scaled to the picture's own before drawing,
/// so that lines and letters are as sharp as the screen is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture {
    /// Width in pixels of the backing store.
    pub width_px: i32,
    /// Height in pixels of the backing store.
    pub height_px: i32,
    /// Pixels of the backing store to one CSS pixel.
    pub ratio: f64,
}

impl Picture {
    /// The most pixels of a side: what every browser's canvas takes.
    const LONGEST_PX: f64 = 8192.0;

    /// A picture of the given size in CSS pixels on a screen of the given pixel ratio. Sizes that
    /// are no numbers, or not positive, count as the smallest there is.
    pub fn from_css(width_css_px: f64, height_css_px: f64, ratio: f64) -> Picture {
        let ratio = if ratio.is_finite() { ratio.clamp(0.25, 8.0) } else { 1.0 };
        let side = |css_px: f64| (css_px * ratio).round().clamp(1.0, Self::LONGEST_PX) as i32;
        Picture {
            width_px: side(width_css_px.max(0.0)),
            height_px: side(height_css_px.max(0.0)),
            ratio,
        }
    }

    /// A length of the layout in whole pixels; one that is not zero stays visible.
    fn px(&self, css_px: f64) -> i32 {
        let px = (css_px * self.ratio).round() as i32;
        if px == 0 && css_px > 0.0 { 1 } else { px }
    }
}

/// Draws in pixels of the picture: what has no place on an axis.
struct Pen<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    picture: Picture,
}

/// Where a text stands to its point.
#[derive(Clone, Copy)]
enum Align {
    Left,
    Centre,
    Right,
}

impl<DB: DrawingBackend> Pen<'_, DB> {
    /// Fills the rectangle from the left and top to the right and bottom, both exclusive; an empty
    /// one is left out.
    fn fill(
        &self,
        left: i32,
        top: i32,
        right: i32,
        bottom: i32,
        colour: RGBAColor,
    ) -> Drawn<(), DB> {
        if left >= right || top >= bottom {
            return Ok(());
        }
        self.area.draw(&Rectangle::new([(left, top), (right, bottom)], colour.filled()))
    }

    /// Writes one line of text, its middle at `y`.
    fn write(
        &self,
        text: &str,
        (x, y): (i32, i32),
        align: Align,
        colour: RGBColor,
    ) -> Drawn<(), DB> {
        self.write_sized(text, (x, y), align, colour, TEXT_CSS_PX)
    }

    fn write_sized(
        &self,
        text: &str,
        at: (i32, i32),
        align: Align,
        colour: RGBColor,
        css_px: f64,
    ) -> Drawn<(), DB> {
        let align = match align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        };
        let font = FontDesc::new(FONT, css_px * self.picture.ratio, FontStyle::Normal);
        let style = TextStyle::from(font).color(&BLACK).pos(Pos::new(align, VPos::Center));
        let style = TextStyle { color: colour.to_backend_color(), ..style };
        self.area.draw_text(text, &style, at)
    }

    /// The width that a text takes, in pixels, from an average letter.
    fn width_of(&self, text: &str) -> i32 {
        (width_of(text) * self.picture.ratio).ceil() as i32
    }
}

const FONT: FontFamily<'static> = FontFamily::Name("system-ui, sans-serif");
const TEXT_CSS_PX: f64 = 11.0;

/// CSS pixels of an average letter of the interface fonts, and of an ellipsis or any other letter
/// beyond ASCII.
const LETTER_CSS_PX: f64 = 0.56 * TEXT_CSS_PX;
const WIDE_LETTER_CSS_PX: f64 = TEXT_CSS_PX;

/// About the width that a text takes, in CSS pixels.
fn width_of(text: &str) -> f64 {
    text.chars()
        .map(|letter| if letter.is_ascii() { LETTER_CSS_PX } else { WIDE_LETTER_CSS_PX })
        .sum()
}

/// As much of a text as fits the width in CSS pixels, with an ellipsis where it was cut; nothing
/// when not even three letters would be left.
fn elided(text: &str, width_css_px: f64) -> Option<String> {
    if width_of(text) <= width_css_px {
        return Some(text.to_owned());
    }
    let mut room = width_css_px - WIDE_LETTER_CSS_PX;
    let fits = |letter: &char| {
        room -= width_of(letter.encode_utf8(&mut [0; 4]));
        room >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    (kept.chars().count() >= 3).then(|| kept + "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_at_least_one_pixel() {
        for size in [0.0, -5.0, f64::NAN, 0.2] {
            let picture = Picture::from_css(size, size, 2.0);
            assert_eq!((picture.width_px, picture.height_px), (1, 1));
        }
        assert_eq!(Picture::from_css(100.0, 50.0, 2.0).width_px, 200);
        assert_eq!(Picture::from_css(100.0, 50.0, f64::NAN).ratio, 1.0);
        assert_eq!(Picture::from_css(1e12, 50.0, 2.0).width_px, 8192);
    }

    #[test]
    fn elided_text_fits() {
        assert_eq!(elided("forward", 100.0).as_deref(), Some("forward"));
        assert_eq!(elided("Optimizer.step#AdamW.step", 60.0).as_deref(), Some("Optimiz…"));
        assert_eq!(elided("forward", 20.0), None);
        assert_eq!(elided("forward", 0.0), None);
    }
}
