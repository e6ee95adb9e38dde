//! The JSON form of a snapshot: the same dict, written with `json.dump`.

use super::decode::Decoder;
use super::mended::Mended;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Items, Lower as _, Place, Step, Value};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;
use std::io::Read;

/// Reads a whole JSON text into `decoder` and answers its value.
///
/// # Errors
/// `Truncated`, `Shape` or `NotASnapshot`, with line and column in the message.
pub(super) fn read(reader: impl Read, decoder: &mut Decoder) -> Result<Value> {
    let state = State {
        decoder: RefCell::new(decoder),
        steps: RefCell::default(),
        error: RefCell::default(),
    };
    let mut deserializer = serde_json::Deserializer::from_reader(
        std::io::BufReader::with_capacity(1 << 16, Mended::new(reader)),
    );
    let value = Seed(&state).deserialize(&mut deserializer);
    value.map_err(|error| match state.error.take() {
        Some(ours) => ours,
        None if error.is_io() => match std::io::Error::from(error) {
            error if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Error::new(ErrorKind::Truncated, "the packed JSON text ends in the middle")
            }
            error => Error::new(
                ErrorKind::Container,
                format!("the packed JSON text cannot be read: {error}"),
            ),
        },
        None if error.is_eof() => Error::new(
            ErrorKind::Truncated,
            format!(
                "the JSON text ends in the middle (line {}, column {})",
                error.line(),
                error.column()
            ),
        ),
        None => Error::new(ErrorKind::Shape, format!("the text is not valid JSON: {error}")),
    })
}

struct State<'d> {
    decoder: RefCell<&'d mut Decoder>,
    steps: RefCell<Vec<Step>>,
    error: RefCell<Option<Error>>,
}

impl State<'_> {
    fn keep<E: serde::de::Error>(&self, result: Result<Value>) -> std::result::Result<Value, E> {
        result.map_err(|error| {
            let decoder = self.decoder.borrow();
            let path = crate::pickle::path_from_steps(&self.steps.borrow(), &|key| {
                decoder.text_of(key).into_owned()
            });
            self.error.replace(Some(error.within(&path)));
            E::custom("see the decoder's error")
        })
    }
}

/// The path as a place; the decoder is borrowed while it asks.
struct Here<'a>(&'a RefCell<Vec<Step>>);

impl Place for Here<'_> {
    fn steps(&self) -> Vec<Step> {
        self.0.borrow().clone()
    }
}

#[derive(Clone, Copy)]
struct Seed<'s, 'd>(&'s State<'d>);

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Wide(value), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> std::result::Result<Value, E> {
        let id = self.0.decoder.borrow_mut().text(value.as_bytes());
        self.0.keep(id.map(Value::Text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut items = Vec::new();
        self.0.steps.borrow_mut().push(Step::Index(0));
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
            if let Some(step) = self.0.steps.borrow_mut().last_mut() {
                *step = Step::Index(items.len() as u64);
            }
        }
        self.0.steps.borrow_mut().pop();
        let list = self.0.decoder.borrow_mut().list(Items::Values(&items), &Here(&self.0.steps));
        self.0.keep(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = access.next_key_seed(self)? {
            pairs.push(key);
            if let Value::Text(key) = key {
                self.0.steps.borrow_mut().push(Step::Key(key));
            }
            pairs.push(access.next_value_seed(self)?);
            self.0.steps.borrow_mut().pop();
        }
        let dict = self.0.decoder.borrow_mut().dict(&pairs, &Here(&self.0.steps));
        self.0.keep(dict)
    }
}
