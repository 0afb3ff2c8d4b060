//! The conditions of a case in the formats for programs: the same names and the same text wherever a case stands.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::{Between, Case, Mechanism, Policy, Relation};
use switchcost_units::{Bytes, CpuId, format_cpu_list};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

use crate::for_programs::Column;

/// The conditions as the first fields of an object.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(crate) struct CaseView<'a> {
    /// How the token is handed over.
    mechanism: Mechanism,
    /// Between what.
    between: Between,
    /// Tasks in the ring.
    tasks: u32,
    /// Size of each task's array; 0: nothing is touched.
    size_bytes: Bytes,
    /// Stride of the walk.
    stride_bytes: Bytes,
    /// What the walk does with each element.
    access: Access,
    /// Order of the walk.
    pattern: Pattern,
    /// One array for each task, or one for all.
    sharing: Sharing,
    /// Pages under the arrays.
    pages: Pages,
    /// Of tasks of a language's runtime, which; else null.
    runtime: Option<&'a str>,
    /// How they hand on the token.
    runtime_handoff: Option<&'a str>,
    /// Where the tasks ran; empty: not pinned.
    cpus: &'a [CpuId],
    /// How these CPUs are related.
    relation: Relation,
    /// Scheduling policy of the tasks.
    policy: Policy,
    /// What the other tasks touch while the first task is away, if the case is about the reload.
    away_bytes: Option<Bytes>,
}

impl<'a> From<&'a Case> for CaseView<'a> {
    fn from(case: &'a Case) -> Self {
        let set = &case.working_set;
        CaseView {
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
            away_bytes: case.away,
        }
    }
}

/// The same as columns.
pub(crate) const CASE_COLUMNS: [Column<Case>; 15] = [
    ("mechanism", |c| c.mechanism.to_string()),
    ("between", |c| c.between.to_string()),
    ("tasks", |c| c.tasks.to_string()),
    ("size_bytes", |c| c.working_set.size_bytes.0.to_string()),
    ("stride_bytes", |c| c.working_set.stride_bytes.0.to_string()),
    ("access", |c| c.working_set.access.to_string()),
    ("pattern", |c| c.working_set.pattern.to_string()),
    ("sharing", |c| c.working_set.sharing.to_string()),
    ("pages", |c| c.working_set.pages.to_string()),
    ("runtime", |c| c.runtime.as_ref().map(|of| of.runtime.clone()).unwrap_or_default()),
    ("runtime_handoff", |c| c.runtime.as_ref().map(|of| of.handoff.clone()).unwrap_or_default()),
    ("cpus", |c| format_cpu_list(&c.placement.cpus)),
    ("relation", |c| c.placement.relation.to_string()),
    ("policy", |c| c.policy.to_string()),
    ("away_bytes", |c| c.away.map(|away| away.0.to_string()).unwrap_or_default()),
];

#[cfg(test)]
mod tests {
    use switchcost_record::Placement;
    use switchcost_workload::WorkingSet;

    use super::*;

    #[test]
    fn both_forms_have_the_same_names_in_the_same_order() {
        let case = Case {
            mechanism: Mechanism::Pipe,
            between: Between::Process,
            tasks: 2,
            working_set: WorkingSet::NONE,
            away: None,
            placement: Placement { cpus: vec![CpuId(1)], relation: Relation::SameCpu },
            policy: Policy::Fifo,
            runtime: None,
            switches: None,
        };
        let json = serde_json::to_string(&CaseView::from(&case)).expect("a view");
        let places: Vec<usize> = CASE_COLUMNS
            .iter()
            .map(|(name, _)| json.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {json}")))
            .collect();
        assert!(places.is_sorted(), "{json}");
        assert_eq!(json.matches("\":").count(), CASE_COLUMNS.len(), "{json}");
    }
}
