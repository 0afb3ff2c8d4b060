use plotly::common::{Line, LineShape, Mode};
use plotly::layout::RangeMode;
use plotly::{Scatter, Trace};
use switchcost_analysis::observation::{Stretch, stretches};
use switchcost_record::observation::Observation;

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, linear_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::number;
use crate::simulate::amount::rounded;

/// One stretch shows no course.
const FEWEST: usize = 2;

/// Switches and waits over the window.
pub(super) fn add(page: &mut Page, observation: &Observation) {
    let stretches = stretches(observation);
    if stretches.len() < FEWEST {
        return;
    }
    page.heading(
        "Over the window",
        "all observed tasks together, stretch by stretch",
    );
    page.figure(|| Some(switches(&stretches)));
    page.figure(|| waits(&stretches));
    page.method(&["observing"]);
}

fn switches(stretches: &[Stretch]) -> Figure {
    let line = |place: usize, name: &str, rate: fn(&Stretch) -> f64| {
        let about = |stretch| format!("{name}: {} a second", rounded(rate(stretch)));
        steps(
            place,
            name,
            stretches
                .iter()
                .map(|stretch| (stretch, rate(stretch), about(stretch))),
        )
    };
    let traces = vec![
        line(0, "voluntary", |stretch| stretch.voluntary),
        line(1, "involuntary", |stretch| stretch.involuntary),
    ];
    let rows = stretches.iter().map(|stretch| {
        (
            stretch,
            vec![rounded(stretch.voluntary), rounded(stretch.involuntary)],
        )
    });
    Figure {
        name: "switches".to_owned(),
        title: "Switches over the window".to_owned(),
        caption: "Switches a second: voluntary ones, by waiting for something, and those that a task did not ask for."
            .to_owned(),
        drawing: Drawing::new(traces, course("switches a second")),
        table: Some(table(&["voluntary a second", "involuntary a second"], rows)),
    }
}

fn waits(stretches: &[Stretch]) -> Option<Figure> {
    let waiting: Vec<(&Stretch, f64)> = stretches
        .iter()
        .filter_map(|stretch| Some((stretch, stretch.waiting?)))
        .collect();
    if waiting.is_empty() {
        return None;
    }
    let reported = waiting.iter().map(|(stretch, tasks)| {
        (
            *stretch,
            *tasks,
            format!("{} tasks waiting", number(*tasks)),
        )
    });
    let trace = steps(2, "waiting for a CPU", reported);
    let rows = waiting
        .iter()
        .map(|(stretch, tasks)| (*stretch, vec![number(*tasks)]));
    Some(Figure {
        name: "waits".to_owned(),
        title: "Waiting for a CPU over the window".to_owned(),
        caption: "How many tasks could have run and had no CPU, in the mean of each stretch. A wait is counted when the task \
                  leaves the CPU that it waited for, so that all of a long one stands in a later stretch."
            .to_owned(),
        drawing: Drawing::new(vec![trace], course("tasks waiting")),
        table: Some(table(&["tasks waiting"], rows)),
    })
}

fn course(title: &str) -> plotly::Layout {
    layout()
        .x_axis(linear_axis("seconds since observation began"))
        .y_axis(linear_axis(title).range_mode(RangeMode::ToZero))
}

/// A level for each stretch from its beginning to its end.
fn steps<'a>(
    place: usize,
    name: &str,
    reported: impl Iterator<Item = (&'a Stretch, f64, String)>,
) -> Box<dyn Trace> {
    let (mut x, mut y, mut hovers) = (Vec::new(), Vec::new(), Vec::new());
    for (stretch, height, text) in reported {
        x.extend([stretch.from_seconds, stretch.to_seconds]);
        y.extend([height, height]);
        let text = format!("{}<br>{text}", from_to(stretch));
        hovers.extend([text.clone(), text]);
    }
    Scatter::new(x, y)
        .name(name)
        .mode(Mode::Lines)
        .line(
            Line::new()
                .color(colour(place))
                .width(1.5)
                .shape(LineShape::Linear),
        )
        .hover_text_array(hovers)
        .hover_template("%{hovertext}<extra></extra>")
}

fn from_to(stretch: &Stretch) -> String {
    format!(
        "{} to {} s",
        number(stretch.from_seconds),
        number(stretch.to_seconds)
    )
}

fn table<'a>(columns: &[&str], rows: impl Iterator<Item = (&'a Stretch, Vec<String>)>) -> Grid {
    let mut grid = Grid::new(1).right(["when"]).right(columns.iter().copied());
    rows.for_each(|(stretch, cells)| {
        grid.row(
            std::iter::once(from_to(stretch))
                .chain(cells)
                .map(Entry::from)
                .collect(),
        );
    });
    grid
}
