use super::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Returns the lock for tests that use the set of threads or the signal's action. A process has
/// only one of each.
pub(in super::super) fn one_at_a_time() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a set of threads, which is the only one while the guard lives.
fn green(
    threads: usize,
    turn: impl Fn(&Scheduler, usize) + 'static,
) -> (MutexGuard<'static, ()>, Green) {
    let guard = one_at_a_time();
    let green = Green::new(threads, Box::new(turn)).expect("the only set");
    (guard, green)
}

#[test]
fn yields_go_round_the_queue_and_are_counted() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&order);
    let turn = move |scheduler: &Scheduler, index| {
        seen.borrow_mut().push(index);
        scheduler.yield_now();
    };
    let (_guard, green) = green(3, turn);
    for _ in 0..2 {
        order.borrow_mut().push(0);
        green.scheduler().yield_now();
    }
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(
        (green.scheduler().yields(), green.scheduler().preemptions()),
        (6, 0)
    );
    green.alone(|scheduler| scheduler.yield_now());
    assert_eq!(
        green.scheduler().yields(),
        6,
        "alone there is no thread to switch to"
    );
    green.scheduler().yield_now();
    assert_eq!(green.scheduler().yields(), 9, "and then there is again");
}

#[test]
fn there_is_one_set_at_a_time() {
    let _turn = one_at_a_time();
    let first = Green::new(2, Box::new(|_, _| ())).expect("the only set");
    assert!(Green::new(2, Box::new(|_, _| ())).is_err());
    drop(first);
    drop(Green::new(2, Box::new(|_, _| ())).expect("the only set again"));
}

/// Computes a sum that is the same to the last bit only if no register is lost.
fn compute(rounds: u32) -> f64 {
    let (mut a, mut b, mut c) = (1.0_f64, 0.5_f64, 0.25_f64);
    for round in 0..rounds {
        let x = f64::from(round);
        a = a.mul_add(0.999, x.sqrt());
        b = b * 0.998 + a * 0.001;
        c = c * 0.997 + b * 0.002;
    }
    a + b + c
}

#[test]
fn preempted_threads_lose_no_register() {
    const ROUNDS: u32 = 200_000;
    let expected = compute(ROUNDS);
    let results = Rc::new((Cell::new(0_u32), Cell::new(0_u32)));
    let counts = Rc::clone(&results);
    let turn = move |_: &Scheduler, _| {
        let count = if compute(ROUNDS) == expected {
            &counts.0
        } else {
            &counts.1
        };
        count.set(count.get() + 1);
    };
    let (_guard, green) = green(3, turn);
    let own = green.preempting(Nanos::micros(50), |_| {
        (0..60).map(|_| compute(ROUNDS)).collect::<Vec<_>>()
    });
    let own = own.expect("a timer");
    assert!(own.iter().all(|sum| *sum == expected));
    assert_eq!(results.1.get(), 0, "wrong sums");
    let scheduler = green.scheduler();
    assert!(
        scheduler.preemptions() > 20,
        "{} preemptions",
        scheduler.preemptions()
    );
    assert!(
        results.0.get() > 10,
        "the other threads ran too: {}",
        results.0.get()
    );
}

#[test]
fn alone_the_signals_come_and_switch_nothing() {
    let (_guard, green) = green(2, |_, _| unreachable!("parked"));
    let signals = green.alone(|_| {
        green.preempting(Nanos::micros(100), |scheduler| {
            while scheduler.signals() < 20 {}
            scheduler.signals()
        })
    });
    assert!(signals.expect("a timer") >= 20);
    assert_eq!(green.scheduler().preemptions(), 0);
}

#[test]
fn the_caller_comes_back_from_threads_that_never_yield() {
    let (_guard, green) = green(2, |_, _| std::hint::spin_loop());
    for round in 0..2_000 {
        let body = |_: &Scheduler| (0..round % 64 * 8).for_each(|_| std::hint::spin_loop());
        green.preempting(Nanos::micros(20), body).expect("a timer");
    }
    assert!(
        green.scheduler().preemptions() > 0,
        "the timer's end met no signal"
    );
}

#[test]
fn a_signal_from_elsewhere_is_not_the_timers() {
    let (_guard, green) = green(2, |_, _| unreachable!("no switch"));
    let raise = |_: &Scheduler| crate::signal_action::raise(libc::SIGUSR2);
    green
        .preempting(Nanos::seconds(1_000), raise)
        .expect("a timer")
        .expect("a signal");
    assert_eq!(
        (green.scheduler().signals(), green.scheduler().preemptions()),
        (0, 0)
    );
}

#[test]
fn a_panic_of_the_caller_ends_timer_and_solitude() {
    let (_guard, green) = green(2, |scheduler, _| scheduler.yield_now());
    let body = |_: &Scheduler| panic!("expected by this test");
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        green.alone(|_| green.preempting(Nanos::micros(50), body))
    }));
    assert!(outcome.is_err());
    let signals = green.scheduler().signals();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert_eq!(green.scheduler().signals(), signals, "the timer is gone");
    green.scheduler().yield_now();
    assert_eq!(
        green.scheduler().yields(),
        2,
        "the other thread is back in the queue"
    );
}
