use std::collections::BTreeMap;

use switchcost_analysis::simulation::{
    Cost, Cut, DesignFinding, Group, GroupFinding, LengthDistribution, LossFinding, Point, Spread,
};

use super::disk::step as disk_step;
use super::{SETS, SIZES_STEP, TRIALS, WAYS_STEP, free, step_name, with_kernel};
use crate::published::mogul_table_4;
use crate::testing::{self, Shown, simulated, verdicts};
use crate::{Cell, Exhibit, Paper, Records, Verdict};

/// Numbers by set, then by design in the order 1a, 2a, 1b, 2b.
type Numbers = [[f64; 4]; 3];

/// Numbers as a paper reports them, published or invented.
#[derive(Clone, Debug)]
struct Story {
    costs: Numbers,
    overheads: Numbers,
    /// Share of involuntary switches for each set of programs.
    involuntary: [f64; 3],
    /// Cycles over instructions for each set of programs, in shared and in private caches.
    cpi: [[f64; 2]; 3],
    /// Private CPI after system calls and after involuntary switches, at the start and at the end.
    private: [[f64; 2]; 2],
    /// Share of the excess cycles that arises after involuntary switches.
    of_scheduler: f64,
    /// Cumulative excess cycles, as points (instructions, cycles) joined by lines.
    cumulative: [&'static [(u64, f64)]; 3],
    reload_bound: u64,
    /// Ratio of costs and overheads with the kernel to those without.
    with_kernel: f64,
    /// Ratio of instructions per switch to the paper's.
    turns: f64,
    /// Share of all cycles that a four times larger cache saves for each set of programs: in
    /// private caches and in shared ones.
    saved: [[f64; 2]; 3],
}

/// Returns a factor by which a number of a trial differs a little.
fn jitter(trial: u64, number: usize) -> f64 {
    let mixed = ((trial + 3) * (number as u64 + 5) * 2_654_435_761) >> 7;
    1.0 + 2e-4 * (mixed % 11) as f64
}

/// Cumulative excess of Timesharing, which grows to the end.
const GROWING: &[(u64, f64)] = &[
    (0, 0.0),
    (225_000, 8_400.0),
    (300_000, 9_200.0),
    (500_000, 11_000.0),
];

/// Returns Table 4's means over the published trials, and numbers from the text and the figures.
fn published() -> Story {
    let mean = |set: usize, place: usize, of: fn(&crate::published::Trial) -> f64| {
        super::published(SETS[set].published, super::DESIGNS[place], of)
    };
    let numbers = |of: fn(&crate::published::Trial) -> f64| -> Numbers {
        std::array::from_fn(|set| std::array::from_fn(|place| mean(set, place, of)))
    };
    let cpi = |set| {
        mean(set, 0, |row| {
            row.total_cycles_millions / row.instructions_millions
        })
    };
    Story {
        costs: numbers(|row| row.average_cost_cycles),
        overheads: numbers(|row| row.overhead_percent / 100.0),
        involuntary: [0.9, 0.995, 0.0],
        cpi: [[cpi(0), 1.2], [cpi(1), 1.09], [cpi(2), 1.0]],
        private: [[1.5, 1.2], [1.25, 1.2]],
        of_scheduler: 0.98,
        cumulative: [
            GROWING,
            &[
                (0, 0.0),
                (225_000, 4_150.0),
                (300_000, 4_200.0),
                (500_000, 4_300.0),
            ],
            &[(0, 0.0), (4000, 186.0), (10_000, 186.0)],
        ],
        reload_bound: 122_880,
        with_kernel: 1.5,
        turns: 1.0,
        saved: [[0.05, 0.132], [0.03, 0.034], [0.01, 0.01]],
    }
}

fn at(line: &[(u64, f64)], x: u64) -> f64 {
    let segment = line
        .windows(2)
        .find(|pair| x <= pair[1].0)
        .unwrap_or(&line[line.len() - 2..]);
    let [(from, low), (to, high)] = [segment[0], segment[1]];
    low + (high - low) * (x - from) as f64 / (to - from) as f64
}

/// Returns a cut-off after 40 intervals of `length` instructions.
fn cut(length: u64) -> Cut {
    Cut {
        instructions: length * 40,
        is_reached: true,
        is_rounded: false,
    }
}

/// Makes the group's curve, in 50 intervals.
fn curve(story: &Story, set: usize, group: Group, length: u64, trial: u64) -> GroupFinding {
    let [call, scheduler] = story.private;
    let is_of_scheduler = matches!(group, Group::All | Group::Class("involuntary"));
    let [first, last] = if is_of_scheduler { scheduler } else { call };
    let first = first * jitter(trial, usize::from(is_of_scheduler));
    let share = if group == Group::Class("involuntary") {
        story.of_scheduler * jitter(trial, 2)
    } else {
        1.0
    };
    let spread = |mean| Spread {
        mean,
        sd: None,
        max: None,
    };
    let points = (0..50_u32).map(|interval| {
        let start = length * u64::from(interval);
        let private = first + (last - first) * f64::from(interval) / 40.0;
        let [before, behind] = [start, start + length]
            .map(|x| at(story.cumulative[set], x) * share * jitter(trial, x as usize / 1000));
        let excess = (behind - before) / length as f64;
        Point {
            interval,
            since_switch_instructions: start,
            segments: 100,
            survivors: 1.0,
            shared_cpi: spread(private + excess),
            private_cpi: spread(private),
            excess_cpi: spread(excess),
            flushed_cpi: private + 2.0 * excess,
            cumulative_excess_cycles: behind,
        }
    });
    GroupFinding {
        group,
        segments: 100,
        median_instructions: None,
        cost_cycles: Cost::default(),
        lost_cycles: Cost::default(),
        gained_cycles: Cost::default(),
        state_cycles: Cost::default(),
        cut: cut(length),
        excess_cycles: 0.0,
        curve: points.collect(),
    }
}

/// Makes a cost whose batches differ a little.
fn about(value: f64, number: usize) -> Cost {
    let without_one = (0..20).map(|batch| value * jitter(batch, number)).collect();
    Cost {
        estimate: Some(value),
        interval: Some((value, value)),
        without_one,
        ..Cost::default()
    }
}

fn exactly(value: f64) -> Cost {
    Cost {
        without_one: vec![value; 20],
        ..about(value, 0)
    }
}

fn design(
    story: &Story,
    set: usize,
    place: usize,
    like: &DesignFinding,
    (length, trial): (u64, u64),
) -> DesignFinding {
    let mut design = like.clone();
    let number = set * 4 + place;
    let overhead = story.overheads[set][place] * jitter(trial, number + 12);
    design.name = format!("mogul-{}", super::DESIGNS[place]);
    design.average_cost_cycles = about(story.costs[set][place] * jitter(trial, number), number);
    design.table_4_overhead = about(overhead, number + 1);
    design.reload_bound_cycles = story.reload_bound;
    let published = super::published(SETS[set].published, "1a", |row| row.instructions_millions);
    design.instructions = (published * 1e6 * story.turns * jitter(trial, set)) as u64;
    let [saved_private, saved_shared] = if place < 2 {
        [0.0; 2]
    } else {
        story.saved[set]
    };
    let [shared, private] =
        story.cpi[set].map(|cpi| cpi * design.instructions as f64 * jitter(trial, number + 5));
    let cycles = |all: f64, saved: f64| (all * (1.0 - saved * jitter(trial, number))) as u64;
    design.hierarchies.shared.cycles = cycles(shared, saved_shared);
    design.hierarchies.private.cycles = cycles(private, saved_private);
    design.cut = cut(length);
    let classes = ["system call", "page fault", "involuntary"].map(Group::Class);
    let groups = std::iter::once(Group::All).chain(classes);
    design.groups = groups
        .map(|group| curve(story, set, group, length, trial))
        .collect();
    let loss = |level: &str| LossFinding {
        level: level.to_owned(),
        returns: 100,
        resident: 100.0,
        lost: story.costs[set][place] / 10.0,
        restored: story.costs[set][place] / 15.0,
    };
    design.losses = vec![loss("L1I"), loss("L1D"), loss("L2")];
    design
}

/// Makes records of `trials` trials with the story's numbers, which differ a little from trial to
/// trial.
fn records(story: &Story, trials: u64) -> Records {
    let (head, findings) = simulated();
    let mut records = Records::default();
    let length = |group, median| LengthDistribution {
        group,
        segments: 10,
        median_instructions: median,
        mean_instructions: median as f64,
        max_instructions: median,
        points: Vec::new(),
    };
    for (set, of) in SETS.iter().enumerate() {
        let (mut head, mut findings) = (head.clone(), findings.clone());
        findings.interval_instructions = if set == 2 { 200 } else { 10_000 };
        let like = findings.designs[0].clone();
        let interval = findings.interval_instructions;
        findings.lengths = vec![
            length(Group::All, 100_000),
            length(Group::EndClass("system call"), 3000),
            length(Group::EndClass("involuntary"), 315_000),
        ];
        let involuntary = (story.involuntary[set] * 5000.0) as u64;
        (
            head.trace.involuntary_switches,
            head.trace.voluntary_switches,
        ) = (involuntary, 5000 - involuntary);
        for trial in 1..=trials {
            findings.designs = (0..4)
                .map(|place| design(story, set, place, &like, (interval, trial)))
                .collect();
            let addressed = |design: &DesignFinding| {
                let named = |kind: &str| format!("{}[caches.addressing={kind}]", design.name);
                ["vivt", "vipt", "pipt"].map(|kind| DesignFinding {
                    name: named(kind),
                    ..design.clone()
                })
            };
            let mut alone = findings.clone();
            alone.designs = findings.designs.iter().flat_map(addressed).collect();
            let mut with_kernel = alone.clone();
            for (place, design) in with_kernel.designs.iter_mut().enumerate() {
                let times = story.with_kernel * jitter(trial, set * 12 + place + 30);
                design.average_cost_cycles = design.average_cost_cycles.times(times);
                design.table_4_overhead = design.table_4_overhead.times(times);
            }
            records.add_simulated(&step_name(of, trial), head.clone(), findings.clone());
            if trial == 1 {
                for step in free::all_steps(of) {
                    records.add_simulated(&step, head.clone(), findings.clone());
                }
            }
            if (set, trial) == (0, 1) {
                for disk in [0, 1] {
                    records.add_simulated(&disk_step(disk), head.clone(), findings.clone());
                }
            }
            records.add_simulated(&with_kernel::name_alone(of, trial), head.clone(), alone);
            records.add_simulated(
                &with_kernel::name_with(of, trial),
                head.clone(),
                with_kernel,
            );
        }
    }
    records
}

/// Returns stories that each contradict some statements of the paper.
fn others() -> Vec<Story> {
    let base = published();
    let mut reversed = base.clone();
    for numbers in [&mut reversed.costs, &mut reversed.overheads] {
        numbers.reverse();
        numbers.iter_mut().for_each(|designs| designs.reverse());
    }
    reversed.involuntary = [0.1, 0.5, 0.9];
    reversed.cpi.reverse();
    reversed.private = [[1.2, 1.2], [1.25, 1.6]];
    reversed.of_scheduler = 0.5;
    reversed.cumulative = [
        &[(0, 0.0), (225_000, 4_200.0), (500_000, 3_000.0)],
        GROWING,
        &[(0, 0.0), (4000, 186.0), (10_000, 1860.0)],
    ];
    reversed.reload_bound = 10_000;
    reversed.with_kernel = 0.9;
    reversed.saved = [[0.02, 0.02], [0.01, 0.034], [0.01, 0.01]];
    reversed.turns = 3.0;
    // Only the order of the designs is reversed.
    let mut backwards = base.clone();
    for numbers in [&mut backwards.costs, &mut backwards.overheads] {
        numbers.iter_mut().for_each(|designs| designs.reverse());
    }
    backwards.private = [[1.5, 1.2], [1.2, 1.2]];
    backwards.with_kernel = 0.5;
    // The overheads only rise, or only fall, from each design to the next, and differ as much as
    // the costs.
    let rising = Story {
        overheads: [
            [0.01, 0.02, 0.02, 0.04],
            [0.001, 0.002, 0.002, 0.004],
            [0.1, 0.2, 0.2, 0.4],
        ],
        ..base.clone()
    };
    let falling = Story {
        overheads: [
            [0.4, 0.2, 0.2, 0.1],
            [0.04, 0.02, 0.02, 0.01],
            [4.0, 2.0, 2.0, 1.0],
        ],
        ..base.clone()
    };
    let cheap = Story {
        costs: base.costs.map(|designs| designs.map(|cost| cost / 100.0)),
        reload_bound: 100,
        ..base.clone()
    };
    let falling_costs = Story {
        costs: [[9.0, 8.0, 9.5, 8.5]; 3],
        cumulative: [&[(0, 0.0), (10_000, 1.0), (500_000, -50_000.0)]; 3],
        ..base
    };
    vec![reversed, backwards, rising, falling, cheap, falling_costs]
}

/// Judges each claim by the paper's own numbers, and by invented numbers.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let others: Vec<Records> = others()
        .iter()
        .map(|story| records(story, TRIALS))
        .collect();
    testing::reported(Paper::Mogul1990, &records(&published(), TRIALS), &others)
}

