//! Compares records of injections: whether the cost of a preemption for a program has changed.

use std::collections::BTreeSet;

use switchcost_record::injection::{Injection, Service};
use switchcost_units::{Bytes, Nanos};

use super::candidate::{Candidate, SIDES, judge, require_both};
use super::environment::{Facts, different, host_facts, named};
use super::ratio::{LogCost, LogRatio, Part};
use super::{Basis, Comparison, Origin, Outcome, Quantity, Request, RunSpread, Subject};
use crate::injection::{Findings, analyse};
use crate::measurement::run_spread::{ASSUMED_RUN_SPREAD, FREEDOM};
use crate::statistics::Estimate;
use crate::statistics::quantiles::student;

/// Least number of records on each side from which the spread between runs is estimated.
const FEWEST: usize = 3;

/// Compares new records of injections with base records, by footprint and period.
pub fn compare_injections(
    base: &[&Injection],
    new: &[&Injection],
    request: Request<'_>,
) -> Comparison {
    let sides = [base, new]
        .map(|side| -> Vec<Findings> { side.iter().map(|record| analyse(record)).collect() });
    let candidates = keys(&sides)
        .into_iter()
        .map(|key| candidate(key, &sides, request))
        .collect();
    let judged = judge(candidates, request);
    let run_spread = spread(request, base.len().min(new.len()));
    Comparison {
        environment: different([base, new], |record| facts(record)),
        ..Comparison::new(Basis::Injections, judged, run_spread, request)
    }
}

/// Returns the spread between runs if it was given or must be assumed; `None` if the records show
/// it. `fewest` is the number of records on the smaller side.
fn spread(request: Request<'_>, fewest: usize) -> Option<RunSpread> {
    let (share, origin) = match request.run_spread {
        Some(share) => (share, Origin::Given),
        None if fewest < FEWEST => (ASSUMED_RUN_SPREAD, Origin::Assumed),
        None => return None,
    };
    Some(RunSpread { share, origin })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Time between preemptions; `None` to compare at the first period only.
    period: Option<Nanos>,
    footprint: Bytes,
    quantity: Quantity,
}

/// Returns the combinations to compare: each quantity at each footprint, ascending, and at each
/// period if all records have several.
fn keys(sides: &[Vec<Findings>; 2]) -> Vec<Key> {
    let all = || sides.iter().flatten();
    let periods = all().flat_map(|findings| &findings.periods);
    let mut periods: BTreeSet<Option<Nanos>> = periods.map(|found| Some(found.period_ns)).collect();
    if all().any(|findings| findings.periods.is_empty()) {
        periods = [None].into();
    }
    let footprints = all().flat_map(|findings| &findings.footprints);
    let footprints: BTreeSet<Bytes> = footprints.map(|found| found.footprint_bytes).collect();
    let are_services = all().all(|findings| findings.service.is_some());
    let mut keys = Vec::new();
    for period in periods {
        for &footprint in &footprints {
            let mut add = |quantity| {
                keys.push(Key {
                    period,
                    footprint,
                    quantity,
                });
            };
            if !are_services {
                add(Quantity::Preemption);
            }
            if footprint.0 > 0 {
                add(Quantity::PreemptionReload);
            }
        }
    }
    keys
}

fn candidate(key: Key, sides: &[Vec<Findings>; 2], request: Request<'_>) -> Candidate {
    let costs = [0, 1].map(|side| cost(key, SIDES[side], &sides[side], request));
    let known = |cost: &LogCost| cost.cost(request.confidence);
    Candidate {
        subject: Subject::Injected {
            footprint_bytes: key.footprint,
            period_ns: key.period,
        },
        new_case: None,
        quantity: key.quantity,
        costs: costs.each_ref().map(|cost| cost.as_ref().ok().map(known)),
        ratio: require_both(costs)
            .map(|costs| LogRatio::between(&costs))
            .map_err(Outcome::incomparable),
        suspects: Default::default(),
    }
}

