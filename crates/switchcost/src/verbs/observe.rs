//! `switchcost observe`: finds the cost of a switch, observes, records and reports.

mod calibrated;
mod endpoint;
mod events;
mod functions;
mod kept;
mod known;
mod lines;
mod live;
mod matching;
mod views;

use std::path::Path;

use switchcost_facts::Root;
use switchcost_host::machine::manifest_at_once;
use switchcost_observe::{
    CallTracing, Command, ObserveError, Observer, Options, Requests, Streams, Target, Task,
};
use switchcost_record::observation::Observation;
use switchcost_report::Format;
use time::OffsetDateTime;

use super::report::{Loaded, StackFiles, show_loaded, show_text};
use crate::cli::observe::ObserveArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::say;
use crate::output::Output;
use crate::redact;
use crate::runs::{self, Place};
use crate::signals::Interrupt;
use events::Events;
use kept::Kept;
use views::Views;

pub(crate) fn run(arguments: &ObserveArguments) -> Outcome<Exit> {
    if arguments.live {
        live::check_terminal()?;
    }
    if arguments.every.is_some() && matches!(arguments.form.format(), Format::Json | Format::Csv) {
        return Err(Failure::usage(format!(
            "--every prints lines of JSON, not --format {}; leave out --format, or write --format jsonl",
            arguments.form.format()
        )));
    }
    let output = claim_output(arguments)?;
    let stacks = StackFiles::claim(&[], &arguments.stacks)?;
    let trace = arguments
        .events
        .as_deref()
        .map(|path| Output::claim(Some(path)))
        .transpose()?;
    switchcost_host::own_proc::check().map_err(Failure::foreign_proc)?;
    // Every source of counts finds tasks there. Without it a command would seem not to switch.
    if !Path::new("/proc/self").exists() {
        return Err(Failure::broken(
            "cannot look at processes: /proc is not mounted; mount it with mount -t proc proc /proc",
        ));
    }
    check_visible(!arguments.comm.is_empty())?;
    let target = target(arguments).or_else(|why| check_visible(true).and(Err(why)))?;
    let host = manifest_at_once(&Root::system());
    let interrupt = Interrupt::watch_to_the_end()?;
    let calibration = interrupt.prepare(|| calibrated::find(&host, arguments, &interrupt))?;
    let now = OffsetDateTime::now_utc();
    let mut kept = Kept::claim(Place::choose(
        arguments.record.as_deref(),
        kinds::OBSERVATION,
    )?)?;
    let program = env!("CARGO_PKG_VERSION").to_owned();
    let host = redact::host(host, arguments.redaction.redact);
    let empty = Observation {
        program,
        calibration,
        ..Observation::empty(host, runs::stamp(now))
    };
    let costs = empty
        .calibration
        .as_ref()
        .and_then(switchcost_analysis::observation::DirectCosts::new);
    let ((mut observation, failed), traced) = match trace {
        None => (
            observe(arguments, target, empty, &interrupt, &mut kept, None)?,
            Ok(()),
        ),
        Some(trace) => events::written(trace, costs, |events| {
            observe(
                arguments,
                target,
                empty,
                &interrupt,
                &mut kept,
                Some(events),
            )
        })?,
    };
    let mut recorded = kept.write(&observation);
    if recorded.is_ok() {
        interrupt.end_in_time("stopped before the report; the record is complete")?;
    }
    // Reading the symbols of large programs takes seconds.
    if let Some(stacks) = &mut observation.stacks {
        functions::name(stacks);
        recorded = kept.write(&observation);
    }
    if let Err(error) = recorded {
        // The observation is lost when this process ends, so it is shown before the error.
        show_unrecorded(arguments, observation, output, stacks)?;
        return Err(error.into());
    }
    // The report reads the record again, because an observation of thousands of processes takes
    // much memory.
    drop(observation);
    let exit = show(arguments, kept.path(), output, stacks)?;
    traced.and(failed).map(|failed| failed.unwrap_or(exit))
}

