use switchcost_analysis::compare::{
    Arm, Change, ChangedSwitches, Cost, Dated, Ended, History, InTurns, Origin, Outcome, Pair,
    Quantity, Ratio, Request, RunSpread, Side, Step, Subject, Trend,
};
use switchcost_record::{Between, Case, Mechanism, Placement, Policy};
use switchcost_units::{CpuId, Nanos};

use super::*;

/// Makes a pair with a base of 1.70 us, and a new side of the ratio times 1.70 us.
fn pair(mechanism: Mechanism, outcome: Outcome) -> Pair {
    let case = Case::plain(
        mechanism,
        Between::Process,
        Placement::one_cpu(CpuId(1)),
        Policy::Fifo,
    );
    let cost = |ns: f64| {
        Some(Cost {
            value: ns,
            interval: Some((ns * 0.98, ns * 1.02)),
            records: 1,
        })
    };
    let ratio = match &outcome {
        Outcome::Compared { ratio, .. } => ratio.ratio,
        _ => 1.2,
    };
    Pair {
        subject: Subject::Case(case),
        new_case: None,
        quantity: Quantity::HandOff,
        is_suspect: false,
        suspect_records: Vec::new(),
        base: cost(1_700.0),
        new: cost(1_700.0 * ratio),
        outcome,
    }
}

fn compared(ratio: f64, verdict: Change) -> Outcome {
    Outcome::Compared {
        ratio: Ratio {
            ratio,
            low: ratio - 0.05,
            high: ratio + 0.05,
        },
        verdict,
    }
}

fn comparison() -> Comparison {
    comparison_with(None)
}

fn comparison_with(fail_above: Option<f64>) -> Comparison {
    let pairs = vec![
        pair(Mechanism::Pipe, compared(1.2, Change::Slower)),
        pair(Mechanism::Futex, compared(0.99, Change::NoDifferenceShown)),
        pair(
            Mechanism::Eventfd,
            Outcome::NotComparable {
                why: "the base record has no such case".to_owned(),
            },
        ),
    ];
    let (base, new) = (["a.jsonl".to_owned()], ["b.jsonl".to_owned()]);
    let request = Request {
        base: &base,
        new: &new,
        fail_above,
        ..Request::default()
    };
    let spread = RunSpread {
        share: 0.01,
        origin: Origin::Assumed,
    };
    Comparison {
        environment: vec![Difference {
            what: "kernel".to_owned(),
            base: vec!["Linux 6.1".to_owned()],
            new: vec!["Linux 6.18\u{1b}[31m".to_owned()],
            ..Difference::default()
        }],
        hertz: Some(3e9),
        ..Comparison::new(Basis::Runs, (pairs, 2), Some(spread), request)
    }
}

fn rendered(format: Format, fail_above: Option<f64>) -> String {
    styled(
        format,
        fail_above,
        Style {
            width: Some(120),
            is_detailed: true,
            ..Style::default()
        },
    )
}

fn styled(format: Format, fail_above: Option<f64>, style: Style) -> String {
    render(&comparison_with(fail_above), format, style)
}

#[test]
fn the_answer_comes_first_and_the_environment_before_the_costs() {
    let text = rendered(Format::Table, Some(0.05));
    assert!(text.starts_with("New is slower in 1 of 2 costs"), "{text}");
    let place = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("no '{words}' in {text}"))
    };
    assert!(place("kernel") < place("\npipe process "), "{text}");
    for words in [
        "1.200",
        "1.150 to 1.250",
        "slower",
        "none shown",
        ": not compared (the base record has no",
    ] {
        place(words);
    }
    place(
        "Runs are assumed to differ by 1 % (standard deviation) in addition to their own intervals",
    );
    place("converted to a core clock of 3.00 GHz");
    place("Grown by more than 5 %: pipe process (hand-off).");
    assert!(
        !text.contains('\u{1b}'),
        "a record's text reaches the terminal: {text:?}"
    );
}

