//! The explorer's tables, over every fixture: the allocations of a selection, filtered and sorted,
//! and the steps.

use crate::support::{fixtures, open};
use oomscope::findings::{Device, Findings};
use oomscope::snapshot::Snapshot;
use oomscope::timeline::allocation::{Allocation, AllocationId};
use oomscope::view::allocations::Table;
use oomscope::view::allocations::question::{Column, Fate, Pool, Question};
use oomscope::view::selection::{Counted, Selection};
use oomscope::view::steps::{self, StepsPicture};

/// Everything that was made in the trace, and what is older than it.
fn everything(snapshot: &Snapshot, device: &Device) -> Vec<AllocationId> {
    let all = Selection::live_after(0);
    let end = device.timeline.entries();
    let made = Selection { begin: 1, end, counted: Counted::Allocated, ..all.clone() };
    let mut chosen = all.allocations(snapshot, device);
    chosen.extend(made.allocations(snapshot, device));
    chosen
}

fn table(snapshot: &Snapshot, findings: &Findings, device: &Device, question: &Question) -> Table {
    Table::of(snapshot, &findings.kinds, device, &everything(snapshot, device), question)
}

fn allocations<'d>(device: &'d Device, table: &Table) -> Vec<&'d Allocation> {
    table.allocations.iter().filter_map(|id| device.timeline.allocation(*id)).collect()
}

#[test]
fn every_order_holds_the_same_rows_in_order() {
    const COLUMNS: [Column; 10] = [
        Column::Size,
        Column::Requested,
        Column::Category,
        Column::Made,
        Column::Freed,
        Column::Lifetime,
        Column::Time,
        Column::Stream,
        Column::Pool,
        Column::Place,
    ];
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let mut chosen = everything(&snapshot, device);
            chosen.sort();
            for sort in COLUMNS {
                for descending in [false, true] {
                    let question = Question { sort, descending, ..Question::default() };
                    let table = table(&snapshot, &findings, device, &question);
                    let mut found = table.allocations.clone();
                    found.sort();
                    assert_eq!(found, chosen, "{name} {sort:?}");
                    let rows =
                        table.rows(&snapshot, &findings.kinds, device, 0, table.allocations.len());
                    let is_sorted = rows.is_sorted_by(|a, b| {
                        let (a, b) = if descending { (b, a) } else { (a, b) };
                        match sort {
                            Column::Size => a.size_bytes <= b.size_bytes,
                            Column::Requested => a.requested_bytes <= b.requested_bytes,
                            Column::Made => a.made <= b.made,
                            Column::Freed => {
                                a.freed.unwrap_or(u32::MAX) <= b.freed.unwrap_or(u32::MAX)
                            }
                            Column::Lifetime => a.lifetime_entries <= b.lifetime_entries,
                            Column::Time => a.lifetime_us <= b.lifetime_us,
                            Column::Place => {
                                let key =
                                    |row: &oomscope::view::allocations::rows::AllocationRow| {
                                        (
                                            row.file.is_empty(),
                                            row.file.clone(),
                                            row.line,
                                            row.function.clone(),
                                        )
                                    };
                                key(a) <= key(b)
                            }
                            // Their orders have no natural reading in a row; equals stand together.
                            Column::Category | Column::Stream | Column::Pool => true,
                        }
                    });
                    assert!(is_sorted, "{name} {sort:?} {descending}");
                    let runs =
                        |of: fn(&oomscope::view::allocations::rows::AllocationRow) -> &str| {
                            let mut seen: Vec<&str> = rows.iter().map(of).collect();
                            seen.dedup();
                            let together = seen.len();
                            seen.sort_unstable();
                            seen.dedup();
                            (together, seen.len())
                        };
                    let (together, distinct) = match sort {
                        Column::Category => runs(|row| row.category),
                        Column::Stream => runs(|row| &row.stream),
                        Column::Pool => runs(|row| row.pool),
                        _ => (0, 0),
                    };
                    assert_eq!(together, distinct, "{name} {sort:?}");
                }
            }
        }
    }
}

#[test]
fn filters_divide_the_whole() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let ask = |question: Question| table(&snapshot, &findings, device, &question);
            let all = ask(Question::default());
            let with = |change: fn(&mut Question)| {
                let mut question = Question::default();
                change(&mut question);
                ask(question)
            };
            let small = with(|question| question.max_size = "1MiB".to_owned());
            let large = with(|question| question.min_size = "1048577".to_owned());
            assert_eq!(small.head.count + large.head.count, all.head.count, "{name}");
            assert_eq!(small.head.bytes + large.head.bytes, all.head.bytes, "{name}");
            assert!(allocations(device, &small).iter().all(|each| each.size <= 1 << 20), "{name}");

            let held = with(|question| question.fate = Fate::Held);
            let freed = with(|question| question.fate = Fate::Freed);
            assert_eq!(held.head.count + freed.head.count, all.head.count, "{name}");
            assert!(allocations(device, &held).iter().all(|each| each.free_requested().is_none()));
            let older = with(|question| question.fate = Fate::Older);
            assert!(
                allocations(device, &older).iter().all(|each| each.begin().is_none()),
                "{name}"
            );

            let brief = with(|question| question.max_lifetime = "100".to_owned());
            let long = with(|question| question.min_lifetime = "101".to_owned());
            assert_eq!(brief.head.count + long.head.count, all.head.count, "{name}");

            let pools = all.head.pools.iter().map(|each| {
                ask(Question { pool: Some(each.pool), ..Question::default() }).head.count
            });
            assert_eq!(pools.sum::<u64>(), all.head.count, "{name}");
            let streams = all.head.streams.iter().map(|each| {
                ask(Question { stream: Some(each.stream), ..Question::default() }).head.count
            });
            assert_eq!(streams.sum::<u64>(), all.head.count, "{name}");
        }
    }
}

