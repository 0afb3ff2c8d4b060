//! The command line: one definition, from which help, completions and manual page are made.

pub(crate) mod ab;
pub(crate) mod compare;
pub(crate) mod inject;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod observe;
pub(crate) mod outputs;
pub(crate) mod parts;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod runtimes;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod system;
pub(crate) mod trace;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};
use strum::IntoEnumIterator;
use switchcost_record::printable;
use switchcost_report::Format;
use switchcost_report::observe::By;

const EXIT_CODES: &str = "\
Exit codes:
  0    done; for doctor: fit
  1    an error; the message says what, and what to do
  2    the command line is wrong, asks for something that does not exist here, or names a record or
       trace to be made that is there already, or one file for two outputs; or a design cannot be
       built
  3    done, with reservations: a result could not be measured; for doctor: usable with caveats
  4    doctor: unfit
  5    a record or trace cannot be read, or is damaged
  6    compare, ab: a cost is shown to have grown by more than --fail-above allows
  N    observe, trace, simulate live: that of the command, where it failed (128 and the signal that
       killed it)
  130  stopped by Ctrl-C (129: by SIGHUP, 131: by SIGQUIT, 143: by SIGTERM, 152: by ulimit -t); what
       was measured is in the record";

/// Commands `switchcost-NAME` of the package for Python.
const PYTHON_COMMANDS: [&str; 2] = ["sweep", "fleet"];

/// What a context switch costs: direct and indirect, with error bars, and why
#[derive(Debug, Parser)]
#[command(name = "switchcost", version, max_term_width = 100, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// Reads the command line. What stands in its place (help, a mistake) shows its words as a terminal may have them.
    pub(crate) fn read() -> Result<Cli, clap::Error> {
        Cli::of(std::env::args_os().collect())
    }

    fn of(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        // The same mistake, made with words that can be shown.
        let of_shown = || Cli::try_parse_from(words.iter().map(|word| shown(word))).err();
        Cli::try_parse_from(&words)
            .map_err(|mistake| name_python_command(of_shown().unwrap_or(mistake)))
    }
}

/// Adds to an unknown verb that Python's package has a command of this name.
fn name_python_command(mut mistake: clap::Error) -> clap::Error {
    let verb = match mistake.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(verb)) if PYTHON_COMMANDS.contains(&verb.as_str()) => verb,
        _ => return mistake,
    };
    let tip = format!("switchcost-{verb} does that; pip install 'switchcost[arrow]'");
    let tip = ContextValue::StyledStrs(vec![tip.into()]);
    mistake.remove(ContextKind::SuggestedSubcommand);
    mistake.insert(ContextKind::Suggested, tip);
    mistake
}

/// A word of the command line without what commands a terminal. What is no text stays: it is for clap to refuse.
fn shown(word: &OsStr) -> OsString {
    let mut bytes = Vec::with_capacity(word.len());
    for chunk in word.as_bytes().utf8_chunks() {
        bytes.extend_from_slice(printable(chunk.valid()).as_bytes());
        bytes.extend_from_slice(chunk.invalid());
    }
    OsString::from_vec(bytes)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure what a context switch costs on this machine
    Measure(Box<measure::MeasureArguments>),
    /// Measure what a hand-off between goroutines, tasks, virtual threads and the like costs, beside the kernel's threads
    Runtimes(runtimes::RuntimesArguments),
    /// Observe live programs: what switching costs them, why they switch, and what takes the CPU from them
    Observe(Box<observe::ObserveArguments>),
    /// Measure what one preemption costs a program that is not changed
    Inject(Box<inject::InjectArguments>),
    /// Print the report of measure, observe, inject or simulate again, from its record
    Report(report::ReportArguments),
    /// Compare records: faster, slower, or no difference shown
    Compare(Box<compare::CompareArguments>),
    /// Measure two set-ups in turns, undo them, and compare: does a setting, a wrapper or a tracer make a switch dearer?
    Ab(Box<ab::AbArguments>),
    /// Check whether this machine is fit to measure, and how to make it so
    Doctor(DoctorArguments),
    /// Trace every address that programs touch, with every switch between them
    Trace(Box<trace::TraceArguments>),
    /// Simulate caches on a trace: what each switch costs in cycles, and why
    Simulate(Box<simulate::SimulateArguments>),
    /// Trace and simulate the programs of Mogul and Borg 1990
    Workload(Box<simulate::WorkloadArguments>),
    /// Repeat the papers' figures and tables here, beside the published values
    Reproduce(reproduce::ReproduceArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man(man::ManArguments),
    /// Print the JSON Schema of a JSON output or file
    Schema(schema::SchemaArguments),
}

/// How a result is written, the same for every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArguments {
    /// How to write the result
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Table, value_parser = parse_named::<Format>,
          help_heading = "Output")]
    pub(crate) format: Format,

    /// Write the result to FILE instead of stdout, once it is complete; a device or FIFO is written to directly
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

