//! A chart as data: points over axes, or a heat map. The picture, the tooltips, the caption's
//! remark on omitted points, and the table of numbers are all derived from this data.

use switchcost_analysis::Estimate;
use switchcost_units::Bytes;

use crate::quantity::{NO_NUMBER, is_cost, number, rounded, share, time, with_interval};
use crate::{Entry, Grid, Tone};

/// Quantity of an axis, which determines the positions and labels of its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Nanoseconds on a logarithmic axis.
    Time,
    /// Nanoseconds on a linear axis from 0, labelled in the unit that suits the largest value.
    Span,
    /// Bytes on a logarithmic axis.
    Size,
    /// Numbers on a linear axis.
    Linear,
    /// Numbers on a linear axis from 0.
    Zero,
    /// Numbers on a logarithmic axis.
    Log,
    /// Whole numbers on a linear axis, few enough to label each.
    Count,
    /// Shares of 1 on a linear axis, shown as percentages.
    Share,
    /// Names at the positions 0, 1, 2 and so on.
    Names(Vec<String>),
    /// Bins at the positions 0, 1, 2 and so on. The names belong to the edges of the bins, so there
    /// is one more name than bins. The last name is empty if the last bin is open.
    Edges(Vec<String>),
}

impl Scale {
    /// Formats a value of the axis with its unit.
    pub(crate) fn words(&self, value: f64) -> String {
        match self {
            Scale::Time | Scale::Span => time(value),
            Scale::Size => Bytes(value as u64).to_string(),
            Scale::Linear | Scale::Zero | Scale::Log => rounded(value),
            Scale::Count => number(value).trim_end_matches(".00").to_owned(),
            Scale::Share => share(value),
            Scale::Names(names) => names.get(value as usize).cloned().unwrap_or_default(),
            Scale::Edges(edges) => {
                let edge = |at| edges.get(at).map_or("", String::as_str);
                match (edge(value as usize), edge(value as usize + 1)) {
                    (from, "") => format!("{from} or more"),
                    (from, to) => format!("{from} to {to}"),
                }
            }
        }
    }

    pub(super) fn is_log(&self) -> bool {
        matches!(self, Scale::Time | Scale::Size | Scale::Log)
    }
}

/// An axis of a chart: its title, scale and range.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    /// Upper end of the shown range, in the axis' unit; `None` shows all values.
    pub(super) end: Option<f64>,
}

impl Axis {
    pub(crate) fn new(scale: Scale, title: impl Into<String>) -> Self {
        Axis {
            title: title.into(),
            scale,
            end: None,
        }
    }

    /// Creates an axis with a position for each name, in the given order.
    pub(crate) fn names<T: ToString>(title: &str, names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter().map(|name| name.to_string()).collect();
        Axis::new(Scale::Names(names), title)
    }

    pub(crate) fn end_at(mut self, end: f64) -> Self {
        self.end = Some(end);
        self
    }
}

/// Kind of a point, which determines how the point is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Usual,
    Suspect,
    /// An upper limit: the interval covers 0, and the point is drawn at its upper end.
    AtMost,
    /// A lower limit: the interval has no upper end.
    AtLeast,
    /// A missing number, for which nothing is drawn.
    Missing,
}

/// A point: position and height in the units of the axes, and the height as text.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(super) x: f64,
    pub(super) y: Option<f64>,
    pub(super) ends: Option<(f64, f64)>,
    pub(super) text: String,
    /// Further text for the tooltip.
    pub(super) note: String,
    pub(super) kind: Kind,
}

impl Point {
    /// Creates a point for a number; `text` is the number in words.
    pub(crate) fn new(x: f64, y: f64, text: impl Into<String>) -> Self {
        Point {
            x,
            y: Some(y).filter(|y| y.is_finite()),
            ends: None,
            text: text.into(),
            note: String::new(),
            kind: Kind::Usual,
        }
    }

    /// Creates a point without a number, which interrupts the line of its series.
    pub(crate) fn gap(x: f64, text: impl Into<String>) -> Self {
        Point {
            kind: Kind::Missing,
            ..Point::new(x, f64::NAN, text)
        }
    }

