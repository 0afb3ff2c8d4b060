//! Tests of the report on the record of a short observation, and on a variant with many names.

#[path = "../../../export/src/testing.rs"]
mod fixture;

use switchcost_analysis::observation::{
    Check, CheckName, Findings, MatchedIntervals, Outcome, Range, UnknownBecause, analyse,
};
use switchcost_record::observation::{
    Behind, Cause, Entry, FutexWait, KnownBy, KnownPoint, KnownReload, LongWait, Observation,
    OlderChildren, Pair, Source, Subject, Throttled, TracedCalls, Waits, Why,
};
use switchcost_units::{Bytes, Nanos};

use super::{By, render, render_interval, tables};
use crate::text::{DETAILED, begins, fits_screen, flat, has, has_all, lacks};
use crate::{Format, Style};
use fixture::{cost, small};

/// Makes a pair of an observed process and a competitor that kept it waiting twice.
fn pair(process: u32, process_name: &str, name: &str, kept_waiting_ns: Nanos) -> Pair {
    Pair {
        process,
        process_name: process_name.to_owned(),
        other: Some(9999),
        name: name.to_owned(),
        ran_ns: Nanos(1_000),
        runs: 3,
        preempted: 2,
        woke: 1,
        kept_waiting_ns,
        kept_waiting: 2,
    }
}

/// Creates an observation with many entries of every kind, and a calibration.
pub(super) fn large() -> Observation {
    let mut large = fixture::large();
    large.known.clear();
    let pair = |at: u32| {
        let names = [format!("name of task {at}."), format!("neighbour {at}")];
        pair(at, &names[0], &names[1], Nanos(500))
    };
    large.pairs = (1..500).map(pair).collect();
    let wait = |at: u64| LongWait {
        process: 1,
        thread: 2,
        name: "name of task 1".to_owned(),
        since_ns: Nanos(at * 1_000_000),
        wait_ns: Nanos(20_000_000 / at),
        behind: Behind::Process("neighbour 1".to_owned()),
        behind_process: Some(9999),
        behind_ns: Nanos(10_000_000 / at),
    };
    large.longest_waits = (1..=3).map(wait).collect();
    large
}

fn report(observation: &Observation, style: Style) -> String {
    let findings = analyse(observation);
    render(observation, &findings, By::Program, Format::Table, style)
}

fn screen(observation: &Observation) -> String {
    report(observation, Style::default())
}

/// Returns the words of the screen.
fn words(observation: &Observation) -> String {
    flat(&screen(observation))
}

/// Returns the words of the complete report.
fn details(observation: &Observation) -> String {
    flat(&report(observation, DETAILED))
}

#[test]
fn children_that_were_there_before_and_do_the_work_are_named_with_how_to_observe_them() {
    let of = |processes, switches| {
        let older_children = Some(OlderChildren {
            processes,
            parents: vec![7, 9],
            switches,
        });
        words(&Observation {
            subject: Subject::Processes(vec![7, 8]),
            older_children,
            ..small()
        })
    };
    has(
        &of(1200, 1_000_000),
        "1,200 existing children of 2 processes switched more often (1,000,000 times) but are not included. Include them: \
         switchcost observe -p \"7,8 $(pgrep -P 7,9)\" -d 10s ",
    );
    has(
        &of(1, 1_000_000),
        "1 existing child of 2 processes switched more often",
    );
    // What is idle is no loss.
    lacks(&of(1200, 0), "existing");
}

#[test]
fn threads_of_runtimes_are_grouped_by_what_they_are() {
    let mut seen = small();
    let first = seen.tasks.remove(0);
    let named = |(name, count): (&str, u64)| switchcost_record::observation::Tasks {
        process: Some(9),
        name: name.to_owned(),
        count,
        voluntary: 10_000,
        ..first.clone()
    };
    seen.tasks = [
        ("1_scheduler", 1),
        ("2_scheduler", 1),
        ("tokio-rt-worker", 4),
        ("redis", 1),
    ]
    .map(named)
    .into();
    has_all(
        &words(&seen),
        [
            "threads of language runtimes: Erlang: schedulers x 2 (",
            "*_scheduler x 2",
            "tokio: workers x 4 (",
        ],
    );
    has(&details(&seen), "Threads of language runtimes");
}

