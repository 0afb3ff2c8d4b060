//! Charts of the findings of an observation.

use switchcost_analysis::observation::{
    Bin, Findings, Of, Part, Payer, Range, Spread, Stretch, payers, spread, stretches, waiting,
};
use switchcost_record::observation::{Observation, Source};
use switchcost_units::Nanos;

use super::neighbours::{observed, text};
use super::tables::label;
use crate::figure::{Axis, Chart, Look, Point, REST, Scale, Series};
use crate::quantity::{self, NO_NUMBER, count, number, rounded, share, time};
use crate::{Grid, Page};
use itertools::Itertools;

/// Maximum number of rows in a chart. More rows are hard to distinguish.
const MOST_ROWS: usize = 20;

/// Maximum number of competitors in the chart of waits, which is the number of distinguishable
/// colours.
const MOST_BEHIND: usize = 7;

/// Least number of periods in the observed window for which charts over time are drawn.
const FEWEST_STRETCHES: usize = 2;

/// Drawn end of a range without an upper end, as a multiple of the largest known end.
const BEYOND: f64 = 1.1;

/// Adds all figures to an HTML page, the cost of switches first. A terminal gets no figures.
pub(super) fn add(page: &mut Page, observation: &Observation, findings: &Findings) {
    if !page.has_figures() || findings.all.switches == 0 {
        return;
    }
    let payers = payers(findings);
    if !payers.is_empty() {
        page.heading("Cost by program and cause", "as CPU time per second");
        page.figure(|| costs(&payers));
        page.method(["observing"]);
    }
    if !findings.kept_waiting.is_empty() {
        page.heading(
            "What kept tasks waiting",
            "for a CPU, while they were runnable",
        );
        page.figure(|| waits(findings));
        page.method(["observing"]);
    }
    if let Some(spread) = spread(observation) {
        page.heading(
            "How long each time was",
            "off the CPU, and the part of it spent waiting for a CPU",
        );
        page.figure(|| times(&spread));
        page.method(["observing"]);
    }
    let stretches = stretches(observation);
    if stretches.len() >= FEWEST_STRETCHES {
        page.heading("Over the window", "all observed tasks together, over time");
        page.figure(|| switches(&stretches));
        page.figure(|| tasks_waiting(&stretches));
        page.method(["observing"]);
    }
}

