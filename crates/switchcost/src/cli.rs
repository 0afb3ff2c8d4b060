//! The command line: a single definition from which help, completions and manual page are generated.

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
use std::marker::PhantomData;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator};
use switchcost_record::printable;
use switchcost_report::Format;
use switchcost_report::observe::By;

use crate::exit::{Failure, Outcome};
use crate::home;
use crate::terminal::Color;

const EXIT_CODES: &str = "\
Exit codes:
  0    success; doctor: the machine is fit
  1    an error
  2    the command line cannot be carried out: it is wrong, this machine lacks what it needs, an
       output already exists or is named twice, or a design cannot be built
  3    a result is missing or uncertain; doctor: usable with caveats
  4    doctor: unfit
  5    a record or trace cannot be read, or is damaged
  6    compare, ab: a cost grew significantly and by more than --fail-above
  N    observe, trace, simulate live: exit code of the command, if it failed (128 plus the number of
       the signal that killed it)
  130  stopped by Ctrl-C (129: SIGHUP, 131: SIGQUIT, 143: SIGTERM, 152: CPU time limit); the record
       has all that was measured";

/// Names of commands in the Python package, which are called `switchcost-NAME`.
const PYTHON_COMMANDS: [&str; 2] = ["sweep", "fleet"];

/// What a context switch costs: direct and indirect, with error bars, and why
#[derive(Debug, Parser)]
#[command(name = "switchcost", version, max_term_width = 100, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) talk: Talk,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is printed beside the result, and how: the same for every verb.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Talk {
    /// Print only the result and errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// When to use color and bold type
    #[arg(long, global = true, value_name = "WHEN", default_value_t = Color::Auto, value_parser = Named::<Color>::new(), help_heading = "Output", hide_short_help = true)]
    pub(crate) color: Color,
}

impl Cli {
    /// Parses this process' command line. Help and error messages show words of the command line
    /// without control characters.
    pub(crate) fn read() -> Result<(Cli, ArgMatches), clap::Error> {
        Cli::parse_words(std::env::args_os().collect())
    }

    fn parse_words(words: Vec<OsString>) -> Result<(Cli, ArgMatches), clap::Error> {
        // Parses the words again without control characters, so that the error is safe to print.
        let of_shown = || Cli::try_parse_from(words.iter().map(|word| shown(word))).err();
        let parsed = Cli::command().try_get_matches_from(&words);
        parsed
            .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)))
            .map_err(|mistake| name_python_command(of_shown().unwrap_or(mistake)))
    }
}

/// Adds a hint to the error for an unknown subcommand, if the Python package has a command with
/// this name.
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

/// Escapes terminal control characters in a word of the command line. Bytes that are not UTF-8
/// stay, so that clap rejects the word.
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
    /// Measure switches between goroutines, virtual threads, async tasks and the like
    Runtimes(runtimes::RuntimesArguments),
    /// Observe running programs: what switches cost them, why they switch, and who preempts them
    Observe(Box<observe::ObserveArguments>),
    /// Measure how much one preemption slows an unmodified program down
    Inject(Box<inject::InjectArguments>),
    /// Print the report of an earlier run again, from its record
    Report(report::ReportArguments),
    /// Compare records: faster, slower, or no difference shown
    Compare(Box<compare::CompareArguments>),
    /// A/B test: does a setting, wrapper or tracer make switches more expensive?
    Ab(Box<ab::AbArguments>),
    /// Check whether this machine is fit for measuring, and print fixes for what disturbs it
    Doctor(DoctorArguments),
    /// Trace every address that programs touch, with every switch between them
    Trace(Box<trace::TraceArguments>),
    /// Simulate caches on a trace: what each switch costs in cycles, and why
    Simulate(Box<simulate::SimulateArguments>),
    /// Trace and simulate modern versions of Mogul and Borg's 1990 workloads
    Workload(Box<simulate::WorkloadArguments>),
    /// Re-run the experiments of five published studies, and judge their claims
    Reproduce(reproduce::ReproduceArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man(man::ManArguments),
    /// Print the JSON Schema of a JSON output or file
    Schema(schema::SchemaArguments),
}

impl Verb {
    /// Returns the output arguments of a subcommand that can write an HTML page; `None` for other
    /// subcommands.
    pub(crate) fn page_form(&mut self) -> Option<&mut OutputArguments> {
        match self {
            Verb::Measure(it) => Some(&mut it.form),
            Verb::Runtimes(it) => Some(&mut it.form),
            Verb::Observe(it) => Some(&mut it.form),
            Verb::Inject(it) => Some(&mut it.form),
            Verb::Report(it) => Some(&mut it.form),
            Verb::Compare(it) => Some(&mut it.form),
            Verb::Simulate(it) => Some(&mut it.designs.form),
            Verb::Workload(it) => Some(&mut it.designs.form),
            _ => None,
        }
    }
}