#[test]
fn the_answer_fits_a_screen_however_much_there_is() {
    let large = large();
    fits_screen(&screen(&large), 45);
    has_all(
        &words(&large),
        [
            "6 of 499",
            "2026-11-24 at 19:22 UTC",
            "name of task 1 (2) waited 20.0 ms at 0.001 s, of which 10.0 ms while neighbour 1 ran;",
        ],
    );
    let all = report(&large, DETAILED);
    has(&all, "Cost by process");
    assert!(all.lines().count() > 1_000, "{all}");
}

#[test]
fn a_direct_cost_is_reported_as_a_range_with_what_is_likely() {
    let large = large();
    let direct = analyse(&large).all.direct_share.expect("it is priced");
    assert!(direct.low < direct.likely.expect("known") && direct.likely < Some(direct.high));
    let text = screen(&large);
    begins(&text, "The direct cost of switches is ");
    has_all(&text, [" % (", " to "]);
    // Without a cost of preemptions there is a reason in place of an upper end.
    let mut open = large.clone();
    let cause = &mut open.tasks[0].causes[0];
    (cause.why, cause.entry) = (Why::PreemptedByWoken, Entry::Interrupt);
    if let Some(calibration) = &mut open.calibration {
        calibration.preempted = None;
    }
    let text = words(&open);
    begins(&text, "The direct cost of switches is at least ");
    has(
        &text,
        "(no upper end, because the cost of a preemption is unknown). ",
    );
    // Without a price the switches are shown, with the statement that there is no price.
    let unpriced = Observation {
        calibration: None,
        ..large
    };
    has(&screen(&unpriced), "because there is no calibration");
}

#[test]
fn a_cost_that_is_not_known_has_no_column() {
    let large = large();
    let text = screen(&large);
    let heads = text.lines().find(|line| line.contains("switches/s"));
    let heads = heads.expect("a table");
    has(heads, "direct cost");
    lacks(heads, "total cost");
    lacks(heads, "cold caches");
    let text = words(&large);
    let (answer, _) = text.split_once(" There were ").expect("an answer");
    begins(answer, "The direct cost of switches is ");
    has(
        answer,
        " The additional cost of cold caches is unknown: it is estimated from traced system calls, but none was traced; to measure it: `switchcost inject -- sh ",
    );
}

#[test]
fn what_inject_measured_is_named_and_its_record_is_among_the_details() {
    let mut known = large();
    known.started_at = "2026-11-24T01:00:00Z".to_owned();
    let point = KnownPoint {
        away_bytes: Bytes::kib(64),
        away_ns: Some(Nanos(1_000)),
        ran_ns: Nanos(1_000),
        cost: cost(100.0),
    };
    let processes = known.tasks.iter().filter_map(|tasks| tasks.process);
    known.known = vec![KnownReload {
        by: KnownBy::Inject,
        file: "gzip-injection.jsonl".to_owned(),
        command: vec!["gzip".to_owned(), "-c".to_owned()],
        measured_at: "2026-11-23T19:22:51Z".to_owned(),
        processes: processes.collect(),
        name: String::new(),
        points: vec![point],
        preemption: None,
    }];
    has(
        &words(&known),
        " (by inject of `gzip -c`, yesterday, if others touch memory as fast).",
    );
    has(&details(&known), "is from inject: gzip-injection.jsonl");
}

fn matched(outcome: Outcome, unknown_because: Option<UnknownBecause>) -> MatchedIntervals {
    let check = Check {
        name: CheckName::WorkBefore,
        outcome,
        found: None,
    };
    MatchedIntervals {
        program: "sh".to_owned(),
        calls: 9_000,
        waits: 1_000,
        preemptions: 10,
        short_wait_ns: 30_000,
        all_waits: None,
        dose: None,
        long_preemptions: None,
        by_others: Vec::new(),
        by_call: Vec::new(),
        checks: vec![check],
        covered: 0.96,
        wait_ns: None,
        preemption_ns: None,
        unknown_because,
    }
}

/// Returns the words of a report on the large observation with these findings.
fn found(findings: &Findings, style: Style) -> String {
    flat(&render(
        &large(),
        findings,
        By::Program,
        Format::Table,
        style,
    ))
}

