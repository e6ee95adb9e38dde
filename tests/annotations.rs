//! Recordings without stacks: what the optimizer's annotations tell, and what is guessed without.

use crate::script::script;
use crate::verdicts::told;
use oomscope::findings::category::Category::{self, *};
use oomscope::findings::marks::Phase;
use oomscope::findings::phases::Told;
use oomscope::findings::{Device, Findings};

const STEP: &str = "Optimizer.step#SGD.step";
const ZERO: &str = "Optimizer.zero_grad#SGD.zero_grad";

/// `steps` of training over a weight of 100 MiB without a stack.
fn training(steps: usize) -> String {
    let mut lines = "none alloc w 100\n".to_owned();
    for n in 0..steps {
        lines.push_str(&format!(
            "none alloc in{n} 10\nnone alloc a{n} 40\nnone alloc b{n} 20\nnone alloc s{n} 12\nnone free b{n}\n\
             none alloc g{n} 100\nnone free a{n}\nnone free s{n}\nnone free in{n}\n\
             note start {STEP}\nnone alloc t{n} 14\nnone free t{n}\nnote end {STEP}\n\
             note start {ZERO}\nnone free g{n}\nnote end {ZERO}\n"
        ));
    }
    lines
}

fn device(lines: &str) -> Device {
    Findings::of(&script(lines)).devices.remove(0)
}

/// The phase of each allocation's first entry, and its category, by its MiB.
fn of_size(device: &Device, mib: u64) -> Vec<(Phase, Category)> {
    let all = device.timeline.allocations.iter().zip(&device.classes);
    all.filter(|(one, _)| one.requested == mib << 20)
        .map(|(one, class)| (device.phases.get(one.first_entry()), class.category))
        .collect()
}

#[test]
fn annotations_of_the_optimizer_divide_the_steps() {
    let device = device(&training(4));
    assert_eq!(device.phases.told, Told::ByAnnotations);
    assert_eq!(device.steps.len(), 4);
    assert!(device.steps.iter().all(|step| step.trains));
    assert_eq!(of_size(&device, 14), [(Phase::Optimizer, Temporaries); 4]);
    assert_eq!(of_size(&device, 40), [(Phase::Forward, Activations); 4]);
    // Behind the fullest moment of what dies before the optimizer's step, backward has begun.
    assert_eq!(of_size(&device, 12), [(Phase::Forward, Activations); 4]);
    let frees = device.timeline.allocations.iter().filter(|one| one.requested == 20 << 20);
    for one in frees {
        assert_eq!(device.phases.get(one.free_requested().unwrap()), Phase::Backward);
    }
    let gradients = of_size(&device, 100);
    assert_eq!(gradients[0], (Phase::Loading, Weights));
    assert_eq!(gradients[1..], [(Phase::Backward, Gradients); 4]);
    for one in device.timeline.allocations.iter().filter(|one| one.requested == 100 << 20).skip(1) {
        assert_eq!(device.phases.get(one.free_requested().unwrap()), Phase::ZeroGrad);
    }
}

#[test]
fn a_step_around_everything_says_nothing_of_itself() {
    // A closure drops the gradients and computes inside of the optimizer's step.
    let lines = format!(
        "none alloc w 100\nnote start {STEP}\nnote start {ZERO}\nnone alloc z 2\nnone free z\nnote end {ZERO}\n\
         none alloc a 40\nnone free a\nnote end {STEP}"
    );
    let phases: Vec<Phase> = device(&lines).phases.by_entry;
    assert!(!phases.contains(&Phase::Optimizer) && phases.contains(&Phase::ZeroGrad));
}

#[test]
fn without_stacks_nothing_is_sure() {
    let verdict = |lines: &str| {
        let found = Findings::of(&script(lines)).diagnosis;
        told(&found.ranking)[0].1
    };
    let failing = |lines: &str| verdict(&format!("{lines}\nnone oom 2000"));
    assert_eq!(failing(&training(4)), 58);
    let plain: Vec<String> =
        training(4).lines().filter(|line| !line.starts_with("note")).map(str::to_owned).collect();
    let plain = plain.join("\n");
    assert!(failing(&plain) <= 50, "{}", failing(&plain));
    assert_eq!(device(&plain).phases.told, Told::Guessed);
}

#[test]
fn python_stacks_alone_leave_the_backward_pass_without_frames() {
    let lines = "load alloc w 100\ndata alloc in 10\nforward:20 alloc a 40\nempty alloc s 10\nempty alloc g 100\n\
         own free a\nempty free s\nstep alloc t 10\nstep free t\nzero free g\nown free in\nforward:20 alloc b 40";
    let device = device(lines);
    assert_eq!(device.phases.told, Told::ByPythonStacks);
    assert_eq!(of_size(&device, 100)[1], (Phase::Backward, Gradients));
    assert_eq!(device.steps.len(), 2);
}
