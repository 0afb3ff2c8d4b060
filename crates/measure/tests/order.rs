//! Tests the order of repetitions, with an executor that only pretends to measure.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::pause::Pause;
use switchcost_measure::{
    BatchRounds, Executor, Instruments, Message, Order, Progress, RepetitionOutcome, Stop, measure,
};
use switchcost_record::{Arm, Batches, Cycles, EndReason, Evidence, Header, KernelSwitches, Line};
use switchcost_units::{Nanos, TickRate};

/// An executor that answers each order with one window of cycles, or as its script says.
#[derive(Default)]
struct Scripted {
    orders: Vec<(u32, u32, BatchRounds)>,
    latest: Vec<Nanos>,
    refuses: Option<u32>,
    pause: Pause,
    takes: Duration,
}

impl Scripted {
    fn cases(&self) -> Vec<u32> {
        self.orders.iter().map(|(case, ..)| *case).collect()
    }
}

impl Executor for Scripted {
    fn repetition(
        &mut self,
        order: &Order,
        latest: Nanos,
        should_stop: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Message),
    ) -> RepetitionOutcome {
        self.latest.push(latest);
        self.orders
            .push((order.case_index, order.repetition, order.rounds));
        if should_stop() {
            return RepetitionOutcome::Stopped;
        }
        if self.refuses == Some(order.case_index) {
            return RepetitionOutcome::Refused("found nothing".to_owned());
        }
        std::thread::sleep(self.takes);
        take(Message::Cycles(Box::new(window(order))));
        if !self.pause.is_none() {
            take(Message::Paused(self.pause));
        }
        let mut rounds = BatchRounds::default();
        rounds.set(Arm::SwitchDirect, 7);
        RepetitionOutcome::Done(rounds)
    }
}

fn window(order: &Order) -> Cycles {
    Cycles {
        case: order.case_index,
        repetition: order.repetition,
        at_ns: Nanos(0),
        batches_per_cycle: 3,
        switching_handoffs: 1,
        control_switches: 0,
        kernel_switches: KernelSwitches::default(),
        user_switches: 0,
        counted: None,
        evidence: Evidence::default(),
        batches: Batches::default(),
    }
}

/// A stop condition: a case is precise after `enough` windows, and the run stops after `looks_left`
/// checks.
struct Patience {
    enough: usize,
    /// Latest end of a run that is over its budget, but has no interval.
    latest_end: Option<Nanos>,
    looks_left: Cell<u32>,
    finished: usize,
    paused: Pause,
}

impl Stop for Patience {
    fn is_precise(&mut self, _: usize, cycles: &[Cycles]) -> bool {
        cycles.len() >= self.enough
    }

    fn has_interval(&mut self, case: usize, cycles: &[Cycles]) -> bool {
        self.is_precise(case, cycles)
    }

    fn latest_end(&self) -> Option<Nanos> {
        self.latest_end
    }

    fn should_stop(&self) -> bool {
        self.looks_left.set(self.looks_left.get().saturating_sub(1));
        self.looks_left.get() == 0
    }

    fn progress(&mut self, progress: Progress) {
        self.finished = progress.finished;
    }

    fn resume(&mut self, pause: Pause) {
        self.paused += pause;
    }
}

fn header(cases: usize, seed: u64) -> Header {
    let text = include_str!("header.json");
    let mut header: Header = serde_json::from_str(text).expect("a header");
    let case = header.plan.cases[0].clone();
    header.plan.cases = vec![case; cases];
    header.seed = seed;
    header
}

fn run(header: &Header, executor: &mut Scripted, stop: &mut Patience) -> (EndReason, Vec<Line>) {
    let mut lines = Vec::new();
    let mut sink = |line| -> Result<(), std::convert::Infallible> {
        lines.push(line);
        Ok(())
    };
    let Ok(reason) = measure(header, instruments(), executor, stop, &mut sink);
    (reason, lines)
}

fn instruments() -> Instruments {
    let (clock, rate) = (Clock::MonotonicRaw, TickRate::NANOSECONDS);
    Instruments {
        clock,
        rate,
        locks_memory: false,
        core_counter: None,
        runtimes: Default::default(),
        counters: vec![],
    }
}

fn patience(enough: usize) -> Patience {
    Patience {
        enough,
        latest_end: None,
        looks_left: Cell::new(u32::MAX),
        finished: 0,
        paused: Pause::default(),
    }
}

#[test]
fn every_case_gets_its_first_repetitions_before_any_gets_more() {
    let mut executor = Scripted::default();
    let (reason, lines) = run(&header(5, 1), &mut executor, &mut patience(10));
    assert_eq!(reason, EndReason::Complete);
    assert_eq!(lines.len(), 50);
    let is_early = |order: &(u32, u32, BatchRounds)| order.1 < 8;
    assert!(
        executor.orders[..40].iter().all(is_early),
        "{:?}",
        executor.orders
    );
    for pass in executor.cases()[..40].chunks(5) {
        let mut cases = pass.to_vec();
        cases.sort_unstable();
        assert_eq!(cases, [0, 1, 2, 3, 4], "each pass visits each case once");
    }
}