/// Observes, and returns the observation with the exit code of a failed command (`None` if no
/// command failed), or with the error of a line of `--every`.
fn observe(
    arguments: &ObserveArguments,
    target: Target,
    empty: Observation,
    interrupt: &Interrupt,
    kept: &mut Kept,
    events: Option<&mut Events<'_>>,
) -> Outcome<(Observation, Outcome<Option<Exit>>)> {
    let options = Options {
        wants_wakers: arguments.wakers,
        wants_events: events.is_some(),
        wants_scheduler_time: arguments.scheduler_time,
        counts_only: arguments.counts_only,
        calls: call_tracing(arguments),
        stacks_per_second: arguments.stacks_per_second,
        without_bpf: arguments.no_bpf,
    };
    let mut views = Views::open(
        arguments,
        announcement(arguments, &target),
        interrupt,
        kept,
        events,
    )?;
    let observer = interrupt.prepare(|| Observer::start(empty, options));
    if let Some(reason) = observer
        .bpf_unavailable_because()
        .filter(|_| !arguments.no_bpf)
    {
        report_missing_bpf(arguments, reason)?;
    }
    let finds_by_proc = observer.bpf_unavailable_because().is_some();
    check_visible(finds_by_proc && (arguments.all || arguments.cgroup.is_some()))?;
    let task = Task {
        companion: companion(arguments, &target),
        target,
        duration: arguments.duration,
        is_endless: is_endless(arguments),
        wants_scheduler_time: arguments.scheduler_time,
        requests: requests(arguments),
    };
    let mut observation = switchcost_observe::observe(observer, task, &Root::system(), &mut views)?;
    let written = views.end(&observation);
    observation.known = known::find(&observation, views.seen);
    Ok((observation, written.map(|()| views.failed)))
}

/// Fails if all processes are needed, but /proc does not show them. Every PID namespace has a
/// process 1.
fn check_visible(is_needed: bool) -> Outcome<()> {
    if !is_needed || std::fs::read("/proc/1/stat").is_ok() {
        return Ok(());
    }
    Err(Failure::broken(
        "cannot look at processes: /proc hides those of other users (hidepid); run it as root, or name your own with -p",
    ))
}

fn target(arguments: &ObserveArguments) -> Outcome<Target> {
    let root = Root::system();
    let found = if let Some(name) = &arguments.cgroup {
        Target::group(&root, name)
    } else if !arguments.comm.is_empty() {
        Target::named(&root, &arguments.comm)
    } else if arguments.all {
        return Ok(Target::All);
    } else if arguments.pid.is_empty() {
        return Ok(Target::Command(command(arguments)));
    } else {
        Target::processes(
            &root,
            deduplicate(
                arguments
                    .pid
                    .iter()
                    .flat_map(|processes| processes.0.iter().copied()),
            ),
        )
    };
    found.map_err(|why| ObserveError::from(why).into())
}

/// Opens the output of the report: stderr for a report on a command that itself uses stdout.
fn claim_output(arguments: &ObserveArguments) -> Outcome<Output> {
    if keeps_output(arguments) && arguments.form.output.is_none() {
        return Ok(Output::STDERR);
    }
    Output::claim(arguments.form.output.as_deref())
}

/// Returns true if the command uses stdout itself, so that the report goes elsewhere.
/// Machine-readable output goes to stdout unless a file is named.
fn keeps_output(arguments: &ObserveArguments) -> bool {
    let form = &arguments.form;
    let is_table = form.format() == Format::Table && !form.is_page() && arguments.every.is_none();
    !arguments.command.is_empty() && (is_table || arguments.form.output.is_some())
}

/// Returns the command that runs while another target is observed; `None` if the command itself is
/// the target, or there is none.
fn companion(arguments: &ObserveArguments, target: &Target) -> Option<Command> {
    let is_target = matches!(target, Target::Command(_));
    (!is_target && !arguments.command.is_empty()).then(|| command(arguments))
}

fn command(arguments: &ObserveArguments) -> Command {
    let words = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = redact::shown(words, arguments.redaction.redact);
    let streams = if arguments.live {
        Streams::Nowhere
    } else if keeps_output(arguments) {
        Streams::Ours
    } else {
        Streams::OutputToError
    };
    Command::new(arguments.command.clone(), streams).shown_as(shown)
}

/// Returns true if an observation without `--duration` lasts until it is stopped, or until its
/// target ends.
fn is_endless(arguments: &ObserveArguments) -> bool {
    arguments.listen.is_some() || arguments.live || arguments.every.is_some()
}

