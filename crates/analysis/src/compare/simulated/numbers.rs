//! Compares the numbers (costs, misses, cycles) of two matched designs.

use std::collections::HashSet;

use super::designs::{Matched, Record};
use super::functions;
use super::traces::Relation;
use crate::FlagName;
use crate::compare::candidate::{Candidate, SIDES, require_both};
use crate::compare::pairs::only_one_of;
use crate::compare::ratio::{LogCost, LogRatio};
use crate::compare::{Cost, Outcome, Part, Quantity, Request};
use crate::simulation::{self, FunctionFinding, Group, KernelFinding};
use itertools::Itertools;

/// Reason why misses have no interval: misses are counted over the whole trace.
const NO_MISSES_BY_SWITCH: &str =
    "counted exactly over one trace; for a verdict give records of several traces on each side";

/// Reason why cycles per instruction have no interval in a record with sums over segments only.
const NO_CYCLES_BY_SWITCH: &str = "counted exactly over one trace; for a verdict simulate fewer designs together, or use --in-full";

/// Reason why total cycles, or their time, are not compared between different traces.
const OTHER_WORK: &str = "the sides have different traces, so their totals are of different work";

const AS_CPI: &str = "the verdict on the CPI covers them";

const NO_FUNCTIONS_BY_SWITCH: &str = "no interval: a record counts functions over all switches together; give three traces or more on each side";

/// Least share of the kernel's instructions that a compared function must execute. More functions
/// would widen all intervals.
const LEAST_SHARE: f64 = 0.01;

const NOT_IN_EACH_BATCH: &str =
    "no interval: without some of the switches the cost is not above 0; trace for longer";

/// Flags of a design's finding that make its numbers suspect.
const SUSPECT: [FlagName; 2] = [FlagName::CutEarly, FlagName::Disorder];

/// A cost from one record, with the part of the simulation and the quantity.
type Number = (Part, Quantity, simulation::Cost);

/// Numbers of one side, one per record; `None` for a record without the number.
type Numbers<'a> = Vec<Option<&'a simulation::Cost>>;

/// Returns the numbers of a design that either side has, without verdicts: first those of the base
/// records.
pub(super) fn candidates(
    matched: &Matched<'_>,
    relation: &Relation,
    request: Request<'_>,
) -> Vec<Candidate> {
    let all = matched
        .sides
        .each_ref()
        .map(|side| -> Vec<Vec<Number>> { side.iter().map(numbers).collect() });
    let numbers = all.iter().flatten().flatten();
    let mut keys = numbers
        .map(|(part, quantity, _)| (part, *quantity))
        .unique()
        .collect_vec();
    let large = large_functions(matched);
    keys.retain(|(part, _)| match part {
        Part::Function(function) | Part::FunctionLevel { function, .. } => large.contains(function),
        _ => true,
    });
    let candidate = |(part, quantity): (&Part, Quantity)| {
        let sides = all.each_ref().map(|side| select(side, part, quantity));
        Candidate {
            subject: matched.subject(part.clone()),
            new_case: None,
            quantity,
            costs: sides.each_ref().map(|side| cost(side, request.confidence)),
            ratio: judge(part, quantity, &sides, relation),
            suspects: suspects(matched, quantity),
        }
    };
    keys.into_iter().map(candidate).collect()
}

