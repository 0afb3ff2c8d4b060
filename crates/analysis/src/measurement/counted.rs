//! Numbers of switches per hand-off for each repetition, from which an interval can be computed.

use std::collections::BTreeMap;

use switchcost_record::{Cycles, MeasureRecord};

use crate::measurement::judged::Judged;

/// Returns the number of switches per hand-off in each repetition of a case, from clean windows.
/// Empty if there are none.
pub fn switches_of_repetitions(record: &MeasureRecord, case_index: usize) -> Vec<f64> {
    let Some(case) = record.header.plan.cases.get(case_index) else {
        return Vec::new();
    };
    let mut repetitions: BTreeMap<u32, Vec<&Cycles>> = BTreeMap::new();
    for window in record
        .cycles
        .iter()
        .filter(|window| window.case as usize == case_index)
    {
        repetitions
            .entry(window.repetition)
            .or_default()
            .push(window);
    }
    let rate = record.header.clock.ticks_per_second;
    let counted = |windows: Vec<&Cycles>| {
        let judged = Judged::new(case, rate, Vec::new(), windows);
        if judged.windows.is_empty() {
            None
        } else {
            judged.switches_per_handoff()
        }
    };
    repetitions.into_values().filter_map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fake_record, pipe};
    use switchcost_record::SwitchPlan;

    #[test]
    fn each_repetition_has_its_own_count() {
        let mut blog = pipe();
        blog.switches_per_handoff = 2.0;
        let plan = SwitchPlan {
            low_per_mille: 1000,
            high_per_mille: 2500,
        };
        let record = fake_record(vec![blog.change(|case| case.switches = Some(plan))], 6);
        let counts = switches_of_repetitions(&record, 0);
        assert!(
            counts.len() == 6 && counts.iter().all(|count| (count - 2.0).abs() < 0.01),
            "{counts:?}"
        );
        assert_eq!(switches_of_repetitions(&record, 1), [0.0_f64; 0]);
    }
}
