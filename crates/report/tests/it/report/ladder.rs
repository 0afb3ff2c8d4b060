//! Tests the report of runtimes next to the kernel's threads.

use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::{
    Between, Case, Class, MeasureRecord, Mechanism, Policy, RuntimeCase, RuntimeRun, WarmUp,
};
use switchcost_report::html::{Part, render};
use switchcost_report::{Format, Style, measure};
use switchcost_units::{CpuId, Nanos};

use super::fixture::{
    about, bare, case, estimate, findings, measured, not_measured, sized, walked,
};
use super::recorded::record;
use crate::text::{DETAILED, fits_screen, flat, has, has_all};

fn of(runtime: &str, handoff: &str, class: Class, between: Between) -> Case {
    let runtime = RuntimeCase {
        runtime: runtime.to_owned(),
        handoff: handoff.to_owned(),
        class,
    };
    Case {
        runtime: Some(runtime),
        ..case(Mechanism::Runtime, between)
    }
}

/// Makes a result of a runtime, which has the cost of a hand-off, but no direct cost of a switch.
fn found(case: Case, ns: f64, kernel: f64) -> CaseFinding {
    CaseFinding {
        handoff_ns: Some(about(ns)),
        switches_per_handoff: Some(kernel),
        ..bare(case)
    }
}

fn with_data(case: Case, direct_ns: f64, ns: f64) -> CaseFinding {
    let working_set = sized(2, 256).working_set;
    CaseFinding {
        total_ns: Some(about(ns)),
        ..walked(
            Case {
                working_set,
                ..case
            },
            direct_ns,
            about(ns - direct_ns),
        )
    }
}

fn ladder() -> (MeasureRecord, Findings) {
    use Between::{Thread, User};
    let channel = of("go", "channel", Class::HandOff, User);
    let results = vec![
        measured(case(Mechanism::Fiber, User), 1.7),
        measured(case(Mechanism::Futex, Thread), 1_700.0),
        with_data(case(Mechanism::Futex, Thread), 1_700.0, 2_100.0),
        found(channel.clone(), 100.0, 0.0),
        with_data(channel.clone(), 100.0, 700.0),
        found(
            of("python", "threads", Class::HandOff, Thread),
            6_000.0,
            1.4,
        ),
        CaseFinding {
            handoff_ns: Some(estimate(-1.0, 0.5, 2.0)),
            ..found(of("cpp", "coroutine", Class::Swap, User), 1.0, 0.0)
        },
        not_measured(
            of("ocaml", "effect", Class::Swap, User),
            "OCaml 5 is not installed; opam install \u{1b}[2J",
        ),
    ];
    let mut record = record();
    record.header.plan.cases = results.iter().map(|found| found.case.clone()).collect();
    for case in &mut record.header.plan.cases {
        case.policy = Policy::Other;
    }
    let go = r#"{"name": "go", "version": "1.26", "program": "/usr/bin/go",
        "handoffs": [{"name": "channel", "words": "goroutine hand-off over a channel", "baseline": ""}]}"#;
    record.header.runtimes = vec![serde_json::from_str(go).expect("facts of a runtime")];
    let windows = (0..100).map(|at| WarmUp {
        at_ns: Nanos::millis(at),
        wall_ns: Nanos(if at < 20 { 900_000 } else { 100_000 }),
        handoffs: 1_000,
    });
    record.runtime_runs = vec![RuntimeRun {
        case: 3,
        repetition: 0,
        version: "go1.26".to_owned(),
        start_ns: Nanos::millis(12),
        warm_up: windows.collect(),
        collections: Some(3),
    }];
    (record, findings(results))
}

fn render_in(format: Format, style: Style) -> String {
    let (record, findings) = ladder();
    measure::render(&record, &findings, format, style)
}

/// Returns the words of the screen after `change` was applied to the results of the ladder.
fn said(change: impl FnOnce(&mut Vec<CaseFinding>)) -> String {
    let (record, mut findings) = ladder();
    change(&mut findings.results);
    let style = Style::default();
    flat(&measure::render(&record, &findings, Format::Table, style))
}

#[test]
fn one_screen() {
    let text = render_in(Format::Table, Style::default());
    fits_screen(&text, 45);
    insta::assert_snapshot!(text);
}

#[test]
fn across_two_cpus_it_is_reported_beside_threads_there() {
    let text = said(|results| {
        for (at, ns) in [(1, 9_000.0), (3, 300.0)] {
            let mut across = results[at].clone();
            across.handoff_ns = Some(about(ns));
            across.case.placement.cpus = vec![CpuId(0), CpuId(1)];
            results.push(across);
        }
    });
    has_all(
        &text,
        [
            "3 times as much. Across two CPUs, the first costs 300 ns (298 to 301), and the second 9.00 us (8.96 to 9.04), 30 times as much.",
            "go/channel, CPUs 0-1 300 ns",
        ],
    );
}

#[test]
fn on_a_page_each_class_has_its_figure_and_warm_ups_are_curves() {
    let (record, findings) = ladder();
    let html = render(&[Part::Measured {
        name: "run.jsonl",
        record: &record,
        findings: &findings,
        points: &[],
    }]);
    assert_eq!(
        html.figure_ids()[..3],
        [
            "figure-r1-ladder-hand-off",
            "figure-r1-ladder-swap",
            "figure-r1-warm-up"
        ]
    );
}

#[test]
fn how_many_times_one_costs_of_another_is_as_wide_as_both_are() {
    for (cost, words) in [
        (estimate(50.0, 100.0, 340.0), "5 to 34 times as much."),
        (
            estimate(1_500.0, 1_600.0, 1_700.0),
            "with no significant difference.",
        ),
        (estimate(3_400.0, 3_500.0, 3_600.0), "2 to 2.1 times less."),
    ] {
        let text = said(|results| results[3].handoff_ns = Some(cost));
        has(&text, &format!("(1.69 to 1.71), {words}"));
    }
}

#[test]
fn what_is_behind_one_screen_has_the_warm_up_and_the_collections() {
    has(
        &flat(&render_in(Format::Table, DETAILED)),
        "go/channel go1.26 12.0 ms 900 ns 100 ns 9.00 ms 3",
    );
}

#[test]
fn programs_find_which_runtime_it_is() {
    let json = crate::conformity::read(render_in(Format::Json, DETAILED));
    let result = &json["results"][3];
    assert_eq!(result["runtime"], "go");
    assert_eq!(result["runtime_handoff"], "channel");
    assert!(json["results"][0]["runtime"].is_null());
    let csv = render_in(Format::Csv, DETAILED);
    has(csv.lines().nth(4).expect("a row"), ",go,channel,");
}