/// Template of a subcommand's help, in which examples precede flags.
const HELP_TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}{after-help}

{all-args}";

/// Returns the first paragraph of the examples for `-h`; `--help` prints all.
fn first_paragraph(text: &'static str) -> &'static str {
    text.split("\n\n").next().unwrap_or_default()
}

/// Output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FormatFlag {
    /// Sentences and tables for people.
    Table,
    /// One JSON object.
    Json,
    /// One JSON object on one line.
    Jsonl,
    /// CSV with a row for each result.
    Csv,
    /// An HTML page with figures.
    Html,
}

/// How a result is written, the same for every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArguments {
    /// Output format; html is a page with figures [default: by the extension of --output, else table]
    #[arg(long, value_name = "FORMAT", value_parser = Named::<FormatFlag>::new(), help_heading = "Output")]
    pub(crate) format: Option<FormatFlag>,

    /// Write the result to FILE instead of stdout
    ///
    /// Without --format, the extension of FILE sets the format. FILE appears once it is complete; a device or FIFO is written to
    /// directly.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Write an HTML page with figures, and open it in the browser
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub(crate) open: bool,
}

impl OutputArguments {
    fn flag(&self) -> FormatFlag {
        let ending = || self.output.as_deref()?.extension()?.to_str()?.parse().ok();
        let usual = if self.open {
            FormatFlag::Html
        } else {
            FormatFlag::Table
        };
        self.format.or_else(ending).unwrap_or(usual)
    }

    /// Returns the path of the page that `--open` requests, and chooses one if no file is named;
    /// `None` without `--open`.
    pub(crate) fn settle_page(&mut self) -> Outcome<Option<PathBuf>> {
        if !self.open {
            return Ok(None);
        }
        if !self.is_page() {
            return Err(Failure::usage(
                "--open needs --format html, but another format is given; leave out one of the two",
            ));
        }
        if self.output.is_none() {
            let folder = home::make_temporary("switchcost-page-").map_err(Failure::folder)?;
            self.output = Some(folder.join("index.html"));
        }
        Ok(self.output.clone())
    }

    /// Returns true unless the result is a table on stdout.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.flag() != FormatFlag::Table || self.output.is_some()
    }

    /// Returns true if the result is an HTML page.
    pub(crate) fn is_page(&self) -> bool {
        self.flag() == FormatFlag::Html
    }

    /// Returns the format of the result; [`Format::Table`] for an HTML page.
    pub(crate) fn format(&self) -> Format {
        match self.flag() {
            FormatFlag::Table | FormatFlag::Html => Format::Table,
            FormatFlag::Json => Format::Json,
            FormatFlag::Jsonl => Format::Jsonl,
            FormatFlag::Csv => Format::Csv,
        }
    }

    /// Returns the format of the result, for a subcommand that has no HTML page; an error if a page
    /// is requested.
    pub(crate) fn format_of_text(&self) -> Outcome<Format> {
        if self.is_page() {
            return Err(Failure::usage(
                "this command makes no HTML page; choose another format: table, json, jsonl or csv",
            ));
        }
        Ok(self.format())
    }
}

/// Restricts `--format` to the formats of a subcommand without an HTML page.
pub(crate) fn exclude_page(format: Arg) -> Arg {
    let names = FormatFlag::iter().filter(|flag| *flag != FormatFlag::Html);
    let names = PossibleValuesParser::new(names.map(|flag| flag.to_string()));
    format
        .help("Output format [default: by the extension of --output, else table]")
        .value_parser(names.try_map(|name| name.parse::<FormatFlag>()))
}

/// What is listed of an observation.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Rows {
    /// Group the first table of an observation by program or by control group
    #[arg(hide_short_help = true, long, value_name = "WHAT", default_value_t = By::Program, value_parser = Named::<By>::new(), help_heading = "Output")]
    pub(crate) by: By,
}

/// Files for tools that show stacks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Stacks {
    /// Write folded stacks to FILE, for flame graphs
    ///
    /// Each line has the task's name, why and where it left the CPU, and for how many nanoseconds.
    /// With observe --stacks, it has a sampled user stack and the number of switches that the sample represents.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub(crate) folded: Option<PathBuf>,

    /// Write a pprof profile to FILE: switches, off-CPU time, run-queue latency, direct cost
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub(crate) pprof: Option<PathBuf>,
}

