//! Checks whether this machine is fit to measure, and what would make it fit. Internal to
//! switchcost.
//!
//! The input is a [`Root`]. The output is a [`Fitness`], with one [`Check`] for each condition: the
//! state found and the one wanted, the effect on measurements, and a temporary and a permanent
//! remedy. A [`Subject`] reads everything first. Each check then judges one condition, and is
//! tested on machines that consist of files. This crate changes nothing and prints nothing.
//!
//! Only conditions that make measurements meaningless are `Unfit`. Most conditions that cannot be
//! read are caveats that give the reason.

mod clock_drift;
mod core;
mod cpus;
mod cycles;
mod groups;
mod hardware;
mod line;
mod memory;
mod observation;
mod pmu;
mod power;
mod rights;
mod scheduler;
mod subject;
mod words;

use switchcost_facts::Root;
use switchcost_record::{Check, DOCTOR_SCHEMA, Fitness, Severity};

use subject::Subject;

/// All checks, in the order in which they are shown: the machine, its kernel, the rights of this
/// process, and the present state.
const CHECKS: &[fn(&Subject) -> Check] = &[
    cpus::cpus,
    hardware::caches,
    hardware::tlbs,
    hardware::clock,
    hardware::hypervisor,
    pmu::counters,
    hardware::mitigations,
    hardware::page_tables,
    power::governor,
    power::turbo,
    core::clock,
    core::sharing,
    cpus::hardware_threads,
    cpus::isolation,
    cpus::interrupts,
    scheduler::autogroup,
    scheduler::throttling,
    groups::group_limits,
    groups::cpu_quota,
    scheduler::real_time_rights,
    memory::locked,
    memory::huge_pages,
    observation::tracing,
    observation::bpf,
    rights::privileges,
    rights::limits,
    cpus::load,
    memory::free,
];

/// Examines the machine for two seconds, and judges the results. Interrupts, the core's clock and
/// core sharing are observed in this time.
pub fn check(root: &Root) -> Fitness {
    judge(&Subject::examine(root))
}

fn judge(subject: &Subject) -> Fitness {
    let checks: Vec<_> = CHECKS.iter().map(|check| check(subject)).collect();
    let worst = checks.iter().map(|check| check.severity).max();
    Fitness {
        schema: DOCTOR_SCHEMA.to_owned(),
        verdict: worst.unwrap_or(Severity::Unfit),
        checks,
    }
}

#[cfg(test)]
mod testing {
    use switchcost_record::{Check, Severity};

    /// Returns the severity of a check, and the state that it found.
    pub(crate) fn said(check: &Check) -> (Severity, &str) {
        (check.severity, &check.found)
    }

    /// Returns the severity of a check, and its temporary remedy.
    pub(crate) fn advised(check: &Check) -> (Severity, &str) {
        (check.severity, &check.fix)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use switchcost_facts::fixture::Fixture;

    #[test]
    fn the_workstation_is_as_wanted_but_for_what_files_cannot_show() {
        let fitness = judge(&Subject::workstation());
        let not_fit: Vec<_> = fitness
            .checks
            .iter()
            .filter(|check| check.severity != Severity::Fit)
            .collect();
        let own_names: BTreeSet<_> = fitness.checks.iter().map(|check| &check.name).collect();
        assert_eq!(own_names.len(), CHECKS.len());
        let names: Vec<_> = not_fit.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["TLBs"], "{not_fit:#?}");
        assert_eq!(
            (fitness.schema.as_str(), fitness.verdict),
            ("switchcost.doctor/1", Severity::Caveat)
        );
    }

    #[test]
    fn a_machine_that_shows_nothing_is_unfit_and_every_line_says_why() {
        let fitness = check(&Fixture::new().root());
        assert_eq!(fitness.verdict, Severity::Unfit);
        assert_every_line_says_something(&fitness);
    }

    fn assert_every_line_says_something(fitness: &Fitness) {
        for check in &fitness.checks {
            let is_silent = check.found.is_empty() || check.wanted.is_empty();
            assert!(!is_silent, "{check:?}");
        }
    }

    #[test]
    fn the_real_machine_is_examined_whole() {
        let fitness = check(&Root::system());
        assert_eq!(fitness.checks.len(), CHECKS.len());
        let worst = fitness.checks.iter().map(|check| check.severity).max();
        assert_eq!(worst, Some(fitness.verdict));
        assert_every_line_says_something(&fitness);
        for check in &fitness.checks {
            assert!(
                check.severity != Severity::Fit || check.fix.is_empty(),
                "{check:?}"
            );
        }
    }
}
