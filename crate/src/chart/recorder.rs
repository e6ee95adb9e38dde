//! A backend that writes down what is drawn, and a view to draw.

use plotters::prelude::{DrawingArea, DrawingBackend, IntoDrawingArea};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind,
};

use super::Picture;
use crate::view::timeline::{Band, Mark, Span, TimelineView};

/// One call to the backend; colours as `rrggbb`, with the opacity where it is not full.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Rect { at: [i32; 4], colour: String },
    Polygon { points: Vec<BackendCoord>, colour: String },
    Path { points: Vec<BackendCoord>, colour: String, width: u32 },
    Text { text: String, at: BackendCoord, size: f64 },
}

impl Call {
    /// Every point that the call names.
    pub(super) fn points(&self) -> Vec<BackendCoord> {
        match self {
            Call::Rect { at: [left, top, right, bottom], .. } => {
                vec![(*left, *top), (*right, *bottom)]
            }
            Call::Polygon { points, .. } | Call::Path { points, .. } => points.clone(),
            Call::Text { at, .. } => vec![*at],
        }
    }
}

pub(super) struct Recorder<'a> {
    size: (u32, u32),
    calls: &'a mut Vec<Call>,
}

/// Runs a drawing function on an empty picture and returns what it drew.
pub(super) fn recorded<R>(
    picture: Picture,
    draw: impl FnOnce(&DrawingArea<Recorder<'_>, plotters::coord::Shift>) -> R,
) -> (Vec<Call>, R) {
    let mut calls = Vec::new();
    let size = (picture.width_px as u32, picture.height_px as u32);
    let area = Recorder { size, calls: &mut calls }.into_drawing_area();
    let result = draw(&area);
    drop(area);
    (calls, result)
}

fn named(colour: BackendColor) -> String {
    let (r, g, b) = colour.rgb;
    let opacity = if colour.alpha < 1.0 { format!("@{:.2}", colour.alpha) } else { String::new() };
    format!("{r:02x}{g:02x}{b:02x}{opacity}")
}

type Done = Result<(), DrawingErrorKind<std::convert::Infallible>>;

impl DrawingBackend for Recorder<'_> {
    type ErrorType = std::convert::Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, _: BackendColor) -> Done {
        panic!("a single pixel at {point:?}: the canvas takes shapes");
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        one: BackendCoord,
        other: BackendCoord,
        style: &S,
        _: bool,
    ) -> Done {
        self.calls.push(Call::Rect {
            at: [one.0, one.1, other.0, other.1],
            colour: named(style.color()),
        });
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        let points = path.into_iter().collect();
        self.calls.push(Call::Path {
            points,
            colour: named(style.color()),
            width: style.stroke_width(),
        });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        self.calls.push(Call::Polygon {
            points: path.into_iter().collect(),
            colour: named(style.color()),
        });
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Done {
        self.calls.push(Call::Text { text: text.to_owned(), at, size: style.size() });
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Self::ErrorType>> {
        panic!("{text} is measured, which a page with a strict policy cannot do");
    }
}

/// A view of a whole trace: three bands that rise and fall, a failure at the end, two annotations.
pub(super) fn sample(entries: u32, columns: u32) -> TimelineView {
    const MIB: f64 = 1_048_576.0;
    let band = |key: &str| Band { key: key.to_owned(), label: key.replace('_', " "), text: None };
    let mark = |kind: &str, entry, label: &str| Mark {
        kind: kind.to_owned(),
        entry,
        place: entry,
        label: label.to_owned(),
    };
    let span = |name: &str, begin, end, lane| Span { name: name.to_owned(), begin, end, lane };
    let heights = |band: u32| {
        (0..columns).map(move |column| f64::from((column * 7 + band * 11) % 90 + 10) * MIB)
    };
    TimelineView {
        tick_us: 1.0,
        entries,
        length: entries,
        begin: 0,
        end: entries,
        columns,
        bands: vec![band("weights"), band("optimizer_states"), band("activations")],
        top_bytes: 320.0 * MIB,
        marks: vec![
            mark("peak", entries / 2, "peak 300.00 MiB"),
            mark("oom", entries.saturating_sub(1), "out of memory"),
        ],
        spans: vec![span("step 1", 0, entries / 2, 0), span("forward", 0, entries / 4, 1)],
        band_bytes: (0..3).flat_map(heights).collect(),
        reserved_bytes: vec![310.0 * MIB; columns as usize],
        column_entries: (0..=columns)
            .map(|column| (u64::from(column) * u64::from(entries) / u64::from(columns)) as u32)
            .collect(),
        ..TimelineView::default()
    }
}
