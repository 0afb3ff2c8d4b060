//! Predefined lists of cases, and the time that a run of each may take.

use switchcost_record::{Between, Case, HostManifest, Mechanism, Policy, VectorCase};
use switchcost_units::{Bytes, Nanos};
use switchcost_workload::{Access, Pattern, WorkingSet};

use super::{Draft, Preset, RuntimeSelection, Selection, sizes};

/// Default times and precision of a run of one preset.
pub(super) struct Pace {
    pub(super) budget: Nanos,
    pub(super) precision_per_mille: u32,
    pub(super) max_repetitions: u32,
    pub(super) repetition: Nanos,
}

/// Default budget if runtimes are measured. Their programs take long to start and to warm up.
const RUNTIMES_BUDGET: Nanos = Nanos::seconds(90);

pub(super) fn pace(preset: Preset, is_selected: bool, has_runtimes: bool, cases: usize) -> Pace {
    let usual = Pace {
        budget: Nanos::seconds(26),
        precision_per_mille: 10,
        max_repetitions: 150,
        repetition: Nanos::millis(25),
    };
    match preset {
        _ if has_runtimes => Pace {
            budget: RUNTIMES_BUDGET,
            precision_per_mille: 50,
            max_repetitions: 30,
            ..usual
        },
        Preset::Quick if is_selected => Pace {
            budget: Nanos::seconds(cases as u64),
            precision_per_mille: 50,
            repetition: Nanos::millis(10),
            ..usual
        },
        _ if is_selected => Pace {
            budget: Nanos::seconds(5 * cases as u64),
            ..usual
        },
        Preset::Default => usual,
        Preset::Quick => Pace {
            budget: Nanos::seconds(6),
            precision_per_mille: 50,
            repetition: Nanos::millis(10),
            ..usual
        },
        Preset::Observe => Pace {
            budget: Nanos::seconds(5),
            precision_per_mille: 50,
            repetition: Nanos::millis(10),
            ..usual
        },
        Preset::Full => Pace {
            budget: Nanos::seconds(170),
            ..usual
        },
        Preset::Lmbench => Pace {
            budget: Nanos::seconds(30),
            ..usual
        },
    }
}

fn direct_drafts(is_first_only: bool) -> Vec<Draft> {
    let variants = |mechanism: Mechanism| {
        let betweens = mechanism.betweens();
        let count = if is_first_only { 1 } else { betweens.len() };
        betweens[..count]
            .iter()
            .map(move |between| Draft::direct(mechanism, *between))
    };
    Mechanism::real().flat_map(variants).collect()
}

/// Returns the pipe under the ordinary scheduling policy, which most programs use. This pipe is
/// measured in addition to the pipe at real-time priority.
fn ordinary(betweens: &[Between]) -> impl Iterator<Item = Draft> {
    betweens.iter().map(|between| Draft {
        policy: Some(Policy::Other),
        ..Draft::direct(Mechanism::Pipe, *between)
    })
}

/// Size of the largest arrays in the default and the quick preset. Eight repetitions with such
/// arrays take two seconds, or half a second. The last level of a server may be several times as
/// large, but a guest gets only a part of it.
const DEFAULT_TOP: Bytes = Bytes::mib(64);
const QUICK_TOP: Bytes = Bytes::mib(16);
/// Size of the largest arrays in the full preset.
const FULL_TOP: Bytes = Bytes::mib(256);

/// Returns `sizes` with `top` in place of all sizes larger than `top`.
fn up_to(top: Bytes, sizes: Vec<Bytes>) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = sizes.into_iter().map(|size| size.min(top)).collect();
    sizes.dedup();
    sizes
}

fn sweep(sizes: &[Bytes], stride: Bytes, access: Access) -> impl Iterator<Item = Draft> {
    sizes
        .iter()
        .filter(move |size| **size >= stride)
        .map(move |size| Draft::pipe(2, *size, stride, access))
}

pub(super) fn default(host: &HostManifest) -> Vec<Draft> {
    let mut drafts = direct_drafts(false);
    drafts.extend(ordinary(&[Between::Process, Between::Thread]));
    drafts.extend(sweep(
        &up_to(DEFAULT_TOP, sizes::sweep_sizes(host)),
        Bytes(8),
        Access::Rmw,
    ));
    let few = up_to(DEFAULT_TOP, sizes::stride_sizes(host)[2..4].to_vec());
    for stride in [64, 512, 4096] {
        drafts.extend(sweep(&few, Bytes(stride), Access::Rmw));
    }
    drafts
}

