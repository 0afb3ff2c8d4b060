//! Loop of a preemptor, which takes the CPU from task 0 whenever its timer fires. In the baseline
//! the preemptor makes the same system calls without a switch.

use std::io;
use std::sync::atomic::AtomicU64;

use switchcost_host::clock::Clock;
use switchcost_host::timer::PeriodicTimer;
use switchcost_units::Nanos;
use switchcost_workload::{WorkingSet, walk};

use super::shared::Shared;
use crate::experiment::Split;

/// Runs the preemptor until it is asked to stop. Each time that the timer fires (once per
/// `period`), the preemptor takes the CPU and walks its memory.
pub(super) fn run_preemptor(
    shared: &Shared,
    memory: &[AtomicU64],
    set: &WorkingSet,
    period: Nanos,
) -> io::Result<()> {
    let timer = PeriodicTimer::start(period)?;
    while !shared.should_stop() {
        timer.wait()?;
        shared.count_wake();
        let start = shared.clock.now();
        walk(memory, set);
        shared.add_preemptor_walk(start, shared.clock.now());
    }
    shared.say_stopped();
    Ok(())
}

/// Runs the preemptor's share of the baseline, without a switch: in each round, the system call
/// that finds that the timer has not fired, and the walk.
pub(super) fn run_preemptor_baseline(
    clock: Clock,
    memory: &[AtomicU64],
    set: &WorkingSet,
    warm_up: u64,
    rounds: u64,
) -> io::Result<Split> {
    let timer = PeriodicTimer::idle()?;
    let turns = |count| {
        let mut time = Split::default();
        let mut turned = clock.now();
        for _ in 0..count {
            timer.poll()?;
            let polled = clock.now();
            time.add_handoff(turned, polled);
            walk(memory, set);
            turned = clock.now();
            time.add_walk(polled, turned);
        }
        io::Result::Ok(time)
    };
    turns(warm_up)?;
    turns(rounds)
}
