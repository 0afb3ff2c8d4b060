//! An observation's counts so far, as OpenMetrics text. The number of label sets is limited,
//! whatever names the observed tasks have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use switchcost_analysis::observation::{
    Findings, LabelSum, Range, Times, UnknownBecause, off_times, sum_by_label, wait_times,
};
use switchcost_record::observation::{Entry, Observation};
use switchcost_record::plain;

/// Number of task names that have a separate label; all later names share one label.
const NAMES: usize = 64;
const OTHERS: &str = "(others)";

/// Returns the upper bounds of the histograms' buckets in nanoseconds: powers of four, from about 1
/// us to about 4 s.
fn ends_ns() -> impl Iterator<Item = f64> {
    (5..=16).map(|power| 4f64.powi(power))
}

/// Task names and counter values that earlier scrapes have shown. A counter must never fall between
/// scrapes, because Prometheus takes a fall for a restart of the program.
#[derive(Clone, Debug, Default)]
pub struct Scraped {
    /// Task names that have a separate label: the first [`NAMES`] names seen. A name keeps its
    /// label, so the sum under a label never decreases.
    names: BTreeSet<String>,
    /// Largest value of each counter in all scrapes so far. The observation's own count can fall,
    /// because a task's full table drops causes to make room for others.
    counts: BTreeMap<(&'static str, Labels), u64>,
}

impl Scraped {
    fn label(&mut self, name: &str) -> String {
        let name = escaped(name);
        if self.names.len() < NAMES || self.names.contains(&name) {
            self.names.insert(name.clone());
            return name;
        }
        OTHERS.to_owned()
    }

    /// Returns the label of a task name; `None` if the name has no separate label.
    fn own_label(&mut self, name: &str) -> Option<String> {
        Some(self.label(name)).filter(|label| label != OTHERS)
    }

