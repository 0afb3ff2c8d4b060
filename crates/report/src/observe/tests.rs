//! Tests on the record of a short observation, and on one with as many names as possible.

use std::path::Path;

use switchcost_analysis::observation::{
    Check, CheckName, Findings, MatchedIntervals, Outcome, Range, UnknownBecause, analyse,
};
use switchcost_record::observation::{
    Behind, Calibration, Cause, Cost, Entry, FutexWait, KnownBy, KnownPoint, KnownReload, Load,
    LongWait, Observation, OlderChildren, Pair, Reload, Source, Subject, Throttled, Waits, Why,
};
use switchcost_units::{Bytes, Nanos};

use super::{By, render};
use crate::{Format, Style};

fn small() -> Observation {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/observation_record/small");
    Observation::read(&path).expect("a record of this version")
}

fn cost(ns: f64) -> Cost {
    Cost {
        ns,
        low_ns: ns * 0.9,
        high_ns: ns * 1.1,
    }
}

fn load(size_bytes: Bytes, emptied: Option<f64>, in_order: f64) -> Load {
    Load {
        size_bytes,
        chase_ns: 10.0,
        emptied_ns: emptied,
        emptied_by_page_ns: emptied,
        in_order_ns: Some(in_order),
    }
}

/// Creates an observation with many entries of every kind, and a calibration.
pub(super) fn large() -> Observation {
    let mut large = small();
    let first = large.tasks.remove(0);
    let cause = |at: u64| Cause {
        why: Why::Blocked,
        entry: Entry::SystemCall(format!("a_system_call_with_a_long_name_{at}")),
        switches: 1000 - at,
        off_ns: Nanos(1_000_000),
        wait_ns: Nanos(1_000),
    };
    let named = |at: u32| switchcost_record::observation::Tasks {
        process: Some(at),
        name: format!("name of task {at}."),
        voluntary: 10_000,
        run_ns: Nanos(1_000_000_000),
        resident_bytes: Some(Bytes::mib(1)),
        causes: (0..40).map(cause).collect(),
        ..first.clone()
    };
    large.tasks = (1..500).map(named).collect();
    // Eight CPUs.
    large.window_ns = Nanos(60_000_000_000);
    let pair = |at: u32| Pair {
        process: at,
        process_name: format!("name of task {at}."),
        other: Some(9999),
        name: format!("neighbour {at}"),
        ran_ns: Nanos(1_000),
        runs: 3,
        preempted: 2,
        woke: 1,
        kept_waiting_ns: Nanos(500),
        kept_waiting: 2,
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
    large.calibration = Some(Calibration {
        measured_at: "2026-11-24T19:22:51.468684545Z".to_owned(),
        blocked: Some(cost(1500.0)),
        yielded: Some(cost(800.0)),
        preempted: Some(cost(8_000.0)),
        reloads: vec![Reload {
            size_bytes: Bytes::mib(1),
            walk_ns: 40_000.0,
            cost: cost(1200.0),
        }],
        loads: vec![
            load(Bytes::mib(1), Some(100.0), 1.0),
            load(Bytes::mib(64), None, 2.0),
        ],
    });
    large
}

fn screen(observation: &Observation) -> String {
    render(
        observation,
        &analyse(observation),
        By::Program,
        Format::Table,
        Style::default(),
    )
}

#[test]
fn children_that_were_there_before_and_do_the_work_are_named_with_how_to_observe_them() {
    let of = |processes, switches| {
        let older_children = Some(OlderChildren {
            processes,
            parents: vec![7, 9],
            switches,
        });
        let tasks = small().tasks;
        screen(&Observation {
            subject: Subject::Processes(vec![7, 8]),
            older_children,
            tasks,
            ..small()
        })
    };
    let text = of(1200, 1_000_000);
    let words = "1,200 existing children of 2 processes switched more often (1,000,000 times) but are not included. Include them:\n";
    let flat = text.replace('\n', " ");
    assert!(
        flat.contains(&words.replace(
            '\n',
            "   switchcost observe -p \"7,8 $(pgrep -P 7,9)\" -d 10s "
        )),
        "{text}"
    );
    assert!(of(1, 1_000_000).contains("1 existing child of 2 processes switched more often"));
    assert!(!of(1200, 0).contains("existing"), "what is idle is no loss");
}

#[test]
fn threads_of_runtimes_are_grouped_by_what_they_are() {
    let mut seen = small();
    let first = seen.tasks.remove(0);
    let named = |name: &str, count: u64| switchcost_record::observation::Tasks {
        process: Some(9),
        name: name.to_owned(),
        count,
        voluntary: 10_000,
        ..first.clone()
    };
    seen.tasks = vec![
        named("1_scheduler", 1),
        named("2_scheduler", 1),
        named("tokio-rt-worker", 4),
        named("redis", 1),
    ];
    let text = |is_detailed: bool| {
        let style = Style {
            is_detailed,
            ..Style::default()
        };
        render(&seen, &analyse(&seen), By::Program, Format::Table, style)
    };
    let screen = text(false).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains("threads of language runtimes: Erlang: schedulers x 2 ("),
        "{screen}"
    );
    assert!(
        screen.contains("*_scheduler x 2") && screen.contains("tokio: workers x 4 ("),
        "{screen}"
    );
    assert!(
        text(true).contains("Threads of language runtimes"),
        "its table is behind --details"
    );
}

