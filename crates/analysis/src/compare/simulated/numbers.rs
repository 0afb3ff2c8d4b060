//! Matches the numbers of two designs.

use std::collections::HashSet;

use super::designs::{Matched, Record};
use super::functions;
use super::traces::Relation;
use super::undecided_pair;
use crate::FlagName;
use crate::compare::candidate::{Candidate, Suspects};
use crate::compare::pairs::only_one_of;
use crate::compare::ratio::{LogCost, LogRatio};
use crate::compare::{Cost, Outcome, Part, Quantity, Request};
use crate::simulation::{self, FunctionFinding, FunctionMisses, Group, KernelFills, KernelFinding};

/// Reason for a missing interval of misses, which are counted over the whole trace.
const NO_MISSES_BY_SWITCH: &str =
    "counted exactly over one trace; for a verdict give records of several traces on each side";

/// Reason for a missing interval in a record that has only sums over segments.
const NO_CYCLES_BY_SWITCH: &str = "counted exactly over one trace; for a verdict simulate fewer designs together, or use --in-full";

/// Reason for no comparison of all cycles, or of their time, between different traces.
const OTHER_WORK: &str = "the sides have different traces, so their totals are of different work";

const AS_CPI: &str = "the verdict on the CPI covers them";

const NO_FUNCTIONS_BY_SWITCH: &str = "no interval: a record counts functions over all switches together; give three traces or more on each side";

/// Least share of the kernel's instructions of a compared function: each verdict widens all
/// intervals.
const LEAST_SHARE: f64 = 0.01;

const NOT_IN_EACH_BATCH: &str =
    "no interval: without some of the switches the cost is not above 0; trace for longer";

/// Flags of a design that make its numbers suspect.
const SUSPECT: [FlagName; 2] = [FlagName::CutEarly, FlagName::Disorder];

/// A cost of one record, with its part and quantity.
type Number = (Part, Quantity, simulation::Cost);

/// Numbers of one side, by record.
type Numbers<'a> = Vec<Option<&'a simulation::Cost>>;

