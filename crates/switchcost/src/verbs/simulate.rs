//! `switchcost simulate`: simulates designs on a trace, or on programs as they run.

mod at_once;
mod designs;
mod ended;
mod orders;
mod part;
mod places;
mod run;
mod skip;
mod trials;
mod user_only;
mod warm_up;

use std::path::Path;

use switchcost_design::result::LIVE;
use switchcost_trace::{Chunk, ReadTraceError, TraceHeader, read_ahead};

use crate::cli::simulate::{DesignArguments, SimulateArguments};
use crate::cli::trace::{CaptureArguments, TURN_SEED};
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;
use crate::output::Output;
use crate::redact;
use crate::runs::Place;
use crate::signals::Interrupt;
use crate::verbs::trace::capture::{Live, NewTrace, Session};
use crate::verbs::trace::look;

use ended::Ended;
use run::Run;
use skip::Skip;

/// Word that stands in place of a design, and asks for the list of built-in designs.
const LIST: &str = "list";

const DEFAULT_INTERVAL: u64 = 10_000;

pub(crate) fn run(arguments: &SimulateArguments) -> Outcome<Exit> {
    if arguments.designs.design.iter().any(|name| name == LIST) {
        Output::claim(arguments.designs.form.output.as_deref())?.write(&designs::list())?;
        return Ok(Exit::Success);
    }
    if arguments.designs.explain {
        let text = designs::explain(&arguments.designs)?;
        Output::claim(arguments.designs.form.output.as_deref())?.write(&text)?;
        return Ok(Exit::Success);
    }
    if arguments.part.warm_up.is_some() && arguments.part.range.is_none() {
        return Err(Failure::usage(
            "--warm-up applies only with --range; add --range, or leave --warm-up out",
        ));
    }
    let source = match &arguments.traces[..] {
        // The word `live` ends the list of traces.
        [] if arguments.capture.command.is_empty() => {
            return Err(Failure::usage(
                "no trace is given; name a file written by switchcost trace, or give a command: switchcost simulate live -- ls",
            ));
        }
        [] => None,
        [source] => Some(source.as_path()),
        several => return trials::run(several, arguments),
    };
    let Some(source) = source else {
        let session = Session::prepare(
            &arguments.capture,
            orders::live_quantum(arguments)?,
            TURN_SEED,
        )?;
        return live(
            session,
            &arguments.designs,
            Stretch {
                interval: DEFAULT_INTERVAL,
                skipped_switches: 0,
            },
            None,
        );
    };
    refuse_capture_flags(&arguments.capture)?;
    if let Some(stretch) = &arguments.part.range {
        return part::run(source, stretch, arguments);
    }
    if let Some(instructions) = arguments.at_once {
        return at_once::run(source, instructions, arguments);
    }
    match orders::wanted(arguments, source)?.as_slice() {
        [] => simulate_file(source, &arguments.designs),
        orders => orders::run(source, orders, &arguments.designs),
    }
}

/// Returns an error if flags for tracing are given, which only live simulations use.
fn refuse_capture_flags(capture: &CaptureArguments) -> Outcome {
    let Some(name) = capture.first_given() else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "{name} is for tracing, and cannot be combined with a trace; to trace and simulate in one pass, write live in place of \
         the trace"
    )))
}

/// Message if a signal ends a run after its record and before its report.
const RECORDED: &str = "stopped before the report; the record is complete";

fn simulate_file(path: &Path, arguments: &DesignArguments) -> Outcome<Exit> {
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch_to_the_end()?;
    let Some((ended, is_whole)) = simulate(path, arguments, None, &interrupt)? else {
        return interrupt.exit().ok_or_else(|| Failure::empty(path));
    };
    interrupt.end_in_time(RECORDED)?;
    let shown = ended.show(arguments, output)?;
    Ok(if is_whole { shown } else { Exit::Record })
}

/// Prints the notes of a trace, for a report that has no room for them.
fn print_notes(header: &TraceHeader) {
    header.notes.iter().for_each(|note| say!("{note}"));
}

