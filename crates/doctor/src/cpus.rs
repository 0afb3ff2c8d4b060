//! Checks of the CPUs: their number, shared cores, interrupts and load.

use switchcost_record::{Check, Fact, InterruptLoad};
use switchcost_units::{CpuId, format_cpu_list};

use super::line::{Line, Remedy};
use super::subject::Subject;
use super::words::{MOUNT_PROC, MOUNT_SYS};
use switchcost_facts::topology::{cpu_list, per_second, siblings};

/// Largest expected number of interrupts per second on a CPU: a tick of 1,000 Hz and as many
/// wake-ups. A larger number has another source.
const MANY_INTERRUPTS: u64 = 2_000;
/// Share of the observed time, in thousandths, from which a busy hardware thread counts as a
/// competitor for its core.
const BUSY_PER_MILLE: u64 = 500;

/// Checks the number of CPUs that this process may use.
pub(super) fn cpus(subject: &Subject) -> Check {
    let line = Line::new(
        "CPUs",
        "two or more allowed: one to measure on, one for the rest",
    );
    let (online, allowed) = (&subject.host.cpus_online, &subject.host.cpus_allowed);
    let found = format!(
        "{} online ({}), {} allowed ({})",
        online.len(),
        list(online),
        allowed.len(),
        list(allowed)
    );
    match allowed.iter().filter(|cpu| online.contains(cpu)).count() {
        // Every process may run on some CPU, so an empty list means that the file could not be
        // read.
        _ if allowed.is_empty() => line.unfit(found, Remedy::new(MOUNT_PROC, "")),
        _ if online.is_empty() => line.unfit(found, Remedy::new(MOUNT_SYS, "")),
        0 => line.unfit(found, widen()),
        1 => line.caveat(found, widen()),
        _ => line.fit(found),
    }
}

fn list(cpus: &[CpuId]) -> String {
    if cpus.is_empty() {
        "none".to_owned()
    } else {
        format_cpu_list(cpus)
    }
}

fn widen() -> Remedy {
    let lasting = "a cpuset with more CPUs (systemd: AllowedCPUs=, docker: --cpuset-cpus), or a machine that has them";
    Remedy::new("taskset -pc 0-$(($(nproc --all) - 1)) $$", lasting)
}

/// Checks whether the cores have several hardware threads, and whether the one next to the
/// measuring CPU is busy.
pub(super) fn hardware_threads(subject: &Subject) -> Check {
    let line = Line::new(
        "hardware threads",
        "off, or the sibling of the measuring CPU idle",
    );
    match &subject.host.is_smt_active {
        Fact::Known(false) => line.fit("off, or not shown to this machine"),
        Fact::Known(true) => threads_on(line, subject),
        Fact::Unknown { unknown } => line.caveat(unknown.as_str(), Remedy::none()),
    }
}

fn threads_on(line: Line, subject: &Subject) -> Check {
    let cpu = subject.quietest();
    let others: Vec<_> = siblings(&subject.root, cpu)
        .into_iter()
        .flatten()
        .filter(|other| *other != cpu)
        .collect();
    let is_busy = |other: &&CpuId| {
        subject
            .busy_per_mille(**other)
            .is_some_and(|busy| busy >= BUSY_PER_MILLE)
    };
    let found = match (others.as_slice(), others.iter().find(is_busy)) {
        ([], _) => format!("on, and the siblings of CPU {cpu} are unknown"),
        (_, Some(busy)) => format!("on, and CPU {busy} on the core of CPU {cpu} is busy"),
        (others, None) => format!(
            "on: CPU {cpu} shares its core with CPU {}, idle now",
            format_cpu_list(others)
        ),
    };
    line.caveat(
        found,
        Remedy::new(
            "echo off | sudo tee /sys/devices/system/cpu/smt/control",
            "kernel command line: nosmt",
        ),
    )
}