#[test]
fn trials_that_disagree_are_inconclusive() {
    // The published trials of Timesharing: 1a to 1b fell in both, 2a to 2b, too, but the overhead from 1a to 2a hardly rose.
    let mut found = records(&published(), 2);
    for trial in [1, 2] {
        let name = step_name(&SETS[0], trial);
        let (head, mut findings) = {
            let (head, findings) = found.simulated(&name).expect("there");
            (head.clone(), findings.clone())
        };
        for (place, design) in super::DESIGNS.iter().enumerate() {
            let rows = mogul_table_4();
            let mut of = rows
                .iter()
                .filter(|row| row.benchmark_set == "Timesharing" && row.design == *design);
            let row = of.nth(trial as usize - 1).expect("two trials");
            findings.designs[place].average_cost_cycles = exactly(row.average_cost_cycles);
            findings.designs[place].table_4_overhead = exactly(row.overhead_percent / 100.0);
        }
        found.add_simulated(&name, head, findings);
    }
    let verdicts = verdicts(Paper::Mogul1990, &found);
    assert_eq!(verdicts["timesharing-cheaper-1b"], Verdict::Holds);
    assert_eq!(verdicts["timesharing-worsens"], Verdict::Inconclusive);
}

#[test]
fn one_trial_shows_only_what_its_batches_do() {
    let verdicts = verdicts(Paper::Mogul1990, &records(&published(), 1));
    assert_eq!(
        verdicts["timesharing-cheaper-1b"],
        Verdict::Holds,
        "batch by batch on the same trace"
    );
    assert_eq!(
        verdicts["order-of-costs"],
        Verdict::Inconclusive,
        "another set is another trace"
    );
    assert_eq!(verdicts["lower-cpi"], Verdict::Inconclusive);
    assert_eq!(
        verdicts["kernel-raises-cost"],
        Verdict::Inconclusive,
        "the range over addressings is not that over trials"
    );
}

