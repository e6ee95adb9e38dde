//! The shape of a device's usage over time, as one would see it in the timeline: a single spike, a
//! climb, a saw, a high level, or the even waves of healthy steps.

use super::steps::Step;
use crate::timeline::Timeline;
use serde::Serialize;

/// A shape.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One step, or the only one, rises far above the rest.
    Spike,
    /// The least usage of the steps rises and does not come down.
    Climb,
    /// The least usage rises and falls at once, again and again.
    Saw,
    /// Most of the peak is there all the time.
    Level,
    /// Steps rise and fall alike.
    Waves,
}

/// A shape and where it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Shape {
    /// Which.
    pub form: Form,
    /// First entry.
    pub begin: u32,
    /// One past the last entry.
    pub end: u32,
}

/// Steps from which on a course shows.
const STEPS: usize = 5;
/// First steps that may keep what they make.
const WARM_UP: usize = 2;
/// Rise of the least usage, as a share of the peak, that the eye sees.
const RISE: f64 = 0.05;
/// Share of the changes from step to step that go upwards in a climb.
const UPWARDS: f64 = 0.8;
/// A fall by this share of what had gathered is a tooth.
const FALL: f64 = 0.5;
/// A level holds this share of the peak, from this share of the entries on.
const HIGH: f64 = 0.7;
const LONG: f64 = 0.3;
/// A peak above this many times the steps' median peak is a spike.
const SPIKE: f64 = 1.3;

impl Form {
    /// The same for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Form::Spike => "single spike",
            Form::Climb => "step-like climb",
            Form::Saw => "sawtooth",
            Form::Level => "flat high level",
            Form::Waves => "even waves",
        }
    }

    /// What such a shape usually means.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Form::Spike => "One moment needs far more than the rest: look at the stack there.",
            Form::Climb => {
                "Each step leaves something behind: references are kept, or a buffer still fills."
            }
            Form::Saw => {
                "Something gathers over many steps and goes at once: the cyclic collector, or a list that is cleared."
            }
            Form::Level => {
                "Most of it is there all the time: weights, gradients and optimizer states, or a cache."
            }
            Form::Waves => "Each step takes memory and gives it back: no growth.",
        }
    }
}

/// The shape of a device's usage; `None` without a trace. `resident` says how many bytes of what is
/// live after an entry stay from step to step.
#[must_use]
pub fn shape_of(
    timeline: &Timeline,
    steps: &[Step],
    resident: impl Fn(u32) -> u64,
) -> Option<Shape> {
    let peak = timeline.peaks.allocated;
    let end = timeline.ooms.last().map_or(timeline.entries(), |oom| oom.entry + 1);
    if end == 0 || peak.bytes == 0 {
        return None;
    }
    let steps: Vec<&Step> = steps.iter().filter(|step| step.begin < end).collect();
    if steps.len() >= STEPS
        && let Some(shape) = course(&steps, peak.bytes, end)
    {
        return Some(shape);
    }
    let mut peaks: Vec<u64> = steps.iter().map(|step| step.peak).collect();
    peaks.sort_unstable();
    let median = peaks.get(peaks.len() / 2).copied().unwrap_or(0);
    let reached = timeline.ooms.last().map_or(peak.bytes, |oom| {
        peak.bytes.max(oom.usage.allocated.saturating_add(oom.request_bytes))
    });
    let highest = if timeline.ooms.is_empty() { peak.entry } else { end - 1 };
    if peaks.len() >= 3 && reached as f64 > SPIKE * median as f64 {
        let step = steps.iter().rfind(|step| step.begin <= highest)?;
        return Some(Shape { form: Form::Spike, begin: step.begin, end: step.end.min(end) });
    }
    let begin = high_from(timeline, peak.bytes, end);
    let is_long = f64::from(end - begin) >= LONG * f64::from(end);
    if is_long || resident(highest) as f64 >= HIGH * peak.bytes as f64 {
        return Some(Shape { form: Form::Level, begin, end });
    }
    if peaks.len() >= 3 && timeline.ooms.is_empty() {
        let begin = steps.first().map_or(0, |step| step.begin);
        return Some(Shape { form: Form::Waves, begin, end });
    }
    // The only rise, or the last: from half of its height on.
    let half = peak.bytes / 2;
    let below =
        timeline.usage.allocated.get(..highest as usize)?.iter().rposition(|held| *held < half);
    let begin = below.map_or(0, |place| place as u32 + 1);
    Some(Shape { form: Form::Spike, begin, end: (highest + 1).min(end) })
}

