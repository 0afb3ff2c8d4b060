use switchcost_analysis::{CaseFinding, Findings, FlagName, LosesMore};
use switchcost_record::{Between, Fact, MeasureRecord, Mechanism, Policy, SelfTestOutcome};
use switchcost_report::{Format, Style, measure};

use super::fixture::*;
use super::recorded::{record, refused};
use crate::text::{DETAILED, begins, flat, has, is_harmless, lacks};

const COLOURED: Style = Style {
    is_coloured: true,
    ..DETAILED
};

fn table(findings: &Findings) -> String {
    measure::render(&record(), findings, Format::Table, DETAILED)
}

/// Returns the text from the line that begins with `heading` to the next empty line; `None` if no
/// line begins with it.
fn section(text: &str, heading: &str) -> Option<String> {
    let lines: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with(heading))
        .take_while(|l| !l.is_empty())
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the first paragraph of the detailed report on these results.
fn answer(results: Vec<CaseFinding>) -> String {
    let text = table(&findings(results));
    let (answer, _) = text.split_once("\n\n").unwrap_or((&text, ""));
    flat(answer)
}

/// Returns the text without `ESC [ ... m`.
fn strip_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, plain)| plain));
    let plain = rest.fold(first, |plain, part| plain + part);
    plain
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(table(&whole()));
}

#[test]
fn a_whole_report_on_a_narrow_terminal() {
    let style = Style {
        width: Some(80),
        ..DETAILED
    };
    let text = measure::render(&record(), &whole(), Format::Table, style);
    let widest = text
        .lines()
        .filter(|line| !line.starts_with("control refused"))
        .map(|line| line.chars().count())
        .max();
    assert!(widest <= Some(80), "{widest:?}\n{text}");
    insta::assert_snapshot!(text);
}

/// Tests with a clock like the counter-timer of an Arm machine, whose tick is longer than a reading
/// takes.
#[test]
fn a_clock_that_is_read_within_a_tick_of_its_own_is_not_read_in_no_time() {
    let mut record = record();
    record.header.clock.source = "cntvct".to_owned();
    record.header.clock.ticks_per_second = switchcost_units::TickRate(62_500_000);
    record.header.clock.read_cost = switchcost_units::Ticks(0);
    has(
        &measure::render(&record, &whole(), Format::Table, DETAILED),
        "clock cntvct at 62.5 MHz (read in less than 16.0 ns)",
    );
}

#[test]
fn only_a_coloured_report_escapes() {
    assert!(!table(&whole()).contains('\u{1b}'));
    let coloured = measure::render(&record(), &whole(), Format::Table, COLOURED);
    has(&coloured, "\u{1b}[1mNotes\u{1b}[0m");
    has(&coloured, "\u{1b}[1mmechanism");

    // The table library itself also heeds NO_COLOR, for its colours, but not for bold type.
    let yellow = "\u{1b}[38;5;11m";
    assert!(
        coloured.contains(yellow) || std::env::var_os("NO_COLOR").is_some(),
        "{coloured}"
    );
    assert_eq!(
        strip_escapes(&coloured),
        table(&whole()),
        "colour moves nothing"
    );
}

#[test]
fn no_negative_cost_and_no_nan_is_shown() {
    let mut findings = whole();
    findings.results.push(walked(
        sized(2, 8),
        f64::NAN,
        estimate(f64::NAN, f64::NAN, f64::INFINITY),
    ));
    findings.curves[0].points[0].total_ns = f64::NAN;
    findings.latencies_ns[0].load_ns = f64::NEG_INFINITY;
    let text = table(&findings);
    lacks(&text, "NaN");
    lacks(&text, "inf");
    let rows: Vec<_> = text.lines().filter(|line| line.contains(" -")).collect();
    let is_honest = |row: &&str| {
        row.contains("not distinguishable") || row.contains("below 0 (") || !row.contains(" -0.")
    };
    assert!(rows.iter().all(is_honest), "{rows:#?}");
}

