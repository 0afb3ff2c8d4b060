//! The `switchcost` program: flags, one file for each subcommand, and exit codes. Only this crate
//! depends on all others.

// The standard print macros panic if the output is closed. `messages` prints to stderr, and
// `output` writes results.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod browser;
mod claims;
mod cli;
mod earlier;
mod exit;
mod home;
mod kinds;
mod messages;
mod output;
mod prices;
mod program_id;
mod progress;
mod records;
mod redact;
mod runs;
mod signals;
mod terminal;
mod verbs;

use std::process::ExitCode;

use clap::ArgMatches;
use signal_hook::consts::SIGXCPU;
use switchcost_host::out_of_memory::ReportingAllocator;
use switchcost_units::Bytes;

use cli::outputs::named_outputs;
use cli::{Cli, Verb};
use exit::{Exit, Failure, Outcome};
use messages::say;

#[global_allocator]
static MEMORY: ReportingAllocator = ReportingAllocator;

/// Starts the program. This function uses little stack, because the stack limit may be low.
fn main() -> ExitCode {
    match switchcost_facts::limits::too_small_stack() {
        None => start(),
        Some(found) => report_small_stack(found),
    }
}

#[inline(never)]
fn report_small_stack(found: Bytes) -> ExitCode {
    messages::report(format_args!(
        "a stack of {found} is too small; raise the limit to 512 KiB or more: prlimit --stack=8388608 --pid $$, or ulimit -s \
         8192 (permanently: stack in /etc/security/limits.d)"
    ));
    Exit::Broken.into()
}

#[inline(never)]
fn start() -> ExitCode {
    // A process that serves a repetition sets up nothing else, because it should do as little as
    // possible.
    if is_first(switchcost_measure::REPETITION_ARGUMENT) {
        return serve(|| {
            switchcost_measure::serve(std::io::stdin().lock(), std::io::stdout().lock())
        });
    }
    if is_first(switchcost_inject::INJECTION_ARGUMENT) {
        return serve(|| switchcost_inject::serve(std::io::stdin().lock(), std::io::stdout()));
    }
    if let Some(words) = words_behind(switchcost_measure::TURNS_ARGUMENT) {
        let json = words.first().map_or("", String::as_str);
        return ended("take turns", switchcost_measure::take_turns(json));
    }
    // Copies of the program are executed through file descriptors, which would hide its name.
    let _ = rustix::thread::set_name(c"switchcost");
    if is_first(switchcost_host::cleanup::CLEANUP_ARGUMENT) {
        let words: Vec<_> = std::env::args_os().skip(2).collect();
        switchcost_host::cleanup_steps::clean_up(&words);
        return ExitCode::SUCCESS;
    }
    if is_first(switchcost_host::setup::KEEPER_ARGUMENT) {
        return keep_setup();
    }
    let outcome = match Cli::read() {
        Ok((cli, matches)) => run(cli, &matches),
        Err(answer) => messages::show(&answer).map(|()| {
            if answer.use_stderr() {
                Exit::Usage
            } else {
                Exit::Success
            }
        }),
    };
    let exit = outcome.unwrap_or_else(|failure| {
        messages::report(&failure);
        failure.exit()
    });
    let exit = signals::told_to_stop().unwrap_or(exit);
    if exit == Exit::Signal(SIGXCPU as u8) {
        messages::report(switchcost_host::cpu_limit::REACHED);
    }
    exit.into()
}

fn is_first(argument: &str) -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == argument)
}

/// Returns the arguments after the first one; `None` unless the first one is `first`.
fn words_behind(first: &str) -> Option<Vec<String>> {
    is_first(first).then(|| {
        std::env::args_os()
            .skip(2)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    })
}

/// Runs the cleanup helper that undoes a set-up. The helper ignores signals, so that the set-up is
/// always undone. Its child processes have the default actions.
fn keep_setup() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(2).collect();
    let kept = signals::outlive().and_then(|()| switchcost_host::setup::keep(&words));
    ended("keep a set-up", kept)
}

/// Does the work of a child process, which is one repetition or one run, and ends with the parent
/// process.
fn serve(one: impl FnOnce() -> std::io::Result<()>) -> ExitCode {
    let parent = std::env::args()
        .nth(2)
        .and_then(|number| number.parse().ok());
    let bound = parent.map_or(Ok(()), switchcost_host::task::end_with);
    ended("serve a repetition", bound.and_then(|()| one()))
}

fn ended<E: std::fmt::Display>(what: &str, outcome: Result<(), E>) -> ExitCode {
    outcome.map_or_else(
        |error| {
            say!("cannot {what}: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn run(mut cli: Cli, matches: &ArgMatches) -> Outcome<Exit> {
    terminal::set_color(cli.talk.color);
    messages::set_quiet(cli.talk.quiet);
    let page = match cli.verb.page_form() {
        Some(form) => form.settle_page()?,
        None => None,
    };
    let exit = run_verb(&cli.verb, matches)?;
    if let Some(page) = page {
        browser::open(&page);
    }
    Ok(exit)
}

fn run_verb(verb: &Verb, matches: &ArgMatches) -> Outcome<Exit> {
    signals::survive_file_size_limit()?;
    switchcost_host::signals::hear_of_children().map_err(Failure::signals)?;
    switchcost_host::cpu_limit::announce_in_time().map_err(Failure::signals)?;
    output::apart::check(&named_outputs(matches))?;
    match verb {
        Verb::Measure(arguments) => verbs::measure::run(arguments),
        Verb::Runtimes(arguments) => verbs::measure::run(&arguments.as_measure()),
        Verb::Observe(arguments) => verbs::observe::run(arguments),
        Verb::Inject(arguments) => verbs::inject::run(arguments),
        Verb::Report(arguments) => verbs::report::run(arguments),
        Verb::Compare(arguments) => verbs::compare::run(arguments),
        Verb::Ab(arguments) => verbs::ab::run(arguments),
        Verb::Doctor(arguments) => verbs::doctor::run(arguments),
        Verb::Trace(arguments) => verbs::trace::run(arguments),
        Verb::Simulate(arguments) => verbs::simulate::run(arguments),
        Verb::Workload(arguments) => verbs::workload::run(arguments),
        Verb::Reproduce(arguments) => verbs::reproduce::run(arguments),
        Verb::Completions(arguments) => verbs::completions::run(arguments),
        Verb::Man(arguments) => verbs::man::run(arguments),
        Verb::Schema(arguments) => verbs::schema::run(arguments),
    }
}