/// Expects one sentence if one spread holds for all cases, and two if hand-offs across CPUs have
/// another spread.
#[test]
fn the_spread_across_cpus_is_said_beside_that_on_one() {
    let text = |across: Option<(f64, Origin)>| {
        let run_spread_across_cpus = across.map(|(share, origin)| RunSpread { share, origin });
        text_of(
            &Comparison {
                run_spread_across_cpus,
                ..comparison()
            },
            Style {
                width: Some(120),
                is_detailed: true,
                ..Style::default()
            },
            None,
        )
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
    };
    let one = "Runs are assumed to differ by 1 % (standard deviation) in addition to their own intervals; with more records of each \
               side this is measured.";
    let both = format!("{one} Hand-offs across CPUs are assumed to differ by 15 %.");
    assert!(
        text(Some((0.15, Origin::Assumed))).contains(&both),
        "{}",
        text(Some((0.15, Origin::Assumed)))
    );
    for alike in [None, Some((0.01, Origin::Assumed))] {
        assert!(
            text(alike).contains(one) && !text(alike).contains("across CPUs"),
            "{}",
            text(alike)
        );
    }
}

#[test]
fn junit_has_a_test_for_each_number_and_fails_those_beyond_the_limit() {
    let xml = junit(&comparison_with(Some(0.05)));
    assert!(
        xml.contains("<testsuites name=\"switchcost\" tests=\"3\" failures=\"1\" errors=\"1\">"),
        "{xml}"
    );
    for line in [
        "<testcase classname=\"hand-off\" name=\"pipe process\">\n      <failure type=\"grown\" message=\"grown by more than 5 %: 1.70 us, \
         now 2.04 us: 1.200 times (1.150 to 1.250), slower\"/>",
        "<error type=\"not-comparable\" message=\"the base record has no such case\"/>",
        "<property name=\"kernel\" value=\"Linux 6.1, now Linux 6.18",
    ] {
        assert!(xml.contains(line), "no {line} in {xml}");
    }
    assert!(!xml.contains('\u{1b}'), "{xml}");
    let unlimited = junit(&comparison());
    assert!(
        unlimited.contains("failures=\"0\""),
        "nothing is forbidden: {unlimited}"
    );
}

#[test]
fn junit_passes_no_number_in_which_the_limit_could_not_be_shown() {
    let mut blind = comparison_with(Some(0.01));
    let outcome = compared(1.02, Change::NoDifferenceShown);
    blind.pairs = vec![pair(Mechanism::Futex, outcome)];
    assert!(blind.is_blind_to_limit());
    let xml = junit(&blind);
    assert!(
        xml.contains("failures=\"0\" errors=\"1\"") && xml.contains("<error type=\"no-verdict\" "),
        "{xml}"
    );
}

#[test]
fn text_in_junit_ends_no_tag() {
    let mut odd = comparison();
    odd.environment[0].new = vec!["\"/><failure a='b'>&".to_owned()];
    assert!(
        junit(&odd).contains("now &quot;/&gt;&lt;failure a='b'&gt;&amp;\"/>"),
        "{}",
        junit(&odd)
    );
}