#[test]
fn the_answer_fits_a_screen_however_much_there_is() {
    let large = large();
    let text = screen(&large);
    assert!(
        text.lines().count() <= 45,
        "{}\n{text}",
        text.lines().count()
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(
        text.contains("6 of 499") && text.contains("2026-11-24 at 19:22 UTC"),
        "{text}"
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(
            "20.0 ms by name of task 1 (2) at 0.001 s, 10.0 ms of them while neighbour 1 ran;"
        ),
        "{text}"
    );
    let style = Style {
        is_detailed: true,
        ..Style::default()
    };
    let all = render(&large, &analyse(&large), By::Program, Format::Table, style);
    assert!(
        all.contains("Cost by process") && all.lines().count() > 1_000,
        "everything is behind --details"
    );
}

#[test]
fn a_direct_cost_is_reported_as_a_range_with_what_is_likely() {
    let large = large();
    let found = analyse(&large);
    let direct = found.all.direct_share.expect("it is priced");
    assert!(direct.low < direct.likely.expect("known") && direct.likely < Some(direct.high));
    let text = screen(&large);
    assert!(
        text.starts_with("The direct cost of switches is ")
            && text.contains(" % (")
            && text.contains(" to "),
        "{text}"
    );
    // Without a price the switches are shown, with the statement that there is no price.
    let text = screen(&Observation {
        calibration: None,
        ..large
    });
    assert!(text.contains("because there is no calibration"), "{text}");
}

#[test]
fn a_cost_that_is_not_known_has_no_column() {
    let text = screen(&large());
    let heads = text.lines().find(|line| line.contains("switches/s"));
    let heads = heads.expect("a table").to_owned();
    let text = text.replace('\n', " ");
    let (answer, _) = text.split_once(" There were ").expect("an answer");
    assert!(
        answer.starts_with("The direct cost of switches is ")
            && answer.contains(" The additional cost of cold caches is unknown, because no system call was traced; to measure it: `switchcost inject -- sh "),
        "{answer}"
    );
    let has_others = ["total cost", "cold caches"]
        .iter()
        .any(|head| heads.contains(head));
    assert!(heads.contains("direct cost") && !has_others, "{heads}");
}

#[test]
fn what_inject_measured_is_named_and_its_record_is_among_the_details() {
    let mut known = large();
    known.started_at = "2026-11-24T01:00:00Z".to_owned();
    let point = |cost| KnownPoint {
        away_bytes: Bytes::kib(64),
        away_ns: Some(Nanos(1_000)),
        ran_ns: Nanos(1_000),
        cost,
    };
    known.known = vec![KnownReload {
        by: KnownBy::Inject,
        file: "gzip-injection.jsonl".to_owned(),
        command: vec!["gzip".to_owned(), "-c".to_owned()],
        measured_at: "2026-11-23T19:22:51Z".to_owned(),
        processes: known
            .tasks
            .iter()
            .filter_map(|tasks| tasks.process)
            .collect(),
        name: String::new(),
        points: vec![point(cost(100.0))],
        preemption: None,
    }];
    let text = screen(&known).replace('\n', " ");
    assert!(
        text.contains(" (by inject of `gzip -c`, yesterday, if others touch memory as fast)."),
        "{text}"
    );
    let style = Style {
        is_detailed: true,
        ..Style::default()
    };
    let all =
        render(&known, &analyse(&known), By::Program, Format::Table, style).replace("\n    ", " ");
    let named = "is from inject: gzip-injection.jsonl";
    assert!(all.contains(named), "{all}");
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

fn words(observation: &Observation, findings: &Findings, is_detailed: bool) -> String {
    let style = Style {
        is_detailed,
        ..Style::default()
    };
    let text = render(observation, findings, By::Program, Format::Table, style);
    text.replace("\n    ", " ").replace('\n', " ")
}

#[test]
fn matched_intervals_are_reported_with_what_they_are_of() {
    let observation = large();
    let mut findings = analyse(&observation);
    findings.matched = vec![matched(Outcome::Passed, None)];
    let all = &mut findings.all;
    all.likely_by = Some(KnownBy::Matched);
    all.direct_share = Some(Range {
        low: 0.030,
        likely: Some(0.036),
        high: 0.042,
    });
    let mut answer = |cold: Range, share: Range| {
        findings.all.indirect_share = Some(cold);
        findings.all.share = Some(share);
        words(&observation, &findings, false)
    };
    let cold = |low, likely, high| Range { low, likely, high };
    let open = f64::INFINITY;
    let cases = [
        (
            cold(0.020, Some(0.022), 0.024),
            cold(0.050, Some(0.058), 0.066),
            "5.8 % (5.0 to 6.6 %) of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost 2.2 % (2.0 to 2.4 %; measured on 96 % of the switches).",
        ),
        (
            cold(0.004, None, 0.022),
            cold(0.034, None, 0.064),
            "3.4 to 6.4 % of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost 0.40 to 2.2 % (measured on",
        ),
        (
            cold(0.0, None, 0.022),
            cold(0.030, None, 0.064),
            "3.0 to 6.4 % of the CPU time of sh and its children",
            "The direct cost is 3.6 %, and cold caches cost at most 2.2 % (measured on",
        ),
        (
            cold(0.012, None, open),
            cold(0.042, None, open),
            "at least 4.2 % of the CPU time of sh and its children.",
            "The direct cost is 3.0 to 4.2 %, and cold caches cost at least 1.2 % (measured on",
        ),
    ];
    for (cold, share, whole, parts) in cases {
        let text = answer(cold, share);
        assert!(text.contains(whole) && text.contains(parts), "{text}");
    }
}

#[test]
fn the_check_that_failed_is_named() {
    let observation = large();
    let mut findings = analyse(&observation);
    findings.matched = vec![matched(Outcome::Failed, Some(UnknownBecause::CheckFailed))];
    let failed = words(&observation, &findings, false);
    assert!(
        failed.contains(
            "because the check \"work before\" failed; to measure it: `switchcost inject -- "
        ),
        "{failed}"
    );
    let detailed = words(&observation, &findings, true);
    assert!(
        detailed.contains("check \"work before\": failed"),
        "{detailed}"
    );
}

#[test]
fn a_cost_of_cold_caches_that_is_not_known_has_a_reason_and_a_next_step() {
    let mut observation = large();
    observation.no_calls_because = Some("at most 8 of 499 processes can be traced".to_owned());
    let said = |observation: &Observation| words(observation, &analyse(observation), false);
    observation.subject = Subject::Processes(vec![1]);
    // The first process has ended, and the third switched most.
    observation.tasks[0].process = None;
    let causes = &mut observation.tasks[2].causes;
    causes.iter_mut().for_each(|cause| cause.switches *= 2);
    let step = "because at most 8 of 499 processes can be traced; to measure it: \
                `switchcost observe -p 3 -d 30s` or `switchcost inject -p 3 --work ...`.";
    let text = said(&observation);
    assert!(text.contains(step), "{text}");
    let json: serde_json::Value = serde_json::from_str(&render(
        &observation,
        &analyse(&observation),
        By::Program,
        Format::Json,
        Style::default(),
    ))
    .expect("JSON");
    assert_eq!(json["all"]["indirect_unknown_because"], "not-traced");
    assert_eq!(
        json["no_calls_because"],
        "at most 8 of 499 processes can be traced"
    );
    observation.tasks.truncate(1);
    let text = said(&observation);
    assert!(text.contains("observe -p PID -d 30s"), "{text}");
    // Of a command that took 1 ms of CPU time, even `inject` finds nothing.
    observation.subject = Subject::Command(vec!["ls".to_owned()]);
    observation.tasks[0].run_ns = Nanos(1_000_000);
    observation.window_ns = Nanos(2_000_000);
    let text = said(&observation);
    assert!(text.contains("; observe a longer run."), "{text}");
}

#[test]
fn calls_without_a_comparison_have_no_heading_and_lost_ones_are_counted() {
    let observation = large();
    let mut findings = analyse(&observation);
    let mut found = matched(Outcome::Passed, Some(UnknownBecause::TooFew));
    found.checks.clear();
    findings.matched = vec![found];
    (findings.calls_share, findings.calls_lost) = (Some(0.01), Some(1_200));
    let text = words(&observation, &findings, true);
    assert!(!text.contains("Cold caches of"), "{text}");
    let lost = "took an estimated 1.0 % of the CPU time; 1,200 calls were lost.";
    assert!(text.contains(lost), "{text}");
}

#[test]
fn what_takes_next_to_no_cpu_is_reported_in_time_a_second_and_without_advice() {
    let mut idle = small();
    idle.calibration = large().calibration;
    idle.tasks
        .iter_mut()
        .for_each(|tasks| tasks.run_ns = Nanos(idle.window_ns.0 / 1_000));
    let text = screen(&idle).replace('\n', " ");
    assert!(
        text.contains("of CPU time per second, which is negligible."),
        "{text}"
    );
    assert!(!text.contains("Try: "), "{text}");
    // Without a price the time itself is shown.
    let text = screen(&Observation {
        calibration: None,
        ..idle
    })
    .replace('\n', " ");
    assert!(
        text.contains("less than") && text.contains("which is negligible."),
        "{text}"
    );
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
        screen(&waits).replace('\n', " ")
    };
    let batches = "Try: do more work per wake-up";
    let reads = waits_in("read");
    assert!(reads.contains(batches), "{reads}");
    let polls = waits_in("epoll_pwait");
    assert!(
        !polls.contains(batches)
            && polls
                .contains("Try: batch more work per wake-up if epoll_pwait usually returns data"),
        "{polls}"
    );
    assert!(
        polls.contains("or use a longer time-out if not (at the price of latency)"),
        "{polls}"
    );
    let sleeps = waits_in("clock_nanosleep");
    assert!(
        sleeps.contains("Try: sleep longer (at the price of latency)"),
        "{sleeps}"
    );
    for text in [reads, polls, sleeps] {
        assert!(text.contains("; fewer system calls save more."), "{text}");
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
    let said = |of: &Observation| screen(of).replace('\n', " ");
    let text = said(&throttled);
    assert!(
        text.contains("kept tasks of this group, observed or not, from running for 2.00 s"),
        "{text}"
    );
    assert!(
        text.contains(
            "A larger quota saves the observed tasks at most the 16.1 ms that they waited for quotas"
        ),
        "{text}"
    );
    throttled.waits.clear();
    assert!(said(&throttled).contains("How long the observed tasks waited for it is unknown"));
    throttled.subject = Subject::Everything;
    assert!(said(&throttled).contains("kept its tasks from running for 2.00 s"));
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
    let text = screen(&preempted).replace('\n', " ");
    assert!(
        text.contains("% of the direct cost is for timer interrupts"),
        "{text}"
    );
}

#[test]
fn a_program_is_called_what_it_is_called_at_the_beginning_of_a_sentence_too() {
    let of = |subject| {
        screen(&Observation {
            tasks: Vec::new(),
            pairs: Vec::new(),
            subject,
            ..small()
        })
    };
    for (subject, begins) in [
        (
            Subject::Command(vec!["/bin/ls".to_owned()]),
            "ls did not switch",
        ),
        (Subject::Command(vec!["éa".to_owned()]), "éa did not switch"),
        (Subject::Processes(vec![7]), "Process 7 did not switch"),
        (Subject::Processes(vec![7, 8]), "2 processes did not switch"),
        (
            Subject::ControlGroup("a.slice".to_owned()),
            "Control group a.slice did not switch",
        ),
        (
            Subject::Everything,
            "This machine's processes did not switch",
        ),
    ] {
        let text = of(subject);
        assert!(text.starts_with(begins), "{text}");
    }
}

#[test]
fn who_never_switched_has_no_cost() {
    let nothing = Observation {
        tasks: Vec::new(),
        pairs: Vec::new(),
        ..small()
    };
    assert!(
        screen(&nothing).contains("did not switch"),
        "{}",
        screen(&nothing)
    );
}

#[test]
fn tasks_whose_speculation_is_restricted_are_named() {
    let mut observation = small();
    let named = format!("restricted for {} (prctl", observation.tasks[0].name);
    let note = |observation: &Observation| screen(observation).replace("\n    ", " ");
    assert!(!note(&observation).contains("Speculation"));
    observation.tasks[0].restricts_speculation = true;
    assert!(
        note(&observation).contains(&named),
        "{}",
        note(&observation)
    );
}

#[test]
fn what_was_not_counted_is_reported_with_its_reason() {
    let reason = "found no right to load BPF programs".to_owned();
    let proc = Observation {
        source: Source::Proc,
        not_counted_by: vec![reason.clone()],
        ..small()
    };
    let text = screen(&proc).replace('\n', " ").replace("    ", "");
    assert!(
        text.contains(&reason) && text.contains("(causes are unknown)"),
        "{text}"
    );
}

#[test]
fn what_lost_records_and_looks_leave_out_is_reported_as_that() {
    let mut small = small();
    small.source = Source::Perf;
    let words = |observation: &Observation| {
        screen(observation)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let gained = "switches are known by the kernel's counters alone: a task gained rights";
    small.lost.unfollowed = 900;
    assert!(words(&small).contains(gained), "{}", screen(&small));
    small.lost.records = 1_000;
    let lost = "There was no room for 1,000 of the kernel's records: switches and CPU time are lower bounds from its counters";
    let said = words(&small);
    assert!(
        said.contains(lost)
            && said.contains("alone: there was no room for their records, or a task"),
        "{said}"
    );
    let missing = "ended between two readings (10 per second) are missing";
    assert!(!said.contains(missing), "{said}");
    small.subject = Subject::ControlGroup("g".to_owned());
    assert!(words(&small).contains(missing), "{}", screen(&small));
    small.source = Source::Proc;
    small.lost.tasks = 70;
    let said = words(&small);
    assert!(
        said.contains("There was no room for 70 tasks, or no time to see them"),
        "{said}"
    );
    assert!(
        said.contains("Tasks that existed only between two readings (50 per second) are missing"),
        "{said}"
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
            let words = super::tables::reason(why, entry);
            assert!(!words.is_empty() && words.is_ascii(), "{words}");
        }
    }
    assert_eq!(
        super::tables::reason(Why::PreemptedByWoken, &entries[1]),
        "preempted by a woken task, in a page fault"
    );
}

#[test]
fn a_process_of_a_container_has_both_its_numbers_and_its_container() {
    let label = |inside, group: Option<&str>| {
        let mut observation = small();
        let tasks = &mut observation.tasks[0];
        (tasks.process, tasks.process_inside, tasks.control_group) =
            (Some(4711), inside, group.map(str::to_owned));
        let found = analyse(&observation);
        let found = found
            .processes
            .iter()
            .find(|found| found.process.is_some())
            .expect("it has switched");
        super::tables::container_name(found)
    };
    let id = "0123456789abcdef".repeat(4);
    assert_eq!(
        label(Some(7), Some(&format!("/system.slice/docker-{id}.scope"))),
        " = 7 in 0123456789ab"
    );
    assert_eq!(
        label(None, Some("/system.slice/nginx.service")),
        " in nginx.service"
    );
    assert_eq!(label(Some(7), None), " = 7 in its own PID namespace");
    assert_eq!(label(None, None), "");
}

#[test]
fn everybody_is_listed_by_control_group_where_that_is_asked_for() {
    let mut all = large();
    for (at, tasks) in all.tasks.iter_mut().enumerate() {
        tasks.control_group = Some(format!(
            "/system.slice/{}.service",
            ["nginx", "redis"][at % 2]
        ));
    }
    let by = |by| render(&all, &analyse(&all), by, Format::Table, Style::default());
    let groups = by(By::ControlGroup);
    assert!(
        groups.contains("Cost by control group") && groups.contains("\nnginx.service x "),
        "{groups}"
    );
    assert!(
        !by(By::Program).contains("nginx.service"),
        "{}",
        by(By::Program)
    );
}

#[test]
fn a_long_wait_for_a_cpu_comes_before_the_cost() {
    let mut observation = small();
    let waited = |ms| Pair {
        process: 1,
        process_name: "sh".to_owned(),
        other: Some(9999),
        name: "stress".to_owned(),
        ran_ns: Nanos(0),
        runs: 0,
        preempted: 0,
        woke: 0,
        kept_waiting_ns: Nanos::millis(ms),
        kept_waiting: 2,
    };
    observation.pairs = vec![waited(40)];
    let text = screen(&observation).replace('\n', " ");
    assert!(
        text.starts_with("In 0.043 s, the ")
            && text.contains(" of this wait, stress ran. The direct cost of switches "),
        "{text}"
    );
    observation.pairs = vec![waited(2)];
    assert!(screen(&observation).starts_with("The direct cost of switches "));
}