#[test]
fn matched_intervals_are_reported_with_what_they_are_of() {
    let mut findings = analyse(&large());
    findings.matched = vec![matched(Outcome::Passed, None)];
    let range = |low, likely, high| Range { low, likely, high };
    findings.all.likely_by = Some(KnownBy::Matched);
    findings.all.direct_share = Some(range(0.030, Some(0.036), 0.042));
    let open = f64::INFINITY;
    for (cold, share, whole, parts) in [
        (
            range(0.020, Some(0.022), 0.024),
            range(0.050, Some(0.058), 0.066),
            "5.8 % (5.0 to 6.6 %) of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost 2.2 % (2.0 to 2.4 %; measured on 96 % of the switches).",
        ),
        (
            range(0.004, None, 0.022),
            range(0.034, None, 0.064),
            "3.4 to 6.4 % of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost 0.40 to 2.2 % (measured on",
        ),
        (
            range(0.0, None, 0.022),
            range(0.030, None, 0.064),
            "3.0 to 6.4 % of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost at most 2.2 % (measured on",
        ),
        (
            range(0.012, None, open),
            range(0.042, None, open),
            "at least 4.2 % of the CPU time of sh and its children.",
            "The direct cost is 3.0 to 4.2 %, and cold caches cost at least 1.2 % (measured on",
        ),
    ] {
        findings.all.indirect_share = Some(cold);
        findings.all.share = Some(share);
        has_all(&found(&findings, Style::default()), [whole, parts]);
    }
}

#[test]
fn the_check_that_failed_is_named() {
    let mut findings = analyse(&large());
    findings.matched = vec![matched(Outcome::Failed, Some(UnknownBecause::CheckFailed))];
    has(
        &found(&findings, Style::default()),
        "but the check \"work before\" failed; to measure it: `switchcost inject -- ",
    );
    has(&found(&findings, DETAILED), "check \"work before\": failed");
}

#[test]
fn a_cost_of_cold_caches_that_is_not_known_has_a_reason_and_a_next_step() {
    let mut observation = large();
    let reason = "at most 8 of 499 processes can be traced";
    observation.no_calls_because = Some(reason.to_owned());
    observation.subject = Subject::Processes(vec![1]);
    // The first process has ended, and the third switched most.
    observation.tasks[0].process = None;
    let causes = &mut observation.tasks[2].causes;
    causes.iter_mut().for_each(|cause| cause.switches *= 2);
    has(
        &words(&observation),
        "but at most 8 of 499 processes can be traced; to measure it: \
         `switchcost observe -p 3 -d 30s` or `switchcost inject -p 3 --work ...`.",
    );
    let findings = analyse(&observation);
    let style = Style::default();
    let json = render(&observation, &findings, By::Program, Format::Json, style);
    let json = crate::conformity::read(json);
    assert_eq!(json["all"]["indirect_unknown_because"], "not-traced");
    assert_eq!(json["no_calls_because"], reason);
    observation.tasks.truncate(1);
    has(
        &words(&observation),
        "to measure it in a new process: `switchcost observe -p PID -d 30s` or `switchcost inject -p PID --work ...`.",
    );
    // Without BPF programs a further observation traces no calls either.
    observation.source = Source::Perf;
    has(
        &words(&observation),
        "to measure it in a new process: `switchcost inject -p PID --work ...`.",
    );
    let traced = Observation {
        calls: Some(TracedCalls::default()),
        no_calls_because: None,
        ..observation.clone()
    };
    has(
        &words(&traced),
        "but the traced calls are not compared yet; ",
    );
    // Of a command that took 1 ms of CPU time, even `inject` finds nothing.
    observation.source = Source::Bpf;
    observation.subject = Subject::Command(vec!["ls".to_owned()]);
    observation.tasks[0].run_ns = Nanos(1_000_000);
    observation.window_ns = Nanos(2_000_000);
    has(&words(&observation), "; observe a longer run.");
    observation.source = Source::Perf;
    lacks(&words(&observation), "; observe a longer run.");
}

#[test]
fn calls_without_a_comparison_have_no_heading_and_lost_ones_are_counted() {
    let mut findings = analyse(&large());
    let mut uncompared = matched(Outcome::Passed, Some(UnknownBecause::TooFew));
    uncompared.checks.clear();
    findings.matched = vec![uncompared];
    (findings.calls_share, findings.calls_lost) = (Some(0.01), Some(1_200));
    let text = found(&findings, DETAILED);
    lacks(&text, "Cold caches of");
    has(
        &text,
        "took an estimated 1.0 % of the CPU time of the observed tasks; 1,200 calls were lost.",
    );
    findings.matched[0].waits = 1;
    has(
        &found(&findings, Style::default()),
        "but only one wait was traced; ",
    );
}

