//! What moments of one run keep more of, from the first to the last; and, of three or more, what is
//! surely kept: made between the first two and alive in the last.

use super::difference::{At, Difference};
use super::matching::matching;
use super::run::{Live, Run};
use super::site::Frame;
use crate::findings::category::Category;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// One call site that holds more at the last moment than at the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growing {
    /// Its frames, innermost first; empty without stacks.
    pub stack: Vec<Frame>,
    /// The category that grows most there.
    pub category: Category,
    /// How much more it holds, in bytes.
    pub bytes: u64,
    /// How many allocations more; less than 0 where fewer, larger ones took their place.
    pub count: i64,
    /// Bytes more a step; `None` where the steps between are not known.
    pub per_step_bytes: Option<u64>,
    /// Of what it holds at the last moment, what was made since the first; `None` where a summary
    /// does not tell.
    pub made_bytes: Option<u64>,
    /// Of three or more moments: what was made between the first two and is alive in the last.
    pub confirmed_bytes: Option<u64>,
}

/// From the first to the last of some moments of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Names of the moments, earliest first.
    pub moments: Vec<String>,
    /// Allocated bytes at each.
    pub allocated_bytes: Vec<u64>,
    /// Steps begun between the first and the last; `None` where that is not known.
    pub steps: Option<u32>,
    /// What grows: what is confirmed first, then the most bytes.
    pub growing: Vec<Growing>,
    /// Whether three or more moments confirm it.
    pub is_confirmed: bool,
}

impl Growth {
    /// The growth over `moments`, which must be of one run, earliest first; `None` of fewer than
    /// two.
    #[must_use]
    pub fn of(moments: &[&Run]) -> Option<Growth> {
        let [first, .., last] = moments else { return None };
        let difference = Difference::of(first, last, At::End);
        let steps = steps_between(first, last);
        let tells = !first.is_summary && !last.is_summary;
        let made = tells.then(|| {
            let made: Vec<Live> =
                last.live.iter().filter(|live| !is_in(live, first)).copied().collect();
            by_site(first, last, &made)
        });
        let is_confirmed = moments.len() > 2 && moments.iter().all(|run| !run.is_summary);
        let confirmed = match moments {
            [first, second, .., last] if is_confirmed => {
                let kept: Vec<Live> = last
                    .live
                    .iter()
                    .filter(|live| is_in(live, second) && !is_in(live, first))
                    .copied()
                    .collect();
                Some(by_site(first, last, &kept))
            }
            _ => None,
        };
        let grown = difference.by_stack.iter().filter(|row| row.difference_bytes > 0);
        let mut growing: Vec<Growing> = grown
            .map(|row| {
                let bytes = row.difference_bytes.unsigned_abs();
                let of = |sums: &Option<FxHashMap<Vec<Frame>, u64>>| {
                    sums.as_ref().map(|sums| sums.get(&row.stack).copied().unwrap_or(0))
                };
                Growing {
                    stack: row.stack.clone(),
                    category: row.category().unwrap_or(Category::Unknown),
                    bytes,
                    count: super::difference::between(row.a_count, row.b_count),
                    per_step_bytes: steps
                        .filter(|steps| *steps > 0)
                        .map(|steps| bytes / u64::from(steps)),
                    made_bytes: of(&made),
                    confirmed_bytes: of(&confirmed),
                }
            })
            .collect();
        growing.sort_by(|a, b| {
            let key = |row: &Growing| (row.confirmed_bytes, row.bytes);
            key(b).cmp(&key(a)).then_with(|| a.stack.cmp(&b.stack))
        });
        Some(Growth {
            moments: moments.iter().map(|run| run.name.clone()).collect(),
            allocated_bytes: moments.iter().map(|run| run.end.bytes()).collect(),
            steps,
            growing,
            is_confirmed,
        })
    }
}

/// Steps of `last` that `first` has not; `None` without a clock, without steps, or where the trace of
/// `last` does not reach back to `first`.
///
/// Steps are counted in each file by itself: what follows a step's last entry in `first` is the
/// begin of a next one in `last`, so that begins alone would tell one step too few.
fn steps_between(first: &Run, last: &Run) -> Option<u32> {
    let [_, first_end] = first.fingerprint.clock_us?;
    let [last_begin, _] = last.fingerprint.clock_us?;
    let origin = last.steps.first()?.begin_us?;
    if last_begin > first_end {
        return None;
    }
    let begins = || first.steps.iter().filter_map(|step| step.begin_us);
    let begun_later = begins().filter(|us| *us >= origin).count();
    // A ring may have lost the begin of the first step that it still has.
    let is_cut = begins().any(|us| us < origin) && !begins().any(|us| us == origin);
    let known = begun_later + usize::from(is_cut);
    u32::try_from(last.steps.len().checked_sub(known)?).ok()
}

/// Whether `run` holds `live` at its end too: the same block, made at the same time where both
/// traces have that.
fn is_in(live: &Live, run: &Run) -> bool {
    // A moment earlier than its making cannot hold it.
    if let (Some(made), Some([_, end])) = (live.made_us, run.fingerprint.clock_us)
        && made > end
    {
        return false;
    }
    run.live
        .binary_search_by_key(&live.address, |other| other.address)
        .ok()
        .and_then(|place| run.live.get(place))
        .is_some_and(|other| {
            other.bytes == live.bytes
                && other.made_us.zip(live.made_us).is_none_or(|(one, other)| one == other)
        })
}

/// Bytes by call site, known by its frames as the last run's difference to the first names it.
fn by_site(first: &Run, last: &Run, live: &[Live]) -> FxHashMap<Vec<Frame>, u64> {
    let matching = matching(first, last);
    // Several sites of one number are shown as one row, with the frames of the first.
    let mut frames: FxHashMap<u32, Vec<Frame>> = FxHashMap::default();
    let numbers = |site: u32| matching.b.get(site as usize).copied().unwrap_or(0);
    for held in &last.end.held {
        frames
            .entry(numbers(held.site))
            .or_insert_with(|| last.sites.frames_of(held.site).into_iter().cloned().collect());
    }
    let mut sums = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for one in live.iter().filter(|one| seen.insert(one.address)) {
        if let Some(frames) = frames.get(&numbers(one.site)) {
            let sum: &mut u64 = sums.entry(frames.clone()).or_default();
            *sum = sum.saturating_add(one.bytes);
        }
    }
    sums
}
