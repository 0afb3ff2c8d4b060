//! Matches cases of the base records with cases of the new records that differ in conditions named
//! by the user.

use strum::{Display, EnumIter, EnumString, IntoEnumIterator};
use switchcost_record::Case;

use super::pairs::{self, Matched, is_same};

/// A condition of a case that may differ between base and new records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Condition {
    /// The mechanism by which a task hands over the token.
    Mechanism,
    /// The kind of tasks: processes, threads or user-level contexts.
    Between,
    /// The number of tasks in the ring.
    Tasks,
    /// The size of each task's working set.
    Size,
    /// The stride of the walk over the working set.
    Stride,
    /// The kind of access in the walk over the working set.
    Access,
    /// The scheduling policy under which the tasks run.
    Policy,
    /// The CPUs on which the tasks run.
    Placement,
}

impl Condition {
    /// Returns the condition's value in a case, as text. Empty for stride and access without a
    /// working set.
    fn value(self, case: &Case) -> String {
        let set = &case.working_set;
        match self {
            Condition::Mechanism => case.name(),
            Condition::Between => case.between.to_string(),
            Condition::Tasks => format!("{} tasks", case.tasks),
            Condition::Size => set.size_bytes.to_string(),
            Condition::Stride if set.is_empty() => String::new(),
            Condition::Stride => format!("stride {}", set.stride_bytes),
            Condition::Access if set.is_empty() => String::new(),
            Condition::Access => set.access.to_string(),
            Condition::Policy => case.policy.to_string(),
            Condition::Placement => case.placement.relation.to_string(),
        }
    }

    /// Sets this condition of `case` to its value in `other`.
    fn equate(self, case: &mut Case, other: &Case) {
        let (set, others) = (&mut case.working_set, &other.working_set);
        match self {
            Condition::Mechanism => {
                (case.mechanism, case.runtime) = (other.mechanism, other.runtime.clone())
            }
            Condition::Between => case.between = other.between,
            Condition::Tasks => case.tasks = other.tasks,
            // With an empty working set on one side, stride, access and pattern mean nothing, so
            // the whole working set is copied.
            Condition::Size if set.is_empty() || others.is_empty() => *set = *others,
            Condition::Size => set.size_bytes = others.size_bytes,
            Condition::Stride => set.stride_bytes = others.stride_bytes,
            Condition::Access => set.access = others.access,
            Condition::Policy => case.policy = other.policy,
            Condition::Placement => case.placement = other.placement.clone(),
        }
    }
}

/// Returns both values, as text, of each condition in which the cases `base` and `new` differ.
pub fn differing(base: &Case, new: &Case) -> Vec<(String, String)> {
    let values = |condition: Condition| (condition.value(base), condition.value(new));
    Condition::iter()
        .map(values)
        .filter(|(base, new)| base != new)
        .collect()
}

fn is_same_across(a: &Case, b: &Case, across: &[Condition]) -> bool {
    let mut equated = a.clone();
    across
        .iter()
        .for_each(|condition| condition.equate(&mut equated, b));
    is_same(&equated, b)
}

/// Returns the first condition in which alone a case of `base` differs from a case of `new`; `None`
/// if there is none.
pub(super) fn joining_condition(base: &[&Case], new: &[&Case]) -> Option<Condition> {
    Condition::iter().find(|condition| {
        let joins = |base: &Case| {
            let mut new = new.iter();
            new.any(|new| is_same_across(base, new, &[*condition]))
        };
        base.iter().any(|base| joins(base))
    })
}

/// Joins cases of only the base records with cases of only the new records that differ in nothing
/// but the conditions in `across`. A case with several possible partners is not joined, and its
/// outcome gives the reason.
pub(super) fn join<'a>(mut all: Vec<Matched<'a>>, across: &[Condition]) -> Vec<Matched<'a>> {
    if across.is_empty() {
        return all;
    }
    let mut joined: Vec<usize> = Vec::new();
    for place in 0..all.len() {
        if !all[place].is_only_on(0) {
            continue;
        }
        // Returns the indices of the unmatched cases of one side that could be joined with `case`.
        let alike = |side: usize, case: &Case| -> Vec<usize> {
            let is_alike = |other: &Matched<'_>| {
                other.is_only_on(side) && is_same_across(other.case(), case, across)
            };
            (0..all.len())
                .filter(|other| is_alike(&all[*other]))
                .collect()
        };
        match alike(1, all[place].case())[..] {
            [] => {}
            [one] if alike(0, all[one].case()).len() == 1 => {
                joined.push(one);
                pairs::join(&mut all, place, one);
            }
            ref several => all[place].note_alike(several.len()),
        }
    }
    let mut place = 0..;
    all.retain(|_| place.next().is_some_and(|place| !joined.contains(&place)));
    all
}
