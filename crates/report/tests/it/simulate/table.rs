use switchcost_analysis::simulation::{Cost, Group, GroupFinding, over_orders, over_trials};
use switchcost_design::result::PrivateBy;
use switchcost_record::LEFT_OUT;
use switchcost_report::{Format, Style, simulate};

use super::fixture::{findings, record, whole};

const DETAILED: Style = Style {
    is_coloured: false,
    width: None,
    is_detailed: true,
};

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
    assert!(
        !text
            .chars()
            .any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')),
        "{text}"
    );
}

#[test]
fn a_narrow_terminal_is_wide_enough() {
    let (head, findings) = whole();
    let style = Style {
        is_coloured: false,
        width: Some(80),
        is_detailed: true,
    };
    let text = simulate::render(&head, &findings, Format::Table, style);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}\n{text}");
}

#[test]
fn a_trace_without_switches_answers_that() {
    let (mut head, _) = record();
    head.trace.voluntary_switches = 0;
    head.trace.involuntary_switches = 0;
    head.processes
        .iter_mut()
        .for_each(|process| process.segments = 0);
    let findings = findings(&head, &[]);
    let text = simulate::render(&head, &findings, Format::Table, DETAILED);
    assert!(
        text.starts_with("The cost of a switch is unknown, because the trace has no switch.\n"),
        "{text}"
    );
    head.designs.clear();
    let text = simulate::render(
        &head,
        &super::fixture::findings(&head, &[]),
        Format::Table,
        DETAILED,
    );
    assert!(
        text.starts_with("Nothing was simulated: the record holds no design.\n"),
        "{text}"
    );
}

fn cost(low: f64, high: f64) -> Cost {
    Cost {
        interval: Some((low, high)),
        estimate: Some(f64::midpoint(low, high)),
        ..Cost::default()
    }
}

/// Returns the answer for a first design with these net, lost and gained costs.
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
    simulate::render(&head, &findings, Format::Table, DETAILED).replace('\n', " ")
}

#[test]
fn the_headline_is_the_net_cost_in_words_that_fit_its_sign() {
    let (lost, gained) = (cost(3000.0, 5000.0), cost(5000.0, 7000.0));
    let of = |net| answer(net, lost.clone(), gained.clone());
    let text = of(cost(-3000.0, -1000.0));
    assert!(
        text.starts_with(
            "A switch saves 2,000 cycles (1,000 to 3,000) in cache misses on mogul-1a, "
        ),
        "{text}"
    );
    let parties = " For each switch, reloading lines that other tasks evicted costs 4,000 cycles (3,000 to 5,000), and lines that \
                   others loaded save 6,000.";
    assert!(text.contains(parties), "{text}");
    let text = of(cost(-3000.0, 500.0));
    let either = "A switch costs about 0 cycles (-3,000 to 500) in additional cache misses on mogul-1a. For each";
    assert!(text.starts_with(either), "{text}");
    let text = of(cost(-500.0, 3000.0));
    assert!(
        text.starts_with(
            "A switch costs less than 3,000 cycles in additional cache misses on mogul-1a. For each"
        ),
        "{text}"
    );
}

/// Tests with the numbers of a trace in which most time slices end before the lost lines are
/// reloaded.
#[test]
fn what_all_turns_pay_on_average_is_said_where_it_is_much_less_than_what_long_ones_pay() {
    let (head, mut findings) = whole();
    // The cost has 40 ns per cycle.
    findings.designs[0].long_turns.estimate = Some(15_000.0);
    let mut first_line = |mean: f64| {
        findings.designs[0].excess_cycles_per_switch = Some(mean);
        let table =
            simulate::render(&head, &findings, Format::Table, Style::default()).replace('\n', " ");
        table.split(" All ").next().expect("an answer").to_owned()
    };
    assert!(first_line(4_780.0).contains("averaged over all time slices, it is 4,780 cycles."));
    assert!(
        !first_line(18_900.0).contains("averaged over"),
        "{}",
        first_line(18_900.0)
    );
}

#[test]
fn a_cost_of_exactly_nothing_is_0() {
    let nothing = || cost(0.0, 0.0);
    let text = answer(nothing(), nothing(), nothing());
    let says = "A switch costs 0 cycles in additional cache misses on mogul-1a. For each switch, reloading lines that other tasks \
                evicted costs 0 cycles.";
    assert!(text.starts_with(says), "{text}");
    assert!(
        !text.contains("less than 0") && !text.contains("< 0"),
        "{text}"
    );
}

