use analysis::simulation::{Cost, Group, GroupFinding, over_orders, over_trials};
use switchcost_report::{Format, Style, simulate};

use super::fixture::{findings, record, whole};

const DETAILED: Style = Style { is_coloured: false, width: None, is_detailed: true };

fn table() -> String {
    let (head, findings) = whole();
    simulate::render(&head, &findings, Format::Table, DETAILED)
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(table());
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let text = table();
    assert!(text.contains("cat[2J,\"x\""), "{text}");
    assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text}");
}

#[test]
fn a_narrow_terminal_is_wide_enough() {
    let (head, findings) = whole();
    let style = Style { is_coloured: false, width: Some(80), is_detailed: true };
    let text = simulate::render(&head, &findings, Format::Table, style);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}\n{text}");
}

#[test]
fn a_trace_without_switches_answers_that() {
    let (mut head, _) = record();
    head.trace.voluntary_switches = 0;
    head.trace.involuntary_switches = 0;
    head.processes.iter_mut().for_each(|process| process.segments = 0);
    let findings = findings(&head, &[]);
    let text = simulate::render(&head, &findings, Format::Table, DETAILED);
    assert!(text.starts_with("Nothing can be said about switches: the trace holds none.\n"), "{text}");
    head.designs.clear();
    let text = simulate::render(&head, &super::fixture::findings(&head, &[]), Format::Table, DETAILED);
    assert!(text.starts_with("Nothing was simulated: the record holds no design.\n"), "{text}");
}

#[test]
fn a_cost_below_zero_is_not_called_a_price_and_a_number_alone_says_so() {
    let (head, mut findings) = whole();
    findings.designs.truncate(2);
    findings.designs[0].average_cost_cycles = findings.designs[0].average_cost_cycles.times(-1.0);
    findings.designs[0].lost_cycles = Cost::default();
    let text = simulate::render(&head, &findings, Format::Table, DETAILED).replace('\n', " ");
    let says = "On mogul-1a no cost of switches shows: together the processes need 19,100 cycles a switch less than each with \
                caches of its own, since they bring in lines that others use.";
    assert!(text.starts_with(says), "{text}");
    assert!(text.contains("19,100 cycles (no interval) of cache reloading"), "{text}");
}

#[test]
fn what_others_bring_in_may_outweigh_what_they_evict() {
    let (head, mut findings) = whole();
    let cost =
        |low, high| Cost { low: Some(low), high: Some(high), estimate: Some((low + high) / 2.0), ..Cost::default() };
    let design = &mut findings.designs[0];
    (design.lost_cycles, design.gained_cycles, design.average_cost_cycles) =
        (cost(3000.0, 5000.0), cost(5000.0, 7000.0), cost(-3000.0, -1000.0));
    let text = simulate::render(&head, &findings, Format::Table, DETAILED).replace('\n', " ");
    assert!(text.starts_with("A switch on mogul-1a costs 4,000 cycles (3,000 to 5,000) to reload"), "{text}");
    let rest =
        "Lines that others bring in save 6,000 cycles (5,000 to 7,000). Net: a gain of 2,000 cycles (1,000 to 3,000).";
    assert!(text.contains(rest), "{text}");
    findings.designs[0].average_cost_cycles = cost(-3000.0, 500.0);
    let text = simulate::render(&head, &findings, Format::Table, DETAILED).replace('\n', " ");
    assert!(text.contains("Net: less than 500 cycles."), "{text}");
}

#[test]
fn a_level_that_was_never_full_is_said_to_be_and_has_no_number() {
    let (head, mut findings) = whole();
    let level = &mut findings.designs[0].levels[1];
    assert!(level.was_full());
    (level.brought_in, level.mpki.as_mut().expect("instructions").shared) = (level.lines / 4, 87.6);
    for style in [Style::default(), DETAILED] {
        let text = simulate::render(&head, &findings, Format::Table, style).replace('\n', " ");
        assert!(
            text.contains("The trace is too short to fill L1D (25 %) of mogul-1a: what switches cost there"),
            "{text}"
        );
        assert!(!text.contains("475"), "{text}");
    }
    assert!(!simulate::render(&head, &findings, Format::Table, Style::default()).contains("87.6"));
}

#[test]
fn a_cause_whose_switches_gain_is_named_with_the_reason() {
    let (head, mut findings) = whole();
    let says = "a cost below 0 is a gain, here after involuntary: what one process brought in";
    let render = |findings: &_| simulate::render(&head, findings, Format::Table, DETAILED).replace("\n    ", " ");
    assert!(!render(&findings).contains("is a gain"));
    let is_involuntary = |group: &&mut GroupFinding| group.group == Group::Class("involuntary");
    let group = findings.designs[0].groups.iter_mut().find(is_involuntary).expect("a class");
    group.cost_cycles = group.cost_cycles.times(-1.0);
    let text = render(&findings);
    assert!(text.contains(says) && text.contains("fetch alone [mogul-1a]"), "{text}");
}

