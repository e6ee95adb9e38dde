//! The report of real recordings: its text as it was last looked at, its JSON by names and types.
//! `BLESS=1` rewrites the texts; the difference is then reviewed like code.

use crate::support::{difference, fixtures, open, path_of, tests};
use oomscope::findings::Findings;
use oomscope::text::ReportText;
use oomscope::view::report::Report;
use serde_json::Value;
use std::fs;

/// One for each verdict, and for each way in which a file may be incomplete.
const REPORTED: [&str; 9] = [
    "activation_naive_attention",
    "fragmentation_varlen_default",
    "kv_cache_preallocated",
    "leak_refcycle_sawtooth",
    "shape_late_start",
    "shape_never_recorded",
    "shape_streams_graphs",
    "shape_two_gpus_one_process",
    "weights_too_big_to_load",
];

fn report_of(fixture: &str) -> Report {
    let snapshot = open(fixture);
    let findings = Findings::of(&snapshot);
    let path = path_of(fixture);
    let name = path.file_name().unwrap().to_str().unwrap();
    Report::of(&snapshot, &findings, name, fs::metadata(&path).unwrap().len())
}

#[test]
fn the_texts_are_as_they_were_last_looked_at() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut changed = Vec::new();
    for fixture in REPORTED {
        let text = ReportText(&report_of(fixture)).to_string();
        let path = tests().join(format!("golden/{fixture}.txt"));
        if bless {
            fs::write(&path, &text).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        let problem = difference(&text, &golden);
        changed.extend(problem.map(|problem| format!("{fixture}.txt: {problem}\n")));
    }
    assert!(
        changed.is_empty(),
        "if the change is meant, run again with BLESS=1 and look at git diff\n{}",
        changed.concat()
    );
}

#[test]
fn every_golden_text_has_its_fixture() {
    for file in fs::read_dir(tests().join("golden")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let fixture = name.strip_suffix(".txt").unwrap_or(&name);
        assert!(REPORTED.contains(&fixture), "golden/{name} is of no use");
    }
}

#[test]
fn the_same_file_gives_the_same_report() {
    for fixture in REPORTED {
        let (first, second) = (report_of(fixture), report_of(fixture));
        assert_eq!(ReportText(&first).to_string(), ReportText(&second).to_string(), "{fixture}");
        let json = |report| serde_json::to_string(report).unwrap();
        assert_eq!(json(&first), json(&second), "{fixture}");
    }
}

/// A text for people: no line is padded, and nothing of the programming language shows.
#[test]
fn the_texts_are_clean() {
    for fixture in fixtures() {
        let text = ReportText(&report_of(&fixture)).to_string();
        assert!(text.ends_with('\n') && !text.contains("\n\n\n"), "{fixture}:\n{text}");
        for line in text.lines() {
            assert_eq!(line, line.trim_end(), "{fixture}");
            for word in
                ["NaN", "inf ", "Some(", "None)", "{}", "18446744073709551615", "4294967295"]
            {
                assert!(!line.contains(word), "{fixture}: {line}");
            }
        }
    }
}

// --- JSON -------------------------------------------------------------------------------------------

const CATEGORIES: [&str; 10] = [
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
];
const CAUSES: [&str; 14] = [
    "weights",
    "activations",
    "fragmentation",
    "leak",
    "kv_cache",
    "none",
    "insufficient_data",
    "too_big_single_request",
    "other_process",
    "memory_fraction_cap",
    "context",
    "host_memory",
    "platform_limit",
    "not_pytorch",
];

/// A value of the report, with its path for the messages.
struct At<'a>(String, &'a Value);

impl<'a> At<'a> {
    #[track_caller]
    fn get(&self, name: &str) -> At<'a> {
        let At(path, value) = self;
        let found = value.get(name).unwrap_or_else(|| panic!("{path} has no {name}"));
        At(format!("{path}.{name}"), found)
    }

    #[track_caller]
    fn items(&self) -> Vec<At<'a>> {
        let At(path, value) = self;
        let items = value.as_array().unwrap_or_else(|| panic!("{path} is no list: {value}"));
        let items = items.iter().enumerate();
        items.map(|(place, item)| At(format!("{path}[{place}]"), item)).collect()
    }

    fn is_null(&self) -> bool {
        self.1.is_null()
    }

    #[track_caller]
    fn whole(&self) -> u64 {
        self.1.as_u64().unwrap_or_else(|| panic!("{} is no whole number: {}", self.0, self.1))
    }

    #[track_caller]
    fn text(&self) -> &'a str {
        self.1.as_str().unwrap_or_else(|| panic!("{} is no text: {}", self.0, self.1))
    }

    #[track_caller]
    fn one_of(&self, names: &[&str]) {
        assert!(names.contains(&self.text()), "{} is {}", self.0, self.1);
    }

    #[track_caller]
    fn fraction(&self) {
        let number = self.1.as_f64().unwrap_or_else(|| panic!("{} is {}", self.0, self.1));
        assert!((0.0..=1.0).contains(&number), "{} is {number}", self.0);
    }

    #[track_caller]
    fn wholes(&self, names: &[&str]) {
        for name in names {
            self.get(name).whole();
        }
    }

    #[track_caller]
    fn or_null<T>(&self, check: impl FnOnce(&Self) -> T) {
        if !self.is_null() {
            check(self);
        }
    }
}

