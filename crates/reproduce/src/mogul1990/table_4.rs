//! Table 4: instructions, references, average cost, total cycles, overhead, of each trial.

use super::{DESIGNS, SETS, cost, overhead, trials};
use crate::exhibit::Cell;
use crate::published::mogul_table_4;
use crate::text::{number, percent};
use crate::{Claim, Exhibit, Records, Shape, Table};

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

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Table 4", "The cost of a context switch, published and found, trial by trial");
    let mut table = Table::new(&COLUMNS);
    let published = mogul_table_4();
    for (place, design) in DESIGNS.iter().enumerate() {
        for set in &SETS {
            for row in published.iter().filter(|row| row.design == *design && row.benchmark_set == set.published) {
                table.row(vec![
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
            found(records, set, place, &mut table, &mut exhibit.steps);
        }
    }
    exhibit.table = table;
    exhibit.steps.sort();
    exhibit.steps.dedup();
    exhibit.claims = claims(records);
    exhibit.notes = vec![
        "Programs, compilers and instruction sets are today's: only orders and ratios can be expected to agree, not \
         cycles. Trials that differ only in the design use the same references here; in the paper each trial has its own."
            .into(),
    ];
    exhibit
}

fn found(records: &Records, set: &super::Set, place: usize, table: &mut Table, steps: &mut Vec<String>) {
    let design_name = DESIGNS[place];
    let missing = |why: &str, table: &mut Table| {
        let mut row: Vec<Cell> = vec![set.trials[place].into(), design_name.into(), set.published.into()];
        row.extend((0..7).map(|_| Cell::Missing { why: why.to_owned() }));
        row.push("here".into());
        table.row(row);
    };
    let trials = match trials(records, set) {
        Ok(trials) => trials,
        Err(why) => return missing(&why, table),
    };
    for trial in trials {
        let Some(design) = trial.design(design_name) else {
            missing("the record lacks the design", table);
            continue;
        };
        let cost = &design.average_cost_cycles;
        let why = cost.why.as_deref().unwrap_or("not known");
        table.row(vec![
            format!("{}, seed {}", set.trials[place], trial.number).into(),
            design_name.into(),
            set.published.into(),
            Cell::number(design.instructions as f64 / 1e6, 0),
            Cell::number(design.data_refs as f64 / 1e6, 0),
            Cell::or_missing(cost.estimate, 0, why),
            Cell::or_missing(cost.low, 0, why),
            Cell::or_missing(cost.high, 0, why),
            Cell::number(design.hierarchies.shared.cycles as f64 / 1e6, 0),
            Cell::or_missing(design.overhead.map(|share| share * 100.0), 2, why),
            "here".into(),
        ]);
        steps.push(trial.step);
    }
}

fn claims(records: &Records) -> Vec<Claim> {
    let mut claims = vec![order(records)];
    for (set, design, larger, statement) in [
        (0, "1a", "1b", "Timesharing: four times the cache makes a switch cheaper in cycles (1a to 1b)"),
        (0, "2a", "2b", "Timesharing: four times the cache makes a switch cheaper in cycles (2a to 2b)"),
        (1, "1a", "1b", "Compute-bound: four times the cache makes a switch cheaper in cycles (1a to 1b)"),
    ] {
        claims.push(cheaper(records, set, design, larger, statement));
    }
    claims.push(dearer(records));
    claims.push(spread(records));
    claims
}

/// Client-Server is the cheapest everywhere, Timesharing the dearest.
fn order(records: &Records) -> Claim {
    let outcome = DESIGNS
        .iter()
        .map(|design| (0..3).map(|set| cost(records, set, design)).collect::<Result<Vec<f64>, String>>())
        .collect::<Result<Vec<_>, String>>()
        .map(|costs| {
            let holds = costs.iter().all(|c| c[0] > c[1] && c[1] > c[2]);
            let text = |(design, c): (&&str, &Vec<f64>)| {
                format!("{design}: {} > {} > {}", number(c[0]), number(c[1]), number(c[2]))
            };
            let found: Vec<String> = DESIGNS.iter().zip(&costs).map(text).collect();
            let why = "the sets' programs touch more or less memory between two switches than those of 1990";
            (format!("{} cycles", found.join("; ")), Shape::of(holds, why))
        });
    Claim::decided(
        "On every design a switch costs most in Timesharing, less in Compute-bound, least in Client-Server",
        outcome,
    )
}

fn cheaper(records: &Records, set: usize, design: &str, larger: &str, statement: &str) -> Claim {
    let outcome = cost(records, set, design).and_then(|small| Ok((small, cost(records, set, larger)?)));
    let outcome = outcome.map(|(small, large)| {
        let found = format!("{} cycles, with four times the cache {}", number(small), number(large));
        let why = "what a process leaves behind did not fit the smaller cache and survives nowhere; the larger one holds \
                   enough of it to be worth losing";
        (found, Shape::of(large < small, why))
    });
    Claim::decided(statement, outcome)
}

/// A switch costs more cycles on the faster processor.
fn dearer(records: &Records) -> Claim {
    let outcome = (0..2)
        .map(|set| Ok((cost(records, set, "1a")?, cost(records, set, "2a")?)))
        .collect::<Result<Vec<(f64, f64)>, String>>()
        .map(|pairs| {
            let found: Vec<String> =
                pairs.iter().map(|(slow, fast)| format!("{} and {} cycles", number(*slow), number(*fast))).collect();
            let holds = pairs.iter().all(|(slow, fast)| fast > slow);
            (found.join("; "), Shape::of(holds, "what is lost is mostly found in the second level, which is near"))
        });
    Claim::decided(
        "Timesharing, Compute-bound: a switch costs more cycles on the faster processor (2a) than on 1a",
        outcome,
    )
}

/// Between the sets, the overhead differs by much less than the cost.
fn spread(records: &Records) -> Claim {
    let outcome = (0..3)
        .map(|set| Ok((cost(records, set, "1a")?, overhead(records, set, "1a")?)))
        .collect::<Result<Vec<(f64, f64)>, String>>()
        .map(|found| {
            let ratio = |values: Vec<f64>| {
                values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::INFINITY, f64::min)
            };
            let costs = ratio(found.iter().map(|(cost, _)| *cost).collect());
            let overheads: Vec<f64> = found.iter().map(|(_, overhead)| *overhead).collect();
            let text: Vec<String> = overheads.iter().map(|share| percent(*share)).collect();
            let shares = ratio(overheads);
            let holds = shares < costs / 3.0;
            let why = "segments are not the longer, the more they lose";
            (
                format!(
                    "overheads of {}; largest over smallest {}, of the costs {}",
                    text.join(", "),
                    number(shares),
                    number(costs)
                ),
                Shape::of(holds, why),
            )
        });
    Claim::decided(
        "1a: costs differ by a factor of some 50 between the sets, overheads by a factor of 5: dear switches are rare ones",
        outcome,
    )
}
