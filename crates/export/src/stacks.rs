//! Stacks of observed switches in the folded format of flame-graph tools. A stack is the task's
//! name, why the task left its CPU, and where; or the program's own stack if stacks were sampled.

use std::collections::BTreeMap;

use switchcost_analysis::observation::{Stack, stacks};
use switchcost_record::observation::{Entry, FutexWait, Observation, RESUMED_CALL};
use switchcost_record::plain;

use crate::rows::{Row, Rows, named};
use crate::user_stacks;

/// Formats stacks as folded lines, outermost frame first. The value of a line is the time off the
/// CPU in nanoseconds, or for sampled stacks the number of switches that the samples represent.
/// Stacks with a value of 0 are omitted: a task that exits, for example, never returns.
pub fn folded(observation: &Observation) -> String {
    let rows = rows(observation);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in &rows.rows {
        // In folded stacks, a semicolon separates frames.
        let frames = row
            .frames
            .iter()
            .map(|frame| frame.replace(';', ":"))
            .collect::<Vec<_>>()
            .join(";");
        let sum = sums.entry(frames).or_default();
        *sum = sum.saturating_add(row.values[rows.usual]);
    }
    sums.retain(|_, value| *value > 0);
    sums.into_iter()
        .map(|(frames, value)| format!("{frames} {value}\n"))
        .collect()
}

/// Returns the sampled stacks of an observation; without samples, one stack for each task and
/// cause.
pub(crate) fn rows(observation: &Observation) -> Rows {
    observation
        .stacks
        .as_ref()
        .map_or_else(|| count_causes(observation), user_stacks::rows)
}

/// Returns one stack for each task and cause: the task's name, why the task left its CPU, and
/// where.
fn count_causes(observation: &Observation) -> Rows {
    let stacks = stacks(observation);
    let has_cost = stacks.iter().any(|stack| stack.direct_ns.is_some());
    let mut kinds = vec![
        ("switches", "count"),
        ("off_cpu", "nanoseconds"),
        ("cpu_wait", "nanoseconds"),
    ];
    kinds.extend(has_cost.then_some(("direct_cost", "nanoseconds")));
    let row = |stack: &Stack<'_>| {
        let mut values = vec![stack.switches, stack.off_ns, stack.wait_ns];
        values.extend(has_cost.then(|| stack.direct_ns.unwrap_or_default().round() as u64));
        Row {
            frames: frames(stack).into(),
            values,
            process: stack.process,
        }
    };
    Rows {
        kinds,
        usual: 1,
        rows: stacks.iter().map(row).collect(),
        comment: None,
    }
}

/// Returns the three frames of a stack by cause, outermost first.
fn frames(stack: &Stack<'_>) -> [String; 3] {
    let entry = match stack.entry {
        Entry::SystemCall(call) if call == RESUMED_CALL => "call resumed after a stop",
        Entry::SystemCall(call) => call,
        Entry::Futex(FutexWait::Lock) => "futex, for a lock",
        Entry::Futex(FutexWait::Timed) => "futex, for a time at most",
        Entry::PageFault => "page fault",
        Entry::Interrupt => "own code",
        Entry::Kernel => "kernel",
        Entry::Other => "elsewhere",
    };
    [named(stack.name), stack.why.describe(), entry].map(|text| plain(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::large;

    #[test]
    fn folded_stacks_are_of_time_off_the_cpu_whatever_a_name_holds() {
        let mut large = large();
        large.tasks.truncate(2);
        for tasks in &mut large.tasks {
            tasks.name = "a;b\n\u{1b}c".to_owned();
            tasks.causes.truncate(1);
        }
        assert_eq!(
            folded(&large),
            "a:b c;waits;a_system_call_with_a_long_name_0 2000000\n"
        );
        large.tasks[0].causes[0].off_ns.0 = 0;
        large.tasks.truncate(1);
        assert_eq!(folded(&large), "");
    }
}
