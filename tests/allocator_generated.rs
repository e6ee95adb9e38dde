//! The allocator on generated programs: its answers are those of a second implementation, its blocks
//! stay sound whatever is asked, and all memory returns.

use oomscope::allocator::block::State;
use oomscope::allocator::cache::{Allocator, Bounds};
use oomscope::allocator::driver::{Driver, Reservations, Shuffled};
use oomscope::allocator::program::Request;
use oomscope::allocator::settings::Settings;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Operations of a generated program.
const STEPS: u32 = 1_500;

/// Every option alone and some together: expandable segments, split limits, garbage collection,
/// rounding, segment sizes.
const CONFS: [&str; 8] = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "garbage_collection_threshold:0.5",
    "roundup_power2_divisions:4",
    "expandable_segments:True,max_split_size_mb:32,garbage_collection_threshold:0.7",
    "max_split_size_mb:20,garbage_collection_threshold:0.3,roundup_power2_divisions:[1:8,64:2,>:4]",
    "large_segment_size_mb:40,max_non_split_rounding_mb:64,max_split_size_mb:128",
];

/// Limits and capacities in MiB.
const BOUNDS: [(Option<u64>, Option<u64>); 4] =
    [(None, None), (Some(700), None), (None, Some(900)), (Some(600), Some(650))];

fn settings(conf: &str) -> Settings {
    Settings::parse(conf).unwrap().settings
}

fn mebibytes((limit, capacity): (Option<u64>, Option<u64>)) -> Bounds {
    let bytes = |mebibytes| mebibytes * MIB;
    Bounds { limit: limit.map(bytes), capacity: capacity.map(bytes) }
}

/// A small generator: the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What a generated program does with one allocator.
struct Play<'a> {
    allocator: Allocator<'a>,
    dice: Dice,
    /// How many pools requests are spread over.
    pools: u64,
    held: Vec<u32>,
    pending: Vec<u32>,
}

impl<'a> Play<'a> {
    fn new(allocator: Allocator<'a>, seed: u64) -> Self {
        let dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        Play { allocator, dice, pools: 2, held: Vec::new(), pending: Vec::new() }
    }

    /// Requests of all sizes on two streams and in two pools, frees of both kinds, cleared caches;
    /// a program that is refused lets go of all it holds. False where it was refused.
    fn step(&mut self, step: u32) -> bool {
        let Play { allocator, dice, held, pending, .. } = self;
        match dice.roll(100) {
            0..55 => {
                let magnitude = 3 + dice.roll(25);
                let size = 1 + dice.roll(1 << magnitude);
                let stream = u16::from(dice.roll(4) == 0);
                let pool = u16::from(dice.roll(16) == 0 && self.pools > 1);
                if allocator.allocate(step, step, Request { size, stream, pool }).is_err() {
                    held.drain(..).for_each(|id| allocator.complete(id));
                    return false;
                }
                held.push(step);
            }
            55..90 if !held.is_empty() => {
                let id = held.swap_remove(dice.roll(held.len() as u64) as usize);
                allocator.complete(id);
            }
            90..96 if !held.is_empty() => {
                let id = held.swap_remove(dice.roll(held.len() as u64) as usize);
                allocator.release(id);
                pending.push(id);
            }
            96..98 => pending.drain(..).for_each(|id| allocator.complete(id)),
            98 => allocator.release_cached(),
            _ => {}
        }
        true
    }

    /// Lets go of everything.
    fn end(&mut self) {
        let Play { allocator, held, pending, .. } = self;
        held.drain(..).chain(pending.drain(..)).for_each(|id| allocator.complete(id));
        allocator.release_cached();
    }
}

/// Blocks fill their segments, no two that could be one stand side by side, and the sums are those
/// of the blocks.
fn is_sound(allocator: &Allocator<'_>, bounds: Bounds, what: &str) {
    let (mut reserved, mut active) = (0, 0);
    for segment in allocator.segments() {
        let mut end = segment[0].0;
        let mut last = None;
        for (address, size, state) in segment {
            assert_eq!(address, end, "{what}: a gap or an overlap");
            assert!(size > 0, "{what}: an empty block");
            end = address + size;
            match state {
                State::Allocated | State::Pending => active += size,
                State::Inactive | State::Unmapped => {
                    assert_ne!(last, Some(state), "{what}: two neighbours could be one");
                }
            }
            reserved += if state == State::Unmapped { 0 } else { size };
            last = Some(state);
        }
    }
    let totals = allocator.totals();
    assert_eq!((totals.reserved, totals.active), (reserved, active), "{what}");
    // The limit is tested against the request, and then whole pages are mapped.
    let page = if allocator.segments().any(|segment| segment.iter().any(is_unmapped)) {
        20 * MIB
    } else {
        0
    };
    assert!(bounds.limit.is_none_or(|limit| totals.reserved <= limit + page), "{what}");
    assert!(bounds.capacity.is_none_or(|capacity| totals.reserved <= capacity), "{what}");
}

