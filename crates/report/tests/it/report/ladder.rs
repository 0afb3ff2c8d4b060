//! Tests the report of runtimes next to the kernel's threads.

use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::{
    Between, Case, Class, HandoffFacts, MeasureRecord, Mechanism, Policy, RuntimeCase,
    RuntimeFacts, RuntimeRun, WarmUp,
};
use switchcost_report::html::{Part, render};
use switchcost_report::{Format, Style, measure};
use switchcost_units::{Bytes, CpuId, Nanos};

use super::fixture::{about, bare, case, estimate, findings, measured, not_measured, walked};
use super::recorded::record;

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

/// Makes a result of a runtime, which has no switches of its own to be priced.
fn found(case: Case, ns: f64, kernel: f64) -> CaseFinding {
    CaseFinding {
        handoff_ns: Some(about(ns)),
        switches_per_handoff: Some(kernel),
        ..bare(case)
    }
}

fn with_data(mut case: Case, ns: f64) -> CaseFinding {
    case.working_set.size_bytes = Bytes::kib(256);
    CaseFinding {
        total_ns: Some(about(ns)),
        ..walked(case, 100.0, about(ns - 100.0))
    }
}

fn ladder() -> (MeasureRecord, Findings) {
    use Between::{Thread, User};
    let channel = of("go", "channel", Class::HandOff, User);
    let results = vec![
        measured(case(Mechanism::Fiber, User), 1.7),
        measured(case(Mechanism::Futex, Thread), 1_700.0),
        with_data(case(Mechanism::Futex, Thread), 2_100.0),
        found(channel.clone(), 100.0, 0.0),
        with_data(channel.clone(), 700.0),
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
    let words = "goroutine hand-off over a channel".to_owned();
    let handoffs = vec![HandoffFacts {
        name: "channel".to_owned(),
        words,
        baseline: String::new(),
    }];
    let (name, version) = ("go".to_owned(), "1.26".to_owned());
    record.header.runtimes = vec![RuntimeFacts {
        name,
        version,
        program: "/usr/bin/go".to_owned(),
        handoffs,
    }];
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

fn text(is_detailed: bool) -> String {
    let (record, findings) = ladder();
    let style = Style {
        is_detailed,
        ..Style::default()
    };
    measure::render(&record, &findings, Format::Table, style)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_goroutine_is_reported_beside_a_thread_and_with_data() {
    let text = text(false);
    assert!(
        text.starts_with(
            "A goroutine hand-off over a channel costs 100.0 ns (99.5 to 100.5), and one between OS threads over a futex costs \
             1.70 us (1.69 to 1.71), 17 times as much. With 256 KiB of data each they cost 700 ns (696 to 703) and 2.10 us (2.09 to \
             2.11), 3 times as much."
        ),
        "{text}"
    );
}

#[test]
fn one_screen() {
    let (record, findings) = ladder();
    let text = measure::render(&record, &findings, Format::Table, Style::default());
    assert!(text.lines().count() <= 45, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn across_two_cpus_it_is_reported_beside_threads_there() {
    let (record, mut findings) = ladder();
    let across = |found: &CaseFinding, ns: f64| {
        let mut found = CaseFinding {
            handoff_ns: Some(about(ns)),
            ..found.clone()
        };
        found.case.placement.cpus = vec![CpuId(0), CpuId(1)];
        found
    };
    let rows = [
        across(&findings.results[1], 9_000.0),
        across(&findings.results[3], 300.0),
    ];
    findings.results.extend(rows);
    let text = measure::render(&record, &findings, Format::Table, Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "3 times as much. Across two CPUs they cost 300 ns (298 to 301) and 9.00 us (8.96 to 9.04), 30 times as much.";
    assert!(
        text.contains(said) && text.contains("go/channel, CPUs 0-1 300 ns"),
        "{text}"
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
    let said = |low: f64, middle: f64, high: f64| {
        let (record, mut findings) = ladder();
        findings.results[3].handoff_ns = Some(estimate(low, middle, high));
        measure::render(&record, &findings, Format::Table, Style::default())
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let wide = said(50.0, 100.0, 340.0);
    assert!(
        wide.contains("(1.69 to 1.71), 5 to 34 times as much."),
        "{wide}"
    );
    let alike = said(1_500.0, 1_600.0, 1_700.0);
    assert!(
        alike.contains("(1.69 to 1.71), with no significant difference."),
        "{alike}"
    );
    let dearer = said(3_400.0, 3_500.0, 3_600.0);
    assert!(
        dearer.contains("(1.69 to 1.71), 2 to 2.1 times less."),
        "{dearer}"
    );
}

#[test]
fn the_two_classes_are_never_in_one_table_and_each_is_in_the_order_of_its_cost() {
    let text = text(false);
    let at = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("no {words:?} in {text}"))
    };
    let order = [
        "Hand-off: the scheduler",
        "go/channel",
        "futex, thread",
        "python/threads",
        "Swap: a direct switch",
        "cpp/coroutine",
        "fiber, user",
    ];
    assert!(order.map(at).is_sorted(), "{text}");
    assert!(
        text.contains("python/threads 6.00 us 0.5 %")
            && text.contains("1.40 │·····│·····│·····│····█│"),
        "{text}"
    );
    assert!(text.contains("cpp/coroutine < 2.00 ns"), "{text}");
    assert!(
        text.contains("not measured: ocaml/effect (OCaml 5 is not installed; opam install [2J)"),
        "{text}"
    );
}

#[test]
fn what_is_behind_one_screen_has_the_warm_up_and_the_collections() {
    let text = text(true);
    assert!(
        text.contains("go/channel go1.26 12.0 ms 900 ns 100 ns 9.00 ms 3"),
        "{text}"
    );
}

#[test]
fn programs_find_which_runtime_it_is() {
    let (record, findings) = ladder();
    let json = measure::render(&record, &findings, Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let result = &json["results"][3];
    assert_eq!(
        (
            result["runtime"].as_str(),
            result["runtime_handoff"].as_str()
        ),
        (Some("go"), Some("channel"))
    );
    assert_eq!(json["results"][0]["runtime"], serde_json::Value::Null);
    let csv = measure::render(&record, &findings, Format::Csv, Style::default());
    assert!(
        csv.lines()
            .nth(4)
            .is_some_and(|row| row.contains(",go,channel,")),
        "{csv}"
    );
}
