use switchcost_analysis::simulation::{
    Cost, Findings, Group, GroupFinding, PricedLines, TimeLost, over_orders, over_trials,
};
use switchcost_design::result::{LastLevelCounts, PrivateBy, Simulation};
use switchcost_record::LEFT_OUT;
use switchcost_record::prices::Kind;
use switchcost_report::html::{Part, render};
use switchcost_report::{Format, Style, simulate};

use super::fixture::{findings, record, whole};
use crate::text::{DETAILED, begins, fits_screen, flat, has, has_all, is_harmless, lacks};

fn table(head: &Simulation, findings: &Findings, style: Style) -> String {
    simulate::render(head, findings, Format::Table, style)
}

/// Returns the words of the detailed report.
fn words(head: &Simulation, findings: &Findings) -> String {
    flat(&table(head, findings, DETAILED))
}

/// Returns the words of the screen.
fn screen(head: &Simulation, findings: &Findings) -> String {
    flat(&table(head, findings, Style::default()))
}

#[test]
fn a_whole_report() {
    let (head, findings) = whole();
    let text = table(&head, &findings, DETAILED);
    insta::assert_snapshot!(text);
    has(&text, "cat[2J,\"x\"");
    is_harmless(&text);
}

#[test]
fn a_narrow_terminal_is_wide_enough() {
    let (head, findings) = whole();
    let style = Style {
        width: Some(80),
        ..DETAILED
    };
    let text = table(&head, &findings, style);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}\n{text}");
}

#[test]
fn a_trace_without_switches_answers_that() {
    let mut head = record().0;
    (
        head.trace.voluntary_switches,
        head.trace.involuntary_switches,
    ) = (0, 0);
    for process in &mut head.processes {
        process.segments = 0;
    }
    begins(
        &table(&head, &findings(&head, &[]), DETAILED),
        "The cost of a switch is unknown, because the trace has no switch.\n",
    );
    head.designs.clear();
    begins(
        &table(&head, &findings(&head, &[]), DETAILED),
        "Nothing was simulated: the record holds no design.\n",
    );
}

fn cost(low: f64, high: f64) -> Cost {
    Cost {
        interval: Some((low, high)),
        estimate: Some(f64::midpoint(low, high)),
        ..Cost::default()
    }
}

/// Returns the words of the detailed report on one design with these net, lost and gained costs.
fn answer(net: Cost, lost: Cost, gained: Cost) -> String {
    let (head, mut findings) = whole();
    findings.designs.truncate(1);
    let design = &mut findings.designs[0];
    design.excess_cycles_per_switch = net.estimate;
    (
        design.average_cost_cycles,
        design.lost_cycles,
        design.gained_cycles,
    ) = (net, lost, gained);
    design.state_cycles = Cost {
        estimate: Some(0.0),
        ..cost(0.0, 0.0)
    };
    words(&head, &findings)
}

#[test]
fn the_headline_is_the_net_cost_in_words_that_fit_its_sign() {
    for (low, high, answer_begins) in [
        (
            -3000.0,
            -1000.0,
            "A switch saves 2,000 cycles (1,000 to 3,000) in cache misses on mogul-1a, ",
        ),
        (
            -3000.0,
            500.0,
            "A switch costs about 0 cycles (-3,000 to 500) in additional cache misses on mogul-1a. For each",
        ),
        (
            -500.0,
            3000.0,
            "A switch costs less than 3,000 cycles in additional cache misses on mogul-1a. For each",
        ),
    ] {
        let text = answer(cost(low, high), cost(3000.0, 5000.0), cost(5000.0, 7000.0));
        begins(&text, answer_begins);
        has(
            &text,
            " For each switch, reloading lines that other tasks evicted costs 4,000 cycles (3,000 to 5,000), and lines that \
             others loaded save 6,000.",
        );
    }
}

