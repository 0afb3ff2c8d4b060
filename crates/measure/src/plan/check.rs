//! Checks whether this machine can run a plan, before anything is started.

use switchcost_record::{Between, Case, Family, HostManifest, Mechanism, Relation};
use switchcost_units::{Bytes, CpuId, Nanos, format_cpu_list};
use switchcost_workload::{Sharing, UnfitWorkingSet};

/// Allowed numbers of tasks. A ring has at least two.
const TASKS: std::ops::RangeInclusive<u32> = 2..=64;

/// Upper bound on the speed, in bytes per nanosecond, at which a task allocates and writes memory:
/// the kernel zeroes the pages, then the task writes them. Measured on an Intel Xeon of 2.3 GHz
/// under KVM, with other load: 0.6 on base pages, 1.1 on huge ones. The fastest memory would allow
/// one core about 20, so no plan is refused that some machine could run.
const PREPARED_PER_NS: u64 = 20;

/// Upper bound on the speed of a walk in bytes per nanosecond: two elements per cycle at 6 GHz.
/// Measured on an Intel Xeon of 2.3 GHz under KVM: 5 in memory, 18 in the nearest cache.
const WALKED_PER_NS: u64 = 100;

/// Least number of walks in a repetition: two arms, two batches of each, and in each batch an
/// untimed and a timed round.
const WALKS: u64 = 8;

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The working set cannot be walked.
    #[error(transparent)]
    WorkingSet(#[from] UnfitWorkingSet),
    /// The number of tasks, which field 0 contains, is not allowed.
    #[error("{0} task{s} cannot hand off in a ring; choose 2 to 64 with --tasks", s = if *.0 == 1 { "" } else { "s" })]
    Tasks(u32),
    /// The mechanism works only with two tasks.
    #[error("{tasks} tasks are too many for {mechanism}, which takes 2: {who}; use --tasks 2")]
    TwoOnly {
        /// Mechanism that was requested.
        mechanism: Mechanism,
        /// Requested number of tasks.
        tasks: u32,
        /// Names of the mechanism's two tasks, for the message.
        who: &'static str,
    },
    /// A requested CPU is not online.
    #[error("CPU {cpu} is not online (online: {online}); choose one of these with --cpu")]
    Offline {
        /// CPU that was requested.
        cpu: CpuId,
        /// The CPUs that are online.
        online: String,
    },
    /// A requested CPU is not allowed to this process.
    #[error(
        "CPU {cpu} is not allowed for this process (allowed: {allowed}); choose one of these with --cpu, or widen the cpuset \
         (permanently: AllowedCPUs= of the systemd unit)"
    )]
    NotAllowed {
        /// CPU that was requested.
        cpu: CpuId,
        /// The CPUs that are allowed.
        allowed: String,
    },
    /// A preemption across CPUs was requested, but a task can take the CPU only from a task on the
    /// same CPU.
    #[error(
        "{mechanism} cannot be measured across CPUs, because one task preempts the other; give --cpu one number"
    )]
    OneCpuOnly {
        /// Mechanism that was requested.
        mechanism: Mechanism,
    },
    /// The selection is not possible for concurrent tasks.
    #[error("concurrent tasks cannot run with {found}; {remedy}")]
    NotAtOnce {
        /// Property that was requested or found, for the message.
        found: String,
        /// Remedy, for the message.
        remedy: &'static str,
    },
    /// None of the requested mechanisms has the requested kind of tasks.
    #[error(
        "--between {wanted} does not apply to {mechanism}, which takes {own}; leave --between out"
    )]
    NotBetween {
        /// First of the requested mechanisms.
        mechanism: Mechanism,
        /// The first requested kind of tasks.
        wanted: Between,
        /// Kind of tasks that the mechanism has.
        own: Between,
    },
    /// The reload was requested without a working set.
    #[error("--size 0 leaves no working set to reload; give a size, such as --size 64KiB,1MiB")]
    NothingToReload,
    /// The reload was requested with a mechanism in which a task cannot keep the token without a
    /// switch.
    #[error(
        "the reload of a working set cannot be measured with {what}; use --mechanism pipe, eventfd, futex and the like, \
         --sharing private, and one CPU"
    )]
    NoReload {
        /// Mechanism or condition that prevents the reload, for the message.
        what: String,
    },
    /// Vector registers were requested with a mechanism whose tasks do not pass the token on right
    /// after loading them.
    #[error(
        "--vector-state cannot be measured with {mechanism}, which does not switch in the kernel; use --mechanism pipe, \
         eventfd, futex and the like"
    )]
    Vectors {
        /// Mechanism that was requested.
        mechanism: Mechanism,
    },
    /// The requested confidence needs more repetitions than are allowed.
    #[error(
        "--max-repetitions {most} is too low: a confidence of {percent} needs {needed} or more; raise it, or lower --confidence"
    )]
    Repetitions {
        /// Maximum number of repetitions.
        most: u32,
        /// Least number of repetitions for an interval of the requested confidence.
        needed: u32,
        /// Confidence that was requested, in percent.
        percent: String,
    },
    /// The arrays do not fit into memory.
    #[error(
        "{needed} of memory is needed for {arrays}, but only {available} is free; use a smaller --size or fewer --tasks"
    )]
    Memory {
        /// Free memory.
        available: Bytes,
        /// Memory that all arrays take.
        needed: Bytes,
        /// Number and sizes of the arrays, as text.
        arrays: String,
    },
    /// The pauses alone take longer than the budget.
    #[error(
        "--budget {budget:#} is too short: pauses of {pause:#} alone take {needed} before {batches} batches; raise --budget, \
         or use a shorter --pause"
    )]
    Pauses {
        /// Time for the whole run.
        budget: Nanos,
        /// Least total time of all pauses.
        needed: Nanos,
        /// Length of the pause before each batch.
        pause: Nanos,
        /// Least number of batches, each of which follows a pause.
        batches: u64,
    },
    /// The arrays cannot be prepared and walked within the budget.
    #[error(
        "--budget {budget:#} is too short: {tasks} tasks need at least {needed} to walk {size} each, {repetitions} \
         times{and_others}; raise --budget, or lower --tasks or --size until all arrays together are at most {fits:#}"
    )]
    Time {
        /// Time for the whole run.
        budget: Nanos,
        /// Least time for preparing and walking all arrays.
        needed: Nanos,
        /// Number of tasks of the case that takes longest.
        tasks: u32,
        /// Size of each array.
        size: Bytes,
        /// Least number of repetitions for an interval.
        repetitions: u32,
        /// Text about the other cases; empty if there are none.
        and_others: String,
        /// Total size of arrays that would fit the budget, if all cases shrank in proportion.
        fits: Bytes,
    },
}