    /// Creates a point for an estimate: the cost with its interval, or an upper limit if the
    /// interval covers 0. An estimate below 0 is not drawn as a cost.
    pub(crate) fn estimate(x: f64, estimate: Option<&Estimate>) -> Self {
        let Some(e) = estimate else {
            return Point::gap(x, String::new());
        };
        if is_cost(e) {
            return Point::new(x, e.estimate, with_interval(e)).between(e.low, e.high);
        }
        let is_limit = e.low <= 0.0 && e.high > 0.0 && e.high.is_finite();
        if !is_limit {
            return Point::gap(x, with_interval(e));
        }
        Point::upper_limit(x, e.high, with_interval(e))
    }

    /// Creates a point for an upper limit: the upper end of an interval that covers 0.
    pub(crate) fn upper_limit(x: f64, high: f64, text: impl Into<String>) -> Self {
        Point {
            kind: Kind::AtMost,
            ..Point::new(x, high, text)
        }
    }

    /// Sets the ends of the point's interval, in the unit of the heights.
    pub(crate) fn between(mut self, low: f64, high: f64) -> Self {
        self.ends = Some((low, high));
        self
    }

    /// Sets an interval from `low` without an upper end. The interval is drawn up to `beyond`.
    pub(crate) fn open_above(mut self, low: f64, beyond: f64) -> Self {
        self.kind = Kind::AtLeast;
        self.between(low, beyond)
    }

    pub(crate) fn suspect_if(mut self, is_suspect: bool) -> Self {
        if is_suspect && self.kind == Kind::Usual {
            self.kind = Kind::Suspect;
        }
        self
    }

    pub(crate) fn place(&self) -> f64 {
        self.x
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// Style in which a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Points joined by a line.
    Line,
    /// A dashed line, for published values and bounds.
    Dashed,
    /// Points without lines.
    Dots,
    /// Many small points.
    Cloud,
    /// Crosses, for unreliable values.
    Crosses,
    /// Areas on top of one another.
    Area,
    Bars,
    /// A grey bar from the low to the high end, with a mark at the height.
    Range,
    /// A broad band from the low to the high end, without a mark.
    Band,
}

/// The points of one series. Series with the same name share a colour and an entry in the legend.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(super) name: String,
    /// Name of a grey entry in the legend that all series of a kind share; empty if the legend has
    /// the series' own name.
    pub(super) kind: &'static str,
    pub(super) look: Look,
    /// Number of the series' colour; `None` if the colour is chosen by the name.
    pub(super) hue: Option<usize>,
    pub(super) points: Vec<Point>,
}

impl Series {
    pub(crate) fn new(
        look: Look,
        name: impl Into<String>,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        Series {
            name: name.into(),
            kind: "",
            look,
            hue: None,
            points: points.into_iter().collect(),
        }
    }

    pub(crate) fn coloured(mut self, hue: usize) -> Self {
        self.hue = Some(hue);
        self
    }

    /// Replaces the series' name in the legend by the name of its kind.
    pub(crate) fn listed_as(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    /// Returns the series' name in the legend.
    pub(super) fn listed_name(&self) -> &str {
        if self.kind.is_empty() {
            &self.name
        } else {
            self.kind
        }
    }

    pub(super) fn is_drawn(&self) -> bool {
        let is_drawn = |point: &Point| point.y.is_some() || point.ends.is_some();
        self.points.iter().any(is_drawn)
    }
}

/// A labelled line across the chart at one position of the horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) name: String,
    pub(crate) cause: String,
}

/// A shaded range of positions on the horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Name of the shaded range; empty for a range that is highlighted without a name.
    pub(crate) name: String,
}

/// Content of a chart: series of points, or cells of a heat map.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Points(Vec<Series>),
    /// A heat map, with a row for each name of the vertical axis and a column for each name of the
    /// horizontal axis. A cell has a value and its text.
    Cells {
        rows: Vec<Vec<(Option<f64>, String)>>,
        is_time: bool,
    },
}

/// Source of the table with a chart's numbers.
#[derive(Clone, Debug)]
enum Numbers {
    Drawn,
    Elsewhere,
    Table(Grid),
}

/// A chart: title, axes, content, caption and table of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Whether positions run from top to bottom, and heights from left to right.
    pub(super) is_across: bool,
    pub(super) body: Body,
    pub(super) marks: Vec<Mark>,
    pub(super) stretches: Vec<Stretch>,
    numbers: Numbers,
}

