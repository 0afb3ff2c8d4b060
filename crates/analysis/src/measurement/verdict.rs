//! Decides whether a case has costs, and gives the reason and the remedy if not.

use switchcost_record::{Between, Case, Refusal};

use crate::measurement::cleanliness as reason;
use crate::measurement::findings::{Flag, FlagName};
use crate::measurement::judged::{Judged, Remedies};
use crate::statistics::estimate::TooFew;

/// Share of windows that are disturbed even on an idle machine, because of timer ticks.
pub(crate) const LEFT_OUT_USUAL: f64 = 0.05;

/// Difference between the counted and the planned number of switches per hand-off that is
/// tolerated.
const COUNT_TOLERANCE: f64 = 0.01;

/// Reason and remedy for a case without costs, as one sentence, with the flag.
pub(crate) struct NoNumber {
    pub(crate) why: String,
    pub(crate) flag: Option<Flag>,
}

/// Returns the reason why a case has no costs; `None` if the deciding cost has an estimate and the
/// case was not disturbed too much. `decisive` is the result of that estimate.
pub(crate) fn missing_number(
    judged: &Judged<'_>,
    refusals: &[&Refusal],
    decisive: Result<(), TooFew>,
) -> Option<NoNumber> {
    let plain = |why: String| Some(NoNumber { why, flag: None });
    match (judged.is_empty(), refusals.last()) {
        (true, Some(refusal)) => return plain(refusal.why.clone()),
        (true, None) => {
            return plain("there are no samples: the run ended before its turn; let it finish, or raise --budget".to_owned());
        }
        _ if judged.is_too_disturbed() => return Some(too_disturbed(judged)),
        _ => {}
    }
    let too_few = decisive.err()?;
    let refused = refusals
        .last()
        .map(|refusal| format!(". Repetitions were refused: {}", refusal.why));
    let flag = Some(Flag {
        name: FlagName::TooFewRepetitions,
        detail: too_few.to_string(),
    });
    Some(NoNumber {
        why: format!("{too_few}{}", refused.unwrap_or_default()),
        flag,
    })
}

/// Returns the reason for which most windows were left out, with their number. Of reasons with
/// equal numbers, the most serious one is returned. `None` if no window was left out.
fn main_reason(judged: &Judged<'_>) -> Option<(&'static str, usize)> {
    let order = |reason: &str| {
        (
            reason == reason::SWITCH_COUNT,
            reason == reason::CLOCK_BACKWARDS,
        )
    };
    judged
        .excluded
        .by_reason
        .iter()
        .map(|(reason, count)| (*reason, *count))
        .max_by_key(|(reason, count)| (*count, order(reason)))
}

fn too_disturbed(judged: &Judged<'_>) -> NoNumber {
    let (name, why) = match main_reason(judged) {
        _ if lacks_switches(judged) => (FlagName::SwitchCount, wrong_count(judged)),
        // Without a competing task, which would add switches of its own, the count itself is wrong.
        Some((reason::SWITCH_COUNT, _)) if !judged.has_competitor() => {
            (FlagName::SwitchCount, wrong_count(judged))
        }
        _ => (FlagName::Disturbed, disturbance(judged)),
    };
    NoNumber {
        flag: Some(Flag {
            name,
            detail: why.clone(),
        }),
        why,
    }
}

/// Whether the kernel counted fewer than half of the planned switches. Disturbances only add
/// switches, so the token was passed without switches.
fn lacks_switches(judged: &Judged<'_>) -> bool {
    let (low, _) = planned(judged.case);
    judged
        .kernel_switches_per_handoff()
        .is_some_and(|counted| counted < low / 2.0)
}

/// Returns a text about the disturbed samples of a case: their share, the main reason, and a
/// remedy.
pub(crate) fn disturbance(judged: &Judged<'_>) -> String {
    let (left_out, all) = (judged.excluded.total, judged.excluded.of);
    let percent = judged.excluded_share() * 100.0;
    let foreign = judged.foreign_share() * 100.0;
    if foreign >= 1.0 && !judged.is_beside_others() {
        let (whose, what) = other_tasks(judged);
        let samples = if left_out > 0 {
            format!(", {left_out} of {all} samples were disturbed")
        } else {
            String::new()
        };
        return format!("{whose}{samples}: {what}");
    }
    let Some((reason, count)) = main_reason(judged) else {
        return "no sample was disturbed".to_owned();
    };
    let (what, remedy) = explain(reason, judged.remedies);
    format!(
        "{left_out} of {all} samples ({percent:.0} %) were disturbed, {count} of them by {reason}: {what}; {remedy}"
    )
}

