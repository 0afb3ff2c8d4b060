use ::observation::{Entry, Observation, Why};
use serde::Serialize;

use super::{CauseFinding, NeighbourFinding, ProcessFinding};

/// Below this share of a workload's CPU time nothing about its switches is worth a change.
const WORTH: f64 = 0.01;

/// From this share on, something is what there is to talk about.
const MOSTLY: f64 = 0.5;

/// What is likely to make a workload lose less to its switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Advice {
    /// Nothing: switching costs less than one part in a hundred, even at the upper end.
    Nothing,
    /// A control group used up its CPU time: its quota costs more than its switches.
    RaiseQuota {
        /// Its name; hostile text until escaped.
        group: String,
        /// For how long its tasks were kept from running, in nanoseconds.
        throttled_ns: u64,
    },
    /// Another program takes the CPU: give one of the two another.
    Separate {
        /// The observed; hostile text until escaped.
        observed: String,
        /// The other; hostile text until escaped.
        other: String,
    },
    /// The observed take the CPU from one another: run fewer at a time, or let each run for longer.
    FewerAtATime,
    /// Time slices end: let them be longer.
    LongerSlices,
    /// They wait for locks: hold them for shorter, or have fewer threads want them.
    FewerLocks,
    /// They wait for input or time: do more for each wake-up.
    MoreForEachWakeUp {
        /// The system call that they wait in.
        call: String,
    },
}

pub(super) fn find(
    observation: &Observation,
    all: &ProcessFinding,
    causes: &[CauseFinding],
    neighbours: &[NeighbourFinding],
) -> Vec<Advice> {
    let mut advice: Vec<Advice> =
        observation.throttled.iter().filter(|group| group.throttled_ns.0 > 0).map(raise).collect();
    if all.is_negligible() || all.share.is_some_and(|share| share.high < WORTH) {
        advice.push(Advice::Nothing);
        return advice;
    }
    let of = |is: &dyn Fn(&CauseFinding) -> bool| {
        causes.iter().filter(|cause| is(cause)).map(|cause| cause.share).sum::<f64>()
    };
    let preempted = of(&|cause| cause.why.is_preemption());
    if preempted >= MOSTLY {
        let first = neighbours
            .iter()
            .filter(|neighbour| !neighbour.other.is_empty())
            .max_by_key(|neighbour| neighbour.preempted);
        match first {
            Some(first) if !first.is_own && first.preempted_share >= MOSTLY => {
                advice.push(Advice::Separate { observed: first.observed.clone(), other: first.other.clone() });
            }
            _ if of(&|cause| cause.why == Why::SliceEnded) >= preempted / 2.0 => advice.push(Advice::LongerSlices),
            _ => advice.push(Advice::FewerAtATime),
        }
    }
    let blocked = causes.iter().filter(|cause| cause.why == Why::Blocked).max_by_key(|cause| cause.switches);
    if let Some(CauseFinding { entry: Entry::SystemCall(call), share, .. }) = blocked
        && *share >= MOSTLY
    {
        let is_lock = call == "futex";
        advice.push(if is_lock { Advice::FewerLocks } else { Advice::MoreForEachWakeUp { call: call.clone() } });
    }
    advice
}

fn raise(group: &::observation::Throttled) -> Advice {
    Advice::RaiseQuota { group: group.group.clone(), throttled_ns: group.throttled_ns.0 }
}
