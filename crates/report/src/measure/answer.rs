use itertools::Itertools;
use switchcost_analysis::{CaseFinding, Estimate, Findings, FlagName, Part, Verdict};
use switchcost_record::{Between, Case, Mechanism, Policy};
use switchcost_units::Bytes;

use super::conditions::{label, placement, scheduler, walk};
use super::row::has_numbers;
use crate::Page;
use crate::quantity::{centre, ends, interval, is_cost, number, percent, with_interval};

/// Number of switches per second for which their share of a CPU is reported: about that of each CPU
/// of a busy server.
const SWITCHES_A_SECOND: f64 = 10_000.0;

/// Size of the working set that the answer prefers, if measured: about that of a second-level
/// cache.
pub(super) const TYPICAL_SIZE: Bytes = Bytes::mib(1);

/// Number of switches per hand-off up to which a hand-off is reported as one switch.
const ONE_SWITCH: f64 = 1.02;

/// Adds the first sentences of the report: the cost of a switch.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    super::shared_cache::describe_sharing(findings)
        .into_iter()
        .for_each(|words| page.paragraph(words));
    let reload = super::reload::describe_reload(findings);
    if reload.is_none()
        || headline(&findings.results).is_some_and(|(finding, _)| finding.case.away.is_none())
    {
        page.paragraph(answer(findings));
    }
    reload
        .into_iter()
        .for_each(|sentence| page.paragraph(format!("{sentence}.")));
}

fn answer(findings: &Findings) -> String {
    let Some((finding, estimate)) = headline(&findings.results) else {
        return nothing(findings);
    };
    let with_data = typical(findings, finding);
    let (cheapest, ordinary) = (cheapest(findings, finding), ordinary(findings, finding));
    // Sentences on other switches may stand between the switch and its cost with data.
    let it = if cheapest.is_empty() && ordinary.is_none() {
        "it".to_owned()
    } else {
        format!(
            "a {} {} under {}",
            unit(finding),
            finding.case.mechanism.traits().means,
            scheduler(finding.case.policy)
        )
    };
    let sentences = [
        Some(format!(
            "{} {}{cheapest}",
            subject(finding),
            price(finding, estimate, findings.plan.confidence),
        )),
        ordinary,
        with_data.map(|(finding, indirect)| data_costs(finding, indirect, &it)),
        largest(findings, finding, with_data.map(|(finding, _)| finding)),
        share(finding, estimate, with_data.map(|(finding, _)| finding)),
        suspicion(finding),
    ];
    sentences
        .into_iter()
        .flatten()
        .map(|sentence| format!("{sentence}."))
        .join(" ")
}

/// Returns a sentence on doubts about the cost of a switch or hand-off; `None` if there are no
/// doubts. Doubts about the cost of data are printed next to the cost of data.
fn suspicion(finding: &CaseFinding) -> Option<String> {
    let names = finding.doubts_of_switch();
    let what = unit(finding);
    (!names.is_empty()).then(|| {
        format!(
            "The cost of the {what} itself is suspect ({})",
            names.join(", ")
        )
    })
}

/// Returns the result that represents the run, with its cost; `None` if no result has a cost. The
/// order of preference is: a switch between two processes over a pipe, another direct cost without
/// a working set, any direct cost, and the cost of a hand-off.
fn headline(results: &[CaseFinding]) -> Option<(&CaseFinding, &Estimate)> {
    let with = |number: fn(&CaseFinding) -> Option<&Estimate>| {
        move |f: &'_ &CaseFinding| {
            has_numbers(f) && number(f).is_some_and(|e| e.estimate.is_finite())
        }
    };
    let direct: Vec<_> = results
        .iter()
        .filter(with(|f| f.direct_ns.as_ref()))
        .collect();
    let is_classic =
        |c: &Case| c.mechanism == Mechanism::Pipe && c.between == Between::Process && c.tasks == 2;
    let is_empty = |f: &&&CaseFinding| f.case.working_set.is_empty();
    let classic = || direct.iter().filter(is_empty).find(|f| is_classic(&f.case));
    let chosen = classic()
        .or_else(|| direct.iter().find(is_empty))
        .or(direct.first());
    if let Some(finding) = chosen {
        return finding
            .direct_ns
            .as_ref()
            .map(|estimate| (*finding, estimate));
    }
    let finding = results.iter().find(with(|f| f.handoff_ns.as_ref()))?;
    finding
        .handoff_ns
        .as_ref()
        .map(|estimate| (finding, estimate))
}

fn nothing(findings: &Findings) -> String {
    let others = match findings.results.len() {
        0 | 1 => String::new(),
        all => format!(" For the other {}: --details.", all - 1),
    };
    let why = findings
        .results
        .iter()
        .find_map(|finding| match &finding.verdict {
            Verdict::NotMeasured { why } => {
                Some(format!(" {}: {why}.{others}", label(&finding.case)))
            }
            _ => None,
        });
    format!("Nothing was measured.{}", why.unwrap_or_default())
}

