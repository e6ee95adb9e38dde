//! Error texts: every wording, through every kind of noise.

mod invention;
mod wordings;

use oomscope::message::bar::{Bar, ROUNDING_BYTES};
use oomscope::message::cause::Cause;
use oomscope::message::facts::Facts;
use oomscope::message::wording::Backend;
use oomscope::message::{Reading, read, text_from_bytes};
use oomscope::text::MessageText;
use oomscope::view::message::MessageReport;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use wordings::{CASES, Case};

/// The number of a size written with one blank: `2.50 GiB`.
fn bytes(size: &str) -> u64 {
    let (number, unit) = size.split_once(' ').unwrap();
    let power = ["bytes", "KiB", "MiB", "GiB"].iter().position(|name| *name == unit).unwrap();
    (number.parse::<f64>().unwrap() * 1024_f64.powi(i32::try_from(power).unwrap())).round() as u64
}

/// The facts with their names in [`CASES`]; sums left out.
fn stated(facts: &Facts) -> Vec<(&'static str, u64)> {
    use oomscope::message::facts::Field::{Reserved, Unallocated};
    let derived = |field| facts.derived.contains(&field);
    [
        ("requested", facts.requested_bytes),
        ("gpu", facts.gpu_index),
        ("capacity", facts.capacity_bytes),
        ("free", facts.free_bytes),
        ("process", facts.process_bytes),
        ("allocated", facts.allocated_bytes),
        ("reserved", facts.reserved_bytes.filter(|_| !derived(Reserved))),
        ("unallocated", facts.reserved_unallocated_bytes.filter(|_| !derived(Unallocated))),
        ("private", facts.private_pool_bytes),
        ("allowed", facts.allowed_bytes),
        ("other", facts.other_allocations_bytes),
        ("active", facts.active_bytes),
    ]
    .into_iter()
    .filter_map(|(name, bytes)| Some((name, bytes?)))
    .collect()
}

#[track_caller]
fn says(reading: &Reading, case: &Case, text: &str) {
    let message = &reading.messages[reading.main.unwrap_or_else(|| panic!("not seen: {text}"))];
    let mut expected: Vec<(&str, u64)> = case
        .facts
        .iter()
        .map(|(name, size)| {
            (*name, if *name == "gpu" { size.parse().unwrap() } else { bytes(size) })
        })
        .collect();
    let mut found = stated(&message.facts);
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected, "{text}");
    assert_eq!(message.backend, case.backend, "{text}");
}

/// All that a page or a terminal asks of a text.
fn whole(text: &str) -> Reading {
    let reading = read(text);
    let report = MessageReport::of(&reading);
    serde_json::to_string(&report).unwrap();
    assert!(!MessageText(&report).to_string().is_empty());
    assert!(!reading.causes.is_empty());
    for pair in reading.causes.windows(2) {
        assert!(pair[0].confidence >= pair[1].confidence);
    }
    assert!(reading.causes.iter().all(|claim| (0.0..=1.0).contains(&claim.confidence)));
    reading
}

#[test]
fn every_wording_is_read() {
    for case in CASES {
        let reading = whole(case.text);
        says(&reading, case, case.text);
        assert_eq!(reading.causes[0].cause, case.cause, "{}: {:?}", case.text, reading.causes);
    }
}

