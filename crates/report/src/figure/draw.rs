//! A chart as plotly.js draws it. Times are drawn in seconds, so that the axes name them in ns, us and ms.

use plotly::common::{
    ColorBar, ColorScale, ColorScalePalette, DashType, ExponentFormat, Line, Marker, MarkerSymbol,
    Mode, Orientation, Position, TickMode,
};
use plotly::layout::{AxisRange, BarMode, RangeMode};
use plotly::{Bar, HeatMap, Layout, Scatter, Trace};

use super::Figure;
use super::axes::{
    edges_axis, linear_axis, list_axis, log_axis, rows_axis, share_axis, size_axis, time_axis,
};
use super::chart::{Axis, Body, Chart, Kind, Look, Point, Scale, Series};
use super::drawing::{Drawing, GREY, layout, rows};
use super::label::{label, lines};
use super::marks::{COLOURS, colour, interval_bars, names_at_marks, note, region, upright};
use crate::quantity;

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// A cloud of more points is drawn by the graphics processor: fast, but it is not there in every browser.
const PLAIN_POINTS: usize = 8_000;

/// A line of more points than this has no mark at each.
const MARKED_POINTS: usize = 40;

/// How far points of two series stand from a name that they share.
const ASIDE: f64 = 0.12;

/// Height of a row of dots, and of one of bars, in pixels.
const ROW: usize = 24;
const BAR_ROW: usize = 44;

/// Series differ in shape, too, so that they are distinguished without colour.
const SYMBOLS: [MarkerSymbol; 4] = [
    MarkerSymbol::Circle,
    MarkerSymbol::DiamondOpen,
    MarkerSymbol::Square,
    MarkerSymbol::TriangleUpOpen,
];

/// Bands after points, and what was left out.
const BAND: &str = "rgba(128,128,128,0.3)";
const LEFT_OUT: &str = "#B3261E";

const HOVER: &str = "%{hovertext}<extra></extra>";

impl Chart {
    /// The figure; `None` if nothing would be drawn.
    pub(crate) fn figure(self) -> Option<Figure> {
        self.is_drawn().then(|| Figure {
            caption: format!("{}{}", self.caption, self.remark()),
            drawing: drawing(&self),
            table: self.table(),
            name: self.name,
            title: self.title,
        })
    }
}

fn drawing(chart: &Chart) -> Drawing {
    match &chart.body {
        Body::Points(series) => Drawing::new(traces(chart, series), plane(chart, series)),
        Body::Cells { rows, is_time } => {
            let layout = layout()
                .x_axis(axis(&chart.x, &[], 1.0))
                .y_axis(list_axis(&chart.y.title, names(&chart.y)));
            Drawing::new(vec![heat(chart, rows, *is_time)], layout)
        }
    }
}

fn names(axis: &Axis) -> &[String] {
    match &axis.scale {
        Scale::Names(names) => names,
        _ => &[],
    }
}

/// The places and heights of points as they are drawn.
struct Plane<'a> {
    chart: &'a Chart,
    /// What heights are divided by, and places.
    units: [f64; 2],
    /// Whether several series have points at one name.
    is_shared: bool,
}

fn unit(axis: &Axis, largest: f64) -> f64 {
    match axis.scale {
        Scale::Time => NANOS,
        Scale::Span => 1.0 / quantity::Scale::of(largest).value(1.0),
        _ => 1.0,
    }
}

fn heights(series: &[Series]) -> impl Iterator<Item = f64> {
    let ends = |point: &Point| {
        [
            point.y,
            point.ends.map(|(low, _)| low),
            point.ends.map(|(_, high)| high),
        ]
    };
    series
        .iter()
        .flat_map(|series| &series.points)
        .flat_map(ends)
        .flatten()
}

fn largest(series: &[Series]) -> f64 {
    heights(series).fold(0.0, f64::max)
}

