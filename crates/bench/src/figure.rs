//! Figures of commands that run interleaved, and the function that runs all commands.
//!
//! A figure is a row of `tables`: a command, a quantity of its result, a value for comparison, and
//! a bound. Each different command of a table runs once per round, in random order. The result of a
//! figure is its median and spread over the rounds.

use std::collections::HashMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::progress::Progress;
use crate::row::Row;
use crate::shell::{Run, Shell, number};
use crate::spread::Spread;

/// Seed of the order of commands, which is the same each time.
const SEED: u64 = 7;

/// A function that computes a number from a run; `None` if the run lacks the number.
type Compute = Box<dyn Fn(&Run) -> Option<f64>>;

/// The quantity of a run that a figure shows.
pub(crate) enum Quantity {
    Seconds,
    CpuSeconds,
    PeakMib,
    /// A number in the run's JSON, by path, or the only number that a command prints.
    Number(&'static str),
    /// Half the width of an interval in the run's JSON, by path.
    HalfWidth(&'static str),
    /// Half the width of an interval in the run's JSON, in percent of the estimate.
    HalfWidthPercent(&'static str),
    Computed(Compute),
}

impl Quantity {
    fn read(&self, run: &Run) -> Option<f64> {
        let half_width = |path: &str| {
            let end = |name: &str| number(&run.json, &format!("{path}.{name}"));
            Some(((end("high")? - end("low")?) / 2.0, end("estimate")?))
        };
        match self {
            Quantity::Seconds => Some(run.seconds),
            Quantity::CpuSeconds => Some(run.cpu_seconds),
            Quantity::PeakMib => Some(run.peak_mib),
            Quantity::Number(path) => number(&run.json, path).or_else(|| run.json.as_f64()),
            Quantity::HalfWidth(path) => half_width(path).map(|(half, _)| half),
            Quantity::HalfWidthPercent(path) => {
                half_width(path).map(|(half, estimate)| half / estimate.abs() * 100.0)
            }
            Quantity::Computed(compute) => compute(run),
        }
    }
}

/// Value with which a quantity is compared in each round.
enum Beside {
    Nothing,
    /// The ratio to the same quantity of another command.
    Over(String),
    /// The difference from the same quantity of another command.
    Less(String),
    /// The ratio to the quantity of the first command, divided by the ratio of the other two
    /// commands.
    OverAsWell([String; 3]),
}

/// Bound that a figure must meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// No bound: the figure is only shown.
    Shown,
    /// The median must be at most this value.
    AtMost(f64),
    /// The median must be at least this value.
    AtLeast(f64),
    /// The median must be within this many percent of 1.
    NearOne(f64),
    /// Each round must be within this many percent of 1.
    EachNearOne(f64),
    /// Each round must be within this many percent of the median.
    Repeats(f64),
}

impl Bound {
    fn text(self, unit: &str) -> String {
        match self {
            Bound::Shown => "side by side".to_owned(),
            Bound::AtMost(most) => format!("<= {most}{unit}"),
            Bound::AtLeast(least) => format!(">= {least}{unit}"),
            Bound::NearOne(percent) => format!("within {percent} % of 1"),
            Bound::EachNearOne(percent) => format!("each within {percent} % of 1"),
            Bound::Repeats(percent) => format!("largest deviation <= {percent} %"),
        }
    }

    fn is_met(self, found: &Spread) -> Option<bool> {
        let is_near = |value: f64, percent: f64| (value - 1.0).abs() * 100.0 <= percent;
        match self {
            Bound::Shown => None,
            Bound::AtMost(most) => Some(found.median <= most),
            Bound::AtLeast(least) => Some(found.median >= least),
            Bound::NearOne(percent) => Some(is_near(found.median, percent)),
            Bound::EachNearOne(percent) => {
                Some(is_near(found.low, percent) && is_near(found.high, percent))
            }
            Bound::Repeats(percent) => Some(found.largest_deviation_percent() <= percent),
        }
    }
}

pub(crate) struct Figure {
    what: String,
    command: String,
    quantity: Quantity,
    beside: Beside,
    /// Known true value, by which the measured value is divided; 1 if no true value is known.
    truth: f64,
    bound: Bound,
    unit: &'static str,
}

impl Figure {
    pub(crate) fn new(
        what: impl Into<String>,
        command: impl Into<String>,
        quantity: Quantity,
        bound: Bound,
    ) -> Figure {
        Figure {
            what: what.into(),
            command: command.into(),
            quantity,
            beside: Beside::Nothing,
            truth: 1.0,
            bound,
            unit: "",
        }
    }

    /// Sets the unit of the figure, which begins with a space.
    pub(crate) fn unit(self, unit: &'static str) -> Figure {
        Figure { unit, ..self }
    }

    /// Divides the quantity by the same quantity of another command.
    pub(crate) fn over(self, other: impl Into<String>) -> Figure {
        let beside = Beside::Over(other.into());
        Figure { beside, ..self }
    }

    /// Divides the quantity by the same quantity of the command `other`, and by the ratio of two
    /// further commands.
    pub(crate) fn over_as_well(self, other: &str, [theirs, their_other]: [&str; 2]) -> Figure {
        let beside = Beside::OverAsWell([other, theirs, their_other].map(str::to_owned));
        Figure { beside, ..self }
    }

    /// Subtracts the quantity of another command.
    pub(crate) fn less(self, other: impl Into<String>) -> Figure {
        let beside = Beside::Less(other.into());
        Figure { beside, ..self }
    }

    /// Divides the quantity by its known true value.
    pub(crate) fn over_truth(self, truth: f64) -> Figure {
        Figure { truth, ..self }
    }

    fn commands(&self) -> impl Iterator<Item = &String> {
        let others = match &self.beside {
            Beside::Nothing => &[],
            Beside::Over(other) | Beside::Less(other) => std::slice::from_ref(other),
            Beside::OverAsWell(others) => &others[..],
        };
        std::iter::once(&self.command).chain(others)
    }

    /// Returns the value of the figure in one round; an error if it was not measured.
    fn value(&self, round: &Round<'_>) -> Result<f64, String> {
        let read = |command: &String| {
            let run = round[command].as_ref().map_err(String::clone)?;
            let value = self.quantity.read(run);
            value.ok_or_else(|| format!("{command}: not measured: {}", missing_reason(run)))
        };
        let own = read(&self.command)?;
        let compared = match &self.beside {
            Beside::Nothing => own,
            Beside::Over(other) => own / read(other)?,
            Beside::Less(other) => own - read(other)?,
            Beside::OverAsWell([other, theirs, their_other]) => {
                own / read(other)? / (read(theirs)? / read(their_other)?)
            }
        };
        Ok(compared / self.truth)
    }

    /// Returns the medians of both commands of a ratio as text; empty for other figures.
    fn sides(&self, rounds: &[Round<'_>]) -> String {
        let Beside::Over(other) = &self.beside else {
            return String::new();
        };
        let side = |command: &String| {
            let runs = rounds
                .iter()
                .filter_map(|round| round[command].as_ref().ok());
            let values: Vec<f64> = runs.filter_map(|run| self.quantity.read(run)).collect();
            Spread::new(&values).map(|spread| format!("{spread}{}", self.unit))
        };
        let sides = side(&self.command).zip(side(other));
        sides.map_or_else(String::new, |(own, other)| format!("; {own} over {other}"))
    }

    fn row(&self, rounds: &[Round<'_>]) -> Row {
        let (mut values, mut failure) = (Vec::new(), None);
        for round in rounds {
            match self.value(round) {
                Ok(value) => values.push(value),
                Err(why) => failure = Some(why),
            }
        }
        let unit = match self.beside {
            Beside::Nothing | Beside::Less(_) if self.truth == 1.0 => self.unit,
            _ => "",
        };
        let found = match Spread::new(&values) {
            None => Err(failure.unwrap_or_else(|| "no round".to_owned())),
            Some(spread) => {
                let deviation = match self.bound {
                    Bound::Repeats(_) => {
                        format!("{:.2} %; ", spread.largest_deviation_percent())
                    }
                    _ => String::new(),
                };
                let count = match &failure {
                    None => format!("{} rounds", rounds.len()),
                    Some(why) => format!("{} of {} rounds: {why}", values.len(), rounds.len()),
                };
                let sides = self.sides(rounds);
                let is_met = self.bound.is_met(&spread).filter(|_| failure.is_none());
                Ok((format!("{deviation}{spread}{unit}{sides}; {count}"), is_met))
            }
        };
        let commands: Vec<&str> = self.commands().map(String::as_str).collect();
        Row::new(
            &self.what,
            self.bound.text(unit),
            commands.join(" | "),
            found,
        )
    }
}

/// Returns the reason that a run gives for a missing result.
fn missing_reason(run: &Run) -> String {
    match run.json["results"][0]["why"].as_str() {
        Some(why) => why.to_owned(),
        None => run.errors.trim().to_owned(),
    }
}

/// Runs of one round, by command.
type Round<'a> = HashMap<&'a String, Result<Run, String>>;

/// A table of figures, with the commands that run before them.
pub(crate) struct Table {
    /// Commands that run once, before the commands of the figures.
    pub(crate) setup: Vec<&'static str>,
    pub(crate) rounds: usize,
    pub(crate) figures: Vec<Figure>,
}

impl Table {
    /// Runs the commands of all figures interleaved, and returns a row for each figure.
    pub(crate) fn measure(&self, shell: &Shell) -> Vec<Row> {
        let ready = self
            .setup
            .iter()
            .try_for_each(|line| shell.run(line).map(drop));
        if let Err(why) = ready {
            let failed = |figure: &Figure| {
                let must_reach = figure.bound.text(figure.unit);
                Row::new(&figure.what, must_reach, &figure.command, Err(why.clone()))
            };
            return self.figures.iter().map(failed).collect();
        }
        let mut commands: Vec<&String> = self.figures.iter().flat_map(Figure::commands).collect();
        commands.sort();
        commands.dedup();
        let mut dice = ChaCha8Rng::seed_from_u64(SEED);
        let mut rounds: Vec<Round<'_>> = Vec::new();
        let mut progress = Progress::new("rounds", self.rounds);
        for _ in 0..self.rounds {
            commands.shuffle(&mut dice);
            let run = |command: &&'_ String| shell.run(command);
            let outcomes: Vec<_> = commands.iter().map(run).collect();
            rounds.push(commands.iter().copied().zip(outcomes).collect());
            progress.advance();
        }
        self.figures
            .iter()
            .map(|figure| figure.row(&rounds))
            .collect()
    }
}

/// Counts the trials for which `trial` returns true, and compares the count with a bound. A failed
/// trial is reported, and the bound is then not judged.
pub(crate) fn count_trials(
    what: impl Into<String>,
    count: usize,
    bound: Bound,
    command: impl Into<String>,
    mut trial: impl FnMut(usize) -> Result<bool, String>,
) -> Row {
    let (mut called, mut failures) = (0, Vec::new());
    let mut progress = Progress::new("trials", count);
    for index in 0..count {
        match trial(index) {
            Ok(is_called) => called += usize::from(is_called),
            Err(why) => failures.push(why),
        }
        progress.advance();
    }
    let measured = count - failures.len();
    let found = match failures.into_iter().next() {
        Some(why) => (format!("{called} of {measured}; {why}"), None),
        None => {
            let value = called as f64;
            let all = Spread {
                low: value,
                median: value,
                high: value,
            };
            (format!("{called} of {count}"), bound.is_met(&all))
        }
    };
    Row::new(what, bound.text(""), command, Ok(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(figures: Vec<Figure>, setup: Vec<&'static str>) -> Vec<(String, Option<bool>)> {
        let folder = tempfile::tempdir().expect("a folder");
        let shell = Shell::new(folder.path()).expect("a folder");
        let table = Table {
            setup,
            rounds: 3,
            figures,
        };
        let row = |row: Row| (row.measured, row.is_met);
        table.measure(&shell).into_iter().map(row).collect()
    }

    fn printed(number: &str, bound: Bound) -> Figure {
        Figure::new(
            "what",
            format!("echo {number}"),
            Quantity::Number(""),
            bound,
        )
    }

    #[test]
    fn a_figure_is_compared_and_judged_by_its_bound() {
        let found = rows(
            vec![
                printed("6", Bound::AtMost(5.0)).unit(" ns"),
                printed("6", Bound::AtLeast(2.0)).over("echo 3"),
                printed("6", Bound::Shown).less("echo 4"),
                printed("6", Bound::EachNearOne(1.0)).over_truth(6.0),
                printed("6", Bound::NearOne(1.0)).over_as_well("echo 3", ["echo 8", "echo 4"]),
                printed("nothing", Bound::AtMost(1.0)),
            ],
            vec![],
        );
        let text = |values: &str, rest: &str| format!("{values}{rest}; 3 rounds");
        assert_eq!(
            found[..5],
            [
                (text("6.000 (6.000 to 6.000) ns", ""), Some(false)),
                (
                    text(
                        "2.000 (2.000 to 2.000)",
                        "; 6.000 (6.000 to 6.000) over 3.000 (3.000 to 3.000)"
                    ),
                    Some(true)
                ),
                (text("2.000 (2.000 to 2.000)", ""), None),
                (text("1.000 (1.000 to 1.000)", ""), Some(true)),
                (text("1.000 (1.000 to 1.000)", ""), Some(true)),
            ]
        );
        assert!(
            found[5].0.contains("not measured") && found[5].1.is_none(),
            "{found:?}"
        );
    }

    #[test]
    fn a_command_finds_an_empty_folder_and_what_was_set_up() {
        let counted = Figure::new(
            "files",
            "touch $out/new; ls $out | wc -l; cat made",
            Quantity::Number(""),
            Bound::Repeats(1.0),
        );
        let found = rows(vec![counted], vec!["printf '' > made"]);
        assert_eq!(found[0].0, "0.00 %; 1.000 (1.000 to 1.000); 3 rounds");
        let failed = rows(vec![printed("1", Bound::Shown)], vec!["exit 9"]);
        assert!(failed[0].0.contains("exit 9"), "{failed:?}");
    }

    #[test]
    fn trials_are_judged_if_all_of_them_were_measured() {
        let row = count_trials("", 4, Bound::AtMost(2.0), "", |trial| Ok(trial % 2 == 0));
        assert_eq!((&row.measured[..], row.is_met), ("2 of 4", Some(true)));
        let row = count_trials("", 2, Bound::AtMost(2.0), "", |_| Err("why".to_owned()));
        assert_eq!((&row.measured[..], row.is_met), ("0 of 0; why", None));
    }
}