#[test]
fn what_happens_once_is_distinguished_from_what_each_switch_costs() {
    let text = table().replace("\n  ", " ");
    let says = "once: saved in total, not per switch, on data that others had loaded first";
    assert!(text.contains(says), "{text}");
}

#[test]
fn with_too_few_switches_the_answer_begins_with_what_to_type() {
    let (mut head, mut findings) = whole();
    let design = &mut findings.designs[0];
    design.groups[0].segments = 23;
    design.average_cost_cycles.interval = None;
    for style in [Style::default(), DETAILED] {
        let says = "The cost has no confidence interval, because the trace has only 23 of the 40 time slices that are needed. Trace for \
                    longer, or simulate shorter time slices (with which a switch costs less):   switchcost simulate two.trace \
                    --quantum \
                    150000 ";
        let text = simulate::render(&head, &findings, Format::Table, style).replace('\n', " ");
        assert!(text.starts_with(says), "{text}");
    }
    // A command that users copy contains the trace's name, whatever it is, and is never wrapped.
    for (source, named) in [
        (
            "my trace of two  programs, with a name that is too long for a line of the screen.sct",
            None,
        ),
        ("-\u{1b}.sct", Some("$'./-\\033.sct'")),
        (LEFT_OUT, Some("TRACE")),
    ] {
        head.trace.source = source.to_owned();
        let text = simulate::render(&head, &findings, Format::Table, Style::default());
        let named = named.map_or_else(|| format!("'{source}'"), str::to_owned);
        let line = format!("  switchcost simulate {named} --quantum 150000");
        assert!(text.lines().any(|shown| shown == line), "{text}");
    }
    head.trace.source = "live".to_owned();
    let text = simulate::render(&head, &findings, Format::Table, Style::default());
    assert!(
        text.contains("\n  switchcost simulate live --quantum 150000 -- COMMAND\n"),
        "{text}"
    );
}

#[test]
fn threads_of_one_process_are_said_to_count_as_one() {
    let (mut head, mut findings) = whole();
    head.processes[1].segments = 0;
    findings.threads = 3;
    let text = simulate::render(&head, &findings, Format::Table, DETAILED).replace('\n', " ");
    let says = "Switches cost nothing here, because the 4 threads of the trace's only process share its caches.";
    assert!(
        text.starts_with(says) && text.contains("--private-by task"),
        "{text}"
    );
    findings.threads = 0;
    let text = simulate::render(&head, &findings, Format::Table, DETAILED);
    assert!(
        text.starts_with("Switches cost nothing here, because the trace has a single process."),
        "{text}"
    );
    (head.private_by, findings.private_by) = (PrivateBy::Task, PrivateBy::Task);
    let text = simulate::render(&head, &findings, Format::Table, DETAILED);
    assert!(
        text.starts_with("Switches cost nothing here, because the trace has a single task.")
            && text.contains("2 tasks, "),
        "{text}"
    );
}

#[test]
fn a_level_that_was_never_full_is_said_to_be_and_has_misses_but_nothing_lost() {
    let (head, mut findings) = whole();
    let level = &mut findings.designs[0].levels[1];
    assert!(level.was_full);
    (level.most_held, level.was_full) = (level.lines / 4, false);
    level.mpki.as_mut().expect("instructions").shared = 87.6;
    for style in [Style::default(), DETAILED] {
        let text = simulate::render(&head, &findings, Format::Table, style).replace('\n', " ");
        assert!(
            text.contains(
                "The trace is too short to fill L1D of at least one design, so a switch evicts fewer lines there than in a longer run."
            ),
            "{text}"
        );
        assert!(!text.contains("475"), "{text}");
        assert!(!style.is_detailed || text.contains("87.6"), "{text}");
    }
}

#[test]
fn a_cause_whose_switches_gain_is_named_with_the_reason() {
    let (head, mut findings) = whole();
    let says = "A cost below 0 is a gain (here after involuntary): a process finds lines";
    let render = |findings: &_| {
        simulate::render(&head, findings, Format::Table, DETAILED).replace("\n    ", " ")
    };
    assert!(!render(&findings).contains("is a gain"));
    let is_involuntary = |group: &&mut GroupFinding| group.group == Group::Class("involuntary");
    let group = findings.designs[0]
        .groups
        .iter_mut()
        .find(is_involuntary)
        .expect("a class");
    group.cost_cycles = group.cost_cycles.times(-1.0);
    let text = render(&findings);
    assert!(text.contains(&format!("mogul-1a: {says}")), "{text}");
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
    insta::assert_snapshot!(simulate::render(
        &head,
        &findings,
        Format::Table,
        Style::default()
    ));
}

