//! Draws a chart as an SVG picture without scripts, in the colours of the page. The tooltip of a
//! point is an SVG title, which screen readers read, too.

mod cells;
mod legend;

use std::collections::HashSet;
use std::fmt::Write;

use maud::{Markup, html};

use super::chart::{Body, Chart, Kind, Look, Point, Scale, Series, Stretch};
use super::label::label;
use super::ruler::Ruler;
use super::{Figure, colours};
use cells::Hues;
use itertools::Itertools;
use legend::{Entry, legend, legend_rows};

/// Width of a picture in pixels.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 460.0;

/// Height of a line of text in pixels.
const LINE: f64 = 18.0;
const LETTER: f64 = 6.8;

/// Height of a row of dots in pixels.
const ROW: f64 = 24.0;
const BAR_ROW: f64 = 44.0;

/// Width of a bar, or of a group of bars, as a share of the width of its position.
const BAR: f64 = 0.75;

/// Maximum number of points in a line with a mark at each point.
const MARKED_POINTS: usize = 40;

/// Maximum number of points in a chart with a tooltip at each point.
const TITLED_POINTS: usize = 1_000;

/// Largest sideways distance of a point from its name, if several series share the name, as a share
/// of the position's width.
const ASIDE: f64 = 0.12;

/// Height of a slanted name, as a share of the name's length.
const SLANT: f64 = 0.65;
const SLANTED: f64 = 90.0;

/// Width of the colour scale next to a heat map, in pixels.
const COLOUR_SCALE: f64 = 100.0;

impl Chart {
    /// Draws the chart and returns the figure; `None` if the chart has nothing to draw.
    pub(crate) fn figure(self) -> Option<Figure> {
        self.is_drawn().then(|| Figure {
            caption: format!("{}{}", self.caption, self.remark()),
            svg: draw(&self),
            table: self.table(),
            name: self.name,
            title: self.title,
        })
    }
}

fn draw(chart: &Chart) -> Markup {
    match &chart.body {
        Body::Points(series) => {
            let plane = Plane::fit_points(chart, series);
            let inner = plane.points(chart, series);
            plane.picture(chart, &legend(series), inner, html! {})
        }
        Body::Cells { rows, is_time } => {
            let plane = Plane::fit_cells(chart);
            let hues = Hues::new(rows, *is_time);
            let inner = plane.cells(chart, rows, &hues);
            plane.picture(chart, &[], inner, hues.scale(plane.width, plane.height))
        }
    }
}

/// The area within the axes, with its rulers and its size in pixels.
struct Plane {
    /// Ruler of the positions.
    place: Ruler,
    height_of: Ruler,
    /// Whether positions run from top to bottom, and heights from left to right.
    is_across: bool,
    /// Number of colours at each name, if several series share the names; 0 if each name has the
    /// points of one series.
    beside: usize,
    margin_left: f64,
    margin_bottom: f64,
    is_slanted: bool,
    width: f64,
    height: f64,
}

fn longest(ruler: &Ruler) -> f64 {
    let lengths = ruler.ticks.iter().map(|(_, name)| name.chars().count());
    LETTER * lengths.max().unwrap_or(0) as f64
}

/// Returns the heights and interval ends of all points, and the sums of stacked points.
fn heights(series: &[Series], is_across: bool) -> Vec<f64> {
    let mut heights: Vec<f64> = series
        .iter()
        .flat_map(|series| &series.points)
        .flat_map(|point| {
            let ends = point
                .ends
                .map_or([None; 2], |(low, high)| [Some(low), Some(high)]);
            [point.y, ends[0], ends[1]]
        })
        .flatten()
        .collect();
    let mut stack = Stack::default();
    for series in series.iter().filter(|series| is_stacked(series, is_across)) {
        heights.extend(series.points.iter().map(|point| stack.add(point).1));
    }
    heights
}

fn is_stacked(series: &Series, is_across: bool) -> bool {
    series.look == Look::Area || (series.look == Look::Bars && is_across)
}

/// Heights of the stacked parts at each position, above and below 0.
#[derive(Default)]
struct Stack {
    tops: Vec<(f64, bool, f64)>,
}

