use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::WorkingSet;

use crate::{Between, Mechanism, RuntimeCase, VectorCase};

/// Scheduling policy of the measured tasks.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Policy {
    /// SCHED_FIFO: only a task of higher priority preempts a running task.
    Fifo,
    /// SCHED_RR: as SCHED_FIFO, but tasks of equal priority alternate by time slices.
    Rr,
    /// SCHED_OTHER, the kernel's default.
    Other,
    /// SCHED_BATCH: as SCHED_OTHER, but a task that is woken does not preempt the running one.
    Batch,
}

impl Policy {
    /// Whether this is a real-time policy, whose tasks run before all ordinary tasks.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }
}

/// Relation of the CPUs on which the tasks of a case run, nearest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Relation {
    /// All tasks share one CPU.
    SameCpu,
    /// The tasks run on two hardware threads of one core.
    Smt,
    /// The tasks run on two cores that share a cache.
    SharedCache,
    /// The tasks run on two cores of one socket that share no cache.
    SameSocket,
    /// The tasks run on CPUs of two sockets.
    OtherSocket,
    /// The machine does not report the relation.
    Unknown,
    /// The tasks are not pinned; the scheduler chooses their CPUs.
    Unpinned,
}

/// CPUs of a case's tasks: task `i` runs on `cpus[i % cpus.len()]`, or on any CPU if `cpus` is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Placement {
    /// CPUs in the order of the tasks; empty if tasks are not pinned.
    pub cpus: Vec<CpuId>,
    /// Relation of the CPUs to each other.
    pub relation: Relation,
}

impl Placement {
    /// Returns a placement of all tasks on one CPU.
    pub fn one_cpu(cpu: CpuId) -> Placement {
        Placement {
            cpus: vec![cpu],
            relation: Relation::SameCpu,
        }
    }

    /// Returns a placement of tasks that are not pinned.
    pub fn unpinned() -> Placement {
        Placement {
            cpus: Vec::new(),
            relation: Relation::Unpinned,
        }
    }

    /// Whether all tasks share one CPU. Then each hand-off needs a switch, and the switch has a
    /// cost.
    pub fn is_one_cpu(&self) -> bool {
        self.cpus.len() == 1
    }
}

/// Number of kernel switches that a hand-off is expected to need, in thousandths, as a range. The
/// kernel may choose: a notification under a lock needs one switch or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SwitchPlan {
    /// Least number of switches per 1,000 hand-offs.
    pub low_per_mille: u64,
    /// Largest number of switches per 1,000 hand-offs.
    pub high_per_mille: u64,
}

/// One row of the result table: a mechanism under fixed conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// Mechanism that hands over the token.
    pub mechanism: Mechanism,
    /// Kind of tasks that hand over the token: processes, threads or user-level contexts.
    pub between: Between,
    /// Number of tasks in the ring.
    pub tasks: u32,
    /// Memory that each task accesses between two switches.
    pub working_set: WorkingSet,
    /// Number of bytes that each other task accesses between two time slices of the first task.
    /// Null unless the case measures the reload of the first task's working set, with several walks
    /// after each switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Bytes>,
    /// Vector registers in use at each hand-off; `None` if the compiled code decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorCase>,
    /// CPUs on which the tasks run.
    pub placement: Placement,
    /// Scheduling policy of the tasks.
    pub policy: Policy,
    /// Language runtime, and the kind of hand-off between its tasks; null for other mechanisms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeCase>,
    /// Range of the kernel's expected count of switches. `None` if the tasks do not share one CPU:
    /// then the count is reported but not judged.
    pub switches: Option<SwitchPlan>,
}

impl Case {
    /// Returns a case with two tasks that access no working set.
    pub fn plain(
        mechanism: Mechanism,
        between: Between,
        placement: Placement,
        policy: Policy,
    ) -> Case {
        Case {
            mechanism,
            between,
            tasks: 2,
            working_set: WorkingSet::NONE,
            away: None,
            vectors: None,
            placement,
            policy,
            runtime: None,
            switches: None,
        }
    }

