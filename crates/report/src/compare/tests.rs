use switchcost_analysis::compare::{
    Arm, Change, ChangedSwitches, Cost, Dated, Ended, History, InTurns, Origin, Outcome, Pair,
    Quantity, Ratio, Request, RunSpread, Side, Step, Subject, Trend,
};
use switchcost_record::{Between, Case, Mechanism, Placement, Policy};
use switchcost_units::{CpuId, Nanos};

use super::*;
use crate::text::{
    DETAILED, begins, fits_screen, flat, has, has_all, has_in_order, is_harmless, lacks,
};

const WIDE: Style = Style {
    is_coloured: false,
    width: Some(200),
    is_detailed: false,
};

fn case(mechanism: Mechanism) -> Case {
    let placement = Placement::one_cpu(CpuId(1));
    Case::plain(mechanism, Between::Process, placement, Policy::Fifo)
}

fn cost(ns: f64) -> Option<Cost> {
    Some(Cost {
        value: ns,
        interval: Some((ns * 0.98, ns * 1.02)),
        records: 1,
    })
}

/// Makes a pair with 1.70 us in base. New is longer by the ratio of the outcome, or by a factor of
/// 1.2 if the outcome has no ratio.
fn pair(mechanism: Mechanism, outcome: Outcome) -> Pair {
    let ratio = match &outcome {
        Outcome::Compared { ratio, .. } => ratio.ratio,
        _ => 1.2,
    };
    Pair {
        subject: Subject::Case(case(mechanism)),
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

fn difference(what: &str, base: &str, new: &str) -> Difference {
    Difference {
        what: what.to_owned(),
        base: vec![base.to_owned()],
        new: vec![new.to_owned()],
        ..Difference::default()
    }
}

fn spread(share: f64) -> Option<RunSpread> {
    let origin = Origin::Assumed;
    Some(RunSpread { share, origin })
}

/// Makes a comparison of three pairs: slower, no difference shown, not comparable.
fn comparison(fail_above: Option<f64>) -> Comparison {
    let why = "the base record has no such case".to_owned();
    let pairs = vec![
        pair(Mechanism::Pipe, compared(1.2, Change::Slower)),
        pair(Mechanism::Futex, compared(0.99, Change::NoDifferenceShown)),
        pair(Mechanism::Eventfd, Outcome::NotComparable { why }),
    ];
    let (base, new) = (["a.jsonl".to_owned()], ["b.jsonl".to_owned()]);
    let request = Request {
        base: &base,
        new: &new,
        fail_above,
        ..Request::default()
    };
    Comparison {
        environment: vec![difference("kernel", "Linux 6.1", "Linux 6.18\u{1b}[31m")],
        hertz: Some(3e9),
        ..Comparison::new(Basis::Runs, (pairs, 2), spread(0.01), request)
    }
}

fn table(comparison: &Comparison, style: Style) -> String {
    render(comparison, Format::Table, style)
}

fn screen(comparison: &Comparison) -> String {
    table(comparison, Style::default())
}

#[test]
fn the_answer_comes_first_and_the_environment_before_the_costs() {
    let style = Style {
        width: Some(120),
        ..DETAILED
    };
    let text = table(&comparison(Some(0.05)), style);
    begins(&text, "New is slower in 1 of 2 costs");
    has_in_order(&text, ["kernel", "\npipe process "]);
    has_all(
        &text,
        [
            "1.200",
            "1.150 to 1.250",
            "slower",
            "none shown",
            ": not compared (the base record has no",
            "Runs are assumed to differ by 1 % (standard deviation) in addition to their own intervals",
            "converted to a core clock of 3.00 GHz",
            "Grown by more than 5 %: pipe process (hand-off).",
        ],
    );
    is_harmless(&text);
}

/// Expects one sentence if one spread holds for all cases, and two if hand-offs across CPUs have
/// another spread.
#[test]
fn the_spread_across_cpus_is_said_beside_that_on_one() {
    let one = "Runs are assumed to differ by 1 % (standard deviation) in addition to their own intervals; with more records of each \
               side this is measured.";
    for (across, other) in [
        (
            spread(0.15),
            " Hand-offs across CPUs are assumed to differ by 15 %.",
        ),
        (spread(0.01), ""),
        (None, ""),
    ] {
        let mut comparison = comparison(None);
        comparison.run_spread_across_cpus = across;
        let text = flat(&table(&comparison, DETAILED));
        has(&text, &format!("{one}{other}"));
        assert_eq!(text.contains("across CPUs"), !other.is_empty(), "{text}");
    }
}

#[test]
fn junit_has_a_test_for_each_number_and_fails_those_beyond_the_limit() {
    let xml = junit(&comparison(Some(0.05)));
    has_all(
        &xml,
        [
            "<testsuites name=\"switchcost\" tests=\"3\" failures=\"1\" errors=\"1\">",
            "<testcase classname=\"hand-off\" name=\"pipe process\">\n      <failure type=\"grown\" message=\"grown by more than 5 %: 1.70 us, \
             now 2.04 us: 1.200 times (1.150 to 1.250), slower\"/>",
            "<error type=\"not-comparable\" message=\"the base record has no such case\"/>",
            "<property name=\"kernel\" value=\"Linux 6.1, now Linux 6.18",
        ],
    );
    is_harmless(&xml);
    has(&junit(&comparison(None)), "failures=\"0\"");
}

#[test]
fn junit_passes_no_number_in_which_the_limit_could_not_be_shown() {
    let mut blind = comparison(Some(0.01));
    let outcome = compared(1.02, Change::NoDifferenceShown);
    blind.pairs = vec![pair(Mechanism::Futex, outcome)];
    assert!(blind.is_blind_to_limit());
    has_all(
        &junit(&blind),
        ["failures=\"0\" errors=\"1\"", "<error type=\"no-verdict\" "],
    );
}

#[test]
fn markdown_is_a_table_with_what_differs_below() {
    let text = markdown(&comparison(Some(0.05)));
    begins(&text, "New is slower in 1 of 2 costs");
    has_all(
        &text,
        [
            "| pipe process | hand-off | 1.70 us | 2.04 us | 1.200 | 1.150 to 1.250 | slower |",
            "| | of | base | new | new/base | interval | difference |",
            "Grown by more than 5 %: pipe process (hand-off).",
            "<details><summary>What else differs</summary>",
        ],
    );
}

#[test]
fn text_ends_no_tag_and_no_cell() {
    let mut odd = comparison(None);
    odd.environment = vec![difference("kernel", "", "\"/></details><x a='b'>&|`@x")];
    has(
        &junit(&odd),
        "now &quot;/&gt;&lt;/details&gt;&lt;x a='b'&gt;&amp;|`@x\"/>",
    );
    has(&markdown(&odd), "&lt;/details&gt;&lt;x a='b'&gt;");
    has(&markdown(&odd), "\\|\\`\\@x |");
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
        left: vec![difference("frequency governor", "powersave", "performance")],
        complaints: vec!["the undo command 'true' failed (exit status: 1)".to_owned()],
        comparison: comparison(None),
    }
}

#[test]
fn runs_in_turns_say_how_they_were_set_up_why_they_ended_and_what_they_left() {
    let text = |turns: &InTurns| render_in_turns(turns, Format::Table, Style::default());
    let mut turns = in_turns(Ended::Budget, Some(0.031));
    fits_screen(&text(&turns), 45);
    insta::assert_snapshot!(text(&turns));
    turns.folder = "my runs/ab".to_owned();
    has(
        &text(&turns),
        "full report: switchcost compare --details 'my runs/ab/base' 'my runs/ab/new'\n",
    );
    has(
        &flat(&text(&in_turns(Ended::Power, None))),
        "2.00 % was requested",
    );
}

/// Makes a history of three commits, of which the last is slower than the one before.
fn three_commits() -> History {
    let step = |ns, to_before: Option<Outcome>| Step {
        cost: cost(ns),
        to_first: to_before.clone(),
        to_before,
    };
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
            case: case(Mechanism::Pipe),
            quantity: Quantity::HandOff,
            steps: vec![
                step(2_000.0, None),
                step(2_000.0, Some(compared(1.0, Change::NoDifferenceShown))),
                step(2_400.0, Some(compared(1.2, Change::Slower))),
            ],
        }],
    }
}

