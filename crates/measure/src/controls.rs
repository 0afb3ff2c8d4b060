//! Controls of the environment: which ones are wanted and possible, and how a task applies them.

use std::io;

use switchcost_facts::rights::REAL_TIME_RIGHTS;
use switchcost_facts::{Root, refusing_real_time_share};
use switchcost_host::control::{
    MemoryLock, PinGuard, PolicyGuard, StepsBelowTop, limit_real_time, lock_memory, pin, set_policy,
};
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::{Control, ControlOutcome, Policy, as_argument};
use switchcost_remedies::memory_limits;
use switchcost_units::{CpuId, Nanos, format_cpu_list};
use switchcost_workload::{Pages, Sharing, WorkingSet, prepare};

/// Longest time for which a real-time task may run without blocking. A task that runs longer is out
/// of control, because no walk of memory takes as long.
const LONGEST_REAL_TIME_RUN: Nanos = Nanos::seconds(30);

/// Controls that the user has not turned off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedControls {
    /// CPUs to run on; `None` if pinning is turned off.
    pub cpus: Option<Vec<CpuId>>,
    /// Requested scheduling policy.
    pub policy: Policy,
    /// Whether the user turned the real-time policy off by a flag.
    pub is_real_time_off: bool,
}

/// Tries each control on the calling thread, undoes it, and returns the outcomes.
pub fn wanted_controls(requested: &RequestedControls) -> Vec<Control> {
    vec![
        pinning(requested),
        policy(requested),
        memory_lock(),
        Control {
            name: "fresh-processes".to_owned(),
            wanted: "new processes and new pages for each repetition".to_owned(),
            outcome: ControlOutcome::Applied,
        },
    ]
}

fn pinning(requested: &RequestedControls) -> Control {
    let Some(cpus) = &requested.cpus else {
        return Control {
            name: "affinity".into(),
            wanted: "one CPU".into(),
            outcome: ControlOutcome::TurnedOff,
        };
    };
    let list = format_cpu_list(cpus);
    let outcome = match pin(cpus) {
        Ok(_) => ControlOutcome::Applied,
        Err(error) => ControlOutcome::Refused {
            found: format!("sched_setaffinity: {error}"),
            needed: format!("the right to run on CPU {list}"),
            fix: "choose an allowed CPU: taskset -pc $$ shows them".to_owned(),
            lasting_fix: "add the CPU to the cgroup's cpuset (AllowedCPUs= of the systemd unit)"
                .to_owned(),
        },
    };
    Control {
        name: "affinity".into(),
        wanted: format!("CPU {list}"),
        outcome,
    }
}

fn policy(requested: &RequestedControls) -> Control {
    let name = "real-time-priority".to_owned();
    if requested.is_real_time_off || !requested.policy.is_real_time() {
        return Control {
            name,
            wanted: "SCHED_FIFO".into(),
            outcome: ControlOutcome::TurnedOff,
        };
    }
    let wanted = format!(
        "SCHED_{}, one below the highest priority",
        requested.policy.to_string().to_uppercase()
    );
    // A preempting task needs the highest priority.
    let outcome = match set_policy(requested.policy, StepsBelowTop(0)) {
        Ok(_) => ControlOutcome::Applied,
        Err(error) => match refusing_real_time_share(&Root::system()) {
            Some(file) => ControlOutcome::Refused {
                found: format!("sched_setscheduler: {error}, as {file} is 0"),
                needed: "a real-time share of this process' control group".to_owned(),
                fix: format!("echo 900000 | sudo tee {}, its parents first", as_argument(&file)),
                lasting_fix:
                    "docker run --cpu-rt-runtime=900000, or rt_group_sched=0 on the kernel's command line (from 6.16)"
                        .to_owned(),
            },
            None => ControlOutcome::Refused {
                found: format!("sched_setscheduler: {error}"),
                needed: REAL_TIME_RIGHTS.to_owned(),
                fix: "sudo switchcost ..., or sudo prlimit --pid $$ --rtprio=99 in this shell first".to_owned(),
                lasting_fix:
                    "echo '@users - rtprio 99' | sudo tee /etc/security/limits.d/switchcost.conf, and log in again"
                        .to_owned(),
            },
        },
    };
    Control {
        name,
        wanted,
        outcome,
    }
}

