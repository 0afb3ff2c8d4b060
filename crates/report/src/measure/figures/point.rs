use plotly::common::{Line, Marker, MarkerSymbol, Mode, Position};
use plotly::{Scatter, Trace};
use switchcost_analysis::{CaseFinding, Estimate, Verdict};

use super::NANOS;
use crate::figure::{interval_bars, label};
use crate::measure::row::has_numbers;
use crate::quantity::{is_cost, time, with_interval};

/// How an estimate is drawn where the scale is logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Point {
    /// A cost with its interval.
    Cost { value: f64, low: f64, high: f64 },
    /// Not distinguishable from 0: no more than this.
    AtMost(f64),
}

impl Point {
    /// In seconds; `None` where there is nothing above 0 to draw.
    pub(super) fn of(estimate: &Estimate) -> Option<Self> {
        let seconds = |ns: f64| ns / NANOS;
        if is_cost(estimate) {
            let (value, low, high) = (
                seconds(estimate.estimate),
                seconds(estimate.low),
                seconds(estimate.high),
            );
            return Some(Point::Cost { value, low, high });
        }
        let covers = estimate.low <= 0.0 && estimate.high > 0.0 && estimate.high.is_finite();
        covers.then(|| Point::AtMost(seconds(estimate.high)))
    }
}

/// A point at its place, with the ends of its interval. Without a height it is a gap in the line.
#[derive(Clone)]
struct Drawn {
    x: f64,
    y: Option<f64>,
    ends: (f64, f64),
    hover: String,
}

/// One series of points: their place, what is drawn there, and what a pointer on it shows.
#[derive(Default)]
pub(super) struct Series {
    costs: Vec<Drawn>,
    suspect: Vec<Drawn>,
    limits: Vec<Drawn>,
    /// Points of which nothing lies above 0.
    pub(super) missing: usize,
}