/// Returns two texts about the time that went to other tasks: its share, and the reason with a
/// remedy.
pub(crate) fn other_tasks(judged: &Judged<'_>) -> (String, String) {
    let foreign = judged.foreign_share() * 100.0;
    if let Some(quota) = judged.binding_quota() {
        let more = if judged.remedies.allows_real_time {
            ", or allow real-time priority, to which the quota does not apply"
        } else {
            ""
        };
        let why = format!(
            "their control group may use {:.2} CPUs only ({}); give it more{more}",
            quota.cpus(),
            quota.file
        );
        return (
            format!("for {foreign:.0} % of the time the tasks did not run"),
            why,
        );
    }
    let why = format!(
        "something else ran on the measured CPU; {}",
        judged.remedies.against_load()
    );
    (
        format!("{foreign:.0} % of the time went to other tasks"),
        why,
    )
}

/// Returns a text for the reason why windows were left out, and a remedy.
fn explain(reason: &str, remedies: Remedies) -> (&'static str, String) {
    let (what, remedy) = match reason {
        reason::FOREIGN_TIME => {
            return (
                "something else ran on the measured CPU",
                remedies.against_load(),
            );
        }
        reason::SWITCH_COUNT => {
            return (
                "the kernel did not count as many switches as planned",
                remedies.against_load(),
            );
        }
        reason::FAULTS => (
            "pages were missing while the clock ran",
            "free some memory, and allow locked memory: ulimit -l unlimited",
        ),
        reason::MIGRATION => (
            "the first task was not on its CPU",
            "allow this process its CPUs (taskset -p, cpuset), or choose others with --cpu",
        ),
        reason::PAUSED => (
            "the run was stopped, frozen or suspended meanwhile",
            "measure again without a pause",
        ),
        reason::CLOCK_BACKWARDS => (
            "the clock ran backwards",
            "run it again with the kernel's clock, because the CPU's counter is unreliable here",
        ),
        _ => ("nothing was handed over", "run it again"),
    };
    (what, remedy.to_owned())
}

/// Returns a text with the counted and the planned number of switches.
fn wrong_count(judged: &Judged<'_>) -> String {
    let case = judged.case;
    if case.between == Between::User {
        return wrong_user_count(judged);
    }
    let (low, high) = planned(case);
    let is_off = |count: &f64| !(low - COUNT_TOLERANCE..=high + COUNT_TOLERANCE).contains(count);
    if let Some(switching) = judged.kernel_switches_per_handoff().filter(is_off) {
        return wrong_switching_count(judged.remedies, switching, low, high);
    }
    let plan = range(low, high);
    format!(
        "the kernel counted {plan} switches per hand-off on average, as planned, but too many or too few in many windows; {}",
        judged.remedies.against_load()
    )
}

fn wrong_switching_count(remedies: Remedies, switching: f64, low: f64, high: f64) -> String {
    let (meaning, remedy) = if switching > high {
        (
            "the tasks switch more often than the token moves",
            remedies.against_load(),
        )
    } else {
        let other = remedies.advise_cpu(", or choose one with --cpu");
        (
            "the token moves without a switch",
            format!("see that all tasks are on one CPU{other}"),
        )
    };
    let plan = range(low, high);
    format!(
        "the kernel counted {switching:.2} switches per hand-off instead of {plan}: {meaning}; {remedy}"
    )
}

fn range(low: f64, high: f64) -> String {
    if low == high {
        format!("{low:.2}")
    } else {
        format!("{low:.2} to {high:.2}")
    }
}

fn wrong_user_count(judged: &Judged<'_>) -> String {
    if judged.switches_per_handoff().is_none_or(|own| own == 0.0) {
        let mechanism = judged.case.mechanism;
        return format!(
            "{mechanism} counted none of its own switches, which is a bug of switchcost; report it"
        );
    }
    let by_kernel = judged.kernel_switches_per_handoff().unwrap_or_default();
    format!(
        "the kernel counted {by_kernel:.2} switches per hand-off instead of none: other tasks took the CPU from the thread; {}",
        judged.remedies.against_load()
    )
}

fn planned(case: &Case) -> (f64, f64) {
    case.switches.map_or((0.0, 0.0), |plan| {
        (
            plan.low_per_mille as f64 / 1e3,
            plan.high_per_mille as f64 / 1e3,
        )
    })
}
