use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{
    Cause, Entry, FutexWait, Observation, Source, Subject, Tasks, Throttled, Why,
};
use switchcost_units::Nanos;

use super::cost::{self, Range};
use super::neighbours::MOSTLY;
use super::{CauseFinding, NeighbourFinding, ProcessFinding, known, observed, runtimes};
use crate::lists::saturating_sum;

/// Least cost of switches, as a share of a workload's CPU time, for which a change is advised.
const WORTH: f64 = 0.01;

/// Least idle time of all CPUs together, in CPUs, that counts as room for another program. With
/// less, the program would take CPU time from observed tasks.
const FREE_CPUS: f64 = 0.5;

/// System calls in which a task waits for input, or for room for output. Larger transfers mean
/// fewer waits. System calls that wait for something else, such as the end of a process, are not
/// listed.
const TRANSFERS: [&str; 18] = [
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg", "accept",
    "accept4",
];

/// System calls in which a task waits for a transfer or a timeout. The record does not say which of
/// the two ended a wait.
const TRANSFERS_OR_TIMES: [&str; 9] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "io_getevents",
    "io_uring_enter",
];

/// System calls in which a task waits only for a time to pass.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// A change that is likely to reduce the cost of a workload's switches, with its largest possible
/// gain.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Advice {
    /// The change that is advised, or the statement that none is needed.
    #[serde(flatten)]
    pub change: Change,
    /// Largest possible gain of the change.
    pub at_most: AtMost,
}

/// A change that may be advised.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Change {
    /// No change: switches cost less than 1 % of the CPU time, even at the upper end.
    Nothing,
    /// A larger CPU quota: a control group has used up its quota, which costs more time than
    /// switches do.
    RaiseQuota {
        /// Path of the control group; untrusted text that must be escaped before it is shown.
        group: String,
        /// Time for which the quota kept tasks of the group from running, observed or not, in
        /// nanoseconds.
        throttled_ns: Nanos,
        /// Whether all tasks of the group were observed. If not, the gain is the time for which the
        /// observed tasks themselves waited for quotas.
        is_whole: bool,
    },
    /// Separate CPUs for two programs: another program preempts the observed one while other CPUs
    /// are idle.
    Separate {
        /// Name of the observed program; untrusted text that must be escaped before it is shown.
        observed: String,
        /// Name of the other program; untrusted text that must be escaped before it is shown.
        other: String,
    },
    /// Fewer concurrent tasks: the observed tasks preempt one another, because there are more of
    /// them than CPUs.
    FewerAtATime,
    /// Longer time slices: most switches occur at the ends of time slices.
    LongerSlices,
    /// Less lock contention: locks held for shorter times, or fewer threads that compete for a
    /// lock.
    FewerLocks,
    /// More work per wake-up: the tasks mostly wait for input, or for room for output.
    MoreForEachWakeUp {
        /// Name of the system call in which the tasks wait.
        call: String,
    },
    /// Fewer wake-ups: the tasks mostly wait in a system call for a transfer or a timeout. The
    /// record does not say which of the two ended the waits.
    FewerWakeUps {
        /// Name of the system call in which the tasks wait.
        call: String,
    },
    /// Fewer and longer sleeps: the tasks mostly wait for a time to pass.
    SleepLonger {
        /// Name of the system call in which the tasks sleep.
        call: String,
    },
}

/// Reason why no change is advised although switches have a cost.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum NoAdvice {
    /// Another program preempts the observed one, but no CPU is idle to separate the two.
    NoFreeCpu {
        /// Name of the observed program; untrusted text that must be escaped before it is shown.
        observed: String,
        /// Name of the other program; untrusted text that must be escaped before it is shown.
        other: String,
    },
    /// No cause has at least half of the switches.
    NoMainCause,
}

/// Largest possible gain of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct AtMost {
    /// Upper end of the cost of the affected switches, as a share of the CPU time of all observed
    /// tasks. The system calls that also become unnecessary are not included. `None` if the gain is
    /// not CPU time, or is unknown.
    pub cpu_share: Option<f64>,
    /// Time for which tasks had to wait, summed over all tasks, in nanoseconds; `None` if the gain
    /// is not waiting time.
    pub waits_ns: Option<u64>,
}