/// Tests with the numbers of a trace in which most time slices end before the lost lines are
/// reloaded.
#[test]
fn what_all_turns_pay_on_average_is_said_where_it_is_much_less_than_what_long_ones_pay() {
    let (head, mut findings) = whole();
    // The cost has 40 ns per cycle.
    findings.designs[0].long_turns = cost(14_000.0, 16_000.0);
    for (mean, is_said) in [(4_780.0, true), (18_900.0, false)] {
        findings.designs[0].excess_cycles_per_switch = Some(mean);
        let text = screen(&head, &findings);
        let (answer, _) = text.split_once(" All ").expect("an answer");
        let said = "averaged over all time slices, the cost is 4,780 cycles.";
        assert_eq!(answer.contains(said), is_said, "{answer}");
        assert_eq!(answer.contains("averaged over"), is_said, "{answer}");
        let long = "A switch costs 15,000 cycles (14,000 to 16,000)";
        assert_eq!(answer.starts_with(long), is_said, "{answer}");
        let row = "15,000 14,000 to 16,000 600 us";
        assert_eq!(text.contains(row), is_said, "{text}");
    }
}

#[test]
fn with_too_few_switches_the_answer_begins_with_what_to_type() {
    let (mut head, mut findings) = whole();
    let design = &mut findings.designs[0];
    design.groups[0].segments = 23;
    design.average_cost_cycles.interval = None;
    for style in [Style::default(), DETAILED] {
        begins(
            &flat(&table(&head, &findings, style)),
            "The cost has no confidence interval, because the trace has only 23 of the 40 time slices that are needed. Trace for \
             longer, or simulate shorter time slices (with which a switch costs less): switchcost simulate two.trace --quantum \
             150000 ",
        );
    }
    // A command that users copy contains the trace's name, whatever it is, and is never wrapped.
    for (source, command) in [
        (
            "my trace of two  programs, with a name that is too long for a line of the screen.sct",
            "'my trace of two  programs, with a name that is too long for a line of the screen.sct' --quantum 150000",
        ),
        ("-\u{1b}.sct", "$'./-\\033.sct' --quantum 150000"),
        (LEFT_OUT, "TRACE --quantum 150000"),
        ("live", "live --quantum 150000 -- COMMAND"),
    ] {
        head.trace.source = source.to_owned();
        has(
            &table(&head, &findings, Style::default()),
            &format!("\n  switchcost simulate {command}\n"),
        );
    }
}

#[test]
fn threads_of_one_process_are_said_to_count_as_one() {
    let (mut head, mut findings) = whole();
    head.processes[1].segments = 0;
    findings.threads = 3;
    let text = words(&head, &findings);
    begins(
        &text,
        "Switches cost nothing here, because the 4 threads of the trace's only process share its caches.",
    );
    has(&text, "--private-by task");
    findings.threads = 0;
    begins(
        &words(&head, &findings),
        "Switches cost nothing here, because the trace has a single process.",
    );
    (head.private_by, findings.private_by) = (PrivateBy::Task, PrivateBy::Task);
    let text = words(&head, &findings);
    begins(
        &text,
        "Switches cost nothing here, because the trace has a single task.",
    );
    has(&text, "2 tasks, ");
}

#[test]
fn a_level_that_was_never_full_is_said_to_be_and_has_misses_but_nothing_lost() {
    let (head, mut findings) = whole();
    let level = &mut findings.designs[0].levels[1];
    assert!(level.was_full);
    (level.most_held, level.was_full) = (level.lines / 4, false);
    level.mpki.as_mut().expect("instructions").shared = 87.6;
    for text in [screen(&head, &findings), words(&head, &findings)] {
        has(
            &text,
            "The trace is too short to fill L1D on some designs, so a switch evicts fewer lines there than in a longer run.",
        );
        lacks(&text, "475");
    }
    has(&words(&head, &findings), "87.6");
    // How many instructions fill a level is said where its growth shows it.
    findings.designs.truncate(1);
    findings.designs[0].levels[1].full_at_instructions = Some(2.5e9);
    has(
        &screen(&head, &findings),
        "in a longer run. At this rate, about 2,500,000,000 instructions would be enough.",
    );
    let level = &mut findings.designs[0].levels[1];
    (level.full_at_instructions, level.is_never_full) = (None, true);
    let text = screen(&head, &findings);
    begins(&text, "A switch");
    has(
        &text,
        "These programs leave L1D (25 % full) partly empty, so",
    );
}

