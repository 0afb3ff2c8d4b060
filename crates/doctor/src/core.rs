//! Checks of the core's clock and of core sharing, which may both change during a measurement.

use switchcost_record::Check;

use super::clock_drift::{ClockDrift, TAIL};
use super::line::{Line, Remedy};
use super::subject::Subject;

/// Largest relative difference between two clocks that count as equal.
const STEADY: f64 = 0.03;

/// Checks whether the core's clock is constant.
pub(super) fn clock(subject: &Subject) -> Check {
    let line = Line::new("core clock", "a constant clock for 2 s");
    let Some(ClockDrift {
        cpu,
        clock: (slow, fast),
        is_hertz,
        ..
    }) = subject.clock_drift
    else {
        return line.caveat(
            "not checked, since this process may not run on the CPU",
            Remedy::none(),
        );
    };
    let found = if is_hertz {
        format!("CPU {cpu}: {:.2} to {:.2} GHz", slow / 1e9, fast / 1e9)
    } else {
        format!("CPU {cpu}: {:.0} to 100 % of its fastest", slow * 100.0)
    };
    if fast <= slow * (1.0 + STEADY) {
        return line.fit(found);
    }
    let remedy = Remedy::new(
        "compare costs in core cycles, which do not depend on the clock",
        "the governor performance without turbo, or a dedicated machine",
    );
    line.caveat(found, remedy)
}

/// Checks whether another hardware thread uses the core.
pub(super) fn sharing(subject: &Subject) -> Check {
    let line = Line::new("core sharing", "the core's other hardware thread is idle");
    let Some(ClockDrift { cpu, shared, .. }) = subject.clock_drift else {
        return line.caveat(
            "not checked, since this process may not run on the CPU",
            Remedy::none(),
        );
    };
    let found = format!("CPU {cpu}: shared for {:.0} % of 2 s", shared * 100.0);
    if shared <= 2.0 * TAIL {
        return line.fit(found);
    }
    let remedy = Remedy::new(
        "choose another CPU with --cpu, or a quieter time; measure uses only samples on an unshared core, if it has enough",
        "a machine with dedicated cores, or without SMT (nosmt)",
    );
    line.caveat(found, remedy)
}

#[cfg(test)]
mod tests {
    use switchcost_record::{CoreClock, Severity};
    use switchcost_units::CpuId;

    use super::*;
    use crate::clock_drift::clock_drift;
    use crate::testing::said;

    /// Returns the result for chains of 1800 cycles, on a clock of 2 GHz.
    fn judged(chains: Vec<f64>, ratios: Vec<f64>, known_per_mille: Option<u32>) -> [Check; 2] {
        let facts = CoreClock {
            chain_length: 600,
            multiplication_cycles: Some(3),
            additions: 3_600,
            overhead_ticks: switchcost_units::Ticks(0),
            unshared_per_mille: known_per_mille,
            counter: None,
            shared_costs: Vec::new(),
        };
        let mut subject = Subject::workstation();
        subject.clock_drift = Some(clock_drift(CpuId(3), chains, ratios, &facts, 2e9));
        [clock(&subject), sharing(&subject)]
    }

    #[test]
    fn a_core_with_one_clock_and_no_neighbour_is_fit() {
        let [clock, sharing] = judged(vec![1_200.0; 100], vec![0.25; 100], Some(240));
        assert_eq!(said(&clock), (Severity::Fit, "CPU 3: 3.00 to 3.00 GHz"));
        assert_eq!(
            said(&sharing),
            (Severity::Fit, "CPU 3: shared for 0 % of 2 s")
        );
    }

    #[test]
    fn what_changes_is_a_caveat() {
        let chains = (0..100)
            .map(|moment| if moment % 2 == 0 { 1_200.0 } else { 1_440.0 })
            .collect();
        let ratios = (0..100)
            .map(|moment| if moment % 5 == 0 { 0.25 } else { 0.35 })
            .collect();
        let [clock, sharing] = judged(chains, ratios, None);
        assert_eq!(said(&clock), (Severity::Caveat, "CPU 3: 2.50 to 3.00 GHz"));
        assert_eq!(
            said(&sharing),
            (Severity::Caveat, "CPU 3: shared for 80 % of 2 s")
        );
    }

    #[test]
    fn a_core_shared_throughout_is_reported_where_it_is_known() {
        let ratios = || vec![0.35; 100];
        assert_eq!(
            judged(vec![1_200.0; 100], ratios(), None)[1].severity,
            Severity::Fit,
            "nothing shows it"
        );
        assert_eq!(
            judged(vec![1_200.0; 100], ratios(), Some(250))[1].found,
            "CPU 3: shared for 100 % of 2 s"
        );
    }
}