fn is_unmapped((.., state): &(u64, u64, State)) -> bool {
    *state == State::Unmapped
}

#[test]
fn whatever_is_asked_the_blocks_stay_sound_and_all_memory_returns() {
    let cases = CONFS.iter().flat_map(|conf| BOUNDS.map(|bounds| (conf, mebibytes(bounds))));
    for (seed, (conf, bounds)) in (1..).zip(cases) {
        let driver: Box<dyn Driver> = if seed % 2 == 0 {
            Box::new(Reservations::default())
        } else {
            Box::new(Shuffled::new(3))
        };
        let mut play = Play::new(Allocator::new(settings(conf), bounds, driver), seed);
        // Private pools keep what they have, so every third program has none.
        play.pools = if seed % 3 == 0 { 1 } else { 2 };
        for step in 0..STEPS {
            let what = format!("{conf:?} within {bounds:?}, step {step}");
            assert!(play.step(step) || bounds.is_bounded(), "{what}: refused");
            is_sound(&play.allocator, bounds, &what);
        }
        play.end();
        let what = format!("{conf:?} within {bounds:?}, at the end");
        is_sound(&play.allocator, bounds, &what);
        let totals = play.allocator.totals();
        assert_eq!(totals.active, 0, "{what}");
        if play.pools == 1 {
            assert_eq!((totals.reserved, play.allocator.segments().count()), (0, 0), "{what}");
        }
    }
}

/// The numbers of `fixtures/allocator_cases.json` come from another implementation.
#[test]
fn a_second_implementation_gives_the_same_answers() {
    let text = include_str!("fixtures/allocator_cases.json");
    let table: Value = serde_json::from_str(text).unwrap();
    assert_eq!(table["steps"], STEPS);
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), CONFS.len() * BOUNDS.len());
    for case in cases {
        let bounds = mebibytes((case["limit_mib"].as_u64(), case["capacity_mib"].as_u64()));
        let conf = settings(case["conf"].as_str().unwrap());
        let allocator = Allocator::new(conf, bounds, Box::new(Reservations::default()));
        let mut play = Play::new(allocator, case["seed"].as_u64().unwrap());
        for step in 0..STEPS {
            play.step(step);
        }
        let totals = play.allocator.totals();
        let found = [
            ("peak_reserved", totals.peak_reserved),
            ("peak_active", totals.peak_active),
            ("final_reserved", totals.reserved),
            ("retries", totals.retries),
            ("ooms", totals.ooms),
            ("collected", totals.collected),
        ];
        for (name, number) in found {
            assert_eq!(case[name], number, "{name} of {case}");
        }
    }
}

/// A request may be of any size and an id of any number: nothing overflows.
#[test]
fn absurd_requests_are_refused_or_served_but_never_a_panic() {
    for conf in ["", "expandable_segments:True", "roundup_power2_divisions:8,max_split_size_mb:20"]
    {
        for bounds in [Bounds::NONE, Bounds { limit: Some(1 << 30), capacity: Some(u64::MAX) }] {
            let mut allocator =
                Allocator::new(settings(conf), bounds, Box::new(Reservations::default()));
            for (id, size) in (0..).zip([0, 1, u64::MAX, u64::MAX - 1, 1 << 60, 1 << 63, 512]) {
                let request = Request { size, stream: u16::MAX, pool: u16::MAX };
                let _ = allocator.allocate(u32::MAX, id, request);
            }
            (0..9).for_each(|id| allocator.release(id));
            allocator.release_cached();
            (0..9).for_each(|id| allocator.complete(id));
        }
    }
}

/// The sequence that a maintainer of the allocator published with its figures (PyTorch's devlog of
/// 2026-06-01).
#[test]
fn the_published_example_comes_out_as_published() {
    let mut ids = 0..;
    let mut reserved = |conf: &str, rounds: &[(u32, u64)]| {
        let driver = Box::new(Reservations::default());
        let mut allocator = Allocator::new(settings(conf), Bounds::NONE, driver);
        for (count, size) in rounds {
            let held: Vec<u32> = ids.by_ref().take(*count as usize).collect();
            for id in &held {
                let request = Request { size: *size, stream: 0, pool: 0 };
                allocator.allocate(0, *id, request).unwrap();
            }
            held.iter().for_each(|id| allocator.complete(*id));
        }
        allocator.totals().reserved / MIB
    };
    let (small, large) = ((8, 16 * MIB), (4, 32 * MIB));
    assert_eq!(reserved("", &[small, large]), 256);
    assert_eq!(reserved("expandable_segments:True", &[small, large]), 140);
    assert_eq!(reserved("", &[large, small]), 128);
    assert_eq!(reserved("expandable_segments:True", &[(1, 2 * MIB), (1, MIB / 2)]), 22);
}