#[test]
fn the_answer_falls_back_to_what_was_measured() {
    let futex = suspect(
        measured(case(Mechanism::Futex, Between::Thread), 1_100.0),
        FlagName::OutsideSanityBand,
        "",
    );
    let pipe = not_measured(
        case(Mechanism::Pipe, Between::Process),
        "pipe2 is not permitted; allow it",
    );
    assert_eq!(
        answer(vec![pipe.clone(), futex]),
        "A switch between threads through a futex costs 1.10 us (1.09 to 1.11 at 90 % confidence). \
         10,000 switches per second take 1.10 % of one CPU. The cost of the switch itself is suspect \
         (outside-sanity-band)."
    );
    assert_eq!(
        answer(vec![pipe]),
        "Nothing was measured. pipe process: pipe2 is not permitted; allow it."
    );
    assert_eq!(answer(vec![]), "Nothing was measured.");
    assert_eq!(
        answer(pairs().split_off(1)),
        "A hand-off between processes over a pipe (CPUs 0-1 (smt)) costs 2.40 us (2.39 to 2.41 at 90 % \
         confidence)."
    );
}

#[test]
fn what_is_suspect_of_the_data_alone_is_not_said_of_the_switch() {
    let small = suspect(
        walked(sized(2, 1), 1_740.0, about(19.0)),
        FlagName::AboveReloadBound,
        "",
    );
    let large = walked(sized(2, 64), 1_740.0, about(400.0));
    let text = answer(vec![small.clone(), large]);
    has(&text, "costs 1.74 us (");
    lacks(&text, "suspect");
    let text = answer(vec![small]);
    has(&text, "more (both suspect, see below).");
    lacks(&text, "itself");
}

#[test]
fn the_answer_says_where_there_is_no_cost_to_see() {
    let direct = CaseFinding {
        direct_ns: Some(estimate(-0.3, 0.05, 0.4)),
        ..bare(case(Mechanism::Fiber, Between::User))
    };
    assert_eq!(
        answer(vec![direct]),
        "A switch between user-level contexts by resuming a fiber has a cost that is not distinguishable from 0 \
         (-0.300 to 0.400 ns)."
    );
    let indirect = walked(sized(2, 64), 1_740.0, estimate(-312.0, 40.0, 402.0));
    assert_eq!(
        answer(vec![indirect]),
        "A switch between processes over a pipe costs 1.74 us (1.73 to 1.75 at 90 % confidence). With 64 KiB of \
         data each (stride 8 B, rmw) the indirect cost is not distinguishable from 0 (-312 to 402 ns). 10,000 switches per \
         second take 1.74 % of one CPU."
    );
}

#[test]
fn lmbench_is_shown_where_all_seven_are_there() {
    let heading = "Context switching as lmbench shows it";
    let mut results = lmbench();
    insta::assert_snapshot!(
        section(&table(&findings(results.clone())), heading).expect("the matrix")
    );
    results.pop();
    assert_eq!(section(&table(&findings(results)), heading), None);
}

#[test]
fn pairs_of_cpus_make_a_matrix() {
    let text = table(&findings(pairs()));
    insta::assert_snapshot!(section(&text, "Cost of a hand-off by CPUs").expect("the matrix"));
    let mechanisms = section(&text, "Switches by mechanism").expect("the result on one CPU");
    assert_eq!(
        mechanisms.matches("pipe").count(),
        1,
        "pairs stand in the matrix alone:\n{mechanisms}"
    );
}

#[test]
fn one_pair_stands_among_the_mechanisms() {
    let text = table(&findings(pairs().split_off(6)));
    assert_eq!(section(&text, "Cost of a hand-off by CPUs"), None);
    insta::assert_snapshot!(section(&text, "Switches by mechanism").expect("the table"));
}