impl Chart {
    /// Creates an empty chart of points; `name` consists of letters, digits and dashes.
    pub(crate) fn new(name: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Chart {
            name: name.into(),
            title: title.into(),
            caption: String::new(),
            x,
            y,
            is_across: false,
            body: Body::Points(Vec::new()),
            marks: Vec::new(),
            stretches: Vec::new(),
            numbers: Numbers::Drawn,
        }
    }

    /// Turns the chart into a heat map. Each cell has a value, `None` if missing, and its text.
    pub(crate) fn cells(mut self, rows: Vec<Vec<(Option<f64>, String)>>, is_time: bool) -> Self {
        self.body = Body::Cells { rows, is_time };
        self
    }

    /// Sets the caption: what the chart shows and what it omits.
    pub(crate) fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Turns the chart by a quarter, so that positions are rows and heights run to the right.
    pub(crate) fn across(mut self) -> Self {
        self.is_across = true;
        self
    }

    /// Adds series to the chart. A series without points is left out.
    pub(crate) fn with(mut self, more: impl IntoIterator<Item = Series>) -> Self {
        if let Body::Points(series) = &mut self.body {
            series.extend(more.into_iter().filter(|one| !one.points.is_empty()));
        }
        self
    }

    pub(crate) fn marked(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }

    pub(crate) fn shaded(mut self, stretches: impl IntoIterator<Item = Stretch>) -> Self {
        self.stretches.extend(stretches);
        self
    }

    /// Omits the table of numbers, because another table of the section has these numbers.
    pub(crate) fn hide_numbers(mut self) -> Self {
        self.numbers = Numbers::Elsewhere;
        self
    }

    /// Replaces the table of the drawn numbers by `table`.
    pub(crate) fn numbers(mut self, table: Grid) -> Self {
        self.numbers = Numbers::Table(table);
        self
    }

    /// Returns true if the chart has anything to draw besides its axes.
    pub(super) fn is_drawn(&self) -> bool {
        match &self.body {
            Body::Points(series) => series.iter().any(Series::is_drawn),
            Body::Cells { rows, .. } => rows.iter().flatten().any(|(value, _)| value.is_some()),
        }
    }

    /// Returns the table with the chart's numbers; `None` if another table has them.
    pub(super) fn table(&self) -> Option<Grid> {
        match &self.numbers {
            Numbers::Drawn => Some(self.drawn_numbers()),
            Numbers::Elsewhere => None,
            Numbers::Table(table) => Some(table.clone()),
        }
    }

    /// Returns sentences for the caption on suspect numbers, limits and missing points; empty if
    /// there are none.
    pub(super) fn remark(&self) -> String {
        let Body::Points(series) = &self.body else {
            return String::new();
        };
        let count = |kind| {
            let points = series.iter().flat_map(|series| &series.points);
            points.filter(|point| point.kind == kind).count()
        };
        let mut remark = String::new();
        if count(Kind::Suspect) > 0 {
            remark += " A ring marks a suspect number: see the notes.";
        }
        if count(Kind::AtMost) > 0 {
            remark += " An open triangle is an upper limit: the interval covers 0 and ends there.";
        }
        if count(Kind::AtLeast) > 0 {
            remark += " An arrow: the range has no known upper end.";
        }
        match count(Kind::Missing) {
            0 => (),
            missing => {
                remark += &format!(" Not drawn because not measured or not above 0: {missing}.")
            }
        }
        remark
    }

    /// Returns a table with one row per position and one column per series, or a table of the heat
    /// map's cells.
    fn drawn_numbers(&self) -> Grid {
        match &self.body {
            Body::Points(series) => self.table_of_points(series),
            Body::Cells { rows, .. } => {
                let (Scale::Names(columns), title) = (&self.x.scale, &self.y.title) else {
                    return Grid::default();
                };
                let cells = rows.iter().enumerate().map(|(row, cells)| {
                    let name = Entry::from(self.y.scale.words(row as f64));
                    let cells = cells.iter().map(|(_, text)| Entry::from(text));
                    std::iter::once(name).chain(cells)
                });
                Grid::new(1).left([title]).right(columns).with_rows(cells)
            }
        }
    }

