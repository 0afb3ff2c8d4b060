//! Makes a list of cases from the user's selection and the facts about the machine.

mod check;
mod presets;
mod sizes;

pub(crate) use check::fewest_repetitions;
use strum::{Display, EnumString};
use switchcost_record::{
    Between, Case, HostManifest, Mechanism, Placement, Plan, Policy, Relation, Rounds, RuntimeCase,
    SwitchPlan, VectorCase,
};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::{Access, WorkingSet};

pub use check::{PlanError, check_cpu};
pub use sizes::{LatencyPlan, latency_plan, sweep_sizes};

/// A ready-made selection of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Preset {
    /// All mechanisms without data. For the pipe also a sweep of sizes and one of strides.
    #[default]
    Default,
    /// The mechanisms of `Default` with one kind of tasks each, fewer sizes, no strides, shorter
    /// repetitions and less precision.
    Quick,
    /// The costs that `observe` uses: a pipe, a yield, a preemption, and arrays, as coarse as
    /// `Quick`.
    Observe,
    /// The whole grid of Li, Ding and Shen 2007 (3 accesses x 16 sizes, 5 strides x 6 sizes), and
    /// all mechanisms.
    Full,
    /// The matrix of lmbench's lat_ctx: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K.
    Lmbench,
}

/// CPUs on which the tasks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementChoice {
    /// All tasks on one CPU.
    One(CpuId),
    /// Tasks alternately on the first and the second of two CPUs.
    Pair(CpuId, CpuId),
    /// All tasks on the first CPU; and in further cases, tasks alternately on both.
    OneAndPair(CpuId, CpuId),
    /// Every pair of the given CPUs, and each CPU alone.
    Matrix(Vec<CpuId>),
    /// The scheduler chooses the CPUs.
    Unpinned,
}

impl PlacementChoice {
    /// Returns the CPUs that the choice names; empty for [`PlacementChoice::Unpinned`].
    pub fn cpus(&self) -> Vec<CpuId> {
        match self {
            PlacementChoice::One(cpu) => vec![*cpu],
            PlacementChoice::Pair(a, b) | PlacementChoice::OneAndPair(a, b) => vec![*a, *b],
            PlacementChoice::Matrix(cpus) => cpus.clone(),
            PlacementChoice::Unpinned => Vec::new(),
        }
    }
}

/// The user's selection of cases. If no list names anything, the preset's cases are measured;
/// otherwise each empty list stands for a default, such as a pipe, two tasks, or no arrays.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Preset on which the selection is based. With `Default` and `Quick`, any list that is given
    /// replaces the preset's cases. Other presets keep their cases.
    pub preset: Preset,
    /// Mechanisms to measure.
    pub mechanisms: Vec<Mechanism>,
    /// Hand-offs of runtimes to measure. If no mechanisms are named, a fiber, a futex and a pipe
    /// are measured, too.
    pub runtimes: Vec<RuntimeSelection>,
    /// Whether arrays are walked only in one hand-off of each runtime and in hand-offs of OS
    /// threads.
    pub is_ladder: bool,
    /// Kinds of tasks: processes or threads. A mechanism that supports none of them keeps its
    /// default kind.
    pub betweens: Vec<Between>,
    /// Numbers of tasks in the ring.
    pub tasks: Vec<u32>,
    /// Sizes of the arrays; 0 for the direct cost alone.
    pub sizes: Vec<Bytes>,
    /// Strides of the walks in bytes.
    pub strides: Vec<Bytes>,
    /// Kinds of access in the walks.
    pub accesses: Vec<Access>,
    /// Conditions of all arrays and walks other than size, stride and access.
    pub walk: WorkingSet,
    /// Whether the reload of the working set is measured, walk by walk.
    pub reload: bool,
    /// Numbers of bytes that other tasks touch while the first task is off the CPU; if empty, the
    /// number that the first task touches. The reload is measured if the list is not empty.
    pub away: Vec<Bytes>,
    /// Vector registers that are in use at each hand-off.
    pub vectors: Vec<VectorCase>,
    /// Whether a cache used concurrently by two CPUs is compared with the same cache time-shared on
    /// one of them.
    pub is_concurrent: bool,
    /// CPUs on which the tasks run.
    pub placement: PlacementChoice,
    /// Scheduling policy that was obtained. The policy may differ from the requested one.
    pub policy: Policy,
    /// Half-width of an interval to be reached, in thousandths of the estimate; `None` for the
    /// preset's.
    pub precision_per_mille: Option<u32>,
    /// Confidence of the intervals, in thousandths.
    pub confidence_per_mille: u32,
    /// Time for the whole run; `None` for the preset's.
    pub budget: Option<Nanos>,
    /// Maximum number of repetitions of a case; `None` for the preset's.
    pub max_repetitions: Option<u32>,
    /// Whether hardware counters are read.
    pub wants_counters: bool,
    /// Unusual conditions of timed batches: a fixed number of round trips, a cache flush, a pause.
    pub rounds: Rounds,
    /// Time that the `synthetic` mechanism adds to each hand-off.
    pub synthetic_switch: Nanos,
    /// Time that the `synthetic` mechanism adds to each walk of the switching arm.
    pub synthetic_reload: Nanos,
}

