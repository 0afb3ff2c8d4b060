//! Selects the numbers of observations that are compared, and gets them from the findings of a
//! record.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_record::observation::{Calibration, Lost, Observation, Source};

use crate::compare::{Quantity, Who};
use crate::lists::saturating_sum;
use crate::observation::{Findings, ProcessFinding, Range, analyse};

/// Quantities that are compared for all observed tasks together.
const OF_ALL: [Quantity; 8] = [
    Quantity::Switches,
    Quantity::Involuntary,
    Quantity::DirectShare,
    Quantity::CostShare,
    Quantity::ColdShare,
    Quantity::WaitP50,
    Quantity::WaitP99,
    Quantity::Throttled,
];

/// Quantities that are compared for the tasks of one name.
const OF_NAME: [Quantity; 5] = [
    Quantity::Switches,
    Quantity::Involuntary,
    Quantity::DirectShare,
    Quantity::ColdShare,
    Quantity::WaitP99,
];

/// Largest number of task names that are compared. More names would widen all intervals.
const MOST_NAMES: usize = 10;
/// Largest number of preempting programs that are compared.
const MOST_NEIGHBOURS: usize = 5;

/// Least share of a side's switches that a compared name must have on at least one side. Also the
/// share of lost events above which numbers are suspect.
const LEAST_SHARE: f64 = 0.01;

/// Key of a compared number of an observation: the tasks, and the quantity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) who: Who,
    pub(super) quantity: Quantity,
}

impl Key {
    /// Whether the quantity includes the cost of cold caches.
    pub(super) fn has_caches(&self) -> bool {
        matches!(self.quantity, Quantity::CostShare | Quantity::ColdShare)
    }
}

/// A number from one record, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// Number of counted events from which the number was computed; `None` if the number does not
    /// come from a count.
    pub(super) events: Option<u64>,
    /// Factors within which the number is known, downwards and upwards; 1 if the number has no
    /// uncertainty within a record.
    pub(super) within: [f64; 2],
}

impl Number {
    fn new(value: f64, events: Option<u64>) -> Number {
        Number {
            value,
            events,
            within: [1.0; 2],
        }
    }

    /// Returns the likely value of a range, with the range as uncertainty; `None` without a likely
    /// value, or unless both ends are above 0 and finite.
    pub(super) fn between(range: Range) -> Option<Number> {
        let value = range.likely?;
        let has_ends = range.low > 0.0 && range.is_bounded();
        has_ends.then(|| Number {
            within: [value / range.low, range.high / value],
            ..Number::new(value, None)
        })
    }
}

/// Findings from one observation record, for comparison.
pub(super) struct Record {
    findings: Findings,
    source: Source,
    throttled: Number,
    /// Whether so many events were lost that the numbers are unreliable.
    pub(super) has_lost: bool,
    /// Method by which the cost of cold caches was estimated; `None` if unknown.
    pub(super) caches_by: Option<String>,
}

impl Record {
    /// Analyses an observation. `calibration`, if given, replaces the observation's own
    /// calibration.
    pub(super) fn new(observation: &Observation, calibration: Option<&Calibration>) -> Record {
        let findings = match calibration {
            None => analyse(observation),
            Some(_) => analyse(&Observation {
                calibration: calibration.cloned(),
                ..observation.clone()
            }),
        };
        Record {
            source: observation.source,
            throttled: throttled(observation),
            has_lost: has_lost(&observation.lost, findings.all.switches),
            caches_by: caches_by(observation, &findings),
            findings,
        }
    }

    /// Returns the number for this key; `None` if it was not counted.
    pub(super) fn number(&self, key: &Key) -> Option<Number> {
        match &key.who {
            Who::All if key.quantity == Quantity::Throttled => Some(self.throttled),
            Who::Neighbour(name) => (self.source == Source::Bpf).then(|| self.preemptions(name)),
            who => task_number(self.tasks(who)?, key.quantity),
        }
    }

    /// Whether the number is above 0, or is a cost that includes cold caches and has at least a
    /// range.
    fn is_known(&self, key: &Key) -> bool {
        let range = self.tasks(&key.who).and_then(|found| match key.quantity {
            Quantity::CostShare => found.share,
            Quantity::ColdShare => found.indirect_share,
            _ => None,
        });
        let is_positive = |number: Number| number.value > 0.0;
        range.is_some() || self.number(key).is_some_and(is_positive)
    }

    fn tasks(&self, who: &Who) -> Option<&ProcessFinding> {
        match who {
            Who::All => Some(&self.findings.all),
            Who::Name(name) => self.names().find(|found| found.name == *name),
            Who::Neighbour(_) => None,
        }
    }

    /// Returns the findings by process name, without kernel threads.
    fn names(&self) -> impl Iterator<Item = &ProcessFinding> {
        self.findings.names.iter().filter(|found| !found.is_kernel)
    }

    /// Returns the number of preemptions per second by other tasks with this name; 0 if there are
    /// none.
    fn preemptions(&self, name: &str) -> Number {
        let of_name = self
            .findings
            .neighbours
            .iter()
            .filter(|neighbour| neighbour.other == name);
        let preempted = saturating_sum(of_name.map(|neighbour| neighbour.preempted));
        Number::new(
            preempted as f64 / self.findings.seconds.max(f64::MIN_POSITIVE),
            Some(preempted),
        )
    }
}

