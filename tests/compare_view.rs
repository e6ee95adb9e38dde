//! What the page shows of a comparison: its parts sum to the whole, its courses reach the peaks.

use crate::made_run::{MIB, Program, Recorder};
use crate::support::open;
use oomscope::compare::run::Run;
use oomscope::compare::{Comparison, Kind, Unreadable, carried};
use oomscope::findings::Findings;
use oomscope::text::markdown::CompareMarkdown;
use oomscope::view::compare::alone::AloneView;
use oomscope::view::compare::course::{Axis, CourseView};
use oomscope::view::compare::{CompareView, DifferenceView, PartRow};
use oomscope::view::summary;
use std::io::Cursor;

fn run(fixture: &str) -> Run {
    let snapshot = open(fixture);
    Run::of(&snapshot, &Findings::of(&snapshot), fixture, &[8 << 30]).unwrap()
}

fn view(runs: &[Run]) -> CompareView {
    let comparison = Comparison::of(runs, Vec::new()).unwrap();
    CompareView::of(&comparison, runs)
}

fn rank(number: u64, activations: u64) -> Run {
    let program = Program {
        base: 0x7f00_0000_0000 - (number << 40),
        begin_us: 1_000_000 + number as i64 * 3,
        activations,
        ..Program::default()
    };
    Recorder::new(program).steps(0..5).run(&format!("rank{number}"))
}

fn sum(rows: impl Iterator<Item = (u64, u64, i64)>) -> (u64, u64, i64) {
    rows.fold((0, 0, 0), |all, row| (all.0 + row.0, all.1 + row.1, all.2 + row.2))
}

fn numbers(row: &PartRow) -> (u64, u64, i64) {
    (row.a_bytes, row.b_bytes, row.difference_bytes)
}

#[track_caller]
fn sums(difference: &DifferenceView) {
    assert_eq!(sum(difference.categories.iter().map(numbers)), numbers(&difference.total));
    let sites = difference.sites.iter();
    let sites = sites.map(|site| (site.a_bytes, site.b_bytes, site.difference_bytes));
    let others = difference.other_sites.iter().map(numbers);
    if !difference.sites.is_empty() {
        assert_eq!(sum(sites.chain(others)), numbers(&difference.total));
    }
}

fn most(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|point| point.1).fold(0.0, f64::max)
}

#[track_caller]
fn reaches(course: &CourseView, runs: [&Run; 2]) {
    for (line, run) in course.lines.iter().zip(runs) {
        assert_eq!(most(&line.points), run.peak.bytes() as f64, "{}", run.name);
        assert!(line.points.is_sorted_by(|one, next| one.0 <= next.0), "{}", run.name);
        assert!(course.begin <= line.points[0].0);
        assert!(line.points.last().unwrap().0 <= course.end);
    }
    for (side, run) in runs.into_iter().enumerate() {
        let rows = course.rows.iter().filter_map(|row| row.bytes[side]).fold(0.0, f64::max);
        assert!(rows <= run.peak.bytes() as f64);
    }
}

#[test]
fn two_runs_lie_step_over_step() {
    let runs = [run("cat_gpt_adamw"), run("cat_gpt_checkpoint")];
    let view = view(&runs);
    sums(&view.difference);
    assert_eq!((view.kind, view.kind_label.as_str()), (Kind::Runs, "Two runs"));
    assert_eq!(view.cards.len(), 2);
    let course = view.course.unwrap();
    reaches(&course, [&runs[0], &runs[1]]);
    assert_eq!(course.axis, Axis::Steps);
    // Loading comes before the first step.
    assert_eq!(course.begin, -1.0);
    let steps: Vec<[Option<f64>; 2]> = (0..runs[0].steps.len())
        .map(|step| [&runs[0], &runs[1]].map(|run| Some(run.steps[step].peak_bytes as f64)))
        .collect();
    let rows: Vec<[Option<f64>; 2]> = course.rows.iter().map(|row| row.bytes).collect();
    assert_eq!(rows, steps);
    assert_eq!(course.rows[1].label, "Step 2");
}

#[test]
fn without_steps_each_run_takes_the_whole_width() {
    let runs = [run("fragmentation_varlen_default"), run("device_full_default")];
    let course = CourseView::of(&Run { steps: Vec::new(), ..runs[0].clone() }, &runs[1]).unwrap();
    reaches(&course, [&runs[0], &runs[1]]);
    assert_eq!((course.axis, course.begin, course.end), (Axis::Share, 0.0, 1.0));
    assert!(course.lines.iter().all(|line| line.points.last().unwrap().0 == 1.0));
    assert_eq!(course.rows.len(), 10);
    assert!(course.rows.iter().all(|row| row.bytes.iter().all(Option::is_some)));
    let untraced = Run { course: Vec::new(), ..runs[0].clone() };
    assert_eq!(CourseView::of(&untraced, &runs[1]), None);
}

