use super::Seen::{Blocked, Gone, OnItsWay, Running, Stopped};
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

/// Makes sightings of tasks in slots 0, 1, 2, ... with these states.
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

#[test]
fn a_task_keeps_the_cpu_through_system_calls_that_do_not_block() {
    let mut scheduler = started(&[QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[Running, QUEUED]), false),
        UNSETTLED
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED]), false),
        Decision::GoOn(0)
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
    let mut scheduler = started(&[QUEUED, READ]);
    assert_eq!(
        scheduler.decide(&tasks(&[TURN_OVER, READ]), false),
        Decision::Renew(0)
    );
}

#[test]
fn a_task_that_yields_goes_behind_those_who_wait_and_goes_on_where_none_does() {
    let mut scheduler = started(&[QUEUED, QUEUED, READ]);
    assert_eq!(
        scheduler.decide(&tasks(&[YIELDED, QUEUED, READ]), false),
        switch(0, 1, false, YIELD)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, YIELDED, READ]), false),
        switch(1, 0, false, YIELD)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[YIELDED, READ, READ]), false),
        Decision::GoOn(0),
        "with the rest of its quantum"
    );
}

#[test]
fn no_one_runs_on_before_all_others_are_asleep_or_queued() {
    let mut scheduler = started(&[QUEUED, READ]);
    // The system call of task 0 woke task 1, which has not returned from the kernel yet.
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, OnItsWay]), false),
        UNSETTLED
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED]), true),
        UNSETTLED,
        "a birth is expected"
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED]), false),
        Decision::GoOn(0)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[READ, QUEUED]), false),
        switch(0, 1, true, Cause::Syscall(0))
    );
}

#[test]
fn those_woken_earlier_run_earlier_and_those_woken_together_run_in_order_of_birth() {
    let mut scheduler = started(&[QUEUED, READ, READ, READ]);
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, READ, READ, QUEUED]), false),
        Decision::GoOn(0)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED, QUEUED, QUEUED]), false),
        Decision::GoOn(0)
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
    let mut scheduler = started(&[QUEUED, READ]);
    let sleep = Blocked { syscall: 35 };
    assert_eq!(scheduler.decide(&tasks(&[sleep, READ]), false), IDLE);
    assert_eq!(scheduler.decide(&tasks(&[sleep, READ]), false), IDLE);
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, READ]), false),
        switch(0, 0, true, Cause::Syscall(35))
    );
}

#[test]
fn who_slept_for_too_short_to_be_seen_asleep_has_switched_all_the_same() {
    let slept = Seen::Slept { syscall: 230 };
    let mut scheduler = started(&[QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[slept, QUEUED]), false),
        switch(0, 1, true, Cause::Syscall(230))
    );
    let mut scheduler = started(&[QUEUED, READ]);
    assert_eq!(
        scheduler.decide(&tasks(&[slept, READ]), false),
        switch(0, 0, true, Cause::Syscall(230)),
        "alone"
    );
}

#[test]
fn a_task_that_is_stopped_gets_no_turn_before_it_is_continued() {
    let mut scheduler = started(&[QUEUED, QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED, QUEUED]), false),
        Decision::GoOn(0)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[TURN_OVER, Stopped, QUEUED]), false),
        switch(0, 2, false, Cause::Quantum)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[Stopped, Stopped, READ]), false),
        IDLE
    );
    assert_eq!(
        scheduler.decide(&tasks(&[Stopped, QUEUED, READ]), false),
        switch(2, 1, true, Cause::Syscall(0))
    );
}

#[test]
fn a_task_that_is_stopped_in_its_turn_leaves_the_cpu() {
    let mut scheduler = started(&[QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[Stopped, QUEUED]), false),
        switch(0, 1, true, Cause::Unknown)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, TURN_OVER]), false),
        switch(1, 0, false, Cause::Quantum)
    );
    let mut scheduler = started(&[QUEUED, READ]);
    assert_eq!(scheduler.decide(&tasks(&[Stopped, READ]), false), IDLE);
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, READ]), false),
        switch(0, 0, true, Cause::Unknown)
    );
}

#[test]
fn an_end_is_a_voluntary_switch_and_the_last_end_the_finish() {
    let mut scheduler = started(&[QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[Gone, QUEUED]), false),
        switch(0, 1, true, Cause::Exit)
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
    let mut scheduler = started(&[QUEUED, QUEUED, QUEUED]);
    assert_eq!(
        scheduler.decide(&tasks(&[QUEUED, QUEUED, QUEUED]), false),
        Decision::GoOn(0)
    );
    assert_eq!(
        scheduler.decide(&tasks(&[TURN_OVER, Gone, QUEUED]), false),
        switch(0, 2, false, Cause::Quantum)
    );
}