pub(super) fn find(
    observation: &Observation,
    all: &ProcessFinding,
    causes: &[CauseFinding],
    neighbours: &[NeighbourFinding],
) -> (Vec<Advice>, Option<NoAdvice>) {
    let mut advice: Vec<Advice> = observation
        .throttled
        .iter()
        .filter(|group| group.throttled_ns.0 > 0)
        .map(|group| raise(observation, group))
        .collect();
    if all.is_negligible() || all.share.is_some_and(|share| share.high < WORTH) {
        advice.push(Advice {
            change: Change::Nothing,
            at_most: AtMost::default(),
        });
        return (advice, None);
    }
    if cost_share(all).is_none_or(|share| share < WORTH) {
        return (advice, None);
    }
    let counted = Counted {
        observation,
        all,
        causes,
        neighbours,
    };
    let candidates = [counted.about_preemptions(), counted.about_waits()];
    let found = candidates.into_iter().flatten();
    let worth = found.filter(|(_, cost)| *cost >= WORTH);
    let before = advice.len();
    advice.extend(worth.map(|(advice, _)| advice));
    let is_silent = advice.len() == before;
    let no_advice = is_silent.then(|| counted.missing_advice()).flatten();
    (advice, no_advice)
}

/// Returns the cost of switches as a share of CPU time: the upper end if there is one, else the
/// likely value, else the likely direct cost.
fn cost_share(all: &ProcessFinding) -> Option<f64> {
    match all.share.filter(Range::is_bounded) {
        Some(share) => Some(share.high),
        None => Some(all.likely_ns()? / all.cpu_ns?),
    }
}

/// Advice, with the cost of the affected switches as a share of CPU time, as in [`cost_share`].
type Candidate = (Advice, f64);

/// Returns the advice to raise a group's quota. The gain is the throttled time of the whole group
/// if all its tasks are observed. Otherwise the gain is the time for which the observed tasks
/// waited for quotas, of this group or another, if that was counted.
fn raise(observation: &Observation, group: &Throttled) -> Advice {
    let is_whole = match &observation.subject {
        Subject::Everything => true,
        Subject::ControlGroup(observed) => is_within(&group.group, observed),
        Subject::Command(_) | Subject::Processes(_) => false,
    };
    let own = saturating_sum(observation.waits.iter().map(|waits| waits.throttled_ns.0));
    let own = (observation.source == Source::Bpf && !observation.waits.is_empty()).then_some(own);
    let waits_ns = if is_whole {
        Some(group.throttled_ns.0)
    } else {
        own
    };
    let (name, throttled_ns) = (group.group.clone(), group.throttled_ns);
    let change = Change::RaiseQuota {
        group: name,
        throttled_ns,
        is_whole,
    };
    Advice {
        change,
        at_most: AtMost {
            cpu_share: None,
            waits_ns,
        },
    }
}

/// Whether the control group `group` is `above`, or a descendant of `above`.
fn is_within(group: &str, above: &str) -> bool {
    Path::new(group.trim_matches('/')).starts_with(above.trim_matches('/'))
}

/// Counts and findings from which advice is derived. Advice is given only if all its premises were
/// counted.
struct Counted<'a> {
    observation: &'a Observation,
    all: &'a ProcessFinding,
    causes: &'a [CauseFinding],
    neighbours: &'a [NeighbourFinding],
}