/// The same sentences with other numbers: all sizes of one times a factor, so that they still fit each
/// other.
#[test]
fn every_wording_is_read_with_any_numbers() {
    let mut seed = 7_u64;
    for case in CASES {
        for _ in 0..20 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let factor = 0.4 + (seed >> 40) as f64 / (1 << 24) as f64;
            let mut sizes: Vec<&str> = case
                .facts
                .iter()
                .filter(|(name, size)| *name != "gpu" && size.contains('.'))
                .map(|(_, size)| *size)
                .collect();
            sizes.sort_unstable_by_key(|size| std::cmp::Reverse(size.len()));
            sizes.dedup();
            let other = |size: &str| {
                let (number, unit) = size.split_once(' ').unwrap();
                let decimals = number.split_once('.').map_or(0, |(_, after)| after.len());
                format!("{:.decimals$} {unit}", number.parse::<f64>().unwrap() * factor)
            };
            // Through names that no number contains, so that none is replaced twice.
            let mut text = case.text.to_owned();
            for (place, size) in sizes.iter().enumerate() {
                text = text.replace(size, &format!("\u{1}{place}\u{2}"));
            }
            if sizes
                .iter()
                .enumerate()
                .any(|(place, _)| !text.contains(&format!("\u{1}{place}\u{2}")))
            {
                // It writes the number in another form than the fact does.
                continue;
            }
            for (place, size) in sizes.iter().enumerate() {
                text = text.replace(&format!("\u{1}{place}\u{2}"), &other(size));
            }
            let reading = whole(&text);
            let message =
                &reading.messages[reading.main.unwrap_or_else(|| panic!("not seen: {text}"))];
            let found = stated(&message.facts);
            for (name, size) in case.facts.iter().filter(|(_, size)| sizes.contains(size)) {
                let expected = bytes(&other(size));
                assert!(found.contains(&(*name, expected)), "{name} of {text}: {found:?}");
            }
        }
    }
}

/// Each line with something before it.
fn prefixed(text: &str, prefix: impl Fn(usize) -> String) -> String {
    (0..).zip(text.lines()).map(|(line, text)| format!("{}{text}\n", prefix(line))).collect()
}

/// Lines broken after a number of words, as a mail program does.
fn wrapped(text: &str, words: usize, prefix: &str) -> String {
    let words_of: Vec<&str> = text.split_whitespace().collect();
    words_of.chunks(words).map(|line| format!("{prefix}{}\n", line.join(" "))).collect()
}

/// Lines broken at a width, as a terminal does.
fn broken(text: &str, width: usize) -> String {
    let characters: Vec<char> = text.replace('\n', " ").chars().collect();
    characters.chunks(width).map(|line| line.iter().collect::<String>() + "\n").collect()
}

type Noise = fn(&str) -> String;

#[test]
fn no_noise_hides_a_message() {
    let noises: [(&str, Noise); 15] = [
        ("quoted", |text| prefixed(text, |_| "> > ".into())),
        ("comment", |text| prefixed(text, |_| "  # ".into())),
        ("rank", |text| prefixed(text, |_| "[rank5]: ".into())),
        ("launcher", |text| prefixed(text, |_| "3: ".into())),
        ("log", |text| {
            prefixed(text, |line| format!("2031-02-03 04:05:{:02},678 ERROR ", line % 60))
        }),
        ("worker", |text| {
            prefixed(text, |_| "(Worker_TP1 pid=812) ERROR 02-03 04:05:06 [executor.py:77] ".into())
        }),
        ("iso", |text| prefixed(text, |_| "2031-02-03T04:05:06.789Z  ERROR ".into())),
        ("colour", |text| {
            format!("\u{1b}[1;31m{}\u{1b}[0m", text.replace(". ", ".\u{1b}[0m \u{1b}[31m"))
        }),
        ("lost escapes", |text| format!("[31m{text}[0m")),
        ("json", |text| {
            serde_json::to_string(&format!("\u{1b}[31m{text}\u{1b}[0m\nmore")).unwrap()
        }),
        ("json twice", |text| {
            serde_json::to_string(&serde_json::to_string(text).unwrap()).unwrap()
        }),
        ("mail", |text| wrapped(text, 7, "> ")),
        ("windows", |text| text.replace('\n', "\r\n") + "\r\n"),
        ("glued", |text| format!("Epoch 3:  42%|####      | 5/12 [00:01<00:02]{text}")),
        ("box", |text| prefixed(text, |_| "│ ".into())),
    ];
    for case in CASES {
        for (name, noise) in noises {
            let text = noise(case.text);
            says(&whole(&text), case, &format!("{name}: {text}"));
        }
    }
}

