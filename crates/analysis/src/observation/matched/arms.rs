//! Selects the system calls of two arms (with and without a switch), and compares the code after
//! them call by call.

use super::SHORT_NS;
use super::blocks::Blocks;
use super::calls::{Away, Call, Calls};
use super::effect::{Effect, Observed, Positions};

/// Least number of calls since the thread's last switch that a call without a switch must have in
/// order to be a control.
const WARM: u32 = 4;
/// Number of calls after a switch over which the two arms are compared.
const POSITIONS: usize = 40;
/// Least number of calls with a switch that must have matching controls at a position (the n-th
/// call after a switch). The number must also be at least half of the calls that reach the position
/// ([`LEAST_PART`]).
const LEAST_TREATED: usize = 30;
const LEAST_PART: f64 = 0.5;
/// Largest number of controls: this number, or [`CONTROLS_EACH`] per call with a switch, whichever
/// is larger. Further controls are left out at random.
const CONTROLS: usize = 20_000;
const CONTROLS_EACH: usize = 5;

/// System calls at which the comparison begins, of both arms.
#[derive(Clone, Debug, Default)]
pub(super) struct Anchors {
    /// Index of each call, and whether it belongs to the arm with switches.
    pub(super) all: Vec<(usize, bool)>,
    /// Whether the switches are preemptions in the user code after the call, and not waits in the
    /// call.
    are_preempted: bool,
}

impl Anchors {
    pub(super) fn of(all: Vec<(usize, bool)>) -> Anchors {
        Anchors {
            all,
            are_preempted: false,
        }
    }

    /// Returns the calls that waited, and as controls those that could have waited but did not, at
    /// least [`WARM`] calls after the thread's last switch.
    pub(super) fn waits(calls: &Calls<'_>) -> Anchors {
        let arm = |at: usize| match calls.get(at).in_call {
            Away::Waited(_) => Some((at, true)),
            Away::Never => is_warm(calls, at).then_some((at, false)),
            Away::Preempted(_) => None,
        };
        Anchors::of((0..calls.len()).filter_map(arm).collect())
    }

    /// Returns the calls with a long wait, and as controls the calls with a wait of at most
    /// `short_ns`.
    pub(super) fn dose(calls: &Calls<'_>, short_ns: u32) -> Anchors {
        let arm = |at: usize| Some((at, calls.waited(at)? > short_ns));
        Anchors::of((0..calls.len()).filter_map(arm).collect())
    }

    /// Returns the calls followed by a long preemption in user code, and as controls those followed
    /// by a short one.
    pub(super) fn long_preemptions(calls: &Calls<'_>) -> Anchors {
        let arm = |at: usize| match calls.get(at).in_user {
            Away::Preempted(others) => Some((at, others > SHORT_NS)),
            Away::Never | Away::Waited(_) => None,
        };
        Anchors {
            all: (0..calls.len()).filter_map(arm).collect(),
            are_preempted: true,
        }
    }

    pub(super) fn treated(&self) -> impl Iterator<Item = usize> {
        self.all
            .iter()
            .filter(|(_, treated)| *treated)
            .map(|(at, _)| *at)
    }

    pub(super) fn controls(&self) -> impl Iterator<Item = usize> {
        self.all
            .iter()
            .filter(|(_, treated)| !treated)
            .map(|(at, _)| *at)
    }
}

fn is_warm(calls: &Calls<'_>, at: usize) -> bool {
    calls.can_block(at) && calls.get(at).since >= WARM
}

/// Returns a copy of `anchors` without the calls with a switch for which `is_in` is false.
pub(super) fn only(anchors: &Anchors, is_in: impl Fn(usize) -> bool) -> Anchors {
    let mut all = anchors.all.clone();
    all.retain(|(at, treated)| !treated || is_in(*at));
    Anchors {
        all,
        ..anchors.clone()
    }
}

/// A thread's progress from a call at which the comparison begins, in one of the arms.
struct Run {
    at: usize,
    path: u64,
    is_treated: bool,
    block: usize,
}

/// Returns the cost of a switch: the sum over all positions of the difference between the arms.
/// `None` if there are too few calls.
pub(super) fn compare(calls: &Calls<'_>, anchors: &Anchors, has_trend: bool) -> Option<Effect> {
    let treated = anchors.treated().count();
    if treated < LEAST_TREATED {
        return None;
    }
    let most = CONTROLS.max(CONTROLS_EACH * treated);
    let each = anchors.controls().count() as f64 / most as f64;
    let is_kept = |at: usize| chance(at as u64) * each < 1.0;
    let blocks = Blocks::new(anchors.all.iter().map(|(at, _)| calls.get(*at)));
    let mut runs: Vec<Run> = Vec::new();
    for &(at, is_treated) in &anchors.all {
        if is_treated || is_kept(at) {
            runs.push(Run {
                at,
                path: mixed(0, calls.get(at).role),
                is_treated,
                block: blocks.number(calls.get(at)),
            });
        }
    }
    let mut positions = Positions::new(treated, &blocks);
    for position in 0..POSITIONS {
        let may_be_preempted = position == 0 && anchors.are_preempted;
        runs.retain(|run| may_be_preempted || !calls.get(run.at).in_user.is_any());
        let observed: Vec<Observed> = runs
            .iter_mut()
            .map(|run| observe(calls.get(run.at), run, position))
            .collect();
        let followed = runs.iter().filter(|run| run.is_treated).count();
        let covered = positions.add(&observed, followed, has_trend);
        if covered < LEAST_TREATED || (covered as f64) < LEAST_PART * followed as f64 {
            positions.drop_last();
            break;
        }
        // A thread that was preempted in the first position is followed like any other.
        runs.retain_mut(|run| go_on(calls, run));
    }
    positions.effect()
}

fn observe(call: &Call, run: &mut Run, position: usize) -> Observed {
    run.path = mixed(run.path, call.site);
    Observed {
        key: run.path,
        is_treated: run.is_treated,
        block: run.block,
        user_ns: f64::from(call.user_ns),
        // The time of the first call is not compared, because the call waited in one arm only.
        call_ns: if position == 0 {
            0.0
        } else {
            f64::from(call.call_ns)
        },
    }
}

fn go_on(calls: &Calls<'_>, run: &mut Run) -> bool {
    let next = calls.following(run.at);
    let next = next.filter(|&next| !calls.get(next).in_call.is_any());
    run.at = next.unwrap_or(run.at);
    next.is_some()
}

/// Returns the hash of a sequence of numbers, such as the call sites of a path: `path` is the hash
/// of all numbers but the last, and `more` is the last number.
pub(super) fn mixed(path: u64, more: u32) -> u64 {
    let mut mixed = (path ^ u64::from(more).wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// Returns a pseudo-random number from 0 to 1, which depends only on `of`.
pub(super) fn chance(of: u64) -> f64 {
    let upper = mixed(of, 0x5eed) >> 11;
    upper as f64 / (1u64 << 53) as f64
}