#[test]
fn the_screen_is_no_longer_and_no_wider_than_a_screen() {
    let (mut head, mut findings) = whole();
    findings.designs[0].code = vec![findings.designs[0].code[0].clone(); 30];
    for code in &mut findings.designs[0].code {
        code.place = "a_function_with_a_name::that<is, longer>::than::any_screen_is_wide".repeat(3);
    }
    // The numbers of levels, causes and programs are those of a present machine and a busy trace.
    let design = &mut findings.designs[0];
    let levels =
        (0..4)
            .flat_map(|_| design.levels.clone())
            .enumerate()
            .map(|(number, mut level)| {
                level.most_held = level.lines / 2;
                level.level = format!("L{number}TLB");
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
        assert!(
            text.lines().count() <= 30,
            "{}\n{text}",
            text.lines().count()
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
    // The notes above are longer: levels that were never filled, and longer names.
    findings.threads = 2;
    for design in &mut findings.designs {
        design.name = format!("a-longer-name-of-{}", design.name);
        design
            .levels
            .iter_mut()
            .for_each(|level| level.was_full = false);
    }
    for designs in [1, 2, 3, 20] {
        let mut some = findings.clone();
        some.designs.truncate(designs);
        let text = simulate::render(&head, &some, Format::Table, Style::default());
        assert!(
            text.lines().count() <= 30,
            "{}\n{text}",
            text.lines().count()
        );
    }
}

/// Makes variants of one design, each with misses of its own.
fn varied(
    names: &[&str],
) -> (
    switchcost_design::result::Simulation,
    switchcost_analysis::simulation::Findings,
) {
    let (head, mut findings) = whole();
    let design = findings.designs[0].clone();
    let variant = |(number, name): (usize, &&str)| {
        let mut variant = design.clone();
        variant.name = (*name).to_owned();
        variant.levels[1]
            .mpki
            .as_mut()
            .expect("instructions")
            .shared = 10.0 * (number + 1) as f64;
        variant
    };
    findings.designs = names.iter().enumerate().map(variant).collect();
    (head, findings)
}

#[test]
fn a_sweep_has_a_row_a_value_or_a_matrix_of_two_fields() {
    let sizes = ["8KiB", "16KiB", "32KiB", "64KiB"].map(|size| format!("base[L1D.size={size}]"));
    let (head, findings) = varied(&sizes.each_ref().map(String::as_str));
    let text = simulate::render(&head, &findings, Format::Table, Style::default());
    assert!(
        text.contains("base by L1D.size: ") && !text.contains("By cause"),
        "{text}"
    );
    let has_row = |text: &str, cells: &[&str]| {
        text.lines()
            .any(|line| line.split_whitespace().eq(cells.iter().copied()))
    };
    assert!(
        has_row(&text, &["32KiB", "1.27", "30.0", "19,100"]),
        "{text}"
    );
    let both = [
        "8KiB,L1D.ways=1",
        "8KiB,L1D.ways=2",
        "16KiB,L1D.ways=1",
        "16KiB,L1D.ways=2",
    ];
    let both = both.map(|values| format!("base[L1D.size={values}]"));
    let (head, findings) = varied(&both.each_ref().map(String::as_str));
    for style in [Style::default(), DETAILED] {
        let text = simulate::render(&head, &findings, Format::Table, style);
        assert!(
            text.contains("L1D MPKI of base: L1D.size by L1D.ways"),
            "{text}"
        );
        assert!(
            has_row(&text, &["16KiB", "30.0", "40.0"]) && text.contains("CPI of base"),
            "{text}"
        );
    }
    let part = switchcost_report::html::Part::Simulated {
        name: "r",
        head: &head,
        findings: &findings,
    };
    let html = switchcost_report::html::render(&[part]);
    assert!(
        html.figure_ids().contains(&"figure-r1-sweep-1-1-l1d-mpki"),
        "{:?}",
        html.figure_ids()
    );
}

#[test]
fn a_sweep_of_many_values_is_no_longer_than_a_screen() {
    let names: Vec<String> = (0..400)
        .map(|n| {
            format!(
                "base[L1D.miss_cycles={},L1I.miss_cycles={}]",
                n / 20,
                n % 20
            )
        })
        .collect();
    let (head, findings) = varied(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let text = simulate::render(&head, &findings, Format::Table, Style::default());
    assert!(
        text.lines().count() <= 30,
        "{}\n{text}",
        text.lines().count()
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn how_many_instructions_fill_a_level_is_said_where_its_growth_shows_it() {
    let (head, mut findings) = whole();
    findings.designs.truncate(1);
    let level = &mut findings.designs[0].levels[1];
    (level.most_held, level.was_full, level.full_at_instructions) =
        (level.lines / 4, false, Some(2.5e9));
    let of = |findings: &_| {
        simulate::render(&head, findings, Format::Table, Style::default()).replace('\n', " ")
    };
    let text = of(&findings);
    let says = "in a longer run. At this rate, about 2,500,000,000 instructions would be enough.";
    assert!(text.contains(says), "{text}");
    let level = &mut findings.designs[0].levels[1];
    (level.full_at_instructions, level.is_never_full) = (None, true);
    assert!(
        of(&findings).starts_with("A switch")
            && of(&findings).contains("These programs do not fill L1D (25 % full), so"),
        "{}",
        of(&findings)
    );
}

/// Makes the record under two quanta of one order, and under another order.
fn in_orders() -> Vec<(
    switchcost_design::result::Simulation,
    switchcost_analysis::simulation::Findings,
)> {
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
    let pairs: Vec<_> = records
        .iter()
        .map(|(head, findings)| (head, findings))
        .collect();
    let orders = over_orders(&pairs);
    let render = |format| simulate::render_orders("two.trace", &orders, format, Style::default());
    insta::assert_snapshot!(render(Format::Table));
    insta::assert_snapshot!(render(Format::Csv));
    let json = crate::conformity::read(render(Format::Json));
    assert_eq!(
        (&json["schema"], &json["source"]),
        (&"switchcost.simulate-orders/1".into(), &"two.trace".into())
    );
    assert_eq!(json["orders"].as_array().map(Vec::len), Some(6));
    assert!(!render(Format::Json).contains('\u{1b}'));
}

#[test]
fn the_page_of_several_orders_has_their_curves() {
    let records = in_orders();
    let parts: Vec<_> = records
        .iter()
        .map(
            |(head, findings)| switchcost_report::html::Part::Simulated {
                name: "r",
                head,
                findings,
            },
        )
        .collect();
    let html = switchcost_report::html::render(&parts);
    for name in ["figure-all-cost-by-quantum", "figure-all-share-by-quantum"] {
        assert!(
            html.figure_ids().contains(&name),
            "{name} of {:?}",
            html.figure_ids()
        );
    }
    assert!(
        html.page
            .contains("round-robin, quantum 100,000 instructions (r)"),
        "each is called by its quantum"
    );
    // A report with the same order twice has no choice of orders.
    let alike = switchcost_report::html::render(&[parts[0], parts[0]]);
    assert!(
        !alike
            .figure_ids()
            .iter()
            .any(|figure| figure.contains("quantum")),
        "{:?}",
        alike.figure_ids()
    );
}

#[test]
fn a_last_level_shared_at_once_stands_beside_the_same_in_turn() {
    let counts = |shared| switchcost_design::result::LastLevelCounts {
        design: "two\u{1b}".to_owned(),
        level: "L2".to_owned(),
        lookups: 12_345_678,
        alone: 1000,
        shared,
        miss_cycles: 200,
        lines: 1_000,
        held: 1_000,
    };
    let pairs = [simulate::AtOnce {
        in_turn: counts(1900),
        at_once: counts(5100),
    }];
    let render = |format| {
        simulate::render_at_once("two.sct", [400_000, 100], &pairs, format, Style::default())
    };
    insta::assert_snapshot!(render(Format::Table));
    insta::assert_snapshot!(render(Format::Csv));
    let json = crate::conformity::read(render(Format::Json));
    assert_eq!(
        (&json["schema"], &json["at_once_instructions"]),
        (&"switchcost.simulate-at-once/1".into(), &100.into())
    );
    assert_eq!(json["designs"][0]["at_once"]["shared"], 5100);
    // A level that was never full shares nothing.
    let short = switchcost_design::result::LastLevelCounts {
        held: 280,
        ..counts(1000)
    };
    let pairs = [simulate::AtOnce {
        in_turn: short.clone(),
        at_once: short,
    }];
    let text = simulate::render_at_once(
        "two.sct",
        [400_000, 100],
        &pairs,
        Format::Table,
        Style::default(),
    )
    .replace('\n', " ");
    let says = "The trace is too short to fill the L2 of two (28 % full), so the cost of sharing it is unknown. Trace for longer.";
    assert!(text.starts_with(says), "{text}");
}
