use switchcost_host::clock::Clock;
use switchcost_record::{Between, Case, Class, Mechanism, Placement, Policy, RuntimeCase};

use super::*;
use crate::protocol::BatchRounds;

fn order(script: &str) -> Order {
    let (runtime, handoff) = ("made-up".to_owned(), "token".to_owned());
    let words = ["sh", "-c", script].map(str::to_owned);
    Order {
        case: Case {
            runtime: Some(RuntimeCase {
                runtime,
                handoff,
                class: Class::HandOff,
            }),
            ..Case::plain(
                Mechanism::Runtime,
                Between::User,
                Placement::unpinned(),
                Policy::Other,
            )
        },
        case_index: 0,
        repetition: 0,
        seed: 1,
        clock: Clock::MonotonicRaw,
        rate: TickRate::NANOSECONDS,
        run_start: Nanos(0),
        batch_ns: Nanos::micros(100),
        repetition_ns: Nanos(0),
        rounds: BatchRounds::default(),
        has_real_time: false,
        locks_memory: false,
        core_counter: None,
        counters: Vec::new(),
        runtime: Some(Launch {
            command: words.to_vec(),
            version: "2.10".to_owned(),
            is_in_own_environment: false,
            environment: Vec::new(),
            warm_up_ns: Nanos::millis(2),
            most_memory: Bytes::mib(64),
        }),
        synthetic_switch_ns: Nanos(0),
        synthetic_reload_ns: Nanos(0),
        batches: Default::default(),
    }
}

