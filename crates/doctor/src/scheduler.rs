//! Checks of the scheduler: whether real-time tasks run undisturbed, and whether this process may
//! be a real-time task.

use switchcost_record::Check;
use switchcost_units::Nanos;

use super::groups::are_real_time_groups_on;
use super::line::{Line, Remedy};
use super::rights::{Capability, Rights, limit};
use super::subject::Subject;
use switchcost_facts::kernel;
use switchcost_facts::rights::{REAL_TIME_PRIORITY, REAL_TIME_RIGHTS};

/// First kernel version with a deadline server for ordinary tasks, in place of real-time
/// throttling. Kernels with real-time groups still throttle: on 6.18 a SCHED_FIFO loop alone on its
/// CPU was stopped for 49 ms after 951 ms.
const FIRST_WITH_FAIR_SERVER: (u32, u32) = (6, 12);
const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server";

/// Checks whether the scheduler divides CPU time between sessions rather than between tasks
/// (autogroup).
pub(super) fn autogroup(subject: &Subject) -> Check {
    let line = Line::new(
        "autogroup",
        "off, so that ordinary tasks compete one by one",
    );
    match subject
        .root
        .line("/proc/sys/kernel/sched_autogroup_enabled")
    {
        Ok(text) if text == "0" => line.fit("off"),
        Ok(text) if text == "1" => {
            line.caveat("on", Remedy::sysctl("kernel.sched_autogroup_enabled=0"))
        }
        Ok(text) => line.caveat(format!("sched_autogroup_enabled is {text}"), Remedy::none()),
        Err(_) if subject.root.has("/proc/sys/kernel/osrelease") => line.fit("not in this kernel"),
        Err(why) => line.caveat(format!("unknown ({why})"), Remedy::none()),
    }
}

/// Checks how much of each second real-time tasks must leave to other tasks.
pub(super) fn throttling(subject: &Subject) -> Check {
    let line = Line::new(
        "real-time throttling",
        "off: no task takes the CPU from SCHED_FIFO",
    );
    match has_fair_server(subject) && !is_throttled_too(subject) {
        true => fair_server(line, subject),
        false => runtime(line, subject),
    }
}

fn has_fair_server(subject: &Subject) -> bool {
    let is_newer =
        kernel::release(&subject.root).is_some_and(|release| release >= FIRST_WITH_FAIR_SERVER);
    is_newer || subject.root.has(FAIR_SERVER)
}

fn is_throttled_too(subject: &Subject) -> bool {
    let runtime = subject.root.line("/proc/sys/kernel/sched_rt_runtime_us");
    are_real_time_groups_on(&subject.root) == Some(true)
        && runtime.is_ok_and(|runtime| runtime != "-1")
}

fn fair_server(line: Line, subject: &Subject) -> Check {
    let folder = format!("{FAIR_SERVER}/cpu{}", subject.quietest());
    let read = |name: &str| subject.root.line(&format!("{folder}/{name}"));
    let off = format!("echo 0 | sudo tee {folder}/runtime");
    let lasting = format!("a systemd unit with ExecStart=/bin/sh -c 'echo 0 > {folder}/runtime'");
    match (read("runtime"), read("period")) {
        (Ok(runtime), _) if runtime == "0" => line.fit("the fair server is off"),
        (Ok(runtime), Ok(period)) => {
            let found = format!(
                "the fair server gives waiting tasks {} of each {}",
                span(&runtime),
                span(&period)
            );
            line.caveat(found, Remedy::new(off, lasting))
        }
        (Err(error), _) | (_, Err(error)) => line.caveat(
            format!("the fair server gives waiting tasks 50 ms of each second by default; {error}"),
            Remedy::new(
                format!("sudo mount -t debugfs none /sys/kernel/debug; {off}"),
                lasting,
            ),
        ),
    }
}

/// Formats a number of nanoseconds as a time. Text that is no number stays unchanged.
fn span(text: &str) -> String {
    text.parse()
        .map_or_else(|_| text.to_owned(), |nanos| Nanos(nanos).to_string())
}

fn runtime(line: Line, subject: &Subject) -> Check {
    let read = |name: &str| subject.root.line(&format!("/proc/sys/kernel/{name}"));
    let (runtime, period) = match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Ok(runtime), Ok(period)) => (runtime, period),
        (Err(error), _) | (_, Err(error)) => return line.caveat(error.to_string(), Remedy::none()),
    };
    let remedy = || {
        Remedy::new(
            "sudo sysctl -w kernel.sched_rt_runtime_us=-1   # a runaway real-time task then hangs its CPU; undo: =950000",
            "",
        )
    };
    match (runtime.parse::<i64>(), period.parse::<i64>()) {
        (Ok(-1), _) => line.fit("off (sched_rt_runtime_us is -1)"),
        (Ok(runtime), Ok(period)) if runtime >= period => {
            line.fit(format!("{runtime} us of each {period} us"))
        }
        (Ok(runtime), Ok(period)) if runtime < period / 2 => line.caveat(
            format!("too short: real-time tasks stop after {runtime} us of each {period} us"),
            remedy(),
        ),
        (Ok(runtime), Ok(period)) => line.caveat(
            format!("real-time tasks stop after {runtime} us of each {period} us"),
            remedy(),
        ),
        _ => line.caveat(
            format!("sched_rt_runtime_us is {runtime}, sched_rt_period_us is {period}"),
            remedy(),
        ),
    }
}