    /// Returns a short name of the case's hand-off: `pipe`, `pipe/avx512` with vector registers in
    /// use, or `go/channel` for a runtime.
    pub fn name(&self) -> String {
        match (&self.runtime, &self.vectors) {
            (
                Some(RuntimeCase {
                    runtime, handoff, ..
                }),
                _,
            ) => format!("{runtime}/{handoff}"),
            (None, Some(VectorCase { state, .. })) => format!("{}/{state}", self.mechanism),
            (None, None) => self.mechanism.to_string(),
        }
    }

    /// Returns the working set of the task with number `task`. Tasks after the first access
    /// [`Case::away`] bytes if that is set.
    pub fn working_set_of(&self, task: usize) -> WorkingSet {
        let size_bytes = self
            .away
            .filter(|_| task > 0)
            .unwrap_or(self.working_set.size_bytes);
        WorkingSet {
            size_bytes,
            ..self.working_set
        }
    }
}

/// Plan of a measurement: its cases and limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the preset: `default`, `quick`, `full`, `lmbench`, or `selected` if flags name the
    /// cases.
    pub preset: String,
    /// Cases to be measured. Samples refer to a case by its index.
    pub cases: Vec<Case>,
    /// Half-width of a case's confidence interval, in thousandths of the estimate, at or below
    /// which the case is complete.
    pub precision_per_mille: u32,
    /// Confidence level of every interval, in thousandths: 900 is 90 %.
    pub confidence_per_mille: u32,
    /// Time after which no further repetition begins, in nanoseconds since the start.
    pub budget_ns: Nanos,
    /// Largest number of repetitions of a case.
    pub max_repetitions: u32,
    /// Intended length of one timed batch in nanoseconds.
    pub batch_ns: Nanos,
    /// Intended length of all rounds of one repetition in nanoseconds.
    pub repetition_ns: Nanos,
    /// Length of the artificial switch of `synthetic` in nanoseconds.
    pub synthetic_switch_ns: Nanos,
    /// Time that the synthetic mechanism adds to each walk of the switching arm, in nanoseconds.
    pub synthetic_reload_ns: Nanos,
    /// Whether the user requested hardware and software counters.
    pub wants_counters: bool,
    /// Settings of timed batches that differ from the default; absent if there are none.
    #[serde(default, skip_serializing_if = "Rounds::is_usual")]
    pub rounds: Rounds,
}

impl Plan {
    /// Returns all CPUs to which tasks of any case are pinned, each once, in ascending order.
    pub fn cpus(&self) -> Vec<CpuId> {
        let cpus: BTreeSet<CpuId> = self
            .cases
            .iter()
            .flat_map(|case| case.placement.cpus.iter().copied())
            .collect();
        cpus.into_iter().collect()
    }
}

/// Settings of timed batches: number of round trips, cache flush and pause. (A batch is a *round*
/// in the program of Li, Ding and Shen 2007.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Number of round trips per batch, with twice the number in the middle batch of a round;
    /// `None` to choose the number by the intended length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<u64>,
    /// Number of bytes that the first task writes before each batch, so that caches are flushed.
    /// With a flush, every round trip is timed. `None` without a flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_bytes: Option<Bytes>,
    /// Time for which the first task sleeps before each batch, in nanoseconds; `None` without a
    /// pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<Nanos>,
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.round_trips
                .map(|number| format!("{number} round trips")),
            self.flush_bytes
                .map(|size| format!("caches emptied by writing {size}")),
            self.pause_ns
                .map(|pause| format!("{pause} of sleep before")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&if parts.is_empty() {
            "as usual".to_owned()
        } else {
            parts.join(", ")
        })
    }
}

impl Rounds {
    /// Whether all settings have their defaults.
    pub fn is_usual(&self) -> bool {
        *self == Rounds::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_can_be_priced_on_one_cpu_only() {
        let on = |cpus: &[u32], relation| Placement {
            cpus: cpus.iter().copied().map(CpuId).collect(),
            relation,
        };
        assert!(on(&[3], Relation::SameCpu).is_one_cpu());
        assert!(!on(&[0, 1], Relation::Smt).is_one_cpu());
        assert!(
            !on(&[], Relation::Unpinned).is_one_cpu(),
            "the scheduler may use them all"
        );
    }
}