/// Returns every number that either side has, in the order of the base and then of the new side.
pub(super) fn candidates(
    matched: &Matched<'_>,
    relation: Relation,
    request: Request<'_>,
) -> Vec<Candidate> {
    let of = |side: &[Record<'_>]| side.iter().map(numbers).collect::<Vec<Vec<Number>>>();
    let (base, new) = (of(&matched.base), of(&matched.new));
    let mut keys: Vec<(&Part, Quantity)> = Vec::new();
    for (part, quantity, _) in base.iter().chain(&new).flatten() {
        if !keys.contains(&(part, *quantity)) {
            keys.push((part, *quantity));
        }
    }
    let large = large_functions(matched);
    keys.retain(|(part, _)| match part {
        Part::Function(function) | Part::FunctionLevel { function, .. } => large.contains(function),
        _ => true,
    });
    let candidate = |(part, quantity): (&Part, Quantity)| {
        let (base, new) = (select(&base, part, quantity), select(&new, part, quantity));
        let sides = [("base", &base), ("new", &new)];
        let judged =
            missing(&sides, part).map_or_else(|| judge(quantity, &base, &new, &relation), Err);
        let is_open = judged.is_err();
        let why = judged.as_ref().err().cloned().unwrap_or_default();
        let mut candidate = undecided_pair(matched, part.clone(), quantity, why);
        candidate.pair.base = cost(&base, request.confidence);
        candidate.pair.new = cost(&new, request.confidence);
        candidate.suspects = suspects(matched, quantity);
        candidate.ratio = judged.ok();
        if let (Some(why), Some(ratio)) =
            (exactness_reason(quantity), counted(&base, &new, &relation))
            && is_open
        {
            candidate.pair.outcome = Outcome::NotJudged {
                ratio,
                why: why.to_owned(),
            };
        }
        candidate
    };
    keys.into_iter().map(candidate).collect()
}

/// Returns the records in which the number is suspect. A part of a trace has its own misses and
/// cycles, but not all of the trace's switches.
fn suspects(matched: &Matched<'_>, quantity: Quantity) -> Suspects {
    let is_one =
        |record: &&Record<'_>| record.has_notes || is_suspect(record) && !is_counted(quantity);
    let places = |side: &[Record<'_>]| {
        side.iter()
            .filter(is_one)
            .map(|record| record.place)
            .collect()
    };
    Suspects {
        base: places(&matched.base),
        new: places(&matched.new),
    }
}

fn is_suspect(record: &Record<'_>) -> bool {
    !record.is_whole
        || record
            .finding
            .flags
            .iter()
            .any(|flag| SUSPECT.contains(&flag.name))
}

fn numbers(record: &Record<'_>) -> Vec<Number> {
    let finding = record.finding;
    let mut numbers = vec![
        (
            Part::All,
            Quantity::AverageCost,
            finding.average_cost_cycles.clone(),
        ),
        (
            Part::All,
            Quantity::Overhead,
            finding.overhead_share.clone(),
        ),
        (
            Part::All,
            Quantity::CyclesPerInstruction,
            finding.cpi.clone(),
        ),
    ];
    let cycles = finding.hierarchies.shared.cycles as f64;
    let in_all = |estimate| simulation::Cost {
        estimate: Some(estimate),
        ..Default::default()
    };
    numbers.push((Part::All, Quantity::Cycles, in_all(cycles)));
    numbers.extend(finding.cycle_ns.map(|[short, long]| {
        (
            Part::All,
            Quantity::Time,
            in_all(cycles * (short * long).sqrt()),
        )
    }));
    numbers.extend(finding.groups.iter().filter_map(|group| {
        let part = match &group.group {
            Group::Class(name) => Part::Class((*name).to_owned()),
            Group::Cause(name) => Part::Cause(name.clone()),
            Group::All | Group::EndClass(_) | Group::Tasks(_) => return None,
        };
        Some((part, Quantity::AverageCost, group.cost_cycles.clone()))
    }));
    numbers.extend(finding.processes.iter().map(|process| {
        (
            Part::Program(process.name.clone()),
            Quantity::ExcessPerSwitch,
            process.excess.clone(),
        )
    }));
    let shared = &finding.hierarchies.shared;
    let instructions = finding.instructions.max(1) as f64;
    numbers.extend(shared.levels.iter().chain(&shared.tlbs).map(|level| {
        let estimate = Some(level.misses() as f64 / instructions);
        let misses = simulation::Cost {
            estimate,
            why: Some(NO_MISSES_BY_SWITCH.to_owned()),
            ..Default::default()
        };
        (
            Part::Level(level.name.clone()),
            Quantity::MissesPerInstruction,
            misses,
        )
    }));
    numbers.extend(finding.kernel.iter().flat_map(kernel_numbers));
    numbers
}

fn kernel_numbers(kernel: &KernelFinding) -> Vec<Number> {
    let number = |quantity, cost: &simulation::Cost| (Part::Kernel, quantity, cost.clone());
    let mut numbers = vec![
        number(Quantity::LostToProcesses, &kernel.lost_to_processes_cycles),
        number(Quantity::LostToKernel, &kernel.lost_to_kernel_cycles),
        number(
            Quantity::KernelInstructions,
            &kernel.instructions_per_switch,
        ),
        number(Quantity::CallInstructions, &kernel.instructions_per_call),
        number(Quantity::CallCycles, &kernel.cycles_per_call),
    ];
    let of_level = |fills: &KernelFills| {
        (
            Part::Level(fills.level.clone()),
            Quantity::KernelMisses,
            fills.fills.clone(),
        )
    };
    numbers.extend(kernel.fills_per_switch.iter().map(of_level));
    numbers.extend(
        functions::functions_by_source(&kernel.functions)
            .iter()
            .flat_map(function_numbers),
    );
    numbers
}

fn function_numbers(function: &FunctionFinding) -> Vec<Number> {
    let counted = |number: f64| simulation::Cost {
        estimate: Some(number),
        why: Some(NO_FUNCTIONS_BY_SWITCH.to_owned()),
        ..Default::default()
    };
    let name = || function.function.clone();
    let instructions = (
        Part::Function(name()),
        Quantity::KernelInstructions,
        counted(function.instructions_per_switch),
    );
    let of_level = |of: &FunctionMisses| {
        let part = Part::FunctionLevel {
            function: name(),
            level: of.level.clone(),
        };
        (part, Quantity::KernelMisses, counted(of.misses))
    };
    std::iter::once(instructions)
        .chain(function.misses_per_switch.iter().map(of_level))
        .collect()
}

/// Returns the functions that execute a certain share of the kernel's instructions in some record
/// of either side.
pub(super) fn large_functions(matched: &Matched<'_>) -> HashSet<String> {
    let of_record = |record: &Record<'_>| {
        let kernel = record.finding.kernel.iter();
        let functions = kernel
            .flat_map(|kernel| functions::functions_by_source(&kernel.functions))
            .collect::<Vec<_>>();
        let all: f64 = functions
            .iter()
            .map(|function| function.instructions_per_switch)
            .sum();
        functions
            .into_iter()
            .filter(move |function| function.instructions_per_switch >= LEAST_SHARE * all)
    };
    let records = matched.base.iter().chain(&matched.new);
    records
        .flat_map(of_record)
        .map(|function| function.function)
        .collect()
}

