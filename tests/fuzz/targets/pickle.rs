//! Any bytes as a pickle: how it is cut into chunks changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::error::Result;
use oomscope::pickle::{Items, Lower, Machine, Place, Record, TextId, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// Keeps texts, tuples and lists of texts by content, so that they repeat, and counts all else.
#[derive(Default)]
struct Counting {
    texts: HashMap<Vec<u8>, u32>,
    lists: HashMap<Vec<u32>, u32>,
    tuples: HashMap<Vec<u64>, u32>,
    handed: u32,
    /// Everything that was handed over, as one number.
    sum: u64,
}

const LIST: u8 = 0;
const REPEATABLE: u8 = 1;
const DICT: u8 = 2;
const TUPLE: u8 = 3;

impl Counting {
    fn hand(&mut self, kind: u8, items: &[Value]) -> Value {
        for part in items.iter().map(part) {
            self.sum = (self.sum ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        self.handed += 1;
        Value::Record(Record { kind, index: self.handed })
    }
}

fn part(item: &Value) -> u64 {
    match *item {
        Value::None => 1,
        Value::Bool(yes) => 2 + u64::from(yes),
        Value::Int(number) => number.cast_unsigned(),
        Value::Wide(number) => !number,
        Value::Huge => 4,
        Value::Float(number) => number.to_bits().rotate_left(7),
        Value::Text(TextId(id)) => 5 << 32 | u64::from(id),
        Value::Record(Record { kind, index }) => u64::from(6 + kind) << 32 | u64::from(index),
        Value::Opaque => 5,
        Value::Open(_) => panic!("what is not complete was handed over"),
    }
}

impl Lower for Counting {
    fn text(&mut self, bytes: &[u8]) -> Result<TextId> {
        let next = self.texts.len() as u32;
        Ok(TextId(*self.texts.entry(bytes.to_vec()).or_insert(next)))
    }

    fn tuple(&mut self, items: &[Value]) -> Value {
        let next = self.tuples.len() as u32;
        let index = *self.tuples.entry(items.iter().map(part).collect()).or_insert(next);
        Value::Record(Record { kind: TUPLE, index })
    }

    fn dict(&mut self, pairs: &[Value], place: &dyn Place) -> Result<Value> {
        assert!(pairs.len().is_multiple_of(2));
        let _ = place.steps();
        Ok(self.hand(DICT, pairs))
    }

    fn list(&mut self, items: Items<'_>, place: &dyn Place) -> Result<Value> {
        let _ = place.steps();
        let values = match items {
            Items::Values(values) => values.to_vec(),
            Items::Run { first, len } => {
                assert!(len > 0);
                let record = |index| Value::Record(Record { kind: first.kind, index });
                (first.index..first.index + len).map(record).collect()
            }
        };
        let texts: Option<Vec<u32>> = values
            .iter()
            .map(|value| if let Value::Text(TextId(id)) = value { Some(*id) } else { None })
            .collect();
        let Some(texts) = texts else { return Ok(self.hand(LIST, &values)) };
        let next = self.lists.len() as u32;
        let index = *self.lists.entry(texts).or_insert(next);
        Ok(Value::Record(Record { kind: REPEATABLE, index }))
    }

    fn is_repeatable(&self, value: Value) -> bool {
        matches!(value, Value::Record(Record { kind: REPEATABLE, .. }))
    }

    fn text_of(&self, _: TextId) -> Cow<'_, str> {
        "text".into()
    }
}

/// What comes of `bytes` when `first` of them come first and then ever more.
fn read(bytes: &[u8], first: usize) -> ((String, u64), u32, u64) {
    let mut machine = Machine::new(Counting::default(), 0);
    let (mut begin, mut end) = (0, first.min(bytes.len()));
    let outcome = loop {
        match machine.feed(&bytes[begin..end]) {
            // How far it came in the chunk is in the error alone.
            Err(error) => break (error.to_string(), 0),
            Ok(done) => begin += done,
        }
        if let Some(value) = machine.result() {
            break (format!("{value:?}"), machine.offset());
        }
        if end == bytes.len() {
            break (machine.cut().to_string(), machine.offset());
        }
        end = (end + first).min(bytes.len());
    };
    assert!(machine.offset() <= bytes.len() as u64);
    let Counting { handed, sum, .. } = machine.lower;
    (outcome, handed, sum)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let whole = read(bytes, bytes.len());
    assert_eq!(read(bytes, usize::from(*first).max(1)), whole);
});
