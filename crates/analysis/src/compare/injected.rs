//! Compares injections to find whether a change made preemptions of a program cheaper.

use switchcost_record::injection::{Injection, Plan};
use switchcost_units::{Bytes, Nanos};

use super::candidate::{Candidate, Suspects, judge};
use super::environment::{different, host_facts};
use super::ratio::{LogCost, LogRatio, Part};
use super::{
    Basis, Comparison, Cost, Origin, Outcome, Pair, Quantity, Request, RunSpread, Subject,
};
use crate::injection::{Findings, analyse};
use crate::measurement::run_spread::{ASSUMED_RUN_SPREAD, FREEDOM, student};
use crate::statistics::Estimate;
use crate::statistics::estimate::mean_and_sd;

/// Least number of records from which a spread is estimated.
const FEWEST: usize = 3;

/// Compares new records of injections with base records, footprint by footprint.
pub fn compare_injections(
    base: &[&Injection],
    new: &[&Injection],
    request: Request<'_>,
) -> Comparison {
    let [of_base, of_new] = [base, new].map(|side| {
        side.iter()
            .map(|record| analyse(record))
            .collect::<Vec<_>>()
    });
    let candidates = keys(&of_base, &of_new)
        .into_iter()
        .map(|key| candidate(key, &of_base, &of_new, request))
        .collect();
    let judged = judge(candidates, request);
    let facts = |side: &[&Injection]| side.iter().map(|record| facts(record)).collect::<Vec<_>>();
    let run_spread = spread(request, base.len().min(new.len()));
    Comparison {
        environment: different(&facts(base), &facts(new)),
        ..Comparison::new(Basis::Injections, judged, run_spread, request)
    }
}