#[test]
fn a_stretch_of_rows_is_that_of_the_whole_and_ends_with_it() {
    let snapshot = open("shape_ring_truncated");
    let findings = Findings::of(&snapshot);
    let device = &findings.devices[0];
    let table = table(&snapshot, &findings, device, &Question::default());
    let rows = |from, to| table.rows(&snapshot, &findings.kinds, device, from, to);
    let all = rows(0, usize::MAX);
    assert_eq!(all.len() as u64, table.head.count);
    assert_eq!(rows(10, 25), all[10..25]);
    assert_eq!(rows(all.len() - 2, all.len() + 50), all[all.len() - 2..]);
    assert!(rows(all.len() + 5, all.len() + 50).is_empty());
    // The ring lost the beginning: what is older says so, and lives at least as long as it is seen.
    let older = all.iter().find(|row| row.made.is_none()).unwrap();
    let end = older.freed.unwrap_or(device.timeline.entries());
    assert_eq!(older.lifetime_entries, end);
}

#[test]
fn values_saved_are_the_rows_shown_and_keep_strange_names_whole() {
    for name in ["shape_python_stacks", "shape_no_stacks", "shape_state_only"] {
        let snapshot = open(name);
        let findings = Findings::of(&snapshot);
        let device = &findings.devices[0];
        let table = table(&snapshot, &findings, device, &Question::default());
        let csv = table.csv(&snapshot, &findings.kinds, device, true);
        let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
        assert_eq!(lines.len() as u64, table.head.count + 1, "{name}");
        let row = &table.rows(&snapshot, &findings.kinds, device, 0, 1)[0];
        let first: Vec<&str> = lines[1].split(',').collect();
        assert_eq!(first[0], row.size_bytes.to_string());
        assert_eq!(first[1], row.requested_bytes.to_string());
        assert!(lines[1].ends_with(&format!("\"{}\",{},\"{}\"", row.file, row.line, row.function)));
        assert_eq!(lines[0].split(',').count(), 12);
    }
}

#[test]
fn the_pools_are_those_of_the_files_own_segments() {
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let last = device.last_entry();
            for (_, allocation) in device.timeline.live_after(last) {
                let inside = snapshot.segments.iter().find(|segment| {
                    segment.device == device.timeline.device
                        && segment.address <= allocation.address
                        && allocation.address < segment.address + segment.total_size
                });
                let Some(segment) = inside else { continue };
                let is_small = matches!(Pool::of(allocation), Pool::Small | Pool::PrivateSmall);
                assert_eq!(is_small, segment.is_small, "{name} {allocation:?}");
            }
        }
    }
}

#[test]
fn steps_agree_with_the_timeline() {
    let mut seen = 0;
    for name in fixtures() {
        let snapshot = open(&name);
        let findings = Findings::of(&snapshot);
        for device in &findings.devices {
            let rows = steps::rows(&snapshot, device);
            assert_eq!(rows.len(), device.steps.len(), "{name}");
            seen += rows.len();
            for (row, step) in rows.iter().zip(&device.steps) {
                let allocated = device.timeline.usage_after(row.peak_entry).allocated;
                assert_eq!((row.peak_bytes, row.peak_bytes), (step.peak, allocated), "{name}");
                assert!((row.begin..row.end).contains(&row.peak_entry), "{name}");
                // The sweep comes to what is counted at that entry alone.
                let composition = device.composition(row.peak_entry);
                let most = composition.iter().max().unwrap();
                let share = *most as f64 / composition.iter().sum::<u64>().max(1) as f64;
                assert!((row.category_share - share).abs() < 1e-12, "{name} step {}", row.number);
            }
            let failures = device.timeline.ooms.iter().filter(|oom| {
                device.steps.iter().any(|step| (step.begin..step.end).contains(&oom.entry))
            });
            assert_eq!(rows.iter().any(|row| row.failed), failures.count() > 0, "{name}");
        }
    }
    assert!(seen > 50, "the fixtures have no steps any more");
}

#[test]
fn the_picture_of_the_steps_keeps_every_peak_and_every_failure() {
    let snapshot = open("leak_loss_history");
    let findings = Findings::of(&snapshot);
    let rows = steps::rows(&snapshot, &findings.devices[0]);
    for most in [1, 7, 10_000] {
        let picture = StepsPicture::of(&rows, most);
        assert!(picture.columns.len() <= most as usize);
        assert_eq!(picture.steps as usize, rows.len());
        let mut next = 0;
        for column in &picture.columns {
            assert_eq!(column.begin, next);
            let steps = &rows[column.begin as usize..column.end as usize];
            let peak = steps.iter().map(|step| step.peak_bytes).max().unwrap();
            assert_eq!(column.peak_bytes, peak as f64);
            assert_eq!(column.failed, steps.iter().any(|step| step.failed));
            next = column.end;
        }
        assert_eq!(next as usize, rows.len());
    }
    assert_eq!(StepsPicture::of(&[], 100), StepsPicture::default());
}
