//! What was observed as stacks: the name of the task, why it left its CPU, and where. As folded stacks, for flame graphs, and as a
//! profile of pprof.
//!
//! Field numbers are those of pprof's `profile.proto`, of which this is the part that is used.

use std::collections::BTreeMap;
use std::io::Write;

use ::observation::{Entry, FutexWait, Observation};
use analysis::observation::{Stack, stacks};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::tables::what;
use crate::plain::plain;

/// Stacks as lines of frames, the outermost first, and the time off the CPU in nanoseconds. Those without any, which never came back,
/// are left out.
pub fn folded(observation: &Observation) -> String {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for stack in stacks(observation) {
        // A semicolon ends a frame.
        let frames = frames(&stack).map(|frame| frame.replace(';', ":")).join(";");
        let sum = sums.entry(frames).or_default();
        *sum = sum.saturating_add(stack.off_ns);
    }
    sums.retain(|_, ns| *ns > 0);
    sums.into_iter().map(|(frames, ns)| format!("{frames} {ns}\n")).collect()
}

/// The same as a gzipped profile: switches, time off the CPU, of it the wait for one, and where it is known the direct cost.
pub fn pprof(observation: &Observation) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile(observation).encode_to_vec()).expect("memory takes every write");
    packed.finish().expect("memory takes every write")
}

/// The outermost first.
fn frames(stack: &Stack<'_>) -> [String; 3] {
    let entry = match stack.entry {
        Entry::SystemCall(call) => call,
        Entry::Futex(FutexWait::Lock) => "futex, for a lock",
        Entry::Futex(FutexWait::Timed) => "futex, for a time at most",
        Entry::PageFault => "page fault",
        Entry::Interrupt => "own code",
        Entry::Kernel => "kernel",
        Entry::Other => "elsewhere",
    };
    let name = if stack.name.is_empty() { "(no name)" } else { stack.name };
    [name, what(stack.why), entry].map(|text| plain(text).into_owned())
}

fn profile(observation: &Observation) -> Profile {
    let stacks = stacks(observation);
    let mut strings = Strings::default();
    let has_cost = stacks.iter().any(|stack| stack.direct_ns.is_some());
    let (count, ns) = (strings.at("count"), strings.at("nanoseconds"));
    let mut types: Vec<ValueType> = [("switches", count), ("off_cpu", ns), ("cpu_wait", ns)]
        .map(|(name, unit)| ValueType { r#type: strings.at(name), unit })
        .into();
    if has_cost {
        types.push(ValueType { r#type: strings.at("direct_cost"), unit: ns });
    }
    let (process, off_cpu) = (strings.at("process"), strings.at("off_cpu"));
    let mut functions: BTreeMap<i64, u64> = BTreeMap::new();
    let mut sample = Vec::new();
    for stack in &stacks {
        // A frame is a place and a function of one name, both numbered from 1 on; the innermost is first.
        let location = frames(stack).into_iter().rev().map(|frame| {
            let next = functions.len() as u64 + 1;
            *functions.entry(strings.at(&frame)).or_insert(next)
        });
        let location_id = location.collect();
        let mut values = vec![stack.switches, stack.off_ns, stack.wait_ns];
        values.extend(has_cost.then(|| stack.direct_ns.unwrap_or_default().round() as u64));
        let value = values.into_iter().map(|value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        let label = stack.process.map(|number| Label { key: process, num: i64::from(number) });
        sample.push(Sample { location_id, value, label: label.into_iter().collect() });
    }
    Profile {
        sample_type: types,
        sample,
        location: functions.values().map(|&id| Location { id, line: vec![Line { function_id: id }] }).collect(),
        function: functions.iter().map(|(&name, &id)| Function { id, name }).collect(),
        string_table: strings.table,
        duration_nanos: i64::try_from(observation.window_ns.0).unwrap_or(i64::MAX),
        default_sample_type: off_cpu,
    }
}

/// Texts by their places in a table, in which the first is empty.
struct Strings {
    table: Vec<String>,
    places: BTreeMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { table: vec![String::new()], places: BTreeMap::new() }
    }
}

impl Strings {
    fn at(&mut self, text: &str) -> i64 {
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

    use super::super::tests::large;
    use super::*;

    fn read(packed: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip");
        Profile::decode(&bytes[..]).expect("our own")
    }

    #[test]
    fn a_profile_has_all_switches_and_what_they_cost() {
        let large = large();
        let profile = read(&pprof(&large));
        let text = |at: i64| profile.string_table[at as usize].as_str();
        let types: Vec<(&str, &str)> =
            profile.sample_type.iter().map(|each| (text(each.r#type), text(each.unit))).collect();
        let ns = |name| (name, "nanoseconds");
        assert_eq!(types, [("switches", "count"), ns("off_cpu"), ns("cpu_wait"), ns("direct_cost")]);
        let sum = |at: usize| profile.sample.iter().map(|sample| sample.value[at]).sum::<i64>();
        let causes = || large.tasks.iter().flat_map(|tasks| &tasks.causes);
        assert_eq!(sum(0), causes().map(|cause| cause.switches as i64).sum::<i64>());
        assert_eq!(sum(1), causes().map(|cause| cause.off_ns.0 as i64).sum::<i64>());
        let direct =
            analysis::observation::analyse(&large).all.direct_ns.and_then(|range| range.likely).expect("priced");
        assert!((sum(3) as f64 / direct - 1.0).abs() < 1e-6, "{} of {direct}", sum(3));
        // The innermost frame is first.
        let first = &profile.sample[0];
        let name = |at: usize| {
            let function = profile.function.iter().find(|function| function.id == first.location_id[at]);
            text(function.expect("a location is of one function of its number").name)
        };
        assert_eq!(["name of task 1.", "waits", "a_system_call_with_a_long_name_0"], [name(2), name(1), name(0)]);
        assert_eq!((text(first.label[0].key), first.label[0].num), ("process", 1));
        // Without a price there is no cost, not one of 0.
        let unpriced = read(&pprof(&Observation { calibration: None, ..large }));
        assert_eq!((unpriced.sample_type.len(), unpriced.sample[0].value.len()), (3, 3));
    }

    #[test]
    fn folded_stacks_are_of_time_off_the_cpu_whatever_a_name_holds() {
        let mut large = large();
        large.tasks.truncate(2);
        for tasks in &mut large.tasks {
            tasks.name = "a;b\n\u{1b}c".to_owned();
            tasks.causes.truncate(1);
        }
        assert_eq!(folded(&large), "a:b c;waits;a_system_call_with_a_long_name_0 2000000\n");
        large.tasks[0].causes[0].off_ns.0 = 0;
        large.tasks.truncate(1);
        assert_eq!(folded(&large), "");
    }
}