/// Returns the unit of a result's cost: a switch, or a hand-off if there is no direct cost.
fn unit(finding: &CaseFinding) -> &'static str {
    if finding.direct_ns.is_some() {
        "switch"
    } else {
        "hand-off"
    }
}

fn subject(finding: &CaseFinding) -> String {
    if finding.case.mechanism == Mechanism::Synthetic {
        return "No switch was measured: the known delay of --mechanism synthetic".to_owned();
    }
    let what = unit(finding);
    let between = match finding.case.between {
        Between::Process => "processes",
        Between::Thread => "threads",
        Between::User => "user-level contexts",
    };
    let place = if finding.case.placement.is_one_cpu() {
        ""
    } else {
        &format!(" ({})", placement(&finding.case))
    };
    let vectors = finding
        .case
        .vectors
        .map(|vectors| format!(", vector registers {vectors},"))
        .unwrap_or_default();
    format!(
        "A {what} between {between} {}{vectors}{place}",
        finding.case.mechanism.traits().means
    )
}

/// Formats a cost with its interval. `wanted` is the requested confidence, which the interval of a
/// rank test may exceed.
fn price(finding: &CaseFinding, estimate: &Estimate, wanted: f64) -> String {
    if !is_cost(estimate) {
        return format!("has a cost that is {}", centre(estimate));
    }
    let cycles = finding
        .direct_cycles
        .as_ref()
        .filter(|cycles| finding.direct_ns.is_some() && is_cost(cycles));
    let cycles = cycles
        .map(|cycles| format!("; {} core cycles", rounded(cycles.estimate)))
        .unwrap_or_default();
    let (cost, interval, confidence) = (
        centre(estimate),
        interval(estimate),
        percent(estimate.confidence.min(wanted)),
    );
    format!("costs {cost} ({interval} at {confidence} confidence{cycles})")
}

/// Formats a number of cycles without insignificant digits, such as 7585 as 7,600.
fn rounded(cycles: f64) -> String {
    if cycles < 1_000.0 {
        number(cycles)
    } else {
        number((cycles / 100.0).round() * 100.0)
    }
}

/// Returns a clause on the cheapest user-space switch, if the result `headline` is a kernel switch;
/// empty otherwise.
fn cheapest(findings: &Findings, headline: &CaseFinding) -> String {
    let user = |f: &&CaseFinding| {
        f.case.between == Between::User && f.case.mechanism != Mechanism::Synthetic
    };
    let priced = findings
        .results
        .iter()
        .filter(|f| has_numbers(f) && f.case.working_set.is_empty())
        .filter(user);
    let priced =
        priced.filter_map(|f| Some((f, f.direct_ns.as_ref().filter(|direct| is_cost(direct))?)));
    let cheapest = priced.min_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate));
    match cheapest.filter(|_| headline.case.between != Between::User) {
        Some((finding, direct)) => {
            format!(
                ", and {} between {} of one thread",
                centre(direct),
                finding.case.mechanism.traits().contexts
            )
        }
        None => String::new(),
    }
}

/// Returns a sentence on the switch of the result `headline` under SCHED_OTHER; `None` if it was
/// not measured, or if `headline` has this policy.
fn ordinary(findings: &Findings, headline: &CaseFinding) -> Option<String> {
    let same = |case: &Case| Case {
        policy: Policy::Other,
        switches: None,
        ..case.clone()
    };
    let is_it =
        |f: &&CaseFinding| f.case.policy == Policy::Other && same(&f.case) == same(&headline.case);
    let found = findings
        .results
        .iter()
        .find(is_it)
        .filter(|_| headline.case.policy != Policy::Other)?;
    let cost = found
        .direct_ns
        .as_ref()
        .filter(|direct| has_numbers(found) && is_cost(direct))?;
    // If a hand-off took more than one switch, the cost of a single switch would look too low.
    let several = found
        .switches_per_handoff
        .filter(|switches| *switches > ONE_SWITCH)
        .zip(found.handoff_ns.as_ref());
    let handoff = several.map(|(switches, handoff)| {
        format!(
            ", and a hand-off of {} switches costs {}",
            number(switches),
            with_interval(handoff)
        )
    });
    let cost = with_interval(cost);
    Some(format!(
        "Under SCHED_OTHER, the default for ordinary programs, a switch {} costs {cost}{}",
        found.case.mechanism.traits().means,
        handoff.unwrap_or_default()
    ))
}

/// Returns the results with an indirect cost that have the mechanism, tasks, CPUs and policy of the
/// result `headline`.
fn indirect<'a>(
    findings: &'a Findings,
    headline: &CaseFinding,
) -> Vec<(&'a CaseFinding, &'a Estimate)> {
    let key = |c: &Case| {
        (
            c.mechanism,
            c.between,
            c.tasks,
            c.placement.clone(),
            c.policy,
        )
    };
    let alike = findings
        .results
        .iter()
        .filter(|f| has_numbers(f) && key(&f.case) == key(&headline.case));
    alike
        .filter_map(|f| f.indirect_ns.as_ref().map(|estimate| (f, estimate)))
        .collect()
}

