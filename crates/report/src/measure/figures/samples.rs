use std::collections::BTreeMap;

use plotly::common::{Marker, MarkerSymbol, Mode};
use plotly::{Scatter, Trace};
use strum::IntoEnumIterator;
use switchcost_analysis::Point;
use switchcost_record::{Arm, MeasureRecord};

use crate::figure::{Drawing, Figure, colour, label, layout, linear_axis, time_axis};
use crate::grid::Grid;
use crate::measure::conditions;
use crate::page::Page;

/// More points than this are thinned out, and the caption says so.
const MOST_POINTS: usize = 100_000;

/// More points than this are drawn by the graphics processor: fast, but it is not there in every browser.
const PLAIN_POINTS: usize = 8_000;

/// Every sample over the time of the run, the disturbed ones marked.
pub(in crate::measure) fn add(page: &mut Page, record: &MeasureRecord, points: &[Point]) {
    if !page.has_figures() || points.is_empty() {
        return;
    }
    let (drawn, thinning) = thinned(points.iter().collect());
    page.heading(
        "Samples over time",
        "time a hand-off in each arm, by when it was taken",
    );
    page.figure(|| draw(record, &drawn, &thinning));
    page.method(&["contamination", "statistics"]);
}

/// At most as many as can be shown, and what was left away. Disturbed samples stay before clean ones.
fn thinned(all: Vec<&Point>) -> (Vec<&Point>, String) {
    if all.len() <= MOST_POINTS {
        return (all, String::new());
    }
    let total = all.len();
    let dirty = all
        .iter()
        .filter(|drawn| !drawn.left_out.is_empty())
        .count();
    let (keep_dirty, keep_clean) = match dirty {
        dirty if dirty < MOST_POINTS => (1, (total - dirty).div_ceil(MOST_POINTS - dirty)),
        dirty => (dirty.div_ceil(MOST_POINTS), total),
    };
    let (mut clean_seen, mut dirty_seen) = (0, 0);
    let keep = |drawn: &&Point| {
        let (seen, every) = if drawn.left_out.is_empty() {
            (&mut clean_seen, keep_clean)
        } else {
            (&mut dirty_seen, keep_dirty)
        };
        *seen += 1;
        (*seen - 1) % every == 0
    };
    let mut keep = keep;
    let kept: Vec<&Point> = all.into_iter().filter(|drawn| keep(drawn)).collect();
    let says = format!(
        " Thinned out: {} of {total} samples are drawn, one of {keep_clean} clean and one of {keep_dirty} disturbed ones.",
        kept.len()
    );
    (kept, says)
}

fn draw(record: &MeasureRecord, drawn: &[&Point], thinning: &str) -> Option<Figure> {
    let has_gl = drawn.len() > PLAIN_POINTS;
    let cases: Vec<String> = record
        .header
        .plan
        .cases
        .iter()
        .map(|case| label(&conditions::label(case)))
        .collect();
    let name = |point: &Point| cases.get(point.case as usize).map_or("", String::as_str);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (place, arm) in Arm::iter().enumerate() {
        let clean = drawn
            .iter()
            .filter(|drawn| drawn.arm == arm && drawn.left_out.is_empty());
        let marker = Marker::new().color(colour(place)).size(4).opacity(0.6);
        traces.extend(trace(&arm.to_string(), clean, marker, has_gl, |drawn| {
            name(drawn).to_owned()
        }));
    }
    let dirty = drawn.iter().filter(|drawn| !drawn.left_out.is_empty());
    let marker = Marker::new()
        .color("#B3261E")
        .size(7)
        .symbol(MarkerSymbol::X);
    let text = |drawn: &Point| {
        format!(
            "{}, {}<br>left out: {}",
            name(drawn),
            drawn.arm,
            drawn.left_out.join(", ")
        )
    };
    traces.extend(trace("left out", dirty, marker, has_gl, text));
    let layout = layout()
        .x_axis(linear_axis("time since the start of the run (s)"))
        .y_axis(time_axis("time a hand-off"));
    (!traces.is_empty()).then(|| Figure {
        name: "samples".to_owned(),
        title: "Samples over time".to_owned(),
        caption: format!(
            "Crosses are samples that were left out of the estimates, with the reason.{thinning}"
        ),
        drawing: Drawing::new(traces, layout),
        table: Some(table(record, drawn)),
    })
}

