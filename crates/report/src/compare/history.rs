//! Renders the history of costs over several states of a system: sentences on the newest state, a
//! table for each cost, and a figure.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::compare::{Change, Dated, History, Outcome, Step, Trend};
use switchcost_record::Case;

use super::figures::point;
use super::pairs::{changed, costs};
use super::words::{percent, quantity, shown_change, tone, value, verdict};
use crate::figure::{Axis, Chart, Look, Scale, Series};
use crate::format::written;
use crate::measure::conditions;
use crate::quantity::{NO_NUMBER, confidence};
use crate::{Document, Entry, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

/// Maximum number of states in a table on one screen; the newest are shown.
const STATES_SHOWN: usize = 12;
const COSTS_SHOWN: usize = 2;

impl OutputFormat for &History {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.history/1";
}

/// Renders the history of costs in one of the formats, as text that ends in a newline.
pub fn render_history(history: &History, format: Format, style: Style) -> String {
    written(history, format, style)
}

impl InEveryFormat for History {
    fn add_to(&self, page: &mut Page) {
        add(page, self);
        if !page.is_detailed() {
            page.gap();
            page.line("full report: --details; figures: -o page.html");
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![rows(self)]
    }
}

fn add(page: &mut Page, history: &History) {
    let (states, most) = (page.row_limit(STATES_SHOWN), page.row_limit(COSTS_SHOWN));
    page.paragraph(answer(history));
    page.figure(|| figure(history));
    let mut trends: Vec<&Trend> = history.trends.iter().collect();
    trends.sort_by_key(|trend| {
        std::cmp::Reverse(trend.steps.iter().filter(|step| is_changed(step)).count())
    });
    for trend in trends.iter().take(most) {
        page.table(
            name(history, trend),
            "from state to state",
            grid(history, trend, states),
        );
    }
    let more = trends.len().saturating_sub(most);
    if more > 0 {
        page.prose(format!("and {more} more costs: --details"));
    }
    page.gap();
    page.prose(format!(
        "All intervals of all {} comparisons together hold with {} confidence.{}",
        history.comparisons,
        confidence(history.confidence),
        history
            .hertz
            .map(|hertz| format!(
                " Costs are converted to a core clock of {:.2} GHz.",
                hertz / 1e9
            ))
            .unwrap_or_default()
    ));
}

/// Returns the name of a cost, in the words that distinguish this cost from the others of the
/// history.
fn name(history: &History, trend: &Trend) -> String {
    let cases: Vec<&Case> = history.trends.iter().map(|trend| &trend.case).collect();
    format!(
        "{}, {}",
        conditions::label_among(&trend.case, &cases),
        quantity(trend.quantity)
    )
}

fn is_changed(step: &Step) -> bool {
    let outcomes = step.to_before.iter().chain(&step.to_first);
    outcomes.filter_map(shown_change).next().is_some()
}

/// Returns sentences that compare the newest state with the previous state and with the first.
fn answer(history: &History) -> String {
    let [first, .., before, newest] = history.states.as_slice() else {
        return match history.states.as_slice() {
            [first, newest] => against(history, newest, first, |step| &step.to_before),
            _ => "There is nothing to compare: two states are needed.".to_owned(),
        } + &limit(history);
    };
    let to_before = against(history, newest, before, |step| &step.to_before);
    let to_first = against(history, newest, first, |step| &step.to_first);
    format!("{to_before} {to_first}{}", limit(history))
}

fn against(
    history: &History,
    newest: &Dated,
    other: &Dated,
    of: fn(&Step) -> &Option<Outcome>,
) -> String {
    let outcomes = || {
        history
            .newest()
            .filter_map(move |(_, step)| of(step).as_ref())
    };
    let count = |change| {
        outcomes()
            .filter(|one| shown_change(one) == Some(change))
            .count()
    };
    let (slower, faster) = (count(Change::Slower), count(Change::Faster));
    let all = outcomes()
        .filter(|one| matches!(one, Outcome::Compared { .. }))
        .count();
    let beside = format!("{} against {}", newest.name, other.name);
    match slower + faster {
        _ if all == 0 => format!("{beside}: nothing could be compared."),
        0 => format!("{beside}: no significant difference in {}.", costs(all)),
        _ => format!("{beside}: {}.", changed(slower, faster, &costs(all))),
    }
}

fn limit(history: &History) -> String {
    let (Some(share), Some(grown)) = (history.fail_above, history.grown) else {
        return String::new();
    };
    match grown {
        0 => format!(" No cost has grown by more than {}.", percent(share)),
        1 => format!(" 1 cost has grown by more than {}.", percent(share)),
        many => format!(" {many} costs have grown by more than {}.", percent(share)),
    }
}

fn grid(history: &History, trend: &Trend, most: usize) -> Grid {
    let mut grid = Grid::single_line_rows(1)
        .left(["state"])
        .right(["records", "cost", "to the one before", "to the first"])
        .left(["difference"]);
    let skipped = history.states.len().saturating_sub(most);
    for (state, step) in history.states.iter().zip(&trend.steps).skip(skipped) {
        let cost = step.cost.as_ref().map_or(NO_NUMBER.to_owned(), |cost| {
            value(cost, trend.quantity.unit())
        });
        grid.row(entries![
            &state.name,
            state.records.to_string(),
            cost,
            ratio(&step.to_before),
            ratio(&step.to_first),
            difference(step, trend)
        ]);
    }
    grid
}

fn ratio(outcome: &Option<Outcome>) -> String {
    match outcome {
        Some(Outcome::Compared { ratio, .. }) => {
            format!("{:.3} ({:.3} to {:.3})", ratio.ratio, ratio.low, ratio.high)
        }
        Some(Outcome::NotJudged { ratio, .. }) => format!("{ratio:.3}"),
        Some(Outcome::NotComparable { .. }) => NO_NUMBER.to_owned(),
        None => String::new(),
    }
}

fn difference(step: &Step, trend: &Trend) -> Entry {
    let named = |outcome: &Option<Outcome>, than: &str| {
        let change = shown_change(outcome.as_ref()?)?;
        let words = format!("{} than {than}", verdict(change, trend.quantity));
        Some(Entry::new(words, tone(change)))
    };
    let why = match &step.to_before {
        Some(Outcome::NotComparable { why } | Outcome::NotJudged { why, .. }) => why.clone(),
        Some(Outcome::Compared { .. }) => "none shown".to_owned(),
        None => String::new(),
    };
    named(&step.to_before, "before")
        .or_else(|| named(&step.to_first, "at first"))
        .unwrap_or_else(|| why.into())
}

/// Returns a table with a row for each cost in each state.
fn rows(history: &History) -> Table {
    let names = [
        "case",
        "quantity",
        "state",
        "started_at",
        "records",
        "cost_ns",
        "low_ns",
        "high_ns",
        "to_before",
        "to_before_low",
        "to_before_high",
        "to_first",
        "to_first_low",
        "to_first_high",
    ];
    let cases: Vec<&Case> = history.trends.iter().map(|trend| &trend.case).collect();
    let of_trend = |trend: &Trend| -> Table {
        history
            .states
            .iter()
            .zip(&trend.steps)
            .map(|(state, step)| row((trend, &cases), state, step))
            .collect()
    };
    std::iter::once(names.map(str::to_owned).to_vec())
        .chain(history.trends.iter().flat_map(of_trend))
        .collect()
}

fn row((trend, cases): (&Trend, &[&Case]), state: &Dated, step: &Step) -> Vec<String> {
    let mut row = vec![
        conditions::label_among(&trend.case, cases),
        trend.quantity.name().to_owned(),
        state.name.clone(),
        state.started_at.clone(),
        state.records.to_string(),
    ];
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let (low, high) = step.cost.and_then(|cost| cost.interval).unzip();
    row.extend([step.cost.map(|cost| cost.value), low, high].map(number));
    for outcome in [&step.to_before, &step.to_first] {
        let ratio = match outcome {
            Some(Outcome::Compared { ratio, .. }) => [ratio.ratio, ratio.low, ratio.high].map(Some),
            _ => [None; 3],
        };
        row.extend(ratio.map(number));
    }
    row
}

fn figure(history: &History) -> Chart {
    let states = history.states.iter().map(|state| &state.name);
    let series = history.trends.iter().map(|trend| {
        // A state without a number leaves a gap.
        let points = trend.steps.iter().enumerate().map(|(place, step)| {
            let cost = step.cost.as_ref();
            point(place as f64, cost, trend.quantity.unit())
        });
        Series::new(Look::Line, name(history, trend), points)
    });
    let (x, y) = (Axis::names("", states), Axis::new(Scale::Time, "cost"));
    Chart::new("history", "Costs from state to state", x, y)
        .with(series)
        .caption(format!(
            "Bars: the interval of each state, widened so that all verdicts together hold with {}. The verdicts come from the \
             ratios below.",
            confidence(history.confidence)
        ))
        .hide_numbers()
}