/// Returns the least number of repetitions with which a signed-rank interval reaches a confidence,
/// given in thousandths. With n repetitions, the probability that not all of them lie on one side
/// of the true value is exactly 1 - 2 / 2^n.
pub(crate) fn fewest_repetitions(confidence_per_mille: u32) -> u32 {
    let reaches = |n: &u32| 2000 <= (1000 - u64::from(confidence_per_mille.min(999))) << n;
    (1..32).find(reaches).unwrap_or(32)
}

pub(super) fn check_repetitions(confidence_per_mille: u32, most: u32) -> Result<(), PlanError> {
    let needed = fewest_repetitions(confidence_per_mille);
    if most >= needed {
        return Ok(());
    }
    let percent = f64::from(confidence_per_mille) / 10.0;
    Err(PlanError::Repetitions {
        most,
        needed,
        percent: format!("{percent} %"),
    })
}

/// Refuses kinds of tasks (processes, threads, contexts) of which no selected mechanism has any.
pub(super) fn check_betweens(
    mechanisms: &[Mechanism],
    wanted: &[Between],
) -> Result<(), PlanError> {
    let fits = |mechanism: &Mechanism| {
        let mut own = mechanism.betweens().iter();
        own.any(|between| wanted.contains(between))
    };
    match (mechanisms.first(), wanted.first()) {
        (Some(mechanism), Some(wanted)) if !mechanisms.iter().any(fits) => {
            Err(PlanError::NotBetween {
                mechanism: *mechanism,
                wanted: *wanted,
                own: mechanism.betweens()[0],
            })
        }
        _ => Ok(()),
    }
}

