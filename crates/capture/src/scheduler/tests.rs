use super::Seen::{Blocked, Gone, HeldBack, OnItsWay, Running, Stopped};
use super::*;

const QUEUED: Seen = Seen::Queued { gave_up: None };
const TURN_OVER: Seen = Seen::Queued {
    gave_up: Some(Cause::Quantum),
};
const YIELD: Cause = Cause::Syscall(24);
const YIELDED: Seen = Seen::Queued {
    gave_up: Some(YIELD),
};
const READ: Seen = Blocked { syscall: 0 };
const IDLE: Decision = Decision::Wait { is_idle: true };
const UNSETTLED: Decision = Decision::Wait { is_idle: false };

/// Makes a sighting of each state in `seen`, for tasks in slots 0, 1, 2 and so on.
fn tasks(seen: &[Seen]) -> Vec<Sighting> {
    (0..)
        .zip(seen)
        .map(|(slot, &seen)| Sighting { slot, seen })
        .collect()
}

fn switch(from: u32, to: u32, is_voluntary: bool, cause: Cause) -> Decision {
    Decision::Switch(Switch {
        from: Some(from),
        to,
        is_voluntary,
        cause,
    })
}

fn started(seen: &[Seen]) -> Scheduler {
    let mut scheduler = Scheduler::default();
    let first = scheduler.decide(&tasks(seen), false);
    let expected = Switch {
        from: None,
        to: 0,
        is_voluntary: true,
        cause: Cause::Unknown,
    };
    assert_eq!(first, Decision::Switch(expected));
    scheduler
}

/// Starts tasks, and asserts the scheduler's decision for the states of each step. No birth is
/// expected. Returns the scheduler.
#[track_caller]
fn assert_decisions(started_tasks: &[Seen], steps: &[(&[Seen], Decision)]) -> Scheduler {
    let mut scheduler = started(started_tasks);
    for (number, (seen, decision)) in steps.iter().enumerate() {
        let found = scheduler.decide(&tasks(seen), false);
        assert_eq!(found, *decision, "step {number}: {seen:?}");
    }
    scheduler
}

#[test]
fn a_task_keeps_the_cpu_through_system_calls_that_do_not_block() {
    let scheduler = assert_decisions(
        &[QUEUED, QUEUED],
        &[
            (&[Running, QUEUED], UNSETTLED),
            (&[QUEUED, QUEUED], Decision::GoOn(0)),
        ],
    );
    assert_eq!(scheduler.running(), Some(0));
}

#[test]
fn turns_go_round() {
    let mut scheduler = started(&[QUEUED, QUEUED, QUEUED]);
    for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1)] {
        let mut seen = [QUEUED; 3];
        seen[from as usize] = TURN_OVER;
        assert_eq!(
            scheduler.decide(&tasks(&seen), false),
            switch(from, to, false, Cause::Quantum)
        );
    }
}

#[test]
fn a_lone_task_gets_another_quantum_without_a_switch() {
    assert_decisions(&[QUEUED, READ], &[(&[TURN_OVER, READ], Decision::Renew(0))]);
}

#[test]
fn a_task_that_yields_goes_behind_those_who_wait_and_goes_on_where_none_does() {
    assert_decisions(
        &[QUEUED, QUEUED, READ],
        &[
            (&[YIELDED, QUEUED, READ], switch(0, 1, false, YIELD)),
            (&[QUEUED, YIELDED, READ], switch(1, 0, false, YIELD)),
            (&[YIELDED, READ, READ], Decision::GoOn(0)), // with the rest of its quantum
        ],
    );
}

#[test]
fn no_one_runs_on_before_all_others_are_asleep_or_queued() {
    // The system call of task 0 woke task 1, which has not returned from the kernel yet.
    let mut scheduler = assert_decisions(&[QUEUED, READ], &[(&[QUEUED, OnItsWay], UNSETTLED)]);
    let mut decide =
        |seen: &[Seen], is_birth_expected| scheduler.decide(&tasks(seen), is_birth_expected);
    assert_eq!(decide(&[QUEUED, QUEUED], true), UNSETTLED);
    assert_eq!(decide(&[QUEUED, QUEUED], false), Decision::GoOn(0));
    let to_the_other = switch(0, 1, true, Cause::Syscall(0));
    assert_eq!(decide(&[READ, QUEUED], false), to_the_other);
}