/// Returns the notice at the start of an observation: its target and its duration.
fn announcement(arguments: &ObserveArguments, target: &Target) -> String {
    let usual = target.usual_duration().filter(|_| !is_endless(arguments));
    let end = match (target, arguments.duration.or(usual)) {
        (_, Some(duration)) => format!("for {duration}"),
        (target, None) if companion(arguments, target).is_some() => {
            format!("while {} runs", first_word(arguments))
        }
        (Target::Command(_), None) => "until it ends".to_owned(),
        (Target::Processes(_), None) => "until the last ends, or Ctrl-C".to_owned(),
        (Target::Group(_) | Target::All, None) => "until Ctrl-C".to_owned(),
    };
    format!("observing {} {end}", named(arguments, target))
}

fn named(arguments: &ObserveArguments, target: &Target) -> String {
    match target {
        Target::Command(_) => first_word(arguments),
        Target::Processes(processes) => match processes.numbers().as_slice() {
            [one] => format!("process {one}"),
            several if arguments.comm.is_empty() => format!("{} processes", several.len()),
            several => format!(
                "{} processes of {}",
                several.len(),
                arguments.comm.join(", ")
            ),
        },
        Target::Group(_) => format!(
            "control group {}",
            arguments.cgroup.as_deref().unwrap_or_default()
        ),
        Target::All => "all tasks".to_owned(),
    }
}

fn first_word(arguments: &ObserveArguments) -> String {
    let word = arguments.command.first();
    word.map_or(String::new(), |word| word.to_string_lossy().into_owned())
}

fn requests(arguments: &ObserveArguments) -> Requests {
    match (&arguments.rate_cmd, arguments.requests) {
        (Some(command), _) => Requests::Counted(command.clone()),
        (None, Some(requests)) => Requests::Known(requests),
        (None, None) => Requests::Unknown,
    }
}

fn call_tracing(arguments: &ObserveArguments) -> CallTracing {
    match arguments.calls {
        Some(length) => CallTracing::Once(length),
        None if arguments.no_calls || arguments.counts_only || arguments.all => CallTracing::Never,
        None => CallTracing::Sampled {
            duration: arguments.duration,
        },
    }
}

/// Prints a notice that BPF is missing; an error if the requested data need BPF.
fn report_missing_bpf(arguments: &ObserveArguments, reason: &str) -> Outcome {
    if arguments.events.is_some() {
        return Err(Failure::broken(format!(
            "switches cannot be traced one by one: {reason}"
        )));
    }
    if arguments.stacks_per_second.is_some()
        || arguments.stacks.folded.is_some()
        || arguments.stacks.pprof.is_some()
    {
        return Err(Failure::usage(reason));
    }
    say!("switches are counted without causes and competing tasks: {reason}");
    Ok(())
}

fn show(
    arguments: &ObserveArguments,
    path: &Path,
    output: Output,
    stacks: StackFiles,
) -> Outcome<Exit> {
    if arguments.verbosity.details || arguments.form.is_elsewhere() {
        say!("record: {}", path.display());
    }
    let loaded = Loaded::read(path)?.group_by(arguments.rows.by);
    if arguments.every.is_some() {
        stacks.write(&loaded)?;
        return Ok(loaded.exit());
    }
    let exit = show_loaded(&loaded, path, &arguments.form, arguments.verbosity, output)?;
    stacks.write(&loaded)?;
    Ok(exit)
}

/// Prints the report on an observation that could not be recorded.
fn show_unrecorded(
    arguments: &ObserveArguments,
    observation: Observation,
    output: Output,
    stacks: StackFiles,
) -> Outcome {
    let loaded = Loaded::observed(observation).group_by(arguments.rows.by);
    show_text(&loaded, &arguments.form, arguments.verbosity, output)?;
    stacks.write(&loaded)
}

/// Returns the numbers without duplicates, in the order of their first occurrence.
fn deduplicate(named: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut seen = std::collections::BTreeSet::new();
    named.filter(|process| seen.insert(*process)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_named_twice_is_one() {
        assert_eq!(deduplicate([9, 7, 9, 9, 7].into_iter()), [9, 7]);
    }
}