pub(super) fn check(cases: &[Case], host: &HostManifest) -> Result<(), PlanError> {
    cases.iter().try_for_each(|case| check_case(case, host))
}

fn check_case(case: &Case, host: &HostManifest) -> Result<(), PlanError> {
    case.working_set.check()?;
    check_tasks(case)?;
    if case.mechanism == Mechanism::Preempt && case.placement.cpus.len() > 1 {
        return Err(PlanError::OneCpuOnly {
            mechanism: case.mechanism,
        });
    }
    check_at_once(case)?;
    check_reload(case)?;
    check_vectors(case)?;
    check_memory(case, host)
}

/// Refuses vector registers for mechanisms other than rings. Only the tasks of a ring load them,
/// right before passing the token on.
fn check_vectors(case: &Case) -> Result<(), PlanError> {
    let mechanism = case.mechanism;
    if case.vectors.is_none() || mechanism.traits().family == Family::Ring {
        Ok(())
    } else {
        Err(PlanError::Vectors { mechanism })
    }
}

/// Checks the CPUs of concurrent tasks, which must be two cores that share a cache. Hardware
/// threads of one core slow each other down even without a cache, and cores without a shared cache
/// have nothing to compare.
fn check_at_once(case: &Case) -> Result<(), PlanError> {
    if case.mechanism != Mechanism::Concurrent {
        return Ok(());
    }
    let not = |found: String, remedy| Err(PlanError::NotAtOnce { found, remedy });
    let cpus = &case.placement.cpus;
    match (&cpus[..], case.placement.relation) {
        _ if case.working_set.is_empty() => not(
            "no arrays".to_owned(),
            "give some, such as --size 64KiB,1MiB",
        ),
        _ if case.tasks != 2 => not(
            format!("{} tasks", case.tasks),
            "use --tasks 2, one on each of two CPUs",
        ),
        ([a, b], Relation::SharedCache) if a != b => Ok(()),
        ([a, b], relation) if a != b => not(
            format!("CPUs {a} and {b} ({relation})"),
            "name two cores that share a cache with --cpu (lscpu -e shows them)",
        ),
        _ => not(format!("{} CPUs", cpus.len()), "use --placement pair"),
    }
}

fn check_reload(case: &Case) -> Result<(), PlanError> {
    if case.away.is_none() {
        return Ok(());
    }
    if case.working_set.is_empty() {
        return Err(PlanError::NothingToReload);
    }
    case.working_set_of(1).check()?;
    let keeps_the_token = case.mechanism.traits().is_blocking && case.between != Between::User;
    let what = match case {
        _ if !keeps_the_token => case.mechanism.to_string(),
        _ if case.working_set.sharing == Sharing::Shared => "one array for all".to_owned(),
        _ if !case.placement.is_one_cpu() => "more than one CPU".to_owned(),
        _ => return Ok(()),
    };
    Err(PlanError::NoReload { what })
}

fn check_tasks(case: &Case) -> Result<(), PlanError> {
    if !TASKS.contains(&case.tasks) {
        return Err(PlanError::Tasks(case.tasks));
    }
    match case.mechanism.traits().two_tasks {
        Some(who) if case.tasks != 2 => Err(PlanError::TwoOnly {
            mechanism: case.mechanism,
            tasks: case.tasks,
            who,
        }),
        _ => Ok(()),
    }
}

/// Checks that a CPU is online, and that this process may use it.
pub fn check_cpu(cpu: CpuId, host: &HostManifest) -> Result<(), PlanError> {
    if !host.cpus_online.contains(&cpu) {
        return Err(PlanError::Offline {
            cpu,
            online: format_cpu_list(&host.cpus_online),
        });
    }
    if !host.cpus_allowed.contains(&cpu) {
        return Err(PlanError::NotAllowed {
            cpu,
            allowed: format_cpu_list(&host.cpus_allowed),
        });
    }
    Ok(())
}

