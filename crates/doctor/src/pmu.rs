//! Checks whether hardware counters are available. A measurement makes the known-answer test of
//! each counter itself.

use switchcost_record::Check;

use super::cycles::CycleCounter;
use super::line::{Line, Remedy};
use super::rights::{Capability, Rights};
use super::subject::Subject;

/// Checks whether this process may use hardware counters, also to count inside the kernel.
pub(super) fn counters(subject: &Subject) -> Check {
    let line = Line::new(
        "hardware counters",
        "cycles can be counted, in the kernel too (perf_event_paranoid at most 0)",
    );
    let paranoid = subject.root.line("/proc/sys/kernel/perf_event_paranoid");
    let level = paranoid.as_ref().map_or_else(ToString::to_string, |level| {
        format!("kernel.perf_event_paranoid is {level}")
    });
    let rights = Rights::read(&subject.root);
    let may_count_kernel = paranoid
        .is_ok_and(|level| level.parse::<i32>().is_ok_and(|level| level <= 0))
        || rights.has(Capability::Perfmon);
    match &subject.cycles {
        CycleCounter::Counts if may_count_kernel => {
            line.fit(format!("cycles are counted; {level}"))
        }
        CycleCounter::Counts => line.caveat(format!("user-level cycles only; {level}"), allow()),
        CycleCounter::StaysZero => line.caveat(
            format!("a counter opens and stays at zero; {level}"),
            Remedy::new(
                "",
                "a PMU that counts: this one has registers, but counts nothing. KVM passes on the processor's PMU (-cpu \
                 host,pmu=on), if the host has one",
            ),
        ),
        CycleCounter::Wrong(what) => line.caveat(
            format!("the PMU's counter of cycles is wrong: {what}; {level}"),
            Remedy::new(
                "",
                "a processor that runs the program itself: this PMU is emulated, and has no cycles to count. measure uses only \
                 its counters that give known answers",
            ),
        ),
        CycleCounter::Absent(why) => {
            line.caveat(format!("no cycle counter: {why}; {level}"), expose())
        }
        CycleCounter::Refused(why) => line.caveat(
            format!("the cycle counter is refused: {why}; {level}"),
            allow(),
        ),
        CycleCounter::NotTried => line.caveat(format!("not tried; {level}"), Remedy::none()),
    }
}

fn allow() -> Remedy {
    Remedy::sysctl("kernel.perf_event_paranoid=0")
}

fn expose() -> Remedy {
    Remedy::new(
        "",
        "a virtual machine with a PMU (libvirt: <features><pmu state='on'/></features>), or a bare one",
    )
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::{advised, said};
    use switchcost_facts::fixture::Fixture;

    fn judged(cycles: CycleCounter, paranoid: &str, capabilities: &str) -> Check {
        let fixture = Fixture::workstation()
            .file("/proc/sys/kernel/perf_event_paranoid", paranoid)
            .file("/proc/self/status", &format!("CapEff:\t{capabilities}\n"));
        let mut subject = Subject::scripted(&fixture);
        subject.cycles = cycles;
        counters(&subject)
    }

    #[test]
    fn a_counter_that_counts_the_kernel_too_is_fit() {
        assert_eq!(
            judged(CycleCounter::Counts, "0\n", "0").severity,
            Severity::Fit
        );
        assert_eq!(
            judged(CycleCounter::Counts, "4\n", "0000004000000000").severity,
            Severity::Fit
        );
    }

    #[test]
    fn a_paranoid_kernel_is_a_caveat_with_a_setting() {
        let check = judged(
            CycleCounter::Refused("Permission denied".to_owned()),
            "4\n",
            "0",
        );
        assert_eq!(
            said(&check),
            (
                Severity::Caveat,
                "the cycle counter is refused: Permission denied; kernel.perf_event_paranoid is 4"
            )
        );
        assert_eq!(check.fix, "sudo sysctl -w kernel.perf_event_paranoid=0");
        let lasting =
            "echo 'kernel.perf_event_paranoid=0' | sudo tee -a /etc/sysctl.d/90-switchcost.conf";
        assert_eq!(check.lasting_fix, lasting);
        assert_eq!(
            judged(CycleCounter::Counts, "1\n", "0").found,
            "user-level cycles only; kernel.perf_event_paranoid is 1"
        );
    }

    #[test]
    fn a_missing_or_wrong_counter_has_no_fix_within_the_machine() {
        for (cycles, found, lasting) in [
            (
                CycleCounter::Absent("no such file".to_owned()),
                "no cycle counter: no such file",
                "a virtual machine with a PMU",
            ),
            (
                CycleCounter::StaysZero,
                "a counter opens and stays at zero",
                "a PMU that counts",
            ),
            (
                CycleCounter::Wrong("it counted 3".to_owned()),
                "the PMU's counter of cycles is wrong: it counted 3",
                "a processor that runs",
            ),
        ] {
            let check = judged(cycles, "1\n", "0");
            assert_eq!(advised(&check), (Severity::Caveat, ""));
            assert!(check.found.starts_with(found), "{}", check.found);
            assert!(
                check.lasting_fix.starts_with(lasting),
                "{}",
                check.lasting_fix
            );
        }
    }
}