/// Draws the cost of the switches of each program, by cause; `None` if no cost is known.
fn costs(all: &[Payer<'_>]) -> Option<Chart> {
    let payers = &all[..all.len().min(MOST_ROWS)];
    let farthest = payers.iter().flat_map(ends).reduce(f64::max)?;
    let bars = parts(payers).into_iter().map(|of| {
        let points = payers.iter().enumerate().filter_map(|(row, payer)| {
            let part = payer.parts.iter().find(|part| part.of == of)?;
            Some(Point::new(
                row as f64,
                part.cost.likely?,
                describe_cost(part.cost),
            ))
        });
        Series::new(Look::Bars, name(of), points)
    });
    let ranges = payers.iter().enumerate().map(|(row, payer)| {
        let cost = payer.cost;
        let point = Point::new(
            row as f64,
            cost.likely.unwrap_or(f64::NAN),
            describe_cost(cost),
        );
        if cost.high.is_finite() {
            point.between(cost.low, cost.high)
        } else {
            point.open_above(cost.low, BEYOND * farthest)
        }
    });
    let mut caption =
        "Bars: the likely CPU time per second: the direct cost by cause, and cold caches for all causes. Lines: the range of \
         their sum."
            .to_owned();
    if payers.iter().any(|payer| payer.found.indirect_ns.is_none()) {
        caption += " Bars without cold caches: their cost is unknown.";
    }
    if all.len() > payers.len() {
        let more = count((all.len() - payers.len()) as u64);
        caption += &format!(" {more} more programs are in the table.");
    }
    let names = Axis::names("program", payers.iter().map(|payer| label(payer.found)));
    let title = "Cost of switching by program and cause";
    Some(
        Chart::new("costs", title, names, Axis::new(Scale::Span, "per second"))
            .across()
            .with(bars)
            .with([Series::new(Look::Range, "together", ranges)])
            .caption(caption)
            .numbers(table_of_costs(all)),
    )
}

/// Returns all known ends and likely values of a program's cost and of its parts.
fn ends<'a>(payer: &'a Payer<'_>) -> impl Iterator<Item = f64> + 'a {
    let costs = payer.parts.iter().map(|part| part.cost).chain([payer.cost]);
    costs
        .flat_map(|cost| [Some(cost.low), cost.likely, Some(cost.high)])
        .flatten()
        .filter(|end| end.is_finite())
}

/// Returns the kinds of parts in order of first appearance, with cold caches last.
fn parts(payers: &[Payer<'_>]) -> Vec<Of> {
    let parts = payers.iter().flat_map(|payer| &payer.parts);
    let likely = parts.filter(|part| part.cost.likely.is_some());
    let mut found = likely.map(|part| part.of).unique().collect_vec();
    found.sort_by_key(|of| *of == Of::Reloading);
    found
}

fn name(of: Of) -> &'static str {
    match of {
        Of::Cause(why) => why.describe(),
        Of::AnyCause => "directly, whatever the cause",
        Of::Reloading => "cold caches",
    }
}

fn describe_cost(cost: Range) -> String {
    format!("{} ({}) per second", centre(cost), range(cost))
}

fn centre(cost: Range) -> String {
    cost.likely.map_or(NO_NUMBER.to_owned(), time)
}

fn range(cost: Range) -> String {
    if cost.high.is_finite() {
        quantity::range((cost.low, cost.high), time)
    } else {
        format!("{} or more", time(cost.low))
    }
}

fn table_of_costs(payers: &[Payer<'_>]) -> Grid {
    let mut grid =
        Grid::new(2)
            .left(["program", "for"])
            .right(["switches", "CPU time per second", "range"]);
    for payer in payers {
        let mut row = |about: &str, switches: u64, cost: Range| {
            let cells = [
                label(payer.found),
                about.to_owned(),
                count(switches),
                centre(cost),
                range(cost),
            ];
            grid.row(cells);
        };
        row("all", payer.found.switches, payer.cost);
        for Part { of, switches, cost } in &payer.parts {
            row(name(*of), *switches, *cost);
        }
    }
    grid
}

/// Draws the time that the tasks of each program waited for a CPU, by the program that ran
/// meanwhile.
fn waits(findings: &Findings) -> Chart {
    let found = &findings.kept_waiting;
    let waiting = waiting(found, MOST_ROWS, MOST_BEHIND);
    let is_kernel = |name: &str| {
        found
            .iter()
            .any(|each| each.observed == name && each.is_kernel)
    };
    let names = waiting
        .observed
        .iter()
        .map(|name| observed(name, is_kernel(name)));
    let bars = waiting.behind.iter().enumerate().map(|(column, who)| {
        let waits = waiting
            .wait_ns
            .iter()
            .map(|waits| waits[column])
            .enumerate();
        let points = waits
            .filter(|(_, ns)| *ns > 0.0)
            .map(|(row, ns)| Point::new(row as f64, ns, time(ns)));
        match who {
            Some(who) => Series::new(Look::Bars, text(who), points),
            None => Series::new(Look::Bars, "all others", points).coloured(REST),
        }
    });
    let table =
        Grid::new(2)
            .left(["observed", "behind"])
            .right(["waited", "of all waits", "times"]);
    let rows = found.iter().map(|each| {
        [
            observed(&each.observed, each.is_kernel),
            text(&each.behind),
            time(each.wait_ns),
            share(each.share),
            each.waits.map_or(NO_NUMBER.to_owned(), count),
        ]
    });
    let title = "What kept tasks waiting";
    Chart::new("kept-waiting", title, Axis::names("observed", names), Axis::new(Scale::Span, "waited"))
        .across()
        .with(bars)
        .caption(
            "Time for which the tasks of each program were runnable without a CPU, by what ran there. If several tasks wait at \
             once, their times are added.",
        )
        .numbers(table.with_rows(rows))
}

/// Draws the distribution of the times off the CPU, and of the times spent runnable but waiting.
fn times(spread: &Spread) -> Chart {
    let bars = |name: &'static str, bins: &Option<Vec<Bin>>| {
        let bins = bins.iter().flatten().enumerate();
        let points = bins.map(|(at, bin)| {
            let text = format!("{} times, {}", count(bin.count), share(bin.share));
            Point::new(at as f64, bin.share, text)
        });
        Series::new(Look::Bars, name, points)
    };
    let begins = spread.bins.iter().map(|(from, _)| match *from {
        0.0 => "0".to_owned(),
        from => time(from),
    });
    let end = spread
        .bins
        .last()
        .map(|(_, to)| to.map(time).unwrap_or_default());
    let x = Axis::new(Scale::Edges(begins.chain(end).collect()), "for how long");
    let title = "Times off the CPU, and waits for a CPU";
    Chart::new("times", title, x, Axis::new(Scale::Share, "share of times"))
        .with([bars("off the CPU", &spread.off), bars("waiting for a CPU", &spread.wait)])
        .caption(
            "Shares of all switches after which the task ran again, and of all waits for a CPU. Each step to the right is twice \
             as long.",
        )
}

/// Draws the rate of switches over the observed window.
fn switches(stretches: &[Stretch]) -> Chart {
    let line = |name: &'static str, rate: fn(&Stretch) -> f64| {
        let points = stretches.iter().flat_map(move |stretch| {
            steps(
                stretch,
                rate(stretch),
                format!("{} per second", rounded(rate(stretch))),
            )
        });
        Series::new(Look::Line, name, points)
    };
    course(
        "switches",
        "Switches over the window",
        "switches per second",
    )
    .with([
        line("voluntary", |stretch| stretch.voluntary),
        line("involuntary", |stretch| stretch.involuntary),
    ])
    .caption("Voluntary and involuntary switches per second.")
}

