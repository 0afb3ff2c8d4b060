//! Published ranges of costs, which are a sanity check of measured costs.

use switchcost_record::{Band, Case};

use crate::measurement::deciding::prices_switches;

/// Returns the published range for the case: of the cost of one switch, or of one hand-off across
/// CPUs, in nanoseconds. `None` if nothing is published.
pub(crate) fn sanity_band_ns(case: &Case) -> Option<Band> {
    let (same_cpu, across_cpus) = case.mechanism.traits().bands?;
    Some(match prices_switches(case) {
        true => same_cpu,
        false => across_cpus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pipe, synthetic};
    use switchcost_record::Mechanism;

    #[test]
    fn every_real_mechanism_has_a_band_and_every_band_a_source() {
        for mechanism in Mechanism::real() {
            for between in mechanism.betweens() {
                let case = Case {
                    mechanism,
                    between: *between,
                    ..pipe().case()
                };
                let Band { low, high, source } = sanity_band_ns(&case).expect("a band");
                assert!(
                    0.0 < low && low < high && source.len() > 20,
                    "{mechanism} {between}"
                );
            }
        }
        assert_eq!(sanity_band_ns(&synthetic().case()), None);
    }

    #[test]
    fn the_papers_own_figures_are_sane() {
        let Band { low, high, .. } = sanity_band_ns(&pipe().case()).expect("a band");
        for published in [3_800.0, 620.0, 1_350.0, 1_780.0, 410.0] {
            assert!((low..=high).contains(&published), "{published}");
        }
    }
}
