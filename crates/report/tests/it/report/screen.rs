//! Tests the screen that a first-time reader sees without a manual.

use switchcost_analysis::{Findings, Verdict};
use switchcost_record::{Between, Mechanism, Policy};
use switchcost_report::{Format, Style, measure};

use super::fixture::*;
use super::recorded::record;

fn screen(findings: &Findings) -> String {
    measure::render(&record(), findings, Format::Table, Style::default())
}

/// Makes all findings of a default run, and the pipe under the ordinary scheduler.
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
    let all: Vec<_> = Mechanism::real().map(missing).collect();
    let text = screen(&findings(all.clone()));
    assert!(text.starts_with("Nothing was measured."), "{text}");
    assert!(text.lines().count() < 15 && !text.contains('─'), "{text}");
    let one = measured(case(Mechanism::Pipe, Between::Process), 2_000.0);
    let text = screen(&findings([vec![one], all[1..].to_vec()].concat()));
    assert!(text.contains('─'), "{text}");
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
    let text = screen(&findings).replace('\n', " ");
    assert!(
        text.contains("0 of 14 costs were measured") && !text.contains("No interference"),
        "{text}"
    );
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
        assert!(
            text.lines().count() <= 41,
            "{}\n{text}",
            text.lines().count()
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
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
    let text = screen(&findings).replace('\n', " ");
    for sentence in [
        "and a hand-off of 1.13 switches costs ",
        "A switch between processes over a pipe costs 1.74 us (1.73 to 1.75 at 90 % confidence",
        "Under SCHED_OTHER, the default for ordinary programs, it costs 2.13 us",
        "switch path itself misses the cache",
        "At 10,000 switches per second, this is 1.74",
        "of 14 costs were measured",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(
        text.contains("processes") && text.contains("threads"),
        "{text}"
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
    let text = screen(&findings);
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what:?} in {text}"))
    };
    assert!(
        at("a signal ended the run") < at("not measured: "),
        "{text}"
    );
    assert!(text.contains("bring it up: ip link set lo up"), "{text}");
}