#[test]
fn a_history_says_what_the_newest_is_like_and_each_step() {
    let history = three_commits();
    let text = render_history(&history, Format::Table, Style::default());
    has_all(
        &text.replace('\n', " "),
        [
            "v3 against v2: slower in 1 of 1 cost. v3 against v1: slower in 1 of 1 cost. 1 cost has grown by more than 5 %.",
            "pipe process, hand-off: from state to state",
            "v3           3  2.40 us  1.200 (1.150 to 1.250)  1.200 (1.150 to 1.250)  slower than before",
        ],
    );
    has(
        &render_history(&history, Format::Csv, Style::default()),
        "pipe process,hand-off,v3,2026-01-01T00:00:00Z,3,2400,2352,2448,1.2,1.15,1.25,1.2,1.15,1.25",
    );
    let page = crate::html::render_history(&history);
    assert_eq!(page.figures.len(), 1, "one figure");
}

#[test]
fn the_screen_has_what_changed_most_and_no_line_too_long() {
    let mut many = comparison(Some(0.05));
    for place in 0..40 {
        let mut case = case(Mechanism::Pipe);
        case.working_set.size_bytes = switchcost_units::Bytes(4096 << (place % 14));
        if place % 2 > 0 {
            case.policy = Policy::Other;
        }
        let outcome = compared(1.0 + f64::from(place) / 100.0, Change::Slower);
        many.pairs.push(Pair {
            subject: Subject::Case(case),
            ..pair(Mechanism::Pipe, outcome)
        });
    }
    many.compared += 40;
    let text = screen(&many);
    fits_screen(&text, 45);
    has(&text, "--details");
    let first = text
        .lines()
        .find(|line| line.starts_with("pipe process") && line.contains("hand-off"));
    let first = first.expect("a row");
    // What distinguishes cases is named.
    has_all(first, ["policy ", "1.39"]);
    assert!(first.ends_with("slower"), "{text}");
    has_all(
        &screen(&comparison(None)),
        ["none shown", "1 number is not compared: the base record"],
    );
}