/// Returns the cost on one side for a period, a footprint and a quantity; the error says why there
/// is none.
fn cost(key: Key, name: &str, side: &[Findings], request: Request<'_>) -> Result<LogCost, String> {
    let of = |findings: &Findings| -> Option<Estimate> {
        let footprints = match key.period {
            None => &findings.footprints,
            of => {
                let mut periods = findings.periods.iter();
                &periods
                    .find(|found| Some(found.period_ns) == of)?
                    .footprints
            }
        };
        let found = footprints
            .iter()
            .find(|found| found.footprint_bytes == key.footprint)?;
        match key.quantity {
            Quantity::PreemptionReload => found.reload().cloned(),
            _ => found.cost_ns.clone(),
        }
    };
    let costs: Option<Vec<Estimate>> = side.iter().map(of).collect();
    let costs = costs.ok_or_else(|| format!("not measured on the {name} side"))?;
    if costs.iter().any(|cost| cost.low <= 0.0) {
        return Err(format!(
            "the {name} number is not distinguishable from 0, so it has no ratio"
        ));
    }
    Ok(log_cost(&costs, request))
}

/// Returns the mean logarithm of costs above 0, with its variance: from the records, or from each
/// cost's interval and the assumed or given spread between runs.
fn log_cost(costs: &[Estimate], request: Request<'_>) -> LogCost {
    let logs: Vec<f64> = costs.iter().map(|cost| cost.estimate.ln()).collect();
    let errors = costs.iter().map(|cost| own_error(cost).powi(2));
    let own = errors.sum::<f64>() / costs.len() as f64;
    let shown = Part::from_values(&logs);
    let single = match request.run_spread {
        None if costs.len() >= FEWEST => Part {
            variance: shown.variance.max(own),
            ..shown
        },
        given => Part {
            variance: own + given.unwrap_or(ASSUMED_RUN_SPREAD).powi(2),
            freedom: FREEDOM,
        },
    };
    LogCost::new(&logs, single)
}

/// Returns the standard error of the cost's logarithm, from the cost's confidence interval.
fn own_error(cost: &Estimate) -> f64 {
    let quantile =
        student(cost.n.saturating_sub(1).max(1) as f64, cost.confidence).unwrap_or(f64::INFINITY);
    (cost.high / cost.low).ln() / 2.0 / quantile
}

fn preempted(record: &Injection) -> &'static str {
    match (&record.header.service, record.header.plan.preempts_nobody) {
        (Some(_), false) => "a service",
        (Some(_), true) => "a service, and nothing touched",
        (None, false) => "one copy",
        (None, true) => "neither copy",
    }
}

