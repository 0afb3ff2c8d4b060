//! Formats the subjects, numbers and verdicts of pairs as text.

use switchcost_analysis::compare::{
    Change, Cost, Difference, Outcome, Pair, Part, Place, Quantity, Subject, Unit, Who, differing,
};

use switchcost_units::{Bytes, Nanos};

use crate::Tone;
use crate::measure::conditions;
use crate::observe::name as named;
use crate::quantity::{NO_NUMBER, Scale, number, range, rounded, share, time};

/// Number of instructions that a printed rate of misses refers to.
const INSTRUCTIONS: f64 = 1000.0;

/// Returns the name of a pair's subject, without its quantity.
pub(super) fn label(pair: &Pair) -> String {
    match &pair.subject {
        Subject::Case(case) => conditions::label(case) + &across(pair),
        Subject::Simulated(place) if place.part == Part::All => design(place),
        Subject::Simulated(place) => {
            format!("{}, {}", design(place), part_of(place, pair.quantity))
        }
        Subject::Observed(of) => describe_who(of),
        Subject::Injected {
            footprint_bytes,
            period_ns,
        } => touching(*footprint_bytes, *period_ns),
    }
}

/// Returns the name of a differing fact, with a remark if the fact does not affect the costs.
pub(super) fn fact(difference: &Difference) -> String {
    let what = &difference.what;
    match difference.is_without_effect {
        true => format!("{what}, of no effect at real-time priority"),
        false => what.clone(),
    }
}

/// Returns the conditions that differ between the sides of a measured case, such as `, fifo to
/// other`.
pub(super) fn across(pair: &Pair) -> String {
    let (Some(base), Some(new)) = (pair.case(), &pair.new_case) else {
        return String::new();
    };
    let one = |(base, new): (String, String)| match (base.is_empty(), new.is_empty()) {
        (true, _) => format!(", now {new}"),
        (_, true) => format!(", was {base}"),
        _ => format!(", {base} to {new}"),
    };
    differing(base, new).into_iter().map(one).collect()
}

/// Describes a preempting task by the bytes that it touches, and by its period if `period` is
/// given.
pub(super) fn touching(size: Bytes, period: Option<Nanos>) -> String {
    let touched = if size.0 == 0 {
        "nothing touched".to_owned()
    } else {
        format!("{size} touched")
    };
    period.map_or(touched.clone(), |period| {
        format!("{touched}, each {}", time(period.0 as f64))
    })
}

/// Returns the name of observed tasks, or of the tasks that preempted them.
pub(super) fn describe_who(who: &Who) -> String {
    match who {
        Who::All => "all".to_owned(),
        Who::Name(name) => named(name),
        Who::Neighbour(name) if name.is_empty() => "by the kernel's threads".to_owned(),
        Who::Neighbour(name) => format!("by {}", named(name)),
    }
}

/// Returns the name of a simulated design; both names if the design has another name on each side.
pub(super) fn design(place: &Place) -> String {
    match (&place.base_design, &place.new_design) {
        (Some(base), Some(new)) if base != new => format!("{base} to {new}"),
        (Some(name), _) | (None, Some(name)) => name.clone(),
        (None, None) => String::new(),
    }
}

/// Returns the name of the part of a simulation that a number belongs to.
pub(super) fn part_of(place: &Place, quantity: Quantity) -> String {
    if is_of_all(quantity) {
        "whole trace".to_owned()
    } else {
        part(&place.part)
    }
}

/// Returns true for quantities of the whole trace, and false for quantities of its switches.
pub(super) fn is_of_all(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::CyclesPerInstruction | Quantity::Cycles | Quantity::Time
    )
}

/// Returns the name of a part of a simulation, such as a cause of switches or a cache level.
fn part(part: &Part) -> String {
    match part {
        Part::All => "all switches".to_owned(),
        Part::Class(name) => format!("after {name}"),
        Part::Cause(name) => format!("after {}", short_cause(name)),
        Part::Program(name) => format!("program {name}"),
        Part::Level(name) => format!("level {name}"),
        Part::Kernel => "the kernel".to_owned(),
        Part::Function(name) => format!("function {name}"),
        Part::FunctionLevel { function, level } => format!("function {function}, {level}"),
    }
}

/// Shortens the cause of a switch to its distinguishing words, such as `voluntary syscall read` to
/// `read`.
fn short_cause(cause: &str) -> &str {
    if let Some(call) = cause.strip_prefix("voluntary syscall ") {
        return call;
    }
    match cause.strip_prefix("involuntary ") {
        Some(event) if !event.starts_with("syscall") => event,
        _ => cause,
    }
}

/// Returns the name of a quantity in words.
pub(super) fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Calls => "system calls",
        Quantity::HandOffWithCalls => "hand-off with calls",
        Quantity::AverageCost => "cost of a switch",
        Quantity::CyclesPerInstruction => "CPI",
        Quantity::Cycles => "total cycles",
        Quantity::Time => "total time",
        Quantity::ExcessPerSwitch => "excess per switch",
        Quantity::MissesPerInstruction => "misses per 1,000 instructions",
        Quantity::LostToProcesses => "lost to processes",
        Quantity::LostToKernel => "lost to the kernel",
        Quantity::KernelInstructions => "instructions per switch",
        Quantity::KernelMisses => "kernel misses per switch",
        Quantity::CallInstructions => "instructions per call",
        Quantity::CallCycles => "cycles per call",
        Quantity::Switches => "switches per second",
        Quantity::DirectShare => "direct cost",
        Quantity::CostShare => "total cost",
        Quantity::ColdShare => "cold caches",
        Quantity::WaitP50 => "wait p50",
        Quantity::WaitP99 => "wait p99",
        Quantity::Preemptions => "preemptions per second",
        Quantity::Preemption => "preemption",
        Quantity::PreemptionReload => "cold caches",
        Quantity::Total
        | Quantity::HandOff
        | Quantity::Overhead
        | Quantity::Involuntary
        | Quantity::Throttled => quantity.name(),
    }
}

