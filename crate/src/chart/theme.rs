//! The colours of charts and of everything on the page that means the same.
//!
//! A category has one colour in every view. The colours are picked so that any two stay apart for
//! people who see red and green, or blue and yellow, alike, and so that those which meet most often
//! differ most; a test computes it.

use plotters::style::{Color, RGBAColor, RGBColor};
use serde::Serialize;

use crate::view::timeline::groups::LINE_KEYS;

/// Every key that has a colour: the categories, then what else reserved memory can be.
pub const KEYS: [&str; 13] = [
    "weights",
    "gradients",
    "optimizer_states",
    "activations",
    "temporaries",
    "inputs",
    "kv_cache",
    "communication",
    "workspaces",
    "unknown",
    "rounding",
    "pending_free",
    "idle",
];

/// The place of `unknown`, which the rest of the lines shares.
const UNKNOWN: usize = 9;

const LIGHT: [u32; 13] = [
    0x413faa, 0xe4c24d, 0x6bb8ea, 0xc84d68, 0x23899f, 0x959224, 0x8a2961, 0x317430, 0x8d75dc,
    0x8e9ea4, 0x3d2c26, 0xc6ccd8, 0xe6e9f0,
];

const DARK: [u32; 13] = [
    0x727ff0, 0xf0d365, 0xa0ddf6, 0xcf5f78, 0x82c09b, 0xada025, 0xa3468f, 0x438838, 0xc8a9ef,
    0x97a2ad, 0xdcf3e2, 0x474e5e, 0x2a2f3a,
];

/// The colours of one appearance.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    keyed: &'static [u32; 13],
    /// Letters beside the axes.
    pub text: RGBColor,
    /// Letters and lines that matter more.
    pub ink: RGBColor,
    /// Lines across the plot area.
    pub grid: RGBColor,
    /// What lies behind the picture; it is not painted.
    pub surface: RGBColor,
    /// The reserved line.
    pub reserved: RGBColor,
    /// The line of what a replay under other settings reserves.
    pub overlay: RGBColor,
    /// A failure.
    pub failure: RGBColor,
    /// The entry selected, and the window of the overview.
    pub accent: RGBColor,
}

/// One key and its colour, as the page uses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swatch {
    /// A category, `rounding`, `pending_free`, `idle`, or one of the chart's own: `reserved`,
    /// `failure`, `accent`.
    pub key: &'static str,
    /// The colour, `#rrggbb`.
    pub colour: String,
}

impl Theme {
    /// Dark letters on a light page.
    pub fn light() -> Theme {
        Theme {
            keyed: &LIGHT,
            text: rgb(0x5b6472),
            ink: rgb(0x1d2430),
            grid: rgb(0xe3e6ec),
            surface: rgb(0xffffff),
            reserved: rgb(0x4a5568),
            overlay: rgb(0x0b7a3b),
            failure: rgb(0xc3241c),
            accent: rgb(0x1f5fd0),
        }
    }

    /// Light letters on a dark page.
    pub fn dark() -> Theme {
        Theme {
            keyed: &DARK,
            text: rgb(0x9aa4b5),
            ink: rgb(0xe8ebf1),
            grid: rgb(0x2b313d),
            surface: rgb(0x171a21),
            reserved: rgb(0xb4bdcc),
            overlay: rgb(0x5fdc93),
            failure: rgb(0xff7a70),
            accent: rgb(0x7db0ff),
        }
    }

    /// One of the two.
    pub fn of(dark: bool) -> Theme {
        if dark { Theme::dark() } else { Theme::light() }
    }

    /// The colour of a category, of `rounding`, `pending_free` or `idle`, or of a line's group; any
    /// other key, which only a later version can bring, looks like `unknown`.
    pub fn keyed(&self, key: &str) -> RGBColor {
        let position = |keys: &[&str], wanted: &str| keys.iter().position(|known| *known == wanted);
        let index = position(&KEYS, key).or_else(|| position(&LINE_KEYS, key));
        rgb(self.keyed[index.unwrap_or(UNKNOWN)])
    }

    /// All colours that the page shares.
    pub fn swatches(&self) -> Vec<Swatch> {
        let own = [
            ("reserved", self.reserved),
            ("overlay", self.overlay),
            ("failure", self.failure),
            ("accent", self.accent),
        ];
        let keyed = KEYS.iter().chain(&LINE_KEYS).map(|key| (*key, self.keyed(key)));
        keyed
            .chain(own)
            .map(|(key, RGBColor(r, g, b))| Swatch {
                key,
                colour: format!("#{r:02x}{g:02x}{b:02x}"),
            })
            .collect()
    }

    /// A colour so far faded into the surface that it stays in the background.
    pub(super) fn faded(&self, colour: RGBColor) -> RGBAColor {
        colour.mix(0.22)
    }
}

fn rgb(hex: u32) -> RGBColor {
    let [_, r, g, b] = hex.to_be_bytes();
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear RGB as each kind of eye receives it (Machado, Oliveira and Fernandes 2009, severity 1).
    const EYES: [(&str, [[f64; 3]; 3]); 4] = [
        ("trichromat", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanope",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranope",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.01182, 0.04294, 0.968881],
            ],
        ),
        (
            "tritanope",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.3039],
            ],
        ),
    ];

    fn linear(RGBColor(r, g, b): RGBColor) -> [f64; 3] {
        [r, g, b].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// Distance in OKLab, in which 0.02 is barely seen side by side.
    fn apart(eye: [[f64; 3]; 3], one: RGBColor, other: RGBColor) -> f64 {
        let lab = |colour| {
            let lms = times(
                [
                    [0.4122214708, 0.5363325363, 0.0514459929],
                    [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005],
                ],
                times(eye, linear(colour)).map(|channel| channel.max(0.0)),
            );
            times(
                [
                    [0.2104542553, 0.793617785, -0.0040720468],
                    [1.9779984951, -2.428592205, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.808675766],
                ],
                lms.map(f64::cbrt),
            )
        };
        lab(one).iter().zip(lab(other)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let luminance = |colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn categories_stay_apart_for_every_eye() {
        let often =
            ["weights", "gradients", "optimizer_states", "activations", "temporaries", "kv_cache"];
        for theme in [Theme::light(), Theme::dark()] {
            for (index, one) in KEYS.iter().enumerate() {
                for other in &KEYS[index + 1..] {
                    let needed =
                        if often.contains(one) && often.contains(other) { 0.1 } else { 0.06 };
                    for (eye, matrix) in EYES {
                        let apart = apart(matrix, theme.keyed(one), theme.keyed(other));
                        assert!(apart >= needed, "{one} and {other} for a {eye}: {apart:.3}");
                    }
                }
            }
        }
    }

    #[test]
    fn letters_are_readable() {
        for theme in [Theme::light(), Theme::dark()] {
            for letters in [theme.text, theme.ink, theme.failure, theme.accent] {
                assert!(contrast(letters, theme.surface) >= 4.5, "{letters:?}");
            }
        }
    }

    #[test]
    fn a_key_from_a_later_version_has_a_colour() {
        assert_eq!(Theme::dark().keyed("something_new"), Theme::dark().keyed("unknown"));
    }

    #[test]
    fn the_page_gets_every_colour() {
        let swatches = Theme::light().swatches();
        assert_eq!(swatches.len(), KEYS.len() + LINE_KEYS.len() + 4);
        assert_eq!(swatches[0], Swatch { key: "weights", colour: "#413faa".to_owned() });
    }
}
