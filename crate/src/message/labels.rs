//! Which quantity a size in a sentence is, told by the words beside it; and, where a translator has
//! changed the words, by its place in the sentence.

use super::clean::BREAK;
use super::facts::{Facts, Field, Process};
use super::size::{self, Size};

/// Words beside a quantity.
struct Label {
    field: Field,
    /// The text before the number ends with one of these.
    before: &'static [&'static str],
    /// The text after the unit begins with one of these.
    after: &'static [&'static str],
}

const LABELS: [Label; 13] = [
    Label {
        field: Field::Requested,
        before: &[
            "triedtoallocate",
            "requestedsize:",
            "requestedsizewas",
            "requested:",
            "requested",
            "tryingtoallocate",
            "requestfor",
            "allocating",
            "unabletoallocate",
            "cannotallocate",
            "failedtoallocate",
            "failedtoalloc",
            "couldnotallocate",
            "failedtocudacalloc",
            "failedtocudacallocasync",
            "failedtocudamalloc",
            "failedtocudahostalloc",
            "unabletommap",
            "ofsize",
            "ofsize:",
            "tomap",
            "invalidbuffersize:",
        ],
        after: &["ofsharedmemory", "onprivatepool", "onsharedpool"],
    },
    Label {
        field: Field::Capacity,
        before: &[
            "totalcapacityof",
            "totalcapactyof",
            "capacityof",
            "hastotal",
            "devicelimit:",
            "total:",
            "%of",
        ],
        after: &["totalcapacity", "totalcapacty"],
    },
    Label {
        field: Field::Free,
        before: &["free(accordingtocuda):", "availablememoryisonly", "(free:"],
        after: &["isfree", "free"],
    },
    Label { field: Field::Process, before: &["thisprocesshas"], after: &[] },
    Label {
        field: Field::Allocated,
        before: &[
            "currentlyallocated:",
            "mpsallocated:",
            "(allocatedsofar:",
            "total_allocated_memory(",
        ],
        after: &["alreadyallocated", "isallocatedbypytorch", "memoryhasbeenallocated"],
    },
    Label { field: Field::OtherAllocations, before: &["otherallocations:"], after: &[] },
    Label { field: Field::Active, before: &[], after: &["currentactive"] },
    Label {
        field: Field::PrivatePool,
        before: &[],
        after: &["allocatedinprivatepool", "reservedinprivatepool", "isallocatedinprivatepool"],
    },
    Label {
        field: Field::Unallocated,
        before: &[],
        after: &["isreservedbypytorchbutunallocated", "reservedbutunallocated", "cached"],
    },
    Label { field: Field::Reserved, before: &[], after: &["reservedintotalbypytorch", "reserved"] },
    Label {
        field: Field::Allowed,
        before: &["maxallowed:", "limitset to:", "limitsetto:", "memorylimit(", "limit:"],
        after: &["allowed"],
    },
    // Processes by number are read apart; this keeps their sizes from breaking the chain.
    Label { field: Field::Process, before: &[], after: &["memoryinuse"] },
    Label { field: Field::Allowed, before: &["usersuppliedmemoryfraction):"], after: &[] },
];

/// Farthest that two sizes of one sentence stand apart, in bytes. The longest gap of any wording,
/// in the multi-line form of `cudaMallocAsync`, has 60.
const GAP_BYTES: usize = 160;

/// Sizes in one message: the numbers of PyTorch's sentence and a process for each worker.
const SIZES: usize = 256;

/// What numbers a message can have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// All of the allocator's sentence, in any language.
    Sentence,
    /// Those that have their words beside them.
    Labelled,
    /// The same in another program's spelling: `2.1G` is a size, too.
    Foreign,
}

