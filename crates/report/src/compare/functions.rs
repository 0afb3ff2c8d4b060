//! Shows how many instructions each kernel function takes per switch on both sides, the largest
//! change first.

use itertools::Itertools;
use switchcost_analysis::compare::{Comparison, Cost, Outcome, Pair, Part, Subject};

use super::pairs::numbers;
use super::words::design;
use crate::quantity::rounded;
use crate::{Entry, Grid, Page};

/// Maximum number of kernel functions with a row on one screen.
pub(super) const MOST_FUNCTIONS: usize = 8;

/// Adds a table of kernel functions, ordered by the change of their instructions per switch.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let mut rows: Vec<(&str, String, &Pair)> =
        comparison.pairs.iter().filter_map(function_row).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| change(b.2).abs().total_cmp(&change(a.2).abs()));
    let all: f64 = rows.iter().map(|(.., pair)| change(pair)).sum();
    let caption = format!(
        "with 1 % or more of its instructions, {} in total; instructions per switch",
        signed(all)
    );
    page.heading("The kernel's functions", caption);
    let (all, most) = (rows.len(), page.row_limit(MOST_FUNCTIONS));
    rows.truncate(most);
    let designs: Vec<&String> = rows.iter().map(|(_, design, _)| design).collect();
    let has_several = designs.windows(2).any(|two| two[0] != two[1]);
    let mut grid = Grid::single_line_rows(1)
        .left(["function"])
        .right(["base", "new", "change", "new/base", "interval", "misses"])
        .left(["difference"]);
    for (function, design, pair) in &rows {
        let name = if has_several {
            format!("{function}, {design}")
        } else {
            (*function).to_owned()
        };
        grid.row(row(name, pair, misses(comparison, pair, function)));
    }
    page.grid(grid);
    page.prose("misses: of its code and data, new minus base; -: less than 0.1 % of the kernel's instructions");
    page.more(all, most);
}

fn function_row(pair: &Pair) -> Option<(&str, String, &Pair)> {
    let Subject::Simulated(place) = &pair.subject else {
        return None;
    };
    let Part::Function(function) = &place.part else {
        return None;
    };
    Some((function, design(place), pair))
}

fn number(cost: Option<&Cost>) -> f64 {
    cost.map_or(0.0, |cost| cost.value)
}

/// Returns the change of a function's instructions per switch. A function that only one side has
/// counts as 0 instructions on the other side.
fn change(pair: &Pair) -> f64 {
    number(pair.new.as_ref()) - number(pair.base.as_ref())
}

fn signed(number: f64) -> String {
    if number > 0.0 {
        format!("+{}", rounded(number))
    } else {
        rounded(number)
    }
}

/// Returns the row of a kernel function. A function that only one side has gets no ratio.
fn row(name: String, pair: &Pair, misses: String) -> Vec<Entry> {
    let [base, new, ratio, interval, difference] = numbers(pair);
    let difference = match (&pair.outcome, pair.base, pair.new) {
        (Outcome::Compared { .. }, ..) => difference,
        (_, None, Some(_)) => "in new alone".into(),
        (_, Some(_), None) => "in base alone".into(),
        _ => difference,
    };
    let change = signed(change(pair));
    entries![name, base, new, change, ratio, interval, misses, difference,]
}

/// Least change of misses per switch that is shown.
const LEAST_MISSES: f64 = 0.005;
/// Maximum number of cache levels named in a function's row.
const LEVELS_NAMED: usize = 2;

/// Returns the changes of a function's misses per switch in the first [`LEVELS_NAMED`] cache levels
/// with a change of at least [`LEAST_MISSES`], such as `L1I +0.82, L1D -1.2`.
fn misses(comparison: &Comparison, of: &Pair, name: &str) -> String {
    let Subject::Simulated(whole) = &of.subject else {
        return String::new();
    };
    let of_level = |pair: &Pair| {
        let Subject::Simulated(place) = &pair.subject else {
            return None;
        };
        let is_same =
            (&place.base_design, &place.new_design) == (&whole.base_design, &whole.new_design);
        match &place.part {
            Part::FunctionLevel { function, level } if is_same && function == name => {
                Some(format!("{level} {}", signed(change(pair))))
                    .filter(|_| change(pair).abs() >= LEAST_MISSES)
            }
            _ => None,
        }
    };
    comparison
        .pairs
        .iter()
        .filter_map(of_level)
        .take(LEVELS_NAMED)
        .join(", ")
}
