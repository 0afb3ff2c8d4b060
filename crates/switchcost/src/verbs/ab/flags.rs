//! Chooses the flags of `measure` for each run of `ab`.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use switchcost_units::{CpuId, Nanos};

use crate::cli::measure::{MeasureArguments, PlacementFlag, SELECTORS};
use crate::cli::{Cli, Verb};
use crate::exit::{Failure, Outcome};
use crate::messages;
use clap::Parser;

/// Time that a run takes in addition to its budget: to start, inspect the machine, test clocks, and
/// write and read the record.
const OVERHEAD: Nanos = Nanos::millis(400);

/// Usual number of runs of each side. More runs are better than longer ones, because a single run
/// does not show the differences between runs.
const USUAL_RUNS: u32 = 15;

/// Least time for a case: eight repetitions, with their processes.
const LEAST_OF_A_CASE: Nanos = Nanos::millis(600);

/// Presets that have their own time.
const PRESETS: [&str; 3] = ["quick", "full", "lmbench"];

/// Flags that the runs may not have, because `ab` sets their outputs itself.
const NOT_FOR_RUNS: [&str; 6] = ["record", "history", "prices", "format", "output", "details"];

/// Total time of an A/B test, and the least number of runs of each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) budget: Nanos,
    pub(super) runs: u32,
}

/// Flags of `measure` for each run.
#[derive(Clone, Debug)]
pub(super) struct Flags {
    words: Vec<String>,
    budget: Option<Nanos>,
}

impl Flags {
    /// Parses the given flags of `measure`, and adds the flags that one of many runs needs.
    pub(super) fn new(given: &[String], cpu: Option<CpuId>, time: Time) -> Outcome<Flags> {
        let command = ["switchcost", "measure"]
            .into_iter()
            .map(str::to_owned)
            .chain(given.iter().cloned());
        let wrong = |mistake: clap::Error| {
            let (wrong, hint) = messages::explain(&mistake);
            Failure::usage(format!(
                "in the options of measure after --: {wrong}; {hint}"
            ))
        };
        let matches = Cli::command()
            .try_get_matches_from(command.clone())
            .map_err(wrong)?;
        let none = || {
            Failure::usage(
                "there are no options of measure after --; see switchcost measure --help",
            )
        };
        let (_, matches) = matches.subcommand().ok_or_else(none)?;
        let Verb::Measure(arguments) = Cli::try_parse_from(command).map_err(wrong)?.verb else {
            return Err(none());
        };
        if let Some(flag) = NOT_FOR_RUNS
            .into_iter()
            .find(|flag| is_given(matches, flag))
        {
            return Err(Failure::usage(format!(
                "--{flag} is not allowed after --, because ab itself writes the records and the result; write --{flag} before --"
            )));
        }
        Ok(Flags::completed(given, &arguments, matches, cpu, time))
    }

    fn completed(
        given: &[String],
        arguments: &MeasureArguments,
        matches: &ArgMatches,
        cpu: Option<CpuId>,
        time: Time,
    ) -> Flags {
        let has_preset = PRESETS.iter().any(|preset| is_given(matches, preset));
        let mut words = given.to_vec();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        if !has_preset && !SELECTORS.iter().any(|selector| is_given(matches, selector)) {
            add(&["--mechanism", "pipe"]);
        }
        if !arguments.no_counters && !arguments.counters {
            add(&["--no-counters"]);
        }
        let is_on_one =
            arguments.placement == PlacementFlag::One && !arguments.concurrent && !arguments.no_pin;
        if let Some(cpu) = cpu.filter(|_| is_on_one && arguments.cpu.is_none()) {
            add(&["--cpu", &cpu.to_string()]);
        }
        let budget = arguments
            .budget
            .or_else(|| (!has_preset).then(|| run_budget(cases(arguments), time)));
        if let Some(budget) = budget.filter(|_| arguments.budget.is_none()) {
            add(&["--budget", &format!("{}ms", budget.0 / 1_000_000)]);
        }
        Flags { words, budget }
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the budget of a run; `None` if a preset determines it.
    pub(super) fn budget(&self) -> Option<Nanos> {
        self.budget
    }
}

fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Returns the number of cases that the flags select: the product of the lengths of all lists.
fn cases(arguments: &MeasureArguments) -> u64 {
    let lists = [
        arguments.mechanism.len() + arguments.runtime.len(),
        arguments.between.len(),
        arguments.tasks.len(),
        arguments.size.len(),
        arguments.stride.len(),
        arguments.access.len(),
        arguments.away.len(),
    ];
    lists.into_iter().map(|list| list.max(1) as u64).product()
}

fn run_budget(cases: u64, time: Time) -> Nanos {
    let share = Nanos(time.budget.0 / u64::from(2 * time.runs.max(USUAL_RUNS)));
    share
        .saturating_sub(OVERHEAD)
        .max(Nanos(LEAST_OF_A_CASE.0 * cases))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(given: &str, cpu: Option<CpuId>) -> Result<String, String> {
        let given: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
        let time = Time {
            budget: Nanos::seconds(60),
            runs: 5,
        };
        let flags = Flags::new(&given, cpu, time);
        flags
            .map(|flags| flags.words().join(" "))
            .map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn what_is_given_stays_and_the_rest_is_the_pipe_on_one_cpu() {
        let four_cases = "--mechanism futex,pipe --size 0,64KiB --cpu 0 --counters";
        for (given, added) in [
            ("", "--mechanism pipe --no-counters --cpu 1 --budget 1600ms"),
            (
                "--policy other",
                "--mechanism pipe --no-counters --cpu 1 --budget 1600ms",
            ),
            (four_cases, "--budget 2400ms"),
            ("--budget 9s --no-pin", "--mechanism pipe --no-counters"),
            ("--quick --cpu 0", "--no-counters"),
        ] {
            let expected = format!("{given} {added}");
            assert_eq!(
                words(given, Some(CpuId(1))).as_deref(),
                Ok(expected.trim_start())
            );
        }
    }
}
