//! Tests each advice on an observation to which it applies, and on one in which a premise does not
//! hold.

use switchcost_record::observation::{
    CpuTime, Entry, FutexWait, KnownBy, Observation, Pair, Source, Subject, Tasks, Throttled,
    Waits, Why,
};
use switchcost_units::{CpuId, Nanos};

use crate::observation::tests::{blocked, cause, known, left, observation, read, tasks, waits};
use crate::observation::{Advice, Change, NoAdvice, analyse};
use crate::testing::assert_within;

const WINDOW: u64 = 2_000_000_000;

/// Returns the observation with two CPUs whose idle tasks ran for `ns` together.
fn idle(of: Observation, ns: u64) -> Observation {
    let cpu = |cpu| CpuTime {
        cpu: CpuId(cpu),
        switches: 0,
        busy_ns: Nanos(WINDOW - ns / 2),
        idle_ns: Nanos(ns / 2),
    };
    Observation {
        cpus: vec![cpu(0), cpu(1)],
        ..of
    }
}

fn pair(name: &str, other: Option<u32>, preempted: u64) -> Pair {
    Pair {
        ran_ns: Nanos(500_000_000),
        ..super::super::tests::pair(name, other, preempted)
    }
}

fn preempted(why: Why, entry: Entry, pairs: Vec<Pair>) -> Observation {
    Observation {
        pairs,
        ..observation(left(why, entry, 1000))
    }
}

fn advice(observation: &Observation) -> Vec<Advice> {
    analyse(observation).advice
}

fn changes(observation: &Observation) -> Vec<Change> {
    advice(observation)
        .into_iter()
        .map(|advice| advice.change)
        .collect()
}

/// Creates tasks that waited in a system call.
fn in_call(call: &str, switches: u64) -> Tasks {
    left(Why::Blocked, Entry::SystemCall(call.to_owned()), switches)
}

/// Creates tasks whose few switches cost next to nothing.
fn cheap() -> Tasks {
    Tasks {
        run_ns: Nanos(10_000_000_000),
        ..blocked(100)
    }
}

fn throttled(ns: u64) -> Throttled {
    Throttled {
        group: "build".to_owned(),
        times: 9,
        throttled_ns: Nanos(ns),
        joined_after_ns: None,
    }
}

fn separate() -> Change {
    Change::Separate {
        observed: "worker".to_owned(),
        other: "wrk".to_owned(),
    }
}

#[test]
fn who_takes_the_cpu_is_to_be_given_another_where_one_idles() {
    let pairs = vec![
        pair("wrk", Some(9), 900),
        pair("wrk", Some(10), 50),
        pair("kworker", None, 50),
    ];
    let by_wrk = preempted(Why::PreemptedByWoken, Entry::Interrupt, pairs);
    assert_eq!(
        analyse(&by_wrk).neighbours.len(),
        2,
        "processes of one name are together, as are the kernel's threads"
    );
    assert_eq!(changes(&idle(by_wrk.clone(), WINDOW)), [separate()]);
    assert_eq!(analyse(&idle(by_wrk.clone(), WINDOW)).no_advice, None);
    // No CPU is free: all are busy, the idle time is too short for the other program, or the CPUs' use is not known.
    let no_cpu = NoAdvice::NoFreeCpu {
        observed: "worker".to_owned(),
        other: "wrk".to_owned(),
    };
    let mut longer = by_wrk.clone();
    longer.pairs[0].ran_ns = Nanos(WINDOW);
    for taken in [
        idle(by_wrk.clone(), WINDOW / 4),
        idle(longer, WINDOW),
        by_wrk,
    ] {
        let found = analyse(&taken);
        assert_eq!(
            (found.advice, found.no_advice),
            (vec![], Some(no_cpu.clone()))
        );
    }
}

#[test]
fn who_is_let_in_by_a_call_of_the_observed_works_with_it() {
    let in_write = Entry::SystemCall("write".to_owned());
    let by_client = preempted(
        Why::PreemptedByWoken,
        in_write,
        vec![pair("wrk", Some(9), 1000)],
    );
    assert_eq!(changes(&idle(by_client, WINDOW)), []);
}

