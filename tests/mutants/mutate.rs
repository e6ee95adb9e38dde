//! One change to the structure of a pickle.

use super::graph::{Container, Graph, Kind, Node};
use super::numbers::Numbers;

/// Whole numbers at which something ends.
const ENDS: [i128; 16] = [
    0,
    1,
    -1,
    511,
    512,
    1 << 20,
    (1 << 32) - 1,
    1 << 32,
    1 << 60,
    (1 << 60) + 1,
    i64::MAX as i128,
    i64::MIN as i128,
    1 << 63,
    u64::MAX as i128,
    1 << 64,
    -(1 << 64),
];

const FLOATS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.5, 1e300];

/// Texts that mean something somewhere, and some that do not.
const TEXTS: [&str; 34] = [
    "segments",
    "device_traces",
    "blocks",
    "frames",
    "history",
    "address",
    "addr",
    "size",
    "total_size",
    "requested_size",
    "real_size",
    "state",
    "stream",
    "device",
    "action",
    "time_us",
    "stage",
    "pool_id",
    "segment_pool_id",
    "segment_type",
    "name",
    "filename",
    "line",
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_unmap",
    "oom",
    "active_pending_free",
    "inactive",
    "expandable_segments:True,garbage_collection_threshold:nan",
    "",
    "no such\nthing \u{1b}[2J",
];

/// Deepest nesting made at once.
const DEPTH: u64 = 2_000;

/// Makes one change at random.
pub(crate) fn mutate(graph: &mut Graph, numbers: &mut Numbers) {
    let place = chosen(graph, numbers);
    let Container { kind, items } = &graph.containers[place];
    let kind = *kind;
    let containers = graph.containers.len();
    // What belongs together: a key and its value, or one item.
    let width = if kind == Kind::Dict { 2 } else { 1 };
    let count = items.len() / width;
    if count == 0 {
        let node = any(graph, numbers);
        graph.containers[place].items.extend(std::iter::repeat_n(node, width));
        return;
    }
    let (one, other) = (numbers.place(count) * width, numbers.place(count) * width);
    let value = one + width - 1;
    let items = &mut graph.containers[place].items;
    match numbers.below(17) {
        // Drop, duplicate, swap, shuffle, cut, turn round.
        0 => drop(items.drain(one..one + width)),
        1 => {
            let again = items[one..one + width].to_vec();
            items.splice(other..other, again);
        }
        2 => items.swap(value, other + width - 1),
        3 => {
            for end in (1..count).rev() {
                items.swap(end * width + width - 1, numbers.place(end + 1) * width + width - 1);
            }
        }
        4 => items.truncate(one),
        5 => items.reverse(),
        // Other numbers.
        6 | 7 => change_number(graph, place, numbers),
        // Another type, another key.
        8 => graph.containers[place].items[value] = any(graph, numbers),
        9 => graph.containers[place].items[one] = text(graph, numbers),
        10 => graph.containers[place].kind = numbers.of(&[Kind::List, Kind::Tuple, Kind::Dict]),
        // Another object, which may be one that contains this one, or this one itself.
        11 => items[value] = Node::Container(numbers.place(containers)),
        12 => items[value] = Node::Container(place),
        // Fields of a sibling: repeated addresses, sizes, actions.
        13 => copy_field(graph, place, numbers),
        // The same again and again.
        14 => {
            let times = 1 + numbers.place(8);
            let again = items.repeat(times);
            items.extend(again.into_iter().take(400));
        }
        // A deep nest around a value.
        15 => {
            let mut inner = items[value];
            for _ in 0..numbers.below(DEPTH) {
                graph.containers.push(Container { kind: Kind::List, items: vec![inner] });
                inner = Node::Container(graph.containers.len() - 1);
            }
            graph.containers[place].items[value] = inner;
        }
        // A text by another one, wherever it stands.
        _ => {
            let place = numbers.place(graph.texts.len());
            graph.texts[place] = numbers.of(&TEXTS).as_bytes().to_vec();
        }
    }
    // A dict of an odd number of items is none.
    let Container { kind, items } = &mut graph.containers[place];
    if *kind == Kind::Dict && !items.len().is_multiple_of(2) {
        items.pop();
    }
}

