use plotly::common::{Marker, Orientation};
use plotly::{Bar, Trace};
use switchcost_analysis::observation::{Findings, KeptWaitingFinding, Waiting, waiting};

use super::{MOST_ROWS, beside_its_row};
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, GREY, colour, label, linear_axis, rows_axis, rows_of_bars};
use crate::grid::Grid;
use crate::observe::neighbours::{observed, text};
use crate::page::Page;
use crate::quantity::{NO_NUMBER, Scale, time};
use crate::simulate::amount::{count, share};

/// As many as there are colours that are distinguished.
const MOST_BEHIND: usize = 7;

/// What kept tasks waiting.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if findings.kept_waiting.is_empty() {
        return;
    }
    page.heading("What kept tasks waiting", "for a CPU, while it could run");
    page.figure(|| draw(findings));
    page.method(&["observing"]);
}

fn draw(findings: &Findings) -> Option<Figure> {
    let waiting = waiting(&findings.kept_waiting, MOST_ROWS, MOST_BEHIND);
    let scale = Scale::of(waiting.longest_ns()?);
    let is_kernel = |name: &str| {
        findings
            .kept_waiting
            .iter()
            .any(|found| found.observed == name && found.is_kernel)
    };
    let names: Vec<String> = waiting
        .observed
        .iter()
        .map(|name| observed(name, is_kernel(name)))
        .collect();
    let beside: Vec<String> = names.iter().map(|name| beside_its_row(name)).collect();
    let traces = (0..waiting.behind.len())
        .map(|column| bars(&waiting, &names, column, scale))
        .collect();
    let layout = rows_of_bars(names.len(), waiting.behind.len())
        .x_axis(linear_axis(&format!("{} waited", scale.unit)))
        .y_axis(rows_axis(&beside));
    Some(Figure {
        name: "kept-waiting".to_owned(),
        title: "What kept tasks waiting".to_owned(),
        caption: "How long the tasks of each program could have run and had no CPU, by who ran there meanwhile. Where several \
                  waited at once each has its own time."
            .to_owned(),
        drawing: Drawing::new(traces, layout),
        table: Some(table(&findings.kept_waiting)),
    })
}

fn bars(waiting: &Waiting<'_>, names: &[String], column: usize, scale: Scale) -> Box<dyn Trace> {
    let who = waiting.behind[column].map_or("all others".to_owned(), text);
    let waits = waiting
        .wait_ns
        .iter()
        .map(|waits| waits[column])
        .enumerate()
        .filter(|(_, ns)| *ns > 0.0);
    let (rows, waits): (Vec<usize>, Vec<f64>) = waits.unzip();
    let hovers = rows.iter().zip(&waits).map(|(row, ns)| {
        format!(
            "{}<br>behind {}: {}",
            label(&names[*row]),
            label(&who),
            time(*ns)
        )
    });
    let colour = if waiting.behind[column].is_some() {
        colour(column)
    } else {
        GREY
    };
    Bar::new(
        waits.iter().map(|ns| scale.value(*ns)).collect(),
        rows.clone(),
    )
    .orientation(Orientation::Horizontal)
    .name(label(&who))
    .marker(Marker::new().color(colour))
    .hover_text_array(hovers.collect())
    .hover_template("%{hovertext}<extra></extra>")
}

fn table(found: &[KeptWaitingFinding]) -> Grid {
    let mut grid =
        Grid::new(2)
            .left(["observed", "behind"])
            .right(["waited", "of all waits", "times"]);
    for each in found {
        let waits = each.waits.map_or(NO_NUMBER.to_owned(), count);
        let cells = [
            observed(&each.observed, each.is_kernel),
            text(&each.behind),
            time(each.wait_ns),
            share(Some(each.share)),
            waits,
        ];
        grid.row(cells.into_iter().map(Entry::from).collect());
    }
    grid
}

#[cfg(test)]
mod tests {
    use switchcost_analysis::observation::analyse;

    use super::super::super::tests::large;
    use super::draw;

    #[test]
    fn threads_of_the_kernel_are_in_brackets_where_they_waited_too() {
        let mut observation = large();
        observation
            .tasks
            .iter_mut()
            .find(|tasks| tasks.name == "name of task 7.")
            .expect("one of many")
            .is_kernel = true;
        let figure = format!(
            "{:?}",
            draw(&analyse(&observation)).map(|figure| figure.table)
        );
        assert!(
            figure.contains("[name of task 7.]") && !figure.contains("[name of task 8.]"),
            "{figure}"
        );
    }
}