/// Returns the spread between runs to assume if the records do not show it.
fn spread(request: Request<'_>, fewest: usize) -> Option<RunSpread> {
    match request.run_spread {
        Some(share) => Some(RunSpread {
            share,
            origin: Origin::Given,
        }),
        None if fewest < FEWEST => Some(RunSpread {
            share: ASSUMED_RUN_SPREAD,
            origin: Origin::Assumed,
        }),
        None => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Period of preemption; `None` for the first or only one.
    period: Option<Nanos>,
    footprint: Bytes,
    quantity: Quantity,
}

/// Returns the keys to compare: period by period if all records have several, and by ascending footprint.
fn keys(base: &[Findings], new: &[Findings]) -> Vec<Key> {
    let all: Vec<&Findings> = base.iter().chain(new).collect();
    let mut periods: Vec<Option<Nanos>> = all
        .iter()
        .flat_map(|findings| &findings.periods)
        .map(|found| Some(found.period_ns))
        .collect();
    periods.sort_unstable();
    periods.dedup();
    if all.iter().any(|findings| findings.periods.is_empty()) {
        periods = vec![None];
    }
    let mut footprints: Vec<Bytes> = all
        .iter()
        .flat_map(|findings| &findings.footprints)
        .map(|found| found.footprint_bytes)
        .collect();
    footprints.sort_unstable();
    footprints.dedup();
    let are_services = all.iter().all(|findings| findings.service.is_some());
    let quantities = |footprint: Bytes| {
        let whole = (!are_services).then_some(Quantity::Preemption);
        whole
            .into_iter()
            .chain((footprint.0 > 0).then_some(Quantity::PreemptionReload))
    };
    let of_period = |period| {
        let key = move |footprint| {
            quantities(footprint).map(move |quantity| Key {
                period,
                footprint,
                quantity,
            })
        };
        footprints.iter().copied().flat_map(key)
    };
    periods.into_iter().flat_map(of_period).collect()
}

fn candidate(key: Key, base: &[Findings], new: &[Findings], request: Request<'_>) -> Candidate {
    let sides =
        [("base", base), ("new", new)].map(|(name, side)| side_of(key, name, side, request));
    let cost = |side: &Result<LogCost, String>| -> Option<Cost> {
        side.as_ref().ok().map(|cost| cost.cost(request.confidence))
    };
    let (base_cost, new_cost) = (cost(&sides[0]), cost(&sides[1]));
    let (ratio, why) = match sides {
        [Ok(base), Ok(new)] => (Some(LogRatio::between(&base, &new)), String::new()),
        [base, new] => {
            let reasons: Vec<String> = [base.err(), new.err()].into_iter().flatten().collect();
            (None, reasons.join("; "))
        }
    };
    let subject = Subject::Injected {
        footprint_bytes: key.footprint,
        period_ns: key.period,
    };
    let pair = Pair::unjudged(
        subject,
        key.quantity,
        [base_cost, new_cost],
        Outcome::NotComparable { why },
    );
    Candidate {
        pair,
        ratio,
        suspects: Suspects::default(),
    }
}

/// Returns the cost of a side, or why there is none.
fn side_of(
    key: Key,
    name: &str,
    side: &[Findings],
    request: Request<'_>,
) -> Result<LogCost, String> {
    let of = |findings: &Findings| -> Option<Estimate> {
        let of_period = findings
            .periods
            .iter()
            .find(|found| Some(found.period_ns) == key.period);
        let footprints = if key.period.is_some() {
            &of_period?.footprints
        } else {
            &findings.footprints
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

/// Returns the mean logarithm of costs above 0. Its variance comes from each cost's interval and,
/// if the records do not show it, from the assumed spread between runs.
fn log_cost(costs: &[Estimate], request: Request<'_>) -> LogCost {
    let logs: Vec<f64> = costs.iter().map(|cost| cost.estimate.ln()).collect();
    let (mean, sd) = mean_and_sd(&logs);
    let records = costs.len() as f64;
    let own = costs
        .iter()
        .map(|cost| own_error(cost).powi(2))
        .sum::<f64>()
        / records;
    let (variance, freedom) = match request.run_spread {
        None if costs.len() >= FEWEST => ((sd * sd).max(own), records - 1.0),
        given => (own + given.unwrap_or(ASSUMED_RUN_SPREAD).powi(2), FREEDOM),
    };
    LogCost::new(
        mean,
        Part {
            variance: variance / records,
            freedom,
        },
        costs.len(),
    )
}

/// Returns the standard error of a cost's logarithm, from the cost's interval.
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

fn periods(plan: &Plan) -> String {
    plan.timings()
        .iter()
        .map(|timing| timing.period_ns.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn facts(record: &Injection) -> Vec<(String, String)> {
    let plan = &record.header.plan;
    let mut facts = vec![
        ("command".to_owned(), record.header.command.join(" ")),
        ("period".to_owned(), periods(plan)),
        ("preempted".to_owned(), preempted(record).to_owned()),
    ];
    facts.extend(
        record
            .header
            .service
            .iter()
            .map(|service| ("work".to_owned(), service.work.clone())),
    );
    facts.extend(host_facts(&record.header.host));
    facts.push((
        "switchcost".to_owned(),
        record.header.program_version.clone(),
    ));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Change;
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

    fn verdicts(base: &[&Injection], new: &[&Injection]) -> Vec<(u64, Quantity, Option<Change>)> {
        let comparison = compare_injections(base, new, Request::default());
        let verdict = |pair: &Pair| match (&pair.outcome, &pair.subject) {
            (
                Outcome::Compared { verdict, .. },
                Subject::Injected {
                    footprint_bytes, ..
                },
            ) => (footprint_bytes.0, pair.quantity, Some(*verdict)),
            (
                _,
                Subject::Injected {
                    footprint_bytes, ..
                },
            ) => (footprint_bytes.0, pair.quantity, None),
            _ => panic!("of injections"),
        };
        comparison.pairs.iter().map(verdict).collect()
    }

    #[test]
    fn what_has_become_dearer_is_reported_footprint_by_footprint() {
        let (base, new) = (costs(9_000.0, 11_000.0), costs(9_050.0, 14_000.0));
        let kib256 = 256 << 10;
        let found = verdicts(&[&base], &[&new]);
        assert_eq!(
            found[..3],
            [
                (0, Quantity::Preemption, Some(Change::NoDifferenceShown)),
                (kib256, Quantity::Preemption, Some(Change::Slower)),
                (kib256, Quantity::PreemptionReload, Some(Change::Slower)),
            ]
        );
        // The plan has one more footprint, without a run.
        assert_eq!(
            found[3..]
                .iter()
                .filter(|(_, _, verdict)| verdict.is_none())
                .count(),
            2
        );
        let back = verdicts(&[&new, &new, &new], &[&base, &base, &base]);
        assert_eq!(back[1].2, Some(Change::Faster));
    }

    #[test]
    fn what_may_be_nothing_has_no_ratio() {
        let (base, new) = (costs(9_000.0, 9_000.0), costs(9_000.0, 11_000.0));
        let comparison = compare_injections(&[&base], &[&new], Request::default());
        let Outcome::NotComparable { why } = &comparison.pairs[2].outcome else {
            panic!("no ratio")
        };
        assert_eq!(
            why,
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
        let found = keys(&[of_service(&base)], &[of_service(&new)]);
        assert!(
            found
                .iter()
                .all(|key| key.footprint.0 > 0 && key.quantity == Quantity::PreemptionReload)
        );
        // Records of different kinds are compared in the numbers that both have.
        assert_eq!(keys(&[of_service(&base)], &[analyse(&new)]).len(), 5);
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
        let comparison = compare_injections(&[&base], &[&new], Request::default());
        let slower: Vec<&Subject> = comparison
            .pairs
            .iter()
            .filter(|pair| {
                matches!(
                    pair.outcome,
                    Outcome::Compared {
                        verdict: Change::Slower,
                        ..
                    }
                )
            })
            .map(|pair| &pair.subject)
            .collect();
        let of_rare = Subject::Injected {
            footprint_bytes: Bytes(256 << 10),
            period_ns: Some(rarer.period_ns),
        };
        assert_eq!(
            slower,
            [&of_rare, &of_rare],
            "all of it, and of that the cold caches"
        );
        let with_single = compare_injections(&[&base], &[&single], Request::default());
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
        let found = compare_injections(&[&base], &[&new], Request::default()).environment;
        assert_eq!(
            found
                .iter()
                .map(|difference| difference.what.as_str())
                .collect::<Vec<_>>(),
            ["command"]
        );
    }
}
