//! A graph as a pickle. Nothing is recursive, and a container that contains itself is written as
//! Python would: by its number.

use super::graph::{Container, Graph, Kind, Node};
use super::numbers::Numbers;

enum Work {
    Value(Node),
    /// The opcode that ends a container, and its place.
    End(u8, usize),
}

/// The pickle, and where each of its opcodes begins. One reference in some hundred is to another
/// object than was meant, in one pickle of four.
pub(crate) fn pickle(graph: &Graph, numbers: &mut Numbers) -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer {
        graph,
        out: vec![0x80, 2],
        starts: Vec::new(),
        texts: vec![None; graph.texts.len()],
        containers: vec![None; graph.containers.len()],
        open: vec![false; graph.containers.len()],
        stored: 0,
    };
    let strays = numbers.below(4) == 0;
    let mut work = vec![Work::Value(Node::Container(graph.root))];
    while let Some(next) = work.pop() {
        match next {
            Work::Value(Node::Container(place)) => match writer.containers[place] {
                Some(number) if strays && numbers.below(100) == 0 => {
                    let other = numbers.below(u64::from(writer.stored) + 2) as u32;
                    writer.recall(if other == number { 0 } else { other });
                }
                Some(number) => writer.recall(number),
                // Python cannot make a tuple that contains itself.
                None if writer.open[place] => writer.opcode(b"N"),
                None => writer.container(place, &mut work),
            },
            Work::Value(node) => writer.leaf(node),
            Work::End(opcode, place) => {
                writer.opcode(&[opcode]);
                writer.open[place] = false;
                if opcode == b't' {
                    writer.containers[place] = Some(writer.store());
                }
            }
        }
    }
    writer.opcode(b".");
    (writer.out, writer.starts)
}

struct Writer<'a> {
    graph: &'a Graph,
    out: Vec<u8>,
    starts: Vec<usize>,
    /// The memo's number of each text and each container that was written.
    texts: Vec<Option<u32>>,
    containers: Vec<Option<u32>>,
    /// Tuples that are being written: they have no number yet.
    open: Vec<bool>,
    /// Numbers given.
    stored: u32,
}

impl Writer<'_> {
    fn opcode(&mut self, bytes: &[u8]) {
        self.starts.push(self.out.len());
        self.out.extend(bytes);
    }

    /// Stores what is on top of the stack.
    fn store(&mut self) -> u32 {
        let number = self.stored;
        self.stored += 1;
        match u8::try_from(number) {
            Ok(short) => self.opcode(&[b'q', short]),
            Err(_) => self.opcode(&[&b"r"[..], &number.to_le_bytes()].concat()),
        }
        number
    }

    fn recall(&mut self, number: u32) {
        match u8::try_from(number) {
            Ok(short) => self.opcode(&[b'h', short]),
            Err(_) => self.opcode(&[&b"j"[..], &number.to_le_bytes()].concat()),
        }
    }

    fn container(&mut self, place: usize, work: &mut Vec<Work>) {
        let Container { kind, items } = &self.graph.containers[place];
        let end = match kind {
            Kind::List => {
                self.opcode(b"]");
                b'e'
            }
            Kind::Dict => {
                self.opcode(b"}");
                b'u'
            }
            Kind::Tuple => {
                self.open[place] = true;
                b't'
            }
        };
        if *kind != Kind::Tuple {
            self.containers[place] = Some(self.store());
        }
        self.opcode(b"(");
        work.push(Work::End(end, place));
        work.extend(items.iter().rev().map(|item| Work::Value(*item)));
    }

    fn leaf(&mut self, node: Node) {
        match node {
            Node::None | Node::Container(_) => self.opcode(b"N"),
            Node::Bool(yes) => self.opcode(if yes { b"\x88" } else { b"\x89" }),
            Node::Float(number) => {
                self.opcode(&[&b"G"[..], &number.to_be_bytes()].concat());
            }
            Node::Int(number) => {
                let bytes = number.to_le_bytes();
                let fill = if number < 0 { 0xff } else { 0 };
                let mut length =
                    bytes.iter().rposition(|byte| *byte != fill).map_or(0, |at| at + 1);
                // The last byte has the sign.
                let sign = length.checked_sub(1).map_or(0, |last| bytes[last]) & 0x80;
                length += usize::from(sign != fill & 0x80);
                self.opcode(&[&[0x8a, length as u8], &bytes[..length]].concat());
            }
            Node::Text(place) => match self.texts[place] {
                Some(number) => self.recall(number),
                None => {
                    let text = &self.graph.texts[place];
                    let length = (text.len() as u32).to_le_bytes();
                    self.opcode(&[&b"X"[..], &length, text].concat());
                    self.texts[place] = Some(self.store());
                }
            },
        }
    }
}
