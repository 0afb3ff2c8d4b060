//! `switchcost observe`: find out what a switch costs, observe, record, and show what came of it.

mod calibrated;
mod command;
mod events;
mod exporter;
mod live;
mod requests;
mod throttled;
mod whom;

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use host::facts::{Root, manifest, slice_extensions};
use observation::{Calibration, Lost, Observation, SliceExtensions, Source, Subject};
use observe::{Counted, Observer, Options};
use record::HostManifest;
use time::OffsetDateTime;
use units::Nanos;

use super::report::{Loaded, StackFiles, show_loaded};
use crate::cli::observe::ObserveArguments;
use crate::exit::{Exit, Failure};
use crate::messages::say;
use crate::output::Output;
use crate::runs;
use crate::signals::Interrupt;
use events::Events;
use exporter::Exporter;
use live::Live;
use requests::Requests;
use throttled::Quotas;
use whom::Whom;

/// Between two looks at who has ended: far less than it takes to use up the places of tasks.
const TICK: Duration = Duration::from_millis(20);

pub(crate) fn run(arguments: &ObserveArguments) -> Result<Exit, Failure> {
    let output = Output::claim(arguments.form.out.as_deref())?;
    let stacks = StackFiles::claim(&[], &arguments.stacks)?;
    let trace = arguments.events.as_deref().map(|path| Output::claim(Some(path))).transpose()?;
    let whom = Whom::find(arguments)?;
    let host = manifest(&Root::system());
    let interrupt = Interrupt::watch()?;
    let calibration = calibrated::find(&host, arguments.no_calibration, &interrupt)?;
    if let Some(exit) = interrupt.exit() {
        return Ok(exit);
    }
    let now = OffsetDateTime::now_utc();
    let path = arguments.record.clone().map_or_else(|| runs::new_file(runs::OBSERVATION), Ok)?;
    let record = File::create_new(&path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => Failure::Taken(path.clone()),
        _ => Failure::Output { path: path.clone(), source },
    })?;
    let empty = empty(host, runs::stamp(now), calibration);
    let costs = empty.calibration.as_ref().and_then(analysis::observation::DirectCosts::of);
    let observed = match trace {
        None => observe(arguments, whom, empty, &interrupt, None).map(|observation| (observation, Ok(()))),
        Some(trace) => {
            events::written(trace, costs, |events| observe(arguments, whom, empty, &interrupt, Some(events)))
        }
    };
    let (observation, traced) = observed.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    let written = observation.write(BufWriter::new(record));
    written.inspect_err(|_| drop(std::fs::remove_file(&path))).map_err(Failure::WriteObservation)?;
    // What is shown is read back: with thousands of processes it is a part of all memory.
    drop(observation);
    let exit = show(arguments, &path, output, stacks, &interrupt)?;
    traced.map(|()| exit)
}

