//! The report on a machine's fitness to measure.

use switchcost_record::{Check, Fitness, Severity};

use crate::entry::{Entry, Side, Tone};
use crate::for_programs::{csv, json};
use crate::grid::Grid;
use crate::page::Page;
use crate::{Format, Style};

/// The check-up as text that ends in a newline. As a table it has what is not as it should be, and with details all of it.
pub fn render(fitness: &Fitness, format: Format, style: Style) -> String {
    match format {
        Format::Table => table(fitness, style),
        Format::Json => json(fitness),
        Format::Csv => csv(rows(fitness)),
    }
}

fn rows(fitness: &Fitness) -> impl Iterator<Item = Vec<String>> {
    let names = ["name", "severity", "found", "wanted", "fix", "lasting_fix"].map(str::to_owned).to_vec();
    std::iter::once(names).chain(fitness.checks.iter().map(row))
}

fn row(check: &Check) -> Vec<String> {
    let texts = [&check.name, &check.severity.to_string(), &check.found, &check.wanted, &check.fix, &check.lasting_fix];
    texts.map(String::clone).to_vec()
}

/// The verdict, and then what is not as it should be with what helps: on one screen, or all of it.
fn table(fitness: &Fitness, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&verdict(fitness), tone(fitness.verdict));
    if style.is_detailed {
        page.gap();
        page.grid(&grid(&fitness.checks.iter().collect::<Vec<_>>()));
        add_fixes(&mut page, &fitness.checks);
    } else {
        add_findings(&mut page, &fitness.checks);
    }
    page.finish()
}

/// Each check that found something, worst first, with what helps now, or else for good; and a line with the others.
fn add_findings(page: &mut Page, checks: &[Check]) {
    let (fit, mut others): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| check.severity == Severity::Fit);
    others.sort_by_key(|check| check.severity != Severity::Unfit);
    if !others.is_empty() {
        page.gap();
    }
    for check in others {
        let unfit = if check.severity == Severity::Unfit { " (unfit)" } else { "" };
        page.prose(&format!("{}{unfit}: {}", check.name, check.found));
        let help =
            [("now", &check.fix), ("permanently", &check.lasting_fix)].into_iter().find(|(_, fix)| !fix.is_empty());
        help.into_iter().for_each(|(when, fix)| page.item(&format!("{when}: {fix}")));
    }
    if !fit.is_empty() {
        let names: Vec<&str> = fit.iter().map(|check| check.name.as_str()).collect();
        page.gap();
        page.prose(&format!("as it should be: {}", names.join(", ")));
    }
    page.prose("--details shows what was wanted, and the permanent fixes");
}

fn grid(checks: &[&Check]) -> Grid {
    let mut grid = Grid::new(1);
    for name in ["check", "", "found", "wanted"] {
        grid.column(name, Side::Left);
    }
    for check in checks {
        let severity = Entry::new(check.severity.to_string(), tone(check.severity));
        grid.row(vec![(&check.name).into(), severity, (&check.found).into(), (&check.wanted).into()]);
    }
    grid
}

/// Fixes stand below the table, each on a line of its own that is never wrapped: most of them are commands to copy.
fn add_fixes(page: &mut Page, checks: &[Check]) {
    let helps = |check: &Check| !(check.fix.is_empty() && check.lasting_fix.is_empty());
    let is_fixable = |check: &&Check| check.severity != Severity::Fit && helps(check);
    let fixable: Vec<_> = checks.iter().filter(is_fixable).collect();
    if fixable.is_empty() {
        return;
    }
    page.heading("What helps", "");
    for check in fixable {
        page.line(&format!("  {}", check.name), tone(check.severity));
        for (when, fix) in [("now", &check.fix), ("lasting", &check.lasting_fix)] {
            if !fix.is_empty() {
                page.line(&format!("    {when:7}  {fix}"), Tone::Usual);
            }
        }
    }
}

fn verdict(fitness: &Fitness) -> String {
    let of = fitness.checks.len();
    let count = |severity: Severity| fitness.checks.iter().filter(|check| check.severity == severity).count();
    match fitness.verdict {
        Severity::Fit => format!("fit to measure: {} of {of} checks", count(Severity::Fit)),
        Severity::Caveat => format!("usable with caveats: {} of {of} checks", count(Severity::Caveat)),
        Severity::Unfit => format!("not fit to measure: {} of {of} checks", count(Severity::Unfit)),
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fit => Tone::Good,
        Severity::Caveat => Tone::Suspect,
        Severity::Unfit => Tone::Bad,
    }
}
