use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::{Between, Case, Class, Mechanism, Policy, Relation, VectorState};
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

/// Conditions of a case as flat fields of a JSON object.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Conditions<'a> {
    /// Mechanism that hands over the token.
    mechanism: Mechanism,
    /// Kind of tasks between which the token is handed over.
    between: Between,
    /// Number of tasks in the ring.
    tasks: u32,
    /// Size of each task's array in bytes; 0 without a working set.
    size_bytes: Bytes,
    /// Stride of the walk over the array, in bytes.
    stride_bytes: Bytes,
    /// Kind of access to each element of the array: read, write, or both.
    access: Access,
    /// Order of the walk over the array: strided, or along pointers in random order.
    pattern: Pattern,
    /// Whether each task has an array of its own, or all tasks share one.
    sharing: Sharing,
    /// Kind of memory pages that contain the arrays.
    pages: Pages,
    /// Language runtime of the tasks; null for other mechanisms.
    runtime: Option<&'a str>,
    /// Kind of hand-off between the runtime's tasks; null for other mechanisms.
    runtime_handoff: Option<&'a str>,
    /// How the runtime chooses the next task: `swap` if the running task names it, `hand-off` if a
    /// scheduler chooses; null for other mechanisms.
    runtime_class: Option<Class>,
    /// CPUs on which the tasks run; empty if they are not pinned.
    cpus: &'a [CpuId],
    /// Relation of these CPUs to each other in the machine's topology.
    relation: Relation,
    /// Scheduling policy of the tasks.
    policy: Policy,
    /// Number of bytes that other tasks touch while the first task is off the CPU; null unless the
    /// case measures the reload.
    away_bytes: Option<Bytes>,
    /// Vector registers in use at each hand-off; null if not requested.
    vector_state: Option<VectorState>,
    /// Number of bytes that XSAVE writes for these registers; null if not requested.
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
