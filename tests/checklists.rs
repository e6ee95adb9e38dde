//! The list from an error to its remedy and the misjudgements on the way, of small programs.

use crate::script::script;
use oomscope::findings::Findings;
use oomscope::findings::checklist::{Item, Standing, misjudgements, steps};
use oomscope::findings::diagnosis::Cause;

fn lists(lines: &str) -> (Vec<Item>, Vec<Item>) {
    let snapshot = script(lines);
    let found = Findings::of(&snapshot);
    let device = found.device(0);
    (
        steps(&found.diagnosis, device, found.stacks),
        misjudgements(&snapshot, &found.diagnosis, device),
    )
}

fn standings(items: &[Item]) -> Vec<Standing> {
    items.iter().map(|item| item.standing).collect()
}

use Standing::{Done, Open, Warned};

const FULL: &str =
    "load alloc w 80\nload alloc b 40\nload free b\nload alloc s 30\nforward:23 oom 20";

#[test]
fn a_failure_with_stacks_leaves_the_remedy_to_do() {
    let (steps, warned) = lists(FULL);
    assert_eq!(standings(&steps), [Done, Done, Done, Open, Open]);
    assert_eq!(
        steps[0].note,
        "110.00 MiB allocated and 120.00 MiB reserved when 20.00 MiB were asked for."
    );
    // Of 130 MiB half of the weights go; 40 + 40 were allocated while loading.
    assert!(steps[3].note.contains("which takes 50.00 MiB off the peak"), "{}", steps[3].note);
    assert!(steps[4].note.starts_with("The request alone brings it to 130.00 MiB"));
    assert_eq!(standings(&warned), [Warned, Warned, Done, Done]);
    assert!(warned[0].note.ends_with("You need 20.00 MiB more."));
    assert_eq!(
        warned[1].note,
        "They can win back at most the 10.00 MiB that lay idle; 20.00 MiB were asked for."
    );
    assert_eq!(warned[2].note, "Reserved less active is 10.00 MiB here, 8 % of what is reserved.");
    assert_eq!(warned[3].note, "No steps were recognised, so nothing says whether memory grows.");
}

#[test]
fn fragmentation_is_warned_of_in_its_own_words() {
    let mut lines = String::new();
    for n in 0..10 {
        lines.push_str(&format!("load alloc b{n} 40\nload free b{n}\nload alloc s{n} 21\n"));
    }
    let (_, warned) = lists(&format!("{lines}forward:23 oom 50 10"));
    assert_eq!(standings(&warned), [Warned, Done, Warned, Done]);
    assert_eq!(
        warned[1].note,
        "They can win back at most what lies idle: 190.00 MiB at this moment."
    );
}

#[test]
fn without_a_failure_there_is_less_to_tell() {
    let mut lines = "load alloc w 80\nload alloc gone 30\nload free gone\n".to_owned();
    for n in 0..4 {
        lines.push_str(&format!("data alloc i{n} 2\nforward:20 alloc a{n} 6\nforward:22 alloc b{n} 4\nown:50 free i{n}\nown:50 free b{n}\nown:50 free a{n}\n"));
    }
    let (steps, warned) = lists(&lines);
    assert_eq!(standings(&steps), [Open, Done, Done, Open, Open]);
    assert_eq!(standings(&warned), [Done, Done, Done, Done]);
    assert!(warned[0].note.contains("it would return 30.00 MiB, "), "{}", warned[0].note);
    assert_eq!(warned[3].note, "Over 4 steps nothing is kept that grows.");
    assert!(steps[4].note.starts_with("The peak above"));
    let dark = lists("none alloc a 2").0;
    assert_eq!(standings(&dark), [Open, Open, Open, Open, Open]);
    assert_eq!(dark[3].note, "Nothing to mend was found.");
}

#[test]
fn every_cause_has_a_name_of_its_own() {
    let all = [
        Cause::Weights,
        Cause::Activations,
        Cause::Fragmentation,
        Cause::Leak,
        Cause::KvCache,
        Cause::None,
        Cause::InsufficientData,
    ];
    let mut labels: Vec<&str> = all.iter().map(|cause| cause.label()).collect();
    assert!(labels.iter().all(|label| label.len() > 3));
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), all.len());
    assert_eq!(Cause::KvCache.label(), "KV cache");
}