impl Counted<'_> {
    fn about_preemptions(&self) -> Option<Candidate> {
        if self.share(|why, _| why.is_preemption()) < MOSTLY {
            return None;
        }
        // A task that is woken by a system call of an observed task works together with that task.
        // So the two do not compete for the CPU.
        let are_apart =
            self.share(is_by_its_own_call) < MOSTLY * self.share(|why, _| why.is_preemption());
        let separate = self.separate().filter(|_| are_apart);
        let fewer = (are_apart && self.are_too_many()).then_some(Change::FewerAtATime);
        let is_preempted = |cause: &Cause| cause.why.is_preemption();
        if let Some(change) = separate.or(fewer) {
            return self.advice(change, is_preempted, |cause| cause.wait_ns.0);
        }
        let slices = self.share(|why, _| why == Why::SliceEnded);
        (slices >= MOSTLY)
            .then(|| {
                self.advice(
                    Change::LongerSlices,
                    |cause| cause.why == Why::SliceEnded,
                    |_| 0,
                )
            })
            .flatten()
    }

    fn about_waits(&self) -> Option<Candidate> {
        let blocked = self
            .causes
            .iter()
            .filter(|cause| cause.why == Why::Blocked)
            .max_by_key(|cause| cause.switches)?;
        let is_it = |cause: &Cause| cause.why == Why::Blocked && cause.entry == blocked.entry;
        if blocked.share < MOSTLY {
            return None;
        }
        match &blocked.entry {
            Entry::Futex(FutexWait::Lock) => {
                self.advice(Change::FewerLocks, is_it, |cause| cause.off_ns.0)
            }
            Entry::SystemCall(call) if SLEEPS.contains(&call.as_str()) => {
                self.about_sleeps(call, is_it)
            }
            Entry::SystemCall(call) => self.advice(advise_waits(call)?, is_it, |_| 0),
            _ => None,
        }
    }

    /// Returns the advice to sleep less often; `None` if sleeps of the program's own threads are
    /// less than half of all switches. Threads of a language runtime, such as Go's monitor, are not
    /// counted, because a change of the program does not change their sleeps.
    fn about_sleeps(&self, call: &str, is_it: impl Fn(&Cause) -> bool) -> Option<Candidate> {
        let is_of_the_program = |tasks: &&Tasks| runtimes::kind(tasks).is_none();
        let own = observed(self.observation)
            .filter(is_of_the_program)
            .flat_map(|tasks| &tasks.causes);
        let own: u64 = own
            .filter(|cause| is_it(cause))
            .map(|cause| cause.switches)
            .sum();
        if (own as f64) < MOSTLY * self.all.switches as f64 {
            return None;
        }
        self.advice_to(
            Change::SleepLonger {
                call: call.to_owned(),
            },
            is_of_the_program,
            is_it,
            |_| 0,
        )
    }

    /// Returns the advice to separate another program that preempts the observed one; `None` if
    /// there is none, or if idle CPUs have no room.
    fn separate(&self) -> Option<Change> {
        let first = self.foreign().filter(|first| self.has_room(first))?;
        Some(Change::Separate {
            observed: first.observed.clone(),
            other: first.other.clone(),
        })
    }

    /// Returns the other program that causes at least half of the preemptions, with the observed
    /// program that it preempts most often; `None` if there is none.
    fn foreign(&self) -> Option<&NeighbourFinding> {
        let share = |one| -> f64 { self.rows_of_other(one).map(|row| row.preempted_share).sum() };
        let rows = self.neighbours.iter().filter(|row| !self.is_own(row));
        rows.filter(|row| !row.other.is_empty() && share(row) >= MOSTLY)
            .max_by_key(|row| row.preempted)
    }

    /// Returns the rows of the other program of `one`, for all observed programs.
    fn rows_of_other(&self, one: &NeighbourFinding) -> impl Iterator<Item = &NeighbourFinding> {
        let rows = self.neighbours.iter().filter(|row| !self.is_own(row));
        rows.filter(move |row| row.other == one.other)
    }

    fn has_room(&self, other: &NeighbourFinding) -> bool {
        let cpus = &self.observation.cpus;
        let idle = cpus.iter().map(|cpu| cpu.idle_ns.0 as f64).sum::<f64>();
        let window = self.observation.window_ns.0 as f64;
        let ran: f64 = self.rows_of_other(other).map(|row| row.ran_ns).sum();
        idle >= FREE_CPUS * window && idle >= ran && cpus.len() > 1
    }

    fn missing_advice(&self) -> Option<NoAdvice> {
        let is_mostly = |cause: &CauseFinding| cause.share >= MOSTLY;
        let preempted = self.share(|why, _| why.is_preemption());
        let foreign = self.foreign().filter(|_| preempted >= MOSTLY);
        match foreign.filter(|first| !self.has_room(first)) {
            Some(first) => Some(NoAdvice::NoFreeCpu {
                observed: first.observed.clone(),
                other: first.other.clone(),
            }),
            None if self.causes.is_empty() || self.causes.iter().any(is_mostly) => None,
            None => (preempted < MOSTLY).then_some(NoAdvice::NoMainCause),
        }
    }

    /// Whether the observed tasks mostly preempt one another, and more tasks could run than had
    /// CPUs.
    fn are_too_many(&self) -> bool {
        let sum = |of: fn(&Tasks) -> u64| {
            observed(self.observation)
                .map(|tasks| of(tasks) as f64)
                .sum::<f64>()
        };
        let window = self.observation.window_ns.0.max(1) as f64;
        let (running, waiting) = (
            sum(|tasks| tasks.run_ns.0) / window,
            sum(|tasks| tasks.wait_ns.0) / window,
        );
        // A little more than a whole number of CPUs does not count as another CPU.
        let cpus = (running - 0.1).ceil().max(1.0);
        let own = self.neighbours.iter().filter(|row| self.is_own(row));
        let by_own: f64 = own.map(|row| row.preempted_share).sum();
        by_own >= MOSTLY && self.all.tasks > 1 && running + waiting > cpus
    }

    /// Whether the other program is observed, too. If all tasks are observed, only the same program
    /// counts as observed.
    fn is_own(&self, neighbour: &NeighbourFinding) -> bool {
        let is_one = self.observation.subject != Subject::Everything
            || neighbour.observed == neighbour.other;
        neighbour.is_own && is_one
    }

    fn share(&self, is: impl Fn(Why, &Entry) -> bool) -> f64 {
        self.causes
            .iter()
            .filter(|cause| is(cause.why, &cause.entry))
            .map(|cause| cause.share)
            .sum()
    }

    fn advice(
        &self,
        change: Change,
        is: impl Fn(&Cause) -> bool,
        waits: fn(&Cause) -> u64,
    ) -> Option<Candidate> {
        self.advice_to(change, |_| true, is, waits)
    }

    /// Returns the advice with the cost of the switches of the affected tasks and causes; `None` if
    /// the cost is unknown.
    fn advice_to(
        &self,
        change: Change,
        is_affected: impl Fn(&&Tasks) -> bool,
        is: impl Fn(&Cause) -> bool,
        waits: fn(&Cause) -> u64,
    ) -> Option<Candidate> {
        let (mut direct, mut waits_ns) = (Range::NOTHING, 0u64);
        for tasks in observed(self.observation).filter(&is_affected) {
            let costs = known::costs(self.observation, tasks)?;
            for cause in tasks.causes.iter().filter(|cause| is(cause)) {
                direct = direct.plus(cost::cost_of_cause(cause, costs)?);
                waits_ns = waits_ns.saturating_add(waits(cause));
            }
        }
        let cpu = self.all.cpu_ns?;
        let likely = direct.likely.unwrap_or(direct.low);
        // The cost of cold caches has no cause, so all of it may be due to these switches. If only
        // the CPU time limits the cost, there is no upper end.
        let (share, at_most) = match (self.all.cost_ns, self.all.indirect_ns) {
            (Some(cost), Some(indirect)) if cost.over(cpu).is_bounded() => {
                let most = cost.high.min(direct.high + indirect.high) / cpu;
                (most, Some(most))
            }
            (Some(cost), Some(indirect)) => {
                let likely = likely + indirect.likely.unwrap_or(0.0);
                (likely / cpu, Some(cost.high / cpu))
            }
            _ => (likely / cpu, None),
        };
        let at_most = AtMost {
            cpu_share: at_most,
            waits_ns: Some(waits_ns).filter(|waits| *waits > 0),
        };
        Some((Advice { change, at_most }, share))
    }
}

/// Whether a task was preempted during its own system call, by a task that the call had woken.
fn is_by_its_own_call(why: Why, entry: &Entry) -> bool {
    why == Why::PreemptedByWoken && matches!(entry, Entry::SystemCall(_) | Entry::Futex(_))
}

fn advise_waits(call: &str) -> Option<Change> {
    if TRANSFERS_OR_TIMES.contains(&call) {
        return Some(Change::FewerWakeUps {
            call: call.to_owned(),
        });
    }
    TRANSFERS
        .contains(&call)
        .then(|| Change::MoreForEachWakeUp {
            call: call.to_owned(),
        })
}

#[cfg(test)]
mod tests;
