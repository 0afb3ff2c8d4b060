use std::collections::BTreeMap;

use ::observation::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

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

/// Returns to a CPU with the most that each may have cost, and how many there were.
pub(super) type Returns = Vec<(AtMost, u64)>;

/// What all returns cost at most, when each costs no more than the time until its task left again, less what the switch itself took.
///
/// Which return belonged to which turn is not known. The sum of the smaller of two is largest where the dearest returns have the longest
/// turns.
pub(super) fn limited(mut returns: Returns, turns: &Histogram, direct_ns: f64) -> Vec<Limited> {
    returns.sort_by(|a, b| b.0.ns.total_cmp(&a.0.ns));
    let room = |to: Option<f64>| to.map_or(f64::INFINITY, |to| (to - direct_ns).max(0.0));
    let mut rooms: Vec<(f64, u64)> =
        turns.buckets().map(|(_, to, count)| (room(to.map(|to| to.0 as f64)), count)).collect();
    let mut sums: BTreeMap<Limit, (u64, f64)> = BTreeMap::new();
    for (most, mut count) in returns {
        while count > 0 {
            // A turn that is not over, or of an older record, is told by nobody.
            let (room, taken) = take(&mut rooms, count).unwrap_or((f64::INFINITY, count));
            let (by, ns) = if room < most.ns { (Limit::Turn, room) } else { (most.limit, most.ns) };
            let sum = sums.entry(by).or_default();
            *sum = (sum.0.saturating_add(taken), sum.1 + ns * taken as f64);
            count -= taken;
        }
    }
    sums.into_iter().map(|(by, (switches, ns))| Limited { by, switches, ns }).collect()
}

/// Some of the longest turns that are left.
fn take(rooms: &mut Vec<(f64, u64)>, count: u64) -> Option<(f64, u64)> {
    let (room, left) = rooms.last_mut()?;
    let found = (*room, count.min(*left));
    *left -= found.1;
    if *left == 0 {
        rooms.pop();
    }
    Some(found)
}

/// The same limits of several tasks together.
pub(super) fn together(all: impl IntoIterator<Item = Limited>) -> Vec<Limited> {
    let mut sums: BTreeMap<Limit, Limited> = BTreeMap::new();
    for each in all {
        let sum = sums.entry(each.by).or_insert(Limited { switches: 0, ns: 0.0, ..each });
        sum.switches = sum.switches.saturating_add(each.switches);
        sum.ns += each.ns;
    }
    sums.into_values().filter(|limited| limited.switches > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(ns: f64) -> AtMost {
        AtMost { ns, limit: Limit::Others }
    }

    #[test]
    fn the_dearest_returns_have_the_longest_turns() {
        // Two turns of less than 512 ns and one of less than 1,024; the switch itself takes 100 of each.
        let turns = Histogram::of([0, 0, 2, 0, 1, 0]);
        let found = limited(vec![(most(100.0), 1), (most(600.0), 2)], &turns, 100.0);
        let expected = [
            Limited { by: Limit::Others, switches: 2, ns: 700.0 },
            Limited { by: Limit::Turn, switches: 1, ns: 412.0 },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_turn_that_nobody_tells_limits_nothing() {
        let found = limited(vec![(most(600.0), 2)], &Histogram::of([1, 0]), 100.0);
        let expected = [
            Limited { by: Limit::Others, switches: 1, ns: 600.0 },
            Limited { by: Limit::Turn, switches: 1, ns: 156.0 },
        ];
        assert_eq!(found, expected);
        let endless = limited(vec![(most(600.0), 1)], &Histogram::of([0, 1]), 100.0);
        assert_eq!(endless, [Limited { by: Limit::Others, switches: 1, ns: 600.0 }]);
    }
}