/// What is recorded of commands and of the machine.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Redaction {
    /// Omit command arguments, the host name and the kernel command line from all output
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub(crate) redact: bool,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Verbosity {
    /// Print the full report instead of one screen
    #[arg(long, help_heading = "Output")]
    pub(crate) details: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  switchcost doctor                  one screen: what disturbs measurements, and fixes
                                     that last until reboot
  switchcost doctor --format json    for programs

Exit codes: 0 fit, 3 usable with caveats, 4 unfit.";

/// Checks whether this machine is fit for measuring, and prints fixes for what disturbs it. Changes nothing.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(DOCTOR_EXAMPLES), after_long_help = DOCTOR_EXAMPLES,
          mut_arg("format", exclude_page), mut_arg("open", |open| open.hide(true)))]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

/// Prints a completion script for a shell.
#[derive(Clone, Debug, Args)]
#[command(
    help_template = HELP_TEMPLATE,
    after_help = "Examples:\n  switchcost completions bash > ~/.local/share/bash-completion/completions/switchcost"
)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

/// Parser for one of a fixed list of names. Help, completions and errors print the list.
struct Named<T>(PhantomData<fn() -> T>);

impl<T> Named<T> {
    fn new() -> Named<T> {
        Named(PhantomData)
    }
}

impl<T> Clone for Named<T> {
    fn clone(&self) -> Self {
        Named::new()
    }
}

impl<T> TypedValueParser for Named<T>
where
    T: FromStr + IntoEnumIterator + ToString + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let trimmed = value.to_str().map_or(value, |text| OsStr::new(text.trim()));
        let names = PossibleValuesParser::new(T::iter().map(|name| name.to_string()));
        let parser = names.try_map(|name| name.parse::<T>().map_err(|_| name));
        parser.parse_ref(command, argument, trimmed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            T::iter().map(|name| PossibleValue::new(name.to_string())),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Adds the help of a command and of its subcommands, by their names.
    fn add_help(mut command: clap::Command, before: &str, pages: &mut Vec<(String, String)>) {
        let name = format!("{before}{}", command.get_name());
        let brief = command.render_help().to_string();
        let text = format!(
            "{brief}\n{}\n{}",
            "=".repeat(100),
            command.render_long_help()
        );
        let is_long = |line: &&str| line.chars().count() > 100;
        assert_eq!(text.lines().find(is_long), None, "{name}");
        assert!(brief.lines().count() <= 60, "{name} -h: {brief}");
        for subcommand in command.get_subcommands() {
            if subcommand.get_name() != "help" {
                add_help(subcommand.clone(), &format!("{name}-"), pages);
            }
        }
        pages.push((name, text));
    }

    #[test]
    fn every_help_text_reads_as_kept() {
        let mut command = Cli::command().term_width(100);
        command.build();
        let mut pages = Vec::new();
        add_help(command, "", &mut pages);
        assert!(pages.len() > 20, "{}", pages.len());
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../tests/it/snapshots/help");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        for (name, text) in pages {
            settings.bind(|| insta::assert_snapshot!(name, text));
        }
    }

    #[test]
    fn prices_refuse_each_option_without_effect() {
        let command = Cli::command();
        let measure = command.find_subcommand("measure").expect("a verb");
        let prices = |option: &Arg| option.get_id() == "prices";
        let prices = measure.get_arguments().find(|it| prices(it)).expect("it");
        let others = measure.get_arguments().map(|it| it.get_id().as_str());
        let refused = measure.get_arg_conflicts_with(prices);
        let is_taken = |id: &&str| !refused.iter().any(|it| it.get_id() == *id);
        let taken: Vec<&str> = others.filter(is_taken).collect();
        assert_eq!(taken, ["prices", "cpu", "budget", "seed"]);
    }

    #[test]
    fn every_design_of_an_example_exists() {
        fn texts(command: &clap::Command) -> Vec<String> {
            let own = command
                .get_after_long_help()
                .or_else(|| command.get_after_help())
                .map(ToString::to_string);
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
                "'\\u{9b}2J' is not a size",
            ),
        ] {
            let words = std::iter::once("switchcost")
                .chain(words.iter().copied())
                .map(OsString::from)
                .collect();
            let answer = Cli::parse_words(words).expect_err("a mistake").to_string();
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
            let answer = Cli::parse_words(words.to_vec())
                .expect_err("no verb")
                .to_string();
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
