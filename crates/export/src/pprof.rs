//! Stacks as a pprof profile.
//!
//! Field numbers are those of pprof's `profile.proto`. This module has only the fields that it
//! writes.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use switchcost_record::observation::Observation;

use crate::stacks::rows;

/// Returns a gzipped pprof profile of an observation's stacks. Stacks by cause have the number of
/// switches, the time off the CPU, the wait for a CPU as a part of that time, and the direct cost
/// if known. Sampled stacks have the number of samples, and the switches that the samples
/// represent.
pub fn pprof(observation: &Observation) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed
        .write_all(&profile(observation).encode_to_vec())
        .expect("memory takes every write");
    packed.finish().expect("memory takes every write")
}

fn profile(observation: &Observation) -> Profile {
    let rows = rows(observation);
    let mut strings = Strings::default();
    let sample_type: Vec<ValueType> = rows
        .kinds
        .iter()
        .map(|(name, unit)| ValueType {
            r#type: strings.index_of(name),
            unit: strings.index_of(unit),
        })
        .collect();
    let process = strings.index_of("process");
    let mut functions: BTreeMap<i64, u64> = BTreeMap::new();
    let mut sample = Vec::new();
    for row in &rows.rows {
        // Locations and functions have the same IDs, numbered from 1. The innermost frame comes
        // first.
        let location = row.frames.iter().rev().map(|frame| {
            let next = functions.len() as u64 + 1;
            *functions.entry(strings.index_of(frame)).or_insert(next)
        });
        let location_id = location.collect();
        let value = row
            .values
            .iter()
            .map(|&value| i64::try_from(value).unwrap_or(i64::MAX))
            .collect();
        let label = row.process.map(|number| Label {
            key: process,
            num: i64::from(number),
        });
        sample.push(Sample {
            location_id,
            value,
            label: label.into_iter().collect(),
        });
    }
    Profile {
        default_sample_type: sample_type[rows.usual].r#type,
        comment: rows
            .comment
            .iter()
            .map(|comment| strings.index_of(comment))
            .collect(),
        sample_type,
        sample,
        location: functions
            .values()
            .map(|&id| Location {
                id,
                line: vec![Line { function_id: id }],
            })
            .collect(),
        function: functions
            .iter()
            .map(|(&name, &id)| Function { id, name })
            .collect(),
        string_table: strings.table,
        duration_nanos: i64::try_from(observation.window_ns.0).unwrap_or(i64::MAX),
    }
}

/// The profile's string table: each text with its index. Index 0 is the empty text.
struct Strings {
    table: Vec<String>,
    places: BTreeMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings {
            table: vec![String::new()],
            places: BTreeMap::new(),
        }
    }
}

impl Strings {
    fn index_of(&mut self, text: &str) -> i64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "3")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::testing::large;

    fn read(packed: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed)
            .read_to_end(&mut bytes)
            .expect("gzip");
        Profile::decode(&bytes[..]).expect("our own")
    }

    #[test]
    fn a_profile_has_all_switches_and_what_they_cost() {
        let large = large();
        let profile = read(&pprof(&large));
        let text = |at: i64| profile.string_table[at as usize].as_str();
        let types: Vec<(&str, &str)> = profile
            .sample_type
            .iter()
            .map(|each| (text(each.r#type), text(each.unit)))
            .collect();
        let ns = |name| (name, "nanoseconds");
        assert_eq!(
            types,
            [
                ("switches", "count"),
                ns("off_cpu"),
                ns("cpu_wait"),
                ns("direct_cost")
            ]
        );
        let sum = |at: usize| {
            profile
                .sample
                .iter()
                .map(|sample| sample.value[at])
                .sum::<i64>()
        };
        let causes = || large.tasks.iter().flat_map(|tasks| &tasks.causes);
        assert_eq!(
            sum(0),
            causes().map(|cause| cause.switches as i64).sum::<i64>()
        );
        assert_eq!(
            sum(1),
            causes().map(|cause| cause.off_ns.0 as i64).sum::<i64>()
        );
        let direct = switchcost_analysis::observation::analyse(&large)
            .all
            .direct_ns
            .and_then(|range| range.likely)
            .expect("priced");
        assert!(
            (sum(3) as f64 / direct - 1.0).abs() < 1e-6,
            "{} of {direct}",
            sum(3)
        );
        // The innermost frame is first.
        let first = &profile.sample[0];
        let name = |at: usize| {
            let function = profile
                .function
                .iter()
                .find(|function| function.id == first.location_id[at]);
            text(
                function
                    .expect("a location is of one function of its number")
                    .name,
            )
        };
        assert_eq!(
            [
                "name of task 1.",
                "waits",
                "a_system_call_with_a_long_name_0"
            ],
            [name(2), name(1), name(0)]
        );
        assert_eq!(
            (text(first.label[0].key), first.label[0].num),
            ("process", 1)
        );
        // Without a price there is no cost, not one of 0.
        let unpriced = read(&pprof(&Observation {
            calibration: None,
            ..large
        }));
        assert_eq!(
            (unpriced.sample_type.len(), unpriced.sample[0].value.len()),
            (3, 3)
        );
    }
}