pub(super) fn quick(host: &HostManifest) -> Vec<Draft> {
    let mut drafts = direct_drafts(true);
    drafts.extend(ordinary(&[Between::Process]));
    drafts.extend(sweep(
        &up_to(QUICK_TOP, sizes::quick_sizes(host)),
        Bytes(8),
        Access::Rmw,
    ));
    drafts
}

pub(super) fn observe(host: &HostManifest) -> Vec<Draft> {
    let direct = |mechanism| Draft::direct(mechanism, Between::Process);
    let mut drafts = [Mechanism::Pipe, Mechanism::Yield, Mechanism::Preempt]
        .map(direct)
        .to_vec();
    drafts.extend(ordinary(&[Between::Process]));
    drafts.extend(sweep(&sizes::observe_sizes(host), Bytes(8), Access::Rmw));
    drafts
}

pub(super) fn full(host: &HostManifest) -> Vec<Draft> {
    let mut drafts = direct_drafts(false);
    drafts.extend(ordinary(&[Between::Process, Between::Thread]));
    for access in [Access::Read, Access::Write, Access::Rmw] {
        drafts.extend(sweep(
            &up_to(FULL_TOP, sizes::sweep_sizes(host)),
            Bytes(8),
            access,
        ));
    }
    for stride in [8, 64, 128, 512, 4096] {
        drafts.extend(sweep(
            &up_to(FULL_TOP, sizes::stride_sizes(host)),
            Bytes(stride),
            Access::Rmw,
        ));
    }
    drafts
}

/// Returns the cases of lmbench (McVoy and Staelin 1996), in which each task adds up its array.
pub(super) fn lmbench() -> Vec<Draft> {
    let columns = [
        (2, 0),
        (2, 16),
        (2, 64),
        (8, 16),
        (8, 64),
        (16, 16),
        (16, 64),
    ];
    let draft = |(tasks, kib)| Draft::pipe(tasks, Bytes::kib(kib), Bytes(8), Access::Read);
    columns.into_iter().map(draft).collect()
}

/// Default sizes for measuring the reload: about the sizes of a core's caches.
const RELOAD_SIZES: [Bytes; 5] = [
    Bytes::kib(16),
    Bytes::kib(64),
    Bytes::kib(256),
    Bytes::mib(1),
    Bytes::mib(4),
];

/// Array size of the control for concurrent walks. Two such arrays fit into every cache, so a
/// slowdown with them is not due to caches.
const CONTROL: Bytes = Bytes::kib(4);

/// Returns the sizes that the selection names, or else its default sizes.
fn sizes(selection: &Selection, host: &HostManifest) -> Vec<Bytes> {
    let usual = match (selection.is_concurrent, selection.measures_reload()) {
        (true, _) => up_to(DEFAULT_TOP, sizes::concurrent_sizes(host)),
        (false, true) => RELOAD_SIZES.to_vec(),
        (false, false) => vec![Bytes(0)],
    };
    let named = if selection.sizes.is_empty() {
        usual
    } else {
        selection.sizes.clone()
    };
    let control = selection
        .is_concurrent
        .then_some(CONTROL)
        .filter(|control| !named.contains(control));
    control.into_iter().chain(named).collect()
}

/// Returns the mechanisms that the selection names, or else the pipe. Adds concurrent walks if they
/// are selected.
fn mechanisms(selection: &Selection) -> Vec<Mechanism> {
    let named = if selection.mechanisms.is_empty() {
        vec![Mechanism::Pipe]
    } else {
        selection.mechanisms.clone()
    };
    let at_once = selection.is_concurrent.then_some(Mechanism::Concurrent);
    let at_once = at_once.filter(|concurrent| !named.contains(concurrent));
    named.into_iter().chain(at_once).collect()
}

