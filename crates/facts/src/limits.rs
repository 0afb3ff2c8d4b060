//! Limits of this process (getrlimit(2)) that end or hinder a run: the name of each limit, the
//! least useful value, and the signals by which the limit ends a process. The limits on locked
//! memory and real-time priority are read only by name, with [`read`].

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::Root;

/// One kind of resource limit of a process (getrlimit(2)).
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Name of the limit in the first column of `/proc/self/limits`.
    row: &'static str,
    /// Name of the limit as used within a sentence.
    what: &'static str,
    /// Name of the limit as an option of prlimit(1), without the leading `--`.
    pub key: &'static str,
    unit: Unit,
    /// Least value with which every subcommand works, in the unit of the limit.
    least: u64,
    /// Signals by which exceeding the limit may end a process.
    signals: &'static [i32],
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Seconds,
    Microseconds,
    Bytes,
    Number,
}

const GIB: u64 = 1 << 30;

const LIMITS: [Limit; 9] = [
    // Enough CPU time to simulate some thousand million instructions on many cache models.
    limit(
        "Max cpu time",
        "CPU time",
        "cpu",
        Unit::Seconds,
        3_600,
        &[libc::SIGXCPU, libc::SIGKILL],
    ),
    // Enough for Valgrind, and for the memory that traced programs share with this program.
    limit(
        "Max address space",
        "address space",
        "as",
        Unit::Bytes,
        2 * GIB,
        &[libc::SIGABRT, libc::SIGSEGV],
    ),
    limit(
        "Max data size",
        "memory for data",
        "data",
        Unit::Bytes,
        2 * GIB,
        &[libc::SIGABRT, libc::SIGSEGV],
    ),
    limit(
        "Max stack size",
        "stack",
        "stack",
        Unit::Bytes,
        1 << 20,
        &[libc::SIGSEGV, libc::SIGBUS],
    ),
    // Enough for a trace. Memory shared between processes also counts as a file.
    limit(
        "Max file size",
        "length of a file",
        "fsize",
        Unit::Bytes,
        GIB,
        &[libc::SIGXFSZ],
    ),
    // Enough for 64 tasks in a ring, with four descriptors each.
    limit(
        "Max open files",
        "open files",
        "nofile",
        Unit::Number,
        1_024,
        &[],
    ),
    limit(
        "Max pending signals",
        "pending signals",
        "sigpending",
        Unit::Number,
        256,
        &[],
    ),
    // Enough for 64 message queues.
    limit(
        "Max msgqueue size",
        "message queues",
        "msgqueue",
        Unit::Bytes,
        512 << 10,
        &[],
    ),
    // A window of a real-time task is far shorter. Tasks that run for 30 s are killed anyway.
    limit(
        "Max realtime timeout",
        "real-time CPU time",
        "rttime",
        Unit::Microseconds,
        30_000_000,
        &[libc::SIGXCPU, libc::SIGKILL],
    ),
];

/// Limit on the number of processes, which the kernel does not enforce for root.
const PROCESSES: Limit = limit(
    "Max processes",
    "processes of this user",
    "nproc",
    Unit::Number,
    256,
    &[],
);

const fn limit(
    row: &'static str,
    what: &'static str,
    key: &'static str,
    unit: Unit,
    least: u64,
    signals: &'static [i32],
) -> Limit {
    Limit {
        row,
        what,
        key,
        unit,
        least,
        signals,
    }
}

impl Limit {
    /// Returns the soft limit of this process; `None` if the limit is unlimited or unknown.
    fn value(&self, root: &Root) -> Option<u64> {
        read(root, self.row).ok().filter(|value| *value != u64::MAX)
    }

    /// Returns the option of prlimit(1) that lifts the limit. The number of open files gets a
    /// number, because the kernel does not allow it to be unlimited.
    pub fn raised(&self) -> String {
        let value = if self.key == "nofile" {
            "1048576"
        } else {
            "unlimited"
        };
        format!("--{}={value}", self.key)
    }

    fn reported(&self, value: u64) -> String {
        let amount = match self.unit {
            Unit::Seconds => format!("{value} s"),
            Unit::Microseconds => format!("{} ms", value as f64 / 1e3),
            Unit::Bytes => switchcost_units::Bytes(value).to_string(),
            Unit::Number => value.to_string(),
        };
        format!("{} of {amount}", self.what)
    }
}

/// Returns the soft limit in the line `row` of `/proc/self/limits`, which is the limit that the
/// kernel enforces; `u64::MAX` if unlimited. The error says that the file or the line is missing.
pub fn read(root: &Root, row: &str) -> Result<u64, String> {
    let text = root
        .read("/proc/self/limits")
        .map_err(|error| error.to_string())?;
    let found = text.lines().find_map(|line| line.strip_prefix(row));
    let soft = found.and_then(|values| values.split_ascii_whitespace().next());
    let value = soft.and_then(|soft| {
        if soft == "unlimited" {
            Some(u64::MAX)
        } else {
            soft.parse().ok()
        }
    });
    value.ok_or_else(|| format!("/proc/self/limits has no '{row}'"))
}

