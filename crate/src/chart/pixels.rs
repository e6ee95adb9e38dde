//! The pixels of allocations, as an image to lie under the axes.

use plotters::style::RGBColor;

use super::layout::PlotArea;
use super::theme::Theme;
use super::window::Window;
use crate::view::timeline::TimelineView;
use crate::view::timeline::pixels::{FIRST, IDLE, NOTHING, PENDING, Pixels, category_keys};

/// The byte axis leaves a little air above its bytes.
const AIR: f64 = 1.05;

/// Which pixel of a view lies under each pixel of a plot area, for any window.
pub struct Lens<'a> {
    plot: PlotArea,
    pixels: &'a Pixels,
    /// The view's column under each column of the plot, if any.
    columns: Vec<Option<usize>>,
}

impl<'a> Lens<'a> {
    /// A view's pixels as they are seen in `plot` while it shows the places of `window`.
    pub fn new(plot: PlotArea, view: &TimelineView, pixels: &'a Pixels, window: Window) -> Self {
        let width = f64::from(plot.columns());
        let shown = f64::from(view.end.saturating_sub(view.begin).max(1));
        let column = |x: u32| {
            let share = (f64::from(x) + 0.5) / width;
            let place = f64::from(window.begin) + share * f64::from(window.len());
            let column = (place - f64::from(view.begin)) / shown * f64::from(view.columns);
            (column >= 0.0 && column < f64::from(view.columns)).then_some(column as usize)
        };
        Lens { plot, pixels, columns: (0..plot.columns()).map(column).collect() }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.plot.columns(), (self.plot.bottom - self.plot.top).unsigned_abs())
    }

    /// The row of the view's pixels at a height below the plot's top; `None` above all of them.
    fn row(&self, y: u32) -> Option<usize> {
        let (_, height) = self.size();
        let share = (f64::from(height - y) - 0.5) / f64::from(height) * AIR;
        let row = (share * f64::from(self.pixels.rows)).floor();
        (row >= 0.0 && row < f64::from(self.pixels.rows)).then_some(row as usize)
    }

    fn index(&self, x: u32, y: u32) -> Option<usize> {
        let column = *self.columns.get(x as usize)?.as_ref()?;
        Some(column * self.pixels.rows as usize + self.row(y)?)
    }

    /// The allocation under a pixel of the plot area, by its id.
    pub fn allocation(&self, x: u32, y: u32) -> Option<u32> {
        self.pixels.allocation.get(self.index(x, y)?)?.checked_sub(1)
    }

    /// The image, row by row from the top: four bytes a pixel, red, green, blue and opacity.
    ///
    /// `emphasis` is the one category to keep its full colour, `marked` the allocation to stand out.
    pub fn image(&self, theme: &Theme, emphasis: Option<&str>, marked: Option<u32>) -> Vec<u8> {
        let (width, height) = self.size();
        let colours = colours(theme, emphasis);
        let ink = bytes_of(theme.ink, 255);
        let marked = marked.map(|id| id + 1);
        let mut image = vec![0; (width * height * 4) as usize];
        for (y, line) in (0..height).zip(image.chunks_exact_mut(4 * width.max(1) as usize)) {
            // Above all pixels the picture stays clear.
            let Some(row) = self.row(y) else { continue };
            for (pixel, column) in line.chunks_exact_mut(4).zip(&self.columns) {
                let Some(column) = column else { continue };
                let index = column * self.pixels.rows as usize + row;
                let look = self.pixels.look.get(index).copied().unwrap_or(NOTHING);
                let is_marked =
                    marked.is_some() && self.pixels.allocation.get(index).copied() == marked;
                let colour = if is_marked { &ink } else { &colours[usize::from(look)] };
                pixel.copy_from_slice(colour);
            }
        }
        image
    }
}

/// The colour of each look.
fn colours(theme: &Theme, emphasis: Option<&str>) -> [[u8; 4]; 256] {
    let mut colours = [[0; 4]; 256];
    colours[usize::from(IDLE)] = bytes_of(theme.keyed("idle"), 255);
    colours[usize::from(PENDING)] = bytes_of(theme.keyed("pending_free"), 255);
    for (nth, key) in category_keys().into_iter().enumerate() {
        let opacity = if emphasis.is_some_and(|kept| kept != key) { 56 } else { 255 };
        let colour = theme.keyed(key);
        let place = usize::from(FIRST) + 2 * nth;
        colours[place] = bytes_of(colour, opacity);
        colours[place + 1] = bytes_of(lighter(colour), opacity);
    }
    colours
}

/// The neighbour's colour: a fifth of the way to white, which is seen on both pages.
fn lighter(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let up = |channel: u8| channel + (255 - channel) / 5;
    RGBColor(up(r), up(g), up(b))
}

fn bytes_of(RGBColor(r, g, b): RGBColor, opacity: u8) -> [u8; 4] {
    [r, g, b, opacity]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Picture;

    /// Four columns and ten rows: what lies in a column is told by its number.
    fn pixels() -> (TimelineView, Pixels) {
        let view = TimelineView { begin: 0, end: 40, columns: 4, ..TimelineView::default() };
        let allocation = (0..40).map(|index| if index % 10 < 5 { index / 10 + 1 } else { 0 });
        let look = allocation.clone().map(|id| if id == 0 { IDLE } else { FIRST });
        let pixels = Pixels {
            rows: 10,
            top_bytes: 10.0,
            look: look.collect(),
            allocation: allocation.collect(),
        };
        (view, pixels)
    }

    #[test]
    fn a_pixel_shows_what_lies_at_its_place() {
        let (view, pixels) = pixels();
        let plot = PlotArea::of_overview(&Picture::from_css(474.0, 105.0, 1.0));
        let lens = Lens::new(plot, &view, &pixels, Window::whole(40));
        let (width, height) = lens.size();
        assert_eq!((width, height), (400, 105));
        assert_eq!(lens.allocation(0, height - 1), Some(0));
        assert_eq!(lens.allocation(399, height - 1), Some(3));
        assert_eq!(lens.allocation(150, height - 49), Some(1));
        assert_eq!(lens.allocation(150, height - 52), None);
        assert_eq!(lens.allocation(150, 0), None, "the air above");
        let zoomed = Lens::new(plot, &view, &pixels, Window { begin: 20, end: 60 });
        assert_eq!(zoomed.allocation(0, height - 1), Some(2));
        assert_eq!(zoomed.allocation(399, height - 1), None, "beside the view");
    }

    #[test]
    fn the_image_has_a_colour_a_pixel() {
        let (view, pixels) = pixels();
        let plot = PlotArea::of_overview(&Picture::from_css(114.0, 20.0, 1.0));
        let lens = Lens::new(plot, &view, &pixels, Window::whole(40));
        let theme = Theme::light();
        let image = lens.image(&theme, None, None);
        let (width, height) = lens.size();
        assert_eq!(image.len(), (width * height * 4) as usize);
        assert_eq!(image[image.len() - 4..], bytes_of(theme.keyed("weights"), 255));
        assert_eq!(image[3], 0, "the air above is clear");
        let faded = lens.image(&theme, Some("gradients"), Some(0));
        assert_eq!(faded[faded.len() - 1], 56);
        let first = ((height - 1) * width * 4) as usize;
        assert_eq!(faded[first..first + 4], bytes_of(theme.ink, 255));
    }
}