/// Simulates a trace. Returns the result, and whether it covers the whole trace; `None` if the
/// trace is empty.
fn simulate(
    path: &Path,
    arguments: &DesignArguments,
    record: Option<Place>,
    interrupt: &Interrupt,
) -> Outcome<Option<(Ended, bool)>> {
    let reader = look::open(path)?;
    let mut run = Run::begin(
        arguments,
        DEFAULT_INTERVAL,
        &path.to_string_lossy(),
        reader.header(),
        record,
    )?;
    let failed = Failure::read_trace(path);
    let mut chunks = read_ahead(reader).map_err(failed)?;
    let incomplete = feed(&mut run, path, interrupt, |chunk| chunks.next_into(chunk))?;
    if run.is_empty() {
        return Ok(None);
    }
    let ended = run.finish(incomplete.clone())?;
    if let Some(why) = &incomplete {
        say!("not all of {} is simulated: {why}", path.display());
    }
    Ok(Some((ended, incomplete.is_none())))
}

/// Simulates all chunks of a stream. Returns the reason if the stream ends before the end of the
/// trace; `None` after a whole trace.
fn feed(
    run: &mut Run,
    path: &Path,
    interrupt: &Interrupt,
    mut next: impl FnMut(&mut Chunk) -> Result<bool, ReadTraceError>,
) -> Outcome<Option<String>> {
    let dependences = run.dependences(path);
    let mut chunk = Chunk::default();
    loop {
        if interrupt.is_raised() {
            run.stop_early();
            return Ok(Some("interrupted".to_owned()));
        }
        match next(&mut chunk) {
            Ok(true) => {
                run.follow(&chunk, &dependences);
                run.chunk(&mut chunk)?;
            }
            Ok(false) => return Ok(None),
            Err(error) if error.is_loss() && !run.is_empty() => return Ok(Some(error.to_string())),
            Err(source) => {
                return Err(Failure::read_trace(path)(source));
            }
        }
    }
}

/// Part of a run of live programs that is counted, and the length of its intervals.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    /// Length of an interval, in instructions.
    pub(crate) interval: u64,
    /// Number of switches before the counted part.
    pub(crate) skipped_switches: u64,
}

/// Captures and simulates programs at the same time. The trace is kept only if `keep` names a file.
pub(crate) fn live(
    programs: impl Live,
    arguments: &DesignArguments,
    Stretch {
        interval,
        skipped_switches,
    }: Stretch,
    keep: Option<&Path>,
) -> Outcome<Exit> {
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let is_redacted = arguments.redaction.redact;
    let header: TraceHeader = redact::trace(programs.header(), is_redacted);
    let mut skip = Skip::new(skipped_switches);
    // A sweep over many designs would count the skipped part, too.
    let in_full = if skip.is_any() {
        &part::choose_in_full(arguments)
    } else {
        arguments
    };
    let mut run = Run::begin(in_full, interval, LIVE, &header, None)?;
    let mut trace = keep
        .map(|path| NewTrace::create(path, &header))
        .transpose()?;
    let outcome = programs.run(&interrupt, |chunk, dependences| {
        run.follow(chunk, dependences);
        if let Some(trace) = &mut trace {
            trace.write(chunk)?;
        }
        if !skip.is_any() {
            return run.chunk(chunk);
        }
        run.leave_kernel_out(chunk);
        let counted = skip.split(chunk);
        let mut simulate = |chunk: &mut Chunk| {
            let purpose = skip.purpose(chunk);
            run.part(chunk, purpose, None)
        };
        simulate(chunk)?;
        counted.map_or(Ok(()), |mut counted| simulate(&mut counted))
    });
    if let Some(part) = skip.part() {
        run = run.set_part(part, None);
    }
    if let Ok(ended) = &outcome {
        run.name_symbols(ended.symbols.clone());
        trace
            .iter_mut()
            .for_each(|trace| trace.name_symbols(ended.symbols.clone()));
    }
    if interrupt.is_raised() {
        run.stop_early();
    }
    let kept = trace.map(NewTrace::finish).transpose();
    let incomplete = match &outcome {
        Ok(_) => interrupt.exit().map(|_| "interrupted".to_owned()),
        Err(failure) => Some(failure.to_string()),
    };
    // Results from before a failure are complete, and are kept with the reason of the failure.
    let record = if run.is_empty() {
        None
    } else {
        Some(run.finish(incomplete))
    };
    let programs = outcome?;
    programs.report(is_redacted);
    kept?;
    let Some(record) = record.transpose()? else {
        return interrupt
            .exit()
            .ok_or_else(|| Failure::empty(Path::new(LIVE)));
    };
    let shown = record.show(arguments, output)?;
    let ended = programs.exit();
    Ok(if ended == Exit::Success { shown } else { ended })
}