#[test]
fn markdown_is_a_table_with_what_differs_below() {
    let text = markdown(&comparison_with(Some(0.05)));
    assert!(text.starts_with("New is slower in 1 of 2 costs"), "{text}");
    for line in [
        "| pipe process | hand-off | 1.70 us | 2.04 us | 1.200 | 1.150 to 1.250 | slower |",
        "| | of | base | new | new/base | interval | difference |",
        "Grown by more than 5 %: pipe process (hand-off).",
        "<details><summary>What else differs</summary>",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let mut odd = comparison();
    odd.environment[0].new = vec!["a|b</details>`@x".to_owned()];
    assert!(
        markdown(&odd).contains("a\\|b&lt;/details&gt;\\`\\@x |"),
        "{}",
        markdown(&odd)
    );
}

fn in_turns(ended: Ended, detectable: Option<f64>) -> InTurns {
    InTurns {
        base: Arm::default(),
        new: Arm {
            wrapper: "perf stat --".to_owned(),
            undo: "true".to_owned(),
            ..Arm::default()
        },
        flags: vec!["--mechanism".to_owned(), "pipe".to_owned()],
        order: [Side::Base, Side::New, Side::New, Side::Base].to_vec(),
        seed: 1,
        folder: "ab".to_owned(),
        ended,
        elapsed_ns: Nanos::seconds(61),
        budget_ns: Nanos::seconds(60),
        detect: 0.02,
        power: 0.8,
        detectable,
        left: vec![Difference {
            what: "frequency governor".to_owned(),
            base: vec!["powersave".to_owned()],
            new: vec!["performance".to_owned()],
            ..Difference::default()
        }],
        complaints: vec!["the undo command 'true' failed (exit status: 1)".to_owned()],
        comparison: comparison(),
    }
}

#[test]
fn runs_in_turns_say_how_they_were_set_up_why_they_ended_and_what_they_left() {
    let text = render_in_turns(
        &in_turns(Ended::Budget, Some(0.031)),
        Format::Table,
        Style::default(),
    );
    for words in [
        "New is slower in 1 of 2 costs",
        "Stopped by the budget of 60.0 s: a change of 3.10 % or more would be detected",
        "the undo command 'true' failed (exit status: 1)",
        "Configurations: 2 runs of each, interleaved, in 61.0 s",
        "perf stat --",
        "frequency governor  powersave  performance",
        "full report: switchcost compare --details ab/base ab/new",
    ] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
    assert!(text.lines().count() <= 45, "{text}");
    insta::assert_snapshot!(text);
    let elsewhere = InTurns {
        folder: "my runs/ab".to_owned(),
        ..in_turns(Ended::Budget, None)
    };
    let text = render_in_turns(&elsewhere, Format::Table, Style::default());
    assert!(
        text.contains(
            "full report: switchcost compare --details 'my runs/ab/base' 'my runs/ab/new'\n"
        ),
        "{text}"
    );
    let open = render_in_turns(
        &in_turns(Ended::Power, None),
        Format::Table,
        Style::default(),
    );
    assert!(
        open.replace("\n    ", " ").contains("2.00 % was requested"),
        "{open}"
    );
}

/// Makes a history of three commits, of which the last is slower than the one before.
fn three_commits() -> History {
    let Subject::Case(case) =
        pair(Mechanism::Pipe, compared(1.0, Change::NoDifferenceShown)).subject
    else {
        panic!("a case")
    };
    let cost = |ns: f64| {
        Some(Cost {
            value: ns,
            interval: Some((ns * 0.98, ns * 1.02)),
            records: 3,
        })
    };
    let step = |ns, before, first| Step {
        cost: cost(ns),
        to_before: before,
        to_first: first,
    };
    let same = || Some(compared(1.0, Change::NoDifferenceShown));
    let slower = || Some(compared(1.2, Change::Slower));
    let dated = |name: &str| Dated {
        name: name.to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        records: 3,
    };
    History {
        states: ["v1", "v2", "v3"].map(dated).to_vec(),
        confidence: 0.9,
        comparisons: 3,
        hertz: None,
        fail_above: Some(0.05),
        grown: Some(1),
        trends: vec![Trend {
            case,
            quantity: Quantity::HandOff,
            steps: vec![
                step(2_000.0, None, None),
                step(2_000.0, same(), same()),
                step(2_400.0, slower(), slower()),
            ],
        }],
    }
}

#[test]
fn a_history_says_what_the_newest_is_like_and_each_step() {
    let text = render_history(&three_commits(), Format::Table, Style::default());
    for words in [
        "v3 against v2: slower in 1 of 1 cost. v3 against v1: slower in 1 of 1 cost. 1 cost has grown by more than 5 %.",
        "pipe process, hand-off: from state to state",
        "v3           3  2.40 us  1.200 (1.150 to 1.250)  1.200 (1.150 to 1.250)  slower than before",
    ] {
        let flat = text.replace("\n", " ");
        assert!(flat.contains(words), "no '{words}' in {text}");
    }
    let csv = render_history(&three_commits(), Format::Csv, Style::default());
    assert!(
        csv.contains("pipe process,hand-off,v3,2026-01-01T00:00:00Z,3,2400,2352,2448,1.2,1.15,1.25,1.2,1.15,1.25"),
        "{csv}"
    );
    let page = crate::html::render_history(&three_commits());
    assert_eq!(page.figures.len(), 1, "one figure");
}

#[test]
fn the_screen_has_what_changed_most_and_no_line_too_long() {
    let mut many = comparison_with(Some(0.05));
    for place in 0..40 {
        let mut pair = pair(
            Mechanism::Pipe,
            compared(1.0 + f64::from(place) / 100.0, Change::Slower),
        );
        if let Subject::Case(case) = &mut pair.subject {
            case.working_set.size_bytes = switchcost_units::Bytes(4096 << (place % 14));
            case.policy = if place % 2 == 0 {
                Policy::Fifo
            } else {
                Policy::Other
            };
        }
        many.pairs.push(pair);
    }
    many.compared += 40;
    let text = render(&many, Format::Table, Style::default());
    assert!(
        text.lines().count() <= 45 && text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(text.contains("--details"), "{text}");
    let first = text
        .lines()
        .find(|line| line.starts_with("pipe process") && line.contains("hand-off"))
        .expect("a row");
    assert!(
        first.contains("1.39") && first.ends_with("slower"),
        "{text}"
    );
    assert!(
        first.contains("policy "),
        "what distinguishes cases is named: {text}"
    );
    let few = styled(Format::Table, None, Style::default());
    assert!(
        few.contains("none shown") && few.contains("1 number is not compared: the base record"),
        "{few}"
    );
}

#[test]
fn json_says_the_same() {
    let value = crate::conformity::read(rendered(Format::Json, Some(0.3)));
    assert_eq!(value["schema"], "switchcost.compare/1");
    assert_eq!(value["slower_than_allowed"], 0);
    assert_eq!(value["environment"][0]["what"], "kernel");
    let pairs = value["pairs"].as_array().expect("a list");
    assert_eq!(
        (pairs[0]["outcome"].as_str(), pairs[0]["verdict"].as_str()),
        (Some("compared"), Some("slower"))
    );
    assert_eq!(pairs[0]["ratio"], 1.2);
    assert_eq!(
        (&pairs[0]["quantity"], &pairs[0]["base"]["low"]),
        (&"hand-off".into(), &1_666.0.into())
    );
    assert_eq!(pairs[2]["outcome"], "not-comparable");
    assert!(pairs[2]["ratio"].is_null());
}

#[test]
fn csv_has_a_row_for_each_pair() {
    let text = rendered(Format::Csv, None);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("mechanism,between,tasks,")
            && lines[0]
                .contains(",cpus,relation,policy,away_bytes,vector_state,xsave_bytes,quantity,")
    );
    assert!(
        lines[1].starts_with("pipe,process,2,0,") && lines[1].contains(",slower,"),
        "{}",
        lines[1]
    );
    assert!(
        lines[3].ends_with(",not comparable,the base record has no such case,"),
        "{}",
        lines[3]
    );
}

#[test]
fn a_share_is_said_as_it_was_given() {
    for (share, text) in [
        (0.07, "7 %"),
        (0.0004, "0.04 %"),
        (1.5, "150 %"),
        (0.0, "0 %"),
    ] {
        assert_eq!(words::percent(share), text);
    }
}

fn text_of(comparison: &Comparison, style: Style, fail_above: Option<f64>) -> String {
    render(
        &Comparison {
            fail_above,
            ..comparison.clone()
        },
        Format::Table,
        style,
    )
}

#[test]
fn where_nothing_can_be_compared_the_answer_says_why() {
    let mut none = comparison();
    none.pairs.drain(..2);
    none.compared = 0;
    let text = text_of(&none, Style::default(), None);
    assert!(
        text.starts_with("Nothing could be compared: the base record has no such case."),
        "{text}"
    );
}

#[test]
fn there_are_no_others_where_all_are_slower() {
    let mut all = comparison();
    all.pairs[1] = pair(Mechanism::Futex, compared(1.3, Change::Slower));
    let text = text_of(&all, Style::default(), None);
    assert!(
        text.starts_with("New is slower in both costs.") && !text.contains("others"),
        "{text}"
    );
    all.pairs.remove(1);
    all.compared = 1;
    let text = text_of(&all, Style::default(), None);
    assert!(
        text.starts_with("New is slower: pipe process takes 1.200 times as long (1.150 to 1.250)."),
        "{text}"
    );
}

#[test]
fn a_suspect_record_is_named() {
    for style in [
        Style::default(),
        Style {
            is_detailed: true,
            ..Style::default()
        },
    ] {
        let mut suspect = comparison();
        (
            suspect.pairs[0].is_suspect,
            suspect.pairs[0].suspect_records,
        ) = (true, vec!["b.jsonl".to_owned()]);
        let text = text_of(&suspect, style, None);
        assert!(
            text.contains("* suspect: see switchcost report b.jsonl"),
            "{text}"
        );
        assert!(!text_of(&comparison(), style, None).contains("suspect"));
    }
}

#[test]
fn another_number_of_switches_a_hand_off_is_a_finding() {
    let mut twice = comparison();
    let case = twice.pairs[1].case().expect("a case").clone();
    twice.switches.push(ChangedSwitches {
        case,
        base: 1.0,
        new: 2.0,
    });
    let text = text_of(
        &twice,
        Style {
            width: Some(200),
            ..Style::default()
        },
        None,
    );
    assert!(
        text.replace('\n', " ")
            .contains("A hand-off takes 2.00 switches instead of 1.00: futex process."),
        "{text}"
    );
}

fn calls_of(mechanism: Mechanism, verdict: Change) -> [Pair; 2] {
    [Quantity::Calls, Quantity::HandOffWithCalls].map(|quantity| Pair {
        quantity,
        ..pair(mechanism, compared(1.2, verdict))
    })
}

#[test]
fn what_system_calls_take_is_said_where_it_differs_and_always_of_runs_in_turns() {
    let style = Style {
        width: Some(200),
        ..Style::default()
    };
    let mut filtered = comparison();
    filtered.calls = calls_of(Mechanism::Pipe, Change::Slower).to_vec();
    let text = text_of(&filtered, style, None);
    for words in [
        "Per hand-off, system calls (in both arms, so not included) take 2.04 us instead of 1.70 us: 1.200 times (1.150 to 1.250), \
         slower. A hand-off with them takes 2.04 us",
        "System calls per hand-off: in both arms, so not included above",
        "hand-off with calls",
    ] {
        assert!(
            text.replace('\n', " ").contains(words),
            "no '{words}' in {text}"
        );
    }
    let csv = render(&filtered, Format::Csv, Style::default());
    assert!(
        csv.contains(",calls,ns,") && csv.contains(",hand-off-with-calls,ns,"),
        "{csv}"
    );
    filtered
        .calls
        .extend(calls_of(Mechanism::Futex, Change::NoDifferenceShown));
    let text = text_of(&filtered, style, None);
    assert!(
        text.replace('\n', " ")
            .contains("(in both arms, so not included) are slower in 1 of 2 cases."),
        "{text}"
    );
    let of_calls = |text: &str| {
        text.split("System calls per hand-off:")
            .nth(1)
            .is_some_and(|table| table.contains("futex process"))
    };
    assert!(
        !of_calls(&text)
            && of_calls(&text_of(
                &filtered,
                Style {
                    is_detailed: true,
                    ..style
                },
                None
            )),
        "{text}"
    );
    filtered.calls = calls_of(Mechanism::Pipe, Change::NoDifferenceShown).to_vec();
    assert!(
        !text_of(&filtered, style, None).contains("System calls"),
        "no difference"
    );
    let turns = InTurns {
        comparison: filtered,
        ..in_turns(Ended::Budget, None)
    };
    assert!(render_in_turns(&turns, Format::Table, style).contains("System calls per hand-off"));
}

#[test]
fn a_gate_that_found_nothing_says_what_it_could_have_shown() {
    let mut quiet = comparison();
    // 1.2 over 1.15, and 0.99 over 0.94.
    let text = |quiet: &Comparison, share| {
        text_of(
            quiet,
            Style {
                width: Some(200),
                ..Style::default()
            },
            Some(share),
        )
    };
    let found = text(&quiet, 0.3);
    assert!(found.contains(
        "than the limit of 30 %. Growth of 5.3 % or more would have been detected in each number."
    ));
    let found = text(&quiet, 0.5);
    assert!(!found.contains("is more than the limit"), "{found}");
    assert!(
        !text(&quiet, 0.0).contains("is more than the limit"),
        "whatever can be shown is more than nothing"
    );
    quiet.pairs.remove(0);
    let found = text(&quiet, 0.05);
    assert!(
        found.contains("Growth of 5.3 % or more would have been detected. For 1 of 1 numbers this is more than the limit"),
        "{found}"
    );
}
