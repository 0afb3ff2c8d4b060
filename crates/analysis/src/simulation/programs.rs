//! What switches cost each program.

use super::context::Context;
use super::cost::{SUMS_ONLY, with_interval};
use super::design_sums::DesignSums;
use super::findings::{Cost, ProcessFinding};
use super::sums::Sum;

/// By program, most instructions first.
pub(crate) fn processes(context: &Context<'_>, sums: &DesignSums) -> Vec<ProcessFinding> {
    let rows = sums.programs.iter().enumerate().filter_map(|(program, sums)| Some((program, sums.as_deref()?)));
    let batches = |program: usize| sums.program_batches[program].as_deref();
    let finding = |(program, sums): (usize, &[Sum])| {
        let mut all = Sum::default();
        sums.iter().for_each(|sum| all.add(sum));
        let segments = turns(context, program, sums);
        let instructions = all.instructions as f64;
        let intervals = sums.len() - 1;
        ProcessFinding {
            name: context.names.names[program].clone(),
            processes: context.names.programs.iter().filter(|other| **other == program).count() as u64,
            segments,
            instructions: all.instructions,
            shared_cpi: all.shared as f64 / instructions,
            private_cpi: all.private as f64 / instructions,
            excess_cycles_per_switch: all.excess() / segments as f64,
            excess: excess(&Sum { segments, ..all }, batches(program), context.options.confidence),
            excess_cpi: sums[..intervals].iter().map(|sum| sum.cpi(Sum::excess)).collect(),
        }
    };
    let mut found: Vec<ProcessFinding> = rows.map(finding).filter(|process| process.instructions > 0).collect();
    found.sort_by_key(|process| std::cmp::Reverse(process.instructions));
    found
}

/// Segments of a program: what an exec leaves of one to the program that it starts is one, too. A record that holds sums over segments
/// alone does not show where programs begin, but how many segments reach each interval.
fn turns(context: &Context<'_>, program: usize, sums: &[Sum]) -> u64 {
    let most = || sums.iter().map(|sum| sum.segments).max().unwrap_or(0);
    context.program_turns.get(program).copied().unwrap_or_else(most)
}

/// Excess cycles a switch of one program; `all` are its sums, `batches` those of consecutive segments of the whole trace.
fn excess(all: &Sum, batches: Option<&[Sum]>, confidence: f64) -> Cost {
    let a_switch = |sum: &Sum| (sum.segments > 0).then(|| sum.excess() / sum.segments as f64);
    let Some(estimate) = a_switch(all) else { return Cost::none("found no segment that the program begins, need one") };
    let Some(batches) = batches else {
        return Cost { estimate: Some(estimate), why: Some(SUMS_ONLY.to_owned()), ..Cost::default() };
    };
    let used: Vec<&Sum> = batches.iter().filter(|batch| batch.segments > 0).collect();
    with_interval(estimate, all.segments, &used, |batch| a_switch(&all.less(batch)), confidence)
}
