use std::collections::BTreeMap;

use analysis::CaseFinding;
use plotly::common::{Line, Marker, MarkerSymbol, Mode};
use plotly::layout::AxisType;
use plotly::{Scatter, Trace};

use crate::figure::{Drawing, Figure, colour, label, layout, linear_axis, list_axis};
use crate::measure::conditions;
use crate::quantity::number;

/// A counter's readings by the number of the result.
type Readings<'a> = Vec<(usize, &'a analysis::CounterFinding)>;

/// How many more events a hand-off has for being a switch, by counter.
pub(in crate::measure) fn draw(findings: &[CaseFinding]) -> Option<Figure> {
    let counted: Vec<&CaseFinding> = findings.iter().filter(|finding| !finding.counters.is_empty()).collect();
    let names: Vec<String> = counted.iter().map(|finding| conditions::label(&finding.case)).collect();
    let mut by_name: BTreeMap<&str, Readings<'_>> = BTreeMap::new();
    for (place, finding) in counted.iter().enumerate() {
        for counter in &finding.counters {
            by_name.entry(&counter.name).or_default().push((place, counter));
        }
    }
    let drawn = by_name.into_iter().enumerate();
    let traces: Vec<Box<dyn Trace>> = drawn.filter_map(|(i, (name, all))| trace(i, name, &all, &names)).collect();
    if traces.is_empty() {
        return None;
    }
    let y_axis = linear_axis("events more a hand-off").type_(AxisType::Log);
    Some(Figure {
        name: "counters".to_owned(),
        title: "Counters: switching less baseline".to_owned(),
        caption:
            "Events a hand-off that the switching arm has more than the baseline, on a logarithmic scale; differences \
                  of 0 and below are in the table alone. The time of task-clock is in ns."
                .to_owned(),
        drawing: Drawing::new(traces, layout().x_axis(list_axis("", &names).tick_angle(-40.0)).y_axis(y_axis)),
        table: None,
    })
}

fn trace(place: usize, name: &str, readings: &Readings<'_>, results: &[String]) -> Option<Box<dyn Trace>> {
    let more = |reading: &analysis::CounterFinding| reading.switching - reading.baseline;
    let above: Vec<_> = readings.iter().filter(|(_, reading)| more(reading) > 0.0).collect();
    if above.is_empty() {
        return None;
    }
    let hover = above.iter().map(|(result, reading)| {
        let (baseline, switching) = (number(reading.baseline), number(reading.switching));
        format!("{}<br>{}: {switching} less {baseline}", label(&results[*result]), label(name))
    });
    let (x, y) = above.iter().map(|(result, reading)| (*result as f64, more(reading))).unzip();
    Some(
        Scatter::new(x, y)
            .name(label(name))
            .mode(Mode::Markers)
            .marker(Marker::new().color(colour(place)).size(8).symbol(MarkerSymbol::Diamond))
            .line(Line::new().color(colour(place)))
            .hover_text_array(hover.collect())
            .hover_template("%{hovertext}<extra></extra>"),
    )
}