fn traces(chart: &Chart, series: &[Series]) -> Vec<Box<dyn Trace>> {
    let is_dots = |series: &&Series| matches!(series.look, Look::Dots | Look::Line);
    let dots: Vec<&Series> = series.iter().filter(is_dots).collect();
    let at = |series: &Series, x: f64| series.points.iter().any(|point| point.x == x);
    let is_shared = matches!(chart.x.scale, Scale::Names(_))
        && dots.iter().enumerate().any(|(i, one)| {
            let others = &dots[i + 1..];
            one.points
                .iter()
                .any(|point| others.iter().any(|other| at(other, point.x)))
        });
    let plane = Plane {
        chart,
        units: [unit(&chart.x, 1.0), unit(&chart.y, largest(series))],
        is_shared,
    };
    let mut names: Vec<&str> = Vec::new();
    let mut traces = Vec::new();
    for series in series.iter().filter(|series| series.is_drawn()) {
        let is_new = !names.contains(&series.name.as_str());
        if is_new {
            names.push(&series.name);
        }
        let place = names.iter().position(|name| *name == series.name);
        let number = series.hue.or(place).unwrap_or(0);
        traces.extend(plane.traces(series, number, is_new));
    }
    traces
}

impl Plane<'_> {
    fn traces(&self, series: &Series, number: usize, is_new: bool) -> Vec<Box<dyn Trace>> {
        match series.look {
            Look::Bars => vec![self.bars(series, number)],
            Look::Range | Look::Band => self.ranges(series),
            Look::Cloud | Look::Crosses => vec![self.cloud(series, number)],
            Look::Line | Look::Dashed | Look::Dots | Look::Area => {
                let mut traces = self.points(series, number, is_new);
                for (kind, what, size, symbol) in [
                    (Kind::Suspect, "suspect", 14, MarkerSymbol::CircleOpen),
                    (Kind::AtMost, "at most", 10, MarkerSymbol::TriangleDownOpen),
                ] {
                    let is_it = |point: &&Point| point.kind == kind;
                    let points: Vec<&Point> = series.points.iter().filter(is_it).collect();
                    if !points.is_empty() {
                        let marker = Marker::new()
                            .color(colour(number))
                            .size(size)
                            .symbol(symbol);
                        let name = format!("{}, {what}", series.name);
                        let trace = self.scatter(series, &points, self.aside(number));
                        traces.push(trace.name(label(&name)).mode(Mode::Markers).marker(marker));
                    }
                }
                traces
            }
        }
    }

    fn aside(&self, number: usize) -> f64 {
        match (self.is_shared, number) {
            (true, 0) => -ASIDE,
            (true, _) => ASIDE,
            (false, _) => 0.0,
        }
    }

    /// The points where they are drawn, with what a pointer shows; a gap if there is nothing.
    fn scatter(
        &self,
        series: &Series,
        points: &[&Point],
        aside: f64,
    ) -> Box<Scatter<f64, Option<f64>>> {
        let is_place = self.chart.is_across;
        let place = |point: &Point| point.x / self.units[0] + aside;
        let height = |point: &Point| point.y.map(|y| y / self.units[1]);
        let hover = points
            .iter()
            .map(|point| self.hover(series, point))
            .collect();
        let trace = if is_place {
            let drawn = points
                .iter()
                .filter_map(|point| Some((height(point)?, Some(place(point)))));
            let (x, y) = drawn.unzip();
            Scatter::new(x, y)
        } else {
            let (x, y) = points
                .iter()
                .map(|point| (place(point), height(point)))
                .unzip();
            Scatter::new(x, y)
        };
        trace.hover_text_array(hover).hover_template(HOVER)
    }

    fn hover(&self, series: &Series, point: &Point) -> String {
        let suspect = if point.kind == Kind::Suspect {
            ", suspect"
        } else {
            ""
        };
        let height = format!("{}: {}{suspect}", label(&series.name), lines(&point.text));
        [
            label(&self.chart.x.scale.words(point.x)),
            height,
            lines(&point.note),
        ]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("<br>")
    }

    fn points(&self, series: &Series, number: usize, is_new: bool) -> Vec<Box<dyn Trace>> {
        let is_limit = |point: &Point| matches!(point.kind, Kind::AtMost | Kind::Missing);
        let gap = |point: &Point| Point {
            y: None,
            ends: None,
            ..point.clone()
        };
        let points: Vec<Point> = series
            .points
            .iter()
            .filter(|point| !(self.chart.is_across && is_limit(point)))
            .map(|point| {
                if is_limit(point) {
                    gap(point)
                } else {
                    point.clone()
                }
            })
            .collect();
        if points.iter().all(|point| point.y.is_none()) {
            return Vec::new();
        }
        let shown: Vec<&Point> = points.iter().collect();
        let hue = colour(number);
        let is_dashed = series.look == Look::Dashed || number >= COLOURS.len();
        let dash = if is_dashed {
            DashType::Dash
        } else {
            DashType::Solid
        };
        let symbol = SYMBOLS[number % SYMBOLS.len()].clone();
        let symbol = if series.look == Look::Dashed {
            MarkerSymbol::DiamondOpen
        } else {
            symbol
        };
        let mode = match series.look {
            Look::Dots if self.chart.is_across => Mode::MarkersText,
            Look::Dots => Mode::Markers,
            _ if points.len() > MARKED_POINTS => Mode::Lines,
            _ => Mode::LinesMarkers,
        };
        let mut trace = self
            .scatter(series, &shown, self.aside(number))
            .name(label(&series.name))
            .legend_group(label(&series.name))
            .show_legend(is_new)
            .mode(mode)
            .line(Line::new().color(hue).width(1.5).dash(dash))
            .marker(Marker::new().color(hue).size(7).symbol(symbol));
        if points.iter().any(|point| point.ends.is_some()) {
            let bars = self.interval_bars(&points, hue);
            trace = if self.chart.is_across {
                trace.error_x(bars)
            } else {
                trace.error_y(bars)
            };
        }
        if series.look == Look::Area {
            trace = trace
                .fill(plotly::common::Fill::ToNextY)
                .stack_group("parts");
        }
        if self.chart.is_across && series.look == Look::Dots {
            let beside = |point: &Point| {
                format!(
                    "  {}",
                    self.chart.y.scale.words(point.y.unwrap_or_default())
                )
            };
            trace = trace
                .text_array(points.iter().map(beside).collect())
                .text_position(Position::MiddleRight);
        }
        vec![trace]
    }

    fn interval_bars(&self, points: &[Point], hue: &'static str) -> plotly::common::ErrorData {
        let scaled = |height: f64| height / self.units[1];
        let values: Vec<f64> = points
            .iter()
            .map(|point| scaled(point.y.unwrap_or_default()))
            .collect();
        let ends: Vec<(f64, f64)> = points
            .iter()
            .zip(&values)
            .map(|(point, value)| {
                point
                    .ends
                    .map_or((*value, *value), |(low, high)| (scaled(low), scaled(high)))
            })
            .collect();
        interval_bars(&values, &ends, hue)
    }

    fn bars(&self, series: &Series, number: usize) -> Box<dyn Trace> {
        let points: Vec<&Point> = series
            .points
            .iter()
            .filter(|point| point.y.is_some())
            .collect();
        let places: Vec<f64> = points.iter().map(|point| point.x).collect();
        let heights = points
            .iter()
            .filter_map(|point| Some(point.y? / self.units[1]))
            .collect();
        let hover = points
            .iter()
            .map(|point| self.hover(series, point))
            .collect();
        let bars = if self.chart.is_across {
            Bar::new(heights, places).orientation(Orientation::Horizontal)
        } else {
            Bar::new(places, heights)
        };
        bars.name(label(&series.name))
            .marker(Marker::new().color(colour(number)))
            .hover_text_array(hover)
            .hover_template(HOVER)
    }

    /// A grey line for each point from its low to its high end, and marks on them.
    fn ranges(&self, series: &Series) -> Vec<Box<dyn Trace>> {
        let is_band = series.look == Look::Band;
        let (mut along, mut places, mut hover) = (Vec::new(), Vec::new(), Vec::new());
        for point in &series.points {
            let Some((low, high)) = point.ends else {
                continue;
            };
            let text = self.hover(series, point);
            along.extend([Some(low / self.units[1]), Some(high / self.units[1]), None]);
            places.extend([Some(point.x), Some(point.x), None]);
            hover.extend([text.clone(), text, String::new()]);
        }
        let ends = Marker::new()
            .color(GREY)
            .size(12)
            .symbol(MarkerSymbol::LineNSOpen)
            .line(Line::new().width(2.0));
        let line = if is_band {
            Line::new().color(BAND).width(14.0)
        } else {
            Line::new().color(GREY).width(2.0)
        };
        let trace = Scatter::new(along, places)
            .name(label(&series.name))
            .line(line)
            .hover_text_array(hover)
            .hover_template(HOVER);
        let mut traces: Vec<Box<dyn Trace>> = vec![if is_band {
            trace.mode(Mode::Lines)
        } else {
            trace.mode(Mode::LinesMarkers).marker(ends)
        }];
        let is_open = |point: &&Point| point.kind == Kind::AtLeast;
        let open = series.points.iter().filter(is_open);
        let open: Vec<Point> = open
            .filter_map(|point| {
                Some(Point {
                    y: Some(point.ends?.1),
                    ..point.clone()
                })
            })
            .collect();
        let centres: Vec<Point> = series
            .points
            .iter()
            .filter(|point| point.y.is_some())
            .cloned()
            .collect();
        for (points, what, symbol) in [
            (open, "no upper end", MarkerSymbol::TriangleRight),
            (centres, "likely", MarkerSymbol::Diamond),
        ] {
            if !points.is_empty() && !is_band {
                let marker = Marker::new().color(GREY).size(9).symbol(symbol);
                let trace = self.scatter(series, &points.iter().collect::<Vec<_>>(), 0.0);
                traces.push(trace.name(what).mode(Mode::Markers).marker(marker));
            }
        }
        traces
    }

    /// Many points: what a pointer shows is written by the page.
    fn cloud(&self, series: &Series, number: usize) -> Box<dyn Trace> {
        // Six digits are more than a screen shows, and a third of the page's length.
        let rounded = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
        let (x, y): (Vec<f64>, Vec<f64>) = series
            .points
            .iter()
            .filter_map(|point| {
                Some((
                    rounded(point.x / self.units[0]),
                    rounded(point.y? / self.units[1]),
                ))
            })
            .unzip();
        let marker = match series.look {
            Look::Crosses => Marker::new()
                .color(LEFT_OUT)
                .size(7)
                .symbol(MarkerSymbol::X),
            _ => Marker::new().color(colour(number)).size(4).opacity(0.6),
        };
        Scatter::new(x, y)
            .name(label(&series.name))
            .web_gl_mode(self.size() > PLAIN_POINTS)
            .mode(Mode::Markers)
            .marker(marker)
            .hover_text_array(
                series
                    .points
                    .iter()
                    .map(|point| lines(&point.note))
                    .collect(),
            )
            .hover_template("%{hovertext}<br>%{y} at %{x}<extra></extra>")
    }

    fn size(&self) -> usize {
        match &self.chart.body {
            Body::Points(series) => series.iter().map(|series| series.points.len()).sum(),
            Body::Cells { .. } => 0,
        }
    }
}