fn trace<'a>(
    name: &str,
    drawn: impl Iterator<Item = &'a &'a Point>,
    marker: Marker,
    has_gl: bool,
    text: impl Fn(&Point) -> String,
) -> Option<Box<dyn Trace>> {
    let drawn: Vec<&&Point> = drawn.collect();
    // Six digits are more than a screen shows, and a third of the page's length.
    let rounded = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
    let (x, y): (Vec<f64>, Vec<f64>) = drawn
        .iter()
        .map(|drawn| (rounded(drawn.at_seconds), rounded(drawn.handoff_seconds)))
        .unzip();
    (!x.is_empty()).then(|| -> Box<dyn Trace> {
        Scatter::new(x, y)
            .name(name)
            .web_gl_mode(has_gl)
            .mode(Mode::Markers)
            .marker(marker)
            .hover_text_array(drawn.iter().map(|drawn| text(drawn)).collect())
            .hover_template("%{hovertext}<br>%{y} at %{x} s<extra></extra>")
    })
}

/// How many samples, and how many of them were left out, by reason.
type Count<'a> = (usize, BTreeMap<&'a str, usize>);

/// Samples by case and arm: how many, and how many were left out for what.
fn table(record: &MeasureRecord, drawn: &[&Point]) -> Grid {
    let mut counts: BTreeMap<(u32, Arm), Count<'_>> = BTreeMap::new();
    for drawn in drawn {
        let (all, by_reason) = counts.entry((drawn.case, drawn.arm)).or_default();
        *all += 1;
        drawn
            .left_out
            .iter()
            .for_each(|reason| *by_reason.entry(reason).or_default() += 1);
    }
    let mut grid = Grid::new(2)
        .left(["result", "arm"])
        .right(["samples drawn"])
        .left(["left out, by reason"]);
    for ((case, arm), (all, by_reason)) in counts {
        let name = record
            .header
            .plan
            .cases
            .get(case as usize)
            .map(conditions::label)
            .unwrap_or_default();
        let reasons: Vec<String> = by_reason
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        grid.row(vec![
            name.into(),
            arm.to_string().into(),
            all.to_string().into(),
            reasons.join(", ").into(),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize, dirty: usize) -> Vec<Point> {
        let one = |i| Point {
            case: 0,
            arm: Arm::SwitchDirect,
            at_seconds: 0.0,
            handoff_seconds: 1.0,
            left_out: if i < dirty { vec!["steal"] } else { Vec::new() },
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn too_many_samples_are_thinned_and_that_is_reported() {
        let few = many(MOST_POINTS, 7);
        let (kept, says) = thinned(few.iter().collect());
        assert_eq!((kept.len(), says.as_str()), (MOST_POINTS, ""));
        let some = many(250_000, 1_000);
        let (kept, says) = thinned(some.iter().collect());
        assert_eq!(
            kept.iter()
                .filter(|drawn| !drawn.left_out.is_empty())
                .count(),
            1_000,
            "disturbed ones stay"
        );
        assert_eq!(kept.len(), 84_000);
        assert_eq!(
            says,
            " Thinned out: 84000 of 250000 samples are drawn, one of 3 clean and one of 1 disturbed ones."
        );
        let all = many(250_000, 250_000);
        let (kept, _) = thinned(all.iter().collect());
        assert!(
            kept.len() <= MOST_POINTS && !kept.is_empty(),
            "{}",
            kept.len()
        );
    }
}
