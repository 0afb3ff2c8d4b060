//! Internal to switchcost: the machine's check-up, which shows whether the machine is fit to
//! measure, and what makes it fit.
//!
//! The input is a [`Root`]; the output is a [`Fitness`], with one [`Check`] per condition: the
//! state found and the one wanted, the effect on measuring, and remedies, both temporary and
//! permanent. Everything is read first into a [`Subject`]; each check judges one aspect, and is
//! tested on machines that consist of files. This crate changes and prints nothing.
//!
//! `Unfit` is reserved for conditions that make measuring meaningless. A condition that cannot be
//! read is a caveat that says why.

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

/// All checks, in the order in which they are shown: the machine, its kernel, this process's
/// rights, the current state.
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

/// Examines the machine for two seconds, in which interrupts, the core's clock and sharing are
/// observed.
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
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use switchcost_facts::fixture::Fixture;

    #[test]
    fn the_workstation_is_as_wanted_but_for_what_files_cannot_show() {
        let fitness = judge(&Subject::scripted(&Fixture::workstation()));
        let not_fit: Vec<_> = fitness
            .checks
            .iter()
            .filter(|check| check.severity != Severity::Fit)
            .collect();
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
        for check in &fitness.checks {
            assert!(
                !check.found.is_empty() && !check.wanted.is_empty(),
                "{check:?}"
            );
        }
    }

    #[test]
    fn every_check_has_its_own_name() {
        let fitness = judge(&Subject::scripted(&Fixture::workstation()));
        let names: BTreeSet<_> = fitness
            .checks
            .iter()
            .map(|check| check.name.as_str())
            .collect();
        assert_eq!(names.len(), CHECKS.len());
    }

    #[test]
    fn the_real_machine_is_examined_whole() {
        let fitness = check(&Root::system());
        assert_eq!(fitness.checks.len(), CHECKS.len());
        let worst = fitness.checks.iter().map(|check| check.severity).max();
        assert_eq!(worst, Some(fitness.verdict));
        for check in &fitness.checks {
            assert!(
                !check.found.is_empty() && !check.wanted.is_empty(),
                "{check:?}"
            );
            assert!(
                check.severity != Severity::Fit || check.fix.is_empty(),
                "{check:?}"
            );
        }
    }
}