fn facts(record: &Injection) -> Facts {
    let header = &record.header;
    let timings = header.plan.timings();
    let periods: Vec<String> = timings
        .iter()
        .map(|timing| timing.period_ns.to_string())
        .collect();
    let run = named([
        ("command", header.command.join(" ")),
        ("period", periods.join(", ")),
        ("preempted", preempted(record).to_owned()),
    ]);
    let work = |service: &Service| named([("work", service.work.clone())]);
    let work = header.service.as_ref().map(work).unwrap_or_default();
    let program = named([("switchcost", header.program_version.clone())]);
    [run, work, host_facts(&header.host), program].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::whats;
    use crate::compare::{Change, Pair};
    use crate::injection::tests::{record, run};
    use switchcost_record::injection::{Run, Timing};

    fn costs(direct: f64, with_data: f64) -> Injection {
        // The cost varies by 100 ns in either direction, equally for every footprint.
        let wander = |block: u32| f64::from(block % 3) * 100.0 - 100.0;
        let both = |block| {
            [
                run(block, 0, direct + wander(block), 0.0),
                run(block, 1, with_data + wander(block), 0.0),
            ]
        };
        record((0..12).flat_map(both).collect())
    }

    fn compared(base: &Injection, new: &Injection) -> Comparison {
        compare_injections(&[base], &[new], Request::default())
    }

    fn with_footprint(footprint_bytes: Bytes, period_ns: Option<Nanos>) -> Subject {
        Subject::Injected {
            footprint_bytes,
            period_ns,
        }
    }

    #[test]
    fn what_has_become_dearer_is_reported_footprint_by_footprint() {
        let (base, new) = (costs(9_000.0, 11_000.0), costs(9_050.0, 14_000.0));
        let pairs = compared(&base, &new).pairs;
        let [none, kib256] = [0, 256].map(|kib| with_footprint(Bytes::kib(kib), None));
        let expected = [
            (&none, Quantity::Preemption, Change::NoDifferenceShown),
            (&kib256, Quantity::Preemption, Change::Slower),
            (&kib256, Quantity::PreemptionReload, Change::Slower),
        ];
        for (pair, (subject, quantity, verdict)) in pairs.iter().zip(expected) {
            let found = (&pair.subject, pair.quantity, pair.verdict());
            assert_eq!(found, (subject, quantity, Some(verdict)));
        }
        // The plan has one more footprint, without a run.
        let without = pairs[3..].iter().map(Pair::verdict);
        assert_eq!(without.collect::<Vec<_>>(), [None; 2]);
        let back = compare_injections(&[&new; 3], &[&base; 3], Request::default());
        assert_eq!(back.pairs[1].verdict(), Some(Change::Faster));
    }

    #[test]
    fn what_may_be_nothing_has_no_ratio() {
        let (base, new) = (costs(9_000.0, 9_000.0), costs(9_000.0, 11_000.0));
        assert_eq!(
            compared(&base, &new).pairs[2].reason(),
            "the base number is not distinguishable from 0, so it has no ratio"
        );
    }

    #[test]
    fn of_services_cold_caches_are_compared_alone() {
        let (base, new) = (costs(9_000.0, 11_000.0), costs(9_000.0, 11_000.0));
        let of_service = |record: &Injection| {
            let mut findings = analyse(record);
            findings.service = analyse(&crate::injection::tests::of_service()).service;
            findings
        };
        let found = keys(&[vec![of_service(&base)], vec![of_service(&new)]]);
        assert!(
            found
                .iter()
                .all(|key| key.footprint.0 > 0 && key.quantity == Quantity::PreemptionReload)
        );
        // Records of different kinds are compared in the numbers that both have.
        let mixed = keys(&[vec![of_service(&base)], vec![analyse(&new)]]);
        assert_eq!(mixed.len(), 5);
    }

    #[test]
    fn periods_are_compared_one_by_one_where_all_records_have_several() {
        let rarer = Timing {
            period_ns: Nanos::millis(1),
            turn_ns: Nanos::millis(8),
        };
        let with_rarer = |of_often: f64, of_rare: f64| {
            let mut record = costs(9_000.0, of_often);
            record.header.plan.further = vec![rarer];
            let rare = costs(9_000.0, of_rare)
                .runs
                .into_iter()
                .map(|run| Run { timing: 1, ..run });
            record.runs.extend(rare);
            record
        };
        let (base, new, single) = (
            with_rarer(11_000.0, 13_000.0),
            with_rarer(11_000.0, 17_000.0),
            costs(9_000.0, 14_000.0),
        );
        let comparison = compared(&base, &new);
        let is_slower = |pair: &&Pair| pair.verdict() == Some(Change::Slower);
        let slower = comparison.pairs.iter().filter(is_slower);
        let of_rare = with_footprint(Bytes::kib(256), Some(rarer.period_ns));
        assert_eq!(
            slower.map(|pair| &pair.subject).collect::<Vec<_>>(),
            [&of_rare, &of_rare],
            "all of it, and of that the cold caches"
        );
        let with_single = compared(&base, &single);
        let first = |pair: &Pair| {
            matches!(
                pair.subject,
                Subject::Injected {
                    period_ns: None,
                    ..
                }
            )
        };
        assert!(with_single.pairs.iter().all(first));
    }

    #[test]
    fn what_else_is_different_is_reported() {
        let (base, mut new) = (costs(9_000.0, 11_000.0), costs(9_000.0, 11_000.0));
        new.header.command = vec!["xz".to_owned()];
        assert_eq!(whats(&compared(&base, &new).environment), ["command"]);
    }
}
