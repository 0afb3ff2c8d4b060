//! Table 4 of Mogul and Borg: instructions, references, average cost, total cycles and overhead of
//! each trial.

use switchcost_analysis::simulation::DesignFinding;

use super::{DESIGNS, SETS, mean, trials};
use crate::exhibit::Cell;
use crate::published::mogul_table_4;
use crate::{Exhibit, Records};

const COLUMNS: [&str; 11] = [
    "trial",
    "design",
    "set",
    "instrs (10^6)",
    "data refs (10^6)",
    "average cost (cycles)",
    "low",
    "high",
    "total cycles (10^6)",
    "overhead %",
    "from",
];

/// Returns Table 4 twice: in short with a row for each design and set, and with a row for each
/// trial.
pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut short = means(records);
    let all = trial_by_trial(records);
    short.steps.clone_from(&all.steps);
    short.notes = vec![
        "2a and 2b have a faster processor than 1a and 1b; 1b and 2b have four times the cache. Programs, compilers and instruction \
         sets are today's: expect orders and ratios to agree, not cycles."
            .into(),
    ];
    vec![short, all]
}

/// Returns a table of the means over the trials of each design and set, with the lowest and the
/// highest trial.
fn means(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 4",
        "The cost of a context switch",
        [
            "design",
            "set",
            "cost, cycles, published",
            "here (lowest to highest trial)",
            "overhead %, published",
            "here",
        ],
    );
    let published = mogul_table_4();
    for design in DESIGNS {
        for set in &SETS {
            let of = |number: fn(&crate::published::Trial) -> f64| {
                let rows = published
                    .iter()
                    .filter(|row| row.design == design && row.benchmark_set == set.published);
                let numbers: Vec<String> = rows.map(|row| number(row).to_string()).collect();
                Cell::Text(numbers.join(", "))
            };
            let trials = trials(records, set);
            let found = |number: fn(&DesignFinding) -> Option<f64>| -> Vec<f64> {
                let designs = trials
                    .iter()
                    .flatten()
                    .filter_map(|trial| trial.design(design));
                designs.filter_map(number).collect()
            };
            let costs = found(|design| design.average_cost_cycles.estimate);
            let overheads = found(|design| design.table_4_overhead.estimate);
            let why = trials.as_ref().err().map_or("", String::as_str);
            exhibit.row(vec![
                design.into(),
                set.published.into(),
                of(|row| row.average_cost_cycles),
                format_extremes(&costs, why),
                of(|row| row.overhead_percent),
                Cell::or_missing(mean(overheads.iter().map(|share| share * 100.0)), 2, why),
            ]);
        }
    }
    exhibit
}

/// Formats the mean, the lowest and the highest of the trials.
fn format_extremes(trials: &[f64], why: &str) -> Cell {
    let of = |one: fn(f64, f64) -> f64| trials.iter().copied().reduce(one);
    match (mean(trials.iter().copied()), of(f64::min), of(f64::max)) {
        (Some(mean), Some(low), Some(high)) => format!("{mean:.0} ({low:.0} to {high:.0})").into(),
        _ => Cell::Missing {
            why: why.to_owned(),
        },
    }
}

fn trial_by_trial(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 4, trial by trial",
        "The cost of a context switch, published and found",
        COLUMNS,
    );
    let published = mogul_table_4();
    for (place, design) in DESIGNS.iter().enumerate() {
        for set in &SETS {
            for row in published
                .iter()
                .filter(|row| row.design == *design && row.benchmark_set == set.published)
            {
                exhibit.row(vec![
                    row.trial.as_str().into(),
                    (*design).into(),
                    set.published.into(),
                    Cell::number(row.instructions_millions, 0),
                    Cell::number(row.data_refs_millions, 0),
                    Cell::number(row.average_cost_cycles, 0),
                    Cell::Text(String::new()),
                    Cell::Text(String::new()),
                    Cell::number(row.total_cycles_millions, 0),
                    Cell::number(row.overhead_percent, 2),
                    "published".into(),
                ]);
            }
            found(records, set, place, &mut exhibit);
        }
    }
    exhibit.steps.sort();
    exhibit.steps.dedup();
    exhibit
}

fn found(records: &Records, set: &super::Set, place: usize, exhibit: &mut Exhibit) {
    let design_name = DESIGNS[place];
    let missing = |why: &str, exhibit: &mut Exhibit| {
        let mut row: Vec<Cell> = vec![
            set.trials[place].into(),
            design_name.into(),
            set.published.into(),
        ];
        row.extend((0..7).map(|_| Cell::Missing {
            why: why.to_owned(),
        }));
        row.push("here".into());
        exhibit.row(row);
    };
    let trials = match trials(records, set) {
        Ok(trials) => trials,
        Err(why) => return missing(&why, exhibit),
    };
    for trial in trials {
        let Some(design) = trial.design(design_name) else {
            missing("the record lacks the design", exhibit);
            continue;
        };
        let cost = &design.average_cost_cycles;
        let why = cost.why.as_deref().unwrap_or("not known");
        exhibit.row(vec![
            format!("{}, trial {}", set.trials[place], trial.number).into(),
            design_name.into(),
            set.published.into(),
            Cell::number(design.instructions as f64 / 1e6, 0),
            Cell::number(design.data_refs as f64 / 1e6, 0),
            Cell::or_missing(cost.estimate, 0, why),
            Cell::or_missing(cost.interval.map(|(low, _)| low), 0, why),
            Cell::or_missing(cost.interval.map(|(_, high)| high), 0, why),
            Cell::number(design.hierarchies.shared.cycles as f64 / 1e6, 0),
            Cell::or_missing(
                design.table_4_overhead.estimate.map(|share| share * 100.0),
                2,
                why,
            ),
            "here".into(),
        ]);
        exhibit.add_step(trial.step);
    }
}
