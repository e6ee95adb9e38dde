//! A timeline as a table: what the picture shows, for those who cannot see it.

use serde::Serialize;

use crate::view::timeline::TimelineView;

/// One row: a stretch of the trace at its fullest column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// First entry of the stretch.
    pub begin: u32,
    /// One past its last entry.
    pub end: u32,
    /// Bytes of each band of the view, in its order.
    pub band_bytes: Vec<f64>,
    /// What the bands add up to.
    pub allocated_bytes: f64,
    /// The largest reserved bytes of the stretch.
    pub reserved_bytes: f64,
}

/// The view in at most `most` stretches of about the same length, oldest first.
pub fn rows(view: &TimelineView, most: u32) -> Vec<Row> {
    let count = most.min(view.columns);
    (0..count)
        .map(|nth| row(view, part(view.columns, nth, count), part(view.columns, nth + 1, count)))
        .collect()
}

fn part(whole: u32, nth: u32, count: u32) -> u32 {
    (u64::from(whole) * u64::from(nth) / u64::from(count)) as u32
}

fn row(view: &TimelineView, first: u32, last: u32) -> Row {
    let entry = |column: u32| view.column_entries.get(column as usize).copied().unwrap_or(view.end);
    let bands_at = |column: u32| -> Vec<f64> {
        let index = |band: usize| band * view.columns as usize + column as usize;
        (0..view.bands.len())
            .map(|band| view.band_bytes.get(index(band)).copied().unwrap_or(0.0))
            .collect()
    };
    let sum = |bands: &Vec<f64>| bands.iter().sum::<f64>();
    let band_bytes =
        (first..last).map(bands_at).max_by(|a, b| sum(a).total_cmp(&sum(b))).unwrap_or_default();
    let reserved = view.reserved_bytes.iter().skip(first as usize).take((last - first) as usize);
    Row {
        begin: entry(first),
        end: entry(last),
        allocated_bytes: sum(&band_bytes),
        band_bytes,
        reserved_bytes: reserved.copied().fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::recorder::sample;

    #[test]
    fn the_rows_cover_the_range_without_gaps() {
        let rows = rows(&sample(1_003, 100), 16);
        assert_eq!(rows.len(), 16);
        assert_eq!((rows[0].begin, rows[15].end), (0, 1_003));
        assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].begin));
        assert!(rows.iter().all(|row| row.allocated_bytes == row.band_bytes.iter().sum::<f64>()));
    }

    #[test]
    fn a_row_holds_its_fullest_column() {
        let view = sample(1_000, 100);
        let sum_of = |column: usize| -> f64 {
            (0..3).map(|band| view.band_bytes[band * 100 + column]).sum()
        };
        let fullest = (0..100).map(sum_of).fold(0.0, f64::max);
        assert_eq!(rows(&view, 1)[0].allocated_bytes, fullest);
    }

    #[test]
    fn fewer_columns_than_rows_and_none_at_all() {
        assert_eq!(rows(&sample(5, 5), 16).len(), 5);
        assert_eq!(rows(&TimelineView::default(), 16), []);
        assert_eq!(rows(&sample(5, 5), 0), []);
    }
}
