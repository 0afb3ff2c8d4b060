//! Tests of the report on a short record, and on variants of that record.

use std::path::Path;

use switchcost_analysis::injection::analyse;
use switchcost_record::injection::{Arm, End, Group, Injection, Other, Phase, Timing};
use switchcost_units::Nanos;

use serde_json::Value;

use super::{InEveryFormat, Injected, Page, render};
use crate::text::{DETAILED, begins, flat, has, has_all, has_in_order, is_harmless, lacks};
use crate::{Format, Style};

fn small() -> Injection {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
    Injection::read(&path).expect("a record of this version")
}

fn in_format(record: &Injection, format: Format, style: Style) -> String {
    render(record, &analyse(record), format, style)
}

fn reported(record: &Injection) -> String {
    let style = Style {
        width: Some(10_000),
        ..Style::default()
    };
    in_format(record, Format::Table, style)
}

fn json(record: &Injection) -> Value {
    crate::conformity::read(in_format(record, Format::Json, DETAILED))
}

fn csv(record: &Injection) -> String {
    in_format(record, Format::Csv, DETAILED)
}

#[test]
fn the_details_have_each_run() {
    let record = small();
    let detailed = in_format(&record, Format::Table, DETAILED);
    let runs = |line: &&str| line.contains("first ") || line.contains("second ");
    assert!(
        detailed.lines().filter(runs).count() >= record.runs.len(),
        "{detailed}"
    );
}

#[test]
fn what_was_not_measured_is_reported_with_its_reason() {
    let mut record = small();
    record.runs.truncate(3);
    begins(
        &reported(&record),
        "The cost of a preemption for gzip is unknown: only 1 usable repetition of the 5 needed",
    );
    record.runs.clear();
    has(&reported(&record), "not measured");
}

#[test]
fn a_result_that_cannot_be_is_reported_with_what_is_probably_the_cause() {
    let mut record = small();
    let doubted = "probably does not do the same work each time (a program";
    lacks(&reported(&record), doubted);
    assert!(json(&record)["doubt"].is_null());
    // Makes a larger footprint cost less.
    for run in &mut record.runs {
        run.footprint = 1 - run.footprint.min(1);
    }
    has_all(
        &reported(&record),
        [
            "This result is impossible: the cost of cold caches would be negative ",
            doubted,
        ],
    );
    let doubt = json(&record)["doubt"].take();
    assert_eq!(doubt["what"], "cold-caches-below-zero");
    assert!(doubt["reload_ns"]["high"].as_f64() < Some(0.0), "{doubt}");
}

#[test]
fn a_run_without_preemptions_says_that_no_process_was_preempted() {
    let mut record = small();
    record.header.plan.preempts_nobody = true;
    begins(
        &reported(&record),
        "Neither copy of gzip was preempted, but a cost was found: ",
    );
}

#[test]
fn a_run_that_did_not_come_to_its_end_says_so() {
    let mut record = small();
    lacks(&reported(&record), "was interrupted");
    record.end = Some(End {
        is_interrupted: true,
        elapsed_ns: Nanos(1),
        has_service_ended: false,
        others: Vec::new(),
    });
    has(&reported(&record), "The measurement was interrupted.");
    record.end = None;
    has(&reported(&record), "The record has no end");
}

#[test]
fn json_and_csv_have_the_same_numbers() {
    let record = small();
    let (json, csv) = (json(&record), csv(&record));
    assert_eq!(json["schema"], "switchcost.inject/1");
    let length = |name: &str| json[name].as_array().map(Vec::len);
    let runs = Some(record.runs.len());
    assert_eq!((length("footprints"), length("runs")), (Some(3), runs));
    let cost = &json["footprints"][2]["cost_ns"]["estimate"];
    let row: Vec<&str> = csv.lines().nth(3).expect("a row").split(',').collect();
    assert_eq!((row[0], row[2].parse().ok()), ("1048576", cost.as_f64()));
    assert!(json["footprints"][0]["reload_ns"].is_null());
}