/// Checks whether this process may become a real-time task.
pub(super) fn real_time_rights(subject: &Subject) -> Check {
    let line = Line::new("real-time rights", REAL_TIME_RIGHTS);
    if Rights::read(&subject.root).has(Capability::SysNice) {
        return line.fit("any priority, by cap_sys_nice");
    }
    match limit(&subject.root, "Max realtime priority") {
        Ok(most) if most >= REAL_TIME_PRIORITY as u64 => {
            line.fit(format!("RLIMIT_RTPRIO is {most}"))
        }
        Ok(most) => line.caveat(
            format!("no cap_sys_nice, and RLIMIT_RTPRIO is {most}"),
            raise_priority(),
        ),
        Err(why) => line.caveat(why, raise_priority()),
    }
}

fn raise_priority() -> Remedy {
    let lasting = "echo '* - rtprio 99' | sudo tee /etc/security/limits.d/91-switchcost.conf, then log in again";
    Remedy::new("sudo prlimit --rtprio=99 --pid $$", lasting)
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::{advised, said};
    use switchcost_facts::fixture::Fixture;

    fn judged(check: fn(&Subject) -> Check, fixture: Fixture) -> Check {
        check(&Subject::scripted(&fixture))
    }

    #[test]
    fn autogroup_is_off_on_or_absent() {
        let file = "/proc/sys/kernel/sched_autogroup_enabled";
        assert_eq!(
            judged(autogroup, Fixture::workstation()).severity,
            Severity::Fit
        );
        let kernel = Fixture::new().file("/proc/sys/kernel/osrelease", "6.8.0\n");
        assert_eq!(judged(autogroup, kernel).found, "not in this kernel");
        let masked = judged(autogroup, Fixture::new());
        let found = format!("unknown ({file}: No such file or directory (os error 2))");
        assert_eq!(said(&masked), (Severity::Caveat, found.as_str()));
        let on = judged(autogroup, Fixture::new().file(file, "1\n"));
        assert_eq!(
            advised(&on),
            (
                Severity::Caveat,
                "sudo sysctl -w kernel.sched_autogroup_enabled=0"
            )
        );
    }

    #[test]
    fn throttling_is_off_usual_or_tight() {
        let of = |runtime: &str| {
            Fixture::workstation().file("/proc/sys/kernel/sched_rt_runtime_us", runtime)
        };
        assert_eq!(
            judged(throttling, Fixture::workstation()).found,
            "off (sched_rt_runtime_us is -1)"
        );
        assert_eq!(judged(throttling, of("1000000\n")).severity, Severity::Fit);
        let usual = judged(throttling, of("950000\n"));
        assert_eq!(
            usual.found,
            "real-time tasks stop after 950000 us of each 1000000 us"
        );
        assert!(
            usual
                .fix
                .starts_with("sudo sysctl -w kernel.sched_rt_runtime_us=-1 "),
            "{}",
            usual.fix
        );
        let tight = judged(throttling, of("50000\n"));
        assert_eq!(
            tight.found,
            "too short: real-time tasks stop after 50000 us of each 1000000 us"
        );
        assert_eq!(judged(throttling, of("odd\n")).severity, Severity::Caveat);
        assert_eq!(
            judged(throttling, Fixture::new()).severity,
            Severity::Caveat
        );
    }

    #[test]
    fn newer_kernels_have_a_fair_server() {
        let newer = || Fixture::workstation().file("/proc/sys/kernel/osrelease", "6.12.1\n");
        let hidden = judged(throttling, newer());
        assert!(
            hidden
                .found
                .starts_with("the fair server gives waiting tasks 50 ms of each second by default")
        );
        assert!(
            hidden
                .fix
                .starts_with("sudo mount -t debugfs none /sys/kernel/debug; echo 0")
        );
        let with = |runtime: &str| {
            newer()
                .file(&format!("{FAIR_SERVER}/cpu3/runtime"), runtime)
                .file(&format!("{FAIR_SERVER}/cpu3/period"), "1000000000\n")
        };
        let on = judged(throttling, with("50000000\n"));
        assert_eq!(
            on.found,
            "the fair server gives waiting tasks 50.00 ms of each 1.00 s"
        );
        assert_eq!(
            on.fix,
            "echo 0 | sudo tee /sys/kernel/debug/sched/fair_server/cpu3/runtime"
        );
        assert_eq!(judged(throttling, with("0\n")).severity, Severity::Fit);
    }

    #[test]
    fn real_time_groups_keep_the_throttling_of_newer_kernels() {
        let grouped = |runtime: &str| {
            Fixture::workstation()
                .file("/proc/sys/kernel/osrelease", "6.18.0\n")
                .file("/boot/config-6.18.0", "CONFIG_RT_GROUP_SCHED=y\n")
                .file("/proc/sys/kernel/sched_rt_runtime_us", runtime)
        };
        let on = judged(throttling, grouped("950000\n"));
        assert_eq!(
            on.found,
            "real-time tasks stop after 950000 us of each 1000000 us"
        );
        assert!(
            judged(throttling, grouped("-1\n"))
                .found
                .starts_with("the fair server")
        );
    }

    #[test]
    fn real_time_needs_a_capability_or_a_limit() {
        let plain = || Fixture::workstation().file("/proc/self/status", "CapEff:\t0\n");
        assert_eq!(
            judged(real_time_rights, Fixture::workstation()).severity,
            Severity::Fit
        );
        assert_eq!(
            judged(real_time_rights, plain()).found,
            "no cap_sys_nice, and RLIMIT_RTPRIO is 0"
        );
        for (most, severity) in [(98, Severity::Caveat), (99, Severity::Fit)] {
            let row = format!("Max realtime priority     {most}                   99\n");
            let limited = plain().file("/proc/self/limits", &row);
            assert_eq!(
                judged(real_time_rights, limited).severity,
                severity,
                "{most}"
            );
        }
    }
}
