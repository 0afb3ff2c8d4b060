//! Figures 8 and 9 of Mogul and Borg: the overhead ratio by technology, and by cache size.

use super::{SETS, design_of_trials, overhead, published};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

/// A pair of designs that are compared.
type Move = (&'static str, &'static str);

const FASTER: [Move; 2] = [("1a", "2a"), ("1b", "2b")];
const LARGER: [Move; 2] = [("1a", "1b"), ("2a", "2b")];

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        exhibit(
            records,
            "Figure 8",
            "Overhead ratio (mean of the trials) over technology: slow and fast processors",
            FASTER,
        ),
        exhibit(
            records,
            "Figure 9",
            "Overhead ratio (mean of the trials) over cache size: four times as large",
            LARGER,
        ),
    ]
}

fn exhibit(records: &Records, name: &str, title: &str, moves: [Move; 2]) -> Exhibit {
    let mut exhibit = Exhibit::new(
        name,
        title,
        [
            "set",
            "from",
            "to",
            "published %",
            "published %, to",
            "here %",
            "here %, to",
        ],
    );
    let mut series = Vec::new();
    for (number, set) in SETS.iter().enumerate() {
        for (from, to) in moves {
            let there = [from, to]
                .map(|design| published(set.published, design, |row| row.overhead_percent / 100.0));
            let here = [
                overhead(records, number, from),
                overhead(records, number, to),
            ];
            let label = format!("{}, {from} to {to}", set.published);
            series.push(Series::new(
                format!("{label}, published"),
                Style::Published,
                points(there),
            ));
            let [first, second] = here.clone().map(|share| share.unwrap_or(f64::NAN));
            series.push(Series::new(
                label.as_str(),
                Style::Found,
                points([first, second]),
            ));
            series.push(Series::new(
                format!("{label}, trials"),
                Style::Trials,
                pair_trials(records, number, [from, to]),
            ));
            let cell = |share: &Outcome<f64>| match share {
                Ok(share) => Cell::number(share * 100.0, 2),
                Err(why) => Cell::Missing { why: why.clone() },
            };
            exhibit.row(vec![
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
    chart.x_names = vec![
        moves.map(|(from, _)| from).join(", "),
        moves.map(|(_, to)| to).join(", "),
    ];
    exhibit.chart = Some(chart);
    exhibit
}

/// Returns the overheads of the trials of a set of programs on both designs, as points with the
/// index of the design as position.
fn pair_trials(records: &Records, set: usize, designs: [&str; 2]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (place, design) in designs.into_iter().enumerate() {
        for found in design_of_trials(records, set, design).unwrap_or_default() {
            points.extend(
                found
                    .table_4_overhead
                    .estimate
                    .map(|share| (place as f64, share)),
            );
        }
    }
    points
}

fn points([first, second]: [f64; 2]) -> [(f64, f64); 2] {
    [(0.0, first), (1.0, second)]
}
