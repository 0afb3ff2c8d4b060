use plotly::common::{Line, Mode};
use plotly::{Scatter, Trace};
use switchcost_record::RuntimeRun;

use super::NANOS;
use crate::figure::{Drawing, Figure, colour, label, layout, time_axis};
use crate::quantity::time;

/// How a hand-off becomes cheaper, window by window, from when its program was ready: of one run of each.
pub(in crate::measure) fn draw(runs: &[(String, &RuntimeRun)]) -> Option<Figure> {
    let traces: Vec<Box<dyn Trace>> = runs
        .iter()
        .enumerate()
        .filter_map(|(number, (name, run))| curve(number, name, run))
        .collect();
    (!traces.is_empty()).then(|| Figure {
        name: "warm-up".to_owned(),
        title: "Hand-offs while their runtimes warm up".to_owned(),
        caption: "Each window of one run of each, from when its program was ready; none of them is in a cost."
            .to_owned(),
        drawing: Drawing::new(
            traces,
            layout().x_axis(time_axis("end of the window")).y_axis(time_axis("one hand-off")),
        ),
        table: None,
    })
}

fn curve(number: usize, name: &str, run: &RuntimeRun) -> Option<Box<dyn Trace>> {
    let windows: Vec<(f64, f64)> = run
        .warm_up
        .iter()
        .filter(|window| window.handoffs > 0 && window.wall_ns.0 > 0)
        .map(|window| {
            (
                (window.at_ns + window.wall_ns).0 as f64,
                window.wall_ns.0 as f64 / window.handoffs as f64,
            )
        })
        .collect();
    let (ends, each): (Vec<f64>, Vec<f64>) = windows
        .iter()
        .map(|(end, each)| (end / NANOS, each / NANOS))
        .unzip();
    let said = windows
        .iter()
        .map(|(end, each)| format!("{}<br>{} at {}", label(name), time(*each), time(*end)));
    (!windows.is_empty()).then(|| -> Box<dyn Trace> {
        Scatter::new(ends, each)
            .name(label(name))
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(colour(number)).width(1.0))
            .hover_text_array(said.collect())
            .hover_template("%{hovertext}<extra></extra>")
    })
}