#[test]
fn they_preempt_one_another_where_more_can_run_than_there_are_cpus() {
    let with = |change: fn(&mut Tasks)| {
        // The switches are frequent enough to be worth a change.
        let mut own = observation(left(Why::SliceEnded, Entry::Interrupt, 1_000_000));
        own.pairs = vec![pair("worker", Some(7), 1_000_000)];
        own.tasks[0].run_ns = Nanos(2 * WINDOW);
        change(&mut own.tasks[0]);
        changes(&own)
    };
    let many = |tasks: &mut Tasks| (tasks.count, tasks.wait_ns) = (8, Nanos(6 * WINDOW));
    assert_eq!(with(many), [Change::FewerAtATime]);
    let as_many_as_cpus = |tasks: &mut Tasks| (tasks.count, tasks.wait_ns) = (2, Nanos(0));
    assert_eq!(with(as_many_as_cpus), [Change::LongerSlices]);
    let one = |tasks: &mut Tasks| (tasks.count, tasks.wait_ns) = (1, Nanos(6 * WINDOW));
    assert_eq!(with(one), [Change::LongerSlices]);
}

#[test]
fn of_everybody_no_other_program_is_of_ones_own() {
    let mut all = preempted(
        Why::PreemptedByWoken,
        Entry::Interrupt,
        vec![pair("wrk", Some(9), 1000)],
    );
    let back = Pair {
        process: 9,
        process_name: "wrk".to_owned(),
        preempted: 0,
        ..pair("worker", Some(7), 0)
    };
    all.pairs.push(back);
    all.tasks[0].count = 8;
    all.tasks[0].wait_ns = Nanos(6 * WINDOW);
    assert_eq!(changes(&idle(all.clone(), WINDOW)), [separate()]);
    let of_a_command = Observation {
        subject: Subject::Command(vec!["make".to_owned()]),
        ..all
    };
    assert_eq!(changes(&idle(of_a_command, WINDOW)), [Change::FewerAtATime]);
}

#[test]
fn the_preemptions_of_all_observed_programs_count_together() {
    let of_second = |pair: Pair| Pair {
        process: 8,
        process_name: "second".to_owned(),
        ..pair
    };
    let by = |pairs| {
        idle(
            preempted(Why::PreemptedByWoken, Entry::Interrupt, pairs),
            WINDOW,
        )
    };
    let by_wrk = by(vec![
        pair("wrk", Some(9), 400),
        of_second(pair("wrk", Some(9), 300)),
        pair("cron", Some(10), 300),
    ]);
    assert_eq!(changes(&by_wrk), [separate()]);
    let mut longer = by_wrk;
    for pair in &mut longer.pairs {
        pair.ran_ns = Nanos(WINDOW * 6 / 10);
    }
    assert_eq!(
        changes(&longer),
        [],
        "the two rows together exceed idle time"
    );
    let mut by_own = by(vec![
        pair("worker", Some(7), 200),
        pair("second", Some(8), 400),
        of_second(pair("worker", Some(7), 400)),
    ]);
    by_own.subject = Subject::Command(vec!["make".to_owned()]);
    (by_own.tasks[0].count, by_own.tasks[0].wait_ns) = (8, Nanos(6 * WINDOW));
    assert_eq!(changes(&by_own), [Change::FewerAtATime]);
}

#[test]
fn slices_that_end_are_to_be_longer_and_no_others() {
    let by_wrk = |why| {
        let mut observed = preempted(why, Entry::Interrupt, vec![pair("wrk", Some(9), 1000)]);
        // The switches are frequent enough to be worth a change.
        observed.tasks[0].run_ns = Nanos(30_000_000);
        observed
    };
    assert_eq!(changes(&by_wrk(Why::SliceEnded)), [Change::LongerSlices]);
    assert_eq!(changes(&by_wrk(Why::PreemptedByWoken)), []);
    assert_eq!(changes(&by_wrk(Why::PreemptedByQueued)), []);
}

