//! The program: its exit codes, what it prints where, and that its two spellings are one.

mod html;

use crate::support::{path_of, tests};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oomscope")).args(arguments).output().unwrap()
}

fn fixture(name: &str) -> String {
    path_of(name).to_str().unwrap().to_owned()
}

fn hostile(name: &str) -> String {
    let path = tests().join("hostile").join(name);
    assert!(path.exists(), "{}", path.display());
    path.to_str().unwrap().to_owned()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> Output {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    output
}

/// Exits with 1, prints nothing, and says what is wrong with `file` in one sentence.
#[track_caller]
fn fails(arguments: &[&str], file: &str) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""), "{}", stderr(&output));
    let line = stderr(&output).strip_suffix('\n').expect("a line");
    let sentence = line.strip_prefix(&format!("oomscope: {file}: ")).expect(line);
    assert!(!sentence.contains('\n') && sentence.ends_with('.'), "{sentence}");
    // What is wrong; then what to do.
    assert!(sentence.contains("; "), "{sentence}");
    sentence.to_owned()
}

#[track_caller]
fn is_wrong_usage(arguments: &[&str]) {
    let output = run(arguments);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{arguments:?}");
    assert!(!stderr(&output).is_empty(), "{arguments:?}");
}

#[test]
fn the_word_report_may_be_left_out() {
    let file = fixture("activation_naive_attention");
    let long = succeeds(&["report", &file]);
    assert!(!long.stdout.is_empty());
    assert_eq!(stdout(&succeeds(&[&file])), stdout(&long));
    let json = succeeds(&["report", &file, "--json"]);
    assert_eq!(stdout(&succeeds(&[&file, "--json"])), stdout(&json));
    assert_eq!(stdout(&succeeds(&["--json", &file])), stdout(&json));
}

#[test]
fn json_is_printed_on_request() {
    for name in ["shape_never_recorded", "shape_two_gpus_one_process", "weights_too_big_to_load"] {
        let output = succeeds(&["report", &fixture(name), "--json"]);
        let report: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(report["oomscope"], 1);
        assert_eq!(report["file"]["name"], format!("{name}.pickle.xz"));
        assert_eq!(report["file"]["container"], "xz");
        assert!(stdout(&output).ends_with("}\n"));
    }
}

#[test]
fn a_device_may_be_chosen() {
    let file = fixture("shape_two_gpus_one_process");
    for device in ["0", "1"] {
        let output = succeeds(&["report", &file, "--device", device, "--json"]);
        let report: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(report["diagnosis"]["device"].to_string(), device);
    }
    let sentence = fails(&["report", &file, "--device", "7"], &file);
    assert!(sentence.contains("device 7"), "{sentence}");
}

#[test]
fn what_if_answers_in_text_and_json() {
    let file = fixture("fragmentation_varlen_default");
    let conf = ["--conf", "expandable_segments:True"];
    let text = succeeds(&["what-if", &file, conf[0], conf[1], "--limit", "5632MiB"]);
    assert!(stdout(&text).starts_with("Under a limit of 5.50 GiB, with expandable_segments:True, the run goes past the point where it failed.\n"), "{}", stdout(&text));
    let json = succeeds(&["what-if", &file, conf[0], conf[1], "--limit", "5905580032", "--json"]);
    let answer: Value = serde_json::from_str(stdout(&json)).unwrap();
    assert_eq!(answer["oomscope"], 1);
    assert_eq!(
        (&answer["limit_bytes"], &answer["capacity_bytes"]),
        (&5_905_580_032_u64.into(), &Value::Null)
    );
    assert_eq!(answer["recorded"]["exact"], true);
    assert_eq!((&answer["ooms"], &answer["first_oom_entry"]), (&0.into(), &Value::Null));
    let peak = answer["peak_reserved_bytes"].as_u64().unwrap();
    assert_eq!(answer["band_bytes"], serde_json::json!([peak, peak]));
    for key in ["peak_active_bytes", "final_reserved_bytes", "retries", "smallest_capacity_bytes"] {
        assert!(answer[key].is_u64(), "{key}");
    }
}

