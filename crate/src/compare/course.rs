//! The way of a run over its whole trace, cut down to a few hundred numbers.

/// Stretches that a trace is cut into: as many as two lines on one screen can show.
const STRETCHES: usize = 512;

/// The most allocated in each of at most [`STRETCHES`] stretches. Stretch `n` of `count` begins at
/// entry `n * entries / count`.
pub(super) fn course(allocated: &[u64]) -> Vec<u64> {
    let count = allocated.len().min(STRETCHES);
    let begin = |stretch: usize| stretch * allocated.len() / count;
    (0..count)
        .map(|stretch| {
            let entries = &allocated[begin(stretch)..begin(stretch + 1)];
            entries.iter().copied().max().unwrap_or(0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_survives_in_its_stretch() {
        let mut allocated: Vec<u64> = (0..10_007).collect();
        allocated[3_000] = 99_999;
        let course = course(&allocated);
        assert_eq!(course.len(), STRETCHES);
        let peak = (0..course.len()).max_by_key(|stretch| course[*stretch]).unwrap();
        assert_eq!(course[peak], 99_999);
        assert!(peak * 10_007 / STRETCHES <= 3_000 && 3_000 < (peak + 1) * 10_007 / STRETCHES);
        assert_eq!(course.last(), Some(&10_006));
    }

    #[test]
    fn a_short_trace_is_kept_whole() {
        assert_eq!(course(&[3, 1, 2]), [3, 1, 2]);
        assert!(course(&[]).is_empty());
    }
}