/// Checks whether a CPU is isolated from the scheduler's load balancing and from the tick.
pub(super) fn isolation(subject: &Subject) -> Check {
    let line = Line::new(
        "isolation",
        "the measuring CPU in isolcpus (and in nohz_full, to stop its tick)",
    );
    let isolated = &subject.host.cpus_isolated;
    let tickless = cpu_list(&subject.root, "/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    // Without /sys, empty lists say nothing.
    let found = match subject.host.cpus_online.is_empty() {
        true => "unknown".to_owned(),
        false => format!(
            "isolated: {}, nohz_full: {}",
            list(isolated),
            list(&tickless)
        ),
    };
    let cpu = subject.quietest();
    match isolated.contains(&cpu) {
        true => line.fit(found),
        false => line.caveat(found, isolate(subject)),
    }
}

/// Returns the remedy that isolates the last CPU. The first CPU is not isolated, because the kernel
/// does its own work there.
fn isolate(subject: &Subject) -> Remedy {
    match subject
        .host
        .cpus_online
        .iter()
        .max()
        .filter(|cpu| cpu.0 != 0)
    {
        Some(cpu) => {
            let words =
                format!("isolcpus=managed_irq,domain,{cpu} nohz_full={cpu} rcu_nocbs={cpu}");
            Remedy::new(
                "",
                format!(
                    "kernel command line: {words} (other programs lose this CPU, and nohz_full slows its system calls)"
                ),
            )
        }
        None => Remedy::new(
            "",
            "a machine with two or more CPUs, of which one can be isolated",
        ),
    }
}

/// Checks the interrupts on the least disturbed CPU.
pub(super) fn interrupts(subject: &Subject) -> Check {
    let line = Line::new("interrupts", "a CPU with no more than its own timer");
    let cpu = subject.quietest();
    let Some(load) = subject.host.interrupts.iter().find(|load| load.cpu == cpu) else {
        return line.caveat("no interrupt counts in /proc/interrupts", Remedy::none());
    };
    let found = format!("quietest is CPU {cpu}; {}", loads(&subject.host.interrupts));
    match per_second(load) > MANY_INTERRUPTS {
        true => line.caveat(found, keep_away(subject)),
        false => line.fit(found),
    }
}

/// Describes the interrupts of the first eight CPUs, and the number of further CPUs.
fn loads(loads: &[InterruptLoad]) -> String {
    let one = |load: &InterruptLoad| {
        format!(
            "CPU {}: {}/s now, {} since the start",
            load.cpu,
            per_second(load),
            load.since_boot
        )
    };
    let shown: Vec<_> = loads.iter().take(8).map(one).collect();
    let rest = loads.len() - shown.len();
    let more = if rest == 0 {
        String::new()
    } else {
        format!(", and {rest} more CPUs")
    };
    format!("{}{more}", shown.join(", "))
}

/// Returns the remedy that moves interrupts to the first CPU, because the last CPU is to be
/// isolated.
fn keep_away(subject: &Subject) -> Remedy {
    let online = &subject.host.cpus_online;
    let Some(other) = online.iter().min().filter(|_| online.len() > 1) else {
        return Remedy::new(
            "",
            "a machine with two or more CPUs, of which one can take the interrupts",
        );
    };
    let files = "/proc/irq/*/smp_affinity_list";
    let now = format!(
        "sudo systemctl stop irqbalance; for i in {files}; do echo {other} | sudo tee $i; done   # undo: sudo systemctl start irqbalance"
    );
    Remedy::new(
        now,
        format!("sudo systemctl disable irqbalance, and kernel command line: irqaffinity={other}"),
    )
}

/// Checks whether other tasks are running.
pub(super) fn load(subject: &Subject) -> Check {
    let line = Line::new("load", "no other task runs");
    let cpus = subject.host.cpus_online.len().max(1) as u64;
    let text = match subject.root.line("/proc/loadavg") {
        Ok(text) => text,
        Err(error) => return line.caveat(error.to_string(), Remedy::none()),
    };
    let Some(now) = Load::parse(&text) else {
        return line.caveat(
            format!("/proc/loadavg is malformed: {text}"),
            Remedy::none(),
        );
    };
    let (whole, part) = (now.hundredths / 100, now.hundredths % 100);
    let found = format!(
        "{whole}.{part:02} tasks in the last minute, {} now, {cpus} CPUs",
        now.others
    );
    match (
        now.hundredths >= 100 * cpus && now.others >= cpus,
        now.hundredths > 50.max(10 * cpus),
    ) {
        (true, _) => line.unfit(found, quieten()),
        (false, true) => line.caveat(found, quieten()),
        (false, false) => line.fit(found),
    }
}

/// Content of /proc/loadavg, such as `0.01 0.08 0.06 1/86 5124`: the mean load of the last minute
/// in hundredths, and the number of runnable tasks, without this one.
struct Load {
    hundredths: u64,
    others: u64,
}

impl Load {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (whole, part) = words
            .next()?
            .split_once('.')
            .filter(|(_, part)| part.len() == 2)?;
        let hundredths = whole
            .parse::<u64>()
            .ok()?
            .checked_mul(100)?
            .checked_add(part.parse().ok()?)?;
        let runnable = words.nth(2)?.split_once('/')?.0.parse::<u64>().ok()?;
        Some(Load {
            hundredths,
            others: runnable.saturating_sub(1),
        })
    }
}

