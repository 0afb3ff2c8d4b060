//! A synthetic record of an observation, with data for every part of a report: a short record in
//! which some fields are replaced.

use serde_json::{Map, Value, from_slice, from_str, from_value};
use switchcost_record::observation::Observation;

/// Makes an observation of several programs, of which the first and the last have these names.
pub(crate) fn observed(first: &str, last: &str) -> Observation {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/observation_record/small"
    );
    let mut record: Value = from_slice(&std::fs::read(path).expect("read")).expect("JSON");
    let names = |name: &str| Value::from(name).to_string();
    let fields = include_str!("observed.json")
        .replace(r#""redis-server""#, &names(first))
        .replace(r#""node""#, &names(last));
    for (name, value) in from_str::<Map<String, Value>>(&fields).expect("JSON") {
        record[name] = value;
    }
    from_value(record).expect("a record of this version")
}