fn tasks_waiting(stretches: &[Stretch]) -> Chart {
    let points = stretches.iter().filter_map(|stretch| {
        let tasks = stretch.waiting?;
        Some(steps(stretch, tasks, format!("{} tasks", number(tasks))))
    });
    course("waits", "Waiting for a CPU over the window", "tasks waiting")
        .with([Series::new(Look::Line, "waiting for a CPU", points.flatten()).coloured(2)])
        .caption(
            "Mean number of runnable tasks without a CPU, in each stretch of time. A wait counts when the task leaves the CPU \
             again, so a long wait appears late.",
        )
}

fn course(name: &str, title: &str, height: &str) -> Chart {
    let x = Axis::new(Scale::Linear, "seconds since observation began");
    Chart::new(name, title, x, Axis::new(Scale::Zero, height))
}

/// Returns two points at the same height, at the start and the end of a period of the observed
/// window.
fn steps(stretch: &Stretch, height: f64, text: String) -> [Point; 2] {
    let until = format!("until {} s", number(stretch.to_seconds));
    [
        Point::new(stretch.from_seconds, height, text).with_note(until),
        Point::new(stretch.to_seconds, height, ""),
    ]
}

/// Returns a sentence on figures that are left out because the source does not count their numbers;
/// `None` if there are none.
pub(super) fn undrawn_note(observation: &Observation, findings: &Findings) -> Option<String> {
    let missing = [
        (findings.all.direct_ns.is_none(), "what switches cost"),
        (findings.causes.is_empty(), "why tasks were switched"),
        (
            findings.kept_waiting.is_empty() && may_have_waited(observation),
            "who kept them waiting",
        ),
        (findings.off.is_none(), "how long they were off the CPU"),
        (findings.wait.is_none(), "how long they waited for a CPU"),
        (
            observation.moments.is_empty(),
            "how switches are spread over the window",
        ),
    ];
    let missing: Vec<&str> = missing
        .iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, what)| *what)
        .collect();
    let (last, rest) = missing.split_last()?;
    let all = if rest.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", rest.join(", "))
    };
    Some(format!(
        "Not drawn, since this record does not have it: {all}."
    ))
}

/// Returns true unless the kernel counted all waits and found none.
fn may_have_waited(observation: &Observation) -> bool {
    observation.source != Source::Bpf
        || observation
            .tasks
            .iter()
            .any(|tasks| tasks.wait_ns > Nanos(0))
}

#[cfg(test)]
mod tests {
    use switchcost_analysis::observation::analyse;

    use super::super::tests::large;
    use super::waits;
    use crate::text::{has, lacks};

    #[test]
    fn threads_of_the_kernel_are_in_brackets_where_they_waited_too() {
        let mut observation = large();
        observation.tasks[6].is_kernel = true;
        let figure = waits(&analyse(&observation)).figure();
        let table = format!("{:?}", figure.map(|figure| figure.table));
        has(&table, "[name of task 7.]");
        lacks(&table, "[name of task 8.]");
    }
}
