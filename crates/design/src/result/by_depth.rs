//! Serialization of a result's [`Detail`]. The field `depth` says whether the result has detail.
//! The fields of the detail follow.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::result::Detail;

#[derive(Serialize)]
#[serde(tag = "depth", rename_all = "kebab-case")]
enum Written<'a> {
    Full(&'a Detail),
    Counters,
}

#[derive(Deserialize)]
#[serde(tag = "depth", rename_all = "kebab-case")]
enum Read {
    Full(Box<Detail>),
    Counters,
}

pub(crate) fn serialize<S: Serializer>(
    detail: &Option<Detail>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    detail
        .as_ref()
        .map_or(Written::Counters, Written::Full)
        .serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Detail>, D::Error> {
    Ok(match Read::deserialize(deserializer)? {
        Read::Full(detail) => Some(*detail),
        Read::Counters => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::result::{ByView, DesignResult, Detail, DetailLevel, HierarchyCounts};

    fn result(detail: Option<Detail>) -> serde_json::Value {
        let design = serde_json::from_value(serde_json::json!({
            "schema": "switchcost.design/1",
            "name": "one",
            "level": [{"name": "L1", "holds": "both", "size": "64KiB", "line": "16B", "ways": 1, "miss_cycles": 15}],
        }))
        .expect("a design");
        let counts = HierarchyCounts {
            cycles: u64::MAX,
            ..HierarchyCounts::default()
        };
        let hierarchies = ByView {
            shared: counts.clone(),
            private: counts.clone(),
            flushed: counts,
        };
        serde_json::to_value(DesignResult {
            design,
            hierarchies,
            by_process: Vec::new(),
            physical_pages: None,
            detail,
        })
        .expect("JSON")
    }

    #[test]
    fn depth_says_whether_there_is_a_detail() {
        for (detail, depth) in [(Some(Detail::default()), "full"), (None, "counters")] {
            let json = result(detail.clone());
            assert_eq!((&json["depth"], json.get("detail")), (&depth.into(), None));
            let read: DesignResult = serde_json::from_value(json).expect("a result");
            let is_full = read.depth() == DetailLevel::Full;
            assert_eq!((read.detail, is_full), (detail, depth == "full"));
        }
    }

    #[test]
    fn a_detail_without_one_of_its_fields_is_refused() {
        let whole = result(Some(Detail::default()));
        for field in [
            "depth",
            "lost_cycles",
            "miss_differences",
            "most_held",
            "kernel_batches",
            "data",
        ] {
            let mut json = whole.clone();
            json.as_object_mut()
                .and_then(|fields| fields.remove(field))
                .expect("a field");
            let error = serde_json::from_value::<DesignResult>(json)
                .expect_err("it is missing")
                .to_string();
            assert!(
                error.contains(&format!("missing field `{field}`")),
                "{error}"
            );
        }
    }
}