/// The axes, and what is marked on them.
fn plane(chart: &Chart, series: &[Series]) -> Layout {
    let points = || series.iter().flat_map(|series| &series.points);
    let places: Vec<f64> = points().map(|point| point.x).collect();
    let heights: Vec<f64> = heights(series).collect();
    let x = axis(&chart.x, &places, 1.0);
    let y = axis(&chart.y, &heights, largest(series));
    let has = |look| series.iter().any(|series| series.look == look);
    if chart.is_across {
        let (row, names_of_parts) = if has(Look::Bars) {
            (BAR_ROW, series.len())
        } else {
            (ROW, 0)
        };
        let names = names(&chart.x);
        let base = rows(names.len(), row, names_of_parts).bar_mode(BarMode::Relative);
        let y = match chart.y.scale {
            Scale::Time => y.range(padded_range(&heights)),
            _ => y,
        };
        return base.x_axis(y).y_axis(rows_axis(names));
    }
    marked(
        chart,
        &places,
        layout().bar_mode(BarMode::Group).x_axis(x).y_axis(y),
    )
}

/// The range of a logarithmic axis that has room for the words beside its last point.
fn padded_range(heights: &[f64]) -> AxisRange {
    let logs = || {
        heights
            .iter()
            .filter(|ns| **ns > 0.0)
            .map(|ns| (ns / NANOS).log10())
    };
    let (first, last) = (
        logs().fold(0.0, f64::min),
        logs().fold(f64::NEG_INFINITY, f64::max),
    );
    let width = (last - first).max(1.0);
    AxisRange::new(first - 0.05 * width, last + 0.15 * width)
}