/// A climb or a saw, by the steps' least usage.
fn course(steps: &[&Step], peak: u64, end: u32) -> Option<Shape> {
    let steps = steps.get(WARM_UP..)?;
    // A last step cut short has not come down yet, nor a first one begun late.
    let least: Vec<u64> = steps.iter().map(|step| step.baseline).collect();
    let (begin, first) = (steps.first()?.begin, *least.first()?);
    let seen = (RISE * peak as f64) as u64;
    let changes: Vec<(u64, u64)> = least.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let upwards = changes.iter().filter(|(before, after)| after > before).count();
    let mut teeth = 0;
    let mut lowest = first;
    for (before, after) in &changes {
        lowest = lowest.min(*before);
        let gathered = before.saturating_sub(lowest);
        if before.saturating_sub(*after) as f64 >= FALL * gathered as f64 && gathered >= seen {
            teeth += 1;
            lowest = *after;
        }
    }
    let rise = least.last()?.saturating_sub(first);
    let form = if teeth >= 1 && upwards as f64 >= 0.5 * changes.len() as f64 {
        Form::Saw
    } else if rise >= seen && upwards as f64 >= UPWARDS * changes.len() as f64 {
        Form::Climb
    } else {
        return None;
    };
    Some(Shape { form, begin, end })
}

/// From where on usage never falls below [`HIGH`] of the peak until `end`.
fn high_from(timeline: &Timeline, peak: u64, end: u32) -> u32 {
    let held = timeline.usage.allocated.get(..end as usize).unwrap_or_default();
    let below = held.iter().rposition(|bytes| (*bytes as f64) < HIGH * peak as f64);
    below.map_or(0, |place| place as u32 + 1).min(end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of steps whose least usage is `least`, after two of a warm-up, under a peak of 100.
    fn form(least: &[u64]) -> Option<Form> {
        let baselines = [90, 0].iter().chain(least);
        let steps: Vec<Step> = (0..)
            .zip(baselines)
            .map(|(place, baseline)| {
                let begin = 10 * place;
                Step { begin, end: begin + 10, baseline: *baseline, peak: 100, trains: true }
            })
            .collect();
        let shape = course(&steps.iter().collect::<Vec<_>>(), 100, 1000)?;
        assert_eq!((shape.begin, shape.end), (20, 1000));
        Some(shape.form)
    }

    #[test]
    fn a_climb_rises_by_a_twentieth_of_the_peak_in_four_of_five_changes() {
        assert_eq!(form(&[10, 11, 12, 13, 14, 15]), Some(Form::Climb));
        assert_eq!(form(&[10, 11, 12, 13, 14]), None);
        assert_eq!(form(&[10, 12, 14, 14, 16, 18]), Some(Form::Climb));
        assert_eq!(form(&[10, 12, 14, 14, 14, 18]), None);
        assert_eq!(form(&[18, 16, 14, 12, 10]), None);
        assert_eq!(form(&[]), None);
    }

    #[test]
    fn a_tooth_gathers_a_twentieth_of_the_peak_and_loses_half_of_it_at_once() {
        assert_eq!(form(&[10, 20, 30, 10, 20, 30]), Some(Form::Saw));
        assert_eq!(form(&[10, 30, 20, 30]), Some(Form::Saw));
        assert_eq!(form(&[10, 30, 21, 30]), None);
        assert_eq!(form(&[10, 15, 10, 15]), Some(Form::Saw));
        assert_eq!(form(&[10, 14, 10, 14]), None);
    }

    #[test]
    fn a_saw_rises_at_least_as_often_as_it_does_not() {
        assert_eq!(form(&[10, 30, 10, 30, 30]), Some(Form::Saw));
        assert_eq!(form(&[10, 30, 10, 30, 30, 30]), None);
        // What gathers is counted from the lowest before it, not from the first.
        assert_eq!(form(&[20, 10, 20, 14, 24]), Some(Form::Saw));
    }
}
