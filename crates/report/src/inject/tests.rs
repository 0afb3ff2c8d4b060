//! Tests on synthetic records.

use std::path::Path;

use switchcost_analysis::injection::analyse;
use switchcost_record::injection::{
    Arm, End, Group, Injection, Look, Other, Phase, Run, Service, Timing,
};
use switchcost_units::Nanos;

use super::{InEveryFormat, Injected, Page, render};
use crate::{Format, Style};

fn small() -> Injection {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
    Injection::read(&path).expect("a record of this version")
}

fn text(record: &Injection, style: Style) -> String {
    render(record, &analyse(record), Format::Table, style)
}

fn reported(record: &Injection) -> String {
    text(
        record,
        Style {
            width: Some(10_000),
            ..Style::default()
        },
    )
}

#[test]
fn the_answer_comes_first_in_its_parts_and_on_one_screen() {
    let record = small();
    let reported = reported(&record);
    let first = reported.lines().next().expect("an answer");
    for part in [
        "A preemption costs gzip ",
        ") if the other task touches 1 MiB. Of this, ",
        " us is for the switch and its timer, and ",
        " us for cold caches. At 250 preemptions per second (typical of a shared CPU), this is ",
        " % of its time (",
        " % for cold caches).",
    ] {
        assert!(first.contains(part), "{part:?} in {first}");
    }
    let screen = render(&record, &analyse(&record), Format::Table, Style::default());
    assert!(screen.lines().count() <= 45, "{screen}");
    insta::assert_snapshot!(screen);
    assert!(!reported.contains("Runs:"), "{reported}");
    let detailed = text(
        &record,
        Style {
            is_detailed: true,
            ..Style::default()
        },
    );
    let rows = detailed
        .lines()
        .filter(|line| line.contains("first ") || line.contains("second "))
        .count();
    assert!(rows >= record.runs.len(), "{detailed}");
}

#[test]
fn what_was_not_measured_is_reported_with_its_reason() {
    let mut record = small();
    record.runs.truncate(3);
    let found = reported(&record);
    assert!(
        found.starts_with(
            "The cost of a preemption for gzip is unknown: only 1 usable repetition of the 5 needed"
        ),
        "{found}"
    );
    record.runs.clear();
    assert!(reported(&record).contains("not measured"));
}

#[test]
fn a_result_that_cannot_be_is_reported_with_what_is_probably_the_cause() {
    let mut record = small();
    let doubted = "probably does not do the same work each time (a program";
    let json = |record: &Injection| -> serde_json::Value {
        let text = render(record, &analyse(record), Format::Json, Style::default());
        serde_json::from_str(&text).expect("JSON")
    };
    assert!(!reported(&record).contains(doubted) && json(&record)["doubt"].is_null());
    // Makes a larger footprint cost less.
    record
        .runs
        .iter_mut()
        .for_each(|run| run.footprint = 1 - run.footprint.min(1));
    let found = reported(&record);
    assert!(
        found.contains("This result is impossible: the cost of cold caches would be negative ")
            && found.contains(doubted),
        "{found}"
    );
    let doubt = json(&record)["doubt"].clone();
    let is_below = doubt["reload_ns"]["high"]
        .as_f64()
        .is_some_and(|high| high < 0.0);
    assert!(
        doubt["what"] == "cold-caches-below-zero" && is_below,
        "{doubt}"
    );
}

#[test]
fn a_run_without_preemptions_says_that_no_process_was_preempted() {
    let mut record = small();
    record.header.plan.preempts_nobody = true;
    assert!(
        reported(&record).starts_with("Neither copy of gzip was preempted, but a cost was found: ")
    );
}

#[test]
fn a_run_that_did_not_come_to_its_end_says_so() {
    let mut record = small();
    assert!(!reported(&record).contains("was interrupted"));
    record.end = Some(End {
        is_interrupted: true,
        elapsed_ns: Nanos(1),
        has_service_ended: false,
        others: Vec::new(),
    });
    assert!(reported(&record).contains("The measurement was interrupted."));
    record.end = None;
    assert!(reported(&record).contains("The record has no end"));
}