/// Returns the result with an indirect cost at [`TYPICAL_SIZE`] if it was measured, or else the
/// result with the largest indirect cost; `None` if there is none.
fn typical<'a>(
    findings: &'a Findings,
    headline: &CaseFinding,
) -> Option<(&'a CaseFinding, &'a Estimate)> {
    let all = indirect(findings, headline);
    let typical = all
        .iter()
        .find(|(finding, _)| finding.case.working_set.size_bytes == TYPICAL_SIZE);
    typical
        .or_else(|| {
            all.iter()
                .max_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate))
        })
        .copied()
}

/// Returns a sentence on the cost of a switch with a working set. `it` is the name of the switch.
fn data_costs(finding: &CaseFinding, indirect: &Estimate, it: &str) -> String {
    let data = data(&finding.case);
    match finding.total_ns.as_ref().filter(|total| is_cost(total)) {
        Some(total) if is_cost(indirect) => {
            let [one, both] = match finding.verdict {
                Verdict::Suspect => [" (suspect, see below)", " (both suspect, see below)"],
                _ => [""; 2],
            };
            let reason = reason(finding);
            match is_rough(finding, indirect) {
                true => format!(
                    "{data} {it} costs {} more{}{reason}{one}",
                    ends(indirect),
                    shared(finding)
                ),
                false => format!(
                    "{data} {it} costs {}, which is {} more{reason}{both}",
                    centre(total),
                    with_interval(indirect)
                ),
            }
        }
        _ => format!("{data} the indirect cost is {}", centre(indirect)),
    }
}

/// Returns a clause on the largest part of the indirect cost; empty if that part is unknown.
fn reason(finding: &CaseFinding) -> &'static str {
    match finding.larger_part() {
        Some(Part::ColdSwitch) => {
            ", mostly because the kernel's switch path itself misses the cache"
        }
        Some(Part::Reload) => ", mostly to reload the data",
        None => "",
    }
}

/// Returns a sentence on the largest indirect cost of all sizes; `None` if the answer names this
/// cost already, or if no indirect cost is above 0.
fn largest(
    findings: &Findings,
    headline: &CaseFinding,
    typical: Option<&CaseFinding>,
) -> Option<String> {
    let costs = indirect(findings, headline)
        .into_iter()
        .filter(|(_, indirect)| is_cost(indirect));
    let (finding, indirect) = costs.max_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate))?;
    let is_new = typical.is_none_or(|typical| typical.case != finding.case);
    let suspect = if finding.verdict == Verdict::Suspect {
        " (suspect, see below)"
    } else {
        ""
    };
    let amount = match is_rough(finding, indirect) {
        true => format!("{} more{}", ends(indirect), shared(finding)),
        false => format!("{} more", with_interval(indirect)),
    };
    is_new.then(|| {
        format!(
            "{} it costs {amount}, the most of all measured sizes{suspect}",
            data(&finding.case),
        )
    })
}

/// Half-width of an interval, as a share of its centre, above which the centre is not printed.
const WIDE: f64 = 0.4;

/// Returns true if only the interval of a cost is printed, because the interval is wide or the core
/// was shared.
fn is_rough(finding: &CaseFinding, cost: &Estimate) -> bool {
    cost.relative_half_width() > WIDE || is_shared(finding)
}

fn is_shared(finding: &CaseFinding) -> bool {
    let mut flags = finding.flags.iter();
    flags.any(|flag| matches!(flag.name, FlagName::SharedCore | FlagName::BesideOthers))
}

/// Returns a remark on a cost that was measured on a shared core or CPU; empty for other costs.
fn shared(finding: &CaseFinding) -> &'static str {
    if is_shared(finding) {
        " (while other tasks used its core)"
    } else {
        ""
    }
}

/// Returns a sentence on the share of a CPU that switches take at [`SWITCHES_A_SECOND`]; `None` for
/// user-space switches, or if the direct cost is unknown or not above 0.
fn share(
    headline: &CaseFinding,
    direct: &Estimate,
    typical: Option<&CaseFinding>,
) -> Option<String> {
    headline
        .direct_ns
        .as_ref()
        .filter(|_| is_cost(direct) && headline.case.between != Between::User)?;
    let percent = |cost: &Estimate| cost.percent_of_a_cpu(SWITCHES_A_SECOND);
    let least = percent(direct);
    let total = typical
        .and_then(|finding| finding.total_ns.as_ref())
        .filter(|total| is_cost(total));
    let most = total.map(percent).filter(|most| *most > least * 1.05);
    let with_data = most
        .zip(typical)
        .map(|(most, finding)| {
            let size = finding.case.working_set.size_bytes;
            format!(", or {} % with {size} of data each", number(most))
        })
        .unwrap_or_default();
    Some(format!(
        "10,000 switches per second take {} % of one CPU{with_data}",
        number(least)
    ))
}

fn data(case: &Case) -> String {
    format!(
        "With {} of data each ({})",
        case.working_set.size_bytes,
        walk(&case.working_set)
    )
}
