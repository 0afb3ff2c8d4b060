//! Figures 8 and 9: overhead ratio over technology, and over cache size.

use super::{SETS, overhead};
use crate::exhibit::Cell;
use crate::published::mogul_table_4;
use crate::text::percent;
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// A step from one design to another.
type Move = (&'static str, &'static str);

const FASTER: [Move; 2] = [("1a", "2a"), ("1b", "2b")];
const LARGER: [Move; 2] = [("1a", "1b"), ("2a", "2b")];

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut technology =
        exhibit(records, "Figure 8", "Overhead ratio over technology: slow and fast processors", FASTER);
    technology.claims = vec![moved(
        records,
        ("1a", "2a"),
        "Timesharing: the overhead grows with the faster processor (1a to 2a)",
        |a, b| b > a,
    )];
    let mut size = exhibit(records, "Figure 9", "Overhead ratio over cache size: four times as large", LARGER);
    size.claims = vec![
        moved(records, ("1a", "1b"), "Timesharing: four times the cache lowers the overhead (1a to 1b)", |a, b| b < a),
        moved(records, ("2a", "2b"), "Timesharing: four times the cache lowers the overhead (2a to 2b)", |a, b| b < a),
    ];
    vec![technology, size]
}

fn moved(records: &Records, (from, to): Move, statement: &str, holds: impl Fn(f64, f64) -> bool) -> Claim {
    let outcome = overhead(records, 0, from).and_then(|a| Ok((a, overhead(records, 0, to)?))).map(|(a, b)| {
        let found = format!("{} on {from}, {} on {to}", percent(a), percent(b));
        let why = "today's programs use another part of these caches than those of 1990: see Table 4";
        (found, Shape::of(holds(a, b), why))
    });
    Claim::decided(statement, outcome)
}

fn published(set: &str, design: &str) -> f64 {
    let rows = mogul_table_4();
    let found = rows.iter().filter(|row| row.benchmark_set == set && row.design == design);
    super::mean(found.map(|row| row.overhead_percent / 100.0)).unwrap_or(f64::NAN)
}

fn exhibit(records: &Records, name: &str, title: &str, moves: [Move; 2]) -> Exhibit {
    let mut exhibit = Exhibit::new(name, title);
    let mut table = Table::new(&["set", "from", "to", "published %", "published %, to", "here %", "here %, to"]);
    let mut series = Vec::new();
    for (number, set) in SETS.iter().enumerate() {
        for (from, to) in moves {
            let there = [published(set.published, from), published(set.published, to)];
            let here = [overhead(records, number, from), overhead(records, number, to)];
            let label = format!("{}, {from} to {to}", set.published);
            series.push(Series::new(format!("{label}, published"), Style::Published, points(there)));
            let [first, second] = here.clone().map(|share| share.unwrap_or(f64::NAN));
            series.push(Series::new(label, Style::Found, points([first, second])));
            let cell = |share: &Result<f64, String>| match share {
                Ok(share) => Cell::number(share * 100.0, 2),
                Err(why) => Cell::Missing { why: why.clone() },
            };
            table.row(vec![
                set.published.into(),
                from.into(),
                to.into(),
                Cell::number(there[0] * 100.0, 2),
                Cell::number(there[1] * 100.0, 2),
                cell(&here[0]),
                cell(&here[1]),
            ]);
        }
    }
    series.retain(|one| !one.x.is_empty());
    let mut chart = Chart::new("design", Axis::Names, "overhead ratio", Axis::Share, series);
    chart.x_names = vec![moves.map(|(from, _)| from).join(", "), moves.map(|(_, to)| to).join(", ")];
    exhibit.chart = Some(chart);
    exhibit.table = table;
    exhibit.notes.push("Means over the trials.".into());
    exhibit
}

fn points([first, second]: [f64; 2]) -> [(f64, f64); 2] {
    [(0.0, first), (1.0, second)]
}
