use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::{Between, Case, Class, Mechanism, Policy, Relation, VectorState};
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

/// Conditions of a case as flat fields, the first fields of an object.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Conditions<'a> {
    /// Mechanism that hands over the token.
    mechanism: Mechanism,
    /// Kind of tasks between which the token is handed.
    between: Between,
    /// Number of tasks in the ring.
    tasks: u32,
    /// Size of each task's array; 0 without a working set.
    size_bytes: Bytes,
    /// Stride of the walk.
    stride_bytes: Bytes,
    /// Access of the walk to each element.
    access: Access,
    /// Order of the walk.
    pattern: Pattern,
    /// Whether each task has its own array, or all share one.
    sharing: Sharing,
    /// Kind of pages under the arrays.
    pages: Pages,
    /// Language runtime of the tasks; null for other mechanisms.
    runtime: Option<&'a str>,
    /// Way in which the runtime's tasks hand on the token.
    runtime_handoff: Option<&'a str>,
    /// Way of choosing the next task: `swap` for a named task, `hand-off` for a choice by a scheduler.
    runtime_class: Option<Class>,
    /// CPUs of the tasks; empty if they are not pinned.
    cpus: &'a [CpuId],
    /// Relation of these CPUs in the machine's topology.
    relation: Relation,
    /// Scheduling policy of the tasks.
    policy: Policy,
    /// Bytes that other tasks touch while the first task is away, if the case measures the reload.
    away_bytes: Option<Bytes>,
    /// Vector registers in use at each hand-off, if requested.
    vector_state: Option<VectorState>,
    /// Bytes that XSAVE writes for the registers.
    xsave_bytes: Option<Bytes>,
}

impl<'a> From<&'a Case> for Conditions<'a> {
    fn from(case: &'a Case) -> Self {
        let set = &case.working_set;
        Conditions {
            mechanism: case.mechanism,
            between: case.between,
            tasks: case.tasks,
            size_bytes: set.size_bytes,
            stride_bytes: set.stride_bytes,
            access: set.access,
            pattern: set.pattern,
            sharing: set.sharing,
            pages: set.pages,
            cpus: &case.placement.cpus,
            relation: case.placement.relation,
            policy: case.policy,
            runtime: case.runtime.as_ref().map(|of| of.runtime.as_str()),
            runtime_handoff: case.runtime.as_ref().map(|of| of.handoff.as_str()),
            runtime_class: case.runtime.as_ref().map(|of| of.class),
            away_bytes: case.away,
            vector_state: case.vectors.map(|vectors| vectors.state),
            xsave_bytes: case.vectors.map(|vectors| vectors.xsave_bytes),
        }
    }
}

pub(crate) fn conditions<S: Serializer>(case: &Case, serializer: S) -> Result<S::Ok, S::Error> {
    Conditions::from(case).serialize(serializer)
}

pub(crate) fn conditions_if_any<S: Serializer>(
    case: &Option<Case>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    case.as_ref().map(Conditions::from).serialize(serializer)
}
