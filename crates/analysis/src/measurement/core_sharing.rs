//! Computes facts about core sharing that later runs on the machine need. A run whose core is
//! shared throughout can neither detect the sharing nor measure its cost.

use switchcost_record::{MeasureRecord, SharedCost};

use crate::measurement::findings::Findings;
use crate::measurement::paired;
use crate::measurement::run::group_by_case;
use crate::measurement::speed::Speed;

/// Least share of a case's rounds on a shared core, and least share on an unshared core, from which
/// the cost of sharing is computed.
const LEAST_SHARE: f64 = 0.05;

/// Facts about core sharing from one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreSharing {
    /// Least sharing ratio in the run, in thousandths. The sharing ratio is the time of the probe's
    /// independent additions divided by the time of its dependent multiplications; a busy hardware
    /// thread on the same core increases the ratio.
    pub least_per_mille: u32,
    /// Cost of core sharing for each case on one CPU without a working set. Empty if the core was
    /// never shared, or always.
    pub shared_costs: Vec<SharedCost>,
}

/// Returns the facts about core sharing from a record; `None` if the record has too few probes.
pub fn core_sharing(record: &MeasureRecord, findings: &Findings) -> Option<CoreSharing> {
    let speed = Speed::new(record)?;
    let windows = group_by_case(record, &record.cycles, |window| window.case);
    let costs = findings
        .results
        .iter()
        .zip(&windows)
        .filter_map(|(found, windows)| {
            let shared = found.shared.as_ref().filter(|shared| shared.is_left_out)?;
            let is_both = (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&shared.share);
            let is_switch = found.case.placement.is_one_cpu() && found.case.working_set.is_empty();
            let (alone, beside) = (
                found.deciding().filter(|_| is_both && is_switch)?,
                shared.cost_ns.as_ref()?,
            );
            let is_reported =
                alone.is_distinguishable_from_zero() && beside.is_distinguishable_from_zero();
            let cost = (beside.estimate / alone.estimate).max(1.0);
            let ratio = paired::shared_ratio(windows, &speed).filter(|_| is_reported)?;
            Some(SharedCost {
                ratio_per_mille: per_mille(ratio),
                cost_per_mille: per_mille(cost),
            })
        });
    Some(CoreSharing {
        least_per_mille: per_mille(speed.least_ratio()?),
        shared_costs: costs.collect(),
    })
}

fn per_mille(ratio: f64) -> u32 {
    (ratio * 1000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlagName;
    use crate::analyse;
    use crate::testing::{
        Core, SHARED_COST, UNSHARED_PER_MILLE, fake_record_on, only, pipe, seeded,
    };
    use rand::Rng;

    /// Makes a record of a core that is shared in this share of the windows.
    fn record(share: f64) -> MeasureRecord {
        let mut random = seeded(4);
        let core = || Core::shared(random.random_bool(share));
        fake_record_on(vec![pipe(); 12], 24, core)
    }

    fn sharing(record: &MeasureRecord) -> CoreSharing {
        core_sharing(record, &analyse(record)).expect("probes enough")
    }

    #[test]
    fn a_core_that_was_shared_at_times_shows_what_that_costs() {
        let found = sharing(&record(0.6));
        assert!(
            found.least_per_mille.abs_diff(UNSHARED_PER_MILLE) < 5,
            "{found:?}"
        );
        assert_eq!(found.shared_costs.len(), 12);
        for point in found.shared_costs {
            assert!(
                point.cost_per_mille.abs_diff((SHARED_COST * 1000.0) as u32) < 15,
                "{point:?}"
            );
            assert!(point.ratio_per_mille.abs_diff(325) < 5, "{point:?}");
        }
    }

    #[test]
    fn a_core_that_never_was_has_no_cost_of_sharing_to_tell() {
        assert_eq!(sharing(&record(0.0)).shared_costs, []);
        assert_eq!(sharing(&record(1.0)).shared_costs, []);
    }

    /// Shows that the interval extends down by the cost of sharing in earlier runs if many such
    /// costs are known, and further if few are.
    #[test]
    fn earlier_runs_show_a_core_that_is_shared_throughout() {
        let earlier = sharing(&record(0.6));
        let mut throughout = record(1.0);
        let mut direct_with = |costs: usize| {
            let clock = &mut throughout.header.core_clock;
            clock.unshared_per_mille = Some(earlier.least_per_mille);
            clock.shared_costs = earlier.shared_costs[..costs].to_vec();
            let found = only(&throughout);
            let mut flags = found.flags.iter();
            assert!(flags.any(|flag| flag.name == FlagName::SharedCore));
            found.direct_ns.expect("an estimate")
        };
        let (all, few) = (direct_with(12), direct_with(3));
        assert!(
            (1_550.0..1_700.0).contains(&all.low) && all.high > 2_040.0,
            "{all:?}"
        );
        assert!(few.low < 1_100.0, "{few:?}");
    }
}
