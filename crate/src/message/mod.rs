//! Reads error texts about exhausted memory, as people paste them, and says what they say.
//!
//! In goes any text: one sentence, a traceback, a log of a thousand ranks. Out comes a [`Reading`]:
//! the messages found, the numbers they state, what the numbers mean, the causes that they leave
//! possible and what to do next. Nothing here opens a file, and no number is made up: what a text
//! does not say is `None`.

pub mod advice;
pub mod bar;
pub mod cause;
mod clean;
pub mod context;
mod explain;
pub mod facts;
mod fills;
mod find;
pub mod judge;
mod labels;
mod marks;
mod needles;
mod prefix;
mod server;
mod shape;
mod size;
pub mod snippet;
pub mod version;
mod weigh;
pub mod wording;

use advice::{Advice, Misjudgement};
use bar::Bar;
use cause::Claim;
use clean::Clean;
use context::Context;
use explain::Explanation;
use facts::Facts;
use find::Span;
use labels::Kind;
use snippet::Snippet;
use wording::{Backend, Family};

pub use explain::Explanation as ExplainedNumber;

/// Longest excerpt of a message, in characters.
const EXCERPT: usize = 600;

/// One message of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The wording's name for programs.
    pub wording: &'static str,
    /// What can be concluded from such a wording.
    pub family: Family,
    /// Who ran out of memory.
    pub backend: Backend,
    /// Its numbers.
    pub facts: Facts,
    /// The line of the text that it begins on, from 1.
    pub line: usize,
    /// The text from that line on, shortened.
    pub excerpt: String,
    /// How often the text repeats it, itself included.
    pub times: usize,
    /// Versions of PyTorch that print such a sentence.
    pub versions: Option<&'static str>,
    /// Whether another program's message is about the machine's memory.
    pub speaks_of_host: bool,
}

/// All that can be said about a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The messages, in the order of the text; equal ones are counted in the first.
    pub messages: Vec<Message>,
    /// Messages in the text, repeated ones and those past the kept ones included.
    pub found: usize,
    /// The place in `messages` of the one judged: the first; later ones are its consequences.
    pub main: Option<usize>,
    /// The causes that it leaves possible, likeliest first; never empty.
    pub causes: Vec<Claim>,
    /// Each number in a line.
    pub explanations: Vec<Explanation>,
    /// The device's memory as a bar, where the text tells enough.
    pub bar: Option<Bar>,
    /// What to do.
    pub advice: Vec<Advice>,
    /// What people believe in such a case, and why it is wrong here.
    pub misjudgements: Vec<Misjudgement>,
    /// How to record what the text cannot tell; `None` where a snapshot would tell nothing.
    pub snippet: Option<Snippet>,
    /// What the rest of the text tells.
    pub context: Context,
}

/// Reads a text. Linear in its length.
///
/// ```
/// let text = "CUDA out of memory. Tried to allocate 30.00 GiB (GPU 1; 7.50 GiB total capacity; \
///             1.00 GiB already allocated; 6.00 GiB free; 1.20 GiB reserved in total by PyTorch)";
/// let reading = oomscope::message::read(text);
/// assert_eq!(reading.messages[0].facts.gpu_index, Some(1));
/// assert_eq!(reading.causes[0].cause, oomscope::message::cause::Cause::TooBigSingleRequest);
/// ```
#[must_use]
pub fn read(text: &str) -> Reading {
    let clean = Clean::of(text);
    let (spans, found) = find::spans(&clean);
    let mut messages: Vec<Message> = Vec::new();
    for span in &spans {
        let message = message(text, &clean, span);
        let is_same =
            |other: &&mut Message| other.facts == message.facts && other.wording == message.wording;
        match messages.iter_mut().find(is_same) {
            Some(other) => other.times += 1,
            None => messages.push(message),
        }
    }
    let main = main_message(&messages);
    let at = main
        .and_then(|main| messages.get(main))
        .and_then(|main| spans.iter().find(|span| clean.line_number(span.anchor) == main.line))
        .map_or(0, |span| clean.source_offset(span.anchor));
    let context = Context::of(text, at);
    let message = main.and_then(|main| messages.get(main));
    let causes = judge::judge(message, &context);
    let facts = message.map(|message| &message.facts);
    let bar = facts.and_then(Bar::of);
    Reading {
        explanations: message.map(|message| explain::explain(message, text)).unwrap_or_default(),
        advice: message
            .map(|message| advice::advise(message, &causes, &context))
            .unwrap_or_else(advice::without_message),
        misjudgements: message
            .map(|message| advice::misjudgements(message, &causes))
            .unwrap_or_default(),
        snippet: message.and_then(|message| snippet::snippet(message, &causes, &context)),
        bar,
        causes,
        main,
        messages,
        found,
        context,
    }
}

