//! Tests for survivor bias: whether a curve falls because the cost of all segments falls, or
//! because segments with a high cost end early. Mogul and Borg 1990, section 5.1, figure 3 and
//! footnote 4, describe a curve of many segments as "the aggregate of a number of nearly-flat lines
//! of varying heights and lengths".

use super::context::Context;
use super::curve::integral;
use super::design_sums::DesignSums;
use super::findings::{CLASSES, Group, GroupFinding, Growth, SurvivorBias};
use super::sums::{Sum, add_all};

/// Least relative difference between the early private CPIs of all and of surviving segments that
/// counts as a bias.
const BITES_FROM: f64 = 0.05;

/// Divisor of a curve's length; the result is the length of the curve's beginning, its first tenth.
const BEGINNING: usize = 10;

/// Returns the survivor bias of all segments, and of those after involuntary switches. Empty if
/// segments cannot be distinguished.
pub(crate) fn survivor_bias(
    context: &Context<'_>,
    sums: &DesignSums,
    groups: &[GroupFinding],
) -> Vec<SurvivorBias> {
    let involuntary = Group::Class(CLASSES[2]);
    let wanted = groups
        .iter()
        .filter(|group| group.group == Group::All || group.group == involuntary);
    wanted
        .filter_map(|group| bias(context, sums, group))
        .collect()
}

fn bias(context: &Context<'_>, sums: &DesignSums, group: &GroupFinding) -> Option<SurvivorBias> {
    let length = context.head.interval_instructions;
    if group.cut.is_rounded || group.cut.instructions == 0 {
        return None;
    }
    let last = ((group.cut.instructions - 1) / length.max(1)) as usize;
    let classes: &[usize] = if group.group == Group::All {
        &[0, 1, 2, 3]
    } else {
        &[2]
    };
    let (all, survivors) = curves(sums, classes, sums.step(last));
    let step_length = length.saturating_mul(steps_to(sums, last) as u64);
    let steps = sums.step(last) + 1;
    let early = steps.div_ceil(BEGINNING);
    let (early_all, early_survivors) = (early_cpi(&all, early)?, early_cpi(&survivors, early)?);
    let (segments, alive) = (all.first()?.segments, survivors.first()?.segments);
    Some(SurvivorBias {
        group: group.group.clone(),
        segments,
        survivors: alive,
        early_private_cpi: early_all,
        early_private_cpi_of_survivors: early_survivors,
        cost_of_survivors_cycles: integral(
            Sum::excess,
            &survivors,
            step_length,
            group.cut.instructions,
        )?,
        bites: alive < segments && (early_all / early_survivors - 1.0).abs() > BITES_FROM,
        grows: (group.group == Group::All)
            .then(|| grows(context, sums, last))
            .flatten(),
    })
}

/// Returns the number of intervals in each step of the CPI curve; `last + 1` if the curve has one
/// step.
fn steps_to(sums: &DesignSums, last: usize) -> usize {
    // The first interval of the second step is the number of intervals in a step.
    (1..=last + 1)
        .find(|interval| sums.step(*interval) == 1)
        .unwrap_or(last + 1)
}

/// Returns two lists of sums by step: over all segments, and over the segments that reach the step
/// `last`.
fn curves(sums: &DesignSums, classes: &[usize], last: usize) -> (Vec<Sum>, Vec<Sum>) {
    let (mut all, mut survivors) = (
        vec![Sum::default(); last + 1],
        vec![Sum::default(); last + 1],
    );
    for rows in classes.iter().map(|class| &sums.survivors[*class]) {
        for (end, row) in rows.iter().enumerate() {
            add_all(&mut all, row);
            if end >= last {
                add_all(&mut survivors, row);
            }
        }
    }
    (all, survivors)
}

fn early_cpi(sums: &[Sum], count: usize) -> Option<f64> {
    let mut early = Sum::default();
    sums.iter().take(count).for_each(|sum| early.add(sum));
    early.private_cpi()
}

/// Returns the program whose share of the segments grows most from the first interval to the
/// interval `last`; `None` if none grows.
fn grows(context: &Context<'_>, sums: &DesignSums, last: usize) -> Option<Growth> {
    let count = |interval: usize| {
        let all = sums
            .programs
            .iter()
            .flatten()
            .map(|program| program[interval].segments as f64)
            .sum::<f64>();
        (all > 0.0).then_some(all)
    };
    let (at_start, at_end) = (count(0)?, count(last)?);
    let programs = sums
        .programs
        .iter()
        .enumerate()
        .filter_map(|(i, program)| Some((i, program.as_ref()?)));
    let shares = programs.map(|(i, program)| {
        (
            i,
            program[0].segments as f64 / at_start,
            program[last].segments as f64 / at_end,
        )
    });
    let (program, share_at_start, share_at_cut) =
        shares.max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))?;
    let program = context.names.names[program].clone();
    (share_at_cut > share_at_start).then_some(Growth {
        program,
        share_at_start,
        share_at_cut,
    })
}
