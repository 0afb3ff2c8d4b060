//! Table 4 of Mogul and Borg in a guest, with and without the kernel's references at the same
//! switches. The paper's traces did not contain the kernel.
//!
//! The kernel's cost depends on who owns its lines. With virtual tags and process numbers, each
//! process has a copy of every kernel line, and the copies evict each other. The paper assumes such
//! tags or physical ones. So everything is simulated with three ways of addressing the caches, and
//! claims are judged over all three.

use switchcost_analysis::simulation::{Cost, DesignFinding, Group, GroupFinding, TASKS};

use super::sample::{Sample, TIMESHARING, arithmetic, costs_of, geometric, less, over, trials_of};
use super::{DESIGNS, QUICK_SWITCHES, SETS, Set, Trial, mean, published, seed, trials_named};
use crate::claims::{Found, Setting, Term};
use crate::exhibit::Cell;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// Number of trials, enough to show a spread. Each trial runs a guest from its start, twice.
const TRIALS: u64 = 3;
const SWITCHES: [u64; TRIALS as usize] = [5000, 1500, 2500];

/// Ways of indexing and tagging caches, named as for `--vary`: virtual addresses with process
/// numbers (`vivt`), physical tags with virtual indices (`vipt`), with which all processes share
/// the kernel's lines, and physical addresses (`pipt`).
const ADDRESSINGS: [&str; 3] = ["vivt", "vipt", "pipt"];

/// Returns the name of a design with one way of addressing the caches.
fn addressed(design: &str, addressing: &str) -> String {
    format!("{design}[caches.addressing={addressing}]")
}

/// The part of the guest's references that is simulated.
#[derive(Clone, Copy)]
enum View {
    /// References of the programs and of the kernel.
    WithKernel,
    /// References of the programs only, at the same switches.
    Alone,
}

pub(super) fn name_with(set: &Set, trial: u64) -> String {
    format!("mogul1990-{}-with-kernel-{trial}", set.name)
}

pub(super) fn name_alone(set: &Set, trial: u64) -> String {
    format!("mogul1990-{}-without-kernel-{trial}", set.name)
}

/// Returns two steps for each trial. Both run the same guest, so its trace need not be kept.
pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let trials = site.effort.choose(TRIALS, 1);
    let both = |set: &Set, trial: u64| {
        let place = trial as usize - 1;
        let switches = site.effort.choose(SWITCHES[place], QUICK_SWITCHES);
        let (name, seed, quantum) = (set.name, seed(site, trial), set.turns.quantum);
        let designs = DESIGNS.map(|design| format!("mogul-{design}")).join(",");
        let vary = format!(
            "--design {designs} --vary caches.addressing={}",
            ADDRESSINGS.join(",")
        );
        let line = format!(
            "workload {name} --system --physical --seed {seed} --quantum {quantum} --switches {switches} {vary}"
        );
        [
            Step::new(name_with(set, trial), &line),
            Step::new(name_alone(set, trial), &format!("{line} --user-only")),
        ]
    };
    SETS.iter()
        .flat_map(|set| (1..=trials).flat_map(move |trial| both(set, trial)))
        .collect()
}

fn trials(records: &Records, set: usize, view: View) -> Outcome<Vec<Trial<'_>>> {
    let set = &SETS[set];
    match view {
        View::WithKernel => trials_named(records, TRIALS, |trial| name_with(set, trial)),
        View::Alone => trials_named(records, TRIALS, |trial| name_alone(set, trial)),
    }
}

fn average(design: &DesignFinding) -> &Cost {
    &design.average_cost_cycles
}

fn cost(records: &Records, set: usize, design: &str) -> Outcome<Vec<Sample>> {
    costs_of(&trials(records, set, View::WithKernel)?, design, average)
}

/// Returns the ratio of the cost with the kernel to the cost of the programs alone. Both have the
/// same segments, so the ratio is formed batch by batch.
fn ratio(records: &Records, set: usize, design: &str) -> Outcome<Term> {
    let alone = costs_of(&trials(records, set, View::Alone)?, design, average)?;
    let ratios = over(&cost(records, set, design)?, &alone, true);
    geometric(
        format!("{}, {design}: with over without", SETS[set].published),
        &ratios,
    )
}

/// Returns the cost that the kernel's references add. A ratio is not used, because the cost without
/// these references may be about 0.
fn added_on(records: &Records, set: usize, design: &str, addressed: &str) -> Outcome<Term> {
    let alone = costs_of(&trials(records, set, View::Alone)?, addressed, average)?;
    let with_kernel = cost(records, set, addressed)?;
    let term = arithmetic(
        format!("{}, {design}: with minus without", SETS[set].published),
        &less(&with_kernel, &alone, true),
    )?;
    if term.is_exact() {
        Err("one trial has no spread: run another".to_owned())
    } else {
        Ok(term)
    }
}

