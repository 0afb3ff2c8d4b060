use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{Observation, Tasks, Why};

use super::Range;
use super::{cost, known};

/// Switches of some tasks for one reason, with their direct cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CauseCost {
    /// Reason for the switches; `None` if reasons were not counted.
    pub why: Option<Why>,
    /// Number of switches with this reason.
    pub switches: u64,
    /// Direct cost of the switches with this reason, in nanoseconds; `None` if the cost of a switch
    /// on the machine is unknown.
    pub direct_ns: Option<Range>,
}

impl CauseCost {
    fn add(&mut self, other: CauseCost) {
        self.switches = self.switches.saturating_add(other.switches);
        self.direct_ns = self.direct_ns.zip(other.direct_ns).map(|(a, b)| a.plus(b));
    }
}

/// Returns the switches of these tasks by reason, most frequent first, with their direct costs.
pub(super) fn find(tasks: &[&Tasks], observation: &Observation) -> Vec<CauseCost> {
    let mut sums: BTreeMap<Option<Why>, CauseCost> = BTreeMap::new();
    for cost in tasks
        .iter()
        .flat_map(|tasks| cost_causes(tasks, observation))
    {
        sums.entry(cost.why)
            .and_modify(|sum| sum.add(cost))
            .or_insert(cost);
    }
    let mut found: Vec<CauseCost> = sums
        .into_values()
        .filter(|cost| cost.switches > 0)
        .collect();
    found.sort_by_key(|cost| std::cmp::Reverse(cost.switches));
    found
}

fn cost_causes(tasks: &Tasks, observation: &Observation) -> Vec<CauseCost> {
    let costs = known::costs(observation, tasks);
    if tasks.causes.is_empty() {
        let direct_ns = costs.and_then(|costs| cost::direct(tasks, costs));
        return vec![CauseCost {
            why: None,
            switches: tasks.switches(),
            direct_ns,
        }];
    }
    let causes = tasks.causes.iter().map(|cause| CauseCost {
        why: Some(cause.why),
        switches: cause.switches,
        direct_ns: costs.and_then(|costs| cost::cost_of_cause(cause, costs)),
    });
    causes.collect()
}

#[cfg(test)]
mod tests {
    use super::super::analyse;
    use super::super::tests::{cause, observation, read, tasks};
    use super::*;
    use switchcost_record::observation::Entry;

    #[test]
    fn the_costs_of_all_causes_add_up_to_the_direct_cost() {
        let causes = vec![
            cause(Why::Blocked, read(), 100),
            cause(Why::SliceEnded, Entry::Interrupt, 10),
            cause(Why::Blocked, Entry::PageFault, 20),
        ];
        let found = analyse(&observation(tasks(causes))).all;
        let by_cause: Vec<_> = found
            .causes
            .iter()
            .map(|cost| (cost.why, cost.switches))
            .collect();
        assert_eq!(
            by_cause,
            [(Some(Why::Blocked), 120), (Some(Why::SliceEnded), 10)]
        );
        let sum = found
            .causes
            .iter()
            .filter_map(|cost| cost.direct_ns)
            .reduce(|a, b| a.plus(b))
            .expect("priced");
        let direct = found.direct_ns.expect("priced");
        let both = [(sum.low, direct.low), (sum.high, direct.high)];
        assert!(
            both.iter().all(|(a, b)| (a - b).abs() < 1e-6),
            "{sum:?} is not {direct:?}"
        );
    }

    #[test]
    fn switches_without_a_cause_have_a_cost_of_their_own() {
        let counted = Tasks {
            voluntary: 5,
            involuntary: 2,
            ..tasks(Vec::new())
        };
        let found = analyse(&observation(counted)).all;
        let [one] = found.causes.as_slice() else {
            panic!("one: {:?}", found.causes)
        };
        assert_eq!(
            (one.why, one.switches, one.direct_ns),
            (None, 7, found.direct_ns)
        );
    }
}