    /// Raises each count to its largest value in earlier scrapes, and adds the causes that only
    /// earlier scrapes had.
    fn keep_counts(&mut self, series: &mut Series) {
        for (labels, value) in &mut series.values {
            if let Value::Count(count) | Value::Nanos(count) = value {
                let most = self
                    .counts
                    .entry((series.name, labels.clone()))
                    .or_default();
                *most = (*most).max(*count);
                *count = *most;
            }
        }
        // What a task name had that is not there any more is now under the name of its pool, or
        // under a new name.
        if series.name != CAUSES {
            return;
        }
        let shown: BTreeSet<Labels> = series
            .values
            .iter()
            .map(|(labels, _)| labels.clone())
            .collect();
        let missing = self
            .counts
            .iter()
            .filter(|((name, labels), _)| *name == series.name && !shown.contains(labels));
        series
            .values
            .extend(missing.map(|((_, labels), count)| (labels.clone(), Value::Count(*count))));
    }
}

/// Escapes a task name for use as a label's value, because the crate prometheus-client does not
/// escape label values.
fn escaped(name: &str) -> String {
    plain(name).replace('\\', "\\\\").replace('"', "\\\"")
}

type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
enum Value {
    Count(u64),
    Nanos(u64),
    Gauge(f64),
    Times(f64, Vec<(f64, u64)>),
}

/// A metric family of OpenMetrics: name, help, unit, and each value with its labels.
#[derive(Clone, Debug)]
struct Series {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    values: Vec<(Labels, Value)>,
}

#[derive(Clone, Debug)]
struct All(Vec<Series>);

/// Returns the OpenMetrics text for one scrape: all counts of the observation up to `unix_seconds`,
/// in seconds since 1970.
pub fn metrics(
    observation: &Observation,
    findings: &Findings,
    unix_seconds: f64,
    scraped: &mut Scraped,
) -> String {
    let sums = sum_by_label(&findings.names, |name| scraped.label(name));
    let ends: Vec<f64> = ends_ns().collect();
    let (off, wait) = (
        off_times(observation, &ends),
        wait_times(observation, &ends),
    );
    let mut all = vec![
        switches(&sums),
        causes(findings),
        cpu(&sums),
        cost(
            DIRECT,
            Unit::Ratios,
            DIRECT_SHARE,
            findings.all.direct_share,
        ),
        cost(BOTH, Unit::Ratios, SHARE, findings.all.share),
        cost(
            BOTH,
            Unit::Other("cpus".to_owned()),
            IN_CPUS,
            findings.all.cost_cpus,
        ),
        cold_caches(findings, scraped),
        unknown_cold_caches(findings, scraped),
        times(
            "off_cpu",
            "Time that observed tasks were off their CPUs, of each switch",
            off,
        ),
        times(
            "cpu_wait",
            "Time that observed tasks were ready and waited for a CPU",
            wait,
        ),
        lost(observation),
        own(findings),
        gauge(
            "snapshot_timestamp",
            "When this was counted, since 1970: a busy observer may give the last snapshot again",
            Unit::Seconds,
            Some(unix_seconds),
        ),
    ];
    all.iter_mut()
        .for_each(|series| scraped.keep_counts(series));
    let mut registry = Registry::with_prefix("switchcost");
    registry.register_collector(Box::new(All(all)));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("memory takes every write");
    text
}

/// Name of the metric for the direct cost of switches, which may be known even if the cost of cold
/// caches is not.
const DIRECT: &str = "context_switch_direct_cost";
const DIRECT_SHARE: &str = "What switching has cost so far without cold caches, as a share of the CPU time of observed tasks";

const BOTH: &str = "context_switch_cost";
const SHARE: &str = "What switching has cost so far, as a share of the CPU time of observed tasks";
const IN_CPUS: &str = "The same in CPUs: seconds of CPU time per second";

fn switches(sums: &[LabelSum]) -> Series {
    let of = |sum: &LabelSum| {
        let labels = |kind: &str| vec![("name", sum.label.clone()), ("type", kind.to_owned())];
        [
            (labels("voluntary"), Value::Count(sum.voluntary)),
            (labels("involuntary"), Value::Count(sum.involuntary)),
        ]
    };
    Series {
        name: "context_switches",
        help: "Switches of observed tasks, as the kernel counts them",
        unit: None,
        values: sums.iter().flat_map(of).collect(),
    }
}

const CAUSES: &str = "context_switch_causes";

fn causes(findings: &Findings) -> Series {
    let of = |cause: &switchcost_analysis::observation::CauseFinding| {
        let entry = match &cause.entry {
            Entry::SystemCall(call) => call.clone(),
            Entry::Futex(wait) => format!("futex-{wait}"),
            Entry::PageFault => "page-fault".to_owned(),
            Entry::Interrupt => "interrupt".to_owned(),
            Entry::Kernel => "kernel".to_owned(),
            Entry::Other => "other".to_owned(),
        };
        (
            vec![("why", cause.why.to_string()), ("entry", entry)],
            Value::Count(cause.switches),
        )
    };
    let values = findings.causes.iter().map(of).collect();
    Series {
        name: CAUSES,
        help: "Switches of observed tasks by cause",
        unit: None,
        values,
    }
}

fn cpu(sums: &[LabelSum]) -> Series {
    let of = |sum: &LabelSum| {
        (
            vec![("name", sum.label.clone())],
            Value::Nanos(sum.cpu_ns as u64),
        )
    };
    let values = sums.iter().map(of).collect();
    Series {
        name: "cpu",
        help: "CPU time of observed tasks",
        unit: Some(Unit::Seconds),
        values,
    }
}

fn cost(name: &'static str, unit: Unit, help: &'static str, cost: Option<Range>) -> Series {
    let values = cost.into_iter().flat_map(|cost| ends(cost, &[])).collect();
    Series {
        name,
        help,
        unit: Some(unit),
        values,
    }
}

/// Returns the known bounds of a range as gauges, labelled `bound="low"`, `"likely"` or `"high"`.
/// An infinite upper bound is omitted.
fn ends(range: Range, labels: &[(&'static str, String)]) -> Vec<(Labels, Value)> {
    let ends = [
        ("low", Some(range.low)),
        ("likely", range.likely),
        ("high", Some(range.high).filter(|high| high.is_finite())),
    ];
    let value = |(end, value): (&str, Option<f64>)| {
        let labels = labels.iter().cloned().chain([("bound", end.to_owned())]);
        Some((labels.collect(), Value::Gauge(value?)))
    };
    ends.into_iter().filter_map(value).collect()
}

/// Returns the metric for the cost of cold caches, with a range for each task name that has a
/// separate label.
fn cold_caches(findings: &Findings, scraped: &mut Scraped) -> Series {
    let mut values = Vec::new();
    for found in &findings.names {
        if let Some((share, name)) = found.indirect_share.zip(scraped.own_label(&found.name)) {
            values.extend(ends(share, &[("name", name)]));
        }
    }
    Series {
        name: "context_switch_cold_cache_cost",
        help: "What cold caches have cost so far, as a share of the program's CPU time; without an upper end if it is not known",
        unit: Some(Unit::Ratios),
        values,
    }
}

fn unknown_cold_caches(findings: &Findings, scraped: &mut Scraped) -> Series {
    let mut values = Vec::new();
    for found in &findings.names {
        let why = found.indirect_unknown_because;
        let why = why.filter(|why| *why != UnknownBecause::NotTraced);
        if let Some((why, name)) = why.zip(scraped.own_label(&found.name)) {
            let labels = vec![("name", name), ("because", why.to_string())];
            values.push((labels, Value::Gauge(1.0)));
        }
    }
    Series {
        name: "context_switch_cold_cache_cost_unknown",
        help: "1 for a program whose traced calls do not show what cold caches cost",
        unit: None,
        values,
    }
}

fn times(name: &'static str, help: &'static str, times: Times) -> Series {
    let ends = ends_ns().map(|end| end / 1e9).chain([f64::MAX]);
    let value = Value::Times(times.sum_ns / 1e9, ends.zip(times.counts).collect());
    Series {
        name,
        help,
        unit: Some(Unit::Seconds),
        values: vec![(Vec::new(), value)],
    }
}

fn lost(observation: &Observation) -> Series {
    let lost = &observation.lost;
    let of = [
        ("tasks", lost.tasks),
        ("causes", lost.causes),
        ("pairs", lost.pairs),
        ("events", lost.events),
        ("records", lost.records),
        ("unfollowed", lost.unfollowed),
    ];
    let values = of
        .into_iter()
        .map(|(of, count)| (vec![("of", of.to_owned())], Value::Count(count)))
        .collect();
    Series {
        name: "lost",
        help: "What found no room and was not counted",
        unit: None,
        values,
    }
}

fn own(findings: &Findings) -> Series {
    gauge(
        "observer_cpu",
        "What observing takes, as a share of one CPU",
        Unit::Ratios,
        findings.own_share,
    )
}

fn gauge(name: &'static str, help: &'static str, unit: Unit, value: Option<f64>) -> Series {
    let values = value
        .into_iter()
        .map(|value| (Vec::new(), Value::Gauge(value)))
        .collect();
    Series {
        name,
        help,
        unit: Some(unit),
        values,
    }
}

/// Converts OpenMetrics text to Prometheus text format 0.0.4, in which a counter is declared under
/// the name of its samples, and units and the end marker are omitted.
pub fn prometheus_text(open_metrics: &str) -> String {
    let counters: BTreeSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT" | "EOF"), ..) => continue,
            (Some("#"), Some(kind), Some(name), Some(rest)) if counters.contains(name) => {
                text += &format!("# {kind} {name}_total {rest}");
            }
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for series in self.0.iter().filter(|series| !series.values.is_empty()) {
            let kind = match series.values[0].1 {
                Value::Count(_) | Value::Nanos(_) => MetricType::Counter,
                Value::Gauge(_) => MetricType::Gauge,
                Value::Times(..) => MetricType::Histogram,
            };
            let mut metric =
                encoder.encode_descriptor(series.name, series.help, series.unit.as_ref(), kind)?;
            for (labels, value) in &series.values {
                let mut metric = metric.encode_family(labels)?;
                match value {
                    Value::Count(count) => metric.encode_counter::<Labels, _, f64>(count, None)?,
                    Value::Nanos(ns) => {
                        metric.encode_counter::<Labels, _, f64>(&(*ns as f64 / 1e9), None)?
                    }
                    Value::Gauge(value) => metric.encode_gauge(value)?,
                    Value::Times(sum, buckets) => {
                        let count = buckets
                            .iter()
                            .fold(0u64, |all, (_, count)| all.saturating_add(*count));
                        metric.encode_histogram::<Labels>(*sum, count, buckets, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