fn memory_lock() -> Control {
    let outcome = match switchcost_host::control::can_lock_everything() {
        Ok(()) => ControlOutcome::Applied,
        Err(found) => ControlOutcome::Refused {
            found,
            needed: "CAP_IPC_LOCK, or an unlimited RLIMIT_MEMLOCK".to_owned(),
            fix: "sudo switchcost ..., or sudo prlimit --pid $$ --memlock=unlimited in this shell first".to_owned(),
            lasting_fix:
                "echo '@users - memlock unlimited' | sudo tee /etc/security/limits.d/switchcost-memlock.conf, \
                          and log in again"
                    .to_owned(),
        },
    };
    Control {
        name: "locked-memory".into(),
        wanted: "mlockall: no page leaves memory".into(),
        outcome,
    }
}

/// Controls that a task applies to itself before it is measured: its CPU, priority and locked
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct TaskControls {
    pub(crate) cpus: Vec<CpuId>,
    pub(crate) policy: Policy,
    pub(crate) steps_below_top: i32,
    pub(crate) locks_memory: bool,
}

/// Guards of a task's controls. The controls last as long as this value.
#[derive(Debug, Default)]
pub(crate) struct ControlGuards {
    _pin: Option<PinGuard>,
    memory: Option<MemoryLock>,
    policy: Option<PolicyGuard>,
}

impl TaskControls {
    /// Pins the task to its CPU. The task must be pinned first, so that the task's memory is
    /// allocated from that CPU.
    pub(crate) fn pin(&self, task: usize) -> Result<ControlGuards, String> {
        if self.cpus.is_empty() {
            return Ok(ControlGuards::default());
        }
        let cpu = self.cpus[task % self.cpus.len()];
        let guard = pin(&[cpu]).map_err(|error| {
            format!(
                "CPU {cpu} is not available ({error}); choose one that is online and allowed with --cpu"
            )
        })?;
        Ok(ControlGuards {
            _pin: Some(guard),
            ..ControlGuards::default()
        })
    }

    /// Locks memory and sets the policy, after the memory was touched. The policy is set whatever
    /// policy the caller had.
    pub(crate) fn apply(&self, guards: &mut ControlGuards) -> Result<(), String> {
        if self.locks_memory {
            let lock = lock_memory()
                .map_err(|error| format!("memory cannot be locked: mlockall: {error}"))?;
            guards.memory = Some(lock);
        }
        if self.policy.is_real_time() {
            limit_real_time(LONGEST_REAL_TIME_RUN)
                .map_err(|error| format!("the real-time limit cannot be set ({error})"))?;
        }
        let guard = set_policy(self.policy, StepsBelowTop(self.steps_below_top));
        guards.policy = Some(guard.map_err(|error| self.policy_refused(&error))?);
        Ok(())
    }

    fn policy_refused(&self, error: &io::Error) -> String {
        let needed = if self.policy.is_real_time() {
            "real-time rights; use --no-rt"
        } else {
            "a caller under SCHED_OTHER, the default; use chrt --other 0 switchcost ..."
        };
        let name = self.policy.to_string().to_uppercase();
        format!("SCHED_{name} is refused ({error}), which needs {needed}")
    }
}

/// Returns the array of a working set with this kind of sharing; `None` if the working set is empty
/// or is shared otherwise.
pub(crate) fn array_if(
    sharing: Sharing,
    set: &WorkingSet,
    seed: u64,
) -> Result<Option<Memory>, String> {
    let map_type = match sharing {
        Sharing::Private => MapType::Private,
        Sharing::Shared => MapType::Shared,
    };
    let is_wanted = !set.is_empty() && set.sharing == sharing;
    is_wanted.then(|| array(set, map_type, seed)).transpose()
}

/// Returns an array of a working set, touched and laid out. The error names the limit in force.
pub(crate) fn array(set: &WorkingSet, map_type: MapType, seed: u64) -> Result<Memory, String> {
    let memory = Memory::map(set.size_bytes, map_type, set.pages);
    let memory = memory.map_err(|error| match memory_limits() {
        Some(limits) => format!("{error}, or {limits}"),
        None => error.to_string(),
    })?;
    prepare(&memory, set, seed);
    if set.pages == Pages::Huge {
        memory.require_huge().map_err(|error| error.to_string())?;
    }
    Ok(memory)
}
