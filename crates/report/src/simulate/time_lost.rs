//! Renders the time to reload the lost lines of a design, at the measured miss costs of a machine.

use switchcost_analysis::simulation::{DesignFinding, Findings, PricedLines};
use switchcost_record::prices::Kind;

use super::detailed;
use crate::plain::plain;
use crate::quantity::{rounded, share, time};
use crate::{Grid, Page};

/// Returns a sentence on the time to reload lost lines per switch; empty without measured miss
/// costs.
pub(super) fn sentence(design: &DesignFinding) -> String {
    let Some(lost) = &design.time_lost else {
        return String::new();
    };
    let ([Some(low), Some(likely), Some(high)], Some(unpriced)) = (
        [lost.low_ns, lost.likely_ns, lost.high_ns],
        lost.unpriced_share,
    ) else {
        return " The time to reload the lost lines is unknown, because none has a measured price."
            .to_owned();
    };
    let lines = if unpriced > 0.0 {
        format!("{} of the lost lines", share(1.0 - unpriced))
    } else {
        "the lost lines".to_owned()
    };
    let mut text = format!(
        " Reloading {lines} takes {} per switch on {} ({} if the CPU hides what it can, {} if it hides nothing).",
        time(likely),
        lost.cpu_model
            .as_deref()
            .map_or_else(|| "a processor of unknown model".into(), plain),
        time(low),
        time(high),
    );
    if unpriced > 0.0 {
        text += " The other lines have no measured price.";
    }
    if let Some(cycles) = lost.cycles_ns {
        text += &format!(" The simulated cycles alone would take {}.", time(cycles));
    }
    text
}

/// Returns a sentence on the use of the last cache level by other CPUs and guests, which is not
/// simulated; empty if the programs hardly use that level.
pub(super) fn last_level_sentence(design: &DesignFinding) -> String {
    design.last_level_in_use().map_or_else(String::new, |last| {
        format!(
            " Other CPUs and guests use {}, too, so a switch of these programs may cost much more.",
            last.level
        )
    })
}

/// Adds a table of lost lines by level and kind of request, with the time per line.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(4)
        .left(["design", "found alone in", "missed up to", "asked for"])
        .right(["lines per switch", "time per line", "from", "to"]);
    let mut has_dependent = false;
    for design in detailed(findings) {
        for lines in design.time_lost.iter().flat_map(|lost| &lost.lines) {
            grid.row(row(&design.name, lines));
            has_dependent |= lines.kind == Kind::Dependent;
        }
    }
    page.table(
        "Lost lines in time",
        "with the miss costs of switchcost measure --prices",
        grid,
    );
    if has_dependent {
        page.paragraph(
            "It is unknown which loads the dependent loads wait for; half of them are assumed to overlap.",
        );
    }
}

fn row(design: &str, lines: &PricedLines) -> [String; 8] {
    let PricedLines {
        found_alone,
        missed,
        kind,
        lines,
        line_ns,
    } = lines;
    let [low, likely, high] = match line_ns {
        Some(ns) => ns.map(time),
        None => Default::default(),
    };
    [
        design.to_owned(),
        found_alone.clone(),
        missed.clone(),
        kind.to_string(),
        rounded(*lines),
        likely,
        low,
        high,
    ]
}
