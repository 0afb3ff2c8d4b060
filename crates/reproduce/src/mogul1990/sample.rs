//! Numbers of trials, and their means with intervals.
//!
//! A further trial would be another trace, and a further part of the same trace would differ, too.
//! Intervals are therefore those of the hierarchical bootstrap, over trials and over batches of
//! segments within them, if a number has batches. Ratios on the same trace are formed batch by
//! batch. A single trial has only the interval of its batches. A single trial without batches has
//! no interval, and decides nothing.

use switchcost_analysis::simulation::{Cost, DesignFinding, Group, GroupFinding, Point};

use super::{SETS, Trial, trials};
use crate::claims::{Term, exact};
use crate::interval::{Interval, batch_interval, error_of_batches, group_interval};
use crate::records::require;
use crate::text::number;
use crate::{Outcome, Records};

pub(super) const TIMESHARING: usize = 0;

pub(super) const COMPUTE: usize = 1;

pub(super) const CLIENT: usize = 2;

pub(super) const LARGER: [[&str; 2]; 2] = [["1a", "1b"], ["2a", "2b"]];

/// A number of one trial, and its values with each batch of segments left out once. The list is
/// empty if the values are unknown.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) trial: u64,
    pub(super) value: f64,
    pub(super) without_one: Vec<f64>,
}

impl Sample {
    /// Returns a cost of a trial, with its values without each batch; `None` if the cost is
    /// unknown.
    pub(super) fn of(trial: &Trial<'_>, cost: &Cost) -> Option<Sample> {
        Some(Sample {
            trial: trial.number,
            value: cost.estimate?,
            without_one: cost.without_one.clone(),
        })
    }

    #[cfg(test)]
    pub(super) fn from_batches(value: f64, without_one: Vec<f64>) -> Sample {
        Sample {
            trial: 1,
            value,
            without_one,
        }
    }

    /// Returns the trial's value on a scale, and the standard error of this value over the batches.
    fn grouped(&self, scale: fn(f64) -> f64) -> (f64, f64) {
        let batches: Vec<f64> = self.without_one.iter().map(|value| scale(*value)).collect();
        (scale(self.value), error_of_batches(&batches))
    }
}

/// Returns a number of each trial of a set of programs, without trials that lack the number.
pub(super) fn samples(
    records: &Records,
    set: usize,
    of: impl Fn(&Trial<'_>) -> Option<f64>,
) -> Outcome<Vec<Sample>> {
    let all = trials(records, &SETS[set])?;
    let sample = |trial: &Trial<'_>| {
        Some(Sample {
            trial: trial.number,
            value: of(trial)?,
            without_one: Vec::new(),
        })
    };
    let found: Vec<Sample> = all.iter().filter_map(sample).collect();
    require(
        found,
        1,
        format!("no trial of {} has enough segments", SETS[set].published),
    )
}

/// Returns a cost of each trial of a set of programs, with its batches.
pub(super) fn costs(
    records: &Records,
    set: usize,
    design: &str,
    of: fn(&DesignFinding) -> &Cost,
) -> Outcome<Vec<Sample>> {
    costs_of(&trials(records, &SETS[set])?, design, of)
}

/// Returns a cost of each of the given trials, with its batches.
pub(super) fn costs_of(
    all: &[Trial<'_>],
    design: &str,
    of: fn(&DesignFinding) -> &Cost,
) -> Outcome<Vec<Sample>> {
    let sample = |trial: &Trial<'_>| Sample::of(trial, of(trial.design(design)?));
    let found: Vec<Sample> = all.iter().filter_map(sample).collect();
    require(found, 1, format!("no trial has a cost on mogul-{design}"))
}

/// Divides samples trial by trial; batch by batch if both are from the same traces.
pub(super) fn over(above: &[Sample], below: &[Sample], are_same_traces: bool) -> Vec<Sample> {
    combine(above, below, are_same_traces, |a, b| a / b)
}

/// Subtracts samples trial by trial; batch by batch if both are from the same traces.
pub(super) fn less(above: &[Sample], below: &[Sample], are_same_traces: bool) -> Vec<Sample> {
    combine(above, below, are_same_traces, |a, b| a - b)
}

fn combine(
    ones: &[Sample],
    others: &[Sample],
    are_same_traces: bool,
    of: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let pair = |one: &Sample| {
        let other = others.iter().find(|other| other.trial == one.trial)?;
        let is_paired = are_same_traces && one.without_one.len() == other.without_one.len();
        let batches = one.without_one.iter().zip(&other.without_one);
        Some(Sample {
            trial: one.trial,
            value: of(one.value, other.value),
            without_one: batches
                .filter(|_| is_paired)
                .map(|(one, other)| of(*one, *other))
                .collect(),
        })
    };
    ones.iter().filter_map(pair).collect()
}

/// Returns the geometric mean of ratios or costs over trials, with its interval; an error if a
/// value is not above 0.
pub(super) fn geometric(name: impl Into<String>, samples: &[Sample]) -> Outcome<Term> {
    let all = samples
        .iter()
        .flat_map(|sample| sample.without_one.iter().chain([&sample.value]));
    if all.into_iter().any(|value| value.is_nan() || *value <= 0.0) {
        return Err("a number is not above 0".to_owned());
    }
    let logarithms =
        |values: &mut dyn Iterator<Item = f64>| values.map(f64::ln).collect::<Vec<f64>>();
    let interval = match samples {
        [one] if one.without_one.is_empty() => Some(Interval::exact(one.value.ln())),
        [one] => batch_interval(
            one.value.ln(),
            &logarithms(&mut one.without_one.iter().copied()),
        ),
        all => group_interval(
            &all.iter()
                .map(|one| one.grouped(f64::ln))
                .collect::<Vec<_>>(),
        ),
    };
    let mean = interval.ok_or("one trial has no spread: run another")?;
    Ok(Term::new(name, mean.map(f64::exp)))
}

/// Returns the mean of shares or differences over trials, with its interval.
pub(super) fn arithmetic(name: impl Into<String>, samples: &[Sample]) -> Outcome<Term> {
    if let [one] = samples {
        return Ok(exact(name, one.value));
    }
    let groups: Vec<(f64, f64)> = samples
        .iter()
        .map(|sample| sample.grouped(|value| value))
        .collect();
    let mean = group_interval(&groups).ok_or("one trial has no spread: run another")?;
    Ok(Term::new(name, mean))
}

pub(super) fn trials_of(samples: &[Sample]) -> String {
    if samples.len() == 1 {
        "within one trial".to_owned()
    } else {
        format!("{} trials", samples.len())
    }
}

/// Formats the mean of the samples, multiplied by `scale`, for the note on a ratio.
pub(super) fn level(samples: &[Sample], scale: f64) -> String {
    number(
        samples.iter().map(|sample| sample.value).sum::<f64>() / samples.len().max(1) as f64
            * scale,
    )
}

pub(super) const ALL: Group = Group::All;

pub(super) const FAULT: Group = Group::Class("page fault");

pub(super) const SCHEDULER: Group = Group::Class("involuntary");

pub(super) fn group<'a>(design: &'a DesignFinding, wanted: &Group) -> Option<&'a GroupFinding> {
    design
        .groups
        .iter()
        .find(|found| found.group == *wanted && !found.curve.is_empty())
}