/// The recorded settings under the limit that the recording itself shows fail as recorded.
#[test]
fn what_if_nothing_changes_the_run_fails_as_it_did() {
    let file = fixture("fragmentation_varlen_default");
    let answer = succeeds(&["what-if", &file, "--json"]);
    let answer: Value = serde_json::from_str(stdout(&answer)).unwrap();
    assert_eq!((&answer["bounds_basis"], &answer["ooms"]), (&"inferred".into(), &1.into()));
    assert_eq!(answer["peak_reserved_bytes"], answer["recorded"]["peak_reserved_bytes"]);
    assert_eq!(answer["stopped_at_entry"], Value::Null);
}

#[test]
fn what_if_changes_the_program_and_its_use_of_the_cache() {
    let file = fixture("cat_gpt_adamw");
    let asked = [
        "what-if",
        &file,
        "--batch",
        "0.5",
        "--checkpointing",
        "--optimizer-states",
        "8bit",
        "--empty-cache",
        "every-step",
    ];
    let text = succeeds(&asked);
    let says = stdout(&text);
    assert!(says.contains(", 0.5 times the batch, activations checkpointed, optimizer states in 8 bits, the cache emptied between the steps, every request is served."), "{says}");
    assert!(
        says.contains("times the program empties the cache itself, which stalls the GPU"),
        "{says}"
    );
    assert!(says.contains("A changed program is an estimate"), "{says}");
    let json = succeeds(&[&asked[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(stdout(&json)).unwrap();
    assert_eq!(answer["empty_cache"], "every-step");
    let change =
        serde_json::json!({"batch": 0.5, "checkpointing": true, "optimizer_states": "eight-bit"});
    assert_eq!(answer["change"], change);
    assert!(answer["cache_clears"].as_u64() > Some(0));
    assert!(
        answer["peak_reserved_bytes"].as_u64() < answer["recorded"]["peak_reserved_bytes"].as_u64()
    );
}

#[test]
fn what_if_tells_what_it_cannot_answer() {
    let file = fixture("shape_state_only");
    let sentence = fails(&["what-if", &file], &file);
    assert!(sentence.contains("no recorded allocation"), "{sentence}");
    let file = fixture("cat_lstm");
    let sentence = fails(&["what-if", &file, "--device", "7"], &file);
    assert!(sentence.contains("device 7"), "{sentence}");
    for wrong in [
        ["--conf", "max_split_size:128"],
        ["--limit", "much"],
        ["--capacity", "-1"],
        ["--batch", "0"],
        ["--batch", "many"],
        ["--empty-cache", "often"],
        ["--optimizer-states", "4bit"],
    ] {
        is_wrong_usage(&["what-if", &file, wrong[0], wrong[1]]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_in_one_sentence() {
    let missing = tests().join("no_such.pickle").to_str().unwrap().to_owned();
    for arguments in
        [vec![missing.as_str()], vec!["report", &missing], vec!["report", &missing, "--json"]]
    {
        let sentence = fails(&arguments, &missing);
        assert!(sentence.contains("cannot be read"), "{sentence}");
    }
    let folder = tests().to_str().unwrap().to_owned();
    let sentence = fails(&[&folder], &folder);
    assert!(sentence.contains("folder"), "{sentence}");
}

#[test]
fn a_file_that_is_no_snapshot_is_told_in_one_sentence() {
    for (name, word) in [
        ("cut.pickle", "ends in the middle"),
        ("state_dict.pickle", "collections.OrderedDict"),
        ("error.txt", "text of an error"),
    ] {
        let file = hostile(name);
        for arguments in [vec![file.as_str()], vec!["report", &file, "--json"]] {
            let sentence = fails(&arguments, &file);
            assert!(sentence.contains(word), "{sentence}");
        }
    }
}

#[test]
fn wrong_usage_is_told_apart() {
    let file = fixture("shape_never_recorded");
    is_wrong_usage(&[]);
    is_wrong_usage(&["report"]);
    is_wrong_usage(&["--json"]);
    is_wrong_usage(&["report", &file, "--frobnicate"]);
    is_wrong_usage(&["report", &file, &file]);
    is_wrong_usage(&["report", &file, "--device", "first"]);
    is_wrong_usage(&["report", &file, "--device", "-1"]);
}

#[test]
fn it_tells_its_version_and_its_use() {
    let version = succeeds(&["--version"]);
    assert_eq!(stdout(&version), format!("oomscope {}\n", oomscope::VERSION));
    let help = succeeds(&["--help"]);
    assert!(stdout(&help).contains("report"), "{}", stdout(&help));
    assert!(stdout(&succeeds(&["report", "--help"])).contains("--device"));
}

const ERROR_TEXT: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 90.00 GiB. \
    GPU 3 has a total capacity of 40.25 GiB of which 31.00 GiB is free.\n";

/// Feeds `text` to the program.
fn piped(arguments: &[&str], text: &str) -> Output {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut program = Command::new(env!("CARGO_BIN_EXE_oomscope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    program.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    program.wait_with_output().unwrap()
}

#[test]
fn an_error_text_is_read_from_a_file_or_a_pipe() {
    let path = std::env::temp_dir().join(format!("oomscope-cli-{}.txt", std::process::id()));
    std::fs::write(&path, ERROR_TEXT).unwrap();
    let from_file = succeeds(&["message", path.to_str().unwrap(), "--json"]);
    std::fs::remove_file(&path).unwrap();
    for arguments in [["message", "-", "--json"].as_slice(), &["message", "--json"]] {
        let from_pipe = piped(arguments, ERROR_TEXT);
        assert_eq!(from_pipe.status.code(), Some(0));
        assert_eq!(stdout(&from_pipe), stdout(&from_file));
    }
    let report: Value = serde_json::from_str(stdout(&from_file)).unwrap();
    assert_eq!((&report["oomscope"], &report["recognised"]), (&Value::from(1), &Value::from(true)));
    assert_eq!(report["backend"], "cuda");
    assert_eq!(report["facts"]["gpu_index"], 3);
    assert_eq!(report["facts"]["requested_bytes"], 90_u64 << 30);
    assert_eq!(report["facts"]["allocated_bytes"], Value::Null);
    assert_eq!(report["causes"][0]["cause"], "too_big_single_request");
    let text = piped(&["message"], ERROR_TEXT);
    assert!(stdout(&text).starts_with("The cause is one request too big."), "{}", stdout(&text));
}

#[test]
fn a_text_without_a_message_is_no_failure() {
    let output = piped(&["message"], "all is well\n");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert!(stdout(&output).contains("No out-of-memory message"));
    let output = piped(&["message", "--json"], "");
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["recognised"], false);
    assert_eq!(report["causes"][0]["cause"], "insufficient_data");
}

#[test]
fn a_text_that_cannot_be_read_is_told_in_one_sentence() {
    let missing = tests().join("no_such.txt").to_str().unwrap().to_owned();
    let sentence = fails(&["message", &missing], &missing);
    assert!(sentence.contains("cannot be read"), "{sentence}");
    is_wrong_usage(&["message", "a", "b"]);
}

/// `oomscope FILE | head` is no failure.
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::process::Stdio;
    let mut program = Command::new(env!("CARGO_BIN_EXE_oomscope"))
        .args(["report", &fixture("shape_late_start"), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(program.stdout.take());
    let output = program.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn the_name_is_shown_without_its_folder() {
    let file = fixture("shape_never_recorded");
    let report: Value = serde_json::from_str(stdout(&succeeds(&[&file, "--json"]))).unwrap();
    let name = Path::new(&file).file_name().unwrap().to_str().unwrap();
    assert_eq!(report["file"]["name"], name);
    assert_eq!(report["file"]["bytes"], Path::new(&file).metadata().unwrap().len());
}

#[test]
fn a_comparison_is_printed_as_text_or_json() {
    let files = ["cat_gpt_adamw", "cat_gpt_checkpoint"].map(fixture);
    let text = succeeds(&["compare", &files[0], &files[1]]);
    let first = "cat_gpt_checkpoint peaks 882.01 MiB lower than cat_gpt_adamw";
    assert!(stdout(&text).starts_with(first), "{}", stdout(&text));
    let json = succeeds(&["compare", &files[0], &files[1], "--json"]);
    let answer: Value = serde_json::from_str(stdout(&json)).unwrap();
    assert_eq!(answer["oomscope"], 1);
    assert_eq!(answer["files"][1]["name"], "cat_gpt_checkpoint");
    let difference = &answer["difference"];
    let sum: i64 = difference["by_category"]
        .as_object()
        .unwrap()
        .values()
        .map(|bytes| bytes.as_i64().unwrap())
        .sum();
    assert_eq!(difference["allocated_bytes"], sum);
    assert!(difference["reserved_bytes"].is_i64());
    let row = &difference["by_stack"][0];
    for key in ["a_bytes", "b_bytes", "a_count", "b_count"] {
        assert!(row[key].is_u64(), "{key}");
    }
    assert!(row["stack"][0]["file"].is_string());
    assert_eq!(answer["growing"], serde_json::json!([]));
}

/// A folder for one test's files.
fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("oomscope-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_folder_is_compared_and_a_broken_file_of_it_named() {
    let folder = scratch("ranks");
    for (rank, name) in ["cat_lstm", "cat_lstm", "cat_gpt_fp32_sgd"].into_iter().enumerate() {
        std::fs::copy(path_of(name), folder.join(format!("rank{}.pickle.xz", 9 + rank))).unwrap();
    }
    let whole = std::fs::read(path_of("cat_lstm")).unwrap();
    std::fs::write(folder.join("rank12.pickle.xz"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("settings.json"), "{\"lr\": 0.1}").unwrap();
    std::fs::write(folder.join("notes.txt"), "none").unwrap();
    let path = folder.to_str().unwrap();
    let json = succeeds(&["compare", path, "--json"]);
    let answer: Value = serde_json::from_str(stdout(&json)).unwrap();
    let names: Vec<&str> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["rank9", "rank10", "rank11"]);
    assert_eq!(answer["unreadable"].as_array().unwrap().len(), 1);
    assert_eq!(answer["unreadable"][0]["name"], "rank12");
    let text = succeeds(&["compare", path]);
    assert!(stdout(&text).contains("Left out: rank12: "), "{}", stdout(&text));
    let markdown = succeeds(&["compare", path, "--markdown"]);
    assert!(stdout(&markdown).contains("- Left out: rank12: "), "{}", stdout(&markdown));
    // One that is left is none to compare with.
    let one = folder.join("rank9.pickle.xz");
    let broken = folder.join("rank12.pickle.xz");
    let sentence = fails(
        &["compare", one.to_str().unwrap(), broken.to_str().unwrap()],
        broken.to_str().unwrap(),
    );
    assert!(!sentence.is_empty());
    let sentence = fails(&["compare", one.to_str().unwrap()], one.to_str().unwrap());
    assert!(sentence.contains("needs two files"), "{sentence}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn summaries_stand_for_their_files() {
    let folder = scratch("summaries");
    let summary = |name: &str| {
        let path = folder.join(format!("{name}.json"));
        let report = succeeds(&["report", &fixture(name), "--json"]);
        std::fs::write(&path, &report.stdout).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let names = ["cat_gpt_adamw", "cat_gpt_checkpoint"];
    let [a, b] = names.map(summary);
    let of_summaries = succeeds(&["compare", &a, &b]);
    let of_files = succeeds(&["compare", &fixture(names[0]), &fixture(names[1])]);
    assert_eq!(stdout(&of_summaries), stdout(&of_files));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_guard_fails_where_the_peak_has_grown() {
    let [less, more] = ["cat_gpt_checkpoint", "cat_gpt_adamw"].map(fixture);
    succeeds(&["compare", &more, &less, "--fail-above", "0"]);
    succeeds(&["compare", &less, &more, "--fail-above", "60"]);
    let output = run(&["compare", &less, &more, "--fail-above", "20"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("cat_gpt_adamw peaks"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("49.2 % above that of cat_gpt_checkpoint"),
        "{}",
        stderr(&output)
    );
    // A guard that cannot look does not pass.
    let output = run(&["compare", &more, &less, "no_such.pickle", "--fail-above", "0"]);
    assert_eq!(output.status.code(), Some(1));
    is_wrong_usage(&["compare", &more, &less, "--fail-above", "much"]);
    is_wrong_usage(&["compare"]);
}

#[test]
fn a_run_is_held_against_cards() {
    let [a, b] = ["cat_gpt_adamw", "cat_gpt_checkpoint"].map(fixture);
    let text = succeeds(&["compare", &a, &b, "--capacity", "2GiB", "--capacity", "8GiB"]);
    assert!(stdout(&text).contains("cat_gpt_adamw needs "), "{}", stdout(&text));
    assert!(stdout(&text).contains("cat_gpt_checkpoint fits into 8.00 GiB"), "{}", stdout(&text));
    is_wrong_usage(&["compare", &a, &b, "--capacity", "large"]);
}