impl Series {
    /// Adds an estimate of a result at a place. `about` says what it is of; hostile text.
    pub(super) fn push(
        &mut self,
        x: f64,
        finding: &CaseFinding,
        estimate: Option<&Estimate>,
        about: &str,
    ) {
        let estimate = estimate.filter(|_| has_numbers(finding));
        let Some((estimate, point)) = estimate.and_then(|e| Some((e, Point::of(e)?))) else {
            self.missing += 1;
            self.costs.push(Drawn::gap(x));
            return;
        };
        let suspect = finding.verdict == Verdict::Suspect;
        let hover = format!(
            "{}<br>{}{}",
            label(about),
            with_interval(estimate),
            if suspect { ", suspect" } else { "" }
        );
        match point {
            Point::Cost { value, low, high } => {
                let drawn = Drawn {
                    x,
                    y: Some(value),
                    ends: (low, high),
                    hover,
                };
                self.suspect.extend(suspect.then(|| drawn.clone()));
                self.costs.push(drawn);
            }
            Point::AtMost(limit) => {
                self.costs.push(Drawn::gap(x));
                self.limits.push(Drawn {
                    x,
                    y: Some(limit),
                    ends: (limit, limit),
                    hover,
                });
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.costs.iter().all(|drawn| drawn.y.is_none()) && self.limits.is_empty()
    }

    /// The traces of the series: costs with their intervals, joined by a line if `is_joined`; rings around what is
    /// suspect; upper limits.
    pub(super) fn traces(
        &self,
        name: &str,
        colour: &'static str,
        is_joined: bool,
    ) -> Vec<Box<dyn Trace>> {
        let mode = if is_joined {
            Mode::LinesMarkers
        } else {
            Mode::Markers
        };
        let mut traces: Vec<Box<dyn Trace>> = Vec::new();
        if let Some(trace) = trace(&self.costs, name) {
            let y: Vec<f64> = self
                .costs
                .iter()
                .map(|drawn| drawn.y.unwrap_or_default())
                .collect();
            let ends: Vec<(f64, f64)> = self.costs.iter().map(|drawn| drawn.ends).collect();
            let line = Line::new().color(colour).width(1.5);
            let marker = Marker::new().color(colour).size(7);
            traces.push(
                trace
                    .mode(mode)
                    .error_y(interval_bars(&y, &ends, colour))
                    .line(line)
                    .marker(marker),
            );
        }
        for (points, what, size, symbol) in self.remarkable() {
            let marker = Marker::new().color(colour).size(size).symbol(symbol);
            let trace = trace(points, &format!("{name}, {what}"));
            traces.extend(
                trace.map(|trace| -> Box<dyn Trace> { trace.mode(Mode::Markers).marker(marker) }),
            );
        }
        traces
    }

    /// The same with the places from top to bottom and the costs from left to right, each printed beside its point.
    pub(super) fn traces_across(&self, name: &str, colour: &'static str) -> Vec<Box<dyn Trace>> {
        let mut traces: Vec<Box<dyn Trace>> = Vec::new();
        let costs: Vec<&Drawn> = self
            .costs
            .iter()
            .filter(|drawn| drawn.y.is_some())
            .collect();
        if !costs.is_empty() {
            let x: Vec<f64> = costs.iter().filter_map(|drawn| drawn.y).collect();
            let ends: Vec<(f64, f64)> = costs.iter().map(|drawn| drawn.ends).collect();
            let trace = Scatter::new(x.clone(), costs.iter().map(|drawn| drawn.x).collect())
                .mode(Mode::MarkersText)
                .text_array(
                    costs
                        .iter()
                        .map(|drawn| format!("  {}", drawn.cost()))
                        .collect(),
                )
                .text_position(Position::MiddleRight)
                .error_x(interval_bars(&x, &ends, colour))
                .marker(Marker::new().color(colour).size(7));
            traces.push(described(trace, name, &costs));
        }
        for (points, what, size, symbol) in self.remarkable() {
            let points: Vec<&Drawn> = points.iter().collect();
            let x: Vec<f64> = points.iter().filter_map(|drawn| drawn.y).collect();
            if x.len() == points.len() && !x.is_empty() {
                let trace = Scatter::new(x, points.iter().map(|drawn| drawn.x).collect())
                    .mode(Mode::Markers)
                    .marker(Marker::new().color(colour).size(size).symbol(symbol));
                traces.push(described(trace, &format!("{name}, {what}"), &points));
            }
        }
        traces
    }

    /// Rings around what is suspect, and upper limits.
    fn remarkable(&self) -> [(&Vec<Drawn>, &'static str, usize, MarkerSymbol); 2] {
        [
            (&self.suspect, "suspect", 14, MarkerSymbol::CircleOpen),
            (&self.limits, "at most", 10, MarkerSymbol::TriangleDownOpen),
        ]
    }

    /// What a caption has to say about points that are no costs.
    pub(super) fn remark(all: &[Series]) -> String {
        let limits: usize = all.iter().map(|series| series.limits.len()).sum();
        let missing: usize = all.iter().map(|series| series.missing).sum();
        let mut remark = String::new();
        if all.iter().any(|series| !series.suspect.is_empty()) {
            remark += " A ring marks a suspect number: see the notes.";
        }
        if limits > 0 {
            remark += " An open triangle is an upper limit: the interval covers 0 and ends there.";
        }
        if missing > 0 {
            remark += &format!(
                " Not drawn, since nothing of them lies above 0 or was measured: {missing}."
            );
        }
        remark
    }
}

impl Drawn {
    /// Its cost as it is printed beside it.
    fn cost(&self) -> String {
        self.y
            .map(|seconds| time(seconds * NANOS))
            .unwrap_or_default()
    }

    fn gap(x: f64) -> Self {
        Drawn {
            x,
            y: None,
            ends: (0.0, 0.0),
            hover: String::new(),
        }
    }
}

fn trace(points: &[Drawn], name: &str) -> Option<Box<Scatter<f64, Option<f64>>>> {
    let (x, y): (Vec<f64>, Vec<Option<f64>>) =
        points.iter().map(|drawn| (drawn.x, drawn.y)).unzip();
    let is_any = y.iter().any(Option::is_some);
    is_any.then(|| described(Scatter::new(x, y), name, &points.iter().collect::<Vec<_>>()))
}

/// The trace with its name and what a pointer on a point shows.
fn described<X, Y>(trace: Box<Scatter<X, Y>>, name: &str, points: &[&Drawn]) -> Box<Scatter<X, Y>>
where
    X: serde::Serialize + Clone + 'static,
    Y: serde::Serialize + Clone + 'static,
{
    trace
        .name(label(name))
        .hover_text_array(points.iter().map(|drawn| drawn.hover.clone()).collect())
        .hover_template("%{hovertext}<extra></extra>")
}

#[cfg(test)]
mod tests {
    use switchcost_record::{Between, Case, Mechanism, Placement, Policy};

    use super::*;
    use crate::quantity::tests::estimate;

    fn bare() -> CaseFinding {
        let case = Case::plain(
            Mechanism::Pipe,
            Between::Process,
            Placement::unpinned(),
            Policy::Other,
        );
        CaseFinding::bare(case)
    }

    #[test]
    fn only_a_cost_is_drawn_as_one() {
        let cost = Point::of(&estimate(1.0, 2.0, 4.0));
        assert_eq!(
            cost,
            Some(Point::Cost {
                value: 2e-9,
                low: 1e-9,
                high: 4e-9
            })
        );
        assert_eq!(
            Point::of(&estimate(-1.0, 2.0, 4.0)),
            Some(Point::AtMost(4e-9)),
            "an upper limit"
        );
        assert_eq!(
            Point::of(&estimate(-4.0, -2.0, -1.0)),
            None,
            "no cost lies below 0"
        );
        assert_eq!(Point::of(&estimate(f64::NAN, f64::NAN, f64::NAN)), None);
    }

    #[test]
    fn no_line_leads_over_a_point_that_is_no_cost() {
        let finding = |e: Estimate| CaseFinding {
            total_ns: Some(e),
            ..bare()
        };
        let mut series = Series::default();
        for (x, e) in [
            (1.0, estimate(1.0, 2.0, 3.0)),
            (2.0, estimate(-1.0, 2.0, 3.0)),
            (3.0, estimate(1.0, 2.0, 3.0)),
        ] {
            let finding = finding(e);
            series.push(x, &finding, finding.total_ns.as_ref(), "x");
        }
        let traces = series.traces("x", "#000000", true);
        let line: serde_json::Value = serde_json::from_str(&traces[0].to_json()).expect("JSON");
        assert_eq!(line["y"], serde_json::json!([2e-9, null, 2e-9]));
        let limits: serde_json::Value = serde_json::from_str(&traces[1].to_json()).expect("JSON");
        assert_eq!(
            (&limits["x"], &limits["y"]),
            (&serde_json::json!([2.0]), &serde_json::json!([3e-9]))
        );
    }
}