#[test]
fn what_takes_next_to_no_cpu_is_reported_in_time_a_second_and_without_advice() {
    let mut idle = small();
    idle.calibration = large().calibration;
    for tasks in &mut idle.tasks {
        tasks.run_ns = Nanos(idle.window_ns.0 / 1_000);
    }
    let text = words(&idle);
    has(&text, "of CPU time per second, which is negligible.");
    lacks(&text, "Try: ");
    // Without a price the time itself is shown.
    idle.calibration = None;
    has_all(&words(&idle), ["less than", "which is negligible."]);
}

#[test]
fn advice_on_waits_says_what_is_not_known_and_what_it_costs() {
    let waits_in = |call: &str| {
        let mut waits = large();
        let first = &mut waits.tasks[0];
        let entry = Entry::SystemCall(call.to_owned());
        first.causes = vec![Cause {
            entry,
            switches: first.voluntary,
            ..first.causes[0].clone()
        }];
        first.run_ns = Nanos(100_000_000);
        waits.tasks.truncate(1);
        waits.window_ns = Nanos(1_000_000_000);
        words(&waits)
    };
    for (call, advice) in [
        ("read", "Try: do more work per wake-up"),
        (
            "epoll_pwait",
            "Try: batch more work per wake-up if epoll_pwait usually returns data, \
             or use a longer time-out if not (at the price of latency)",
        ),
        (
            "clock_nanosleep",
            "Try: sleep longer (at the price of latency)",
        ),
    ] {
        let text = waits_in(call);
        has_all(
            &text,
            [
                advice,
                "; fewer system calls also save the time of the calls.",
            ],
        );
        assert_eq!(text.matches("Try: ").count(), 1, "{text}");
    }
}

#[test]
fn of_a_quota_the_time_of_the_group_is_not_said_to_be_that_of_the_observed() {
    let mut throttled = small();
    throttled.throttled = vec![Throttled {
        group: "build".to_owned(),
        times: 9,
        throttled_ns: Nanos(2_000_000_000),
        joined_after_ns: None,
    }];
    throttled.subject = Subject::Processes(vec![7]);
    throttled.source = Source::Bpf;
    throttled.waits = vec![Waits {
        process: 7,
        process_name: "worker".to_owned(),
        nobody_ns: Nanos(0),
        throttled_ns: Nanos(16_100_000),
        moved_ns: Nanos(0),
        others_ns: Nanos(0),
    }];
    has_all(
        &words(&throttled),
        [
            "kept tasks of this group, observed or not, from running for 2.00 s",
            "A larger quota saves the observed tasks at most the 16.1 ms that they waited for quotas",
        ],
    );
    throttled.waits.clear();
    has(
        &words(&throttled),
        "How long the observed tasks waited for it is unknown",
    );
    throttled.subject = Subject::Everything;
    has(&words(&throttled), "kept its tasks from running for 2.00 s");
}

#[test]
fn interrupts_that_are_much_of_the_cost_are_reported() {
    let mut preempted = large();
    let first = &mut preempted.tasks[0];
    first.causes = vec![Cause {
        why: Why::PreemptedByWoken,
        entry: Entry::Interrupt,
        ..first.causes[0].clone()
    }];
    preempted.tasks.truncate(1);
    has(
        &words(&preempted),
        "% of the direct cost is for timer interrupts",
    );
}

#[test]
fn a_program_is_called_what_it_is_called_at_the_beginning_of_a_sentence_too() {
    let command = |name: &str| Subject::Command(vec![name.to_owned()]);
    for (subject, name) in [
        (command("/bin/ls"), "ls"),
        (command("éa"), "éa"),
        (Subject::Processes(vec![7]), "Process 7"),
        (Subject::Processes(vec![7, 8]), "2 processes"),
        (
            Subject::ControlGroup("a.slice".to_owned()),
            "Control group a.slice",
        ),
        (Subject::Everything, "This machine's processes"),
    ] {
        let text = screen(&Observation {
            tasks: Vec::new(),
            pairs: Vec::new(),
            subject,
            ..small()
        });
        begins(&text, &format!("{name} did not switch"));
    }
}

#[test]
fn tasks_whose_speculation_is_restricted_are_named() {
    let mut observation = small();
    lacks(&words(&observation), "Speculation");
    observation.tasks[0].restricts_speculation = true;
    let name = &observation.tasks[0].name;
    has(
        &words(&observation),
        &format!("restricted for {name} (prctl"),
    );
}