/// Formats a number without `cycles` or `/s`, which the column or the sentence gives.
pub(super) fn bare(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => time(value),
        Unit::Share => share(value),
        Unit::PerInstruction => number(value * INSTRUCTIONS),
        Unit::CyclesPerInstruction => number(value),
        Unit::Cycles | Unit::PerSecond | Unit::Events => rounded(value),
    }
}

/// Formats a number with its unit, without its interval.
pub(super) fn value(cost: &Cost, unit: Unit) -> String {
    let after = match unit {
        Unit::Cycles => " cycles",
        Unit::PerSecond => "/s",
        _ => "",
    };
    bare(cost.value, unit) + after
}

/// Formats a number with its unit, and with its interval if there is one.
pub(super) fn with_interval(cost: &Cost, unit: Unit) -> String {
    let Some(ends) = cost.interval else {
        return value(cost, unit);
    };
    let end = |end| match unit {
        Unit::Ns => Scale::choose(cost.value).number(end),
        unit => bare(end, unit),
    };
    format!("{} ({})", value(cost, unit), range(ends, end))
}

/// Formats the number of one side of a pair, or a placeholder if the side has no number.
pub(super) fn side(cost: Option<&Cost>, pair: &Pair) -> String {
    let Some(cost) = cost else {
        return NO_NUMBER.to_owned();
    };
    match cost.interval {
        // The centre of this range is not an estimate.
        Some(ends) if pair.quantity == Quantity::ColdShare => range(ends, share),
        _ => value(cost, pair.quantity.unit()),
    }
}

/// Formats a ratio with its interval and verdict, such as `1.250 times as much (1.200 to 1.300),
/// slower`; `None` if the pair has no verdict.
pub(super) fn judged(pair: &Pair, unit: &str) -> Option<String> {
    let Outcome::Compared { verdict, .. } = &pair.outcome else {
        return None;
    };
    let verdict = shown_verdict(*verdict, pair.quantity);
    Some(format!("{}, {verdict}", times(pair, unit)?))
}

/// Formats a ratio with its interval, such as `1.250 times as much (1.200 to 1.300)`; `None` if the
/// pair has no verdict.
pub(super) fn times(pair: &Pair, unit: &str) -> Option<String> {
    let Outcome::Compared { ratio, .. } = &pair.outcome else {
        return None;
    };
    Some(format!("{:.3} {unit} ({})", ratio.ratio, interval(pair)))
}

/// Formats a ratio with its interval, such as `new/base is 0.500 (0.450 to 0.550)`; `None` if the
/// pair has no verdict.
pub(super) fn ratio(pair: &Pair) -> Option<String> {
    let Outcome::Compared { ratio, .. } = &pair.outcome else {
        return None;
    };
    Some(format!(
        "new/base is {:.3} ({})",
        ratio.ratio,
        interval(pair)
    ))
}

/// Formats the interval of a pair's ratio, or a placeholder if the pair has no verdict.
pub(super) fn interval(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { ratio, .. } => format!("{:.3} to {:.3}", ratio.low, ratio.high),
        Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => NO_NUMBER.to_owned(),
    }
}

/// Returns the significant change of an outcome; `None` without a verdict or without a significant
/// difference.
pub(super) fn shown_change(outcome: &Outcome) -> Option<Change> {
    match outcome {
        Outcome::Compared { verdict, .. } if *verdict != Change::NoDifferenceShown => {
            Some(*verdict)
        }
        _ => None,
    }
}

/// Returns the word for a verdict, such as `slower` for a time and `more` for a number of misses.
pub(super) fn verdict(change: Change, quantity: Quantity) -> &'static str {
    let [faster, slower] = match quantity {
        Quantity::MissesPerInstruction => ["fewer", "more"],
        Quantity::Total | Quantity::HandOff | Quantity::Calls | Quantity::HandOffWithCalls => {
            ["faster", "slower"]
        }
        Quantity::Cycles | Quantity::Time => ["faster", "slower"],
        _ if is_simulated_cost(quantity) => ["faster", "slower"],
        _ => ["lower", "higher"],
    };
    match change {
        Change::Faster => faster,
        Change::Slower => slower,
        Change::NoDifferenceShown => "no difference shown",
    }
}

/// Returns the word for a verdict on the screen, such as `higher` for a simulated cost.
pub(super) fn shown_verdict(change: Change, quantity: Quantity) -> &'static str {
    match change {
        Change::Faster if is_simulated_cost(quantity) => "lower",
        Change::Slower if is_simulated_cost(quantity) => "higher",
        _ => verdict(change, quantity),
    }
}

fn is_simulated_cost(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::AverageCost
            | Quantity::Overhead
            | Quantity::ExcessPerSwitch
            | Quantity::CyclesPerInstruction
    )
}

/// Returns the emphasis of a verdict in a table.
pub(super) fn tone(change: Change) -> Tone {
    match change {
        Change::Faster => Tone::Good,
        Change::Slower => Tone::Bad,
        Change::NoDifferenceShown => Tone::Usual,
    }
}

/// Formats a share of 1 as a percentage. Rounding removes the error of a decimal fraction that has
/// no exact binary form, such as 0.07.
pub(super) fn percent(share: f64) -> String {
    const DUST: f64 = 1e9;
    format!("{} %", (share * 100.0 * DUST).round() / DUST)
}