#[test]
fn several_trials() {
    let (head, first) = whole();
    let mut second = first.clone();
    second.designs[0].average_cost_cycles = second.designs[0].average_cost_cycles.times(1.1);
    let designs = over_trials(&[first.clone(), second.clone()], 0.9);
    let trials = [(&head, &first), (&head, &second)];
    insta::assert_snapshot!(simulate::render_trials(&trials, &designs, Format::Table, DETAILED));
    let json = simulate::render_trials(&trials, &designs, Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema"], "switchcost.simulate-trials/1");
    assert_eq!(json["trials"][1]["schema"], "switchcost.simulate/1");
    assert_eq!(json["designs"][0]["average_cost_cycles"]["n"], 2);
}

#[test]
fn one_screen() {
    let (head, findings) = whole();
    insta::assert_snapshot!(simulate::render(&head, &findings, Format::Table, Style::default()));
}

#[test]
fn the_screen_is_no_longer_and_no_wider_than_a_screen() {
    let (mut head, mut findings) = whole();
    findings.designs[0].code = vec![findings.designs[0].code[0].clone(); 30];
    for code in &mut findings.designs[0].code {
        code.place = "a_function_with_a_name::that<is, longer>::than::any_screen_is_wide".repeat(3);
    }
    // As many levels, causes and programs as a machine of today and a busy trace have.
    let design = &mut findings.designs[0];
    let levels = (0..4).flat_map(|_| design.levels.clone()).map(|mut level| {
        level.brought_in = level.lines - 1;
        level
    });
    design.levels.extend(levels.collect::<Vec<_>>());
    let causes = (0..6).map(|number| {
        let mut cause = design.groups.last().expect("a cause").clone();
        cause.group = Group::Cause(format!("voluntary syscall number_{number}"));
        cause.segments += number;
        cause
    });
    design.groups.extend(causes.collect::<Vec<_>>());
    let table = &mut design.evictions[0];
    table.programs = vec!["program".to_owned(); 7];
    table.lines = vec![vec![123_456; 7]; 7];
    for number in 0..20 {
        let mut design = findings.designs[0].clone();
        design.name = format!("design-{number}");
        findings.designs.push(design);
        head.designs.push(head.designs[0].clone());
    }
    for designs in [1, 2, 3, 20] {
        let mut some = findings.clone();
        some.designs.truncate(designs);
        let text = simulate::render(&head, &some, Format::Table, Style::default());
        assert!(text.lines().count() <= 57, "{}\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("Who evicts whom: lines of L1D in mogul-1a"), "{text}");
    }
}

#[test]
fn an_interval_that_covers_zero_is_told_as_a_bound() {
    let (head, mut findings) = whole();
    findings.designs[0].lost_cycles = Cost::default();
    let cost = &mut findings.designs[0].average_cost_cycles;
    (cost.low, cost.estimate, cost.high) = (Some(-7_850.0), Some(-1_000.0), Some(1_540.0));
    let text = simulate::render(&head, &findings, Format::Table, Style::default());
    assert!(text.starts_with("A switch costs less than 1,540 cycles of cache reloading on mogul-1a"), "{text}");
    assert!(text.contains("< 1,540") && !text.contains("not distinguishable"), "{text}");
}

/// The record under two quanta of one order, and under another order.
fn in_orders() -> Vec<(simulation_result::Simulation, analysis::simulation::Findings)> {
    let one = |order: &str, quantum, cycles: u64| {
        let (mut head, mut findings) = whole();
        (head.trace.order, head.trace.quantum_instructions) = (order.to_owned(), quantum);
        for design in &mut findings.designs {
            design.hierarchies.shared.cycles += cycles;
        }
        head.trace.involuntary_switches += cycles / 1000;
        (head, findings)
    };
    vec![
        one("round-robin", Some(400_000), 100_000),
        one("round-robin", Some(100_000), 900_000),
        one("batch:2\u{1b}", Some(400_000), 0),
    ]
}

#[test]
fn orders_stand_beside_each_other() {
    let records = in_orders();
    let pairs: Vec<_> = records.iter().map(|(head, findings)| (head, findings)).collect();
    let orders = over_orders(&pairs);
    let render = |format| simulate::render_orders("two.trace", &orders, format, Style::default());
    insta::assert_snapshot!(render(Format::Table));
    insta::assert_snapshot!(render(Format::Csv));
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).expect("JSON");
    assert_eq!((&json["schema"], &json["source"]), (&"switchcost.simulate-orders/1".into(), &"two.trace".into()));
    assert_eq!(json["orders"].as_array().map(Vec::len), Some(6));
    assert!(!render(Format::Json).contains('\u{1b}'));
}

#[test]
fn the_page_of_several_orders_has_their_curves() {
    let records = in_orders();
    let parts: Vec<_> = records
        .iter()
        .map(|(head, findings)| switchcost_report::html::Part::Simulated { name: "r", head, findings })
        .collect();
    let html = switchcost_report::html::render(&parts);
    for name in ["figure-all-cost-by-quantum", "figure-all-share-by-quantum"] {
        assert!(html.figures.iter().any(|figure| figure == name), "{name} of {:?}", html.figures);
    }
    // The same order twice is no choice of orders.
    let alike = switchcost_report::html::render(&[parts[0], parts[0]]);
    assert!(!alike.figures.iter().any(|figure| figure.contains("quantum")), "{:?}", alike.figures);
}

#[test]
fn a_last_level_shared_at_once_stands_beside_the_same_in_turn() {
    let counts = |shared| simulation_result::LastLevelCounts {
        design: "two\u{1b}".to_owned(),
        level: "L2".to_owned(),
        lookups: 12_345_678,
        alone: 1000,
        shared,
        miss_cycles: 200,
    };
    let pairs = [simulate::AtOnce { in_turn: counts(1900), at_once: counts(5100) }];
    let render = |format| simulate::render_at_once("two.sct", [400_000, 100], &pairs, format, Style::default());
    insta::assert_snapshot!(render(Format::Table));
    insta::assert_snapshot!(render(Format::Csv));
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).expect("JSON");
    assert_eq!(
        (&json["schema"], &json["at_once_instructions"]),
        (&"switchcost.simulate-at-once/1".into(), &100.into())
    );
    assert_eq!(json["designs"][0]["at_once"]["shared"], 5100);
}
