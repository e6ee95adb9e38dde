//! A pickle as a graph: containers in a table, shared as the file shares them.

use oomscope::error::Result;
use oomscope::pickle::{Items, Lower, Machine, Place, Record, TextId, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// What a container is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    List,
    Tuple,
    /// Keys and values alternate.
    Dict,
}

/// One value; texts and containers are places in the graph's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(usize),
    Container(usize),
}

/// A list, a tuple or a dict.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) kind: Kind,
    pub(crate) items: Vec<Node>,
}

/// A whole pickle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) containers: Vec<Container>,
    /// The place of the outermost container.
    pub(crate) root: usize,
}

impl Graph {
    /// The graph of a sound pickle whose value is a container.
    pub(crate) fn read(bytes: &[u8]) -> Graph {
        let mut machine = Machine::new(Keeper::default(), 0);
        machine.feed(bytes).unwrap();
        let root = match machine.result().unwrap() {
            Value::Record(record) => record.index as usize,
            other => panic!("the pickle is {other:?}"),
        };
        Graph { root, ..machine.lower.graph }
    }

    /// The place of a text, which is added if new.
    pub(crate) fn text(&mut self, text: &str) -> Node {
        let place = self.texts.iter().position(|known| known == text.as_bytes());
        Node::Text(place.unwrap_or_else(|| {
            self.texts.push(text.as_bytes().to_vec());
            self.texts.len() - 1
        }))
    }

    /// The container behind the value of `key`, if `of` is a dict that has it.
    pub(crate) fn value(&self, of: usize, key: &str) -> Option<Node> {
        let Container { kind: Kind::Dict, items } = &self.containers[of] else { return None };
        let mut pairs = items.chunks_exact(2);
        let is_key =
            |node: Node| matches!(node, Node::Text(place) if self.texts[place] == key.as_bytes());
        pairs.find(|pair| is_key(pair[0])).map(|pair| pair[1])
    }

    /// A piece that is small enough to be analysed in milliseconds: of each trace at most `entries`
    /// in a row, from `share` of it on, and segments with at most `entries` blocks together.
    pub(crate) fn piece(&self, entries: usize, share: f64) -> Graph {
        let mut piece = self.clone();
        if let Some(Node::Container(segments)) = self.value(self.root, "segments") {
            let mut left = entries;
            piece.containers[segments].items.retain(|segment| {
                let blocks = match *segment {
                    Node::Container(place) => self.value(place, "blocks"),
                    _ => None,
                };
                let Some(Node::Container(blocks)) = blocks else { return true };
                let count = self.containers[blocks].items.len();
                let fits = count <= left;
                left -= if fits { count } else { 0 };
                fits
            });
        }
        if let Some(Node::Container(traces)) = self.value(self.root, "device_traces") {
            for trace in &self.containers[traces].items {
                let Node::Container(trace) = *trace else { continue };
                let items = &mut piece.containers[trace].items;
                let begin = (items.len().saturating_sub(entries) as f64 * share) as usize;
                let end = items.len().min(begin + entries);
                *items = items[begin..end].to_vec();
            }
        }
        if let Some(Node::Container(annotations)) = self.value(self.root, "external_annotations") {
            piece.containers[annotations].items.truncate(entries / 4);
        }
        piece.compact()
    }

    /// The same without what cannot be reached.
    fn compact(&self) -> Graph {
        let mut compact = Graph::default();
        let (mut texts, mut containers) = (HashMap::new(), HashMap::from([(self.root, 0)]));
        let mut next = vec![self.root];
        let mut order = Vec::new();
        while let Some(place) = next.pop() {
            order.push(place);
            for item in &self.containers[place].items {
                if let Node::Container(inner) = *item
                    && !containers.contains_key(&inner)
                {
                    containers.insert(inner, containers.len());
                    next.push(inner);
                }
            }
        }
        order.sort_by_key(|place| containers[place]);
        for place in order {
            let Container { kind, items } = &self.containers[place];
            let items = items.iter().map(|item| match *item {
                Node::Container(inner) => Node::Container(containers[&inner]),
                Node::Text(text) => Node::Text(*texts.entry(text).or_insert_with(|| {
                    compact.texts.push(self.texts[text].clone());
                    compact.texts.len() - 1
                })),
                leaf => leaf,
            });
            let items = items.collect();
            compact.containers.push(Container { kind: *kind, items });
        }
        compact
    }
}

/// Keeps everything that the machine hands over.
#[derive(Default)]
struct Keeper {
    graph: Graph,
    texts: HashMap<Vec<u8>, u32>,
}

impl Keeper {
    fn keep(&mut self, kind: Kind, items: impl Iterator<Item = Value>) -> Value {
        let items = items.map(|item| match item {
            Value::Bool(yes) => Node::Bool(yes),
            Value::Int(number) => Node::Int(number.into()),
            Value::Wide(number) => Node::Int(number.into()),
            Value::Huge => Node::Int(1 << 70),
            Value::Float(number) => Node::Float(number),
            Value::Text(TextId(text)) => Node::Text(text as usize),
            Value::Record(record) => Node::Container(record.index as usize),
            Value::None | Value::Opaque | Value::Open(_) => Node::None,
        });
        let items = items.collect();
        self.graph.containers.push(Container { kind, items });
        Value::Record(Record { kind: 0, index: self.graph.containers.len() as u32 - 1 })
    }
}

impl Lower for Keeper {
    fn text(&mut self, bytes: &[u8]) -> Result<TextId> {
        let next = self.graph.texts.len() as u32;
        let id = *self.texts.entry(bytes.to_vec()).or_insert(next);
        if id == next {
            self.graph.texts.push(bytes.to_vec());
        }
        Ok(TextId(id))
    }

    fn tuple(&mut self, items: &[Value]) -> Value {
        self.keep(Kind::Tuple, items.iter().copied())
    }

    fn dict(&mut self, pairs: &[Value], _: &dyn Place) -> Result<Value> {
        Ok(self.keep(Kind::Dict, pairs.iter().copied()))
    }

    fn list(&mut self, items: Items<'_>, _: &dyn Place) -> Result<Value> {
        Ok(match items {
            Items::Values(values) => self.keep(Kind::List, values.iter().copied()),
            Items::Run { first: Record { kind, index }, len } => {
                let records = index..index + len;
                self.keep(Kind::List, records.map(|index| Value::Record(Record { kind, index })))
            }
        })
    }

    fn is_repeatable(&self, _: Value) -> bool {
        false
    }

    fn text_of(&self, TextId(id): TextId) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.graph.texts[id as usize])
    }
}
