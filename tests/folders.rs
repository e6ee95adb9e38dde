//! Nothing that leaves without folders names one: over every fixture, with folders planted in it.

use crate::support::{fixtures, read, unpacked};
use oomscope::compare::run::Run;
use oomscope::compare::{Comparison, Unreadable};
use oomscope::findings::Findings;
use oomscope::message;
use oomscope::snapshot::Snapshot;
use oomscope::text::markdown::{CompareMarkdown, ReportMarkdown};
use oomscope::text::{CompareText, MessageText, ReportText};
use oomscope::view::allocations::Table;
use oomscope::view::allocations::question::Question;
use oomscope::view::folders::comparison_without_folders;
use oomscope::view::message::MessageReport;
use oomscope::view::report::Report;
use oomscope::view::selection::Selection;
use oomscope::view::timeline::axis::Along;
use oomscope::view::timeline::groups::{By, Groups};
use oomscope::view::timeline::{Span, TimelineView};

/// What stands for a private folder.
const PLANTED: &str = "planted";

/// Folders of the fixtures with what is planted in their place, as long as they are.
const FOLDERS: [(&str, &str); 4] = [
    ("/home/user/job/", "/home/planted1/"),
    ("/srv/jobs/", "/planted2/"),
    ("/tmp/site/", "/planted3/"),
    ("/opt/torch/.venv/", "/opt/planted4env/"),
];

/// A fixture whose folders are the planted ones.
fn planted(fixture: &str) -> Snapshot {
    let mut bytes = unpacked(fixture);
    for at in 0..bytes.len() {
        // All begin so; that is seen at once.
        if bytes[at] != b'/' {
            continue;
        }
        for (folder, planted) in FOLDERS {
            assert_eq!(folder.len(), planted.len());
            if bytes[at..].starts_with(folder.as_bytes()) {
                bytes[at..at + planted.len()].copy_from_slice(planted.as_bytes());
            }
        }
    }
    read(bytes).unwrap()
}

/// Whether a text names a planted folder, or one above or below it.
fn names_folder(text: &str) -> bool {
    [PLANTED, "/home", "scripts/memory", "site-packages"].iter().any(|folder| text.contains(folder))
}

fn report_of(snapshot: &Snapshot, findings: &Findings) -> Report {
    let mut report = Report::of(snapshot, findings, "snapshot.pickle", 0);
    report.summarise(snapshot, findings);
    report
}

fn printed(report: &Report) -> [String; 3] {
    [
        ReportText(report).to_string(),
        ReportMarkdown(report).to_string(),
        serde_json::to_string(report).unwrap(),
    ]
}

#[test]
fn no_report_names_a_folder() {
    let mut with_folders = 0;
    for name in fixtures() {
        let snapshot = planted(&name);
        let mut report = report_of(&snapshot, &Findings::of(&snapshot));
        let [text, .., json] = printed(&report);
        with_folders += usize::from(json.contains(PLANTED));
        report.leave_out_folders();
        for text in printed(&report) {
            assert!(!names_folder(&text), "{name}:\n{text}");
        }
        // The words are the same, and so is whatever identifies a line.
        let [bare, ..] = printed(&report);
        assert_eq!(text.lines().count(), bare.lines().count(), "{name}");
        assert_eq!(text.lines().next(), bare.lines().next(), "{name}");
    }
    assert!(with_folders > 20, "{with_folders} fixtures have folders to leave out");
}

#[test]
fn no_saved_table_and_no_picture_names_a_folder() {
    for name in ["leak_loss_history", "kv_cache_preallocated", "shape_annotations", "cat_lstm"] {
        let snapshot = planted(name);
        let findings = Findings::of(&snapshot);
        let device = &findings.devices[0];
        let allocations = Selection::live_after(device.last_entry()).allocations(&snapshot, device);
        let kinds = &findings.kinds;
        let table = Table::of(&snapshot, kinds, device, &allocations, &Question::default());
        assert!(table.csv(&snapshot, kinds, device, true).contains(PLANTED), "{name}");
        assert!(!names_folder(&table.csv(&snapshot, kinds, device, false)), "{name}");
        for by in [By::Category, By::Line] {
            let groups = Groups::of(&snapshot, &findings, device, by);
            let view =
                TimelineView::of(&snapshot, device, &groups, Along::Entries, (0, u32::MAX), 64);
            let shown = serde_json::to_string(&view.without_folders()).unwrap();
            assert!(!names_folder(&shown), "{name}: {shown}");
        }
    }
}

#[test]
fn a_picture_names_the_file_of_a_path_in_an_annotation() {
    let name = format!("load /home/{PLANTED}/run.pt");
    let view = TimelineView {
        spans: vec![Span { name, begin: 0, end: 1, lane: 1 }],
        ..TimelineView::default()
    };
    assert_eq!(view.without_folders().spans[0].name, "load run.pt");
}

#[test]
fn no_comparison_names_a_folder_and_the_sums_stay() {
    let run = |fixture: &str, name: &str| {
        let snapshot = planted(fixture);
        Run::of(&snapshot, &Findings::of(&snapshot), name, &[]).unwrap()
    };
    let runs = [
        run("cat_gpt_adamw", &format!("{PLANTED}/a/snapshot.pickle")),
        run("cat_gpt_checkpoint", &format!("{PLANTED}/b/snapshot.pickle")),
        run("cat_lstm", &format!("/home/{PLANTED}/lstm.pickle")),
    ];
    let unreadable = [Unreadable {
        name: format!("{PLANTED}/c/snapshot.pickle"),
        message: "the file is cut; copy it again.".to_owned(),
    }];
    for runs in [&runs[..2], &runs] {
        let whole = Comparison::of(runs, unreadable.to_vec()).unwrap();
        let bare = comparison_without_folders(runs, &unreadable).unwrap();
        assert!(CompareMarkdown(&whole).to_string().contains(PLANTED));
        for text in [
            CompareText(&bare).to_string(),
            CompareMarkdown(&bare).to_string(),
            serde_json::to_string(&bare).unwrap(),
        ] {
            assert!(!names_folder(&text), "{text}");
        }
        let stacks = |comparison: &Comparison| comparison.difference.by_stack.len();
        assert_eq!(stacks(&whole), stacks(&bare));
        assert_eq!(whole.difference.allocated_bytes, bare.difference.allocated_bytes);
    }
    let bare = comparison_without_folders(&runs, &unreadable).unwrap();
    let names: Vec<&str> = bare.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["snapshot.pickle", "snapshot.pickle (2)", "lstm"]);
    assert_eq!(bare.unreadable[0].name, "snapshot.pickle (3)");
}

#[test]
fn no_reading_of_a_log_names_a_folder() {
    let log = format!(
        "cd /home/{PLANTED}/job\n\
         Traceback (most recent call last):\n  File \"/home/{PLANTED}/my job/train.py\", line 3, in <module>\n    \
         loss.backward()\n/data/{PLANTED}/x.py:12: UserWarning: a\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
         79.11 GiB of which 1.31 GiB is free. Process 1 has 77.79 GiB memory in use. Of the allocated memory \
         70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated. \
         See ~/{PLANTED}/notes.txt and C:\\Users\\{PLANTED}\\a.log\n"
    );
    let mut report = MessageReport::of(&message::read(&log));
    assert!(report.recognised);
    assert!(serde_json::to_string(&report).unwrap().contains(PLANTED));
    // What people read holds nothing of the text but its numbers.
    assert!(!names_folder(&MessageText(&report).to_string()));
    report.leave_out_folders();
    assert!(!names_folder(&serde_json::to_string(&report).unwrap()), "{:?}", report.messages);
}