/// Returns a shell script that answers like a ring whose hand-offs take `handoff_ns`, or 100 ns
/// from a task to itself.
fn ring(handoff_ns: u64) -> String {
    format!(
        "read plan; echo '{{\"ready\":\"made-up 2.10\"}}'; while read line; do
         rounds=${{line##*:}}; rounds=${{rounds%\\}}}}; case $line in *switch*) each={handoff_ns};; *) each=100;; esac
         echo '{{\"ns\":'$((rounds*2*each))',\"handoffs\":'$((rounds*2))',\"kernel_switches\":7,\"collections\":1}}'; done"
    )
}

#[test]
fn a_window_is_what_the_program_says_of_it() {
    for handoff_ns in [300, 2_100, 20_100] {
        let order = order(&ring(handoff_ns));
        let mut runtime = Runtimes::start(&order).expect("a shell");
        let mut run = |arm| {
            let batch = Batch {
                arm,
                rounds: 50,
                warm_up: 4,
            };
            runtime.run(batch).expect("an answer")
        };
        let (switch, own) = (run(Arm::SwitchDirect), run(Arm::BaselineDirect));
        assert_eq!(
            (switch.time.handoffs.0, own.time.handoffs.0),
            (100 * handoff_ns, 100 * 100)
        );
        assert_eq!(
            (
                switch.handoffs,
                switch.switching_handoffs,
                own.switching_handoffs
            ),
            (100, 108, 0)
        );
        assert_eq!(
            (switch.counted.switches.total(), own.counted.handoffs),
            (7, 0)
        );
        let reported = runtime.runtime_run().expect("a runtime");
        assert_eq!(
            (reported.version.as_str(), reported.collections),
            ("made-up 2.10", Some(2))
        );
        assert!(
            !reported.warm_up.is_empty()
                && reported
                    .warm_up
                    .iter()
                    .all(|window| window.wall_ns.0 == window.handoffs * handoff_ns)
        );
    }
}

/// Returns the message about a program that runs `script`.
fn refused(script: &str) -> String {
    match Runtimes::start(&order(script)) {
        Err(why) => why,
        Ok(mut runtime) => runtime
            .run(Batch {
                arm: Arm::SwitchDirect,
                rounds: 300,
                warm_up: 0,
            })
            .expect_err("no answer")
            .to_string(),
    }
}

#[test]
fn what_is_no_runtime_is_refused_by_name_with_its_last_lines() {
    let ready = "read plan; echo '{\"ready\":\"2.10\"}'; read line;";
    for (script, why) in [
        (
            "echo no such module >&2; exit 3".to_owned(),
            "made-up ended early (exit status: 3); it printed: no such module; see switchcost.runtime/1",
        ),
        (
            "kill -KILL $$".to_owned(),
            "ended early (signal: 9 (SIGKILL)",
        ),
        (
            "kill -SYS $$".to_owned(),
            "(seccomp) does not allow one of its system calls",
        ),
        (
            "(echo FATAL ERROR: heap out of memory; seq 90 | sed 's/^/ at frame /') >&2; exit 134"
                .to_owned(),
            "it printed: FATAL ERROR: heap out of memory | at frame 87 | at frame 88 |",
        ),
        (
            "(sleep 60 &) ; exit 0".to_owned(),
            "ended early (exit status: 0)",
        ),
        ("exec sleep 60".to_owned(), "did not answer within 2.00 s"),
        ("exec >&-; exec sleep 60".to_owned(), "closed its output"),
        (
            "read plan; echo rubbish".to_owned(),
            "said 'rubbish' in place of an answer",
        ),
        (
            "read plan; printf '%s\\n' '{\"refused\":\"no \\u001b[2J heap\"}'".to_owned(),
            "made-up refused: no \\u{1b}[2J heap",
        ),
        (
            "read plan; echo '{}'".to_owned(),
            "said neither ready nor refused",
        ),
        (
            "read plan; echo '{\"ready\":\"2.9\"}'".to_owned(),
            "2.9 is reported by a program of version 2.10",
        ),
        (
            "read plan; head -c 200000 /dev/zero | tr '\\0' x; sleep 60".to_owned(),
            "wrote a line of more than 64 KiB",
        ),
        (
            format!("{ready} exec sleep 60"),
            "did not answer within 500.00 ms",
        ),
        (
            format!("{ready} echo '{{\"ns\":5,\"handoffs\":9}}'; sleep 60"),
            "said 9 hand-offs instead of 2",
        ),
        (
            ring(0).replace("each=100", "each=0"),
            "said that a window took 0 ns",
        ),
        (
            format!("{ready} echo '{{\"ns\":5,\"walk_ns\":6,\"handoffs\":2}}'; sleep 60"),
            "said that walks took 6 ns of a window of 5 ns",
        ),
        (
            format!("{ready} echo '{{\"ns\":-5,\"handoffs\":2}}'; sleep 60"),
            "in place of an answer",
        ),
    ] {
        let said = refused(&script);
        assert!(said.contains(why), "{script}: {said}");
    }
    let mut none = order("");
    none.runtime = Some(Launch {
        command: vec!["/nonexistent".to_owned()],
        ..none.runtime.expect("a launch")
    });
    assert!(
        Runtimes::start(&none)
            .err()
            .expect("no program")
            .contains("made-up cannot be started (No such file")
    );
}

#[test]
fn a_program_that_had_less_of_its_cpu_is_warmed_up_for_longer() {
    let warmed_up = |script: &str| {
        let mut order = order(script);
        order.runtime = order.runtime.map(|launch| Launch {
            warm_up_ns: Nanos::millis(60),
            ..launch
        });
        let reported = Runtimes::start(&order)
            .expect("a shell")
            .runtime_run()
            .expect("a runtime");
        reported.warm_up.last().expect("a window").at_ns
    };
    let waiting = ring(300).replace("do\n", "do sleep 0.01;\n");
    assert!(waiting.contains("sleep") && warmed_up(&waiting) >= Nanos::millis(90));
    assert!(warmed_up(&ring(300)) >= Nanos::millis(30));
}

#[test]
fn rounds_grow_towards_the_length_of_a_batch() {
    let batch = Nanos::micros(100);
    assert_eq!(next_rounds(1, 1_000, batch), 4, "no faster than fourfold");
    assert_eq!(next_rounds(100, 50_000, batch), 200);
    assert_eq!(next_rounds(100, 10_000_000, batch), 1);
    assert_eq!(next_rounds(u64::MAX, 1, batch), u64::MAX);
}

#[test]
fn of_a_long_warm_up_the_beginning_is_reported_whole() {
    let window = |at: u64| WarmUp {
        at_ns: Nanos(at),
        ..WarmUp::default()
    };
    let reported = thinned((0..10_000).map(window).collect());
    assert!(
        reported.len() <= MOST_WARM_UP
            && reported[..100]
                .iter()
                .enumerate()
                .all(|(at, reported)| reported.at_ns.0 == at as u64)
    );
    assert_eq!(thinned((0..30).map(window).collect()).len(), 30);
}
