//! The conditions of a case as columns: the same names and the same text wherever a case stands, and as JSON.

use switchcost_record::Case;
use switchcost_units::format_cpu_list;

use crate::for_programs::Column;

pub(crate) const CASE_COLUMNS: [Column<Case>; 18] = [
    ("mechanism", |c| c.mechanism.to_string()),
    ("between", |c| c.between.to_string()),
    ("tasks", |c| c.tasks.to_string()),
    ("size_bytes", |c| c.working_set.size_bytes.0.to_string()),
    ("stride_bytes", |c| c.working_set.stride_bytes.0.to_string()),
    ("access", |c| c.working_set.access.to_string()),
    ("pattern", |c| c.working_set.pattern.to_string()),
    ("sharing", |c| c.working_set.sharing.to_string()),
    ("pages", |c| c.working_set.pages.to_string()),
    ("runtime", |c| {
        c.runtime
            .as_ref()
            .map(|of| of.runtime.clone())
            .unwrap_or_default()
    }),
    ("runtime_handoff", |c| {
        c.runtime
            .as_ref()
            .map(|of| of.handoff.clone())
            .unwrap_or_default()
    }),
    ("runtime_class", |c| {
        c.runtime
            .as_ref()
            .map(|of| of.class.to_string())
            .unwrap_or_default()
    }),
    ("cpus", |c| format_cpu_list(&c.placement.cpus)),
    ("relation", |c| c.placement.relation.to_string()),
    ("policy", |c| c.policy.to_string()),
    ("away_bytes", |c| {
        c.away.map(|away| away.0.to_string()).unwrap_or_default()
    }),
    ("vector_state", |c| {
        c.vectors
            .map(|vectors| vectors.state.to_string())
            .unwrap_or_default()
    }),
    ("xsave_bytes", |c| {
        c.vectors
            .map(|vectors| vectors.xsave_bytes.0.to_string())
            .unwrap_or_default()
    }),
];

#[cfg(test)]
mod tests {
    use switchcost_analysis::Conditions;
    use switchcost_record::{Between, Mechanism, Placement, Policy};
    use switchcost_units::CpuId;

    use super::*;

    #[test]
    fn both_forms_have_the_same_names_in_the_same_order() {
        let case = Case::plain(
            Mechanism::Pipe,
            Between::Process,
            Placement::one_cpu(CpuId(1)),
            Policy::Fifo,
        );
        let json = serde_json::to_string(&Conditions::from(&case)).expect("JSON");
        let places: Vec<usize> = CASE_COLUMNS
            .iter()
            .map(|(name, _)| {
                json.find(&format!("\"{name}\":"))
                    .unwrap_or_else(|| panic!("no {name} in {json}"))
            })
            .collect();
        assert!(places.is_sorted(), "{json}");
        assert_eq!(json.matches("\":").count(), CASE_COLUMNS.len(), "{json}");
    }
}