#[test]
fn the_time_of_lost_lines_is_that_of_lines_with_a_price() {
    let (head, mut findings) = whole();
    let mut said = |unpriced, ns: [Option<f64>; 3], words: &str| {
        let [low_ns, likely_ns, high_ns] = ns;
        findings.designs[0].time_lost = Some(TimeLost {
            cpu_model: Some("X".to_owned()),
            low_ns,
            likely_ns,
            high_ns,
            cycles_ns: None,
            unpriced_share: Some(unpriced),
            lines: Vec::new(),
        });
        has(&screen(&head, &findings), words);
    };
    let ns = [1_200.0, 3_600.0, 8_600.0].map(Some);
    let times = "takes 3.60 us per switch on X (1.20 us if the CPU hides what it can, 8.60 us if it hides nothing).";
    said(0.0, ns, &format!(" Reloading the lost lines {times}"));
    let of_some = " The other lines have no measured price.";
    said(
        0.75,
        ns,
        &format!(" Reloading 25 % of the lost lines {times}{of_some}"),
    );
    said(
        1.0,
        [None; 3],
        " The time to reload the lost lines is unknown, because none has a measured price.",
    );
}

#[test]
fn unknown_dependences_of_loads_are_stated_with_their_times() {
    let (head, mut findings) = whole();
    let lines = |kind| PricedLines {
        found_alone: "L1D".to_owned(),
        missed: "L1D".to_owned(),
        kind,
        lines: 9.0,
        line_ns: None,
    };
    let mut said = |kind| {
        findings.designs[0].time_lost = Some(TimeLost {
            cpu_model: None,
            low_ns: None,
            likely_ns: None,
            high_ns: None,
            cycles_ns: None,
            unpriced_share: Some(1.0),
            lines: vec![lines(Kind::Gathered), lines(kind)],
        });
        words(&head, &findings)
    };
    let unknown = "It is unknown which loads the dependent loads wait for";
    has(&said(Kind::Dependent), unknown);
    lacks(&said(Kind::Chained), unknown);
}

#[test]
fn programs_that_need_the_last_level_of_this_machine_share_it_with_others() {
    let (head, mut findings) = whole();
    let design = &mut findings.designs[0];
    design.levels.truncate(2);
    design.levels[1].most_held = 3 * design.levels[0].lines;
    let words =
        " Other CPUs and guests use L1D, too, so a switch of these programs may cost much more.";
    lacks(&screen(&head, &findings), words);
    findings.designs[0].name = "host".to_owned();
    has(&screen(&head, &findings), words);
}

#[test]
fn a_cause_whose_switches_gain_is_named_with_the_reason() {
    let (head, mut findings) = whole();
    lacks(&words(&head, &findings), "is a gain");
    let is_involuntary = |group: &&mut GroupFinding| group.group == Group::Class("involuntary");
    let mut groups = findings.designs[0].groups.iter_mut();
    let group = groups.find(is_involuntary).expect("a class");
    group.cost_cycles = group.cost_cycles.times(-1.0);
    has(
        &words(&head, &findings),
        "mogul-1a: A cost below 0 is a gain (here after involuntary): a process finds lines",
    );
}

#[test]
fn several_trials() {
    let (head, first) = whole();
    let mut second = first.clone();
    second.designs[0].average_cost_cycles = second.designs[0].average_cost_cycles.times(1.1);
    let designs = over_trials(&[first.clone(), second.clone()], 0.9);
    let trials = [(&head, &first), (&head, &second)];
    insta::assert_snapshot!(simulate::render_trials(
        &trials,
        &designs,
        Format::Table,
        DETAILED
    ));
    let json = simulate::render_trials(&trials, &designs, Format::Json, Style::default());
    let json = crate::conformity::read(json);
    assert_eq!(json["schema"], "switchcost.simulate-trials/1");
    assert_eq!(json["trials"][1]["schema"], "switchcost.simulate/1");
    assert_eq!(json["designs"][0]["average_cost_cycles"]["n"], 2);
}