fn quieten() -> Remedy {
    Remedy::new(
        "ps -eo pcpu,pid,comm --sort=-pcpu | head, then end those tasks or wait for them",
        "a dedicated machine for measuring",
    )
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::said;
    use switchcost_facts::fixture::Fixture;

    #[test]
    fn cpus_are_many_one_or_none() {
        let mut subject = Subject::workstation();
        assert_eq!(cpus(&subject).found, "4 online (0-3), 4 allowed (0-3)");
        subject.host.cpus_allowed = vec![CpuId(2)];
        assert_eq!(cpus(&subject).severity, Severity::Caveat);
        subject.host.cpus_allowed = vec![CpuId(9)];
        assert_eq!(cpus(&subject).severity, Severity::Unfit);
    }

    #[test]
    fn a_busy_sibling_is_reported() {
        let fixture = Fixture::workstation()
            .file("/sys/devices/system/cpu/smt/active", "1\n")
            .file(
                "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
                "2-3\n",
            )
            .file("/proc/stat", "cpu2 0 0 0 100 0 0 0 0\n");
        let subject = Subject::scripted(&fixture);
        assert_eq!(
            hardware_threads(&subject).found,
            "on: CPU 3 shares its core with CPU 2, idle now"
        );
        let subject = subject.ending_with("cpu2 4 0 0 101 0 0 0 0\n");
        let check = hardware_threads(&subject);
        assert_eq!(
            said(&check),
            (
                Severity::Caveat,
                "on, and CPU 2 on the core of CPU 3 is busy"
            )
        );
        assert_eq!(
            check.fix,
            "echo off | sudo tee /sys/devices/system/cpu/smt/control"
        );
        assert_eq!(
            hardware_threads(&Subject::workstation()).severity,
            Severity::Fit
        );
    }

    #[test]
    fn without_an_isolated_cpu_the_command_line_is_given() {
        assert_eq!(
            isolation(&Subject::workstation()).found,
            "isolated: 3, nohz_full: 3"
        );
        let fixture = Fixture::workstation()
            .file("/sys/devices/system/cpu/isolated", "\n")
            .file("/sys/devices/system/cpu/nohz_full", "(null)\n");
        let check = isolation(&Subject::scripted(&fixture));
        assert_eq!(
            said(&check),
            (Severity::Caveat, "isolated: none, nohz_full: none")
        );
        let blind = isolation(&Subject::scripted(&Fixture::new()));
        assert_eq!(said(&blind), (Severity::Caveat, "unknown"));
        assert_eq!(
            check.lasting_fix,
            "kernel command line: isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 (other programs lose this CPU, and nohz_full slows \
             its system calls)"
        );
    }

    #[test]
    fn interrupts_name_the_quietest_cpu() {
        let mut subject = Subject::workstation();
        let expected = "quietest is CPU 3; CPU 0: 0/s now, 100 since the start, CPU 1: 0/s now, 10 since the start, \
                        CPU 2: 0/s now, 1 since the start, CPU 3: 0/s now, 5 since the start";
        assert_eq!(interrupts(&subject).found, expected);
        subject
            .host
            .interrupts
            .iter_mut()
            .for_each(|load| load.observed = 500);
        let check = interrupts(&subject);
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check
                .lasting_fix
                .ends_with("kernel command line: irqaffinity=0"),
            "{}",
            check.lasting_fix
        );
        subject.host.cpus_online = vec![CpuId(3)];
        assert!(
            interrupts(&subject)
                .lasting_fix
                .starts_with("a machine with two or more CPUs")
        );
        subject.host.interrupts.clear();
        assert_eq!(
            interrupts(&subject).found,
            "no interrupt counts in /proc/interrupts"
        );
    }

    fn load_of(text: &str) -> Check {
        load(&Subject::scripted(
            &Fixture::workstation().file("/proc/loadavg", text),
        ))
    }

    #[test]
    fn load_is_none_some_or_everywhere() {
        assert_eq!(
            load_of("0.10 0.00 0.00 1/86 5124\n").severity,
            Severity::Fit
        );
        assert_eq!(
            load_of("1.50 0.00 0.00 2/86 5124\n").severity,
            Severity::Caveat
        );
        assert_eq!(
            load_of("9.00 0.00 0.00 1/86 5124\n").severity,
            Severity::Caveat,
            "it has just ended"
        );
        let full = load_of("9.07 0.00 0.00 10/86 5124\n");
        assert_eq!(
            said(&full),
            (
                Severity::Unfit,
                "9.07 tasks in the last minute, 9 now, 4 CPUs"
            )
        );
        for odd in ["", "x", "1 2 3", "-1.00 0 0 1/1 1", "1.00 0 0 1 1"] {
            assert_eq!(load_of(odd).severity, Severity::Caveat, "{odd}");
        }
    }

    #[test]
    fn many_cpus_are_not_all_listed() {
        let of = |cpu| InterruptLoad {
            cpu: CpuId(cpu),
            since_boot: 0,
            observed: 0,
            observed_ms: 50,
            busy_per_mille: None,
        };
        let many: Vec<_> = (0..64).map(of).collect();
        assert!(loads(&many).ends_with("CPU 7: 0/s now, 0 since the start, and 56 more CPUs"));
    }
}