#[test]
fn json_says_the_same() {
    let text = render(&comparison(Some(0.3)), Format::Json, DETAILED);
    let value = crate::conformity::read(text);
    for (place, expected) in [
        ("/schema", r#""switchcost.compare/1""#),
        ("/slower_than_allowed", "0"),
        ("/environment/0/what", r#""kernel""#),
        ("/pairs/0/outcome", r#""compared""#),
        ("/pairs/0/verdict", r#""slower""#),
        ("/pairs/0/ratio", "1.2"),
        ("/pairs/0/quantity", r#""hand-off""#),
        ("/pairs/0/base/low", "1666.0"),
        ("/pairs/2/outcome", r#""not-comparable""#),
        ("/pairs/2/ratio", "null"),
    ] {
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        let found = value.pointer(place).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{place}");
    }
}

#[test]
fn csv_has_a_row_for_each_pair() {
    let text = render(&comparison(None), Format::Csv, DETAILED);
    assert_eq!(text.lines().count(), 4);
    begins(&text, "mechanism,between,tasks,");
    has_in_order(
        &text,
        [
            ",cpus,relation,policy,",
            ",quantity,",
            "\npipe,process,2,0,",
            ",slower,",
            ",not comparable,the base record has no such case,\n",
        ],
    );
}

#[test]
fn a_share_is_said_as_it_was_given() {
    let texts = [0.07, 0.0004, 1.5, 0.0].map(words::percent);
    assert_eq!(texts, ["7 %", "0.04 %", "150 %", "0 %"]);
}

#[test]
fn where_nothing_can_be_compared_the_answer_says_why() {
    let mut none = comparison(None);
    none.pairs.drain(..2);
    none.compared = 0;
    begins(
        &screen(&none),
        "Nothing could be compared: the base record has no such case.",
    );
}

#[test]
fn there_are_no_others_where_all_are_slower() {
    let mut all = comparison(None);
    all.pairs[1] = pair(Mechanism::Futex, compared(1.3, Change::Slower));
    let text = screen(&all);
    begins(&text, "New is slower in both costs.");
    lacks(&text, "others");
    all.pairs.remove(1);
    all.compared = 1;
    begins(
        &screen(&all),
        "New is slower: pipe process takes 1.200 times as long (1.150 to 1.250).",
    );
}

#[test]
fn a_suspect_record_is_named() {
    let mut suspect = comparison(None);
    suspect.pairs[0].is_suspect = true;
    suspect.pairs[0].suspect_records = vec!["b.jsonl".to_owned()];
    for style in [Style::default(), DETAILED] {
        has(
            &table(&suspect, style),
            "* suspect: see switchcost report b.jsonl",
        );
        lacks(&table(&comparison(None), style), "suspect");
    }
}

#[test]
fn another_number_of_switches_a_hand_off_is_a_finding() {
    let mut twice = comparison(None);
    twice.switches.push(ChangedSwitches {
        case: case(Mechanism::Futex),
        base: 1.0,
        new: 2.0,
    });
    has(
        &flat(&screen(&twice)),
        "A hand-off takes 2.00 switches instead of 1.00: futex process.",
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
    let mut filtered = comparison(None);
    filtered.calls = calls_of(Mechanism::Pipe, Change::Slower).to_vec();
    let heading = "System calls per hand-off: in both arms, so not included above";
    has_all(
        &flat(&table(&filtered, WIDE)),
        [
            "Per hand-off, system calls (in both arms, so not included) take 2.04 us instead of 1.70 us: 1.200 times (1.150 to 1.250), \
             slower. A hand-off with them takes 2.04 us",
            heading,
            "hand-off with calls",
        ],
    );
    has_all(
        &render(&filtered, Format::Csv, WIDE),
        [",calls,ns,", ",hand-off-with-calls,ns,"],
    );
    filtered
        .calls
        .extend(calls_of(Mechanism::Futex, Change::NoDifferenceShown));
    has(
        &flat(&table(&filtered, WIDE)),
        "(in both arms, so not included) are slower in 1 of 2 cases.",
    );
    for style in [WIDE, DETAILED] {
        let text = flat(&table(&filtered, style));
        let (_, calls) = text.split_once(heading).expect("a table");
        assert_eq!(calls.contains("futex process"), style.is_detailed, "{text}");
    }
    filtered.calls = calls_of(Mechanism::Pipe, Change::NoDifferenceShown).to_vec();
    lacks(&table(&filtered, WIDE), "System calls");
    let turns = InTurns {
        comparison: filtered,
        ..in_turns(Ended::Budget, None)
    };
    has(
        &render_in_turns(&turns, Format::Table, WIDE),
        "System calls per hand-off",
    );
}

#[test]
fn a_gate_that_found_nothing_says_what_it_could_have_shown() {
    let text = |share| table(&comparison(Some(share)), WIDE);
    // 1.2 over 1.15, and 0.99 over 0.94.
    has(
        &text(0.3),
        "than the limit of 30 %. Growth of 5.3 % or more would have been detected in each number.",
    );
    for share in [0.5, 0.0] {
        lacks(&text(share), "is more than the limit");
    }
    let mut quiet = comparison(Some(0.05));
    quiet.pairs.remove(0);
    has(
        &table(&quiet, WIDE),
        "Growth of 5.3 % or more would have been detected. For 1 of 1 numbers this is more than the limit",
    );
}