impl Stack {
    /// Adds a point to its stack, and returns the lower and upper height of its part. Points below
    /// 0 are stacked downwards.
    fn add(&mut self, point: &Point) -> (f64, f64) {
        let height = point.y.unwrap_or(0.0);
        let is_below = height < 0.0;
        let found = self
            .tops
            .iter_mut()
            .find(|(place, side, _)| *place == point.x && *side == is_below);
        match found {
            Some((_, _, top)) => {
                let bottom = *top;
                *top += height;
                (bottom, *top)
            }
            None => {
                self.tops.push((point.x, is_below, height));
                (0.0, height)
            }
        }
    }
}

/// Returns true if several series of dots or lines have points at the same name.
fn is_shared(chart: &Chart, series: &[Series]) -> bool {
    let mut places = HashSet::new();
    matches!(chart.x.scale, Scale::Names(_))
        && series
            .iter()
            .filter(|series| matches!(series.look, Look::Dots | Look::Line))
            .any(|series| {
                let own: HashSet<u64> = series.points.iter().map(|p| p.x.to_bits()).collect();
                let is_shared = own.iter().any(|place| places.contains(place));
                places.extend(own);
                is_shared
            })
}

impl Plane {
    fn fit_points(chart: &Chart, series: &[Series]) -> Self {
        let places: Vec<f64> = series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| point.x)
            .collect();
        let has = |looks: &[Look]| series.iter().any(|series| looks.contains(&series.look));
        let is_from_zero = has(&[Look::Bars, Look::Area]);
        let heights = heights(series, chart.is_across);
        let mut height_of = Ruler::new(&chart.y, &heights, is_from_zero);
        if chart.is_across && has(&[Look::Dots]) {
            // Leaves room for the names beside the last point.
            height_of = height_of.with_room(0.15);
        }
        let place = Ruler::new(&chart.x, &places, false);
        let row = if has(&[Look::Bars]) { BAR_ROW } else { ROW };
        let rows = chart
            .is_across
            .then(|| row * place.ticks.len().max(2) as f64);
        let mut plane = Plane::new(place, height_of, rows, 16.0);
        if is_shared(chart, series) {
            let drawn: Vec<&Series> = series.iter().filter(|series| series.is_drawn()).collect();
            let colours: HashSet<usize> = drawn.iter().map(|one| number(&drawn, one)).collect();
            plane.beside = colours.len();
        }
        plane
    }

    fn fit_cells(chart: &Chart) -> Self {
        let (place, height_of) = (
            Ruler::new(&chart.x, &[], false),
            Ruler::new(&chart.y, &[], false),
        );
        Plane::new(place, height_of, None, COLOUR_SCALE)
    }

    /// Creates the drawing area between two axes. `rows` is the height of the area if positions run
    /// from top to bottom, or `None` if they run from left to right.
    fn new(place: Ruler, height_of: Ruler, rows: Option<f64>, margin_right: f64) -> Self {
        let is_across = rows.is_some();
        let (below, beside) = if is_across {
            (&height_of, &place)
        } else {
            (&place, &height_of)
        };
        let names: usize = below.ticks.iter().map(|(_, name)| name.len() + 2).sum();
        let is_slanted = names as f64 * LETTER > WIDTH - 120.0 || names as f64 > SLANTED * 1.3;
        let names_height = if is_slanted {
            SLANT * longest(below) + LINE
        } else {
            LINE
        };
        let title = |ruler: &Ruler| {
            if ruler.title.is_empty() {
                0.0
            } else {
                LINE + 4.0
            }
        };
        let margin_left = longest(beside) + 14.0 + title(beside);
        let margin_bottom = names_height + 10.0 + title(below);
        Plane {
            is_across,
            beside: 0,
            margin_left,
            margin_bottom,
            is_slanted,
            width: (WIDTH - margin_left - margin_right).max(200.0),
            height: rows.unwrap_or((HEIGHT - margin_bottom).max(240.0)),
            place,
            height_of,
        }
    }

    /// Returns the position of a point within the axes, in pixels.
    fn at(&self, place: f64, height: f64) -> (f64, f64) {
        let (along, up) = (self.place.share(place), self.height_of.share(height));
        if self.is_across {
            (up * self.width, along * self.height)
        } else {
            (along * self.width, (1.0 - up) * self.height)
        }
    }

    /// Returns the SVG picture: the legend, the axes, and the content within and beside the axes.
    fn picture(
        &self,
        chart: &Chart,
        legend: &[Entry<'_>],
        inner: Markup,
        beside: Markup,
    ) -> Markup {
        let rows = legend_rows(legend);
        let top = LINE * rows.last().map_or(0.0, |(row, ..)| row + 1.0) + 12.0;
        let height = top + self.height + self.margin_bottom;
        let (width, inner_height) = (px(self.width), px(self.height));
        html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (px(WIDTH)) " " (px(height)) } width=(px(WIDTH)) height=(px(height))
                role="img" aria-label=(crate::plain::plain(&chart.title)) color="#444" fill="currentColor" font-family="system-ui, sans-serif" font-size="13" {
                title { (crate::plain::plain(&chart.title)) }
                @for ((row, x, _), entry) in rows.iter().zip(legend) {
                    (entry.markup(self.margin_left.min(120.0) + x, LINE * row + 10.0))
                }
                g transform={ "translate(" (px(self.margin_left)) " " (px(top)) ")" } {
                    (self.axes())
                    svg width=(width) height=(inner_height) overflow="hidden" {
                        (inner)
                    }
                    (beside)
                }
            }
        }
    }

    fn axes(&self) -> Markup {
        let (below, beside) = if self.is_across {
            (&self.height_of, &self.place)
        } else {
            (&self.place, &self.height_of)
        };
        let grid = |ruler: &Ruler| if ruler.has_grid { "0.18" } else { "0" };
        let upright = |share: f64| if self.is_across { share } else { 1.0 - share };
        let (width, height) = (px(self.width), px(self.height));
        html! {
            @for (value, name) in &below.ticks {
                @let x = px(below.share(*value) * self.width);
                line x1=(x) x2=(x) y1="0" y2=(height) stroke="currentColor" stroke-opacity=(grid(below)) {}
                @if self.is_slanted {
                    text text-anchor="end" transform={ "translate(" (x) " " (px(self.height + 14.0)) ") rotate(-40)" } { (name) }
                } @else {
                    text x=(x) y=(px(self.height + LINE)) text-anchor="middle" { (name) }
                }
            }
            @for (value, name) in &beside.ticks {
                @let y = upright(beside.share(*value)) * self.height;
                line x1="0" x2=(width) y1=(px(y)) y2=(px(y)) stroke="currentColor" stroke-opacity=(grid(beside)) {}
                text x="-8" y=(px(y + 4.5)) text-anchor="end" { (name) }
            }
            path d={ "M0 0V" (height) "H" (width) } fill="none" stroke="currentColor" stroke-opacity="0.6" {}
            text x=(px(self.width / 2.0)) y=(px(self.height + self.margin_bottom - 6.0)) text-anchor="middle" { (below.title) }
            text text-anchor="middle" transform={ "translate(" (px(14.0 - self.margin_left)) " " (px(self.height / 2.0)) ") rotate(-90)" } {
                (beside.title)
            }
        }
    }

    fn points(&self, chart: &Chart, series: &[Series]) -> Markup {
        let drawn: Vec<&Series> = series.iter().filter(|series| series.is_drawn()).collect();
        let is_bars = |series: &&&Series| series.look == Look::Bars;
        let groups = drawn.iter().filter(is_bars).count();
        let mut stack = Stack::default();
        let pictures = drawn.iter().enumerate().map(|(place, series)| {
            let number = number(&drawn, series);
            match series.look {
                Look::Bars => {
                    let group = drawn[..place].iter().filter(is_bars).count();
                    self.bars(chart, series, number, (group, groups), &mut stack)
                }
                Look::Area => self.area(chart, series, number, &mut stack),
                Look::Range | Look::Band => self.ranges(chart, series),
                Look::Cloud | Look::Crosses => self.cloud(chart, series, number),
                Look::Line | Look::Dashed | Look::Dots => self.line(chart, series, number),
            }
        });
        html! {
            (self.stretches(&chart.stretches))
            (self.marks(chart))
            @for picture in pictures { (picture) }
        }
    }

    /// Returns the sideways distance of a series' points from their name, as a share of the
    /// position's width.
    fn aside(&self, number: usize) -> f64 {
        match self.beside {
            0 | 1 => 0.0,
            beside => {
                let last = (beside - 1) as f64;
                ASIDE * (2.0 * (number as f64).min(last) / last - 1.0)
            }
        }
    }

    fn line(&self, chart: &Chart, series: &Series, number: usize) -> Markup {
        let hue = colours::of_series(number);
        let place = |point: &Point| point.x + self.aside(number);
        let is_limit = |point: &Point| matches!(point.kind, Kind::AtMost | Kind::Missing);
        let mut path = String::new();
        let mut is_open = false;
        for point in &series.points {
            let Some(y) = point.y.filter(|_| !is_limit(point)) else {
                is_open = false;
                continue;
            };
            let (x, y) = self.at(place(point), y);
            let command = if is_open { 'L' } else { 'M' };
            let _ = write!(path, "{command}{} {}", px(x), px(y));
            is_open = true;
        }
        let is_dashed = series.look == Look::Dashed || number >= colours::SERIES.len();
        let has_marks = series.look == Look::Dots || series.points.len() <= MARKED_POINTS;
        html! {
            @if series.look != Look::Dots {
                path d=(path) fill="none" stroke=(hue) stroke-width="1.6" stroke-dasharray=[is_dashed.then_some("6 4")] {
                    title { (label(&series.name)) }
                }
            }
            @for point in series.points.iter().filter(|point| point.kind != Kind::Missing) {
                @if let Some(y) = point.y {
                    @let (x, y) = self.at(place(point), y);
                    @let is_marked = has_marks || point.kind != Kind::Usual;
                    @if is_marked && !(self.is_across && point.kind == Kind::AtMost) {
                        g {
                            title { (hover(chart, series, point)) }
                            @if let Some(ends) = point.ends { (self.interval(place(point), ends, hue)) }
                            (mark(point.kind, series.look, number, x, y))
                            @if self.is_across && series.look == Look::Dots {
                                text x=(px(x + 12.0)) y=(px(y + 4.5)) { (chart.y.scale.words(point.y.unwrap_or_default())) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Draws an interval as a line from its low to its high end, with a cap at each end.
    fn interval(&self, place: f64, (low, high): (f64, f64), hue: &str) -> Markup {
        let ((x1, y1), (x2, y2)) = (self.at(place, low), self.at(place, high));
        let cap = |x: f64, y: f64| {
            if self.is_across {
                format!("M{} {}v8", px(x), px(y - 4.0))
            } else {
                format!("M{} {}h8", px(x - 4.0), px(y))
            }
        };
        let line = format!("M{} {}L{} {}", px(x1), px(y1), px(x2), px(y2));
        html! { path d={ (line) (cap(x1, y1)) (cap(x2, y2)) } fill="none" stroke=(hue) stroke-width="1.5" {} }
    }

    fn area(&self, chart: &Chart, series: &Series, number: usize, stack: &mut Stack) -> Markup {
        let hue = colours::of_series(number);
        let (mut upper, mut lower) = (String::new(), Vec::new());
        let mut corners = Vec::new();
        for point in &series.points {
            let (bottom, top) = stack.add(point);
            let (x, y) = self.at(point.x, top);
            let command = if upper.is_empty() { 'M' } else { 'L' };
            let _ = write!(upper, "{command}{} {}", px(x), px(y));
            lower.push(self.at(point.x, bottom));
            corners.push((x, y, point));
        }
        for (x, y) in lower.into_iter().rev() {
            let _ = write!(upper, "L{} {}", px(x), px(y));
        }
        html! {
            path d={ (upper) "Z" } fill=(hue) fill-opacity="0.45" stroke=(hue) {}
            @for (x, y, point) in corners {
                g {
                    title { (hover(chart, series, point)) }
                    circle cx=(px(x)) cy=(px(y)) r="3.5" fill=(hue) {}
                }
            }
        }
    }

    /// Draws the bars of a series, beside the bars of other series, or stacked if positions are
    /// rows.
    fn bars(
        &self,
        chart: &Chart,
        series: &Series,
        number: usize,
        (group, groups): (usize, usize),
        stack: &mut Stack,
    ) -> Markup {
        let hue = colours::of_series(number);
        let room = self.room(series);
        let zero = if self.is_across { 0.0 } else { self.height };
        html! {
            @for point in series.points.iter().filter(|point| point.y.is_some()) {
                @let (bottom, top) = if self.is_across { stack.add(point) } else { (0.0, point.y.unwrap_or(0.0)) };
                @let ((x0, y0), (x1, y1)) = (self.at(point.x, bottom), self.at(point.x, top));
                rect fill=(hue)
                    x=(px(if self.is_across { x0.min(x1) } else { x1 - room / 2.0 + room * group as f64 / groups as f64 }))
                    y=(px(if self.is_across { y1 - room / 2.0 } else { y0.min(y1) }))
                    width=(px(if self.is_across { (x1 - x0).abs() } else { room / groups as f64 }))
                    height=(px(if self.is_across { room } else { (y1 - y0.min(zero)).abs() })) {
                    title { (hover(chart, series, point)) }
                }
            }
        }
    }

    /// Returns the width of a bar in pixels: a share of the least distance between two positions.
    fn room(&self, series: &Series) -> f64 {
        let along = |point: &Point| {
            let (x, y) = self.at(point.x, 0.0);
            if self.is_across { y } else { x }
        };
        let mut places: Vec<f64> = series.points.iter().map(along).collect();
        places.sort_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
        let whole = if self.is_across {
            BAR_ROW
        } else {
            self.width / 8.0
        };
        BAR * gaps.filter(|gap| *gap > 0.0).fold(whole, f64::min)
    }

    /// Draws a line from the low to the high end of each point, with a mark at the height. An arrow
    /// marks an unknown upper end.
    fn ranges(&self, chart: &Chart, series: &Series) -> Markup {
        let is_band = series.look == Look::Band;
        html! {
            @for point in &series.points {
                g stroke="currentColor" stroke-opacity=(if is_band { "0.3" } else { "0.8" }) {
                    title { (hover(chart, series, point)) }
                    @if let Some((low, high)) = point.ends {
                        @let ((x0, y0), (x1, y1)) = (self.at(point.x, low), self.at(point.x, high));
                        @if is_band {
                            path d={ "M" (px(x0)) " " (px(y0)) "L" (px(x1)) " " (px(y1)) } stroke-width="14" {}
                        } @else {
                            (self.interval(point.x, (low, high), "currentColor"))
                            @if point.kind == Kind::AtLeast {
                                path d={ "M" (px(x1)) " " (px(y1 - 5.0)) "l9 5l-9 5z" } {}
                            }
                        }
                    }
                    @if let Some(height) = point.y.filter(|_| !is_band) {
                        @let (x, y) = self.at(point.x, height);
                        path d={ "M" (px(x)) " " (px(y - 6.0)) "l6 6l-6 6l-6 -6z" } {}
                    }
                }
            }
        }
    }

    /// Draws a cloud of points. With more than [`TITLED_POINTS`] points, there are no tooltips, and
    /// only one point for each pixel.
    fn cloud(&self, chart: &Chart, series: &Series, number: usize) -> Markup {
        let is_cross = series.look == Look::Crosses;
        let hue = if is_cross {
            colours::LEFT_OUT
        } else {
            colours::of_series(number)
        };
        let shape = if is_cross {
            "m-3 -3l6 6m0 -6l-6 6"
        } else {
            "h0"
        };
        let (width, opacity) = if is_cross { ("1.5", "1") } else { ("4", "0.6") };
        let is_titled = series.points.len() <= TITLED_POINTS;
        let mut path = String::new();
        let mut seen = HashSet::new();
        let mut titled = Vec::new();
        for point in &series.points {
            let Some(height) = point.y else { continue };
            let (x, y) = self.at(point.x, height);
            let (x, y) = (x.round() as i32, y.round() as i32);
            let at = format!("M{x} {y}{shape}");
            if is_titled {
                titled.push((at, point));
            } else if seen.insert((x, y)) {
                path.push_str(&at);
            }
        }
        html! {
            g fill="none" stroke=(hue) stroke-width=(width) stroke-opacity=(opacity) stroke-linecap="round" {
                @if !path.is_empty() { path d=(path) {} }
                @for (at, point) in titled {
                    path d=(at) { title { (hover(chart, series, point)) } }
                }
            }
        }
    }

    fn marks(&self, chart: &Chart) -> Markup {
        let mut marks: Vec<(f64, &super::Mark)> = chart
            .marks
            .iter()
            .map(|mark| (self.place.share(mark.at) * self.width, mark))
            .filter(|(x, _)| (0.0..=self.width).contains(x))
            .collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Right end of the last name in each row of names.
        let mut rows: Vec<f64> = Vec::new();
        let mut drawn = Vec::new();
        for (x, mark) in marks {
            let name = label(&mark.name);
            let half = LETTER * (name.chars().count() + 2) as f64 / 2.0;
            let middle = x.clamp(half, (self.width - half).max(half));
            let is_free = |end: &f64| *end <= middle - half;
            let row = rows.iter().position(is_free).unwrap_or(rows.len());
            rows.resize(rows.len().max(row + 1), 0.0);
            rows[row] = middle + half;
            drawn.push(html! {
                g {
                    title { (crate::plain::plain(&mark.cause)) }
                    path d={ "M" (px(x)) " 0V" (px(self.height)) } stroke="currentColor" stroke-opacity="0.7" stroke-dasharray="2 3" {}
                    text x=(px(middle)) y=(px(14.0 + LINE * row as f64)) text-anchor="middle" font-size="11" { (name) }
                }
            });
        }
        html! { @for mark in drawn { (mark) } }
    }

    /// Shades the marked ranges of positions: ranges with names in alternating shades, and a range
    /// without a name in its own colour.
    fn stretches(&self, stretches: &[Stretch]) -> Markup {
        html! {
            @for (i, stretch) in stretches.iter().enumerate() {
                @let (from, to) = (self.place.share(stretch.from).max(0.0) * self.width, self.place.share(stretch.to).min(1.0) * self.width);
                @let (hue, opacity) = match (stretch.name.is_empty(), i % 2) {
                    (true, _) => (colours::STRETCH, "0.3"),
                    (false, 0) => (colours::of_series(0), "0.05"),
                    (false, _) => (colours::of_series(0), "0.12"),
                };
                rect x=(px(from)) y="0" width=(px((to - from).max(0.0))) height=(px(self.height)) fill=(hue) fill-opacity=(opacity) {}
                text x=(px((from + to) / 2.0)) y=(px(self.height - 8.0)) text-anchor="middle" font-size="11" { (label(&stretch.name)) }
            }
        }
    }
}

/// Draws the mark of a point. The shape depends on the series, so that series can be distinguished
/// without colour. A ring marks a suspect number, a triangle a limit.
fn mark(kind: Kind, look: Look, number: usize, x: f64, y: f64) -> Markup {
    let hue = colours::of_series(number);
    let shape = match (look, number % 4) {
        (Look::Dashed, _) | (_, 1) => "m0 -5l5 5l-5 5l-5 -5z",
        (_, 0) => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        (_, 2) => "m-4 -4h8v8h-8z",
        _ => "m0 -5l5 9h-10z",
    };
    let is_filled = look != Look::Dashed && matches!(number % 4, 0 | 2);
    let at = format!("M{} {}", px(x), px(y));
    let fill = if is_filled { hue } else { "none" };
    html! {
        // An invisible circle makes the point easier to hit.
        circle cx=(px(x)) cy=(px(y)) r="9" fill="none" pointer-events="all" {}
        @if kind == Kind::AtMost {
            path d={ (at) "m-6 -5h12l-6 10z" } fill="none" stroke=(hue) stroke-width="1.5" {}
        } @else {
            path d={ (at) (shape) } fill=(fill) stroke=(hue) stroke-width="1.5" {}
        }
        @if kind == Kind::Suspect {
            circle cx=(px(x)) cy=(px(y)) r="8" fill="none" stroke=(hue) stroke-width="1.5" {}
        }
    }
}

/// Returns the tooltip of a point.
fn hover(chart: &Chart, series: &Series, point: &Point) -> String {
    let suspect = if point.kind == Kind::Suspect {
        ", suspect"
    } else {
        ""
    };
    let text = if point.text.is_empty() {
        chart.y.scale.words(point.y.unwrap_or_default())
    } else {
        point.text.clone()
    };
    let lines = [
        chart.x.scale.words(point.x),
        format!("{}: {text}{suspect}", label(&series.name)),
        point.note.clone(),
    ];
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| crate::plain::plain(line)).join("\n")
}

/// Returns the number of a series' colour: the series' own number, or the place of its name among
/// all names.
fn number(drawn: &[&Series], series: &Series) -> usize {
    series.hue.unwrap_or_else(|| {
        drawn
            .iter()
            .map(|one| &one.name)
            .unique()
            .position(|name| *name == series.name)
            .unwrap_or(0)
    })
}

/// Formats a length for SVG, to a tenth of a pixel.
fn px(length: f64) -> String {
    let tenths = (length * 10.0).round() / 10.0;
    format!("{}", tenths + 0.0)
}