fn marked(chart: &Chart, places: &[f64], base: Layout) -> Layout {
    let is_log = chart.x.scale.is_log();
    let unit = unit(&chart.x, 1.0);
    let first = places.iter().copied().fold(f64::INFINITY, f64::min);
    let first = if is_log { first } else { first.min(0.0) };
    let last = chart
        .x
        .end
        .unwrap_or(places.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let mut shapes = Vec::new();
    let mut notes = Vec::new();
    let named = |stretch: &&super::Stretch| !stretch.name.is_empty();
    for (i, stretch) in chart.stretches.iter().filter(named).enumerate() {
        let (from, to) = (stretch.from, stretch.to);
        let middle = if is_log {
            (from * to).sqrt().log10()
        } else {
            (from + to) / 2.0
        };
        shapes.push(region(
            from,
            to,
            colour(0),
            if i % 2 == 0 { 0.05 } else { 0.12 },
        ));
        notes.push(note(&stretch.name, middle, 0.06));
    }
    for stretch in chart
        .stretches
        .iter()
        .filter(|stretch| stretch.name.is_empty())
    {
        shapes.push(region(stretch.from, stretch.to, colour(4), 0.3));
    }
    shapes.extend(chart.marks.iter().map(|mark| upright(mark.at / unit)));
    notes.extend(names_at_marks(&chart.marks, [first, last], is_log, unit));
    base.shapes(shapes).annotations(notes)
}

fn axis(axis: &Axis, values: &[f64], largest: f64) -> plotly::layout::Axis {
    let title = &axis.title;
    let drawn = match &axis.scale {
        Scale::Time => time_axis(title),
        Scale::Span => {
            let unit = quantity::Scale::of(largest).unit;
            linear_axis(&format!("{title}, {unit}")).range_mode(RangeMode::ToZero)
        }
        Scale::Size => {
            let sizes: Vec<u64> = values.iter().map(|size| *size as u64).collect();
            size_axis(title, &sizes)
        }
        Scale::Linear => linear_axis(title),
        Scale::Zero => linear_axis(title).range_mode(RangeMode::ToZero),
        Scale::Log => log_axis(title),
        Scale::Count => {
            let mut ticks = values.to_vec();
            ticks.sort_by(f64::total_cmp);
            ticks.dedup();
            linear_axis(title)
                .tick_mode(TickMode::Array)
                .tick_values(ticks)
        }
        Scale::Share => share_axis(title),
        Scale::Names(names) => {
            let angle = if names.iter().map(|name| name.len() + 2).sum::<usize>() > 80 {
                -40.0
            } else {
                0.0
            };
            list_axis(title, names).tick_angle(angle)
        }
        Scale::Edges(edges) => edges_axis(title, edges),
    };
    match axis.end {
        Some(end) => drawn.range(AxisRange::new(0.0, end)),
        None => drawn,
    }
}

fn heat(chart: &Chart, rows: &[Vec<(Option<f64>, String)>], is_time: bool) -> Box<dyn Trace> {
    let height = |value: f64| if is_time { value.log10() } else { value };
    let heights: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|row| row.iter().map(|(value, _)| value.map(height)).collect())
        .collect();
    let hover = rows.iter().enumerate().map(|(row, cells)| {
        let cell = |(column, (_, text)): (usize, &(Option<f64>, String))| {
            let (x, y) = (
                chart.x.scale.words(column as f64),
                chart.y.scale.words(row as f64),
            );
            format!(
                "{}, {}: {}<br>{}",
                label(&x),
                label(&chart.y.title),
                label(&y),
                label(text)
            )
        };
        cells.iter().enumerate().map(cell).collect()
    });
    let decade = |power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power));
    let times: Vec<f64> = (0..10).flat_map(decade).collect();
    let bar = ColorBar::new().exponent_format(ExponentFormat::SI);
    let bar = if is_time {
        bar.tick_vals(times.iter().map(|ns| ns.log10()).collect())
            .tick_text(times.iter().map(|ns| quantity::time(*ns)).collect())
    } else {
        bar
    };
    HeatMap::new_z(heights)
        .hover_text_matrix(hover.collect())
        .hover_template(HOVER)
        .hover_on_gaps(true)
        .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
        .color_bar(bar)
}
