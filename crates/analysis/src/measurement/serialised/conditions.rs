use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::{Between, Case, Class, Mechanism, Policy, Relation, VectorState};
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

/// Defines [`Conditions`] from the name, type and value of each condition.
macro_rules! conditions {
    ($case:ident: $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)+) => {
        /// Conditions of a case as flat fields of a JSON object.
        #[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
        pub struct Conditions<'a> {
            $($(#[$doc])* $name: $type,)+
        }

        impl Conditions<'_> {
            /// Names of the fields, in their order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];
        }

        impl<'a> From<&'a Case> for Conditions<'a> {
            fn from($case: &'a Case) -> Self {
                Conditions { $($name: $value,)+ }
            }
        }
    };
}

conditions! { case:
    /// Mechanism that hands over the token.
    mechanism: Mechanism = case.mechanism,
    /// Kind of tasks between which the token is handed over.
    between: Between = case.between,
    /// Number of tasks in the ring.
    tasks: u32 = case.tasks,
    /// Size of each task's array in bytes; 0 without a working set.
    size_bytes: Bytes = case.working_set.size_bytes,
    /// Stride of the walk over the array, in bytes.
    stride_bytes: Bytes = case.working_set.stride_bytes,
    /// Kind of access to each element of the array: read, write, or both.
    access: Access = case.working_set.access,
    /// Order of the walk over the array: strided, or along pointers in random order.
    pattern: Pattern = case.working_set.pattern,
    /// Whether each task has an array of its own, or all tasks share one.
    sharing: Sharing = case.working_set.sharing,
    /// Kind of memory pages that contain the arrays.
    pages: Pages = case.working_set.pages,
    /// Language runtime of the tasks; null for other mechanisms.
    runtime: Option<&'a str> = case.runtime.as_ref().map(|of| of.runtime.as_str()),
    /// Kind of hand-off between the runtime's tasks; null for other mechanisms.
    runtime_handoff: Option<&'a str> = case.runtime.as_ref().map(|of| of.handoff.as_str()),
    /// How the runtime chooses the next task: `swap` if the running task names it, `hand-off` if a
    /// scheduler chooses; null for other mechanisms.
    runtime_class: Option<Class> = case.runtime.as_ref().map(|of| of.class),
    /// CPUs on which the tasks run; empty if they are not pinned.
    cpus: &'a [CpuId] = &case.placement.cpus,
    /// Relation of these CPUs to each other in the machine's topology.
    relation: Relation = case.placement.relation,
    /// Scheduling policy of the tasks.
    policy: Policy = case.policy,
    /// Number of bytes that other tasks touch while the first task is off the CPU; null unless the
    /// case measures the reload.
    away_bytes: Option<Bytes> = case.away,
    /// Vector registers in use at each hand-off; null if not requested.
    vector_state: Option<VectorState> = case.vectors.map(|vectors| vectors.state),
    /// Number of bytes that XSAVE writes for these registers; null if not requested.
    xsave_bytes: Option<Bytes> = case.vectors.map(|vectors| vectors.xsave_bytes),
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

#[cfg(test)]
mod tests {
    use switchcost_record::{Placement, RuntimeCase, VectorCase};

    use super::*;

    #[test]
    fn each_condition_is_a_field_of_its_name() {
        let placement = Placement::one_cpu(CpuId(1));
        let mut case = Case::plain(Mechanism::Runtime, Between::User, placement, Policy::Fifo);
        case.working_set.size_bytes = Bytes::kib(64);
        case.away = Some(Bytes(0));
        case.runtime = Some(RuntimeCase {
            runtime: "go".to_owned(),
            handoff: "channel".to_owned(),
            class: Class::HandOff,
        });
        case.vectors = Some(VectorCase {
            state: VectorState::Avx,
            xsave_bytes: Bytes(768),
        });
        assert_eq!(
            serde_json::to_string(&Conditions::from(&case)).expect("JSON"),
            r#"{"mechanism":"runtime","between":"user","tasks":2,"size_bytes":65536,"stride_bytes":8,"access":"rmw","#.to_owned()
                + r#""pattern":"strided","sharing":"private","pages":"base","runtime":"go","runtime_handoff":"channel","#
                + r#""runtime_class":"hand-off","cpus":[1],"relation":"same-cpu","policy":"fifo","away_bytes":0,"#
                + r#""vector_state":"avx","xsave_bytes":768}"#
        );
    }
}