/// Returns the cost that the kernel's references add, for each way of addressing the caches.
pub(super) fn added(records: &Records) -> Outcome {
    let setting = |kind: &str| {
        let all = (0..SETS.len()).flat_map(|set| {
            DESIGNS.map(|design| added_on(records, set, design, &addressed(design, kind)))
        });
        Ok(Setting {
            name: kind.to_owned(),
            terms: all.collect::<Outcome<_>>()?,
        })
    };
    let settings = ADDRESSINGS.into_iter().map(setting);
    let settings = settings.collect::<Outcome<Vec<Setting>>>()?;
    let first = addressed(DESIGNS[0], ADDRESSINGS[0]);
    let trials = trials_of(&cost(records, TIMESHARING, &first)?);
    let note = format!("{trials}; over {}", ADDRESSINGS.join(", "));
    Ok(Found::over(settings, note))
}

/// Names of the columns, repeated for each way of addressing.
const COLUMNS: [&str; 7] = [
    "alone",
    "with the kernel",
    "ratio",
    "lost in the kernel's lines %",
    "overhead with the kernel %",
    "to programs",
    "to kernel threads",
];

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let columns = ADDRESSINGS
        .iter()
        .flat_map(|kind| COLUMNS.map(|name| format!("{kind}: {name}")));
    let first = ["design", "set", "published", "switches to kernel threads %"].map(str::to_owned);
    let mut exhibit = Exhibit::new(
        "Table 4 with the kernel",
        "The cost of a context switch with the kernel's references, and without",
        first.into_iter().chain(columns),
    );
    for design in DESIGNS {
        for set in 0..SETS.len() {
            let row = row(records, set, design, &mut exhibit.steps);
            exhibit.row(row);
        }
    }
    exhibit.steps.sort();
    exhibit.steps.dedup();
    exhibit.notes = vec![
        "Means over trials of 1,500 to 5,000 switches, in a guest with a current kernel, whose threads take part in \
         switches. Alone: the same guest with only the programs' instructions and references. `reproduce mogul1990 \
         --system` runs it."
            .into(),
        "vivt: virtual index and tags, as in Table 4; vipt: physical tags in the first levels; pipt: physical throughout."
            .into(),
    ];
    exhibit
}

fn row(records: &Records, set: usize, design: &str, steps: &mut Vec<String>) -> Vec<Cell> {
    let views = [View::Alone, View::WithKernel].map(|view| trials(records, set, view));
    let why = views
        .iter()
        .find_map(|view| view.as_ref().err().cloned())
        .unwrap_or_else(|| "not known".to_owned());
    let [alone, with_kernel] = views.map(Result::unwrap_or_default);
    steps.extend(
        alone
            .iter()
            .chain(&with_kernel)
            .map(|trial| trial.step.clone()),
    );
    let published = published(SETS[set].published, design, |row| row.average_cost_cycles);
    let mut row: Vec<Cell> = vec![
        design.into(),
        SETS[set].published.into(),
        Cell::number(published, 0),
    ];
    let first = addressed(design, ADDRESSINGS[0]);
    let of_threads = mean(
        with_kernel
            .iter()
            .filter_map(|trial| threads_share(trial.design(&first)?)),
    );
    row.push(Cell::or_missing(
        of_threads.map(|share| share * 100.0),
        1,
        &why,
    ));
    for kind in ADDRESSINGS {
        let design = addressed(design, kind);
        let of = |trials: &[Trial<'_>], value: fn(&DesignFinding) -> Option<f64>| {
            mean(
                trials
                    .iter()
                    .filter_map(|trial| value(trial.design(&design)?)),
            )
        };
        let cycles = |found: &DesignFinding| found.average_cost_cycles.estimate;
        let percent = |found: &DesignFinding| Some(found.table_4_overhead.estimate? * 100.0);
        row.extend([
            Cell::or_missing(of(&alone, cycles), 0, &why),
            Cell::or_missing(of(&with_kernel, cycles), 0, &why),
            Cell::or_missing(
                ratio(records, set, &design).ok().map(|term| term.value),
                2,
                &why,
            ),
            Cell::or_missing(of(&with_kernel, kernels_share), 0, &why),
            Cell::or_missing(of(&with_kernel, percent), 1, &why),
            Cell::or_missing(
                of(&with_kernel, |found| {
                    task_group(found, TASKS[0])?.cost_cycles.estimate
                }),
                0,
                &why,
            ),
            Cell::or_missing(
                of(&with_kernel, |found| {
                    task_group(found, TASKS[1])?.cost_cycles.estimate
                }),
                0,
                &why,
            ),
        ]);
    }
    row
}

/// Returns the segments of a guest's programs or of its kernel threads; `None` if there are none.
fn task_group<'a>(design: &'a DesignFinding, tasks: &'static str) -> Option<&'a GroupFinding> {
    design
        .groups
        .iter()
        .find(|found| found.group == Group::Tasks(tasks))
}

/// Returns the share of switches that are to kernel threads; `None` if there are no segments of
/// programs.
fn threads_share(design: &DesignFinding) -> Option<f64> {
    let [programs, threads] =
        TASKS.map(|tasks| task_group(design, tasks).map_or(0.0, |group| group.segments as f64));
    (programs > 0.0).then(|| threads / (programs + threads))
}

/// Returns the share of the lost cycles that are on lines of the kernel, in percent; `None` if it
/// is unknown.
fn kernels_share(design: &DesignFinding) -> Option<f64> {
    let lost = design.lost_to?;
    let (programs, kernel) = (lost.programs.total() as f64, lost.kernel.total() as f64);
    (programs + kernel > 0.0).then(|| 100.0 * kernel / (programs + kernel))
}