/// Reads the numbers of the message in `text[start..end]` that is known by a phrase at `anchor`.
pub(crate) fn read(text: &str, [start, anchor, end]: [usize; 3], kind: Kind) -> Facts {
    let mut facts = Facts::default();
    let chain = chain(text, [start, anchor, end], kind == Kind::Foreign);
    let mut told = 0;
    for (place, size) in chain.iter().enumerate() {
        let field = field(text, size);
        told += usize::from(field.is_some());
        match field {
            Some(Field::Process) if pid(text, size).is_some() => {
                let pid = pid(text, size).unwrap_or_default();
                if let Some(bytes) = size.bytes {
                    facts.process_list.push(Process { pid, bytes });
                }
            }
            Some(Field::Process) if !before(text, size).ends_with("thisprocesshas") => {}
            Some(Field::Requested) => facts.set(Field::Requested, exact(text, &chain, place)),
            Some(field) => facts.set(field, size.bytes),
            None => {}
        }
    }
    let gpu = gpu_index(text, start.max(anchor.saturating_sub(60)), end.min(anchor + 600));
    // Sizes without a device among them are no sentence of the allocator's.
    if chain.len() >= 3 && told <= 1 && kind == Kind::Sentence && gpu.is_some() {
        facts = by_order(text, &chain);
    }
    if facts.requested_bytes.is_none() {
        facts.requested_bytes = bare_request(text, start, end);
    }
    facts.gpu_index = gpu;
    facts.derive();
    facts
}

/// Whether `text[start..end]` holds the numbers of PyTorch's sentence in whatever language: a
/// numbered GPU with three sizes or more after it, and PyTorch's name.
pub(crate) fn looks_like_one(text: &str, start: usize, end: usize) -> bool {
    let sentence = text.get(start..end).unwrap_or_default();
    sentence.contains("pytorch")
        && gpu_index(text, start, end).is_some()
        && chain(text, [start, start, end], false).len() >= 3
}

/// The sizes that stand close enough to `anchor` and to each other to be of one sentence.
fn chain(text: &str, [start, anchor, end]: [usize; 3], takes_letters: bool) -> Vec<Size> {
    let mut chain: Vec<Size> = Vec::new();
    let mut last = start;
    for size in size::sizes(text, start, end) {
        if size.is_short && !takes_letters {
            continue;
        }
        if last < anchor && size.start > last + GAP_BYTES {
            chain.clear();
            last = anchor;
        }
        if size.start > last.max(anchor) + GAP_BYTES || chain.len() == SIZES {
            break;
        }
        last = size.end;
        chain.push(size);
    }
    chain
}

fn before<'a>(text: &'a str, size: &Size) -> &'a str {
    text.get(..size.start).unwrap_or_default()
}

fn after<'a>(text: &'a str, size: &Size) -> &'a str {
    text.get(size.end..).unwrap_or_default().trim_start_matches([')', ':'])
}

fn field(text: &str, size: &Size) -> Option<Field> {
    let (before, after) = (before(text, size), after(text, size));
    let precedes =
        LABELS.iter().find(|label| label.before.iter().any(|word| before.ends_with(word)));
    let follows =
        || LABELS.iter().find(|label| label.after.iter().any(|word| after.starts_with(word)));
    // In the form of a table the next line's words follow, so that those before count first.
    precedes.or_else(follows).map(|label| label.field).or_else(|| cut_field(after))
}

/// The quantity whose label the text's end, or dots that stand for left-out text, cuts off, where
/// what is left can be no other's.
fn cut_field(after: &str) -> Option<Field> {
    let near = after.get(..boundary(after, 40))?;
    let rest = match near.find("...").or_else(|| near.find('…')) {
        Some(end) => near.get(..end)?,
        None => near,
    };
    if rest.is_empty() || rest.len() > 30 {
        return None;
    }
    let fits = |label: &&Label| label.after.iter().any(|word| word.starts_with(rest));
    let mut fields = LABELS.iter().filter(fits).map(|label| label.field);
    let field = fields.next()?;
    fields.all(|other| other == field).then_some(field)
}

/// The number in `process 123 has 4.00 GiB`.
fn pid(text: &str, size: &Size) -> Option<u64> {
    let before = before(text, size).strip_suffix("has")?;
    let digits = before.bytes().rev().take(20).take_while(u8::is_ascii_digit).count();
    let (words, digits) = before.split_at_checked(before.len() - digits)?;
    words.ends_with("process").then(|| digits.parse().ok()).flatten()
}