/// A number that a line's end cuts is told as one where the width shows, and never as another.
#[test]
fn a_terminals_width_changes_nothing() {
    for case in CASES.iter().filter(|case| case.text.len() > 260 && !case.text.contains('\n')) {
        for width in 60..=110 {
            let text = broken(case.text, width);
            says(&whole(&text), case, &text);
        }
    }
}

#[test]
fn utf_16_is_read() {
    let case = &CASES[1];
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(case.text.encode_utf16().flat_map(u16::to_le_bytes));
    says(&whole(&text_from_bytes(&bytes)), case, "utf-16");
}

/// The prose in other languages, decimal commas, full-width signs: numbers and names remain.
#[test]
fn translated_prose_is_read_by_its_order() {
    let new = "torch.OutOfMemoryError：CUDA 内存不足。尝试分配 3.25 GiB。GPU 1 的总容量为 21.50 GiB，其中 512.00 MiB 可用。包括非 PyTorch 内存在内，此进程已使用 20.90 GiB 内存。在已分配的内存中，PyTorch 分配了 18.75 GiB，PyTorch 保留但未分配 1.50 GiB。";
    let facts = whole(new).messages[0].facts.clone();
    assert_eq!(
        stated(&facts),
        [
            ("requested", bytes("3.25 GiB")),
            ("gpu", 1),
            ("capacity", bytes("21.50 GiB")),
            ("free", bytes("512.00 MiB")),
            ("process", bytes("20.90 GiB")),
            ("allocated", bytes("18.75 GiB")),
            ("unallocated", bytes("1.50 GiB")),
        ]
    );
    let old = "CUDA-Speicher reicht nicht. Es wurde versucht, 1,25 GiB zuzuweisen (GPU 0; 7,50 GiB Gesamtkapazität; 5,00 GiB bereits zugewiesen; 310,50 MiB frei; 6,75 GiB insgesamt von PyTorch reserviert)";
    let facts = whole(old).messages[0].facts.clone();
    assert_eq!(facts.free_bytes, Some(bytes("310.50 MiB")));
    assert_eq!(facts.reserved_bytes, Some(bytes("6.75 GiB")));
    // Nothing of the name is left but the names of things.
    let bare = "Не хватило видеопамяти: запрошено 1.75 GiB. GPU 2 имеет 9.50 GiB, свободно 41.25 MiB. Из них PyTorch занял 8.25 GiB, а 96.00 MiB у PyTorch простаивают.";
    let facts = whole(bare).messages[0].facts.clone();
    assert_eq!((facts.requested_bytes, facts.gpu_index), (Some(bytes("1.75 GiB")), Some(2)));
    assert_eq!(facts.allocated_bytes, Some(bytes("8.25 GiB")));
}

#[test]
fn the_first_of_several_messages_is_judged() {
    let log = format!(
        "step 11 loss 0.3\n[rank2]: {}\nTraceback (most recent call last):\n[rank0]: {}\n[rank2]: {}\n",
        CASES[5].text, CASES[6].text, CASES[5].text
    );
    let reading = whole(&log);
    assert_eq!((reading.found, reading.messages.len(), reading.main), (3, 2, Some(0)));
    assert_eq!((reading.messages[0].line, reading.messages[0].times), (2, 2));
    assert_eq!(reading.messages[1].line, 4);
    says(&reading, &CASES[5], &log);
    // A title that only mentions the error is not the error.
    let titled = format!("Help, CUDA out of memory on a new card\n\n{}", CASES[5].text);
    says(&whole(&titled), &CASES[5], &titled);
}

