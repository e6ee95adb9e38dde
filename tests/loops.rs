//! The steps of small programs whose loops are plain, by the allocations with which they begin.

use crate::script::script;
use oomscope::findings::keeping::Keeping;
use oomscope::findings::{Device, Findings};

fn device(lines: &str) -> Device {
    Findings::of(&script(lines)).devices.remove(0)
}

/// The number, in the order of the allocations, of the one with which each step begins.
fn steps(lines: &str) -> Vec<usize> {
    let device = device(lines);
    let first = |entry: u32| {
        let all = device.timeline.allocations.iter();
        all.filter(|one| one.first_entry() < entry).count()
    };
    let found: Vec<usize> = device.steps.iter().map(|step| first(step.begin)).collect();
    for pair in device.steps.windows(2) {
        assert_eq!(pair[0].end, pair[1].begin);
    }
    for step in &device.steps {
        let held = &device.timeline.usage.allocated[step.begin as usize..step.end as usize];
        assert_eq!(Some(step.peak), held.iter().max().copied());
        assert_eq!(Some(step.baseline), held.iter().min().copied());
    }
    found
}

/// `count` turns of a loop whose body allocates at these places, two MiB each.
fn turns(count: usize, places: &[&str]) -> String {
    let mut lines = "load alloc w 4\n".to_owned();
    for turn in 0..count {
        for (number, place) in places.iter().enumerate() {
            lines.push_str(&format!("{place} alloc t{turn}.{number} 2\n"));
        }
        for (number, place) in places.iter().enumerate() {
            lines.push_str(&format!("{place} free t{turn}.{number}\n"));
        }
    }
    lines
}

#[test]
fn a_line_above_the_last_begins_the_loop_anew() {
    // The weight is the first allocation, and each turn makes two.
    assert_eq!(steps(&turns(5, &["data", "forward:20"])), [1, 3, 5, 7, 9]);
    assert_eq!(steps(&turns(4, &["data", "forward:20"])), [1, 3, 5, 7]);
    assert!(steps(&turns(3, &["data", "forward:20"])).is_empty(), "two turns are no loop");
    assert!(steps(&turns(5, &["data", "own:41"])).is_empty(), "nothing computes");
}

#[test]
fn one_line_that_calls_two_functions_in_turn_is_a_loop() {
    assert_eq!(steps(&turns(5, &["left", "right"])), [1, 3, 5, 7, 9]);
    // Lines of equal number: their functions differ, but none is called again.
    assert!(steps(&turns(1, &["left", "right"])).is_empty());
}

#[test]
fn a_model_that_begins_anew_is_a_loop() {
    assert_eq!(steps(&turns(5, &["forward:10", "forward:20"])), [1, 3, 5, 7, 9]);
}

#[test]
fn a_line_that_calls_the_model_and_allocates_itself_is_a_loop() {
    assert_eq!(steps(&turns(5, &["own:40", "forward:20"])), [1, 3, 5, 7, 9]);
}

#[test]
fn a_loop_spans_two_fifths_of_what_is_looked_at() {
    // Three turns from entry to entry, then other work of so many allocations.
    let with = |other: usize| {
        let mut lines = turns(4, &["data", "forward:20"]);
        for number in 0..other {
            lines.push_str(&format!("own:{} alloc o{number} 2\n", 50 + number));
        }
        steps(&lines).len()
    };
    assert_eq!(with(1), 4);
    assert_eq!(with(60), 0);
}

#[test]
fn other_threads_have_loops_of_their_own() {
    let mut lines = String::new();
    for line in turns(5, &["data", "forward:20", "own:41"]).lines() {
        lines.push_str(&format!("{line}\n"));
        if line.starts_with("data alloc") {
            let name = line.split(' ').nth(2).unwrap();
            lines.push_str(&format!("thread:9 alloc x{name} 2\nthread:9 free x{name}\n"));
        }
    }
    assert_eq!(steps(&lines), [1, 5, 9, 13, 17]);
}

/// `count` steps of training, each with so many forward passes before its backward one.
fn training(count: usize, passes: usize, optimizer: bool) -> String {
    let mut lines = "load alloc w 100\n".to_owned();
    for n in 0..count {
        for pass in 0..passes {
            lines.push_str(&format!(
                "forward:20 alloc a{n}.{pass} 40\nforward:22 alloc b{n}.{pass} 20\n"
            ));
        }
        lines.push_str(&format!("backward alloc s{n} 10\n"));
        for pass in (0..passes).rev() {
            lines.push_str(&format!("saved free b{n}.{pass}\nsaved free a{n}.{pass}\n"));
        }
        lines.push_str(&format!("backward free s{n}\n"));
        if optimizer {
            lines.push_str(&format!("step alloc t{n} 10\nstep free t{n}\n"));
        }
    }
    lines
}

#[test]
fn a_step_of_training_ends_with_its_optimizer() {
    assert_eq!(steps(&training(4, 1, true)), [1, 5, 9, 13]);
    assert_eq!(steps(&training(4, 1, false)), [1, 4, 7, 10]);
    // Passes whose gradients are only added up belong to the step that uses them.
    let mut lines = String::new();
    for (number, line) in training(4, 1, true).lines().enumerate() {
        let is_early = line.contains(" t0") || line.contains(" t2");
        if number == 0 || !is_early {
            lines.push_str(&format!("{line}\n"));
        }
    }
    assert_eq!(steps(&lines), [1, 8]);
    assert!(device(&lines).steps.iter().all(|step| step.trains));
}

#[test]
fn a_model_that_begins_more_often_than_before_has_been_tried_again() {
    let kept = |passes: usize, tried: usize| {
        let mut lines = training(5, passes, true);
        for number in 0..tried {
            lines.push_str(&format!(
                "forward:20 alloc x{number} 40\nforward:22 alloc y{number} 20\n"
            ));
        }
        let found = Findings::of(&script(&format!("{lines}forward:23 oom 50"))).diagnosis;
        found.kept.filter(|kept| kept.keeping == Keeping::Exception).map(|kept| kept.bytes >> 20)
    };
    assert_eq!(kept(1, 1), None, "1 1");
    assert_eq!(kept(1, 2), Some(60), "1 2");
    assert_eq!(kept(1, 3), Some(120), "1 3");
    // With two passes a step, the third begins the second try.
    assert_eq!(kept(2, 2), None, "2 2");
    assert_eq!(kept(2, 3), Some(120), "2 3");
}

#[test]
fn where_nothing_was_trained_a_failure_between_two_passes_tells_of_a_second_try() {
    let kept = |first: &str| {
        let lines = format!(
            "load alloc w 100\ngenerate:20 alloc a 60\ngenerate:22 alloc b 20\n{first}generate:20 alloc c 60\ngenerate:23 oom 90"
        );
        let found = Findings::of(&script(&lines)).diagnosis;
        found.kept.filter(|kept| kept.keeping == Keeping::Exception).map(|kept| kept.bytes >> 20)
    };
    assert_eq!(kept("generate:23 oom 90\n"), Some(80));
    assert_eq!(kept(""), None);
}
