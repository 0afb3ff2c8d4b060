use switchcost_record::{Case, Policy, Relation};
use switchcost_units::format_cpu_list;
use switchcost_workload::WorkingSet;

use crate::Entry;

/// A condition of the measured cases. A condition that varies is a column, others are phrases of
/// the caption.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    /// Heading of the table column with this condition.
    pub(super) name: &'static str,
    /// Formats a case's value of this condition for the column.
    pub(super) value: fn(&Case) -> String,
    /// Formats a case's value of this condition for the caption; empty if there is nothing to say.
    pub(super) phrase: fn(&Case) -> String,
}

/// Mechanism of the hand-off, and whether it is between processes, threads or user-space tasks.
pub(super) const MECHANISM: [Condition; 2] = [
    Condition {
        name: "mechanism",
        value: Case::name,
        phrase: Case::name,
    },
    Condition {
        name: "between",
        value: |c| c.between.to_string(),
        phrase: |c| c.between.to_string(),
    },
];

/// Bytes that other tasks touch before the measured task runs again.
pub(super) const AWAY: Condition = Condition {
    name: "away",
    value: |c| c.away.map(|away| away.to_string()).unwrap_or_default(),
    phrase: |c| {
        c.away
            .map(|away| format!("away while {away} are touched"))
            .unwrap_or_default()
    },
};

/// Number, CPUs and scheduling policy of the tasks.
pub(super) const RUN: [Condition; 3] = [
    Condition {
        name: "tasks",
        value: |c| c.tasks.to_string(),
        phrase: |c| format!("{} tasks", c.tasks),
    },
    Condition {
        name: "CPUs",
        value: cpus,
        phrase: placement,
    },
    Condition {
        name: "policy",
        value: |c| c.policy.to_string(),
        phrase: |c| format!("policy {}", c.policy),
    },
];

/// Conditions of the traversal of the working set.
pub(super) const WALK: [Condition; 5] = [
    Condition {
        name: "stride",
        value: |c| c.working_set.stride_bytes.to_string(),
        phrase: |c| format!("stride {}", c.working_set.stride_bytes),
    },
    Condition {
        name: "access",
        value: |c| c.working_set.access.to_string(),
        phrase: |c| c.working_set.access.to_string(),
    },
    Condition {
        name: "pattern",
        value: |c| c.working_set.pattern.to_string(),
        phrase: |c| c.working_set.pattern.to_string(),
    },
    Condition {
        name: "sharing",
        value: |c| c.working_set.sharing.to_string(),
        phrase: |c| format!("{} arrays", c.working_set.sharing),
    },
    Condition {
        name: "pages",
        value: |c| c.working_set.pages.to_string(),
        phrase: |c| format!("{} pages", c.working_set.pages),
    },
];

fn cpus(case: &Case) -> String {
    let placement = &case.placement;
    match placement.relation {
        Relation::Unpinned => placement.relation.to_string(),
        Relation::SameCpu => format_cpu_list(&placement.cpus),
        relation => format!("{} ({relation})", format_cpu_list(&placement.cpus)),
    }
}

/// Formats the CPUs of a case's tasks, such as `CPU 1`, `CPUs 0,2 (smt)`, `unpinned`.
pub(crate) fn placement(case: &Case) -> String {
    match case.placement.cpus.len() {
        0 => cpus(case),
        1 => format!("CPU {}", cpus(case)),
        _ => format!("CPUs {}", cpus(case)),
    }
}

/// Returns the names of the conditions' columns.
pub(super) fn names(conditions: &[Condition]) -> impl Iterator<Item = &'static str> {
    conditions.iter().map(|condition| condition.name)
}

/// Returns a case's values of the conditions, as cells.
pub(super) fn values(conditions: &[Condition], case: &Case) -> impl Iterator<Item = Entry> {
    conditions
        .iter()
        .map(move |condition| (condition.value)(case).into())
}

/// Returns the conditions that vary between the cases, and phrases for the conditions that all
/// cases share.
pub(super) fn split(conditions: &[Condition], cases: &[&Case]) -> (Vec<Condition>, Vec<String>) {
    let varies = |condition: &Condition| {
        let mut values = cases.iter().map(|case| (condition.value)(case));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let (varying, common): (Vec<Condition>, Vec<Condition>) =
        conditions.iter().partition(|c| varies(c));
    let phrases = cases.iter().take(1).flat_map(|case| {
        let phrases = common.iter().map(|c| (c.phrase)(case));
        phrases.filter(|phrase| !phrase.is_empty())
    });
    let phrases = phrases.collect();
    (varying, phrases)
}

/// Returns the name of a case in a few words, for text outside of a table.
pub(crate) fn label(case: &Case) -> String {
    let mut words = vec![format!("{} {}", case.name(), case.between)];
    if case.tasks != 2 {
        words.push(format!("{} tasks", case.tasks));
    }
    if !case.working_set.is_empty() {
        words.push(case.working_set.size_bytes.to_string());
        words.push(walk(&case.working_set));
    }
    if case.away.is_some() {
        words.push((AWAY.phrase)(case));
    }
    if !case.placement.is_one_cpu() {
        words.push(placement(case));
    }
    words.join(", ")
}

/// Returns the name of a case, in the words that distinguish it from the other cases.
pub(crate) fn label_among(case: &Case, others: &[&Case]) -> String {
    let walked: Vec<&Case> = others
        .iter()
        .copied()
        .filter(|other| !other.working_set.is_empty())
        .collect();
    let (run, _) = split(&RUN, others);
    let (walk, _) = split(&WALK, &walked);
    let mut words = vec![format!("{} {}", case.name(), case.between)];
    if !case.working_set.is_empty() {
        words.push(case.working_set.size_bytes.to_string());
        words.extend(walk.iter().map(|condition| (condition.phrase)(case)));
    }
    if case.away.is_some() {
        words.push((AWAY.phrase)(case));
    }
    words.extend(run.iter().map(|condition| (condition.phrase)(case)));
    words.join(", ")
}

/// Describes the traversal of a working set by its stride, its access, and every other property
/// that is not the default.
pub(crate) fn walk(set: &WorkingSet) -> String {
    let mut words = vec![
        format!("stride {}", set.stride_bytes),
        set.access.to_string(),
    ];
    if set.pattern != WorkingSet::NONE.pattern {
        words.push(set.pattern.to_string());
    }
    words.extend(set.unusual());
    words.join(", ")
}

/// Returns the kernel's name of a scheduling policy, such as `SCHED_FIFO`.
pub(in crate::measure) fn scheduler(policy: Policy) -> String {
    format!("SCHED_{}", policy.to_string().to_uppercase())
}
