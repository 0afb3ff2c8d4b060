//! Estimates the cost of cold caches from traced system calls during an observation, on a thread of
//! low priority, because an estimate takes seconds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use switchcost_analysis::observation::{Findings, MatchedIntervals, analyse_with, compare_calls};
use switchcost_record::observation::{Observation, TracedCalls};

/// Least time between two comparisons, as a multiple of the time that a comparison takes.
const SELDOM: u32 = 20;
const NICENESS: i32 = 19;

/// The last comparison of traced calls, shared by all views.
#[derive(Clone, Default)]
pub(super) struct Matching(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    matched: Vec<MatchedIntervals>,
    /// Time at which the compared calls were taken from the observation; `None` before the first
    /// comparison.
    taken_at: Option<Instant>,
    /// Start of the last slice of calls that was or is being compared; `None` before the first
    /// comparison.
    last_slice: Option<u64>,
    is_busy: bool,
    next_at: Option<Instant>,
}

impl Matching {
    /// Removes the calls from an observation. If there are new calls and a comparison is due, the
    /// calls are compared in the background.
    pub(super) fn take_calls(&self, mut observation: Observation) -> Observation {
        let Some(calls) = &mut observation.calls else {
            return observation;
        };
        // Every interval shows the number of calls and the cost of tracing them.
        let counts = TracedCalls {
            traced: calls.traced,
            lost: calls.lost,
            ..TracedCalls::default()
        };
        let last_slice = calls.slices.last().map(|slice| slice.began_ns.0);
        let is_due = self.lock().begin(last_slice, Instant::now());
        let calls = observation.calls.replace(counts);
        if is_due {
            self.compare(Observation {
                calls,
                ..observation.clone()
            });
        }
        observation
    }

    fn compare(&self, observation: Observation) {
        let matching = self.clone();
        let compare = move || {
            let _ = rustix::process::nice(NICENESS);
            let taken_at = Instant::now();
            let matched = compare_calls(&observation);
            matching.lock().end(matched, taken_at, taken_at.elapsed());
        };
        let _ = thread::Builder::new()
            .name("matching".to_owned())
            .spawn(compare);
    }

    /// Analyses an interval of the observation, with the cost of cold caches estimated over the
    /// whole observation so far.
    pub(super) fn analyse(&self, observation: &Observation) -> Findings {
        let matched = self.lock().matched.clone();
        analyse_with(observation, matched)
    }

    /// Returns the time since the compared calls were taken; `None` before the first comparison.
    pub(super) fn age(&self) -> Option<Duration> {
        self.lock().taken_at.map(|taken_at| taken_at.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Decides whether a comparison begins now, and if so notes its start.
    fn begin(&mut self, last_slice: Option<u64>, now: Instant) -> bool {
        let is_time = self.next_at.is_none_or(|next_at| now >= next_at);
        let is_due = last_slice > self.last_slice && is_time && !self.is_busy;
        if is_due {
            self.last_slice = last_slice;
            self.is_busy = true;
        }
        is_due
    }

    fn end(&mut self, matched: Vec<MatchedIntervals>, taken_at: Instant, took: Duration) {
        self.matched = matched;
        self.taken_at = Some(taken_at);
        self.is_busy = false;
        self.next_at = Some(taken_at + took * SELDOM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_slices_are_compared_and_no_more_often_than_one_part_of_the_time() {
        let (mut state, now) = (State::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert!(!state.begin(None, now), "no slice has ended");
        assert!(state.begin(Some(7), now));
        assert!(!state.begin(Some(8), now), "the last comparison continues");
        state.end(Vec::new(), now, second);
        assert!(!state.begin(Some(7), now + second * SELDOM), "nothing new");
        assert!(!state.begin(Some(8), now + second * (SELDOM - 1)));
        assert!(state.begin(Some(8), now + second * SELDOM));
    }
}