/// Returns the indices of the records in which the number is suspect. If only a part of a trace was
/// simulated, misses, cycles and time are valid for that part, but other numbers are suspect.
fn suspects(matched: &Matched<'_>, quantity: Quantity) -> [Vec<usize>; 2] {
    let is_one =
        |record: &&Record<'_>| record.has_notes || is_suspect(record) && !is_counted(quantity);
    matched.sides.each_ref().map(|side| {
        let suspect = side.iter().filter(is_one);
        suspect.map(|record| record.place).collect()
    })
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
    let of_all = |quantity, cost: &simulation::Cost| (Part::All, quantity, cost.clone());
    let mut numbers = vec![
        of_all(Quantity::AverageCost, &finding.average_cost_cycles),
        of_all(Quantity::Overhead, &finding.overhead_share),
        of_all(Quantity::CyclesPerInstruction, &finding.cpi),
    ];
    let shared = &finding.hierarchies.shared;
    let cycles = shared.cycles as f64;
    let counted =
        |quantity, cycles| of_all(quantity, &simulation::Cost::estimate_only(cycles, AS_CPI));
    numbers.push(counted(Quantity::Cycles, cycles));
    let time = finding
        .cycle_ns
        .map(|[short, long]| cycles * (short * long).sqrt());
    numbers.extend(time.map(|time| counted(Quantity::Time, time)));
    for group in &finding.groups {
        let part = match &group.group {
            Group::Class(name) => Part::Class((*name).to_owned()),
            Group::Cause(name) => Part::Cause(name.clone()),
            Group::All | Group::EndClass(_) | Group::Tasks(_) => continue,
        };
        numbers.push((part, Quantity::AverageCost, group.cost_cycles.clone()));
    }
    numbers.extend(finding.processes.iter().map(|process| {
        let part = Part::Program(process.name.clone());
        (part, Quantity::ExcessPerSwitch, process.excess.clone())
    }));
    let instructions = finding.instructions.max(1) as f64;
    numbers.extend(shared.levels.iter().chain(&shared.tlbs).map(|level| {
        let misses = level.misses() as f64 / instructions;
        let misses = simulation::Cost::estimate_only(misses, NO_MISSES_BY_SWITCH);
        let part = Part::Level(level.name.clone());
        (part, Quantity::MissesPerInstruction, misses)
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
    numbers.extend(kernel.fills_per_switch.iter().map(|of| {
        let part = Part::Level(of.level.clone());
        (part, Quantity::KernelMisses, of.fills.clone())
    }));
    for function in functions::functions_by_source(&kernel.functions) {
        let counted = |number: f64| simulation::Cost::estimate_only(number, NO_FUNCTIONS_BY_SWITCH);
        numbers.push((
            Part::Function(function.function.clone()),
            Quantity::KernelInstructions,
            counted(function.instructions_per_switch),
        ));
        numbers.extend(function.misses_per_switch.iter().map(|of| {
            let part = Part::FunctionLevel {
                function: function.function.clone(),
                level: of.level.clone(),
            };
            (part, Quantity::KernelMisses, counted(of.misses))
        }));
    }
    numbers
}

/// Returns the functions that execute at least [`LEAST_SHARE`] of the kernel's instructions in some
/// record of either side.
fn large_functions(matched: &Matched<'_>) -> HashSet<String> {
    let mut large = HashSet::new();
    for record in matched.sides.iter().flatten() {
        if let Some(kernel) = &record.finding.kernel {
            let functions = functions::functions_by_source(&kernel.functions);
            let executed = |function: &FunctionFinding| function.instructions_per_switch;
            let all: f64 = functions.iter().map(executed).sum();
            let of_record = functions.into_iter();
            let of_record = of_record.filter(|function| executed(function) >= LEAST_SHARE * all);
            large.extend(of_record.map(|function| function.function));
        }
    }
    large
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

/// Checks that a side has the number, and that its values are above 0 in all records. The error
/// says why not.
fn positive(numbers: &Numbers<'_>, name: &str, part: &Part) -> Result<(), String> {
    let what = match part {
        Part::All => "number",
        Part::Class(_) => "class of switches",
        Part::Cause(_) => "cause",
        Part::Program(_) => "program",
        Part::Level(_) => "level",
        Part::Kernel => "kernel in its traces",
        Part::Function(_) | Part::FunctionLevel { .. } => "function among those that execute most",
    };
    if numbers.iter().all(Option::is_none) {
        return Err(format!("the {name} side has no such {what}"));
    }
    let estimates = estimates(numbers);
    if estimates.is_empty() {
        let mut reasons = numbers.iter().flatten().filter_map(|cost| cost.why.clone());
        let why = reasons.next().unwrap_or_default();
        return Err(format!("not available in the {name} record: {why}"));
    }
    if !estimates.iter().all(|estimate| *estimate > 0.0) {
        return Err(format!(
            "the {name} number is not above 0, so it has no ratio"
        ));
    }
    Ok(())
}

fn estimates(numbers: &Numbers<'_>) -> Vec<f64> {
    let known = numbers.iter().flatten();
    known.filter_map(|cost| cost.estimate).collect()
}

/// Whether a quantity is counted over the whole trace, not per switch.
fn is_counted(quantity: Quantity) -> bool {
    quantity == Quantity::MissesPerInstruction || quantity.is_cycles_in_all()
}

/// Returns the reason why a quantity that is counted exactly over a whole trace has no interval;
/// `None` for other quantities.
fn exactness_reason(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::MissesPerInstruction => Some(NO_MISSES_BY_SWITCH),
        Quantity::CyclesPerInstruction => Some(NO_CYCLES_BY_SWITCH),
        of if of.is_cycles_in_all() => Some(AS_CPI),
        _ => None,
    }
}

/// Returns the geometric mean of the ratios of new to base over equal traces; `None` if the traces
/// differ or a value is not above 0.
fn counted([base, new]: &[Numbers<'_>; 2], relation: &Relation) -> Option<f64> {
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

/// Returns the ratio of new to base; the outcome without a verdict if there is no interval.
fn judge(
    part: &Part,
    quantity: Quantity,
    sides: &[Numbers<'_>; 2],
    relation: &Relation,
) -> Result<LogRatio, Outcome> {
    let judged = require_both([0, 1].map(|side| positive(&sides[side], SIDES[side], part)))
        .and_then(|_| match relation {
            _ if !quantity.is_cycles_in_all() => ratio(sides, relation),
            Relation::Same(_) => Err(AS_CPI.to_owned()),
            Relation::Others { .. } | Relation::Overlapping => Err(OTHER_WORK.to_owned()),
        });
    judged.map_err(
        |why| match exactness_reason(quantity).zip(counted(sides, relation)) {
            Some((why, ratio)) => Outcome::NotJudged {
                ratio,
                why: why.to_owned(),
            },
            None => Outcome::incomparable(why),
        },
    )
}

fn ratio(sides: &[Numbers<'_>; 2], relation: &Relation) -> Result<LogRatio, String> {
    match relation {
        Relation::Same(partners) => paired_ratio(sides, partners),
        Relation::Others { .. } => {
            let [base, new] = [0, 1].map(|side| side_cost(&sides[side], SIDES[side]));
            Ok(LogRatio::between(&[base?, new?]))
        }
        Relation::Overlapping => Err(
            "some traces are on both sides and some are not; give the same traces to both sides, or each side its own"
                .to_owned(),
        ),
    }
}

/// Returns the mean ratio over pairs of records of the same trace. Random differences between
/// traces then cancel. `partners` has the index of the new record for each base record.
fn paired_ratio([base, new]: &[Numbers<'_>; 2], partners: &[usize]) -> Result<LogRatio, String> {
    let traces = base.iter().zip(partners);
    let both: Vec<_> = traces
        .filter_map(|(base, partner)| {
            let (base, new) = ((*base)?, new[*partner]?);
            Some(((base, new), (base.estimate?, new.estimate?)))
        })
        .collect();
    match &both[..] {
        [] => Err("no trace has it on both sides".to_owned()),
        [_] if partners.len() > 1 => Err(format!(
            "only 1 of {} traces has it on both sides, 2 are needed",
            partners.len()
        )),
        [((base, new), _)] => {
            let sides = [batches(base, SIDES[0])?, batches(new, SIDES[1])?];
            LogRatio::from_batches(sides).ok_or_else(|| NOT_IN_EACH_BATCH.to_owned())
        }
        several => {
            let values: Vec<(f64, f64)> = several.iter().map(|(_, values)| *values).collect();
            Ok(LogRatio::paired(&values))
        }
    }
}

fn side_cost(numbers: &Numbers<'_>, name: &str) -> Result<LogCost, String> {
    match known(numbers)[..] {
        [_] if numbers.len() > 1 => Err(only_one_of(numbers.len(), name)),
        [one] => {
            let (value, left) = batches(one, name)?;
            LogCost::from_batches(value, left).ok_or_else(|| NOT_IN_EACH_BATCH.to_owned())
        }
        _ => Ok(LogCost::cost_of_values(&estimates(numbers))),
    }
}

/// Returns the costs that have an estimate.
fn known<'a>(numbers: &Numbers<'a>) -> Vec<&'a simulation::Cost> {
    let numbers = numbers.iter().flatten().copied();
    numbers.filter(|cost| cost.estimate.is_some()).collect()
}

/// Returns the estimate of a cost, and the estimates that result if each batch of switches is left
/// out once (for the jackknife).
fn batches<'a>(cost: &'a simulation::Cost, name: &str) -> Result<(f64, &'a [f64]), String> {
    match (cost.estimate, cost.interval) {
        (Some(_), Some((low, _))) if low <= 0.0 => Err(format!(
            "the {name} cost is not distinguishable from 0, so it has no ratio"
        )),
        (Some(value), Some(_)) => Ok((value, &cost.without_one)),
        _ => Err(cost.why.clone().unwrap_or_else(|| "no interval".to_owned())),
    }
}

/// Returns the number of one side for display. With one record the interval is the record's own.
/// With several records it is the interval of their geometric mean. If a value is not above 0, the
/// result is the arithmetic mean without an interval.
fn cost(numbers: &Numbers<'_>, confidence: f64) -> Option<Cost> {
    let values = estimates(numbers);
    match known(numbers)[..] {
        [one] => Some(Cost {
            value: one.estimate?,
            interval: one.interval,
            records: 1,
        }),
        [_, ..] if !values.iter().any(|value| *value <= 0.0) => {
            Some(LogCost::cost_of_values(&values).cost(confidence))
        }
        _ => Cost::plain_mean(&values),
    }
}
