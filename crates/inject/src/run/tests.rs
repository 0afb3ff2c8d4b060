use super::*;
use std::cell::Cell;
use std::path::Path;
use switchcost_host::clock::Clock;
use switchcost_record::injection::{Injection, Timing};
use switchcost_units::{CpuId, TickRate, Ticks};

/// An executor that answers at once, with more time for preempted copies, and stores the orders.
struct Scripted {
    orders: Vec<Order>,
    answer: fn(&Order) -> Option<Answer>,
    /// Length of the pause in each run.
    pause: Nanos,
}

impl Executor for Scripted {
    fn run(&mut self, order: &Order, _: &dyn Fn() -> bool) -> Option<Answer> {
        self.orders.push(order.clone());
        (self.answer)(order)
    }

    fn pause(&self) -> Pause {
        Pause {
            stopped: Nanos(self.pause.0 * self.orders.len() as u64),
            suspended: Nanos(0),
        }
    }
}

fn twins(order: &Order, status: [i32; 2]) -> Option<Answer> {
    let twin = |place: u8| {
        let is_preempted = place == order.preempted && !order.preempts_nobody;
        let preemptions = if is_preempted { 100 } else { 0 };
        let cpu_ns = Nanos::millis(100) + Nanos::micros(10 * preemptions);
        let run = TwinRun {
            cpu_ns,
            turns_ns: Nanos::millis(100),
            preemptions,
            ..TwinRun::default()
        };
        Outcome {
            run,
            status: status[usize::from(place)],
        }
    };
    // Runs must take time.
    std::thread::sleep(Nanos::millis(1).as_duration());
    Some(Answer::Ended([twin(0), twin(1)]))
}

/// Answers with two copies that ended well.
fn well(order: &Order) -> Option<Answer> {
    twins(order, [0, 0])
}

/// Returns a command and its folder.
fn subject() -> (Subject, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let subject = Subject::new(vec!["true".into()], folder.path(), None, false);
    (subject.expect("it can be run"), folder)
}

struct Count {
    runs: usize,
    until: usize,
    is_asked: Cell<usize>,
}

impl Stop for Count {
    fn should_stop(&self) -> bool {
        self.is_asked.set(self.is_asked.get() + 1);
        self.runs >= self.until
    }

    fn progress(&mut self, progress: Progress, runs: &[Run]) {
        assert_eq!(progress.runs, runs.len());
        self.runs = runs.len();
    }
}

const INSTRUMENTS: Instruments = Instruments {
    clock: Clock::MonotonicRaw,
    rate: TickRate::NANOSECONDS,
    overhead: Ticks(0),
};

fn plan(budget: Nanos) -> Plan {
    Plan::plain(
        CpuId(0),
        Timing {
            period_ns: Nanos::micros(250),
            turn_ns: Nanos::millis(8),
        },
        vec![Bytes(0), Bytes::kib(256), Bytes::mib(1)],
        budget,
    )
}

fn header(plan: Plan) -> Header {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/injection_record/small"
    );
    let header = Injection::read_header(Path::new(path)).expect("a record of this version");
    Header {
        seed: 3,
        plan,
        ..header
    }
}

struct Ran {
    is_interrupted: Result<bool, Fault>,
    runs: Vec<Run>,
    orders: Vec<Order>,
}

fn ran(budget: Nanos, until: usize, answer: fn(&Order) -> Option<Answer>) -> Ran {
    ran_with_pauses(Nanos(0), budget, until, answer)
}

/// Returns the result of an injection with this pause in each run.
fn ran_with_pauses(
    pause: Nanos,
    budget: Nanos,
    until: usize,
    answer: fn(&Order) -> Option<Answer>,
) -> Ran {
    let (subject, _folder) = subject();
    let mut executor = Scripted {
        orders: Vec::new(),
        answer,
        pause,
    };
    let mut stop = Count {
        runs: 0,
        until,
        is_asked: Cell::new(0),
    };
    let mut runs = Vec::new();
    let is_interrupted = inject(
        &subject,
        &INSTRUMENTS,
        &header(plan(budget)),
        &mut executor,
        &mut stop,
        &mut |line| {
            if let Line::Run(run) = line {
                runs.push(run);
            }
            Ok::<(), Fault>(())
        },
    );
    Ran {
        is_interrupted,
        runs,
        orders: executor.orders,
    }
}