/// Returns the limits of this process that are too low for the subcommands, each with a text for
/// its value: `open files of 64`.
pub fn tight(root: &Root, is_bound_to_processes: bool) -> Vec<(Limit, String)> {
    let processes = is_bound_to_processes.then_some(PROCESSES);
    let of = |limit: Limit| {
        limit
            .value(root)
            .filter(|value| *value < limit.least)
            .map(|value| (limit, limit.reported(value)))
    };
    LIMITS.into_iter().chain(processes).filter_map(of).collect()
}

/// Smallest stack of the first thread with which the program can work, in bytes. Parsing the
/// command line nearly fills a smaller stack.
const LEAST_STACK: u64 = 512 << 10;

/// Returns the size of the first thread's stack if the program would overflow it; `None` if the
/// stack is large enough.
pub fn too_small_stack() -> Option<switchcost_units::Bytes> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Stack)
        .current
        .filter(|bytes| *bytes < LEAST_STACK)
        .map(switchcost_units::Bytes)
}

/// Describes how a child process ended, with the limits that may have ended it and the command that
/// raises them, or says that a seccomp filter ended it: `signal: 24 (SIGXCPU); a limit may have
/// ended it: CPU time of 1 s; to raise it: prlimit --cpu=unlimited --pid $$`.
pub fn ending(status: ExitStatus) -> String {
    ending_below(&Root::system(), status)
}

/// Whether a limit may have ended a child process with this exit status.
pub fn may_have_ended(status: ExitStatus) -> bool {
    !suspects(&Root::system(), status).is_empty()
}

fn ending_below(root: &Root, status: ExitStatus) -> String {
    if status.signal() == Some(libc::SIGSYS) {
        return format!("{status}: a filter (seccomp) does not allow one of its system calls");
    }
    let suspects = suspects(root, status);
    if suspects.is_empty() {
        return status.to_string();
    }
    let (reported, raised): (Vec<String>, Vec<String>) = suspects
        .into_iter()
        .map(|(limit, reported)| (reported, limit.raised()))
        .unzip();
    format!(
        "{status}; a limit may have ended it: {}; to raise it: prlimit {} --pid $$",
        reported.join(", "),
        raised.join(" ")
    )
}

/// Returns the limits that may have ended a child process, each with a text for its value. Every
/// machine limits stacks and memory, so these two are suspected only if their limits are low.
fn suspects(root: &Root, status: ExitStatus) -> Vec<(Limit, String)> {
    let Some(signal) = status.signal() else {
        return Vec::new();
    };
    let of = |limit: Limit| {
        let value = limit.value(root)?;
        let is_clear =
            matches!(limit.unit, Unit::Seconds | Unit::Microseconds) || signal == libc::SIGXFSZ;
        (limit.signals.contains(&signal) && (is_clear || value < limit.least))
            .then(|| (limit, limit.reported(value)))
    };
    LIMITS.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn limited(rows: &str) -> Fixture {
        Fixture::new().file("/proc/self/limits", rows)
    }

    #[test]
    fn limits_are_read_by_their_name() {
        let rows = "Max locked memory         unlimited            unlimited            bytes     \nMax odd  x\n";
        let fixture = limited(rows);
        assert_eq!(read(&fixture.root(), "Max locked memory"), Ok(u64::MAX));
        assert_eq!(
            read(&fixture.root(), "Max odd"),
            Err("/proc/self/limits has no 'Max odd'".to_owned())
        );
    }

    #[test]
    fn what_is_too_tight_is_reported_and_what_is_enough_is_not() {
        let rows = "Max cpu time 60 60 seconds\nMax open files 1024 524288 files\nMax stack size 65536 unlimited bytes\nMax processes 8 8 \
                    processes\nMax realtime timeout 50000 50000 us\n";
        let fixture = limited(rows);
        let reported = |is_bound| {
            tight(&fixture.root(), is_bound)
                .into_iter()
                .map(|(_, reported)| reported)
                .collect::<Vec<_>>()
        };
        let of_root = [
            "CPU time of 60 s",
            "stack of 64 KiB",
            "real-time CPU time of 50 ms",
        ];
        assert_eq!(reported(false), of_root);
        assert_eq!(
            reported(true),
            [&of_root[..], &["processes of this user of 8"]].concat()
        );
        let unknown = limited("");
        assert!(tight(&unknown.root(), true).is_empty());
    }

    #[test]
    fn a_signal_is_blamed_on_the_limits_that_send_it() {
        let rows = "Max cpu time 1 1 seconds\nMax stack size 8388608 unlimited bytes\n";
        let fixture = limited(rows);
        let reported = |signal| ending_below(&fixture.root(), ExitStatus::from_raw(signal));
        for signal in [libc::SIGXCPU, libc::SIGKILL] {
            let blamed = "; a limit may have ended it: CPU time of 1 s; to raise it: prlimit --cpu=unlimited --pid $$";
            assert!(reported(signal).ends_with(blamed), "{}", reported(signal));
        }
        for other in [libc::SIGSEGV, libc::SIGTERM, 1 << 8] {
            assert_eq!(reported(other), ExitStatus::from_raw(other).to_string());
        }
    }
}