#[test]
fn a_reason_is_reported_only_by_the_run_that_tests_it() {
    let mut found = records(&others()[0], TRIALS);
    let claim = |records: &Records, id| testing::claim(Paper::Mogul1990, records, id);
    let before = claim(&found, "client-server-cheaper-2b");
    assert_eq!(before.verdict, Verdict::Differs);
    assert_eq!(before.reasons[0].verdict, Verdict::Inconclusive);
    assert_eq!(
        before.reasons[0].found,
        format!("the step {WAYS_STEP} was not run")
    );
    let reason = &before.reasons[0].statement;
    assert_eq!(
        before.why_not,
        Some(format!("no confirmed reason; a possible one: {reason}"))
    );
    let (head, mut findings) = simulated();
    findings.designs = vec![findings.designs[0].clone(); 9];
    for (design, cost) in findings
        .designs
        .iter_mut()
        .zip([1000.0, 100.0, 50.0, 40.0, 90.0, 80.0, 70.0, 60.0, 50.0])
    {
        design.average_cost_cycles = exactly(cost);
    }
    found.add_simulated(SIZES_STEP, head.clone(), findings.clone());
    for (place, design) in findings.designs.iter_mut().enumerate() {
        design.average_cost_cycles = exactly([1000.0, 100.0][place % 2]);
    }
    found.add_simulated(WAYS_STEP, head, findings);
    let after = claim(&found, "client-server-cheaper-2b");
    assert_eq!(
        (after.reasons[0].verdict, after.reasons[0].run.as_str()),
        (Verdict::Holds, WAYS_STEP)
    );
    assert_eq!(
        after.reasons[0].found,
        "1a: two ways / one: 0.100; 2a: two ways / one: 0.100; 2b: two ways / one: 0.100; 1a: 1000 and 100 cycles; 2a: 1000 and \
         100 cycles; 2b: 1000 and 100 cycles"
    );
    assert_eq!(
        claim(&found, "timesharing-cheaper-1b").reasons[0].verdict,
        Verdict::Holds
    );
    assert!(
        after
            .why_not
            .is_some_and(|why| why.starts_with("both programs and their libraries have the same"))
    );
    let needs_none = claim(&records(&published(), TRIALS), "client-server-cheaper-2b");
    assert!(needs_none.reasons.is_empty() && needs_none.why_not.is_none());
}