#[test]
fn each_pass_has_each_footprint_once_and_preempts_the_same_twin() {
    let ran = ran(Nanos::seconds(60), 24, well);
    assert!(matches!(ran.is_interrupted, Ok(true)));
    assert_eq!(ran.runs.len(), 24);
    let mut orders = Vec::new();
    for (block, pass) in ran.runs.chunks(3).enumerate() {
        let mut footprints: Vec<u32> = pass.iter().map(|run| run.footprint).collect();
        orders.push(footprints.clone());
        footprints.sort_unstable();
        assert_eq!(footprints, [0, 1, 2]);
        assert!(
            pass.iter()
                .all(|run| run.block == block as u32 && run.preempted == pass[0].preempted)
        );
        assert_eq!(
            pass[0].preempted == ran.runs[0].preempted,
            block % 2 == 0,
            "they alternate"
        );
    }
    orders.dedup();
    assert!(orders.len() > 3, "no order: {orders:?}");
}

#[test]
fn what_a_preemption_costs_is_made_up_for_from_the_second_run_on() {
    let ran = ran(Nanos::seconds(60), 6, well);
    let lost: Vec<Nanos> = ran.orders.iter().map(|order| order.lost).collect();
    assert_eq!(
        (&lost[..3], &lost[3..]),
        (&[Nanos(0); 3][..], &[Nanos::micros(10); 3][..])
    );
}

#[test]
fn it_ends_before_the_budget_does() {
    let ran = ran(Nanos::millis(300), usize::MAX, well);
    assert!(matches!(ran.is_interrupted, Ok(false)));
    assert!(
        (3..=300).contains(&ran.runs.len()),
        "{} runs of 1 ms in 300 ms",
        ran.runs.len()
    );
}

#[test]
fn a_pause_takes_nothing_from_the_budget() {
    let paused = |pause| {
        ran_with_pauses(pause, Nanos::millis(10), 20, well)
            .runs
            .len()
    };
    assert!(paused(Nanos(0)) < 20);
    // Nothing remains of a run that took less.
    assert_eq!(paused(Nanos::seconds(1)), 20);
}

#[test]
fn copies_that_differ_in_a_run_end_it_and_the_runs_before_are_kept() {
    let answer = |order: &Order| twins(order, [0, if order.lost > Nanos(0) { 256 } else { 0 }]);
    let ran = ran(Nanos::seconds(60), usize::MAX, answer);
    let fault = ran.is_interrupted.expect_err("it differs").to_string();
    assert!(fault.starts_with("two copies ended differently"), "{fault}");
    assert_eq!(ran.runs.len(), 3);
}

#[test]
fn a_command_is_tried_before_and_refused_where_there_is_no_time_for_it() {
    let (subject, _folder) = subject();
    let tried = |budget, answer: fn(&Order) -> Option<Answer>| {
        let mut executor = Scripted {
            orders: Vec::new(),
            answer,
            pause: Nanos(0),
        };
        let found = undisturbed(
            &subject,
            &INSTRUMENTS,
            &plan(budget),
            &mut executor,
            &|| false,
        );
        assert!(executor.orders.iter().all(|order| order.preempts_nobody));
        found.map_err(|fault| fault.to_string())
    };
    let found = tried(Nanos::seconds(60), well)
        .expect("it can be measured")
        .expect("it was not stopped");
    assert_eq!(found.twins[0].cpu_ns, Nanos::millis(100));
    let refused = tried(Nanos::millis(1), well).expect_err("no time");
    assert!(
        refused.starts_with("--budget 1ms is too short: ")
            && refused.contains(": 3 cases need 6 runs of "),
        "{refused}"
    );
    assert_eq!(tried(Nanos::seconds(60), |_| None), Ok(None));
    let fault = |answer| tried(Nanos::seconds(60), answer).expect_err("refused");
    assert!(
        fault(|_| Some(Answer::TooLong)).starts_with("the command was still running after 60.00 s")
    );
    assert!(
        fault(|_| Some(Answer::LeftBehind)).starts_with("the command exited before its children")
    );
    assert_eq!(fault(|_| Some(Answer::Refused("why".to_owned()))), "why");
}
