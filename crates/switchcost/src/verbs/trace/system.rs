//! Runs programs in one or several virtual machines, and keeps the traces, which include the
//! kernels.

mod live;
mod trials;

use std::fs;
use std::io::Write;
use std::path::Path;

use switchcost_capture::{CaptureError, Command, Ending, GuestSummary, System};
use switchcost_record::Readers;
use switchcost_report::trace::describe_written;
use switchcost_trace::{Guest, Recorder, TraceHeader, TraceOrder};

use super::capture::{capture_failure, commands, creation_failure, failed, new_file, words};
use crate::cli::Redaction;
use crate::cli::system::GuestArguments;
use crate::cli::trace::TraceArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::say;
use crate::redact;
use crate::runs::Place;
use crate::signals::Interrupt;
pub(crate) use live::LiveGuest;
use trials::Trial;

pub(super) fn run(arguments: &TraceArguments) -> Outcome<Exit> {
    let commands = commands(&arguments.capture)?;
    let place = Place::choose(arguments.output.as_deref(), kinds::TRACE)?;
    let trials = trials::plan_trials(arguments, &place).map_err(CaptureError::from)?;
    refuse_taken(&trials)?;
    let interrupt = Interrupt::watch()?;
    let mut exit = Exit::Success;
    for trial in &trials {
        let ended = trace(&commands, trial, arguments.redaction, &interrupt)?;
        exit = if exit == Exit::Success { ended } else { exit };
        if interrupt.is_raised() {
            break;
        }
    }
    Ok(exit)
}

/// Traces the part of a guest's run that its programs delimit themselves.
pub(super) fn between_stops(
    commands: &[Command],
    arguments: &GuestArguments,
    redaction: Redaction,
    path: &Path,
) -> Outcome<Exit> {
    let system = trials::between_stops(arguments).map_err(CaptureError::from)?;
    let place = Place {
        path: path.to_owned(),
        readers: Readers::AsUsual,
    };
    let trial = Trial { system, place };
    refuse_taken(std::slice::from_ref(&trial))?;
    let interrupt = Interrupt::watch()?;
    trace(commands, &trial, redaction, &interrupt)
}

/// Returns an error if a trace already exists or is named twice, before a guest boots.
fn refuse_taken(trials: &[Trial]) -> Outcome {
    let is_twice = |place: usize| {
        trials[..place]
            .iter()
            .any(|other| other.place.path == trials[place].place.path)
    };
    let taken =
        (0..trials.len()).find(|&place| trials[place].place.path.exists() || is_twice(place));
    taken.map_or(Ok(()), |place| {
        Err(Failure::taken(&trials[place].place.path))
    })
}

fn trace(
    commands: &[Command],
    Trial { system, place }: &Trial,
    Redaction {
        redact: is_redacted,
    }: Redaction,
    interrupt: &Interrupt,
) -> Outcome<Exit> {
    let path = &place.path;
    let recorder = Recorder::create(
        new_file(path, place.readers)?,
        &redact::trace(header(commands, system), is_redacted),
    )
    .map_err(|source| creation_failure(path, source))?;
    let captured = capture(commands, system, interrupt, path, recorder);
    // An incomplete trace of a failed guest is useless, and would occupy the name.
    let (summary, bytes) = captured.inspect_err(|_| drop(fs::remove_file(path)))?;
    let names: Vec<String> = commands
        .iter()
        .map(|command| redact::shown(words(command), is_redacted).join(" "))
        .collect();
    report(&names, &summary, bytes, path);
    Ok(exit(&summary))
}

fn capture(
    commands: &[Command],
    system: &System,
    interrupt: &Interrupt,
    path: &Path,
    mut recorder: Recorder<fs::File>,
) -> Outcome<(GuestSummary, u64)> {
    let summary =
        switchcost_capture::record_system(commands, system, interrupt.flag(), &mut recorder)
            .map_err(|failure| capture_failure(failure, |source| failed(path, source)))?;
    recorder.name_symbols(summary.symbols.clone());
    let (_, written) = recorder.finish().map_err(|source| failed(path, source))?;
    if written.instructions == 0 {
        // The run was interrupted while the guest booted.
        let _ = fs::remove_file(path);
    }
    Ok((summary, written.bytes))
}

fn report(names: &[String], summary: &GuestSummary, bytes: u64, path: &Path) {
    for output in &summary.outputs {
        // A reader that has closed the output needs no more of it.
        let _ = std::io::stdout().write_all(output);
    }
    for warning in &summary.warnings {
        say!("{warning}");
    }
    for (name, status) in names
        .iter()
        .zip(&summary.statuses)
        .filter(|(_, status)| !status.success())
    {
        say!("'{name}' ended with {status}");
    }
    let is_interrupted = summary.ending == Ending::Interrupted;
    if is_interrupted && summary.instructions == 0 {
        say!("interrupted before the programs began; nothing was captured");
        return;
    }
    if is_interrupted {
        say!("interrupted before the commands ended");
    }
    say!(
        "{}",
        describe_written(
            path,
            summary.instructions,
            None,
            Some(summary.switches),
            Some(bytes)
        )
    );
}

fn exit(summary: &GuestSummary) -> Exit {
    let failed = summary
        .statuses
        .iter()
        .find_map(|status| Exit::command_failure(*status));
    let own = if summary.warnings.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    };
    failed.unwrap_or(own)
}

/// Returns the header of a guest's trace. It has no quantum, because the guest's own scheduler
/// determines the time slices.
fn header(commands: &[Command], system: &System) -> TraceHeader {
    let kernel = system
        .kernel
        .image
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let guest = Guest {
        kernel,
        command_line: system.command_line(),
        slice_ns: system
            .slice
            .map(|slice| u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX)),
        instructions_per_second: system.instructions_per_second(),
    };
    TraceHeader {
        commands: commands.iter().map(words).collect(),
        guest: Some(guest),
        ..TraceHeader::new("qemu", TraceOrder::AsRun, std::env::consts::ARCH)
    }
}
