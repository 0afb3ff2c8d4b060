//! Computes curve, cut-off and costs for groups of segments.

use switchcost_design::result::{DetailLevel, SwitchCause};

use super::context::Context;
use super::cost::{NOT_COMPARED, cost, cut_of_lengths, cut_of_sums};
use super::curve::points;
use super::design_sums::DesignSums;
use super::findings::{CLASSES, Cost, Group, GroupFinding, TASKS, cause_name, class_of};
use super::interval::BATCHES;
use super::sums::{Cell, Cycles, Sum, add_all};
use crate::statistics::order_statistics::nearest_rank;

/// Returns the findings for all groups: all segments, then each class that occurs, then in a guest
/// each kind of task, then each cause that occurs, most segments first.
pub(crate) fn groups(
    context: &Context<'_>,
    depth: DetailLevel,
    sums: &DesignSums,
) -> Vec<GroupFinding> {
    let head = context.head;
    let all: Vec<usize> = (0..head.causes.len()).collect();
    let mut groups = vec![finding(context, depth, sums, Group::All, &all)];
    for (number, name) in CLASSES.into_iter().enumerate() {
        let members: Vec<usize> = all
            .iter()
            .copied()
            .filter(|i| class_of(&head.causes[*i]) == number)
            .collect();
        groups.push(finding(context, depth, sums, Group::Class(name), &members));
    }
    for (is_of_kernel, name) in [false, true]
        .into_iter()
        .zip(TASKS)
        .filter(|_| head.trace.guest.is_some())
    {
        let members: Vec<usize> = all
            .iter()
            .copied()
            .filter(|i| is_kernel_thread(&head.causes[*i]) == is_of_kernel)
            .collect();
        groups.push(finding(context, depth, sums, Group::Tasks(name), &members));
    }
    let each = |i: &usize| {
        finding(
            context,
            depth,
            sums,
            Group::Cause(cause_name(&head.causes[*i])),
            &[*i],
        )
    };
    let mut causes: Vec<GroupFinding> = all.iter().map(each).collect();
    causes.sort_by_key(|group| std::cmp::Reverse(group.segments));
    groups.extend(causes);
    groups.retain(|group| group.group == Group::All || group.segments > 0);
    groups
}

/// Whether the task that left the CPU is a kernel thread, which has no kernel entry.
fn is_kernel_thread(cause: &SwitchCause) -> bool {
    cause.entry == "unknown"
}

fn finding(
    context: &Context<'_>,
    depth: DetailLevel,
    sums: &DesignSums,
    group: Group,
    causes: &[usize],
) -> GroupFinding {
    let length = context.head.interval_instructions;
    let (cells, mut batches) = merged(sums, causes);
    let by_interval: Vec<Sum> = cells.iter().map(|cell| cell.sum).collect();
    let window = cells.len().saturating_sub(1);
    let is_mixed = depth == DetailLevel::Counters || cells.iter().any(|cell| cell.is_mixed);
    if is_mixed {
        batches.clear();
    }
    // Segment lengths do not depend on the design, so they come from any design that distinguishes
    // segments.
    let lengths = context
        .lengths
        .select(|segment| causes.contains(&(segment.cause as usize)));
    let share = context.options.cut_share;
    let cut = if is_mixed && context.lengths.are_unknown() {
        cut_of_sums(&cells, share, length)
    } else {
        let quantum = context.head.trace.quantum_instructions;
        cut_of_lengths(
            &lengths,
            share,
            length.saturating_mul(window as u64),
            quantum,
        )
    };
    let cost_of = |cycles: Cycles| {
        cost(
            cycles,
            &by_interval,
            &batches,
            length,
            cut,
            context.options.confidence,
        )
    };
    let compared = |cycles: Cycles| {
        if sums.are_others_known {
            cost_of(cycles)
        } else {
            Cost::none(NOT_COMPARED)
        }
    };
    GroupFinding {
        group,
        segments: by_interval.first().map_or(0, |sum| sum.segments),
        median_instructions: nearest_rank(&lengths, 0.5),
        cost_cycles: cost_of(Sum::excess),
        lost_cycles: compared(Sum::lost),
        gained_cycles: compared(Sum::gained),
        state_cycles: compared(Sum::state),
        cut,
        excess_cycles: by_interval.iter().map(Sum::excess).sum(),
        curve: points(&cells, length),
    }
}

/// Returns the cells by interval and the sums by batch, each summed over the causes `causes`.
pub(crate) fn merged(sums: &DesignSums, causes: &[usize]) -> (Vec<Cell>, Vec<Vec<Sum>>) {
    let width = sums
        .cells
        .iter()
        .flatten()
        .map(|cells| cells.len())
        .next()
        .unwrap_or(1);
    let mut cells = vec![Cell::default(); width];
    let mut batches = vec![vec![Sum::default(); width]; BATCHES];
    for cause in causes {
        if let Some(cost_of_cause) = &sums.cells[*cause] {
            cells
                .iter_mut()
                .zip(cost_of_cause.iter())
                .for_each(|(to, from)| to.add(from));
        }
        for (batch, to) in batches.iter_mut().enumerate() {
            if let Some(from) = &sums.batches[cause * BATCHES + batch] {
                add_all(to, from);
            }
        }
    }
    (cells, batches)
}