fn assert_claims(claims: &At<'_>) {
    for claim in claims.items() {
        claim.get("cause").one_of(&CAUSES);
        claim.get("confidence").fraction();
        claim.get("bytes").or_null(At::whole);
        for evidence in claim.get("evidence").items() {
            assert!(!evidence.get("statement").text().is_empty(), "{}", evidence.0);
            evidence.get("bytes").or_null(At::whole);
            evidence.get("entry").or_null(At::whole);
            evidence.get("stack").or_null(At::items);
        }
    }
}

fn assert_device(device: &At<'_>) {
    device.wholes(&["device", "entries"]);
    for total in ["requested", "allocated", "active", "reserved"] {
        device.get("peaks").get(total).wholes(&["entry", "bytes"]);
    }
    let totals = ["allocated_bytes", "active_bytes", "reserved_bytes"];
    device.get("end").wholes(&totals);
    device.get("end").wholes(&["requested_bytes"]);
    for oom in device.get("ooms").items() {
        oom.wholes(&["entry", "request_bytes"]);
        oom.wholes(&totals);
        oom.get("device_free_bytes").or_null(At::whole);
    }
    let composition = device.get("composition");
    for (moment, total) in [
        ("at_peak", device.get("peaks").get("allocated").get("bytes").whole()),
        ("at_end", device.get("end").get("allocated_bytes").whole()),
        (
            "at_oom",
            device.get("ooms").items().last().map_or(0, |oom| oom.get("allocated_bytes").whole()),
        ),
    ] {
        let at = composition.get(moment);
        if at.is_null() {
            assert_eq!((moment, device.get("ooms").items().len()), ("at_oom", 0), "{}", at.0);
            continue;
        }
        let categories = at.1.as_object().unwrap_or_else(|| panic!("{} is no object", at.0));
        for name in categories.keys() {
            assert!(CATEGORIES.contains(&name.as_str()), "{} has {name}", at.0);
        }
        let sum: u64 = categories.keys().map(|name| at.get(name).whole()).sum();
        assert_eq!(sum, total, "{}", at.0);
    }
    for step in device.get("steps").items() {
        step.wholes(&["begin_entry", "end_entry", "baseline_bytes", "peak_bytes"]);
    }
    device.get("replay").or_null(|replay| {
        replay.get("exact").1.as_bool().expect("exact is a truth value");
        replay.wholes(&["differing_entries", "largest_difference_bytes"]);
    });
}

#[test]
fn the_json_has_its_names_and_types() {
    for fixture in fixtures() {
        let text = serde_json::to_string(&report_of(&fixture)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let report = At(fixture, &value);
        assert_eq!(report.get("oomscope").whole(), 1);
        let file = report.get("file");
        file.get("name").text();
        file.get("bytes").whole();
        file.get("container").one_of(&["pickle", "gzip", "xz", "zstd", "zip", "html", "json"]);
        file.get("protocol").or_null(|protocol| assert!(protocol.whole() <= 5));
        report.get("history").one_of(&["complete", "late_start", "wrapped", "state_only", "none"]);
        report.get("stacks").one_of(&["python_and_cpp", "python", "none"]);
        for warning in report.get("warnings").items() {
            warning.get("kind").text();
            warning.get("count").whole();
            warning.get("first").text();
        }
        report.get("devices").items().iter().for_each(assert_device);

        let diagnosis = report.get("diagnosis");
        diagnosis.wholes(&["device", "entry"]);
        diagnosis.get("cause").one_of(&CAUSES);
        diagnosis.get("confidence").fraction();
        assert_claims(&diagnosis.get("ranking"));
        assert_claims(&diagnosis.get("contributing"));
        for cause in diagnosis.get("ruled_out").items() {
            cause.get("cause").one_of(&CAUSES);
            assert!(!cause.get("because").text().is_empty(), "{}", cause.0);
        }
        diagnosis.get("margin_bytes").or_null(At::whole);
        for line in diagnosis.get("lines").items() {
            line.get("file").text();
            line.get("function").text();
            line.wholes(&["line", "bytes"]);
        }
        for fix in diagnosis.get("fixes").items() {
            for name in ["id", "title", "note"] {
                fix.get(name).text();
            }
            fix.get("saves_bytes").or_null(At::whole);
            fix.get("basis").one_of(&["replayed", "measured", "estimated", "none"]);
        }
    }
}
