//! Tests that reported causes equal what a program did on purpose, within the handful of switches
//! that the kernel adds.

use switchcost_record::observation::{Cause, Entry, FutexWait, Observation, Pair, Tasks, Why};

use crate::known::{FUTEX_WAITS, all, known};
use crate::{call, sum, sum_causes, switches, switches_for, switches_of_causes};

#[test]
fn reads_that_wait_are_reported_as_such() {
    let Some(counted) = known(&["reads"]) else {
        return;
    };
    let reads = switches(&counted.tasks, Why::Blocked, &call("read"));
    let sleeps = switches(&counted.tasks, Why::Blocked, &call("pselect6"));
    assert!(
        (480..540).contains(&reads),
        "{reads} of 500 reads that wait"
    );
    assert!((490..540).contains(&sleeps), "{sleeps} of 500 sleeps");
}

/// Returns the switches of causes for which a task's table had no room.
fn elsewhere(tasks: &[Tasks], is_counted: fn(Why) -> bool) -> u64 {
    let is_it = |cause: &Cause| cause.entry == Entry::Other && is_counted(cause.why);
    sum_causes(tasks, is_it, |cause| cause.switches)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_a_program_does_all_the_time_is_reported_whatever_it_did_before() {
    let Some((counted, all)) = known(&["full-table"]).zip(all()) else {
        return;
    };
    let sleeps = switches(&counted.tasks, Why::Blocked, &call("clock_nanosleep"));
    assert!(
        (290..330).contains(&sleeps),
        "{sleeps} of 300 sleeps: {:?}",
        counted.tasks
    );
    let causes = counted.tasks.iter().flat_map(|tasks| &tasks.causes);
    let reported = causes.filter(|cause| cause.entry != Entry::Other).count();
    assert!(reported >= 19, "the table is full: {:?}", counted.tasks);
    let others = elsewhere(&counted.tasks, |_| true);
    assert!(
        (1..20).contains(&others),
        "{others} elsewhere: {:?}",
        counted.tasks
    );
    assert_eq!(elsewhere(&all.tasks, |_| true), all.lost.causes);
    let of_causes = switches_of_causes(&counted);
    assert_eq!(of_causes, sum(&counted, Tasks::switches));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn preemptions_in_more_calls_than_are_distinguished_are_no_waits() {
    let Some(counted) = known(&["many-calls"]) else {
        return;
    };
    let waits = elsewhere(&counted.tasks, |why| why == Why::Blocked);
    let others = elsewhere(&counted.tasks, |why| why != Why::Blocked);
    assert!(
        waits + others > 50,
        "the table is full: {:?}",
        counted.tasks
    );
    assert!(waits < 10 && others > 40, "{waits} and {others}");
}

#[test]
fn yields_are_reported_as_such() {
    let Some(counted) = known(&["yields"]) else {
        return;
    };
    let yields = check_yields(&counted);
    let involuntary = sum(&counted, |tasks| tasks.involuntary);
    assert!(
        involuntary < yields + 200,
        "{involuntary}: hardly anything else was involuntary"
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn yields_of_32_bit_programs_are_reported_as_such() {
    let Some(counted) = known(&["yields-32-bit"]) else {
        return;
    };
    if counted.tasks.is_empty() {
        return println!("skipped: there is no compiler, or this kernel runs no 32-bit programs");
    }
    check_yields(&counted);
}

/// Checks and returns the number of yields of two processes that make 2000 each.
fn check_yields(counted: &Observation) -> u64 {
    let yields = switches(&counted.tasks, Why::Yielded, &call("sched_yield"));
    assert!(
        (1800..4020).contains(&yields),
        "{yields} of at most 4000 yields: {:?}",
        counted.tasks
    );
    yields
}

#[test]
fn time_slices_that_end_are_reported_as_such() {
    let Some(counted) = known(&["slices"]) else {
        return;
    };
    let ended = switches(&counted.tasks, Why::SliceEnded, &Entry::Interrupt);
    assert!(ended >= 20, "{ended} slices ended in 0.8 s");
    // On a busy machine other tasks get time slices, too.
    let own = by(&counted, "slices", |pair| pair.preempted);
    assert!(own > 3, "{own} times they took the CPU from each other");
}

#[test]
fn a_time_slice_does_not_end_each_time_that_another_gets_its_turn() {
    let Some(counted) = known(&["loopback"]) else {
        return;
    };
    let run_ns = sum(&counted, |tasks| tasks.run_ns.0);
    let ended = switches_for(&counted.tasks, Why::SliceEnded);
    let is_preemption = |cause: &Cause| cause.why.is_preemption();
    let preempted = sum_causes(&counted.tasks, is_preemption, |cause| cause.switches);
    assert!(
        preempted > 100,
        "they take CPUs from one another: {preempted}"
    );
    // A time slice is at least 0.7 ms, the shortest that the kernel gives unless a task requests
    // less.
    assert!(
        ended * 700_000 <= run_ns,
        "{ended} of {preempted} in {run_ns} ns: {:?}",
        counted.tasks
    );
}

#[test]
fn who_is_woken_takes_the_cpu_and_is_reported_as_such() {
    let Some(counted) = known(&["woken"]) else {
        return;
    };
    let preempted = switches(&counted.tasks, Why::PreemptedByWoken, &Entry::Interrupt);
    assert!(preempted > 60, "{preempted} preemptions by who was woken");
    let by_it = by(&counted, "woken", |pair| pair.preempted);
    assert!(by_it > 45, "{by_it} times it let itself in");
    // The timer's interrupt comes while the other process runs.
    let woke = by(&counted, "woken", |pair| pair.woke);
    assert!(woke > 60, "{woke} wake-ups while the other ran");
}

/// Returns a sum of the effects of processes of this name on others.
fn by(counted: &Observation, name: &str, number: fn(&Pair) -> u64) -> u64 {
    let pairs = counted.pairs.iter().filter(|pair| pair.name == name);
    pairs.map(number).sum()
}

#[test]
fn waits_in_futex_are_distinguished_by_what_they_are_for() {
    let is_futex =
        |cause: &Cause| matches!(cause.entry, Entry::Futex(_)) || cause.entry == call("futex");
    let kinds = [
        (3, Entry::Futex(FutexWait::Lock)),
        (1, Entry::Futex(FutexWait::Timed)),
        (3, call("futex")),
    ];
    let expected = kinds
        .into_iter()
        .flat_map(|(count, entry)| std::iter::repeat_n(entry, count));
    for (at, (wait, expected)) in FUTEX_WAITS.iter().zip(expected).enumerate() {
        let Some(counted) = known(&[&format!("futex-{at}")]) else {
            return;
        };
        let is_wait = |cause: &Cause| is_futex(cause) && cause.why == Why::Blocked;
        let waits = sum_causes(&counted.tasks, is_wait, |cause| cause.switches);
        let as_expected = switches(&counted.tasks, Why::Blocked, &expected);
        assert_eq!(
            (waits, as_expected),
            (1, 1),
            "{wait:x?}: {:?}",
            counted.tasks
        );
    }
}

#[test]
fn a_word_in_the_waiter_s_own_frame_is_no_lock() {
    let Some(counted) = known(&["own-frame"]) else {
        return;
    };
    if counted.tasks.is_empty() {
        return println!("skipped: there is no C compiler");
    }
    let lock = switches(&counted.tasks, Why::Blocked, &Entry::Futex(FutexWait::Lock));
    let waits = switches(&counted.tasks, Why::Blocked, &call("futex"));
    assert!(
        lock < 20 && waits > 150,
        "{lock} waits for a lock, {waits} others: {:?}",
        counted.tasks
    );
}

#[test]
fn workers_that_the_kernel_starts_in_a_child_are_observed() {
    let is_off = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    if is_off.map_or(true, |off| off.trim() != "0") {
        return println!("skipped: there is no io_uring");
    }
    let Some(counted) = all() else { return };
    let is_worker = |tasks: &&Tasks| tasks.name.starts_with("iou-sqp-");
    let workers: Vec<&Tasks> = counted.tasks.iter().filter(is_worker).collect();
    let [worker] = workers[..] else {
        panic!("one worker: {workers:?}")
    };
    // It has slept, and ended.
    assert!(
        worker.process_name() == "ring" && worker.voluntary >= 2,
        "{worker:?}"
    );
}