#[test]
fn many_steps_become_few_rows() {
    let of = |count: u32, begin_us| {
        let program = Program { begin_us, ..Program::default() };
        Recorder::new(program).steps(0..count).run("run")
    };
    let [short, long] = [of(20, 1_000_000), of(90, 900_000_000)];
    let course = CourseView::of(&short, &long).unwrap();
    assert!(course.rows.len() <= 12);
    assert_eq!(course.rows[0].label, "Steps 1 to 8");
    assert_eq!(course.rows.last().unwrap().label, "Steps 89 to 90");
    assert_eq!(course.rows.last().unwrap().bytes, [None, Some(long.peak.bytes() as f64)]);
    assert!(course.end >= 90.0);
}

#[test]
fn ranks_show_their_composition_and_who_stands_out() {
    let runs: Vec<Run> =
        (0..6).map(|number| rank(number, if number == 4 { 512 * MIB } else { 64 * MIB })).collect();
    let view = view(&runs);
    sums(&view.difference);
    assert_eq!(view.kind_label, "6 ranks of one job");
    let ranks = view.ranks.unwrap();
    for row in &ranks.rows {
        assert_eq!(row.parts.iter().map(|part| part.bytes).sum::<u64>(), row.peak_bytes);
        assert_eq!(row.stands_out, row.name == "rank4");
    }
    assert_eq!(ranks.top_bytes, runs[4].peak.bytes());
    let course = view.course.unwrap();
    assert_eq!(course.lines[1].name, "rank4");
}

#[test]
fn a_missing_rank_is_named() {
    let runs: Vec<Run> = [0, 1, 3, 4].map(|number| rank(number, 64 * MIB)).into();
    let broken = Unreadable { name: "rank5".to_owned(), message: "the file is cut.".to_owned() };
    let comparison = Comparison::of(&runs, vec![broken]).unwrap();
    assert_eq!(comparison.missing, ["rank2"]);
    let told = "rank2 is missing: no file of that name is among those given.";
    assert!(comparison.notes.iter().any(|note| note == told), "{:?}", comparison.notes);
    let markdown = CompareMarkdown(&comparison).to_string();
    assert!(markdown.contains("- Left out: rank5: the file is cut."), "{markdown}");
}

#[test]
fn moments_show_growth_and_no_course() {
    let mut program = Recorder::new(Program { kept: 3 * MIB, ..Program::default() });
    let first = program.steps(0..6).run("first");
    let runs = [first, program.steps(6..14).run("second"), program.steps(14..26).run("third")];
    let view = view(&runs);
    sums(&view.difference);
    assert_eq!(view.kind_label, "3 moments of one run");
    assert_eq!(view.course, None);
    let growth = view.growth.unwrap();
    let ends: Vec<(String, u64)> =
        runs.iter().map(|run| (run.name.clone(), run.end.bytes())).collect();
    assert_eq!(growth.moments, ends);
    assert!(growth.is_confirmed && growth.has_rate && growth.hidden == 0);
    assert_eq!(growth.rows[0].growing.confirmed_bytes, Some(8 * 3 * MIB));
}

#[test]
fn a_run_survives_the_way_between_workers() {
    let [failed, typical] = ["leak_loss_history", "cat_gpt_adamw"].map(run);
    assert!(!failed.live.is_empty() && !failed.fits.is_empty());
    for run in [failed, Run { is_summary: true, ..typical }] {
        let bytes = carried::to_bytes(&run).unwrap();
        assert_eq!(carried::from_bytes(&bytes).unwrap(), run);
        assert!(carried::from_bytes(&bytes[..bytes.len() / 2]).is_err());
    }
}

#[test]
fn a_summary_alone_shows_the_run() {
    let run = Run { is_summary: true, ..run("leak_loss_history") };
    let alone = AloneView::of(&run);
    assert_eq!(alone.headline, run.headline);
    assert_eq!(alone.peak.iter().map(|part| part.bytes).sum::<u64>(), run.peak.bytes());
    assert!(alone.sites.is_sorted_by(|one, next| one.bytes >= next.bytes));
    assert!(alone.facts.iter().any(|fact| fact.contains("failed")), "{:?}", alone.facts);
}

#[test]
fn snapshots_and_summaries_are_told_apart_and_read_alike() {
    let recorded = Recorder::new(Program::default()).steps(0..4).snapshot();
    let from_snapshot = summary::run_of(Cursor::new(recorded.clone()), "a", &[]).unwrap();
    let text = serde_json::json!({"oomscope": 1, "run": from_snapshot}).to_string().into_bytes();
    assert!(summary::is_summary(&mut Cursor::new(&text)).unwrap());
    assert!(!summary::is_summary(&mut Cursor::new(&recorded)).unwrap());
    let from_summary = summary::run_of(Cursor::new(text), "a", &[]).unwrap();
    assert_eq!(from_summary.course, from_snapshot.course);
    assert_eq!(from_summary.peak, from_snapshot.peak);
    assert!(from_summary.is_summary);
    let half = recorded[..recorded.len() / 2].to_vec();
    assert!(!summary::is_other_json(half.as_slice()));
    assert!(summary::is_other_json(&b"{\"lr\": 0.1}"[..]));
    assert!(summary::run_of(Cursor::new(half), "a", &[]).unwrap_err().ends_with('.'));
}
