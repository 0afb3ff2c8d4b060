//! Draws the main figure of a paper as a small table: the first figure with both published values
//! and values found here.

use switchcost_reproduce::{Chart, Exhibit, Series, Style};

use crate::reproduce::chart::scale;
use crate::{Grid, Page};

/// Maximum number of rows, so that the screen has room for the claims.
const MOST_ROWS: usize = 7;

/// Maximum number of curves that fit next to each other.
const MOST_SERIES: usize = 4;

pub(super) fn add(page: &mut Page, exhibits: &[Exhibit]) {
    let charts = exhibits
        .iter()
        .filter_map(|exhibit| Some((exhibit, exhibit.chart.as_ref()?)));
    let has = |chart: &Chart, style| {
        chart
            .series
            .iter()
            .any(|series| series.style == style && !series.x.is_empty())
    };
    let is_reported = |chart: &Chart| has(chart, Style::Found) && has(chart, Style::Published);
    if let Some((exhibit, chart)) = charts.into_iter().find(|(_, chart)| is_reported(chart)) {
        page.table(
            format!("{}: {}", exhibit.name, exhibit.title),
            &chart.y_title,
            grid(chart),
        );
    }
}

fn grid(chart: &Chart) -> Grid {
    let shown = series(chart);
    let names = shown.iter().map(|series| &series.name);
    let mut grid = Grid::single_line_rows(1)
        .left([&chart.x_title])
        .right(names);
    for x in rows(&shown) {
        let (place, height) = (scale(chart, chart.x_axis), scale(chart, chart.y_axis));
        let mut row = entries![place.words(x)];
        row.extend(shown.iter().map(|series| {
            value(series, x)
                .map(|y| height.words(y))
                .unwrap_or_default()
                .into()
        }));
        grid.row(row);
    }
    grid
}

/// Selects up to [`MOST_SERIES`] curves for the table. Curves found here come first. At most half
/// of the curves are published ones.
fn series(chart: &Chart) -> Vec<&Series> {
    let of = |style| {
        chart
            .series
            .iter()
            .filter(move |series| series.style == style)
    };
    let mut shown: Vec<&Series> = of(Style::Published).take(MOST_SERIES / 2).collect();
    shown.splice(0..0, of(Style::Found).take(MOST_SERIES - shown.len()));
    shown
}

/// Selects the positions for the rows: the positions of published values, and evenly spaced
/// positions of the values found here.
fn rows(shown: &[&Series]) -> Vec<f64> {
    let of = |style| {
        let series = shown.iter().filter(move |series| series.style == style);
        sorted(series.flat_map(|series| series.x.iter().copied()).collect())
    };
    let mut rows = evenly(&of(Style::Published), MOST_ROWS);
    let found: Vec<f64> = of(Style::Found)
        .into_iter()
        .filter(|x| !rows.contains(x))
        .collect();
    rows.extend(evenly(&found, MOST_ROWS - rows.len()));
    sorted(rows)
}

fn sorted(mut places: Vec<f64>) -> Vec<f64> {
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    places
}

/// Selects up to `most` evenly spaced positions, including the first and the last.
fn evenly(places: &[f64], most: usize) -> Vec<f64> {
    match (places.len(), most) {
        (n, _) if n <= most => places.to_vec(),
        (_, 0) => Vec::new(),
        (_, 1) => places[..1].to_vec(),
        (n, _) => (0..most)
            .map(|row| places[row * (n - 1) / (most - 1)])
            .collect(),
    }
}

fn value(series: &Series, x: f64) -> Option<f64> {
    series
        .x
        .iter()
        .position(|place| *place == x)
        .and_then(|at| series.y.get(at).copied())
}

#[cfg(test)]
mod tests {
    use switchcost_reproduce::Axis;

    use super::*;

    fn curve(name: &str, style: Style, x: &[f64]) -> Series {
        Series {
            name: name.to_owned(),
            style,
            x: x.to_vec(),
            y: x.iter().map(|x| x * 2.0).collect(),
            intervals: Vec::new(),
        }
    }

    #[test]
    fn published_places_are_rows_and_the_rest_is_spread() {
        let found = curve(
            "found",
            Style::Found,
            &(1..=40).map(f64::from).collect::<Vec<_>>(),
        );
        let published = curve("published", Style::Published, &[3.0, 39.5]);
        let rows = rows(&[&found, &published]);
        assert_eq!(rows.len(), MOST_ROWS);
        assert!(
            [1.0, 3.0, 39.5, 40.0].iter().all(|x| rows.contains(x)),
            "{rows:?}"
        );
        assert_eq!(
            (value(&found, 3.0), value(&published, 1.0)),
            (Some(6.0), None)
        );
    }

    #[test]
    fn both_styles_have_a_column() {
        let mut all: Vec<Series> = (0..6)
            .map(|n| curve(&n.to_string(), Style::Found, &[1.0]))
            .collect();
        all.push(curve("published", Style::Published, &[1.0]));
        let chart = Chart {
            x_title: "size".to_owned(),
            x_axis: Axis::Size,
            x_names: Vec::new(),
            y_title: "cost".to_owned(),
            y_axis: Axis::Time,
            series: all,
            marks: Vec::new(),
        };
        let names: Vec<&str> = series(&chart)
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["0", "1", "2", "published"]);
    }
}
