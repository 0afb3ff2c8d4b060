//! Tests the screen that a first-time reader sees without a manual.

use switchcost_analysis::{Findings, Verdict};
use switchcost_record::{Between, Mechanism, Policy};
use switchcost_report::{Format, Style, measure};

use super::fixture::*;
use super::recorded::record;
use crate::text::{begins, fits_screen, flat, has, has_all, has_in_order, lacks};

fn screen(findings: &Findings) -> String {
    measure::render(&record(), findings, Format::Table, Style::default())
}

/// Makes all findings of a default run, and one of a pipe under SCHED_OTHER.
fn default_run() -> Findings {
    let mut findings = whole();
    let mut ordinary = measured(case(Mechanism::Pipe, Between::Process), 2_130.0);
    ordinary.case.policy = Policy::Other;
    findings.results.push(ordinary);
    findings
}

#[test]
fn a_run_without_a_number_is_told_in_a_few_lines() {
    let missing = |mechanism| {
        let case = case(mechanism, Between::Process);
        not_measured(case, "only 3 usable repetitions of the 5 needed")
    };
    let mut all = findings(Mechanism::real().map(missing).collect());
    let text = screen(&all);
    begins(&text, "Nothing was measured.");
    lacks(&text, "─");
    assert!(text.lines().count() < 15, "{text}");
    all.results[0] = measured(case(Mechanism::Pipe, Between::Process), 2_000.0);
    has(&screen(&all), "─");
}

#[test]
fn a_default_run() {
    insta::assert_snapshot!(screen(&default_run()));
}

#[test]
fn where_nothing_was_measured_nothing_is_said_of_the_machine() {
    let mut findings = default_run();
    findings.results.iter_mut().for_each(|result| {
        result.verdict = Verdict::NotMeasured {
            why: "only 1 usable repetition of the 5 needed".to_owned(),
        };
    });
    let text = flat(&screen(&findings));
    has(&text, "0 of 14 costs were measured");
    lacks(&text, "No interference");
}

#[test]
fn it_is_no_longer_and_no_wider_than_a_screen() {
    let mut many = default_run();
    for size in 1..200 {
        many.results
            .push(walked(sized(2, 4 * size), 1_740.0, about(100.0)));
    }
    let few = |mut findings: Findings, kept: usize| {
        findings.results.truncate(kept);
        findings.curves.clear();
        findings
    };
    let reload = findings(reloads());
    for findings in [
        default_run(),
        many,
        few(default_run(), 1),
        few(default_run(), 0),
        reload,
        findings(pairs()),
    ] {
        let text = screen(&findings);
        // Four more lines, one of them empty, name the further output.
        fits_screen(&text, 41);
        lacks(&text, "NaN");
        lacks(&text, "inf ");
    }
}

/// The screen must answer six questions: the cost of a switch; process or thread; what the data
/// adds, and why; the effect of the scheduler; the share of a CPU; and the machine's fitness.
/// (Another test checks that the program names the raw data.)
#[test]
fn first_questions_are_answered_in_sentences() {
    let mut findings = default_run();
    for result in &mut findings.results {
        if let Some(indirect) = &result.indirect_ns {
            (result.indirect_kernel_ns, result.indirect_reload_ns) = (
                Some(about(indirect.estimate * 0.9)),
                Some(about(indirect.estimate * 0.1)),
            );
        }
    }
    if let Some(ordinary) = findings.results.last_mut() {
        ordinary.switches_per_handoff = Some(1.13);
    }
    has_all(
        &flat(&screen(&findings)),
        [
            "and a hand-off of 1.13 switches costs ",
            "A switch between processes over a pipe costs 1.74 us (1.73 to 1.75 at 90 % confidence",
            "Under SCHED_OTHER, the default for ordinary programs, a switch over a pipe costs 2.13 us",
            "switch path itself misses the cache",
            "10,000 switches per second take 1.74",
            "of 14 costs were measured",
            "processes",
            "threads",
        ],
    );
}

#[test]
fn what_is_wrong_comes_first_among_the_notes() {
    let mut findings = default_run();
    let missing = not_measured(
        case(Mechanism::Tcp, Between::Thread),
        "found loopback down; bring it up: ip link set lo up",
    );
    findings.results.insert(0, missing);
    has_in_order(
        &screen(&findings),
        [
            "a signal ended the run",
            "not measured: ",
            "bring it up: ip link set lo up",
        ],
    );
}

#[test]
fn each_missing_result_has_its_own_reason() {
    let missing = |mechanism, why| not_measured(case(mechanism, Between::Process), why);
    let mut results = vec![
        missing(Mechanism::Tcp, "loopback is down"),
        missing(Mechanism::PosixMq, "mq_open is not permitted"),
        missing(Mechanism::Signal, "loopback is down"),
        measured(case(Mechanism::Pipe, Between::Process), 2_000.0),
    ];
    let told = "not measured: tcp process and 1 more (loopback is down), posix-mq process (mq_open is not permitted)";
    has(&flat(&screen(&findings(results.clone()))), told);
    results.push(missing(Mechanism::Futex, "too few repetitions"));
    has(
        &flat(&screen(&findings(results))),
        &format!("{told}, 1 more for other reasons (--details)"),
    );
}