/// The size, or the exact one in the parentheses after it: `2.99GiB (3206250496B)`.
fn exact(text: &str, chain: &[Size], place: usize) -> Option<u64> {
    let size = chain.get(place)?;
    let exact = chain.get(place + 1).filter(|next| {
        text.get(size.end..next.start).is_some_and(|between| matches!(between, "(" | "(roundedto"))
    });
    exact.map_or(size.bytes, |exact| exact.bytes)
}

/// A request in bytes without a unit: `of size: 1073741824`, `Requested size: 1073741824`.
fn bare_request(text: &str, start: usize, end: usize) -> Option<u64> {
    let sentence = text.get(start..end)?;
    ["ofsize:", "ofsize", "requestedsize:", "invalidbuffersize:", "tomap"].iter().find_map(|word| {
        let (_, rest) = sentence.split_once(word)?;
        // Fewer digits are no size that a device would refuse.
        size::integer(rest, 4)
    })
}

/// The device's number: `GPU 0;`, `GPU 0 has`, `device 0 would`, `device ordinal 0`, `cuda:0`.
fn gpu_index(text: &str, start: usize, end: usize) -> Option<u64> {
    let [start, end] = [start, end].map(|at| boundary(text, at));
    let sentence = text.get(start..end)?;
    let names =
        ["gpu", "npu", "mlu", "ondevice", "deviceordinal", "ondevicecuda:", "device:gpu:", "xpu"];
    let mut first: Option<(usize, u64)> = None;
    for name in names {
        let found = sentence.match_indices(name).find_map(|(at, _)| {
            let rest = sentence.get(at + name.len()..)?;
            let number = size::integer(rest, 1)?;
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            // `gpu-00000` names no device, and `gpu_0_bfc` an allocator.
            let is_number =
                after.trim_start_matches(['.', ',']).starts_with(|c: char| c.is_ascii_digit());
            // The end of the text may have cut it, but where the sentence ends with it.
            let is_whole = !after.is_empty() || name == "deviceordinal";
            (number < 1024 && is_whole && !is_number && !after.starts_with(['_', BREAK]))
                .then_some((at, number))
        });
        if let Some(found) = found
            && first.is_none_or(|first| found.0 < first.0)
        {
            first = Some(found);
        }
    }
    first.map(|(_, number)| number)
}

/// The last place that is no later than `at` and not inside a character.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The quantities by their places: the order of PyTorch's sentences, which translators keep.
fn by_order(text: &str, chain: &[Size]) -> Facts {
    let mut facts = Facts::default();
    let bytes: Vec<Option<u64>> = chain.iter().map(|size| size.bytes).collect();
    let between = |place: usize| {
        let (Some(left), Some(right)) = (chain.get(place), chain.get(place + 1)) else { return "" };
        text.get(left.end..right.start).unwrap_or_default()
    };
    let mut fill = |fields: &[Field]| {
        for (field, bytes) in fields.iter().zip(&bytes) {
            facts.set(*field, *bytes);
        }
    };
    let at = |place: usize| bytes.get(place).copied().flatten().unwrap_or(0);
    use Field::{
        Allocated, Allowed, Capacity, Free, PrivatePool, Process, Requested, Reserved, Unallocated,
    };
    // Until PyTorch 2.0 the numbers stood in parentheses, with semicolons between them.
    if between(1).contains(';') {
        let last = if at(bytes.len() - 1) >= at(2) { Reserved } else { Unallocated };
        match bytes.len() {
            5 => fill(&[Requested, Capacity, Allocated, Free, last]),
            6 => fill(&[Requested, Capacity, Allocated, Free, Allowed, last]),
            _ => fill(&[Requested, Capacity]),
        }
        return facts;
    }
    // The process holds what it allocated and what it keeps idle.
    let is_process = |place: usize| at(place) >= at(place + 1).saturating_add(at(place + 2));
    match bytes.len() {
        3 => fill(&[Requested, Capacity, Free]),
        5 => fill(&[Requested, Capacity, Free, Allocated, Unallocated]),
        6 if is_process(3) => fill(&[Requested, Capacity, Free, Process, Allocated, Unallocated]),
        6 => fill(&[Requested, Capacity, Free, Allocated, PrivatePool, Unallocated]),
        7 => fill(&[Requested, Capacity, Free, Process, Allocated, PrivatePool, Unallocated]),
        _ => fill(&[Requested, Capacity]),
    }
    facts
}