fn observe(
    arguments: &ObserveArguments,
    mut whom: Whom,
    empty: Observation,
    interrupt: &Interrupt,
    mut events: Option<&mut Events<'_>>,
) -> Result<Observation, Failure> {
    let options = Options {
        wants_wakers: arguments.wakers,
        wants_events: events.is_some(),
        wants_scheduler_time: arguments.scheduler_time,
        counts_only: arguments.counts_only,
        may_mark_pages: arguments.allow_clear_refs || matches!(whom, Whom::Command(_)),
        without_bpf: arguments.no_bpf,
    };
    let mut live = arguments.live.then(Live::start).transpose()?;
    let mut exporter = arguments.listen.map(Exporter::listen).transpose()?;
    let mut observer = Observer::start(&empty.host, options);
    if let Some(reason) = observer.why_not_bpf().filter(|_| !arguments.no_bpf) {
        if events.is_some() {
            return Err(Failure::NoEvents(reason.to_owned()));
        }
        if arguments.stacks.folded.is_some() || arguments.stacks.pprof.is_some() {
            return Err(Failure::NoStacks(reason.to_owned()));
        }
        say!("switches are counted without causes and neighbours: {reason}");
    }
    let began = Instant::now();
    let cpu_before = host::usage::own_cpu_time();
    let requests = Requests::begin(arguments)?;
    let extensions_before = slice_extensions(&Root::system());
    whom.begin(&mut observer)?;
    let mut quotas = Quotas::begin(&whom);
    let usual = whom.usual_duration().filter(|_| exporter.is_none() && live.is_none());
    let limit = arguments.duration.or(usual).map(Nanos::as_duration);
    let so_far = |counted: Counted, subject, throttled| Observation {
        subject,
        window_ns: Nanos(began.elapsed().as_nanos() as u64),
        source: counted.source,
        not_counted_by: counted.not_counted_by,
        cpus: counted.cpus,
        tasks: counted.tasks,
        pairs: counted.pairs,
        in_scheduler: counted.in_scheduler,
        lost: counted.lost,
        own_cost: counted.own_cost.map(|own| {
            let user = host::usage::own_cpu_time().saturating_sub(cpu_before);
            observation::OwnCost { user_ns: Nanos(user.as_nanos() as u64), ..own }
        }),
        throttled,
        ..empty.clone()
    };
    while !interrupt.is_raised()
        && !live.as_ref().is_some_and(Live::is_left)
        && limit.is_none_or(|limit| began.elapsed() < limit)
        && whom.go_on(&mut observer)?
    {
        observer.tick();
        if let Some(events) = &mut events {
            events.look(&mut observer);
        }
        quotas.look();
        if let Some(live) = &mut live {
            live.tick(|| observer.so_far().map(|counted| so_far(counted, whom.subject(), Vec::new())))?;
        }
        if let Some(exporter) = &mut exporter {
            exporter.answer(|| observer.so_far().map(|counted| so_far(counted, Subject::Everything, Vec::new())));
        }
        std::thread::sleep(limit.map_or(TICK, |limit| TICK.min(limit.saturating_sub(began.elapsed()))));
    }
    let throttled = quotas.end();
    // What was observed is kept, with or without them.
    let requests = requests.end().unwrap_or_else(|why| {
        say!("{why}; what switching costs for each request is not told");
        None
    });
    if let Some(events) = &mut events {
        events.look(&mut observer);
    }
    let counted = observer.finish().map_err(Failure::Observe)?;
    if arguments.scheduler_time && counted.in_scheduler.is_none() {
        say!(
            "found no BPF with the tracepoints sched_entry_tp and sched_exit_tp, which Linux has from 6.15 on; how long the \
             scheduler takes is not told"
        );
    }
    let extensions = slice_extensions(&Root::system()).zip(extensions_before);
    let slice_extensions = extensions.map(|((granted, yielded), before)| SliceExtensions {
        granted: granted.saturating_sub(before.0),
        yielded: yielded.saturating_sub(before.1),
    });
    let observation = so_far(counted, whom.subject(), throttled);
    Ok(Observation { requests, slice_extensions, ..observation })
}

/// Of which nothing was counted yet.
fn empty(host: HostManifest, started_at: String, calibration: Option<Calibration>) -> Observation {
    Observation {
        schema: Observation::schema_now(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        host,
        subject: Subject::Everything,
        requests: None,
        window_ns: Nanos(0),
        source: Source::Proc,
        not_counted_by: Vec::new(),
        cpus: Vec::new(),
        tasks: Vec::new(),
        pairs: Vec::new(),
        in_scheduler: None,
        lost: Lost::default(),
        own_cost: None,
        throttled: Vec::new(),
        slice_extensions: None,
        calibration,
    }
}

fn show(
    arguments: &ObserveArguments,
    path: &Path,
    output: Output,
    stacks: StackFiles,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    if arguments.depth.details || arguments.form.is_elsewhere() {
        say!("record: {}", path.display());
    }
    let loaded = Loaded::read(path)?;
    let exit = show_loaded(&loaded, path, &arguments.form, arguments.depth, output)?;
    stacks.write(&loaded)?;
    Ok(interrupt.exit().unwrap_or(exit))
}