#[test]
fn who_waits_is_advised_by_what_it_waits_for() {
    let call = |call: &str| Entry::SystemCall(call.to_owned());
    let more = |call| Change::MoreForEachWakeUp { call };
    // Such a wait may have ended by time.
    let fewer = |call| Change::FewerWakeUps { call };
    let longer = |call| Change::SleepLonger { call };
    for (entry, expected) in [
        (Entry::Futex(FutexWait::Lock), Some(Change::FewerLocks)),
        (Entry::Futex(FutexWait::Timed), None),
        // The thread belongs to a pool and waits for work on a condition.
        (call("futex"), None),
        (read(), Some(more("read".to_owned()))),
        (
            call("clock_nanosleep"),
            Some(longer("clock_nanosleep".to_owned())),
        ),
        (call("epoll_pwait"), Some(fewer("epoll_pwait".to_owned()))),
        (call("pselect6"), Some(fewer("pselect6".to_owned()))),
        (
            call("io_uring_enter"),
            Some(fewer("io_uring_enter".to_owned())),
        ),
        (call("wait4"), None),
        (Entry::PageFault, None),
    ] {
        let found = changes(&observation(left(Why::Blocked, entry.clone(), 1000)));
        assert_eq!(found, Vec::from_iter(expected), "{entry:?}");
    }
}

#[test]
fn threads_of_a_runtime_that_sleep_by_themselves_are_not_to_sleep_longer() {
    for call in ["nanosleep", "clock_nanosleep"] {
        let sleeping = |switches| in_call(call, switches);
        let of_go = |switches| Tasks {
            runtime: Some("Go".to_owned()),
            ..sleeping(switches)
        };
        let collector = Tasks {
            name: "ZDriver".to_owned(),
            ..sleeping(1000)
        };
        assert_eq!(changes(&observation(of_go(1000))), []);
        assert_eq!(changes(&observation(collector)), []);
        // With a program that mostly sleeps by its own choice, the gain is that of the remaining
        // switches.
        let both = |own, go| {
            let mut both = observation(Tasks {
                run_ns: Nanos(WINDOW),
                ..sleeping(own)
            });
            both.tasks.push(Tasks {
                process: Some(8),
                run_ns: Nanos(0),
                ..of_go(go)
            });
            advice(&both)
        };
        assert_eq!(both(40_000, 60_000), []);
        let (alone, beside) = (both(60_000, 0), both(60_000, 30_000));
        assert_eq!(
            beside[0].change,
            Change::SleepLonger {
                call: call.to_owned()
            }
        );
        assert!(
            alone[0].at_most.cpu_share <= beside[0].at_most.cpu_share,
            "{alone:?} {beside:?}"
        );
    }
}

#[test]
fn what_costs_nothing_needs_no_advice() {
    let known_cheap = Observation {
        known: vec![known(KnownBy::Inject, 7, 9.0)],
        ..observation(cheap())
    };
    assert_eq!(changes(&known_cheap), [Change::Nothing]);
    let unknown = Observation {
        calibration: None,
        ..observation(blocked(100))
    };
    assert_eq!(
        changes(&unknown),
        [],
        "without a price it is not known what a change is worth"
    );
}

#[test]
fn a_quota_is_to_be_raised_where_it_bound() {
    let found = |ns| {
        advice(&Observation {
            throttled: vec![throttled(ns)],
            known: vec![known(KnownBy::Inject, 7, 9.0)],
            ..observation(cheap())
        })
    };
    let bound = found(700);
    assert_eq!(bound[0].change, raise(700, true));
    assert_eq!(
        (bound[0].at_most.cpu_share, bound[0].at_most.waits_ns),
        (None, Some(700))
    );
    assert_eq!(found(0)[0].change, Change::Nothing);
}

fn raise(ns: u64, is_whole: bool) -> Change {
    Change::RaiseQuota {
        group: "build".to_owned(),
        throttled_ns: Nanos(ns),
        is_whole,
    }
}