fn select<'a>(side: &'a [Vec<Number>], part: &Part, quantity: Quantity) -> Numbers<'a> {
    let of_record = |numbers: &'a Vec<Number>| {
        numbers
            .iter()
            .find(|(other, which, _)| other == part && *which == quantity)
            .map(|(_, _, cost)| cost)
    };
    side.iter().map(of_record).collect()
}

/// Returns why there is nothing to compare, if a side has no number above 0.
fn missing(sides: &[(&str, &Numbers<'_>); 2], part: &Part) -> Option<String> {
    let what = match part {
        Part::All => "number",
        Part::Class(_) => "class of switches",
        Part::Cause(_) => "cause",
        Part::Program(_) => "program",
        Part::Level(_) => "level",
        Part::Kernel => "kernel in its traces",
        Part::Function(_) | Part::FunctionLevel { .. } => "function among those that execute most",
    };
    let reasons = sides.iter().filter_map(|(name, numbers)| {
        if numbers.iter().all(Option::is_none) {
            return Some(format!("the {name} side has no such {what}"));
        }
        let estimates: Vec<f64> = numbers
            .iter()
            .flatten()
            .filter_map(|cost| cost.estimate)
            .collect();
        if estimates.is_empty() {
            let why = numbers
                .iter()
                .flatten()
                .find_map(|cost| cost.why.clone())
                .unwrap_or_default();
            return Some(format!("not available in the {name} record: {why}"));
        }
        let is_price = estimates.iter().all(|estimate| *estimate > 0.0);
        (!is_price).then(|| format!("the {name} number is not above 0, so it has no ratio"))
    });
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Whether a number is counted over the whole trace, whatever its switches.
fn is_counted(quantity: Quantity) -> bool {
    quantity == Quantity::MissesPerInstruction || quantity.is_cycles_in_all()
}

/// Returns why the ratio of an exact number, counted over a whole trace, has no interval.
fn exactness_reason(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::MissesPerInstruction => Some(NO_MISSES_BY_SWITCH),
        Quantity::CyclesPerInstruction => Some(NO_CYCLES_BY_SWITCH),
        of if of.is_cycles_in_all() => Some(AS_CPI),
        _ => None,
    }
}

/// Returns the ratio of numbers counted on the same traces; `None` if a side counted nothing.
fn counted(base: &Numbers<'_>, new: &Numbers<'_>, relation: &Relation) -> Option<f64> {
    let Relation::Same(partners) = relation else {
        return None;
    };
    let logs = base.iter().zip(partners).map(|(base, partner)| {
        let (base, new) = ((*base)?.estimate?, new[*partner]?.estimate?);
        (base > 0.0 && new > 0.0).then(|| (new / base).ln())
    });
    let logs = logs.collect::<Option<Vec<f64>>>()?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

fn judge(
    quantity: Quantity,
    base: &Numbers<'_>,
    new: &Numbers<'_>,
    relation: &Relation,
) -> Result<LogRatio, String> {
    match relation {
        _ if !quantity.is_cycles_in_all() => ratio(base, new, relation),
        Relation::Same(_) => Err(AS_CPI.to_owned()),
        Relation::Others { .. } | Relation::Overlapping => Err(OTHER_WORK.to_owned()),
    }
}

fn ratio(base: &Numbers<'_>, new: &Numbers<'_>, relation: &Relation) -> Result<LogRatio, String> {
    match relation {
        Relation::Same(partners) => paired_ratio(base, new, partners),
        Relation::Others { .. } => Ok(LogRatio::between(&side_cost(base, "base")?, &side_cost(new, "new")?)),
        Relation::Overlapping => Err(
            "some traces are on both sides and some are not; give the same traces to both sides, or each side its own"
                .to_owned(),
        ),
    }
}

/// Returns the ratio by pairs of traces, in which chance common to both sides cancels.
fn paired_ratio<'a>(
    base: &Numbers<'a>,
    new: &Numbers<'a>,
    partners: &[usize],
) -> Result<LogRatio, String> {
    let partner = |(base, partner): (&Option<&'a simulation::Cost>, &usize)| {
        let (base, new) = ((*base)?, new[*partner]?);
        Some(((base, base.estimate?), (new, new.estimate?)))
    };
    let both: Vec<_> = base.iter().zip(partners).filter_map(partner).collect();
    match &both[..] {
        [] => Err("no trace has it on both sides".to_owned()),
        [_] if partners.len() > 1 => Err(format!(
            "only 1 of {} traces has it on both sides, 2 are needed",
            partners.len()
        )),
        [((base, _), (new, _))] => {
            let (base, new) = (batches(base, "base")?, batches(new, "new")?);
            LogRatio::from_batches(base, new).ok_or_else(|| NOT_IN_EACH_BATCH.to_owned())
        }
        several => {
            let values: Vec<(f64, f64)> = several
                .iter()
                .map(|((_, base), (_, new))| (*base, *new))
                .collect();
            Ok(LogRatio::paired(&values))
        }
    }
}

fn side_cost(numbers: &Numbers<'_>, name: &str) -> Result<LogCost, String> {
    let known: Vec<&simulation::Cost> = numbers
        .iter()
        .flatten()
        .copied()
        .filter(|cost| cost.estimate.is_some())
        .collect();
    match known[..] {
        [_] if numbers.len() > 1 => Err(only_one_of(numbers.len(), name)),
        [one] => {
            let (value, left) = batches(one, name)?;
            LogCost::from_batches(value, left).ok_or_else(|| NOT_IN_EACH_BATCH.to_owned())
        }
        _ => Ok(LogCost::cost_of_values(
            &known
                .iter()
                .filter_map(|cost| cost.estimate)
                .collect::<Vec<f64>>(),
        )),
    }
}

/// Returns a number with its values with each batch left out once (jackknife).
fn batches<'a>(cost: &'a simulation::Cost, name: &str) -> Result<(f64, &'a [f64]), String> {
    match (cost.estimate, cost.low) {
        (Some(_), Some(low)) if low <= 0.0 => Err(format!(
            "the {name} cost is not distinguishable from 0, so it has no ratio"
        )),
        (Some(value), Some(_)) => Ok((value, &cost.without_one)),
        _ => Err(cost.why.clone().unwrap_or_else(|| "no interval".to_owned())),
    }
}

/// Returns the number of a side for display: with one record its own interval, with several that of
/// their mean.
fn cost(numbers: &Numbers<'_>, confidence: f64) -> Option<Cost> {
    let known: Vec<&simulation::Cost> = numbers
        .iter()
        .flatten()
        .copied()
        .filter(|cost| cost.estimate.is_some())
        .collect();
    let values: Vec<f64> = known.iter().filter_map(|cost| cost.estimate).collect();
    match known[..] {
        [] => None,
        [one] => Some(Cost {
            value: one.estimate?,
            interval: one.low.zip(one.high),
            records: 1,
        }),
        // A mean of logarithms needs numbers above 0; without them the plain mean is shown, without an interval.
        _ if values.iter().any(|value| *value <= 0.0) => {
            let value = values.iter().sum::<f64>() / values.len() as f64;
            Some(Cost {
                value,
                interval: None,
                records: values.len(),
            })
        }
        _ => Some(LogCost::cost_of_values(&values).cost(confidence)),
    }
}