/// Least mean number of segments that must reach a part of a curve for the part to have a value.
pub(super) const FEWEST_SEGMENTS: f64 = 20.0;

/// Returns the mean of a part of a curve, weighted by the number of segments that reach each
/// interval; `None` with too few segments.
fn stretch(points: &[&Point], value: fn(&Point) -> f64) -> Option<f64> {
    let weights: f64 = points.iter().map(|point| point.segments as f64).sum();
    let reaching = weights / points.len() as f64;
    (reaching >= FEWEST_SEGMENTS).then(|| {
        points
            .iter()
            .map(|point| value(point) * point.segments as f64)
            .sum::<f64>()
            / weights
    })
}

/// Returns the points of a group's curve before the cut-off of all switches; `None` if the design
/// lacks the group.
fn points_before_cut<'a>(design: &'a DesignFinding, wanted: &Group) -> Option<Vec<&'a Point>> {
    let is_before = |point: &&Point| point.since_switch_instructions < design.cut.instructions;
    let curve = &group(design, wanted)?.curve;
    Some(curve.iter().filter(is_before).collect())
}

/// Returns the mean of the first tenth of a group's curve; `None` with too few segments. Few
/// segments may reach the rest of the curve.
pub(super) fn first_tenth(
    design: &DesignFinding,
    wanted: &Group,
    value: fn(&Point) -> f64,
) -> Option<f64> {
    let within = points_before_cut(design, wanted)?;
    stretch(within.get(..(within.len() / 10).max(1))?, value)
}

/// Returns the means of the first and the last tenth of two groups' curves, in the part that enough
/// segments of both groups reach; `None` if this part has fewer than 8 points.
pub(super) fn common_ends(
    design: &DesignFinding,
    groups: [&Group; 2],
    value: fn(&Point) -> f64,
) -> Option<[[f64; 2]; 2]> {
    let [one, other] = groups.map(|wanted| group(design, wanted));
    let (one, other) = (&one?.curve, &other?.curve);
    let is_reached =
        |(a, b): &(&Point, &Point)| a.segments.min(b.segments) as f64 >= FEWEST_SEGMENTS;
    let length = one.iter().zip(other).take_while(is_reached).count();
    let tenth = (length / 10).max(1);
    if length < 8 {
        return None;
    }
    let mean = |points: &[Point]| stretch(&points.iter().collect::<Vec<_>>(), value);
    let ends = |points: &[Point]| {
        Some([
            mean(&points[..tenth])?,
            mean(&points[length - tenth..length])?,
        ])
    };
    Some([ends(one)?, ends(other)?])
}

/// Returns the means of the first tenth, the middle fifth and the last tenth of a group's curve
/// before the cut-off of all switches; `None` with fewer than 8 points or too few segments.
pub(super) fn tenths(
    design: &DesignFinding,
    wanted: &Group,
    value: fn(&Point) -> f64,
) -> Option<[f64; 3]> {
    let within = points_before_cut(design, wanted)?;
    let (length, tenth) = (within.len(), (within.len() / 10).max(1));
    let middle = length / 2;
    let of = |from: usize, to: usize| stretch(&within[from..to], value);
    if length < 8 {
        return None;
    }
    Some([
        of(0, tenth)?,
        of(middle - tenth, middle + tenth)?,
        of(length - tenth, length)?,
    ])
}

/// Returns the means of the first and the last tenth of a group's curve before the cut-off of all
/// switches; `None` with fewer than 8 points or too few segments.
pub(super) fn ends(
    design: &DesignFinding,
    wanted: &Group,
    value: fn(&Point) -> f64,
) -> Option<(f64, f64)> {
    tenths(design, wanted, value).map(|[early, _, late]| (early, late))
}
