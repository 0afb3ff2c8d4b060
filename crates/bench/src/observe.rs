//! Whether the cost that `observe` reports is true: of pairs of processes whose work is known, and of servers.

pub(crate) mod order;
mod pairs;
pub(crate) mod ping_pong;
mod service;
mod services;
pub(crate) mod turns;

use serde_json::Value;

use crate::row::Row;
use crate::shell::{Shell, need, number};
use crate::spread::Spread;
use crate::tables;

/// What is likely is near if it is off by no more.
const NEAR: f64 = 0.3;

/// The CPU of what is observed; another is left to the observer.
const CPU: &str = "1";

/// What a switch was seen to cost in one case, and what was reported of it, in nanoseconds.
struct Case {
    name: String,
    seen: Spread,
    reported: Reported,
}

impl Case {
    /// Whether the machine was quiet enough: the middle half of what was seen is not wider than its median.
    fn is_seen(&self) -> bool {
        self.seen.high - self.seen.low <= self.seen.median
    }

    /// Whether more than the direct cost is known.
    fn is_known(&self) -> bool {
        self.reported.range[0].is_finite()
    }

    fn is_held(&self) -> bool {
        let [low, _, high] = self.reported.range;
        (low..=high).contains(&self.seen.median)
    }

    fn is_likely_known(&self) -> bool {
        self.reported.range[1].is_finite()
    }

    fn is_hit(&self) -> bool {
        (self.reported.range[1] / self.seen.median - 1.0).abs() <= NEAR
    }

    /// `chase, 1024 KiB: 71.20 us a switch (70.10 to 72.30), reported 3.10 (2.00 to 140.00), by inject`.
    fn text(&self) -> String {
        let mark = match (self.is_seen(), self.is_held()) {
            (false, _) => "not seen: ",
            (true, false) if self.is_known() => "OUTSIDE: ",
            (true, _) => "",
        };
        let us = |ns: f64| format!("{:.2}", ns / 1000.0);
        let Spread { low, median, high } = self.seen;
        let [from, likely, to] = self.reported.range.map(us);
        let reported = match (self.is_known(), self.is_likely_known()) {
            (false, _) => "not known".to_owned(),
            (true, false) => format!("{from} to {to}"),
            (true, true) => format!("{likely} ({from} to {to})"),
        };
        format!(
            "{mark}{}: {} us a switch ({} to {}), reported {reported}, by {}",
            self.name,
            us(median),
            us(low),
            us(high),
            self.reported.source
        )
    }
}

/// The range of a switch: low, likely and high, in nanoseconds, the first two no numbers if they are not known; and how it is known.
struct Reported {
    range: [f64; 3],
    source: String,
}

impl Reported {
    /// The medians of several observations.
    fn new(observations: &[Value]) -> Result<Reported, String> {
        let mut ends = [Vec::new(), Vec::new(), Vec::new()];
        let mut source = "-";
        for observation in observations {
            let switches = need(observation, "all.switches")?;
            let range = [
                number(observation, "all.cost_ns.low").unwrap_or(f64::NAN),
                number(observation, "all.cost_ns.likely").unwrap_or(f64::NAN),
                number(observation, "all.cost_ns.high").unwrap_or(f64::INFINITY),
            ];
            for (ends, end) in ends.iter_mut().zip(range) {
                ends.push(end / switches);
            }
            source = observation["all"]["likely_by"].as_str().unwrap_or("-");
        }
        Ok(Reported {
            range: ends.map(|ends| Spread::new(&ends).map_or(f64::NAN, |spread| spread.median)),
            source: source.to_owned(),
        })
    }
}

/// Observes a command.
fn observe(shell: &Shell, command: &str) -> Result<Value, String> {
    shell.json(&format!(
        "switchcost observe --format json --record $out/observed.json -- {command}"
    ))
}

/// A rule: how many of so many cases hold at least.
struct AtLeast(usize, usize);

impl AtLeast {
    fn judge(
        &self,
        what: &str,
        command: &str,
        cases: &Result<Vec<Case>, String>,
        is_judged: fn(&Case) -> bool,
        holds: fn(&Case) -> bool,
    ) -> Row {
        let AtLeast(least, of) = self;
        let found = cases.as_ref().map_err(String::clone).map(|cases| {
            let judged: Vec<&Case> = cases
                .iter()
                .filter(|case| case.is_seen() && is_judged(case))
                .collect();
            let count = judged.iter().filter(|case| holds(case)).count();
            let is_met = (!judged.is_empty()).then_some(count * of >= least * judged.len());
            (format!("{count} of {}", judged.len()), is_met)
        });
        Row::new(what, format!(">= {least} of {of}"), command, found)
    }
}

