use plotly::common::Marker;
use plotly::layout::BarMode;
use plotly::{Bar, Trace};
use switchcost_analysis::observation::{Bin, Spread, spread};
use switchcost_record::observation::Observation;

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, edges_axis, layout, share_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::time;
use crate::simulate::amount::{count, share};

const OFF: &str = "off the CPU";
const WAIT: &str = "of it, waiting for a CPU";

/// How long tasks were off their CPUs, and for how long of that they could have run.
pub(super) fn add(page: &mut Page, observation: &Observation) {
    let Some(spread) = spread(observation) else {
        return;
    };
    page.heading(
        "How long each time was",
        "off the CPU, and of it waiting for one",
    );
    page.figure(|| Some(draw(&spread)));
    page.method(&["observing"]);
}

fn draw(spread: &Spread) -> Figure {
    let kinds = [(OFF, &spread.off), (WAIT, &spread.wait)];
    let reported = kinds
        .iter()
        .enumerate()
        .filter_map(|(place, (name, bins))| Some((place, *name, bins.as_ref()?)));
    let traces = reported
        .map(|(place, name, bins)| bars(spread, place, name, bins))
        .collect();
    let layout = layout()
        .bar_mode(BarMode::Group)
        .x_axis(edges_axis("for how long", &edges(spread)))
        .y_axis(share_axis("share of times"));
    Figure {
        name: "times".to_owned(),
        title: "Times off the CPU and waits for one".to_owned(),
        caption: "Each share is of the times of its kind: of switches after which the task came back, and of times that it got a \
                  CPU again. Each step to the right is twice as long."
            .to_owned(),
        drawing: Drawing::new(traces, layout),
        table: Some(table(spread)),
    }
}

fn bars(spread: &Spread, place: usize, name: &str, bins: &[Bin]) -> Box<dyn Trace> {
    let hovers = spread.bins.iter().zip(bins).map(|(bin, found)| {
        format!(
            "{name}, {}<br>{} times, {}",
            from_to(*bin),
            count(found.count),
            share(Some(found.share))
        )
    });
    Bar::new(
        (0..bins.len()).collect(),
        bins.iter().map(|bin| bin.share).collect(),
    )
    .name(name)
    .marker(Marker::new().color(colour(place)))
    .hover_text_array(hovers.collect())
    .hover_template("%{hovertext}<extra></extra>")
}

fn from_to((from, to): (f64, Option<f64>)) -> String {
    match to {
        Some(to) if from > 0.0 => format!("{} to {}", time(from), time(to)),
        Some(to) => format!("less than {}", time(to)),
        None => format!("{} or more", time(from)),
    }
}

/// Where bins begin, and where the last one ends.
fn edges(spread: &Spread) -> Vec<String> {
    let begins = spread.bins.iter().map(|(from, _)| {
        if *from > 0.0 {
            time(*from)
        } else {
            "0".to_owned()
        }
    });
    let end = spread
        .bins
        .last()
        .map(|(_, to)| to.map(time).unwrap_or_default());
    begins.chain(end).collect()
}

fn table(spread: &Spread) -> Grid {
    let mut grid =
        Grid::new(1).right(["for how long", OFF, "share of them", WAIT, "share of these"]);
    for (at, bin) in spread.bins.iter().enumerate() {
        let cells = [&spread.off, &spread.wait]
            .into_iter()
            .flat_map(|bins| match bins {
                Some(bins) => [count(bins[at].count), share(Some(bins[at].share))],
                None => [String::new(), String::new()],
            });
        grid.row(
            std::iter::once(from_to(*bin))
                .chain(cells)
                .map(Entry::from)
                .collect(),
        );
    }
    grid
}