/// Whether so many events were lost for lack of memory that the numbers are unreliable: a task was
/// not observed, or a notable share of the switches was lost.
fn has_lost(lost: &Lost, switches: u64) -> bool {
    lost.tasks > 0
        || lost.causes.max(lost.pairs).max(lost.records) as f64 > LEAST_SHARE * switches as f64
}

/// Returns the method by which the cost of cold caches was estimated, with the files of `inject`;
/// `None` if unknown.
fn caches_by(observation: &Observation, findings: &Findings) -> Option<String> {
    let by = findings.all.likely_by?;
    let known = observation.known.iter();
    let files: BTreeSet<&str> = known
        .filter(|known| known.by.to_string() == by.to_string())
        .map(|known| known.file.as_str())
        .collect();
    let files: Vec<&str> = files.into_iter().collect();
    Some(format!("{by} {}", files.join(" ")).trim_end().to_owned())
}

fn throttled(observation: &Observation) -> Number {
    let times = saturating_sum(observation.throttled.iter().map(|group| group.times));
    let ns: f64 = observation
        .throttled
        .iter()
        .map(|group| group.throttled_ns.0 as f64)
        .sum();
    Number::new(ns / observation.window_ns.0.max(1) as f64, Some(times))
}

fn task_number(found: &ProcessFinding, quantity: Quantity) -> Option<Number> {
    let of_switches = |value: f64| Number::new(value, Some(found.switches));
    match quantity {
        Quantity::Switches => Some(of_switches(found.per_second)),
        Quantity::Involuntary => (found.switches > 0)
            .then(|| Number::new(found.involuntary_share, Some(found.involuntary))),
        Quantity::DirectShare => Some(of_switches(found.direct_ns?.likely? / found.cpu_ns?)),
        Quantity::CostShare => Some(of_switches(found.share?.likely?)),
        Quantity::ColdShare => Number::between(found.indirect_share?),
        Quantity::WaitP50 => Some(Number::new(found.wait?.p50_ns?, None)),
        Quantity::WaitP99 => Some(Number::new(found.wait?.p99_ns?, None)),
        _ => None,
    }
}

/// Returns the keys of all numbers that are known in any record: for all tasks, for the names
/// with most switches, and for the tasks that preempted most often.
pub(super) fn keys(sides: &[Vec<Record>; 2]) -> Vec<Key> {
    let key = |who: Who, quantity: Quantity| Key { who, quantity };
    let mut keys: Vec<Key> = OF_ALL.map(|quantity| key(Who::All, quantity)).to_vec();
    for (name, is_on_both) in names(sides) {
        // For a name that some records lack, a single quantity is enough.
        let quantities = if is_on_both {
            &OF_NAME[..]
        } else {
            &OF_NAME[..1]
        };
        let of_name = |quantity: &Quantity| key(Who::Name(name.clone()), *quantity);
        keys.extend(quantities.iter().map(of_name));
    }
    let neighbours = neighbours(sides).into_iter().map(Who::Neighbour);
    keys.extend(neighbours.map(|who| key(who, Quantity::Preemptions)));
    keys.retain(|key| sides.iter().flatten().any(|record| record.is_known(key)));
    keys
}

/// Returns the names with most switches, each with whether every record has the name.
fn names(sides: &[Vec<Record>; 2]) -> Vec<(String, bool)> {
    let mut names: BTreeMap<&str, ([f64; 2], usize)> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        let all: f64 = side
            .iter()
            .map(|record| record.findings.all.per_second)
            .sum();
        for found in side.iter().flat_map(Record::names) {
            let (shares, records) = names.entry(&found.name).or_default();
            shares[place] += found.per_second / all.max(f64::MIN_POSITIVE);
            *records += 1;
        }
    }
    let mut names: Vec<(&str, ([f64; 2], usize))> = names
        .into_iter()
        .filter(|(_, (shares, _))| shares.iter().any(|share| *share >= LEAST_SHARE))
        .collect();
    let both = |(_, (shares, _)): &(&str, ([f64; 2], usize))| shares[0] + shares[1];
    names.sort_by(|a, b| both(b).total_cmp(&both(a)));
    names.truncate(MOST_NAMES);
    let records = sides.iter().flatten().count();
    names
        .into_iter()
        .map(|(name, (_, count))| (name.to_owned(), count == records))
        .collect()
}

/// Returns the names of the other tasks that preempted observed ones most often.
fn neighbours(sides: &[Vec<Record>; 2]) -> Vec<String> {
    let mut names: BTreeMap<&str, f64> = BTreeMap::new();
    for record in sides.iter().flatten() {
        for neighbour in &record.findings.neighbours {
            *names.entry(&neighbour.other).or_default() +=
                neighbour.preempted as f64 / record.findings.seconds.max(f64::MIN_POSITIVE);
        }
    }
    let mut names: Vec<(&str, f64)> = names.into_iter().collect();
    names.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    names
        .into_iter()
        .take(MOST_NEIGHBOURS)
        .map(|(name, _)| name.to_owned())
        .collect()
}
