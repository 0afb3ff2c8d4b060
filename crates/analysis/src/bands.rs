//! Published ranges: is this number sane at all?
//!
//! Wide on purpose: a number outside its band is suspect, a number inside proves nothing. The upper ends admit the
//! machines of 2007 and slow virtual ones.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::{Between, Case, Mechanism};

use crate::deciding::prices_switches;

/// A published range.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Band {
    /// Lower end, in nanoseconds.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Where it was published.
    pub source: &'static str,
}

const fn band(low: f64, high: f64, source: &'static str) -> Band {
    Band { low, high, source }
}

const FIBER: Band = band(
    0.4,
    20.0,
    "register-only coroutines: corosensei 1.3, libfringe 2.9, Photon 12.6, libmill 20 ns; an indirect jump takes 2 cycles, 0.4 ns at 5 GHz",
);
const UCONTEXT: Band = band(
    100.0,
    500.0,
    "swapcontext with its two system calls: 164 to 190 ns on a 2024 server",
);
const GREEN: Band = band(
    20.0,
    1_400.0,
    "run queues in user space: Boost.Fiber 48, Arachne 56, Go 170 to 200 ns; gtthread 1.2 to 1.4 us (Michigan poster)",
);
const ASYNC: Band = band(
    20.0,
    600.0,
    "run queues in user space: Boost.Fiber 48, Arachne 56, Go 170 to 200 ns",
);
pub(crate) const SAME_CPU: Band = band(
    300.0,
    10_000.0,
    "kernel switches on one CPU: 0.41 us (ghOSt, table 3), 0.62 (Michigan poster), 1.35 (blog), 3.8 (Li et al. 2007)",
);
const ACROSS_CPUS: Band = band(
    500.0,
    100_000.0,
    "hand-offs across CPUs: 5 to 45 us in virtual machines, down to 1 us between hardware threads",
);
const PREEMPTION: Band = band(
    500.0,
    50_000.0,
    "preemptions with their timer interrupt: a kernel switch of 0.3 to 10 us and more",
);

/// The published range of what one switch costs, or one hand-off across CPUs, in nanoseconds, and where it is from.
pub(crate) fn sanity_band_ns(case: &Case) -> Option<Band> {
    match case.mechanism {
        Mechanism::Synthetic | Mechanism::Concurrent | Mechanism::Runtime => None,
        Mechanism::Fiber => Some(FIBER),
        Mechanism::Ucontext => Some(UCONTEXT),
        Mechanism::Green => Some(GREEN),
        Mechanism::Async => Some(ASYNC),
        Mechanism::GreenPreempt | Mechanism::Preempt => Some(PREEMPTION),
        _ if case.between == Between::User => None,
        _ if prices_switches(case) => Some(SAME_CPU),
        _ => Some(ACROSS_CPUS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeCase;

    #[test]
    fn every_real_mechanism_has_a_band_and_every_band_a_source() {
        for mechanism in Mechanism::real() {
            for between in mechanism.betweens() {
                let case = Case {
                    mechanism,
                    between: *between,
                    ..FakeCase::pipe().case()
                };
                let Band { low, high, source } = sanity_band_ns(&case).expect("a band");
                assert!(
                    0.0 < low && low < high && source.len() > 20,
                    "{mechanism} {between}"
                );
            }
        }
        assert_eq!(sanity_band_ns(&FakeCase::synthetic().case()), None);
    }

    #[test]
    fn the_papers_own_figures_are_sane() {
        let Band { low, high, .. } = sanity_band_ns(&FakeCase::pipe().case()).expect("a band");
        for published in [3_800.0, 620.0, 1_350.0, 1_780.0, 410.0] {
            assert!((low..=high).contains(&published), "{published}");
        }
    }
}