#[test]
fn one_screen() {
    let (head, findings) = whole();
    insta::assert_snapshot!(table(&head, &findings, Style::default()));
}

#[test]
fn the_screen_is_no_longer_and_no_wider_than_a_screen() {
    let (mut head, mut findings) = whole();
    let design = &mut findings.designs[0];
    design.code = vec![design.code[0].clone(); 30];
    for code in &mut design.code {
        code.place = "a_function_with_a_name::that<is, longer>::than::any_screen_is_wide".repeat(3);
    }
    // The numbers of levels, causes and programs are those of a present machine and a busy trace.
    let [first, second] = [0, 1].map(|at| design.levels[at].clone());
    for number in 0..8 {
        let mut level = if number % 2 == 0 {
            first.clone()
        } else {
            second.clone()
        };
        level.most_held = level.lines / 2;
        level.level = format!("L{number}TLB");
        design.levels.push(level);
    }
    let cause = design.groups.last().expect("a cause").clone();
    for number in 0..6 {
        design.groups.push(GroupFinding {
            group: Group::Cause(format!("voluntary syscall number_{number}")),
            segments: cause.segments + number,
            ..cause.clone()
        });
    }
    let evictions = &mut design.evictions[0];
    evictions.programs = vec!["program".to_owned(); 7];
    evictions.lines = vec![vec![123_456; 7]; 7];
    let design = design.clone();
    for number in 0..20 {
        let mut design = design.clone();
        design.name = format!("design-{number}");
        findings.designs.push(design);
        head.designs.push(head.designs[0].clone());
    }
    for designs in [1, 2, 3, 20] {
        let mut some = findings.clone();
        some.designs.truncate(designs);
        fits_screen(&table(&head, &some, Style::default()), 30);
        // The notes are longer: levels that were never filled, and longer names.
        some.threads = 2;
        for design in &mut some.designs {
            design.name = format!("a-longer-name-of-{}", design.name);
            for level in &mut design.levels {
                level.was_full = false;
            }
        }
        let text = table(&head, &some, Style::default());
        assert!(text.lines().count() <= 30, "{text}");
    }
}

/// Makes variants `base[...]` of one design, each with another number of misses.
fn varied<T: std::fmt::Display>(fields: impl IntoIterator<Item = T>) -> (Simulation, Findings) {
    let (head, mut findings) = whole();
    let design = findings.designs[0].clone();
    findings.designs.clear();
    for (number, fields) in (1..).zip(fields) {
        let mut variant = design.clone();
        variant.name = format!("base[L1D.size={fields}]");
        let misses = variant.levels[1].mpki.as_mut();
        misses.expect("instructions").shared = 10.0 * f64::from(number);
        findings.designs.push(variant);
    }
    (head, findings)
}

#[test]
fn a_sweep_has_a_row_a_value_or_a_matrix_of_two_fields() {
    let has_row = |text: &str, cells: &[&str]| {
        let is_it = |line: &str| line.split_whitespace().eq(cells.iter().copied());
        assert!(text.lines().any(is_it), "no {cells:?} in {text}");
    };
    let (head, findings) = varied(["8KiB", "16KiB", "32KiB", "64KiB"]);
    let text = table(&head, &findings, Style::default());
    has(&text, "base by L1D.size: ");
    lacks(&text, "By cause");
    has_row(&text, &["32KiB", "1.27", "30.0", "19,100"]);
    let (head, findings) = varied([
        "8KiB,L1D.ways=1",
        "8KiB,L1D.ways=2",
        "16KiB,L1D.ways=1",
        "16KiB,L1D.ways=2",
    ]);
    for style in [Style::default(), DETAILED] {
        let text = table(&head, &findings, style);
        has_all(
            &text,
            ["L1D MPKI of base: L1D.size by L1D.ways", "CPI of base"],
        );
        has_row(&text, &["16KiB", "30.0", "40.0"]);
    }
    let html = render(&[part(&head, &findings)]);
    let ids = html.figure_ids();
    assert!(ids.contains(&"figure-r1-sweep-1-1-l1d-mpki"), "{ids:?}");
}

