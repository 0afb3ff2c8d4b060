use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Nanoseconds on a logarithmic axis.
    Time,
    /// Bytes on a logarithmic scale.
    Size,
    /// Plain numbers from 0.
    Linear,
    /// Shares from 0 to 1.
    Share,
    /// Names at the positions 0, 1, 2 and so on.
    Names,
}

/// Style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Values found in this reproduction: points joined by lines.
    Found,
    /// Published values: points alone, or dashed lines.
    Published,
    /// Single trials: points alone.
    Trials,
    /// Upper ends of intervals that cover 0.
    Bounds,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Series {
    /// Name of the curve.
    pub name: String,
    /// Whether the curve is published or found.
    pub style: Style,
    /// Positions of the points.
    pub x: Vec<f64>,
    /// Values of the points.
    pub y: Vec<f64>,
    /// Ends of the values' intervals; empty if there are none.
    pub intervals: Vec<(f64, f64)>,
}

impl Series {
    pub(crate) fn new(
        name: impl Into<String>,
        style: Style,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Series {
        let (x, y) = points
            .into_iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .unzip();
        Series {
            name: name.into(),
            style,
            x,
            y,
            intervals: Vec::new(),
        }
    }

    /// Creates the series of a measured curve: the values whose intervals lie above 0, and the
    /// upper ends of the intervals that cover 0. An empty series is left out.
    pub(crate) fn measured(name: &str, points: &[(f64, Interval)]) -> Vec<Series> {
        let clear: Vec<_> = points.iter().filter(|(_, y)| y.low > 0.0).collect();
        let values = clear.iter().map(|(x, y)| (*x, y.estimate));
        let mut curve = Series::new(name, Style::Found, values);
        curve.intervals = clear.iter().map(|(_, y)| (y.low, y.high)).collect();
        let covering = points.iter().filter(|(_, y)| y.low <= 0.0 && y.high > 0.0);
        let ends = covering.map(|(x, y)| (*x, y.high));
        let bounds = Series::new(format!("{name}, at most"), Style::Bounds, ends);
        let mut both = vec![curve, bounds];
        both.retain(|series| !series.x.is_empty());
        both
    }
}

/// A figure as data.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Chart {
    /// Title of the x axis.
    pub x_title: String,
    /// Scale of the x axis.
    pub x_axis: Axis,
    /// Names along the x axis, for [`Axis::Names`].
    pub x_names: Vec<String>,
    /// Title of the y axis.
    pub y_title: String,
    /// Scale of the y axis.
    pub y_axis: Axis,
    /// Curves of the chart.
    pub series: Vec<Series>,
    /// Marked positions along the x axis, with words.
    pub marks: Vec<(f64, String)>,
}

impl Chart {
    pub(crate) fn new(
        x_title: &str,
        x_axis: Axis,
        y_title: &str,
        y_axis: Axis,
        series: Vec<Series>,
    ) -> Chart {
        let (x_title, y_title) = (x_title.to_owned(), y_title.to_owned());
        Chart {
            x_title,
            x_axis,
            x_names: Vec::new(),
            y_title,
            y_axis,
            series,
            marks: Vec::new(),
        }
    }

    /// Returns a chart of the series that have points; `None` if none has.
    pub(crate) fn draw(
        x_title: &str,
        x_axis: Axis,
        y_title: &str,
        y_axis: Axis,
        mut series: Vec<Series>,
    ) -> Option<Chart> {
        series.retain(|series| !series.x.is_empty());
        (!series.is_empty()).then(|| Chart::new(x_title, x_axis, y_title, y_axis, series))
    }
}