#[test]
fn json_and_csv_have_the_same_numbers() {
    let record = small();
    let findings = analyse(&record);
    let json: serde_json::Value =
        serde_json::from_str(&render(&record, &findings, Format::Json, Style::default()))
            .expect("JSON");
    assert_eq!(json["schema"], "switchcost.inject/1");
    assert_eq!(json["footprints"].as_array().map(Vec::len), Some(3));
    let cost = json["footprints"][2]["cost_ns"]["estimate"]
        .as_f64()
        .expect("a number");
    let csv = render(&record, &findings, Format::Csv, Style::default());
    let row: Vec<&str> = csv
        .lines()
        .nth(3)
        .expect("three footprints")
        .split(',')
        .collect();
    assert_eq!((row[0], row[2].parse()), ("1048576", Ok(cost)));
    assert_eq!(json["footprints"][0]["reload_ns"], serde_json::Value::Null);
    assert_eq!(
        json["runs"].as_array().map(Vec::len),
        Some(record.runs.len())
    );
}

#[test]
fn names_are_hostile() {
    let mut record = small();
    record.header.command = vec!["/bin/\u{1b}[31mgzip".to_owned()];
    record.header.plan.settings = vec!["X=\u{1b}".to_owned()];
    assert!(
        !text(
            &record,
            Style {
                is_detailed: true,
                ..Style::default()
            }
        )
        .contains('\u{1b}')
    );
    record.header.command.clear();
    assert!(reported(&record).starts_with("A preemption costs (no name) "));
}

/// Makes a phase of 20 ms of CPU time in 1,000 pieces of work, each more expensive by `more_ns`.
fn phase(arm: Arm, more_ns: f64) -> Phase {
    let cpu_ns = Nanos((20e6 + 1_000.0 * more_ns) as u64);
    Phase {
        arm,
        wall_ns: Nanos::millis(20),
        cpu_ns,
        chain_ps: 500_000,
        work: 1_000,
        turns: 40,
        turns_run: 40,
        away_ns: Nanos(390_000),
        voluntary: 3,
        involuntary: 40,
    }
}

/// Makes a group in which cold caches cost 4 us per time slice with everything touched, and being
/// delayed saves 20 us.
fn of_service(number: u32) -> Injection {
    let mut record = small();
    let wander = f64::from(number % 3);
    record.header.service = Some(Service {
        process: 7,
        thread: 8,
        name: "ser\u{1b}ver".to_owned(),
        work: "syscall:\u{1b}".to_owned(),
        allowed: Vec::new(),
        look: Look {
            wall_ns: Nanos::seconds(1),
            cpu_ns: Nanos::millis(500),
            others_cpu_ns: Nanos::millis(300),
            work: 50_000,
            involuntary: 900,
            voluntary: 5,
        },
    });
    let of = |footprint, block: u32, arms: [(Arm, f64); 2]| {
        let [first, second] =
            arms.map(|(arm, more)| phase(arm, more + wander * f64::from(block % 4)));
        Group {
            block,
            footprint,
            timing: 0,
            since_start_ns: Nanos(0),
            phases: [first, second, second, first],
        }
    };
    let groups = (0..12).flat_map(|block| {
        let nothing = (Arm::Spinning, 0.0);
        [
            of(
                0,
                block,
                [nothing, (Arm::Touching, f64::from(block % 5) * 4.0 - 8.0)],
            ),
            of(1, block, [nothing, (Arm::Touching, 160.0)]),
            of(
                2,
                block,
                [(Arm::Touching, 160.0 + f64::from(block % 3)), nothing],
            ),
            of(2, block, [(Arm::Idle, 800.0), nothing]),
        ]
    });
    (record.runs, record.groups) = (Vec::new(), groups.collect());
    record
}

