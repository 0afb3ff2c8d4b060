//! Columns for the conditions of a measured case, named as in JSON.

pub(crate) const CASE_COLUMNS: [&str; 18] = [
    "mechanism",
    "between",
    "tasks",
    "size_bytes",
    "stride_bytes",
    "access",
    "pattern",
    "sharing",
    "pages",
    "runtime",
    "runtime_handoff",
    "runtime_class",
    "cpus",
    "relation",
    "policy",
    "away_bytes",
    "vector_state",
    "xsave_bytes",
];

#[cfg(test)]
mod tests {
    use switchcost_analysis::Conditions;
    use switchcost_record::{Between, Case, Mechanism, Placement, Policy};
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
            .map(|name| {
                json.find(&format!("\"{name}\":"))
                    .unwrap_or_else(|| panic!("no {name} in {json}"))
            })
            .collect();
        assert!(places.is_sorted(), "{json}");
        assert_eq!(json.matches("\":").count(), CASE_COLUMNS.len(), "{json}");
    }
}