    fn table_of_points(&self, series: &[Series]) -> Grid {
        let mut places: Vec<f64> = Vec::new();
        for point in series.iter().flat_map(|series| &series.points) {
            if !point.text.is_empty() && !places.contains(&point.x) {
                places.push(point.x);
            }
        }
        places.sort_by(f64::total_cmp);
        let grid = match self.x.scale {
            Scale::Names(_) => Grid::new(1).left([&self.x.title]),
            _ => Grid::new(1).right([&self.x.title]),
        };
        let grid = grid.right(number_equal_names(series));
        grid.with_rows(places.into_iter().map(|x| {
            let cells = series.iter().map(move |series| {
                let at = series.points.iter().find(|point| point.x == x);
                at.map_or_else(Entry::default, |point| {
                    let is_suspect = point.kind == Kind::Suspect;
                    let tone = if is_suspect {
                        Tone::Suspect
                    } else {
                        Tone::Usual
                    };
                    Entry::new(or_none(&point.text), tone)
                })
            });
            std::iter::once(Entry::from(self.x.scale.words(x))).chain(cells)
        }))
    }
}

/// Returns the names of the series, with a number added to names that occur several times.
fn number_equal_names(series: &[Series]) -> Vec<String> {
    let count = |of: &[Series], name: &str| of.iter().filter(|one| one.name == name).count();
    let numbered = |(place, one): (usize, &Series)| match count(series, &one.name) {
        1 => one.name.clone(),
        _ => format!("{} {}", one.name, count(&series[..=place], &one.name)),
    };
    series.iter().enumerate().map(numbered).collect()
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { NO_NUMBER } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::tests::estimate;
    use crate::text::{begins, has};

    #[test]
    fn only_a_cost_is_drawn_as_one() {
        for (found, y, ends, kind) in [
            (
                estimate(1.0, 2.0, 4.0),
                Some(2.0),
                Some((1.0, 4.0)),
                Kind::Usual,
            ),
            (estimate(-1.0, 2.0, 4.0), Some(4.0), None, Kind::AtMost),
            // No cost lies below 0.
            (estimate(-4.0, -2.0, -1.0), None, None, Kind::Missing),
            (
                estimate(f64::NAN, f64::NAN, f64::NAN),
                None,
                None,
                Kind::Missing,
            ),
        ] {
            let point = Point::estimate(1.0, Some(&found));
            assert_eq!((point.y, point.kind), (y, kind), "{found:?}");
            assert!(y.is_none() || point.ends == ends, "{found:?}");
        }
    }

    fn chart(points: impl IntoIterator<Item = Point>) -> Chart {
        let (x, y) = (
            Axis::new(Scale::Size, "size"),
            Axis::new(Scale::Time, "cost"),
        );
        Chart::new("x", "X", x, y).with([Series::new(Look::Line, "x", points)])
    }

    fn three_points() -> Chart {
        let points = [
            (estimate(1.0, 2.0, 3.0), 1024),
            (estimate(-1.0, 2.0, 3.0), 2048),
            (estimate(1.0, 2.0, 3.0), 4096),
        ];
        let points = points.map(|(e, size)| Point::estimate(f64::from(size), Some(&e)));
        chart(points)
    }

    #[test]
    fn no_line_leads_over_a_point_that_is_no_cost() {
        let figure = three_points().figure().expect("drawn");
        let line = figure
            .svg
            .0
            .split("<path d=\"")
            .nth(2)
            .expect("after the axes");
        let line = line.split('"').next().expect("its end");
        assert_eq!(line.matches('M').count(), 2, "two pieces: {line}");
        assert_eq!(line.matches('L').count(), 0, "of one point each: {line}");
        assert_eq!(
            figure.svg.0.matches("m-6 -5h12l-6 10z").count(),
            1,
            "a limit"
        );
        has(&figure.caption, "An open triangle is an upper limit");
    }

    #[test]
    fn the_table_has_the_numbers_that_are_drawn() {
        let table = three_points()
            .figure()
            .and_then(|figure| figure.table)
            .expect("a table");
        let text = table.render(crate::Style::default());
        let rows: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
        assert_eq!(
            rows[0],
            "1 KiB                         2.00 ns (1.00 to 3.00)"
        );
        begins(rows[1], "2 KiB  not distinguishable from 0");
    }

    #[test]
    fn a_chart_without_a_point_is_none() {
        assert!(chart([Point::estimate(1.0, None)]).figure().is_none());
    }
}