#[test]
fn those_woken_earlier_run_earlier_and_those_woken_together_run_in_order_of_birth() {
    let mut scheduler = assert_decisions(
        &[QUEUED, READ, READ, READ],
        &[
            (&[QUEUED, READ, READ, QUEUED], Decision::GoOn(0)),
            (&[QUEUED, QUEUED, QUEUED, QUEUED], Decision::GoOn(0)),
        ],
    );
    let mut seen = [READ, QUEUED, QUEUED, QUEUED];
    let mut order = Vec::new();
    for _ in 0..3 {
        let Decision::Switch(switch) = scheduler.decide(&tasks(&seen), false) else {
            panic!("a switch")
        };
        order.push(switch.to);
        seen[switch.to as usize] = READ;
    }
    assert_eq!(order, [3, 1, 2]);
}

#[test]
fn a_task_that_comes_back_while_all_slept_switches_from_itself_to_itself() {
    let sleep = Blocked { syscall: 35 };
    assert_decisions(
        &[QUEUED, READ],
        &[
            (&[sleep, READ], IDLE),
            (&[sleep, READ], IDLE),
            (&[QUEUED, READ], switch(0, 0, true, Cause::Syscall(35))),
        ],
    );
}

#[test]
fn who_slept_for_too_short_to_be_seen_asleep_has_switched_all_the_same() {
    let slept = Seen::Slept { syscall: 230 };
    assert_decisions(
        &[QUEUED, QUEUED],
        &[(&[slept, QUEUED], switch(0, 1, true, Cause::Syscall(230)))],
    );
    assert_decisions(
        &[QUEUED, READ],
        &[
            (&[slept, READ], switch(0, 0, true, Cause::Syscall(230))), // alone
        ],
    );
}

#[test]
fn a_task_that_is_stopped_gets_no_turn_before_it_is_continued() {
    assert_decisions(
        &[QUEUED, QUEUED, QUEUED],
        &[
            (&[QUEUED, QUEUED, QUEUED], Decision::GoOn(0)),
            (
                &[TURN_OVER, Stopped, QUEUED],
                switch(0, 2, false, Cause::Quantum),
            ),
            (&[Stopped, Stopped, READ], IDLE),
            (
                &[Stopped, QUEUED, READ],
                switch(2, 1, true, Cause::Syscall(0)),
            ),
        ],
    );
}

#[test]
fn a_task_that_is_stopped_in_its_turn_leaves_the_cpu() {
    assert_decisions(
        &[QUEUED, QUEUED],
        &[
            (&[Stopped, QUEUED], switch(0, 1, true, Cause::Unknown)),
            (&[QUEUED, TURN_OVER], switch(1, 0, false, Cause::Quantum)),
        ],
    );
    assert_decisions(
        &[QUEUED, READ],
        &[
            (&[Stopped, READ], IDLE),
            (&[QUEUED, READ], switch(0, 0, true, Cause::Unknown)),
        ],
    );
}

/// A thread (task 0) that spawns one process after another takes turns with its sibling (task 1).
#[test]
fn a_task_that_is_held_back_keeps_its_place_in_the_queue() {
    let spawn = Blocked { syscall: 56 };
    let spawned = Cause::Syscall(56);
    assert_decisions(
        &[QUEUED, QUEUED],
        &[
            (&[spawn, HeldBack, QUEUED], switch(0, 2, true, spawned)),
            (&[spawn, HeldBack, TURN_OVER], Decision::Renew(2)),
            (&[QUEUED, QUEUED, Gone], switch(2, 1, true, Cause::Exit)),
            (
                &[QUEUED, TURN_OVER, Gone],
                switch(1, 0, false, Cause::Quantum),
            ),
        ],
    );
}

#[test]
fn an_end_is_a_voluntary_switch_and_the_last_end_the_finish() {
    let mut scheduler = assert_decisions(
        &[QUEUED, QUEUED],
        &[(&[Gone, QUEUED], switch(0, 1, true, Cause::Exit))],
    );
    let last = [Sighting {
        slot: 1,
        seen: Gone,
    }];
    assert_eq!(scheduler.decide(&last, false), Decision::Finished);
    assert_eq!(scheduler.decide(&[], false), Decision::Finished);
}

#[test]
fn a_queued_task_that_is_killed_gets_no_turn() {
    assert_decisions(
        &[QUEUED, QUEUED, QUEUED],
        &[
            (&[QUEUED, QUEUED, QUEUED], Decision::GoOn(0)),
            (
                &[TURN_OVER, Gone, QUEUED],
                switch(0, 2, false, Cause::Quantum),
            ),
        ],
    );
}
