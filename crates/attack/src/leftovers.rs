//! Finds processes that remain after a trial, and reads the state of the bystander process, which
//! no trial may affect.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest time that a process of a trial may outlive its run.
const TIME_TO_GO: Duration = Duration::from_secs(10);

/// Returns the PIDs of a trial's processes, whose environment contains a path in this folder.
pub(crate) fn marked(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let folder = folder.as_os_str().as_bytes();
    let has_mark = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(folder.len()).any(|text| text == folder)
    };
    numbers.filter(has_mark).collect()
}

/// Waits until none of the processes remains. Processes that do not end in time are killed, and
/// reported as an error.
pub(crate) fn await_none(processes: impl Fn() -> Vec<i32>) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let left = processes();
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > TIME_TO_GO {
            let reported = format!("left running: {}", described(&left));
            kill(&left);
            return Err(reported);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Describes processes by their command lines and the kernel functions in which they wait.
pub(crate) fn described(processes: &[i32]) -> String {
    let read = |pid: &i32, file: &str| {
        fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    };
    let describe = |pid: &i32| {
        let words = read(pid, "cmdline").replace('\0', " ");
        format!(
            "{pid} ({:.120}) in {}",
            words.trim_end(),
            read(pid, "wchan")
        )
    };
    processes
        .iter()
        .map(describe)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Kills the given processes, which must belong to a trial.
pub(crate) fn kill(processes: &[i32]) {
    for pid in processes.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Reduces the state of a process in `/proc/PID/status`: running and sleeping are the same, because
/// only a stopped process has been affected.
fn awake_or_not(state: &str) -> String {
    if state.starts_with(['R', 'S', 'D']) {
        "at work".to_owned()
    } else {
        state.to_owned()
    }
}

/// State of the bystander process, which no trial may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    state: String,
    tracer: String,
    cpus: String,
    groups: String,
    policy_and_priority: Vec<String>,
}

impl Condition {
    pub(crate) fn read(pid: u32) -> Result<Condition, String> {
        let read = |file: &str| {
            fs::read_to_string(format!("/proc/{pid}/{file}"))
                .map_err(|error| format!("the process beside it: {error}"))
        };
        let status = read("status")?;
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        // After the name in brackets, priority and nice value are fields 18 and 19, and the policy
        // is field 41.
        let stat = read("stat")?;
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let policy_and_priority = [15, 16, 38]
            .iter()
            .filter_map(|&at| fields.get(at))
            .map(|field| (*field).to_owned());
        Ok(Condition {
            state: awake_or_not(&field("State:")),
            tracer: field("TracerPid:"),
            cpus: field("Cpus_allowed:"),
            groups: read("cgroup")?,
            policy_and_priority: policy_and_priority.collect(),
        })
    }
}