/// Adds all cases to what was found of them.
fn add_cases(mut row: Row, cases: &Result<Vec<Case>, String>) -> Row {
    for case in cases.iter().flatten() {
        row.measured = format!("{}\n{}", row.measured, case.text());
    }
    row
}

/// What watching costs, and whether the reported range holds what the same work takes above itself without switches.
pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let mut rows = tables::watchers().measure(shell);
    let cases = measured(shell).and_then(|()| pairs::excess_cases(shell));
    let held = AtLeast(17, 18).judge(
        "cost reported of pairs that touch 0 to 16 MiB in four orders holds the CPU time that they take above the same work without switches",
        "observe -- ping-pong, beside itself and beside the same work alone, in turn; medians",
        &cases,
        Case::is_known,
        Case::is_held,
    );
    rows.push(add_cases(held, &cases));
    rows
}

/// The truth by cause and effect, without a model: the same work is done with more and with fewer switches, as is set from outside, and
/// what a switch costs is the slope of the CPU time for each piece of work over the switches for each. The rules, written down before the
/// first run: the range holds a case if the median slope lies from its lower end to its upper end; what is likely hits it within 30 % of
/// that median; of the cases whose cost is known 9 of 10 must be held, and 7 of 10 of those with a likely one hit. If the machine was too busy to see the truth, nothing is judged, and it is said.
fn judge_range(name: &str, command: &str, cases: &Result<Vec<Case>, String>) -> Vec<Row> {
    let held = format!("cost reported of {name} holds what more switches cost them");
    let held = AtLeast(9, 10).judge(&held, command, cases, Case::is_known, Case::is_held);
    let hit = AtLeast(7, 10).judge(
        "the same: what is reported as likely, if it is known, within 30 %",
        command,
        cases,
        Case::is_likely_known,
        Case::is_hit,
    );
    vec![add_cases(held, cases), hit]
}

pub(crate) fn measure_range(shell: &Shell) -> Vec<Row> {
    let cases = measured(shell).and_then(|()| pairs::more_switches(shell));
    let command = "observe -- ping-pong, whose walks are done one and four a turn";
    judge_range(
        "pairs that touch 0 to 4 MiB in four orders",
        command,
        &cases,
    )
}

pub(crate) fn measure_services(shell: &Shell) -> Vec<Row> {
    let cases = measured(shell).and_then(|()| services::measure(shell));
    let command = "observe -p SERVER, beside a task that takes half of its CPU in turns of 100 us and of 2 ms";
    judge_range("redis, nginx and PostgreSQL under load", command, &cases)
}

/// Measured as users have it: once, before anything is observed.
fn measured(shell: &Shell) -> Result<(), String> {
    shell.run("switchcost measure").map(drop)
}

/// How steeply the second of two quantities grows with the first, by least squares; none if the first does not change.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut spread, mut together) = (0.0, 0.0);
    for point in points {
        spread += (point.0 - x).powi(2);
        together += (point.0 - x) * (point.1 - y);
    }
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_point_has_none() {
        assert_eq!(slope(&[(1.0, 5.0), (2.0, 8.0), (3.0, 11.0)]), Some(3.0));
        assert_eq!((slope(&[(1.0, 5.0), (1.0, 6.0)]), slope(&[])), (None, None));
    }

    #[test]
    fn a_case_is_judged_only_if_it_was_seen() {
        let case = |low: f64, high: f64, range: [f64; 3]| Case {
            name: "chase".to_owned(),
            seen: Spread {
                low,
                median: 100.0,
                high,
            },
            reported: Reported {
                range,
                source: "pages".to_owned(),
            },
        };
        let cases = Ok(vec![
            case(90.0, 110.0, [50.0, 80.0, 200.0]),
            case(90.0, 110.0, [150.0, f64::NAN, 200.0]),
            case(0.0, 110.0, [150.0, 180.0, 200.0]),
        ]);
        let row = AtLeast(9, 10).judge("", "", &cases, Case::is_known, Case::is_held);
        assert_eq!((&row.measured[..], row.is_met), ("1 of 2", Some(false)));
        let row = AtLeast(5, 10).judge("", "", &cases, Case::is_likely_known, Case::is_hit);
        assert_eq!((&row.measured[..], row.is_met), ("1 of 1", Some(true)));
        let table = add_cases(row, &cases).measured;
        assert!(table.contains(
            "\nOUTSIDE: chase: 0.10 us a switch (0.09 to 0.11), reported 0.15 to 0.20, by"
        ));
        assert!(table.contains("\nnot seen: chase"), "{table}");
    }
}