#[test]
fn of_a_service_it_is_reported_what_cold_caches_cost_and_what_its_own_preemptions_do() {
    let record = of_service(1);
    let reported = reported(&record);
    assert!(
        reported.starts_with("Each preemption costs server 4.0")
            && reported.contains(") for cold caches if the other task touches 1 MiB."),
        "{reported}"
    );
    for part in [
        " Without injection it is preempted 900 times per second, which costs 0.7",
        "If the other task only spins for 10.0 us, a preemption lowers the CPU time by 20.",
        "other task touches  cold caches (interval)  other runs for  ran before the next  preemptions  groups",
        "Thread 8 of process 7 (server), the busiest one, was alone on CPU ",
        "did 50,000 pieces of work per second, counted by syscall:: 10.0 us of CPU time each. \
         During the measurement, each took 20.0 us: the measurement changed the service",
        "Other threads of the service used 38 % of its CPU time",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            squeezed(&reported).contains(&squeezed(part)),
            "{part:?} in {reported}"
        );
    }
    assert!(
        !reported.contains("The switch and its timer:") && !reported.contains("Both copies"),
        "{reported}"
    );
    let mut same = of_service(1);
    let service = same.header.service.as_mut().expect("a service");
    service.look.cpu_ns = Nanos::millis(900);
    let same = self::reported(&same);
    assert!(
        same.contains("each took 20.0 us.") && !same.contains("changed"),
        "{same}"
    );
    let detailed = text(
        &record,
        Style {
            is_detailed: true,
            width: Some(10_000),
            ..Style::default()
        },
    );
    assert_eq!(
        detailed.matches("idle and spinning").count(),
        12,
        "{detailed}"
    );
}

#[test]
fn what_a_service_may_not_pay_is_not_called_a_cost() {
    let mut record = of_service(1);
    for group in record
        .groups
        .iter_mut()
        .filter(|group| group.footprint == 2)
    {
        group
            .phases
            .iter_mut()
            .for_each(|phase| *phase = self::phase(phase.arm, f64::from(group.block % 5) - 2.0));
    }
    assert!(reported(&record).starts_with(
        "No cost of cold caches was detected for server if the other task touches 1 MiB: it is "
    ));
    record.header.plan.preempts_nobody = true;
    assert!(reported(&record).starts_with(
        "No preemption of server touched memory, and no cost of cold caches was found"
    ));
    record.groups.truncate(3);
    assert!(reported(&record).starts_with("The cost of a preemption for server is unknown: "));
}

#[test]
fn others_on_the_cpu_and_an_end_of_the_service_are_reported() {
    let mut record = of_service(0);
    let (name, cpu_ns) = ("load\u{1b}".to_owned(), Nanos::seconds(3));
    record.end = Some(End {
        is_interrupted: false,
        elapsed_ns: Nanos::seconds(10),
        has_service_ended: true,
        others: vec![Other {
            process: 9,
            name,
            cpu_ns,
        }],
    });
    let reported = reported(&record);
    assert!(
        reported.contains("Other tasks also ran on CPU")
            && reported.contains(": load (process 9, 30 % of the time)."),
        "{reported}"
    );
    assert!(
        reported.contains("The service exited before the end of the measurement."),
        "{reported}"
    );
    let json: serde_json::Value = serde_json::from_str(&render(
        &record,
        &analyse(&record),
        Format::Json,
        Style::default(),
    ))
    .expect("JSON");
    assert_eq!(
        (
            json["groups"].as_array().map(Vec::len),
            json["service"]["cpu_share"].as_f64()
        ),
        (Some(48), Some(0.5))
    );
    assert_eq!(json["others"][0]["process"], 9);
    assert_eq!(json["footprints"][2]["cost_ns"], serde_json::Value::Null);
}

/// Makes a record with a second period, at which cold caches cost 3 us more.
fn at_two_periods() -> Injection {
    let mut record = small();
    record.header.plan.further = vec![Timing {
        period_ns: Nanos::millis(1),
        turn_ns: Nanos::millis(8),
    }];
    let other = |run: &Run| {
        let mut run = Run {
            timing: 1,
            ..run.clone()
        };
        let twin = &mut run.twins[usize::from(run.preempted)];
        let more = if run.footprint > 0 {
            3_000 * twin.preemptions
        } else {
            0
        };
        twin.cpu_ns = twin.cpu_ns + Nanos(more);
        run
    };
    let more: Vec<Run> = record.runs.iter().map(other).collect();
    record.runs.extend(more);
    record
}