fn exhibit(records: &Records, name: &str) -> Exhibit {
    testing::exhibit(Paper::Mogul1990, records, name)
}

#[test]
fn table_4_has_every_published_row_and_every_trial() {
    let table = exhibit(&records(&published(), TRIALS), "Table 4, trial by trial").table;
    let from = |who: &str| {
        let is_it = |row: &&Vec<Cell>| row.last() == Some(&Cell::from(who));
        table.rows.iter().filter(is_it).count()
    };
    assert_eq!(
        (from("published"), from("here")),
        (25, 12 * TRIALS as usize)
    );
    let of_trial_a: Vec<&Cell> = table
        .rows
        .iter()
        .filter(|row| row[0] == Cell::from("A, trial 2"))
        .map(|row| &row[5])
        .collect();
    assert!(
        matches!(of_trial_a[..], [Cell::Number { value, .. }] if (10_150.0..10_180.0).contains(value)),
        "{of_trial_a:?}"
    );
}

#[test]
fn what_was_not_run_is_missing_and_says_so() {
    let mut records = Records::default();
    records.add_missing(&step_name(&SETS[0], 1), "found no valgrind".to_owned());
    let claim = exhibit(&records, "Figure 2").claims.swap_remove(0);
    assert_eq!(
        (claim.verdict, claim.missing.as_deref()),
        (Verdict::Inconclusive, Some("found no valgrind"))
    );
}
