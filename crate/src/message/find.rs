//! Where the messages of a text begin and end.

use super::clean::Clean;
use super::labels::{self, boundary};
use super::wording::{Backend, Family, Phrase, Role, Wording, Wordings};

/// Messages kept of one text. A log of a thousand workers repeats one.
const MESSAGES: usize = 64;

/// Farthest that a message reaches past its last known phrase, in bytes: the list of processes.
const REACH_BYTES: usize = 6_000;

/// How far before a fragment's first known phrase its other numbers may stand, in bytes.
const BEFORE_BYTES: usize = 240;

/// Longest text that is searched for a message in another language, in bytes.
const TRANSLATED_BYTES: usize = 1 << 20;

/// A message's place in the clean text.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    /// Where the phrase stands by which it is known.
    pub(crate) anchor: usize,
    pub(crate) end: usize,
    pub(crate) wording: &'static Wording,
    pub(crate) backend: Backend,
    /// The byte after its last known phrase.
    last: usize,
    /// The numbers of its phrases: a second one of a kind begins a new message.
    parts: Vec<usize>,
}

/// The places of the messages, in order, and how many there are in all.
pub(crate) fn spans(clean: &Clean) -> (Vec<Span>, usize) {
    let text = &clean.text;
    let mut spans: Vec<Span> = Vec::new();
    let mut weak: Option<Span> = None;
    let mut count = 0;
    Wordings::new().each(text, |phrase| {
        let Phrase { start, end, number, wording } = phrase;
        let opened = || Span {
            start,
            anchor: start,
            end,
            wording,
            backend: wording.backend,
            last: end,
            parts: vec![number],
        };
        if wording.role == Role::Weak {
            // Any name says more than that memory ran out somewhere.
            if weak.as_ref().is_none_or(|weak| weak.wording.name == "unknown") {
                weak = Some(opened());
            }
            return;
        }
        let is_full = count > spans.len();
        match spans.last_mut() {
            Some(span) if !is_full && belongs(span, phrase) => {
                span.last = span.last.max(end);
                span.parts.push(number);
                if wording.family == Family::Absurd {
                    span.wording = wording;
                }
            }
            _ => {
                count += 1;
                if spans.len() < MESSAGES {
                    spans.push(opened());
                }
            }
        }
    });
    if spans.is_empty() {
        spans.extend(weak.or_else(|| translated(clean)));
        count = spans.len();
    }
    limit(&mut spans, text);
    (spans, count)
}

fn belongs(span: &Span, phrase: Phrase) -> bool {
    let Phrase { start, number, wording, .. } = phrase;
    if start < span.last {
        return true;
    }
    let is_new = !span.parts.contains(&number);
    match wording.role {
        Role::Belongs => {
            let takes = matches!(
                span.wording.family,
                Family::Allocator
                    | Family::Absurd
                    | Family::FractionRejected
                    | Family::BlockLimit
                    | Family::Host
                    | Family::Fragment
            );
            takes && is_new && start < span.last + REACH_BYTES
        }
        // One program's several words for one event.
        _ => is_new && wording.name == span.wording.name && start < span.last + 60,
    }
}

/// Widens each span to the next, within reach, and back over what a cut left before it.
fn limit(spans: &mut [Span], text: &str) {
    let mut previous_end = 0;
    let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
    for (place, span) in spans.iter_mut().enumerate() {
        let opens = span.wording.role == Role::Opens && !reads_backwards(span.wording.family);
        if !opens {
            span.start = boundary(text, span.start.saturating_sub(BEFORE_BYTES).max(previous_end));
        }
        previous_end = span.last;
        let next = starts.get(place + 1).copied().unwrap_or(text.len());
        span.end = boundary(text, next.min(span.last + REACH_BYTES));
    }
}

/// Whether the numbers may stand before the telling phrase.
fn reads_backwards(family: Family) -> bool {
    matches!(family, Family::Foreign | Family::CardInUse | Family::Cache)
}

/// A message whose words a browser has translated: its numbers, names and signs remain.
fn translated(clean: &Clean) -> Option<Span> {
    static TRANSLATED: Wording = Wording {
        name: "translated",
        backend: Backend::Cuda,
        family: Family::Allocator,
        role: Role::Weak,
        phrases: &[],
    };
    let text = clean.text.get(..boundary(&clean.text, TRANSLATED_BYTES))?;
    let (at, _) = text
        .match_indices("gpu")
        .take(1_000)
        .find(|(at, _)| labels::looks_like_one(text, *at, boundary(text, at + 700)))?;
    Some(Span {
        start: at,
        anchor: at,
        end: at,
        wording: &TRANSLATED,
        backend: Backend::Cuda,
        last: boundary(text, at + 700),
        parts: Vec::new(),
    })
}