#[test]
fn over_the_period_it_is_reported_what_a_longer_turn_has_to_lose() {
    let record = at_two_periods();
    let reported = reported(&record);
    let line = reported.lines().find(|line| {
        line.starts_with("Preempted every 1.00 ms instead of every 250 us, it pays 3.")
    });
    assert!(
        line.is_some_and(
            |line| line.ends_with("), since a longer time slice loads more data to lose.")
        ),
        "{reported}"
    );
    let rows = reported
        .lines()
        .filter(|line| line.trim_start().starts_with("1.00 ms "))
        .count();
    assert!(
        reported.contains("Cost by period: the other task touches 1 MiB") && rows == 1,
        "{reported}"
    );
    assert!(!self::reported(&small()).contains("Cost by period"));
    let findings = analyse(&record);
    let mut page = Page::with_figures();
    let injected = Injected {
        record: &record,
        findings: &findings,
    };
    injected.add_to(&mut page);
    let figures = page.into_sections().1;
    assert_eq!(
        figures
            .iter()
            .flat_map(|section| &section.blocks)
            .filter(|block| matches!(block, crate::page::Block::Figure(_)))
            .count(),
        2
    );
    let csv = render(&record, &findings, Format::Csv, Style::default());
    assert_eq!(
        csv.lines()
            .filter(|line| line.ends_with(",1000000,"))
            .count(),
        3,
        "{csv}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&render(&record, &findings, Format::Json, Style::default()))
            .expect("JSON");
    let more = json["periods"][1]["more_than_first_ns"]["estimate"]
        .as_f64()
        .expect("a number");
    assert!((more / 3_000.0 - 1.0).abs() < 0.05, "{more}");
}

#[test]
fn a_period_that_makes_no_difference_is_reported_as_none_shown() {
    let mut record = at_two_periods();
    for run in record.runs.iter_mut().filter(|run| run.timing == 1) {
        run.timing = 0;
    }
    let runs = std::mem::take(&mut record.runs);
    let same = runs.into_iter().take(small().runs.len()).flat_map(|run| {
        let wander = Nanos(if run.block % 2 == 0 { 1_000 } else { 0 });
        let mut other = Run {
            timing: 1,
            ..run.clone()
        };
        other.twins[0].cpu_ns = other.twins[0].cpu_ns + wander;
        [run, other]
    });
    record.runs = same.collect();
    let found = reported(&record);
    assert!(
        found.contains("per preemption is not distinguishable from 0")
            && found.contains("in proportion to the number of preemptions"),
        "{found}"
    );
    // A common change of all runs of a block is no difference between footprints.
    for run in record
        .runs
        .iter_mut()
        .filter(|run| run.timing == 1 && run.footprint > 0)
    {
        run.twins[0].cpu_ns = run.twins[0].cpu_ns + Nanos(u64::from(run.block % 4) * 2_000_000);
    }
    let found = reported(&record);
    assert!(
        found.contains("; a narrower interval takes more time (--budget)"),
        "{found}"
    );
}

#[test]
fn a_move_to_another_cpu_is_reported_beside_staying() {
    let mut record = small();
    record.header.plan.moves_to = Some(switchcost_units::CpuId(0));
    let moved = record
        .runs
        .iter()
        .filter(|run| run.footprint == 0)
        .map(|run| {
            let mut run = Run {
                is_moved: true,
                ..run.clone()
            };
            let twin = &mut run.twins[usize::from(run.preempted)];
            twin.cpu_ns = twin.cpu_ns + Nanos(6_000 * twin.preemptions);
            run
        });
    let moved: Vec<Run> = moved.collect();
    record.runs.extend(moved);
    let reported = reported(&record);
    let line = reported
        .lines()
        .find(|line| line.starts_with("A move from CPU "))
        .expect("an answer");
    assert!(
        line.contains(" to CPU 0, or back, costs gzip ")
            && line.contains(" more than a preemption without a move ("),
        "{line}"
    );
    assert!(
        reported
            .lines()
            .any(|line| line.trim_start().starts_with("moved: CPU 0 ")),
        "{reported}"
    );
}
