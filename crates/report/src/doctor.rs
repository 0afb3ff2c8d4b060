//! Renders the report on whether this machine is fit to measure.

use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::{Check, Fitness, Severity, strip_error_numbers};

use crate::for_programs::table_of_names;
use crate::format::written;
use crate::{Entry, Format, Grid, InEveryFormat, Page, Style, Table, Tone};

/// Renders the checks of this machine as text that ends in a newline. The table lists only checks
/// that found something, or all checks if details are requested.
pub fn render(fitness: &Fitness, format: Format, style: Style) -> String {
    written(fitness, format, style)
}

impl InEveryFormat for Fitness {
    /// Adds the verdict, then the findings with their remedies. A detailed page has all checks. A
    /// screen has the checks that found something, and only the names of the others.
    fn add_to(&self, page: &mut Page) {
        page.toned_line(verdict(self), tone(self.verdict));
        if page.is_detailed() {
            page.gap();
            page.grid(grid(&self.checks.iter().collect::<Vec<_>>()));
            add_fixes(page, &self.checks);
        } else {
            add_findings(page, &self.checks);
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        self
    }

    fn tables(&self) -> Vec<Table> {
        vec![table_of_names(&COLUMNS, &self.checks)]
    }
}

const COLUMNS: [&str; 6] = ["name", "severity", "found", "wanted", "fix", "lasting_fix"];

/// Adds each check that found something, worst first, with its temporary remedy, or else its
/// lasting one. The last line names the other checks.
fn add_findings(page: &mut Page, checks: &[Check]) {
    let (fit, mut others): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .partition(|check| check.severity == Severity::Fit);
    others.sort_by_key(|check| check.severity != Severity::Unfit);
    if !others.is_empty() {
        page.gap();
    }
    for check in others {
        let unfit = if check.severity == Severity::Unfit {
            " (unfit)"
        } else {
            ""
        };
        let found = strip_error_numbers(&check.found);
        let no_fix = match (check.fix.as_str(), check.lasting_fix.as_str()) {
            ("", "") => " (no fix is known)",
            _ => "",
        };
        page.prose(format!("{}{unfit}: {found}{no_fix}", check.name));
        let help = [
            ("fix for now", &check.fix),
            ("permanent fix", &check.lasting_fix),
        ]
        .into_iter()
        .find(|(_, fix)| !fix.is_empty());
        help.into_iter()
            .for_each(|(when, fix)| page.item(format!("{when}: {fix}")));
    }
    if !fit.is_empty() {
        let names = fit.iter().map(|check| check.name.as_str()).join(", ");
        page.gap();
        page.prose(format!("passed: {names}"));
    }
    page.prose("full report with permanent fixes: --details");
}

fn grid(checks: &[&Check]) -> Grid {
    let mut grid = Grid::new(1).left(["check", "", "found", "wanted"]);
    for check in checks {
        let severity = Entry::new(check.severity.to_string(), tone(check.severity));
        let found = strip_error_numbers(&check.found);
        grid.row(entries![&check.name, severity, found, &check.wanted]);
    }
    grid
}

/// Adds the remedies below the table, each on one unwrapped line, because most are commands to
/// copy.
fn add_fixes(page: &mut Page, checks: &[Check]) {
    let helps = |check: &Check| !(check.fix.is_empty() && check.lasting_fix.is_empty());
    let is_fixable = |check: &&Check| check.severity != Severity::Fit && helps(check);
    let fixable: Vec<_> = checks.iter().filter(is_fixable).collect();
    if fixable.is_empty() {
        return;
    }
    page.heading("Fixes", "");
    for check in fixable {
        page.toned_line(format!("  {}", check.name), tone(check.severity));
        for (when, fix) in [("now", &check.fix), ("permanently", &check.lasting_fix)] {
            if !fix.is_empty() {
                page.line(format!("    {when:11}  {fix}"));
            }
        }
    }
}

fn verdict(fitness: &Fitness) -> String {
    let of = fitness.checks.len();
    let count = |severity: Severity| {
        fitness
            .checks
            .iter()
            .filter(|check| check.severity == severity)
            .count()
    };
    match fitness.verdict {
        Severity::Fit => format!(
            "Fit for measuring: {} of {of} checks passed.",
            count(Severity::Fit)
        ),
        Severity::Caveat => format!(
            "Usable with caveats: {} of {of} checks found a possible disturbance.",
            count(Severity::Caveat)
        ),
        Severity::Unfit => format!(
            "Unfit for measuring: {} of {of} checks failed, and {} found a possible disturbance.",
            count(Severity::Unfit),
            count(Severity::Caveat)
        ),
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fit => Tone::Good,
        Severity::Caveat => Tone::Suspect,
        Severity::Unfit => Tone::Bad,
    }
}
