//! Renders two sides that were measured in interleaved runs: their comparison, their set-ups, and
//! the changes that the runs left on the machine.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::compare::{Ended, InTurns, Side};

use super::calls::Which;
use super::{csv, environment, screen};
use crate::format::written;
use crate::plain::as_argument;
use crate::quantity::time;
use crate::{Document, Entry, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

impl OutputFormat for &InTurns {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.ab/1";
}

/// Renders the result of interleaved runs in one of the formats, as text that ends in a newline.
pub fn render_in_turns(turns: &InTurns, format: Format, style: Style) -> String {
    written(turns, format, style)
}

/// Formats a path as a shell argument; the home folder (`~`) is not quoted.
fn path_argument(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(below) => format!("~/{}", as_argument(below)),
        None => as_argument(path),
    }
}

impl InEveryFormat for InTurns {
    fn add_to(&self, page: &mut Page) {
        let rest = if page.is_detailed() {
            super::add(page, &self.comparison);
            page.gap();
            page.items_up_to(usize::MAX, &notes(self));
            None
        } else {
            screen::add_with(page, &self.comparison, Which::All, &notes(self));
            let [base, new] =
                ["base", "new"].map(|side| path_argument(&format!("{}/{side}", self.folder)));
            Some(format!(
                "full report: switchcost compare --details {base} {new}"
            ))
        };
        page.heading("Configurations", ran(self));
        let texts = [&self.base, &self.new].map(|arm| [&arm.setup, &arm.wrapper, &arm.undo]);
        if texts.iter().flatten().any(|text| !text.is_empty()) {
            page.grid(setups(self));
        }
        if !self.left.is_empty() {
            page.table(
                "Not restored",
                "settings that the runs changed",
                environment(Grid::single_line_rows(1), ["before", "after"], &self.left),
            );
        }
        if let Some(rest) = rest {
            page.gap();
            page.line(rest);
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(&self.comparison)]
    }
}

fn count(turns: &InTurns, side: Side) -> usize {
    turns.order.iter().filter(|one| **one == side).count()
}

/// Describes the runs, such as `9 runs of each, interleaved, in 58.1 s`.
fn ran(turns: &InTurns) -> String {
    let (base, new) = (count(turns, Side::Base), count(turns, Side::New));
    let runs = if base == new {
        format!("{base} runs of each")
    } else {
        format!("{base} runs of base and {new} of new")
    };
    format!(
        "{runs}, interleaved, in {}",
        time(turns.elapsed_ns.0 as f64)
    )
}

fn setups(turns: &InTurns) -> Grid {
    let mut grid = Grid::new(1).left(["side", "before each run", "wrapper", "undo command"]);
    for (name, arm) in [("base", &turns.base), ("new", &turns.new)] {
        let [setup, wrapper, undo] = [&arm.setup, &arm.wrapper, &arm.undo].map(String::as_str);
        grid.row([name, setup, wrapper, undo].map(Entry::from).to_vec());
    }
    grid
}

fn notes(turns: &InTurns) -> Vec<String> {
    let mut notes = vec![ending(turns)];
    notes.extend(turns.complaints.iter().cloned());
    if !turns.left.is_empty() {
        notes.push(
            "The runs left changes behind: undo them, and give --base-undo and --new-undo next time."
                .to_owned(),
        );
    }
    notes
}

fn ending(turns: &InTurns) -> String {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let (asked, power) = (
        percent(turns.detect),
        format!("{:.0} %", turns.power * 100.0),
    );
    let shown = match turns.detectable {
        Some(found) => format!(
            "a change of {} or more would be detected (probability {power})",
            percent(found)
        ),
        None => "no change would be detected, because the runs could not be compared".to_owned(),
    };
    match turns.ended {
        Ended::Power => format!("Stopped after enough runs: {shown}; {asked} was requested."),
        Ended::Budget => {
            format!(
                "Stopped by the budget of {}: {shown}, but {asked} was requested.",
                time(turns.budget_ns.0 as f64)
            )
        }
        Ended::Interrupted => format!("Interrupted: {shown}."),
    }
}