/// A hand-off of a language runtime that is to be measured.
#[derive(Clone, Debug)]
pub struct RuntimeSelection {
    /// Name of the runtime, and of its hand-off.
    pub case: RuntimeCase,
    /// Kind of tasks: contexts within one OS thread, or OS threads.
    pub between: Between,
    /// Whether the tasks may use several CPUs at the same time. If not, all stay on the first CPU.
    pub across_cpus: bool,
    /// Whether this is the hand-off of its runtime that walks arrays if [`Selection::is_ladder`] is
    /// set.
    pub walks_in_ladder: bool,
}

impl Selection {
    /// Whether any list of the selection names cases.
    fn names_something(&self) -> bool {
        !(self.mechanisms.is_empty()
            && self.runtimes.is_empty()
            && self.betweens.is_empty()
            && self.tasks.is_empty()
            && self.sizes.is_empty()
            && self.strides.is_empty()
            && self.accesses.is_empty()
            && self.vectors.is_empty()
            && matches!(
                self.placement,
                PlacementChoice::One(_) | PlacementChoice::Unpinned
            )
            && self.walk == WorkingSet::NONE
            && !self.is_concurrent
            && !self.measures_reload())
    }

    fn measures_reload(&self) -> bool {
        self.reload || !self.away.is_empty()
    }
}

