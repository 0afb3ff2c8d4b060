//! Computes the lengths of segments, and how many other processes run between two segments of a
//! process.

use switchcost_design::result::{Simulation, SwitchCause};

use super::findings::{CLASSES, Group, LengthDistribution, LengthPoint, class_of};
use crate::statistics::order_statistics::nearest_rank;

/// Largest number of points of a distribution of lengths.
const POINTS: usize = 100;

/// Causes at the beginning and the end of one segment, and its length in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) cause: u32,
    pub(crate) end: u32,
    pub(crate) instructions: u64,
}

/// All segments of a trace, shortest first.
pub(crate) struct Lengths {
    segments: Vec<Segment>,
}

impl Lengths {
    pub(crate) fn new(mut segments: Vec<Segment>, head: &Simulation) -> Self {
        segments.retain(|segment| {
            (segment.cause as usize) < head.causes.len()
                && (segment.end as usize) < head.causes.len()
        });
        segments.sort_unstable_by_key(|segment| segment.instructions);
        Lengths { segments }
    }

    /// Whether segment lengths are unknown, because no design distinguishes segments.
    pub(crate) fn are_unknown(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the lengths of the segments for which `is_member` is true, ascending, in
    /// instructions.
    pub(crate) fn select(&self, is_member: impl Fn(&Segment) -> bool) -> Vec<u64> {
        self.segments
            .iter()
            .filter(|segment| is_member(segment))
            .map(|segment| segment.instructions)
            .collect()
    }

    /// Returns the distributions of lengths: of all segments, by class at the beginning, and by
    /// class at the end.
    pub(crate) fn distributions(&self, head: &Simulation) -> Vec<LengthDistribution> {
        let class = |cause: u32| {
            head.causes
                .get(cause as usize)
                .map(|cause: &SwitchCause| class_of(cause))
        };
        let mut groups = vec![(Group::All, self.select(|_| true))];
        for (number, name) in CLASSES.into_iter().enumerate() {
            groups.push((
                Group::Class(name),
                self.select(|segment| class(segment.cause) == Some(number)),
            ));
        }
        for (number, name) in CLASSES.into_iter().enumerate() {
            groups.push((
                Group::EndClass(name),
                self.select(|segment| class(segment.end) == Some(number)),
            ));
        }
        let step = head.interval_instructions;
        groups
            .into_iter()
            .filter_map(|(group, lengths)| distribution(group, &lengths, step))
            .collect()
    }
}

fn distribution(group: Group, sorted: &[u64], step: u64) -> Option<LengthDistribution> {
    let n = sorted.len() as f64;
    let max = *sorted.last()?;
    let sum: u128 = sorted.iter().map(|length| u128::from(*length)).sum();
    let share = |x| sorted.partition_point(|length| *length <= x) as f64 / n;
    Some(LengthDistribution {
        group,
        segments: sorted.len() as u64,
        median_instructions: nearest_rank(sorted, 0.5)?,
        mean_instructions: sum as f64 / n,
        max_instructions: max,
        points: places(max, step)
            .map(|x| LengthPoint {
                instructions: x,
                share: share(x),
            })
            .collect(),
    })
}

/// Returns the lengths at which a distribution is given, in instructions: multiples of `step`, and
/// `max`. If there would be more than 100, the step is longer.
fn places(max: u64, step: u64) -> impl Iterator<Item = u64> {
    let step = step.max(max.div_ceil(POINTS as u64)).max(1);
    let inner = (1..=POINTS as u64)
        .map(move |i| step.saturating_mul(i))
        .take_while(move |x| *x < max);
    inner.chain([max])
}

/// Counts the other processes that run before a process returns: the position of the process in a
/// list of the most recent ones.
#[derive(Default)]
pub(crate) struct Turns {
    recent: Vec<u32>,
    others: u64,
    returns: u64,
}

impl Turns {
    pub(crate) fn add(&mut self, process: u32) {
        match self.recent.iter().position(|other| *other == process) {
            Some(0) => (),
            Some(place) => {
                self.others += place as u64;
                self.returns += 1;
                self.recent[..=place].rotate_right(1);
            }
            None => self.recent.insert(0, process),
        }
    }

    /// Returns the mean number of distinct other processes between a departure and the return;
    /// `None` if no process has returned.
    pub(crate) fn mean_others(&self) -> Option<f64> {
        (self.returns > 0).then(|| self.others as f64 / self.returns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_counts_what_is_not_longer() {
        let found = distribution(Group::All, &[5, 10, 10, 25], 10).expect("four");
        let point = |(instructions, share)| LengthPoint {
            instructions,
            share,
        };
        assert_eq!(found.points, [(10, 0.75), (20, 0.75), (25, 1.0)].map(point));
        assert_eq!(
            (
                found.median_instructions,
                found.mean_instructions,
                found.max_instructions
            ),
            (10, 12.5, 25)
        );
        assert_eq!(distribution(Group::All, &[], 10), None);
    }

    #[test]
    fn a_distribution_has_a_hundred_points_at_most() {
        let found = distribution(Group::All, &[1, 1_000_000], 10).expect("two");
        assert_eq!(found.points.len(), 100);
        assert_eq!(
            found.points.last(),
            Some(&LengthPoint {
                instructions: 1_000_000,
                share: 1.0
            })
        );
    }

    #[test]
    fn others_are_counted_once_between_departure_and_return() {
        let mean = |order: &[u32]| {
            let mut turns = Turns::default();
            order.iter().for_each(|process| turns.add(*process));
            turns.mean_others()
        };
        assert_eq!(mean(&[1, 1, 2]), None, "no task came back");
        assert_eq!(mean(&[1, 2, 1, 2, 1]), Some(1.0));
        assert_eq!(mean(&[1, 2, 3, 2, 3, 1]), Some((1.0 + 1.0 + 2.0) / 3.0));
    }
}