/// A container: any, most of which are frames; or one on the way down from the outermost.
fn chosen(graph: &Graph, numbers: &mut Numbers) -> usize {
    if numbers.below(3) == 0 {
        return numbers.place(graph.containers.len());
    }
    let mut place = graph.root;
    while numbers.below(4) > 0 {
        let items = &graph.containers[place].items;
        let inner = |item: &Node| match item {
            Node::Container(inner) => Some(*inner),
            _ => None,
        };
        let inside: Vec<usize> = items.iter().filter_map(inner).collect();
        if inside.is_empty() {
            break;
        }
        place = numbers.of(&inside);
    }
    place
}

/// Any value.
fn any(graph: &mut Graph, numbers: &mut Numbers) -> Node {
    match numbers.below(6) {
        0 => Node::None,
        1 => Node::Bool(numbers.below(2) == 0),
        2 => Node::Int(numbers.of(&ENDS)),
        3 => Node::Float(numbers.of(&FLOATS)),
        4 => text(graph, numbers),
        _ => Node::Container(numbers.place(graph.containers.len())),
    }
}

fn text(graph: &mut Graph, numbers: &mut Numbers) -> Node {
    if numbers.below(4) == 0 {
        return Node::Text(numbers.place(graph.texts.len()));
    }
    graph.text(numbers.of(&TEXTS))
}

/// Negates a number of a container, or puts an end of a range or a neighbour there.
fn change_number(graph: &mut Graph, place: usize, numbers: &mut Numbers) {
    let items = &mut graph.containers[place].items;
    let is_number = |place: &usize| matches!(items[*place], Node::Int(_) | Node::Float(_));
    let places: Vec<usize> = (0..items.len()).filter(is_number).collect();
    if places.is_empty() {
        return;
    }
    let at = numbers.of(&places);
    items[at] = match (items[at], numbers.below(8)) {
        (Node::Int(number), 0 | 1) => Node::Int(-number),
        (Node::Int(number), 2) => Node::Int(number + 512),
        (Node::Int(number), 3) => Node::Int(number / 2),
        (Node::Float(number), 0..4) => Node::Float(-number),
        (_, 4) => Node::Float(numbers.of(&FLOATS)),
        _ => Node::Int(numbers.of(&ENDS)),
    };
}

/// Gives a dict among a list's items the value that another one has under the same key; for a dict,
/// one of its own values to another of its keys.
fn copy_field(graph: &mut Graph, place: usize, numbers: &mut Numbers) {
    let inner = |node: &Node| match node {
        Node::Container(inner) if graph.containers[*inner].kind == Kind::Dict => Some(*inner),
        _ => None,
    };
    let dicts: Vec<usize> = graph.containers[place].items.iter().filter_map(inner).collect();
    let (from, to) = match dicts.as_slice() {
        [] => (place, place),
        dicts => (numbers.of(dicts), numbers.of(dicts)),
    };
    let pairs = graph.containers[from].items.len() / 2;
    if pairs == 0 || graph.containers[from].kind != Kind::Dict {
        return;
    }
    let at = numbers.place(pairs) * 2;
    let (key, value) = (graph.containers[from].items[at], graph.containers[from].items[at + 1]);
    let target = &mut graph.containers[to].items;
    let same = (0..target.len() / 2).map(|pair| pair * 2).find(|pair| target[*pair] == key);
    match same {
        Some(pair) if from != to => target[pair + 1] = value,
        _ => target.extend([key, value]),
    }
}

/// Drops, doubles, moves or changes an opcode.
pub(crate) fn opcodes(bytes: &mut Vec<u8>, starts: &[usize], numbers: &mut Numbers) {
    let at = numbers.place(starts.len());
    let end_of = |at: usize, bytes: &[u8]| starts.get(at + 1).copied().unwrap_or(bytes.len());
    let (begin, end) = (starts[at], end_of(at, bytes));
    match numbers.below(5) {
        0 => drop(bytes.drain(begin..end)),
        1 => {
            let again = bytes[begin..end].to_vec();
            let to = starts[numbers.place(starts.len())];
            bytes.splice(to..to, again);
        }
        2 => bytes[begin] = numbers.next() as u8,
        3 => bytes.truncate(begin),
        _ => {
            let place = begin + numbers.place(end - begin);
            bytes[place] = numbers.next() as u8;
        }
    }
}
