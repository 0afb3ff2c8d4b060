//! Runs the tasks of a case for a tracer: set up as for a measurement, and run between two stops
//! without being timed.
//!
//! ```text
//! set up, two rounds ──> SIGSTOP ──(tracing begins, SIGCONT)──> rounds ──> SIGSTOP ──> end
//! ```

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_record::{Arm, Case, Family, Rounds};
use switchcost_units::{Nanos, TickRate};

use crate::experiment::Batch;
use crate::protocol::{BatchRounds, Order};
use crate::repetition::start_experiment;

/// Hidden argument with which this program runs a batch under a tracer (see [`take_turns`]). The
/// batch follows as JSON.
pub const TURNS_ARGUMENT: &str = "take-turns";

/// Number of rounds before the first stop, in which every page is touched and every function
/// linked.
const ROUNDS_BEFORE: u64 = 2;

/// A batch of a case, to be run under a tracer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Conditions of the case.
    pub case: Case,
    /// Arm of the batch: whether the tasks pass the token to each other, and whether they walk
    /// their working sets.
    pub arm: Arm,
    /// Number of times that each task gets the token.
    pub rounds: u64,
    /// Seed of the random order in which the tasks walk their working sets.
    pub seed: u64,
}

impl Turns {
    /// Checks that the tasks of the case pass a token.
    ///
    /// # Errors
    ///
    /// If the tasks do not pass a token, or there are fewer than two: the fault and a remedy.
    pub fn check(&self) -> Result<(), String> {
        let (mechanism, tasks) = (self.case.mechanism, self.case.tasks);
        let family = mechanism.traits().family;
        if !matches!(family, Family::Ring | Family::UserLevel) {
            return Err(format!(
                "--mechanism {mechanism} cannot be traced, because its tasks do not take turns; use another mechanism, such as pipe"
            ));
        }
        if tasks < 2 {
            return Err(format!(
                "{tasks} task cannot take turns; use two or more (--alone runs each task without switches)"
            ));
        }
        Ok(())
    }

    fn order(self) -> Order {
        Order {
            case: self.case,
            case_index: 0,
            repetition: 0,
            seed: self.seed,
            clock: Clock::choose(true),
            rate: TickRate::NANOSECONDS,
            run_start: Nanos(0),
            batch_ns: Nanos(0),
            repetition_ns: Nanos(0),
            rounds: BatchRounds::default(),
            has_real_time: false,
            locks_memory: true,
            core_counter: None,
            counters: Vec::new(),
            runtime: None,
            synthetic_switch_ns: Nanos(0),
            synthetic_reload_ns: Nanos(0),
            batches: Rounds::default(),
        }
    }
}

/// Runs the batch in the JSON text, after two rounds that touch every page. Stops this process
/// (SIGSTOP) before and after the batch.
///
/// # Errors
///
/// If the batch cannot be read, or the experiment cannot be set up or breaks off.
pub fn take_turns(json: &str) -> Result<(), String> {
    let turns: Turns =
        serde_json::from_str(json).map_err(|error| format!("the turns are not JSON ({error})"))?;
    let (arm, rounds) = (turns.arm, turns.rounds);
    let mut experiment = start_experiment(&turns.order())?;
    let mut run = |rounds| {
        experiment
            .run(Batch {
                arm,
                rounds,
                warm_up: 0,
            })
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let stop = || {
        switchcost_host::task::stop_self()
            .map_err(|error| format!("the run cannot stop itself ({error})"))
    };
    run(ROUNDS_BEFORE)?;
    stop()?;
    run(rounds)?;
    stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_turns_is_said() {
        let error = take_turns("{}").expect_err("nothing is in it");
        assert!(
            error.starts_with("the turns are not JSON (missing field"),
            "{error}"
        );
    }
}