#[test]
fn what_is_not_said_is_not_told() {
    for text in [
        "",
        "\n\n",
        "the model fits into memory, 12.00 GiB free of 24.00 GiB total capacity",
        "ImportError: cannot import name 'x' from 'torch'",
        "IndexError: list index out of range",
    ] {
        let reading = whole(text);
        assert!(reading.messages.is_empty(), "{text}: {:?}", reading.messages);
        assert_eq!(reading.causes[0].cause, Cause::InsufficientData);
    }
    for (text, names) in [
        ("CUDA out of memory. Tried to allocate 16.", [].as_slice()),
        ("CUDA out of memory. Tried to allocate 16.50 G", &[]),
        ("CUDA out of memory. Tried to allocate 16.50 GiB. GPU 1", &["requested"]),
        (
            "GPU 1; 9.25 GiB total capacity; 2.50 GiB already allocated; 12.50 MiB f",
            &["allocated", "capacity", "free", "gpu"],
        ),
        ("6.25 GiB allowed; 6.20 GiB reserved in total by PyTorch", &["allowed", "reserved"]),
        (
            "Tried to allocate 92.00 MiB. GPU 3 has a total capacity of 9.50 GiB of ...",
            &["capacity", "gpu", "requested"],
        ),
    ] {
        let reading = whole(text);
        let mut found: Vec<&str> =
            stated(&reading.messages[0].facts).iter().map(|(name, _)| *name).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{text}");
    }
}

/// The bar's parts sum to the device's memory, but for rounding; or it says that they cannot.
#[track_caller]
fn conserves(bar: &Bar) {
    let sum: u64 = bar.parts.iter().map(|part| part.bytes).sum();
    assert_eq!(sum, bar.total_bytes);
    assert!(bar.parts.iter().all(|part| part.bytes > 0));
    assert!(sum >= bar.capacity_bytes);
    if !bar.is_spilled {
        assert!(
            sum <= bar.capacity_bytes + ROUNDING_BYTES.max(bar.capacity_bytes / 100),
            "{bar:?}"
        );
    }
}

#[test]
fn the_bar_sums_to_the_device() {
    let mut bars = 0;
    for case in CASES {
        if let Some(bar) = whole(case.text).bar {
            conserves(&bar);
            bars += 1;
        }
    }
    assert!(bars > 10);
    let spilled = "CUDA out of memory. Tried to allocate 1.25 GiB (GPU 0; 6.00 GiB total capacity; 9.50 GiB already allocated; 0 bytes free; 10.75 GiB reserved in total by PyTorch)";
    let bar = whole(spilled).bar.unwrap();
    assert!(bar.is_spilled);
    conserves(&bar);
}

#[test]
fn each_part_of_the_bar_is_named() {
    let parts = |text: &str| -> Vec<(&str, u64)> {
        whole(text).bar.unwrap().parts.iter().map(|part| (part.key, part.bytes >> 20)).collect()
    };
    assert_eq!(
        parts(CASES[5].text),
        [
            ("allocated", 29952),
            ("private_pools", 1280),
            ("idle", 7168),
            ("own_other", 921),
            ("other_processes", 58),
            ("free", 812)
        ]
    );
    // In a container this process is named by the host's number.
    assert!(parts(CASES[6].text).iter().any(|(key, bytes)| *key == "own_other" && *bytes == 460));
    // Without a process's sentence the rest cannot be told apart.
    assert!(parts(CASES[2].text).iter().any(|(key, bytes)| *key == "outside" && *bytes == 818));
}

/// Texts made to be slow: each is read in a time that grows with its length alone.
#[test]
fn long_texts_are_read_in_linear_time() {
    let repeated = |piece: &str| piece.repeat((4 << 20) / piece.len());
    let mut log = String::new();
    for step in 0..40_000 {
        writeln!(log, "2031-02-03 04:05:06,789 INFO [train.py:{step}] step {step} loss 0.25 mem 12.50 GiB free").unwrap();
    }
    log += CASES[5].text;
    for text in [
        repeated("1"),
        repeated("1 "),
        repeated("9.75 GiB "),
        repeated("\\u"),
        repeated("\u{1b}[31m"),
        repeated("[31"),
        repeated("> "),
        repeated("(rank "),
        repeated("GPU 0 "),
        repeated("Tried to allocate "),
        repeated("out of memory. CUDA "),
        repeated("Process 7 has 1.25 GiB memory in use. "),
        repeated(CASES[4].text),
        repeated("failed to allocate 2.50G "),
        repeated("of size"),
        repeated("Free memory on device ("),
        log,
    ] {
        let begin = Instant::now();
        whole(&text);
        // Some hundred times what it takes with optimisation on an idle machine.
        assert!(begin.elapsed() < Duration::from_secs(30), "{}", &text[..40]);
    }
}

