//! What the page asks of the table: filters and an order.

use crate::timeline::allocation::Allocation;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A column to sort by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Bytes of the block.
    Size,
    /// Bytes requested.
    Requested,
    /// What it is for.
    Category,
    /// The entry that made it; those older than the trace come first.
    Made,
    /// The entry at which the program released it; those alive at the end come last.
    Freed,
    /// Entries between the two, as far as the trace reaches.
    Lifetime,
    /// Time between the two, as far as the trace reaches.
    Time,
    /// Its stream.
    Stream,
    /// Its pool.
    Pool,
    /// The user's innermost line.
    Place,
}

/// How an allocation begins or ends.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Any way.
    #[default]
    Any,
    /// Held when the trace ends.
    Held,
    /// Freed in the trace.
    Freed,
    /// Older than the trace.
    Older,
}

/// The allocator's pools, as far as an allocation tells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Requests of at most 1 MiB.
    Small,
    /// All others.
    Large,
    /// The small pool of a CUDA graph or a `MemPool`.
    PrivateSmall,
    /// The large pool of a CUDA graph or a `MemPool`.
    PrivateLarge,
}

impl Pool {
    /// The largest block of a small pool (`kSmallSize` in `CUDACachingAllocator.cpp`).
    const SMALL: u64 = 1 << 20;

    /// The pool of an allocation.
    #[must_use]
    pub fn of(allocation: &Allocation) -> Pool {
        match (allocation.is_private, allocation.size <= Self::SMALL) {
            (false, true) => Pool::Small,
            (false, false) => Pool::Large,
            (true, true) => Pool::PrivateSmall,
            (true, false) => Pool::PrivateLarge,
        }
    }

    /// Its name.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Pool::Small => "small",
            Pool::Large => "large",
            Pool::PrivateSmall => "private, small",
            Pool::PrivateLarge => "private, large",
        }
    }
}

/// Filters and an order, as the page says them. What is typed may be empty.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The least size, such as `10 MiB`.
    pub min_size: String,
    /// The greatest size.
    pub max_size: String,
    /// The shortest life, in entries.
    pub min_lifetime: String,
    /// The longest life, in entries.
    pub max_lifetime: String,
    /// How it begins or ends.
    pub fate: Fate,
    /// The one stream, by its place in the snapshot.
    pub stream: Option<u16>,
    /// The one pool.
    pub pool: Option<Pool>,
    /// The column to sort by.
    pub sort: Column,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            min_size: String::new(),
            max_size: String::new(),
            min_lifetime: String::new(),
            max_lifetime: String::new(),
            fate: Fate::Any,
            stream: None,
            pool: None,
            sort: Column::Size,
            descending: true,
        }
    }
}

/// What was typed, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds {
    /// Sizes that pass.
    pub(super) bytes: RangeInclusive<u64>,
    /// Lifetimes that pass, in entries.
    pub(super) lifetime: RangeInclusive<u64>,
}

impl Question {
    /// The bounds, and what is wrong with the first that cannot be read; it bounds nothing.
    pub(super) fn bounds(&self) -> (Bounds, Option<String>) {
        let mut problem = None;
        let mut bound = |text: &str, default: u64, read: fn(&str) -> Result<u64, String>| {
            let text = text.trim();
            if text.is_empty() {
                return default;
            }
            read(text).unwrap_or_else(|error| {
                problem.get_or_insert(error);
                default
            })
        };
        let bytes = bound(&self.min_size, 0, size)..=bound(&self.max_size, u64::MAX, size);
        let lifetime =
            bound(&self.min_lifetime, 0, entries)..=bound(&self.max_lifetime, u64::MAX, entries);
        (Bounds { bytes, lifetime }, problem)
    }
}

fn size(text: &str) -> Result<u64, String> {
    text.parse().map(|Bytes(bytes)| bytes).map_err(|error| format!("{error}."))
}

fn entries(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|letter| !matches!(letter, ',' | ' ')).collect();
    digits
        .parse()
        .map_err(|_| format!("{text:?} is no number of entries; write one such as 5,000."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_people_write_them() {
        let question = Question {
            min_size: " 10 MiB ".to_owned(),
            max_lifetime: "5,000".to_owned(),
            ..Question::default()
        };
        let (bounds, problem) = question.bounds();
        assert_eq!(bounds.bytes, 10 << 20..=u64::MAX);
        assert_eq!(bounds.lifetime, 0..=5_000);
        assert_eq!(problem, None);
    }

    #[test]
    fn a_bound_that_cannot_be_read_bounds_nothing_and_is_told() {
        let question = Question {
            min_size: "8 apples".to_owned(),
            min_lifetime: "soon".to_owned(),
            ..Question::default()
        };
        let (bounds, problem) = question.bounds();
        assert_eq!((bounds.bytes, bounds.lifetime), (0..=u64::MAX, 0..=u64::MAX));
        assert!(problem.unwrap().starts_with("\"8 apples\" is no size;"));
    }
}