#[test]
fn a_sweep_of_many_values_is_no_longer_than_a_screen() {
    let fields = (0..400).map(|n| format!("{}KiB,L1I.miss_cycles={}", 1 + n / 20, n % 20));
    let (head, findings) = varied(fields);
    fits_screen(&table(&head, &findings, Style::default()), 30);
}

fn part<'a>(head: &'a Simulation, findings: &'a Findings) -> Part<'a> {
    Part::Simulated {
        name: "r",
        head,
        findings,
    }
}

/// Makes the record under two quanta of one order, and under another order.
fn in_orders() -> [(Simulation, Findings); 3] {
    [
        ("round-robin", 400_000, 100_000),
        ("round-robin", 100_000, 900_000),
        ("batch:2\u{1b}", 400_000, 0),
    ]
    .map(|(order, quantum, cycles)| {
        let (mut head, mut findings) = whole();
        (head.trace.order, head.trace.quantum_instructions) = (order.to_owned(), Some(quantum));
        for design in &mut findings.designs {
            design.hierarchies.shared.cycles += cycles;
        }
        head.trace.involuntary_switches += cycles / 1000;
        (head, findings)
    })
}

#[test]
fn orders_stand_beside_each_other() {
    let records = in_orders();
    let pairs = records.each_ref().map(|(head, findings)| (head, findings));
    let orders = over_orders(&pairs);
    let render = |format| simulate::render_orders("two.trace", &orders, format, Style::default());
    insta::assert_snapshot!(render(Format::Table));
    insta::assert_snapshot!(render(Format::Csv));
    is_harmless(&render(Format::Json));
    let json = crate::conformity::read(render(Format::Json));
    assert_eq!(json["schema"], "switchcost.simulate-orders/1");
    assert_eq!(json["source"], "two.trace");
    assert_eq!(json["orders"].as_array().map(Vec::len), Some(6));
}

#[test]
fn the_page_of_several_orders_has_their_curves() {
    let records = in_orders();
    let parts = records
        .each_ref()
        .map(|(head, findings)| part(head, findings));
    let html = render(&parts);
    let ids = html.figure_ids();
    for name in ["figure-all-cost-by-quantum", "figure-all-share-by-quantum"] {
        assert!(ids.contains(&name), "{name} of {ids:?}");
    }
    // Each is called by its quantum.
    has(&html.page, "round-robin, quantum 100,000 instructions (r)");
    // A report with the same order twice has no choice of orders.
    let alike = render(&[parts[0], parts[0]]);
    lacks(&alike.figure_ids().join(" "), "quantum");
}

#[test]
fn a_last_level_shared_at_once_stands_beside_the_same_in_turn() {
    let counts = |shared, held| LastLevelCounts {
        design: "two\u{1b}".to_owned(),
        level: "L2".to_owned(),
        lookups: 12_345_678,
        alone: 1000,
        shared,
        miss_cycles: 200,
        lines: 1_000,
        held,
    };
    let render = |in_turn, at_once, format| {
        let pairs = [simulate::AtOnce { in_turn, at_once }];
        simulate::render_at_once("two.sct", [400_000, 100], &pairs, format, Style::default())
    };
    let full = |format| render(counts(1900, 1_000), counts(5100, 1_000), format);
    insta::assert_snapshot!(full(Format::Table));
    insta::assert_snapshot!(full(Format::Csv));
    let json = crate::conformity::read(full(Format::Json));
    assert_eq!(json["schema"], "switchcost.simulate-at-once/1");
    assert_eq!(json["at_once_instructions"], 100);
    assert_eq!(json["designs"][0]["at_once"]["shared"], 5100);
    // A level that was never full shares nothing.
    let short = render(counts(1000, 280), counts(1000, 280), Format::Table);
    begins(
        &flat(&short),
        "The trace is too short to fill the L2 of design two (28 % full), so the cost of sharing it is unknown. Trace for longer.",
    );
}
