//! Annotated ranges against a second, simple reading of the same annotations.

use crate::script::script;
use crate::support::{fixtures, open};
use oomscope::findings::Findings;
use oomscope::findings::spans::{Span, spans_of};
use oomscope::snapshot::Snapshot;

/// Of each start the end that closes it; of each end without a start, a range from the beginning.
fn simply(snapshot: &Snapshot, device: u32) -> Vec<(String, u32, u32)> {
    let times: Vec<i64> =
        snapshot.trace(device).filter_map(|index| snapshot.entries.get(index)?.time_us).collect();
    let at = |time: i64| times.iter().filter(|entry| **entry < time).count() as u32;
    let mut all: Vec<_> = snapshot.annotations.iter().collect();
    all.sort_by_key(|annotation| annotation.time_us);
    let mut found: Vec<(String, u32, Option<u32>)> = Vec::new();
    for annotation in all {
        let (name, entry) = (snapshot.texts.get(annotation.name), at(annotation.time_us));
        if annotation.is_start {
            found.push((name.to_owned(), entry, None));
            continue;
        }
        match found.iter_mut().rfind(|(known, _, end)| known == name && end.is_none()) {
            Some((.., end)) => *end = Some(entry),
            None => found.push((name.to_owned(), 0, Some(entry))),
        }
    }
    let count = times.len() as u32;
    let whole = found.into_iter().map(|(name, begin, end)| (name, begin, end.unwrap_or(count)));
    let mut whole: Vec<_> = whole.collect();
    whole.sort();
    whole
}

fn ranges(spans: &[Span]) -> Vec<(String, u32, u32)> {
    let mut all: Vec<_> =
        spans.iter().map(|span| (span.name.clone(), span.begin, span.end)).collect();
    all.sort();
    all
}

#[test]
fn ranges_are_those_of_a_second_reading_and_lie_in_free_lanes() {
    let mut with_spans = 0;
    for fixture in fixtures() {
        let snapshot = open(&fixture);
        for device in 0..snapshot.device_count() {
            let spans = spans_of(&snapshot, device);
            if snapshot.trace(device).is_empty() || snapshot.annotations.is_empty() {
                assert!(spans.is_empty(), "{fixture}");
                continue;
            }
            with_spans += usize::from(!spans.is_empty());
            assert_eq!(ranges(&spans), simply(&snapshot, device), "{fixture}");
            assert!(spans.is_sorted_by(|a, b| (a.begin, b.end) <= (b.begin, a.end)), "{fixture}");
            for (place, span) in spans.iter().enumerate() {
                // The lowest lane that nothing before it still holds.
                let held = |lane: u32| {
                    spans[..place].iter().any(|other| other.lane == lane && other.end > span.begin)
                };
                assert!(!held(span.lane) && (0..span.lane).all(held), "{fixture}: {span:?}");
            }
        }
    }
    assert!(with_spans > 3, "no fixture has annotations");
}

const LINES: &str = "own alloc a 2\nnote start outer\nown alloc b 2\nnote start inner\nown alloc c 2\n\
    note end inner\nown alloc d 2\nnote end outer\nown alloc e 2\nnote end before\nnote start after\nown alloc f 2";

#[test]
fn a_range_without_its_start_began_before_and_one_without_its_end_goes_on() {
    let snapshot = script(LINES);
    // Each of the six allocations of 2 MiB is one entry behind the first segment's; nine share it.
    let spans = spans_of(&snapshot, 0);
    let found: Vec<_> =
        spans.iter().map(|span| (span.name.as_str(), span.begin, span.end, span.lane)).collect();
    assert_eq!(
        found,
        [("before", 0, 6, 0), ("outer", 2, 5, 1), ("inner", 3, 4, 2), ("after", 6, 7, 0)]
    );
    assert_eq!(Findings::of(&snapshot).devices[0].spans, spans);
    assert!(spans_of(&script("own alloc a 2"), 0).is_empty());
}