/// A text from a file's bytes: UTF-8, or UTF-16 as PowerShell writes logs; what is neither becomes
/// replacement characters.
#[must_use]
pub fn text_from_bytes(bytes: &[u8]) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The first message. One that begins like PyTorch's but has no numbers is a title or a mention, if
/// a later one has them.
fn main_message(messages: &[Message]) -> Option<usize> {
    let first = messages.first()?;
    let is_mention =
        matches!(first.family, Family::Allocator | Family::Fragment) && !first.facts.any();
    let numbered =
        || messages.iter().position(|other| other.family == Family::Allocator && other.facts.any());
    Some(if is_mention { numbered().unwrap_or(0) } else { 0 })
}

fn message(source: &str, clean: &Clean, span: &Span) -> Message {
    let text = &clean.text;
    let wording = span.wording;
    let place = [span.start, span.anchor, span.end];
    let facts = match wording.family {
        Family::Allocator | Family::Fragment => labels::read(text, place, Kind::Sentence),
        Family::FractionRejected | Family::BlockLimit | Family::Host | Family::Collective => {
            labels::read(text, place, Kind::Labelled)
        }
        Family::Foreign => labels::read(text, place, Kind::Foreign),
        Family::CardInUse => server::start(text, place),
        _ => Facts::default(),
    };
    let sentence = text.get(span.start..span.end.min(text.len())).unwrap_or_default();
    let has_numbers = facts.any();
    let near = text
        .get(
            labels::boundary(text, span.anchor.saturating_sub(60))
                ..labels::boundary(text, span.anchor + 120),
        )
        .unwrap_or_default();
    Message {
        wording: wording.name,
        // A fragment with numbers is as good as a whole sentence.
        family: if wording.family == Family::Fragment && has_numbers {
            Family::Allocator
        } else {
            wording.family
        },
        backend: backend(span, sentence, has_numbers),
        versions: version::of_sentence(sentence, wording.family),
        facts,
        line: clean.line_number(span.anchor),
        excerpt: excerpt(source, clean.source_offset(span.anchor)),
        times: 1,
        speaks_of_host: wording.family == Family::Foreign
            && ["onhost", "hostmemory", "systemmemory"].iter().any(|word| near.contains(word)),
    }
}

/// Whose memory it is: a cut sentence may still have its device's name elsewhere.
fn backend(span: &Span, sentence: &str, has_numbers: bool) -> Backend {
    let is_open = matches!(span.backend, Backend::Cuda | Backend::Other)
        && matches!(span.wording.family, Family::Allocator | Family::Fragment | Family::Absurd)
        && !sentence.contains("cudaoutofmemory");
    let names = [
        ("hipgraphs", Backend::Hip),
        ("pytorch_hip_alloc_conf", Backend::Hip),
        ("hipoutofmemory", Backend::Hip),
        ("(npu", Backend::Npu),
        ("emptycachetoreleaseall", Backend::Xpu),
        ("xpuoutofmemory", Backend::Xpu),
    ];
    let named = names.iter().find(|(name, _)| is_open && sentence.contains(name));
    match named {
        Some((_, backend)) => *backend,
        // The order of the numbers is PyTorch's.
        None if is_open && has_numbers => Backend::Cuda,
        None => span.backend,
    }
}

fn excerpt(source: &str, at: usize) -> String {
    let rest = source.get(at..).unwrap_or_default();
    let text: String = rest
        .chars()
        .filter(|character| !character.is_control() || *character == '\n')
        .take(EXCERPT)
        .collect();
    text.trim().to_owned()
}