impl OutputArguments {
    /// Whether the result is not for a person at the terminal.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.format != Format::Table || self.out.is_some()
    }
}

/// What is listed of an observation.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Rows {
    /// Rows of the first table of an observation: program, or control-group
    #[arg(long, value_name = "WHAT", default_value_t = By::Program, value_parser = parse_named::<By>, help_heading = "Output")]
    pub(crate) by: By,
}

/// Files for tools that show stacks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Stacks {
    /// Write what was observed to FILE as folded stacks for flame graphs: the task's name, why it left its CPU, where, and for how long, in
    /// nanoseconds; or with observe --stacks the sampled stacks of the program, and how many switches they represent
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) folded: Option<PathBuf>,

    /// Write the same to FILE as a profile for pprof: switches, time off the CPU, wait for a CPU, and direct cost
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) pprof: Option<PathBuf>,
}

/// What is recorded of commands and of the machine.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Redaction {
    /// Leave arguments of commands, the host name and the kernel's command line out of the record and of everything made from it
    #[arg(long, help_heading = "Output")]
    pub(crate) redact: bool,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Verbosity {
    /// Print everything instead of one screen
    #[arg(long, help_heading = "Output")]
    pub(crate) details: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  switchcost doctor                  one screen: found, wanted, fix, lasting fix
  switchcost doctor --format json    for programs

Exit codes: 0 fit, 3 usable with caveats, 4 unfit.";

/// Says in one screen whether this machine is fit to measure, and how to make it so. Changes nothing.
#[derive(Clone, Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

/// Prints a completion script for a shell.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  switchcost completions bash > ~/.local/share/bash-completion/completions/switchcost"
)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Parses a name of a closed list, and says the whole list where it is another.
fn parse_named<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr + IntoEnumIterator + std::fmt::Display,
{
    text.trim().parse().map_err(|_| {
        let names: Vec<String> = T::iter().map(|name| name.to_string()).collect();
        format!("need one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_design_of_an_example_exists() {
        fn texts(command: &clap::Command) -> Vec<String> {
            let own = command.get_after_help().map(ToString::to_string);
            own.into_iter()
                .chain(command.get_subcommands().flat_map(texts))
                .collect()
        }
        let texts = texts(&Cli::command()).join("\n");
        let named = || {
            texts
                .split("--design ")
                .skip(1)
                .filter_map(|rest| rest.split_whitespace().next())
        };
        assert!(named().count() > 5, "{texts}");
        for name in named().flat_map(|names| names.split(',')) {
            let is_known = ["host", "list"].contains(&name) || name.ends_with(".toml");
            assert!(
                is_known || switchcost_design::shipped::find(name).is_some(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_mistake_is_reported_with_words_that_can_be_shown() {
        for (words, reported) in [
            (
                &["report", "--\u{1b}[2J"][..],
                "unexpected argument '--\\u{1b}[2J' found",
            ),
            (&["\u{202e}nam"], "unrecognized subcommand '\\u{202e}nam'"),
            (
                &["report", "r", "--format", "a\nerror: b"],
                "invalid value 'a\\nerror: b' for '--format <FORMAT>'",
            ),
            (
                &["measure", "--size", "\u{9b}2J"],
                "found '\\u{9b}2J', need a size",
            ),
            (
                &["report", "a", "--format", "json", "-o", "\u{7}", "\u{7}"],
                "cannot be used with",
            ),
        ] {
            let words = std::iter::once("switchcost")
                .chain(words.iter().copied())
                .map(OsString::from)
                .collect();
            let answer = Cli::of(words).expect_err("a mistake").to_string();
            assert!(answer.contains(reported), "{answer}");
            let lines = answer.lines().collect::<Vec<_>>();
            assert!(
                lines.len() > 2 && lines.iter().all(|line| printable(line) == *line),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn a_command_of_the_python_package_is_named_for_its_verb() {
        for verb in PYTHON_COMMANDS {
            let words = ["switchcost", verb, "plan.toml"].map(OsString::from);
            let answer = Cli::of(words.to_vec()).expect_err("no verb").to_string();
            let tip = format!("tip: switchcost-{verb} does that; pip install 'switchcost[arrow]'");
            assert!(answer.contains(&tip), "{answer}");
        }
    }

    #[test]
    fn what_is_no_text_is_shown_without_commands_to_the_terminal() {
        let word = OsString::from_vec(b"\x1b[2J\xff\n".to_vec());
        assert_eq!(shown(&word).as_bytes(), b"\\u{1b}[2J\xff\\n");
    }
}