#[test]
fn the_order_is_random_and_the_seed_repeats_it() {
    let order = |seed| {
        let mut executor = Scripted::default();
        run(&header(8, seed), &mut executor, &mut patience(8));
        executor.cases()
    };
    assert_eq!(order(3), order(3));
    assert_ne!(order(3), order(4));
    assert_ne!(
        order(3)[..8],
        order(3)[8..16],
        "each pass has an order of its own"
    );
}

#[test]
fn rounds_are_calibrated_once() {
    let mut executor = Scripted::default();
    run(&header(1, 1), &mut executor, &mut patience(3));
    let orders = executor.orders.iter();
    let rounds: Vec<u64> = orders
        .map(|(.., rounds)| rounds.rounds(Arm::SwitchDirect))
        .collect();
    assert_eq!(rounds, [0, 7, 7]);
}

#[test]
fn a_case_that_cannot_be_run_is_given_up_and_the_others_go_on() {
    let mut executor = Scripted {
        refuses: Some(1),
        ..Scripted::default()
    };
    let (reason, lines) = run(&header(3, 1), &mut executor, &mut patience(6));
    assert_eq!(reason, EndReason::Complete);
    let count = |is_counted: fn(&&Line) -> bool| lines.iter().filter(is_counted).count();
    let refusals = count(|line| matches!(line, Line::Refusal(_)));
    let windows = count(|line| matches!(line, Line::Cycles(_)));
    assert_eq!((refusals, windows), (2, 12));
}

#[test]
fn no_repetition_may_last_long_after_the_budget() {
    let mut header = header(2, 1);
    header.plan.budget_ns = Nanos::seconds(3);
    let mut executor = Scripted::default();
    let before = monotonic();
    run(&header, &mut executor, &mut patience(2));
    // The budget, a quarter of it, and two seconds.
    let allowed = Nanos::millis(3000 + 750 + 2000);
    let in_time = before + allowed..=monotonic() + allowed;
    let latest = executor.latest;
    assert!(in_time.contains(&latest[0]), "{latest:?}");
    assert_eq!(latest, [latest[0]; 4], "one end for the whole run");
}

#[test]
fn a_pause_takes_nothing_from_the_time_that_a_run_has() {
    let pause = Pause {
        stopped: Nanos::seconds(100),
        suspended: Nanos::seconds(7),
    };
    let mut executor = Scripted {
        pause,
        ..Scripted::default()
    };
    let mut stop = patience(3);
    let (reason, lines) = run(&header(1, 1), &mut executor, &mut stop);
    assert_eq!((reason, lines.len()), (EndReason::Complete, 3));
    assert_eq!(stop.paused, pause + pause + pause);
    let later: Vec<Nanos> = executor
        .latest
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    assert_eq!(later, [pause.stopped; 2]);
}

#[test]
fn a_run_may_go_on_after_its_budget_until_each_case_has_an_interval() {
    let mut header = header(3, 1);
    header.plan.budget_ns = Nanos(0);
    let lines_until = |latest_end| {
        let mut stop = Patience {
            latest_end,
            ..patience(5)
        };
        run(&header, &mut Scripted::default(), &mut stop).1.len()
    };
    assert_eq!(lines_until(None), 0);
    assert_eq!(lines_until(Some(monotonic())), 0);
    let long_after = monotonic() + Nanos::seconds(3600);
    assert_eq!(lines_until(Some(long_after)), 3 * 5);
}

#[test]
fn a_budget_too_short_for_all_cases_is_spent_on_the_first() {
    let mut header = header(40, 1);
    header.plan.budget_ns = Nanos::millis(800);
    let mut executor = Scripted {
        takes: Duration::from_millis(10),
        ..Scripted::default()
    };
    let (reason, _) = run(&header, &mut executor, &mut patience(5));
    assert_eq!(reason, EndReason::Complete);
    let mut repetitions: BTreeMap<u32, usize> = BTreeMap::new();
    for case in executor.cases() {
        *repetitions.entry(case).or_default() += 1;
    }
    let mut whole = repetitions.clone();
    whole.retain(|_, count| *count == 5);
    let whole: Vec<u32> = whole.into_keys().collect();
    assert!((1..=16).contains(&whole.len()), "{repetitions:?}");
    assert_eq!(whole, (0..whole.len() as u32).collect::<Vec<_>>());
}

#[test]
fn an_interrupt_keeps_what_there_is() {
    let mut executor = Scripted::default();
    let mut stop = Patience {
        looks_left: Cell::new(9),
        ..patience(100)
    };
    let (reason, lines) = run(&header(2, 1), &mut executor, &mut stop);
    assert_eq!(reason, EndReason::Interrupted);
    assert!(!lines.is_empty() && lines.len() < 9, "{}", lines.len());
}

#[test]
fn a_sink_that_fails_ends_the_run_with_its_error() {
    let mut calls = 0;
    let outcome = measure(
        &header(2, 1),
        instruments(),
        &mut Scripted::default(),
        &mut patience(6),
        &mut |_| {
            calls += 1;
            if calls == 3 { Err("disk full") } else { Ok(()) }
        },
    );
    assert_eq!(outcome, Err("disk full"));
    assert_eq!(calls, 3, "nothing is written behind a failure");
}