fn check_memory(case: &Case, host: &HostManifest) -> Result<(), PlanError> {
    let set = &case.working_set;
    let arrays = if set.sharing == Sharing::Shared {
        1
    } else {
        case.tasks
    };
    let other = case.working_set_of(1).size_bytes;
    let others = other.0.saturating_mul(u64::from(arrays) - 1);
    let needed = Bytes(set.size_bytes.0.saturating_add(others));
    let available = host.memory_available_bytes;
    // An eighth of the memory stays free, so that the run does not make the machine swap.
    if needed.0 > available.0 / 8 * 7 {
        let arrays = match case.away {
            Some(_) => format!(
                "an array of {} and {} of {other} (--away)",
                set.size_bytes,
                arrays - 1
            ),
            None => format!("{arrays} arrays of {}", set.size_bytes),
        };
        return Err(PlanError::Memory {
            available,
            needed,
            arrays,
        });
    }
    Ok(())
}

/// Refuses a plan whose arrays cannot be prepared and walked as often as an interval needs, even on
/// the fastest machine. Repetitions are spread evenly over all cases, so with too little time
/// hardly any case would have a result. The last repetition may end after the budget.
pub(super) fn check_time(
    cases: &[Case],
    budget: Nanos,
    confidence_per_mille: u32,
) -> Result<(), PlanError> {
    let repetitions = fewest_repetitions(confidence_per_mille);
    let Some(longest) = cases.iter().max_by_key(|case| least_time(case)) else {
        return Ok(());
    };
    let once: u128 = cases.iter().map(least_time).sum();
    let needed = once * u128::from(repetitions) - least_time(longest);
    if needed <= u128::from(budget.0) {
        return Ok(());
    }
    let set = &longest.working_set;
    let fits =
        u128::from(set.size_bytes.0) * u128::from(longest.tasks) * u128::from(budget.0) / needed;
    Err(PlanError::Time {
        budget,
        needed: Nanos(u64::try_from(needed).unwrap_or(u64::MAX)),
        tasks: longest.tasks,
        size: set.size_bytes,
        repetitions,
        and_others: and_others(cases.len() - 1),
        fits: rounded_down(Bytes(u64::try_from(fits).unwrap_or(u64::MAX))),
    })
}

/// Refuses a plan whose pauses alone take longer than its budget. A pause precedes each batch, and
/// a repetition has at least one batch of each arm. The last repetition may end after the budget.
pub(super) fn check_pauses(
    pause: Option<Nanos>,
    cases: usize,
    budget: Nanos,
    confidence_per_mille: u32,
) -> Result<(), PlanError> {
    let repetitions = u64::from(fewest_repetitions(confidence_per_mille)) * cases as u64;
    let batches = 2 * repetitions.saturating_sub(1);
    match pause.map(|pause| (pause, Nanos(pause.0.saturating_mul(batches)))) {
        Some((pause, needed)) if needed > budget => Err(PlanError::Pauses {
            budget,
            needed,
            pause,
            batches,
        }),
        _ => Ok(()),
    }
}

fn and_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and another case as often".to_owned(),
        others => format!(", and {others} other cases as often"),
    }
}

/// Returns the least time, in nanoseconds, in which one repetition of a case can prepare and walk
/// its arrays.
fn least_time(case: &Case) -> u128 {
    let set = &case.working_set;
    let tasks = u128::from(case.tasks);
    let arrays = if set.sharing == Sharing::Shared {
        1
    } else {
        tasks
    };
    let others = case.working_set_of(1);
    let sum = |own: u64, other: u64, tasks: u128| u128::from(own) + u128::from(other) * (tasks - 1);
    let prepared = sum(set.size_bytes.0, others.size_bytes.0, arrays) / u128::from(PREPARED_PER_NS);
    let walked =
        sum(set.touches() as u64, others.touches() as u64, tasks) * size_of::<f64>() as u128;
    prepared + u128::from(WALKS) * walked / u128::from(WALKED_PER_NS)
}

/// Rounds a size down to a number with few digits, for a message.
fn rounded_down(size: Bytes) -> Bytes {
    let unit = [1 << 30, 1 << 20, 1 << 10]
        .into_iter()
        .find(|unit| size.0 >= 8 * unit)
        .unwrap_or(1);
    Bytes(size.0 / unit * unit)
}
