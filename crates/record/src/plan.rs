use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::WorkingSet;

use crate::{Between, Mechanism, RuntimeCase, VectorCase};

/// The scheduling policy of the tasks.
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
    /// SCHED_FIFO: a running task loses the CPU only to a task of higher priority.
    Fifo,
    /// SCHED_RR: as SCHED_FIFO, with a quantum among tasks of equal priority.
    Rr,
    /// SCHED_OTHER, the kernel's default.
    Other,
    /// SCHED_BATCH: as SCHED_OTHER, but a woken task does not preempt the running one.
    Batch,
}

impl Policy {
    /// Whether tasks of this policy run before all ordinary ones.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }
}

/// Relation of two CPUs of a placement, from near to far.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Relation {
    /// All tasks share one CPU.
    SameCpu,
    /// Two hardware threads of one core.
    Smt,
    /// Two cores that share a cache.
    SharedCache,
    /// Two cores of one socket without a shared cache.
    SameSocket,
    /// CPUs in two sockets.
    OtherSocket,
    /// Unknown relation: the machine does not report it.
    Unknown,
    /// CPUs chosen by the scheduler.
    Unpinned,
}

/// CPUs of the tasks: task `i` runs on `cpus[i % cpus.len()]`, or anywhere if `cpus` is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Placement {
    /// The CPUs, in the order of the tasks; empty means not pinned.
    pub cpus: Vec<CpuId>,
    /// Relation of the CPUs.
    pub relation: Relation,
}

impl Placement {
    /// Makes a placement of all tasks on one CPU.
    pub fn one_cpu(cpu: CpuId) -> Placement {
        Placement {
            cpus: vec![cpu],
            relation: Relation::SameCpu,
        }
    }

    /// Makes a placement of tasks that are not pinned.
    pub fn unpinned() -> Placement {
        Placement {
            cpus: Vec::new(),
            relation: Relation::Unpinned,
        }
    }

    /// Whether all tasks share one CPU, so that a hand-off needs a switch and the switch can be priced.
    pub fn is_one_cpu(&self) -> bool {
        self.cpus.len() == 1
    }
}

/// Number of kernel switches that a hand-off is expected to take, in thousandths. The number is a
/// range, because the kernel may choose: a notification under a lock takes one switch or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SwitchPlan {
    /// Fewest switches per 1,000 hand-offs.
    pub low_per_mille: u64,
    /// Maximum number of switches per 1,000 hand-offs.
    pub high_per_mille: u64,
}

/// One row of the result table: a mechanism under fixed conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// Mechanism that hands over the token.
    pub mechanism: Mechanism,
    /// Kind of tasks between which the token is handed.
    pub between: Between,
    /// Number of tasks in the ring.
    pub tasks: u32,
    /// Memory that each task touches between two switches.
    pub working_set: WorkingSet,
    /// Bytes that each other task touches between two time slices of the first task, if the case
    /// measures the reload of the first task's working set (by several walks after each switch).
    /// Null if a switch is compared with no switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Bytes>,
    /// Vector registers in use at each hand-off; `None` if the program decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorCase>,
    /// CPUs of the tasks.
    pub placement: Placement,
    /// Scheduling policy of the tasks.
    pub policy: Policy,
    /// Language runtime, and the way in which its tasks hand on the token; null for other
    /// mechanisms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeCase>,
    /// Switches that the kernel is expected to count; `None` if the tasks do not share one CPU, so
    /// that the count is reported but not judged.
    pub switches: Option<SwitchPlan>,
}

impl Case {
    /// Makes a case with two tasks that touch nothing.
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

    /// Returns a short name of the hand-off: `pipe`, with vector registers in use `pipe/avx512`,
    /// for a runtime `go/channel`.
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

    /// Returns the working set of task number `task`.
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

/// The plan of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the preset: `default`, `quick`, `full`, `lmbench`, or `selected` if flags name the cases.
    pub preset: String,
    /// Cases to measure. Samples refer to a case by its index.
    pub cases: Vec<Case>,
    /// Limit of the half-width of a case's interval, in thousandths of the estimate; a case is done
    /// when its interval is narrower.
    pub precision_per_mille: u32,
    /// Confidence level of every interval, in thousandths: 900 is 90 %.
    pub confidence_per_mille: u32,
    /// Time after which no further repetition begins.
    pub budget_ns: Nanos,
    /// Maximum number of repetitions of a case.
    pub max_repetitions: u32,
    /// Intended length of one timed batch.
    pub batch_ns: Nanos,
    /// Intended length of all cycles of one repetition.
    pub repetition_ns: Nanos,
    /// Length of the artificial switch of `synthetic`.
    pub synthetic_switch_ns: Nanos,
    /// Time that the synthetic mechanism adds to each walk of the switching arm.
    pub synthetic_reload_ns: Nanos,
    /// Whether hardware and software counters were requested.
    pub wants_counters: bool,
    /// Requests that make a timed batch unusual (a number of round trips, a flush, a pause); absent
    /// if there are none.
    #[serde(default, skip_serializing_if = "Rounds::is_usual")]
    pub rounds: Rounds,
}

impl Plan {
    /// Returns all CPUs to which tasks of the cases are pinned, each once, in ascending order.
    pub fn cpus(&self) -> Vec<CpuId> {
        let cpus: BTreeSet<CpuId> = self
            .cases
            .iter()
            .flat_map(|case| case.placement.cpus.iter().copied())
            .collect();
        cpus.into_iter().collect()
    }
}

/// Requests that make a timed batch unusual: a *round* in the code of Li, Ding and Shen 2007.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Number of round trips per batch (twice as many in the middle of a cycle); `None` for as many
    /// as take the intended length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<u64>,
    /// Number of bytes that the first task writes before each batch, in which case no round trip is
    /// left untimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_bytes: Option<Bytes>,
    /// Time that the first task sleeps before each batch.
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
    /// Whether timed batches are as usual.
    pub fn is_usual(&self) -> bool {
        *self == Rounds::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_tasks_are_not_real_time() {
        let is = [Policy::Fifo, Policy::Rr, Policy::Other, Policy::Batch].map(Policy::is_real_time);
        assert_eq!(is, [true, true, false, false]);
    }

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