#[test]
fn preemptions_have_no_hardware_counters_on_a_machine_that_has_them() {
    let preempted = case(Mechanism::Preempt, Between::Process);
    let results = findings(vec![measured(preempted, 2_050.0)]);
    let mut record = record();
    let text =
        |record: &MeasureRecord| flat(&measure::render(record, &results, Format::Table, DETAILED));
    let sentence = "no hardware counters for preempt, since they would count";
    lacks(&text(&record), sentence);
    for test in &mut record.self_tests {
        test.outcome = SelfTestOutcome::Admitted;
    }
    has(&text(&record), sentence);
}

#[test]
fn counters_stand_in_a_table() {
    let results = vec![CaseFinding {
        counters: counters(),
        ..walked(sized(2, 64), 1_740.0, about(655.0))
    }];
    insta::assert_snapshot!(section(&table(&findings(results)), "Counters").expect("the table"));
}

#[test]
fn conditions_that_vary_become_columns() {
    let mut other = sized(8, 64);
    other.policy = Policy::Other;
    let results = vec![
        walked(sized(2, 64), 1_740.0, about(655.0)),
        walked(other, 1_800.0, about(700.0)),
    ];
    insta::assert_snapshot!(
        section(&table(&findings(results)), "Switches with a working set").expect("the table")
    );
}

#[test]
fn hostile_text_does_not_reach_the_terminal() {
    let hostile = || "\u{1b}]0;owned\u{7}\u{9b}2J\r\nsecond line\u{202e}".to_owned();
    let mut record = record();
    let header = &mut record.header;
    header.host.kernel = hostile();
    header.host.cpu_model = Fact::Known(hostile());
    header.host.hypervisor = Fact::Known(hostile());
    header.started_at = hostile();
    header.plan.preset = hostile();
    header.clock.source = hostile();
    header.controls.push(refused(&hostile(), &hostile()));
    record.self_tests[1].instrument = hostile();
    let mut findings = whole();
    findings.results.extend([
        suspect(
            measured(case(Mechanism::Tcp, Between::Process), 9_000.0),
            FlagName::Disturbed,
            &hostile(),
        ),
        not_measured(case(Mechanism::Signal, Between::Process), &hostile()),
    ]);
    let curve = &mut findings.curves[0];
    (curve.title, curve.regions[0].name, curve.knees[0].cause) =
        (hostile(), hostile(), Some(hostile()));
    for format in [Format::Table, Format::Json, Format::Csv] {
        let text = measure::render(&record, &findings, format, DETAILED);
        is_harmless(&text);
        lacks(&text, "\nsecond line");
    }
}

#[test]
fn reloads_have_a_table_of_their_own() {
    let text = table(&findings(reloads()));
    insta::assert_snapshot!(section(&text, "Reload after a switch").expect("a section"));
    assert_eq!(section(&text, "Switches with a working set"), None);
    begins(
        &text,
        "A switch away and back costs a task with 1 MiB of data 22.7 us",
    );
}

#[test]
fn which_way_of_sharing_loses_more_comes_first() {
    let text = table(&shared_cache());
    let first = "Time-sharing one CPU loses more than running concurrently on two with 4 KiB and 512 KiB of data each. Running \
                 concurrently on two CPUs loses more than time-sharing one with 16 MiB of data each. With 512 KiB (stride 8 B, rmw) a \
                 traversal takes 80.0 us alone, 45.0 us more after a switch, and 300 ns more next to the other task: a difference of \
                 44.7 us (";
    begins(&flat(&text), first);
    insta::assert_snapshot!(
        section(&text, "A time-shared and a concurrently used cache").expect("a section")
    );
    // Concurrent walks are no switches, and are in no table of switches.
    let switches = section(&text, "Switches with a working set").expect("those in turn");
    lacks(&switches, "concurrent");
}

#[test]
fn what_is_not_compared_says_why_first() {
    let mut found = shared_cache();
    for one in &mut found.shared_cache {
        one.why = Some("the CPUs share their core".to_owned());
        one.in_turn_less_at_once_ns = None;
        one.loses_more = LosesMore::Inconclusive;
    }
    let text = table(&found);
    begins(
        &text,
        "Time-sharing and concurrent use were not compared: the CPUs share their core.",
    );
}
