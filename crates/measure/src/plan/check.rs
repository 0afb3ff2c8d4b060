//! Whether this machine can run a plan, before anything is started.

use record::{Case, HostManifest, Mechanism};
use units::{Bytes, CpuId, format_cpu_list};
use workload::{Sharing, UnfitWorkingSet};

/// A ring has at least two tasks, and lmbench's largest has 64.
const TASKS: std::ops::RangeInclusive<u32> = 2..=64;

/// Why a plan cannot be run. Reads well behind "failed to plan the measurement: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A working set that cannot be walked.
    #[error(transparent)]
    WorkingSet(#[from] UnfitWorkingSet),
    /// Too few or too many tasks.
    #[error("found {0} tasks, need 2 to 64 (--tasks)")]
    Tasks(u32),
    /// A mechanism between two, and only two.
    #[error("found {tasks} tasks for {mechanism}, need 2: a victim and its antagonist (--tasks 2)")]
    TwoOnly {
        /// The mechanism.
        mechanism: Mechanism,
        /// The tasks asked for.
        tasks: u32,
    },
    /// A CPU that is not online.
    #[error(
        "found no CPU {cpu} online, need one of {online}; choose it with --cpu, or bring it online: echo 1 | sudo \
             tee /sys/devices/system/cpu/cpu{cpu}/online"
    )]
    Offline {
        /// The CPU asked for.
        cpu: CpuId,
        /// Those online.
        online: String,
    },
    /// A CPU that this process may not use.
    #[error(
        "found CPU {cpu} online but not allowed to this process, need one of {allowed}; choose it with --cpu, or \
             widen the cpuset: taskset -pc shows it, AllowedCPUs= of the systemd unit makes it last"
    )]
    NotAllowed {
        /// The CPU asked for.
        cpu: CpuId,
        /// Those allowed.
        allowed: String,
    },
    /// A task that takes the CPU from another has to be on it.
    #[error("found {mechanism} across CPUs, need one CPU to take from its victim (--cpu with one number)")]
    OneCpuOnly {
        /// The mechanism.
        mechanism: Mechanism,
    },
    /// Too few repetitions for the confidence.
    #[error(
        "found at most {most} repetitions, need {needed} or more for an interval of {percent}; raise \
             --max-repetitions or lower --confidence"
    )]
    Repetitions {
        /// Repetitions allowed.
        most: u32,
        /// Repetitions that the interval takes at least.
        needed: u32,
        /// The confidence asked for.
        percent: String,
    },
    /// Arrays that do not fit.
    #[error(
        "found {available} of free memory, need {needed} for {tasks} arrays of {size}; use a smaller --size or \
             fewer --tasks"
    )]
    Memory {
        /// Free now.
        available: Bytes,
        /// What all arrays take.
        needed: Bytes,
        /// Number of arrays.
        tasks: u32,
        /// Size of each.
        size: Bytes,
    },
}

/// Fewest repetitions whose signed-rank interval reaches a confidence: 1 - 2 / 2^n for n repetitions, the exact
/// probability that not all of them lie on one side of the truth.
pub(super) fn fewest_repetitions(confidence_per_mille: u32) -> u32 {
    let reaches = |n: &u32| 2000 <= (1000 - u64::from(confidence_per_mille.min(999))) << n;
    (1..32).find(reaches).unwrap_or(32)
}

pub(super) fn check_repetitions(confidence_per_mille: u32, most: u32) -> Result<(), PlanError> {
    let needed = fewest_repetitions(confidence_per_mille);
    if most >= needed {
        return Ok(());
    }
    let percent = f64::from(confidence_per_mille) / 10.0;
    Err(PlanError::Repetitions { most, needed, percent: format!("{percent} %") })
}

pub(super) fn check(cases: &[Case], host: &HostManifest) -> Result<(), PlanError> {
    cases.iter().try_for_each(|case| check_case(case, host))
}

fn check_case(case: &Case, host: &HostManifest) -> Result<(), PlanError> {
    case.working_set.check()?;
    check_tasks(case)?;
    case.placement.cpus.iter().try_for_each(|cpu| check_cpu(*cpu, host))?;
    if case.mechanism == Mechanism::Preempt && case.placement.cpus.len() > 1 {
        return Err(PlanError::OneCpuOnly { mechanism: case.mechanism });
    }
    check_memory(case, host)
}

fn check_tasks(case: &Case) -> Result<(), PlanError> {
    if !TASKS.contains(&case.tasks) {
        return Err(PlanError::Tasks(case.tasks));
    }
    if case.mechanism == Mechanism::Preempt && case.tasks != 2 {
        return Err(PlanError::TwoOnly { mechanism: case.mechanism, tasks: case.tasks });
    }
    Ok(())
}

fn check_cpu(cpu: CpuId, host: &HostManifest) -> Result<(), PlanError> {
    if !host.cpus_online.contains(&cpu) {
        return Err(PlanError::Offline { cpu, online: format_cpu_list(&host.cpus_online) });
    }
    if !host.cpus_allowed.contains(&cpu) {
        return Err(PlanError::NotAllowed { cpu, allowed: format_cpu_list(&host.cpus_allowed) });
    }
    Ok(())
}

fn check_memory(case: &Case, host: &HostManifest) -> Result<(), PlanError> {
    let set = &case.working_set;
    let arrays = if set.sharing == Sharing::Shared { 1 } else { case.tasks };
    let needed = Bytes(set.size_bytes.0.saturating_mul(u64::from(arrays)));
    let available = host.memory_available_bytes;
    // An eighth stays free, so that the run does not push the rest of the machine into swap.
    if needed.0 > available.0 / 8 * 7 {
        return Err(PlanError::Memory { available, needed, tasks: arrays, size: set.size_bytes });
    }
    Ok(())
}