pub(super) fn selected(selection: &Selection, host: &HostManifest) -> Vec<Draft> {
    let usual_stride = if selection.walk.pattern == Pattern::Chase {
        64
    } else {
        8
    };
    let sizes = sizes(selection, host);
    let strides = if selection.strides.is_empty() {
        vec![Bytes(usual_stride)]
    } else {
        selection.strides.clone()
    };
    let accesses = if selection.accesses.is_empty() {
        vec![Access::Rmw]
    } else {
        selection.accesses.clone()
    };
    let tasks = if selection.tasks.is_empty() {
        vec![2]
    } else {
        selection.tasks.clone()
    };
    let mut drafts = Vec::new();
    for how in mechanism_drafts(selection) {
        let sets = working_sets(selection, &sizes, &strides, &accesses);
        for tasks in &tasks {
            for working_set in sets
                .iter()
                .copied()
                .filter(|set| set.is_empty() || walks(selection, &how))
            {
                for away in away(selection, working_set.size_bytes) {
                    let draft = |vectors| Draft {
                        case: Case {
                            tasks: *tasks,
                            working_set,
                            away,
                            vectors,
                            ..how.case.clone()
                        },
                        ..how
                    };
                    drafts.extend(vectors(selection).into_iter().map(draft));
                }
            }
        }
    }
    drafts
}

/// Returns a draft for each selected mechanism and kind of tasks, and for each hand-off of a
/// runtime.
fn mechanism_drafts(selection: &Selection) -> Vec<Draft> {
    let of_runtime = |of: &RuntimeSelection| {
        let mut draft = Draft::direct(Mechanism::Runtime, of.between);
        draft.case.runtime = Some(of.case.clone());
        draft.across_cpus = of.across_cpus;
        draft
    };
    let runtimes = selection.runtimes.iter().map(of_runtime);
    if selection.mechanisms.is_empty() && !selection.runtimes.is_empty() {
        return BESIDE_RUNTIMES
            .iter()
            .map(|(how, between)| Draft::direct(*how, *between))
            .chain(runtimes)
            .collect();
    }
    let mechanisms = mechanisms(selection).into_iter().flat_map(|mechanism| {
        betweens(mechanism, &selection.betweens)
            .into_iter()
            .map(move |between| Draft::direct(mechanism, between))
    });
    mechanisms.chain(runtimes).collect()
}

/// Whether a mechanism is also measured with arrays.
fn walks(selection: &Selection, how: &Draft) -> bool {
    let walks =
        |of: &RuntimeSelection| of.walks_in_ladder && Some(&of.case) == how.case.runtime.as_ref();
    !selection.is_ladder
        || how.case.mechanism == Mechanism::Futex
        || selection.runtimes.iter().any(walks)
}

/// Hand-offs that are measured together with runtimes: hand-offs of kernel threads and processes,
/// and a bare switch of registers.
const BESIDE_RUNTIMES: [(Mechanism, Between); 3] = [
    (Mechanism::Fiber, Between::User),
    (Mechanism::Futex, Between::Thread),
    (Mechanism::Pipe, Between::Process),
];

/// Returns the numbers of bytes that the other tasks touch while a task with an array of `size` is
/// off the CPU; a single `None` if the reload is not measured.
fn away(selection: &Selection, size: Bytes) -> Vec<Option<Bytes>> {
    match selection.away.as_slice() {
        [] if selection.reload => vec![Some(size)],
        [] => vec![None],
        named => named.iter().copied().map(Some).collect(),
    }
}

/// Returns the vector registers that the selection names; a single `None` if it names none.
fn vectors(selection: &Selection) -> Vec<Option<VectorCase>> {
    match selection.vectors.as_slice() {
        [] => vec![None],
        named => named.iter().copied().map(Some).collect(),
    }
}

/// Returns the kinds of tasks in `wanted` that the mechanism supports; its default kind if it
/// supports none of them.
fn betweens(mechanism: Mechanism, wanted: &[Between]) -> Vec<Between> {
    let own = mechanism.betweens();
    let chosen: Vec<Between> = own
        .iter()
        .copied()
        .filter(|between| wanted.contains(between))
        .collect();
    if chosen.is_empty() {
        vec![own[0]]
    } else {
        chosen
    }
}

fn working_sets(
    selection: &Selection,
    sizes: &[Bytes],
    strides: &[Bytes],
    accesses: &[Access],
) -> Vec<WorkingSet> {
    let mut sets = Vec::new();
    for &size_bytes in sizes {
        for &stride_bytes in strides {
            for &access in accesses {
                sets.push(WorkingSet {
                    size_bytes,
                    stride_bytes,
                    access,
                    ..selection.walk
                });
            }
        }
    }
    sets
}