#[test]
fn names_are_hostile() {
    let mut record = small();
    record.header.command = vec!["/bin/\u{1b}[31mgzip".to_owned()];
    record.header.plan.settings = vec!["X=\u{1b}".to_owned()];
    is_harmless(&in_format(&record, Format::Table, DETAILED));
    record.header.command.clear();
    begins(&reported(&record), "A preemption costs (no name) ");
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

/// Makes a record of a service, in which cold caches cost 4 us per time slice at the two larger
/// footprints, and a delay saves 20 us.
fn of_service(number: u32) -> Injection {
    let mut record = small();
    let wander = f64::from(number % 3);
    let service = r#"{"process": 7, "thread": 8, "name": "ser\u001bver", "work": "syscall:\u001b", "allowed": [],
        "look": {"wall_ns": 1000000000, "cpu_ns": 500000000, "others_cpu_ns": 300000000,
                 "work": 50000, "involuntary": 900, "voluntary": 5}}"#;
    record.header.service = Some(serde_json::from_str(service).expect("a service"));
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
    let mut record = of_service(1);
    let reported = reported(&record);
    begins(&reported, "Each preemption costs server 4.0");
    has_all(
        &flat(&reported),
        [
            ") for cold caches if the preempting task touches 1 MiB.",
            " Without injection it is preempted 900 times per second, which costs 0.7",
            "If the preempting task only spins for 10.0 us, a preemption lowers the CPU time by 20.",
            "preemptor touches cold caches (interval) preemptor runs for ran before the next preemptions groups",
            "Thread 8 of process 7 (server), the busiest one, was alone on CPU ",
            "did 50,000 pieces of work per second, counted by syscall:: 10.0 us of CPU time each. \
             During the measurement, each took 20.0 us: the measurement changed the service",
            "Other threads of the service used 38 % of its CPU time",
        ],
    );
    lacks(&reported, "The switch and its timer:");
    lacks(&reported, "Both copies");
    let detailed = in_format(&record, Format::Table, DETAILED);
    let pauses = flat(&detailed).matches("idle and spinning").count();
    assert_eq!(pauses, 12, "{detailed}");
    let service = record.header.service.as_mut().expect("a service");
    service.look.cpu_ns = Nanos::millis(900);
    let same = self::reported(&record);
    has(&same, "each took 20.0 us.");
    lacks(&same, "changed");
}

#[test]
fn what_a_service_may_not_pay_is_not_called_a_cost() {
    let mut record = of_service(1);
    let touching = record
        .groups
        .iter_mut()
        .filter(|group| group.footprint == 2);
    for group in touching {
        let more = f64::from(group.block % 5) - 2.0;
        for old in &mut group.phases {
            *old = phase(old.arm, more);
        }
    }
    begins(
        &reported(&record),
        "No cost of cold caches was detected for server if the preempting task touches 1 MiB: it is ",
    );
    record.header.plan.preempts_nobody = true;
    begins(
        &reported(&record),
        "No preemption of server touched memory, and no cost of cold caches was found",
    );
    record.groups.truncate(3);
    begins(
        &reported(&record),
        "The cost of a preemption for server is unknown: ",
    );
}

#[test]
fn others_on_the_cpu_and_an_end_of_the_service_are_reported() {
    let mut record = of_service(0);
    let other = Other {
        process: 9,
        name: "load\u{1b}".to_owned(),
        cpu_ns: Nanos::seconds(3),
    };
    record.end = Some(End {
        is_interrupted: false,
        elapsed_ns: Nanos::seconds(10),
        has_service_ended: true,
        others: vec![other],
    });
    has_all(
        &reported(&record),
        [
            "Other tasks also ran on CPU",
            ": load (process 9, 30 % of the time).",
            "The service exited before the end of the measurement.",
        ],
    );
    let json = json(&record);
    assert_eq!(json["groups"].as_array().map(Vec::len), Some(48));
    assert_eq!(json["service"]["cpu_share"], 0.5);
    assert_eq!(json["others"][0]["process"], 9);
    assert!(json["footprints"][2]["cost_ns"].is_null());
}