#[test]
fn the_snippet_fits_the_program_and_the_version() {
    let with = |text: &str| whole(text).snippet;
    let sentence = CASES[4].text;
    assert!(with(sentence).unwrap().code.contains("max_entries"));
    let lightning =
        format!("  File \"/x/pytorch_lightning/trainer.py\", line 3, in fit\n{sentence}");
    assert!(with(&lightning).unwrap().place.contains("Trainer("));
    let ranked = format!("[rank1]: x\n{sentence}");
    assert!(with(&ranked).unwrap().code.contains("RANK"));
    let served = format!("(EngineCore_0 pid=7) vllm\n{sentence}");
    assert!(with(&served).unwrap().code.contains("stacks=\"python\""));
    let old = format!("torch==2.0.1\n{sentence}");
    assert!(with(&old).unwrap().code.contains("trace_alloc_max_entries"));
    // Before PyTorch 2.0 there was no history; the machine's memory and other programs have none.
    assert!(!with(CASES[1].text).unwrap().code.contains("_record_memory_history"));
    for case in CASES {
        // Only what writes a snapshot leads to one.
        let Some(snippet) = with(case.text) else { continue };
        assert_eq!(snippet.records, snippet.code.contains("_dump_snapshot"), "{}", case.text);
        if case.backend == Backend::Mps {
            let said = MessageText(&MessageReport::of(&read(case.text))).to_string();
            assert!(!snippet.records && !said.contains("a memory snapshot tells"), "{said}");
        }
    }
    for case in
        CASES.iter().filter(|case| matches!(case.cause, Cause::HostMemory | Cause::NotPytorch))
    {
        assert!(with(case.text).is_none(), "{}", case.text);
    }
}

#[test]
fn misjudgements_carry_the_numbers() {
    let reading = whole(CASES[4].text);
    let truth = |belief: &str| {
        reading
            .misjudgements
            .iter()
            .find(|other| other.belief.contains(belief))
            .map(|other| other.truth.clone())
    };
    assert!(truth("empty_cache").unwrap().contains("PyTorch had done the same"));
    assert!(truth("batch").is_some());
    let full = whole(
        "CUDA out of memory. Tried to allocate 612.00 MiB (GPU 0; 19.25 GiB total capacity; 18.00 GiB already allocated; 205.50 MiB free; 18.25 GiB reserved in total by PyTorch)",
    );
    assert!(
        full.misjudgements[0].truth.contains("at most 256.00 MiB; 612.00 MiB"),
        "{:?}",
        full.misjudgements
    );
}

/// Where two numbers are printed alike, no sum of them is negative or absurd.
#[test]
fn rounding_never_turns_into_memory() {
    let text = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 10.00 GiB memory in use. Of the allocated memory 10.01 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.";
    let reading = whole(text);
    conserves(&reading.bar.unwrap());
    assert!(reading.explanations.iter().all(|line| line.bytes <= 11 << 30));
    // A process of no bytes is one that the driver could not see.
    let zero = "CUDA out of memory. Tried to allocate 92.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which 50.00 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 9.50 GiB is allocated by PyTorch, and 25.00 MiB is reserved by PyTorch but unallocated.";
    let reading = whole(zero);
    assert_eq!(reading.messages[0].facts.process_bytes, Some(0));
    assert_eq!(reading.causes[0].cause, Cause::InsufficientData);
}