/// Makes the plan, and checks that this machine can run it. `relation` returns how two CPUs are
/// related.
pub fn plan(
    selection: &Selection,
    host: &HostManifest,
    relation: &dyn Fn(CpuId, CpuId) -> Relation,
) -> Result<Plan, PlanError> {
    let is_selected =
        matches!(selection.preset, Preset::Default | Preset::Quick) && selection.names_something();
    let cpus = selection.placement.cpus();
    cpus.into_iter()
        .try_for_each(|cpu| check::check_cpu(cpu, host))?;
    check::check_betweens(&selection.mechanisms, &selection.betweens)?;
    let drafts = match selection.preset {
        _ if is_selected => presets::selected(selection, host),
        Preset::Default => presets::default(host),
        Preset::Quick => presets::quick(host),
        Preset::Observe => presets::observe(host),
        Preset::Full => presets::full(host),
        Preset::Lmbench => presets::lmbench(),
    };
    let mut cases = Vec::new();
    for placement in placements(&selection.placement, relation) {
        for draft in &drafts {
            let case = draft.clone().into_case(selection, placement.clone());
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    check::check(&cases, host)?;
    let pace = presets::pace(
        selection.preset,
        is_selected,
        !selection.runtimes.is_empty(),
        cases.len(),
    );
    let max_repetitions = selection.max_repetitions.unwrap_or(pace.max_repetitions);
    check::check_repetitions(selection.confidence_per_mille, max_repetitions)?;
    let budget_ns = selection.budget.unwrap_or(pace.budget);
    // A preset is made to fit its time, so only a selection or a budget of the user can be refused.
    if is_selected || selection.budget.is_some() {
        check::check_time(&cases, budget_ns, selection.confidence_per_mille)?;
        check::check_pauses(
            selection.rounds.pause_ns,
            cases.len(),
            budget_ns,
            selection.confidence_per_mille,
        )?;
    }
    Ok(Plan {
        preset: if is_selected {
            "selected".to_owned()
        } else {
            selection.preset.to_string()
        },
        cases,
        precision_per_mille: selection
            .precision_per_mille
            .unwrap_or(pace.precision_per_mille),
        confidence_per_mille: selection.confidence_per_mille,
        budget_ns,
        max_repetitions,
        batch_ns: BATCH,
        repetition_ns: pace.repetition,
        synthetic_switch_ns: selection.synthetic_switch,
        synthetic_reload_ns: selection.synthetic_reload,
        wants_counters: selection.wants_counters,
        rounds: selection.rounds,
    })
}

/// Intended length of a batch. The length is short compared with the milliseconds in which the
/// speed of a core changes, and long compared with reading a clock.
const BATCH: Nanos = Nanos::micros(20);

/// A case without its placement.
#[derive(Clone, Debug)]
struct Draft {
    /// The case. Its placement, policy and switches do not count.
    case: Case,
    /// Policy of the case, if it differs from the selected one.
    policy: Option<Policy>,
    /// Whether tasks of one OS thread may still be on several CPUs.
    across_cpus: bool,
}

impl Draft {
    fn direct(mechanism: Mechanism, between: Between) -> Draft {
        Draft {
            case: Case::plain(mechanism, between, Placement::unpinned(), Policy::Other),
            policy: None,
            across_cpus: between != Between::User,
        }
    }

    fn pipe(tasks: u32, size: Bytes, stride: Bytes, access: Access) -> Draft {
        let mut draft = Draft::direct(Mechanism::Pipe, Between::Process);
        draft.case.tasks = tasks;
        draft.case.working_set = WorkingSet {
            size_bytes: size,
            stride_bytes: stride,
            access,
            ..WorkingSet::NONE
        };
        draft
    }

    fn into_case(self, selection: &Selection, placement: Placement) -> Case {
        let policy = self.policy.unwrap_or(selection.policy);
        let case = self.case;
        // Contexts of one thread are on the thread's CPU. Time-sharing, with which concurrent use
        // is compared, is on one CPU.
        let is_in_turn = selection.is_concurrent && case.mechanism != Mechanism::Concurrent;
        let placement = match placement.cpus.first() {
            Some(first) if !self.across_cpus || is_in_turn => Placement::one_cpu(*first),
            _ => placement,
        };
        // The switches of a runtime cannot be planned. The kernel's count is only reported.
        let switches = if case.runtime.is_some() {
            None
        } else {
            switch_plan(case.mechanism, case.between, &placement, policy)
        };
        Case {
            placement,
            policy,
            switches,
            ..case
        }
    }
}

/// Returns the number of switches that the kernel should count in a case: none between contexts of
/// one thread, one per hand-off on one CPU; `None` if the number cannot be predicted.
///
/// An ordinary task that is woken may take the CPU immediately, find that it cannot continue (a
/// lock is held) and give the CPU back. On Linux 6.18, 2.00 to 2.4 switches were counted per
/// hand-off of a mutex, and 1.00 to 1.15 for pipes and futexes. Real-time tasks of one priority do
/// not take the CPU from each other.
fn switch_plan(
    mechanism: Mechanism,
    between: Between,
    placement: &Placement,
    policy: Policy,
) -> Option<SwitchPlan> {
    let is_judged = mechanism == Mechanism::Yield || placement.is_one_cpu();
    if between == Between::User {
        return Some(SwitchPlan {
            low_per_mille: 0,
            high_per_mille: 0,
        });
    }
    if !is_judged {
        return None;
    }
    let may_wake_early = !policy.is_real_time() && mechanism.traits().is_blocking;
    Some(SwitchPlan {
        low_per_mille: 1000,
        high_per_mille: if may_wake_early { 2500 } else { 1000 },
    })
}

fn placements(
    choice: &PlacementChoice,
    relation: &dyn Fn(CpuId, CpuId) -> Relation,
) -> Vec<Placement> {
    let pair = |a: CpuId, b: CpuId| Placement {
        cpus: vec![a, b],
        relation: relation(a, b),
    };
    match choice {
        PlacementChoice::One(cpu) => vec![Placement::one_cpu(*cpu)],
        PlacementChoice::Pair(a, b) => vec![pair(*a, *b)],
        PlacementChoice::OneAndPair(a, b) => vec![Placement::one_cpu(*a), pair(*a, *b)],
        PlacementChoice::Unpinned => vec![Placement::unpinned()],
        PlacementChoice::Matrix(cpus) => {
            let pairs = cpus
                .iter()
                .enumerate()
                .flat_map(|(i, a)| cpus[i + 1..].iter().map(move |b| (*a, *b)));
            cpus.iter()
                .map(|cpu| Placement::one_cpu(*cpu))
                .chain(pairs.map(|(a, b)| pair(a, b)))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests;