/// Makes a record with a second period, at which cold caches cost 3 us more.
fn at_two_periods() -> Injection {
    let mut record = small();
    record.header.plan.further = vec![Timing {
        period_ns: Nanos::millis(1),
        turn_ns: Nanos::millis(8),
    }];
    let mut more = record.runs.clone();
    for run in &mut more {
        run.timing = 1;
        let twin = &mut run.twins[usize::from(run.preempted)];
        let reload_ns = 3_000 * u64::from(run.footprint > 0);
        twin.cpu_ns = twin.cpu_ns + Nanos(reload_ns * twin.preemptions);
    }
    record.runs.extend(more);
    record
}

#[test]
fn over_the_period_it_is_reported_what_a_longer_turn_has_to_lose() {
    let record = at_two_periods();
    let reported = reported(&record);
    has(
        &reported,
        "Cost by period: the preempting task touches 1 MiB",
    );
    let lines = |start: &str, end: &str| {
        let is_it = |line: &&str| line.trim_start().starts_with(start) && line.ends_with(end);
        reported.lines().filter(is_it).count()
    };
    let answer = lines(
        "Preempted every 1.00 ms instead of every 250 us, it pays 3.",
        "), since a longer time slice loads more data to lose.",
    );
    assert_eq!((answer, lines("1.00 ms ", "")), (1, 1), "{reported}");
    lacks(&self::reported(&small()), "Cost by period");
    let findings = analyse(&record);
    let mut page = Page::with_figures();
    let injected = Injected {
        record: &record,
        findings: &findings,
    };
    injected.add_to(&mut page);
    let figures = page.into_sections().1;
    let blocks = figures.iter().flat_map(|section| &section.blocks);
    let figures = blocks.filter(|block| matches!(block, crate::page::Block::Figure(_)));
    assert_eq!(figures.count(), 2);
    let csv = csv(&record);
    assert_eq!(csv.matches(",1000000,\n").count(), 3, "{csv}");
    let json = json(&record);
    let more = &json["periods"][1]["more_than_first_ns"]["estimate"];
    let more = more.as_f64().expect("a number");
    assert!((more / 3_000.0 - 1.0).abs() < 0.05, "{more}");
}

#[test]
fn a_period_that_makes_no_difference_is_reported_as_none_shown() {
    let mut record = small();
    record.header.plan = at_two_periods().header.plan;
    let mut same = record.runs.clone();
    for run in &mut same {
        run.timing = 1;
        let wander_ns = u64::from(run.block % 2 == 0) * 1_000;
        run.twins[0].cpu_ns = run.twins[0].cpu_ns + Nanos(wander_ns);
    }
    record.runs.extend(same);
    has_all(
        &reported(&record),
        [
            "per preemption is not distinguishable from 0",
            "the total cost is proportional to the number of preemptions",
        ],
    );
    // A common change of all runs of a block is no difference between footprints.
    let others = record
        .runs
        .iter_mut()
        .filter(|run| run.timing == 1 && run.footprint > 0);
    for run in others {
        run.twins[0].cpu_ns = run.twins[0].cpu_ns + Nanos(u64::from(run.block % 4) * 2_000_000);
    }
    has(
        &reported(&record),
        "; a narrower interval takes more time (--budget)",
    );
}

#[test]
fn a_move_to_another_cpu_is_reported_beside_staying() {
    let mut record = small();
    record.header.plan.moves_to = Some(switchcost_units::CpuId(0));
    let mut moved = record.runs.clone();
    moved.retain(|run| run.footprint == 0);
    for run in &mut moved {
        run.is_moved = true;
        let twin = &mut run.twins[usize::from(run.preempted)];
        twin.cpu_ns = twin.cpu_ns + Nanos(6_000 * twin.preemptions);
    }
    record.runs.extend(moved);
    has_in_order(
        &reported(&record),
        [
            "\nA move from CPU ",
            " to CPU 0, or back, costs gzip ",
            " more than a preemption without a move (",
            " moved: CPU 0 ",
        ],
    );
}
