use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::Histogram;

use super::bound::{AtMost, Limit};

/// So many switches whose upper end is limited by the same, and what they cost at most.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Limited {
    /// By what.
    pub by: Limit,
    /// How many switches.
    pub switches: u64,
    /// What they cost at most, together, in nanoseconds; no more than the CPU time.
    pub ns: f64,
}

/// For how long others ran before a return to a CPU, and how many such returns there were.
pub(super) type Returns = Vec<(f64, u64)>;

/// What all returns cost at most, by what each costs at most when others ran for so long and its task then runs for so long, which is more
/// with either.
///
/// Which return belonged to which turn is not known. A sum of products and of the smaller of two, each of which grows with one of them,
/// is largest where the returns after most have the longest turns.
pub(super) fn limited(
    mut returns: Returns,
    turns: &Histogram,
    at_most: impl Fn(f64, f64) -> AtMost,
) -> Vec<Limited> {
    returns.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left: Vec<(f64, u64)> = turns
        .buckets()
        .map(|(_, to, count)| (to.map_or(f64::INFINITY, |to| to.0 as f64), count))
        .collect();
    let mut sums: BTreeMap<Limit, (u64, f64)> = BTreeMap::new();
    for (others_ns, mut count) in returns {
        while count > 0 {
            // A turn that is not over, or of an older record, is not counted.
            let (turn_ns, taken) = take(&mut left, count).unwrap_or((f64::INFINITY, count));
            let AtMost { ns, limit } = at_most(others_ns, turn_ns);
            let sum = sums.entry(limit).or_default();
            *sum = (sum.0.saturating_add(taken), sum.1 + ns * taken as f64);
            count -= taken;
        }
    }
    sums.into_iter()
        .map(|(by, (switches, ns))| Limited { by, switches, ns })
        .collect()
}

/// No more than the turn, of which the switch itself took so much.
pub(super) fn up_to_the_turn(most: AtMost, turn_ns: f64, direct_ns: f64) -> AtMost {
    let room = (turn_ns - direct_ns).max(0.0);
    if room < most.ns {
        AtMost {
            ns: room,
            limit: Limit::Turn,
        }
    } else {
        most
    }
}

/// The sum of all.
pub(super) fn sum(limited: &[Limited]) -> f64 {
    limited.iter().map(|limited| limited.ns).sum()
}

/// Some of the longest turns that are left.
fn take(turns: &mut Vec<(f64, u64)>, count: u64) -> Option<(f64, u64)> {
    let (turn, left) = turns.last_mut()?;
    let found = (*turn, count.min(*left));
    *left -= found.1;
    if *left == 0 {
        turns.pop();
    }
    Some(found)
}

/// The same limits of several tasks together.
pub(super) fn together(all: impl IntoIterator<Item = Limited>) -> Vec<Limited> {
    let mut sums: BTreeMap<Limit, Limited> = BTreeMap::new();
    for each in all {
        let sum = sums.entry(each.by).or_insert(Limited {
            switches: 0,
            ns: 0.0,
            ..each
        });
        sum.switches = sum.switches.saturating_add(each.switches);
        sum.ns += each.ns;
    }
    sums.into_values()
        .filter(|limited| limited.switches > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others cost as much as they ran.
    fn in_turn(others_ns: f64, turn_ns: f64) -> AtMost {
        up_to_the_turn(
            AtMost {
                ns: others_ns,
                limit: Limit::Others,
            },
            turn_ns,
            100.0,
        )
    }

    #[test]
    fn the_dearest_returns_have_the_longest_turns() {
        // Two turns of less than 512 ns and one of less than 1,024; the switch itself takes 100 of each.
        let turns = Histogram::new([0, 0, 2, 0, 1, 0]);
        let found = limited(vec![(100.0, 1), (600.0, 2)], &turns, in_turn);
        let expected = [
            Limited {
                by: Limit::Others,
                switches: 2,
                ns: 700.0,
            },
            Limited {
                by: Limit::Turn,
                switches: 1,
                ns: 412.0,
            },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_turn_that_is_not_known_limits_nothing() {
        let found = limited(vec![(600.0, 2)], &Histogram::new([1, 0]), in_turn);
        let expected = [
            Limited {
                by: Limit::Others,
                switches: 1,
                ns: 600.0,
            },
            Limited {
                by: Limit::Turn,
                switches: 1,
                ns: 156.0,
            },
        ];
        assert_eq!(found, expected);
        let endless = limited(vec![(600.0, 1)], &Histogram::new([0, 1]), in_turn);
        assert_eq!(
            endless,
            [Limited {
                by: Limit::Others,
                switches: 1,
                ns: 600.0
            }]
        );
    }
}
