//! Table 4 in a guest, with the kernel's references and without them at the same switches: what the paper could not see.

use switchcost_analysis::simulation::{Cost, DesignFinding};

use super::quantities::{
    CLIENT, COMPUTE, LARGER, Outcome, Sample, TIMESHARING, costs_of, geometric, moves, on_every_design, over, trials_of,
};
use super::{DESIGNS, QUICK_SWITCHES, SETS, SWITCHES, SWITCHES_OF_OTHERS, Set, Trial, mean, published, trials_named};
use crate::claims::{Found, Term};
use crate::exhibit::Cell;
use crate::{Effort, Exhibit, Records, Step, Table};

/// As many as show a spread: each takes a guest from its start, twice.
const TRIALS: u64 = 4;

/// What of a guest is simulated.
#[derive(Clone, Copy)]
enum View {
    /// All of it.
    WithKernel,
    /// The programs' own references, at the same switches.
    Alone,
}

pub(super) fn name_with(set: &Set, trial: u64) -> String {
    format!("mogul1990-{}-with-kernel-{trial}", set.name)
}

pub(super) fn name_alone(set: &Set, trial: u64) -> String {
    format!("mogul1990-{}-without-kernel-{trial}", set.name)
}

/// Two a trial: the guest is the same each time, and its trace need not be kept.
pub(super) fn steps(effort: Effort) -> Vec<Step> {
    let (trials, switches) = match effort {
        Effort::Usual => (TRIALS, SWITCHES),
        Effort::Quick => (1, QUICK_SWITCHES),
    };
    let both = |set: &Set, trial: u64| {
        let switches = if trial == 1 { switches } else { SWITCHES_OF_OTHERS };
        let line = format!("workload {} --system --seed {trial} --switches {switches}", set.name);
        [Step::new(name_with(set, trial), &line), Step::new(name_alone(set, trial), &format!("{line} --user-only"))]
    };
    SETS.iter().flat_map(|set| (1..=trials).flat_map(move |trial| both(set, trial))).collect()
}

fn trials(records: &Records, set: usize, view: View) -> Result<Vec<Trial<'_>>, String> {
    let set = &SETS[set];
    match view {
        View::WithKernel => trials_named(records, TRIALS, |trial| name_with(set, trial)),
        View::Alone => trials_named(records, TRIALS, |trial| name_alone(set, trial)),
    }
}

fn average(design: &DesignFinding) -> &Cost {
    &design.average_cost_cycles
}

fn cost(records: &Records, set: usize, design: &str) -> Result<Vec<Sample>, String> {
    costs_of(&trials(records, set, View::WithKernel)?, design, average)
}

fn overhead(records: &Records, set: usize, design: &str) -> Result<Vec<Sample>, String> {
    costs_of(&trials(records, set, View::WithKernel)?, design, |found| &found.overhead_share)
}

/// The cost with the kernel over that of the programs alone. Segments are the same, so that their batches pair.
fn ratio(records: &Records, set: usize, design: &str) -> Result<Term, String> {
    let alone = costs_of(&trials(records, set, View::Alone)?, design, average)?;
    let ratios = over(&cost(records, set, design)?, &alone, true);
    geometric(format!("{}, {design}: with over without", SETS[set].published), &ratios)
}

pub(super) fn ratios(records: &Records) -> Outcome {
    let all = (0..SETS.len()).flat_map(|set| DESIGNS.map(|design| ratio(records, set, design)));
    let terms = all.collect::<Result<Vec<Term>, String>>()?;
    Ok(Found::new(terms, trials_of(&cost(records, TIMESHARING, DESIGNS[0])?)))
}

pub(super) fn order(records: &Records) -> Outcome {
    on_every_design(records, cost, &[[TIMESHARING, COMPUTE], [COMPUTE, CLIENT]], 1.0, "cycles")
}

pub(super) fn improvement(records: &Records) -> Outcome {
    moves(records, overhead, &LARGER.map(|designs| (TIMESHARING, designs)))
}

const COLUMNS: [&str; 11] = [
    "design",
    "set",
    "published cycles",
    "programs alone",
    "with the kernel",
    "ratio",
    "low",
    "high",
    "lost in the kernel's lines %",
    "overhead alone %",
    "overhead with the kernel %",
];

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 4 with the kernel",
        "The cost of a context switch, with the kernel's references and without",
    );
    let mut table = Table::new(&COLUMNS);
    for design in DESIGNS {
        for set in 0..SETS.len() {
            table.row(row(records, set, design, &mut exhibit.steps));
        }
    }
    exhibit.table = table;
    exhibit.steps.sort();
    exhibit.steps.dedup();
    exhibit.notes = vec![
        "Means over trials, the first of 5000 switches and the others of 2500, in a guest with a current kernel, whose own threads \
         are switched to as well; the paper's switches are between processes alone. Programs alone: the same guest, of which only the \
         programs' instructions and references are simulated. It is run by reproduce mogul1990 --system."
            .into(),
    ];
    exhibit
}

fn row(records: &Records, set: usize, design: &str, steps: &mut Vec<String>) -> Vec<Cell> {
    let views = [View::Alone, View::WithKernel].map(|view| trials(records, set, view));
    let why = views.iter().find_map(|view| view.as_ref().err().cloned()).unwrap_or_else(|| "not known".to_owned());
    let [alone, with_kernel] = views.map(Result::unwrap_or_default);
    steps.extend(alone.iter().chain(&with_kernel).map(|trial| trial.step.clone()));
    let of = |trials: &[Trial<'_>], value: fn(&DesignFinding) -> Option<f64>| {
        mean(trials.iter().filter_map(|trial| value(trial.design(design)?)))
    };
    let number = |value: Option<f64>, decimals| Cell::or_missing(value, decimals, &why);
    let cycles = |found: &DesignFinding| found.average_cost_cycles.estimate;
    let percent = |found: &DesignFinding| Some(found.overhead? * 100.0);
    let ratio = ratio(records, set, design).ok();
    let term = |end: fn(&Term) -> f64| number(ratio.as_ref().map(end), 2);
    vec![
        design.into(),
        SETS[set].published.into(),
        Cell::number(published(SETS[set].published, design, |row| row.average_cost_cycles), 0),
        number(of(&alone, cycles), 0),
        number(of(&with_kernel, cycles), 0),
        term(|term| term.value),
        term(|term| term.low),
        term(|term| term.high),
        number(of(&with_kernel, kernels_share), 0),
        number(of(&alone, percent), 1),
        number(of(&with_kernel, percent), 1),
    ]
}

/// Of all cycles that are lost: those in lines of the kernel, in percent.
fn kernels_share(design: &DesignFinding) -> Option<f64> {
    let lost = design.lost_to?;
    let (programs, kernel) = (lost.programs.all() as f64, lost.kernel.all() as f64);
    (programs + kernel > 0.0).then(|| 100.0 * kernel / (programs + kernel))
}
