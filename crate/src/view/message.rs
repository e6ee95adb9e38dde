//! What an error text says, as `oomscope message --json` prints it and the page shows it.
//!
//! All sizes are bytes; what the text does not say is null.

use crate::message::advice::{Advice, Misjudgement};
use crate::message::bar::Bar;
use crate::message::cause::{Cause, Claim};
use crate::message::context::{Doing, Program};
use crate::message::facts::{Facts, Process};
use crate::message::snippet::Snippet;
use crate::message::wording::{Backend, Family};
use crate::message::{ExplainedNumber, Message, Reading};
use serde::Serialize;

/// A whole reading.
#[derive(Clone, Debug, Serialize)]
pub struct MessageReport {
    /// Version of this form.
    pub oomscope: u32,
    /// The program that made it.
    pub version: &'static str,
    /// Whether a message was found.
    pub recognised: bool,
    /// Who ran out of memory.
    pub backend: Option<Backend>,
    /// The same for people.
    pub backend_label: &'static str,
    /// The wording's name.
    pub wording: Option<&'static str>,
    /// The verdict in a sentence.
    pub headline: String,
    /// The numbers of the message judged.
    pub facts: Facts,
    /// The processes that it names by number.
    pub processes: Vec<Process>,
    /// The causes, likeliest first; never empty.
    pub causes: Vec<CauseReport>,
    /// What to do.
    pub advice: Vec<Advice>,
    /// What would not help or is not so.
    pub misjudgements: Vec<Misjudgement>,
    /// Each number in a line.
    pub explanations: Vec<ExplainedNumber>,
    /// The device's memory as a bar.
    pub bar: Option<Bar>,
    /// The lines that record more.
    pub snippet: Option<Snippet>,
    /// The version of PyTorch that the text names.
    pub torch_version: Option<String>,
    /// The versions that print such a sentence.
    pub wording_versions: Option<&'static str>,
    /// All messages found, equal ones once, in the order of the text.
    pub messages: Vec<FoundMessage>,
    /// How many there are in all.
    pub messages_found: usize,
    /// Programs seen in the text.
    pub programs: Vec<Program>,
    /// What was going on near the message.
    pub doing: Vec<Doing>,
}

/// A cause with its name for people.
#[derive(Clone, Debug, Serialize)]
pub struct CauseReport {
    /// The cause.
    pub cause: Cause,
    /// The same for people.
    pub label: &'static str,
    /// From 0 to 1.
    pub confidence: f64,
    /// The reason.
    pub because: String,
}

/// One of the messages.
#[derive(Clone, Debug, Serialize)]
pub struct FoundMessage {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// How often it stands in the text.
    pub times: usize,
    /// The wording's name.
    pub wording: &'static str,
    /// Who ran out of memory.
    pub backend: Backend,
    /// Its numbers.
    pub facts: Facts,
    /// The text from its line on, shortened.
    pub excerpt: String,
    /// Whether this is the one judged; those after it are its consequences.
    pub is_judged: bool,
}

impl MessageReport {
    /// The report on a reading.
    #[must_use]
    pub fn of(reading: &Reading) -> MessageReport {
        let main = reading.main.and_then(|main| reading.messages.get(main));
        MessageReport {
            oomscope: 1,
            version: crate::VERSION,
            recognised: main.is_some(),
            backend: main.map(|message| message.backend),
            backend_label: main.map_or("unknown", |message| message.backend.label()),
            wording: main.map(|message| message.wording),
            headline: headline(main, reading.causes.first()),
            facts: main.map(|message| message.facts.clone()).unwrap_or_default(),
            processes: main.map(|message| message.facts.process_list.clone()).unwrap_or_default(),
            causes: reading.causes.iter().map(cause).collect(),
            advice: reading.advice.clone(),
            misjudgements: reading.misjudgements.clone(),
            explanations: reading.explanations.clone(),
            bar: reading.bar.clone(),
            snippet: reading.snippet.clone(),
            torch_version: reading.context.torch_version.clone(),
            wording_versions: main.and_then(|message| message.versions),
            messages: (0..)
                .zip(&reading.messages)
                .map(|(place, message)| found(message, reading.main == Some(place)))
                .collect(),
            messages_found: reading.found,
            programs: reading.context.programs.clone(),
            doing: reading.context.doing.clone(),
        }
    }
}

fn cause(claim: &Claim) -> CauseReport {
    CauseReport {
        cause: claim.cause,
        label: claim.cause.label(),
        confidence: claim.confidence,
        because: claim.because.clone(),
    }
}

fn found(message: &Message, is_judged: bool) -> FoundMessage {
    FoundMessage {
        line: message.line,
        times: message.times,
        wording: message.wording,
        backend: message.backend,
        facts: message.facts.clone(),
        excerpt: message.excerpt.clone(),
        is_judged,
    }
}

/// The verdict, no surer than its confidence.
fn headline(message: Option<&Message>, claim: Option<&Claim>) -> String {
    let (Some(message), Some(claim)) = (message, claim) else {
        return "No out-of-memory message was found in this text.".to_owned();
    };
    if message.family == Family::Foreign {
        return format!(
            "This is not PyTorch's message: it comes from {}.",
            message.backend.label()
        );
    }
    let label = claim.cause.label();
    match claim.cause {
        Cause::InsufficientData => "The text alone cannot tell what filled the memory.".to_owned(),
        _ if claim.confidence >= 0.8 => format!("The cause is {label}."),
        _ if claim.confidence >= 0.6 => format!("The cause is most likely {label}."),
        _ => format!("The cause may be {label}; the text leaves others open."),
    }
}