#[test]
fn what_was_not_counted_is_reported_with_its_reason() {
    let reason = "found no right to load BPF programs";
    let proc = Observation {
        source: Source::Proc,
        not_counted_by: vec![reason.to_owned()],
        ..small()
    };
    has_all(&words(&proc), [reason, "(causes are unknown)"]);
}

#[test]
fn what_lost_records_and_looks_leave_out_is_reported_as_that() {
    let mut small = small();
    small.source = Source::Perf;
    small.lost.unfollowed = 900;
    has(
        &words(&small),
        "switches are known by the kernel's counters alone: a task gained rights",
    );
    small.lost.records = 1_000;
    let text = words(&small);
    has_all(
        &text,
        [
            "There was no room for 1,000 of the kernel's records: switches and CPU time are lower bounds from its counters",
            "alone: there was no room for their records, or a task",
        ],
    );
    let missing = "ended between two readings (10 per second) are missing";
    lacks(&text, missing);
    small.subject = Subject::ControlGroup("g".to_owned());
    has(&words(&small), missing);
    small.source = Source::Proc;
    small.lost.tasks = 70;
    small.tasks[0].voluntary = 10_000_000;
    has_all(
        &words(&small),
        [
            "There was no room for 70 tasks, or no time to see them",
            "Tasks that existed only between two readings (50 per second) are missing",
        ],
    );
}

#[test]
fn a_line_for_a_period_says_what_was_lost() {
    let mut small = small();
    (small.lost.tasks, small.lost.records) = (3, 40);
    let line = render_interval(&small, &analyse(&small), "2026-11-24T19:22:51Z");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&line["lost"]["tasks"], &line["lost"]["records"]),
        (&3.into(), &40.into())
    );
}

#[test]
fn every_cause_has_words() {
    let entries = [
        Entry::SystemCall("read".to_owned()),
        Entry::PageFault,
        Entry::Interrupt,
        Entry::Kernel,
        Entry::Other,
        Entry::Futex(FutexWait::Lock),
        Entry::Futex(FutexWait::Timed),
    ];
    for why in Why::variants() {
        for entry in &entries {
            let words = tables::reason(why, entry);
            assert!(!words.is_empty() && words.is_ascii(), "{words}");
        }
    }
    assert_eq!(
        tables::reason(Why::PreemptedByWoken, &entries[1]),
        "preempted by a woken task, in a page fault"
    );
}

#[test]
fn a_process_of_a_container_has_both_its_numbers_and_its_container() {
    let container = format!(
        "/system.slice/docker-{}.scope",
        "0123456789abcdef".repeat(4)
    );
    for (inside, group, label) in [
        (Some(7), Some(&container[..]), " = 7 in 0123456789ab"),
        (
            None,
            Some("/system.slice/nginx.service"),
            " in nginx.service",
        ),
        (Some(7), None, " = 7 in its own PID namespace"),
        (None, None, ""),
    ] {
        let mut observation = small();
        let tasks = &mut observation.tasks[0];
        (tasks.process, tasks.process_inside) = (Some(4711), inside);
        tasks.control_group = group.map(str::to_owned);
        let mut processes = analyse(&observation).processes.into_iter();
        let found = processes.find(|found| found.process.is_some());
        let found = found.expect("it has switched");
        assert_eq!(tables::container_name(&found), label);
    }
}

#[test]
fn everybody_is_listed_by_control_group_where_that_is_asked_for() {
    let mut all = large();
    for (at, tasks) in all.tasks.iter_mut().enumerate() {
        let name = ["nginx", "redis"][at % 2];
        tasks.control_group = Some(format!("/system.slice/{name}.service"));
    }
    let by = |by| render(&all, &analyse(&all), by, Format::Table, Style::default());
    has_all(
        &by(By::ControlGroup),
        ["Cost by control group", "\nnginx.service x "],
    );
    lacks(&by(By::Program), "nginx.service");
}

#[test]
fn a_long_wait_for_a_cpu_comes_before_the_cost() {
    let mut observation = small();
    let mut kept_waiting = |ms| {
        observation.pairs = vec![pair(1, "sh", "stress", Nanos::millis(ms))];
        words(&observation)
    };
    let text = kept_waiting(40);
    begins(&text, "In 0.043 s, the ");
    has(
        &text,
        " of this wait, stress ran. The direct cost of switches ",
    );
    begins(&kept_waiting(2), "The direct cost of switches ");
}