#[test]
fn of_a_quota_that_others_share_the_observed_win_what_they_waited_for_it_themselves() {
    let found = |subject: Subject, source, waits: Vec<Waits>| {
        let found = advice(&Observation {
            throttled: vec![throttled(2_000)],
            subject,
            source,
            waits,
            ..observation(cheap())
        });
        (found[0].change.clone(), found[0].at_most.waits_ns)
    };
    let waited = |process| waits(process, [5, 8, 0]);
    let some = || Subject::Processes(vec![7, 8]);
    let (part, whole) = (raise(2_000, false), raise(2_000, true));
    assert_eq!(
        found(some(), Source::Bpf, vec![waited(7), waited(8)]),
        (part.clone(), Some(16))
    );
    assert_eq!(
        found(some(), Source::Perf, Vec::new()),
        (part.clone(), None),
        "not counted"
    );
    let group = |name: &str| Subject::ControlGroup(name.to_owned());
    for observed in ["build", "/build", "/"] {
        assert_eq!(
            found(group(observed), Source::Bpf, vec![waited(7)]),
            (whole.clone(), Some(2_000)),
            "{observed}"
        );
    }
    for observed in ["build/one", "bui"] {
        assert_eq!(
            found(group(observed), Source::Bpf, vec![waited(7)]),
            (part.clone(), Some(8)),
            "{observed}"
        );
    }
}

#[test]
fn an_advice_wins_at_most_what_the_switches_concerned_cost_at_their_upper_end() {
    let causes = vec![
        cause(Why::Blocked, read(), 100),
        cause(Why::Blocked, Entry::Futex(FutexWait::Lock), 300),
    ];
    let mut observed = observation(Tasks {
        run_ns: Nanos(1_000_000_000),
        ..tasks(causes)
    });
    observed.known = vec![known(KnownBy::Inject, 7, 90_000.0)];
    let locks = &advice(&observed)[0];
    // There are 300 waits of up to 1,100 ns, and 400 reloads that may all belong to them, after
    // other tasks of up to 768 ns.
    let reload = 90_000.0 * (1.0 + 128.0 / 9_600.0);
    let most = (300.0 * 1_100.0 + 400.0 * reload) / 1e9;
    assert_within(locks.at_most.cpu_share.expect("priced"), most, 1e-9);
    assert_eq!(
        locks.at_most.waits_ns,
        Some(300 * 700),
        "for so long they waited"
    );
}

#[test]
fn what_can_win_too_little_is_not_advised() {
    // Switches cost 1.2 %, of which the most frequent waits are half.
    let half = |call: &str| cause(Why::Blocked, Entry::SystemCall(call.to_owned()), 50_000);
    let mut half_and_half = tasks(vec![half("read"), half("wait4")]);
    half_and_half.others = switchcost_record::observation::Histogram::default();
    half_and_half.run_ns = Nanos(9_000_000_000);
    let found = analyse(&observation(half_and_half));
    assert!(found.all.direct_share.expect("priced").high > 0.01);
    assert_eq!(found.advice, []);
}

#[test]
fn without_a_cost_of_cold_caches_an_advice_is_by_the_direct_one() {
    let found = |switches, run_ns| {
        let mut observed = preempted(Why::SliceEnded, Entry::Interrupt, Vec::new());
        let tasks = &mut observed.tasks[0];
        tasks.causes[0].switches = switches;
        (tasks.involuntary, tasks.run_ns) = (switches, Nanos(run_ns));
        analyse(&observed).advice
    };
    assert_eq!(found(100, 1_000_000_000), []);
    let [advice] = found(10_000, 100_000_000)
        .try_into()
        .expect("a tenth of it is for switches");
    assert_eq!(
        (advice.change, advice.at_most.cpu_share),
        (Change::LongerSlices, None)
    );
}

#[test]
fn where_no_cause_has_half_of_the_switches_that_is_why_there_is_no_advice() {
    let third = |call: &str| cause(Why::Blocked, Entry::SystemCall(call.to_owned()), 500);
    let found = analyse(&observation(tasks(vec![
        third("read"),
        third("write"),
        third("recvfrom"),
    ])));
    assert_eq!(
        (found.advice, found.no_advice),
        (vec![], Some(NoAdvice::NoMainCause))
    );
}
