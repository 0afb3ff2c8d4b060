//! `switchcost inject`: runs copies of a command, preempts one of them, and records and reports the
//! cost.

mod neighbours;
mod progress;
mod service;
mod work;

use std::io;
use std::path::{Path, PathBuf};

use switchcost_facts::{Root, cpus_by_quiet};
use switchcost_host::clock::{Calibration, Clock, monotonic};
use switchcost_host::control::pin;
use switchcost_host::core_clock;
use switchcost_host::machine::manifest;
use switchcost_host::temporary::TemporaryFolder;
use switchcost_host::twin_group::twin_groups;
use switchcost_inject::{
    Executor, Fault, Instruments, ProcessExecutor, Subject, Undisturbed, undisturbed,
};
use switchcost_measure::{PlacementChoice, RequestedControls, check_cpu, wanted_controls};
use switchcost_record::injection::{End, Header, INJECTION_FORM, Line, Plan, Timing};
use switchcost_record::{ClockFacts, ControlOutcome, CoreClock, HostManifest, Policy, SealedLog};
use switchcost_units::{Bytes, CpuId, Nanos};
use time::OffsetDateTime;

use super::report::{Loaded, show_loaded};
use crate::claims::Claims;
use crate::cli::inject::{Footprint, InjectArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::{pause_message, say};
use crate::output::Output;
use crate::program_id::ProgramId;
use crate::redact;
use crate::runs::{self, Place};
use crate::signals::Interrupt;
use progress::Watcher;

/// Least length of the alternating time slices of the two copies. Changes of the core's speed take
/// much longer.
const TURN: Nanos = Nanos::millis(8);

/// Default period of the preemptions of a command.
const PERIOD: Nanos = Nanos::micros(250);

pub(crate) fn run(arguments: &InjectArguments) -> Outcome<Exit> {
    match arguments.pid.zip(arguments.work.as_deref()) {
        Some((number, work)) => service::run(arguments, number, work),
        None => run_twins(arguments),
    }
}

fn run_twins(arguments: &InjectArguments) -> Outcome<Exit> {
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let Some(path) = recorded(arguments, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    show(arguments, &path, output)
}

/// Prints the report from the record of an injection.
fn show(arguments: &InjectArguments, path: &Path, output: Output) -> Outcome<Exit> {
    if arguments.verbosity.details || arguments.form.is_elsewhere() {
        say!("record: {}", path.display());
    }
    show_loaded(
        &Loaded::read(path)?,
        path,
        &arguments.form,
        arguments.verbosity,
        output,
    )
}

/// Measures, and returns the path of the record; `None` if the run was stopped before there was a
/// record.
fn recorded(arguments: &InjectArguments, interrupt: &Interrupt) -> Outcome<Option<PathBuf>> {
    switchcost_host::own_proc::check().map_err(Failure::foreign_proc)?;
    let folder = TemporaryFolder::create_in(&std::env::temp_dir()).map_err(Failure::folder)?;
    if let Some(kept) = &arguments.keep_output {
        let refused = Failure::output(kept);
        std::fs::create_dir_all(kept).map_err(refused)?;
    }
    let subject = Subject::new(
        arguments.command.clone(),
        folder.path(),
        arguments.keep_output.as_deref(),
        arguments.check_output,
    )?;
    let subject = subject.apart(arguments.apart);
    let host = manifest(&Root::system());
    let mut claims = Claims::default();
    let plan = plan(arguments, &host, &subject, &mut claims)?;
    check_rights(plan.cpu)?;
    let place = Place::choose(arguments.record.as_deref(), kinds::INJECTION)?;
    claims.report();
    Ok(record(arguments, (subject, &folder), host, plan, &place, interrupt)?.map(|()| place.path))
}

fn plan(
    arguments: &InjectArguments,
    host: &HostManifest,
    subject: &Subject,
    claims: &mut Claims,
) -> Outcome<Plan> {
    let (first, further) = timings(&arguments.period, PERIOD, |period| {
        TURN.max(Nanos(period.0 * 2))
    });
    Ok(Plan {
        cpu: cpu(arguments, host, claims)?,
        period_ns: first.period_ns,
        turn_ns: first.turn_ns,
        footprints_bytes: footprints(&arguments.footprint, host)?,
        budget_ns: arguments.budget,
        preempts_nobody: arguments.no_preemption,
        checks_output: arguments.check_output,
        settings: subject.settings(),
        further,
        moves_to: arguments.move_to,
        is_apart: arguments.apart,
        is_frozen: false,
    })
}

/// Returns the timings of the periods: the first period that the user named, and the others in
/// ascending order.
fn timings(named: &[Nanos], usual: Nanos, turn: impl Fn(Nanos) -> Nanos) -> (Timing, Vec<Timing>) {
    let of = |period| Timing {
        period_ns: period,
        turn_ns: turn(period),
    };
    let first = named.first().copied().unwrap_or(usual);
    let mut others: Vec<Nanos> = named
        .iter()
        .copied()
        .filter(|period| *period != first)
        .collect();
    others.sort_unstable();
    others.dedup();
    (of(first), others.into_iter().map(of).collect())
}

fn missing_groups(why: &io::Error) -> Failure {
    Failure::broken(format!(
        "--move-to needs a control group (version 2), which cannot be created: {why}; run it as root with a writable \
         /sys/fs/cgroup, or leave it out"
    ))
}

/// Returns the CPU named by the user, or the quietest CPU that no other measurement uses. If only
/// one CPU is allowed, `--only-cpu` is required.
fn cpu(arguments: &InjectArguments, host: &HostManifest, claims: &mut Claims) -> Outcome<CpuId> {
    check_others(arguments, host, "the CPU of the copies")?;
    check_move(arguments, host)?;
    let candidates: Vec<CpuId> = cpus_by_quiet(host)
        .into_iter()
        .filter(|cpu| Some(*cpu) != arguments.move_to)
        .collect();
    match arguments.cpu {
        Some(cpu) => {
            check_cpu(cpu, host)?;
            claims.named(&PlacementChoice::One(cpu));
            Ok(cpu)
        }
        None => claims.first_free(&candidates).ok_or_else(|| {
            Failure::broken("no CPU is allowed to this process in /proc/self/status; mount /proc if it is not there")
        }),
    }
}

/// Checks that the CPU of `--move-to` is allowed, and differs from the copies' CPU.
fn check_move(arguments: &InjectArguments, host: &HostManifest) -> Outcome {
    let Some(other) = arguments.move_to else {
        return Ok(());
    };
    if host.cpus_allowed.contains(&other) && arguments.cpu != Some(other) {
        return Ok(());
    }
    let allowed = switchcost_units::format_cpu_list(&host.cpus_allowed);
    Err(Failure::usage(format!(
        "--move-to {other} is the CPU of the copies, or not allowed to this process; name another of {allowed}"
    )))
}

/// Checks that there is a CPU for all other tasks, or that the user lets these tasks wait
/// (`--only-cpu`).
fn check_others(arguments: &InjectArguments, host: &HostManifest, taken: &str) -> Outcome {
    match host.cpus_allowed.as_slice() {
        [only] if !arguments.only_cpu => Err(Failure::broken(format!(
            "CPU {only} is the only one allowed, so everything else would wait for {taken}; allow more CPUs (taskset \
             -pc $$ shows them), or accept that with --only-cpu"
        ))),
        _ => Ok(()),
    }
}

/// Returns the footprints in bytes, in ascending order, beginning with 0.
fn footprints(named: &[Footprint], host: &HostManifest) -> Outcome<Vec<Bytes>> {
    let of = |footprint: &Footprint| match footprint {
        Footprint::Size(size) => Ok(*size),
        Footprint::Level(level) => {
            let holds = host
                .caches
                .iter()
                .filter(|cache| cache.level == *level)
                .map(|cache| cache.size_bytes)
                .max();
            holds.ok_or_else(|| {
                Failure::usage(format!(
                    "this machine has no cache of level {level}; name a size: --footprint 0,256KiB,4MiB"
                ))
            })
        }
    };
    let mut sizes = named.iter().map(of).collect::<Outcome<Vec<Bytes>>>()?;
    sizes.push(Bytes(0));
    sizes.sort_unstable();
    let available = host.memory_available_bytes;
    // An eighth of the memory stays free, as for the arrays of `measure`.
    if let Some(largest) = sizes
        .last()
        .filter(|largest| largest.0 > available.0 / 8 * 7)
    {
        return Err(Failure::usage(format!(
            "{available} of memory is free, too little for --footprint {largest} and the command; use a smaller --footprint"
        )));
    }
    sizes.dedup();
    Ok(sizes)
}

/// Checks that this process may get the real-time priority that the preemptor needs.
fn check_rights(cpu: CpuId) -> Outcome {
    let requested = RequestedControls {
        cpus: Some(vec![cpu]),
        policy: Policy::Fifo,
        is_real_time_off: false,
    };
    let refused =
        wanted_controls(&requested)
            .into_iter()
            .find_map(|control| match control.outcome {
                ControlOutcome::Refused {
                    found,
                    needed,
                    fix,
                    lasting_fix,
                } if control.name != "locked-memory" => Some(Failure::broken(format!(
                    "inject needs {needed} ({found}); {fix}, or permanently: {lasting_fix}"
                ))),
                _ => None,
            });
    refused.map_or(Ok(()), Err)
}

/// Tries the command, and records every run; `None` if the injection was stopped before there was a
/// record.
fn record(
    arguments: &InjectArguments,
    subject: (Subject, &TemporaryFolder),
    host: HostManifest,
    plan: Plan,
    place: &Place,
    interrupt: &Interrupt,
) -> Outcome<Option<()>> {
    let now = OffsetDateTime::now_utc();
    let start = monotonic();
    let (instruments, clock, core_clock) = instruments(plan.cpu, host.is_tsc_invariant);
    let _away = pin(&remaining_cpus(&host, &[Some(plan.cpu), plan.moves_to])).ok();
    let mut executor = ProcessExecutor::default();
    let Some((subject, plan, found)) =
        tried(subject, &instruments, plan, &mut executor, interrupt)?
    else {
        return Ok(None);
    };
    announce(&found, &plan);
    let redaction = arguments.redaction.redact;
    let words = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (build_id, script) = ProgramId::identify_command(&arguments.command)
        .map(ProgramId::into_parts)
        .unzip();
    let header = Header {
        schema: INJECTION_FORM.to_owned(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: runs::stamp(now),
        command: redact::shown(words, redaction),
        build_id,
        script: script.flatten(),
        seed: arguments.seed.unwrap_or_else(super::seed_of_now),
        host: redact::host(host, redaction),
        clock,
        core_clock,
        plan,
        undisturbed: found.twins,
        service: None,
    };
    let mut writer = SealedLog::<Line>::create(place.readers, &place.path, header.clone())?;
    let mut watcher = Watcher::new(&header, None, interrupt);
    let is_interrupted = switchcost_inject::inject(
        &subject,
        &instruments,
        &header,
        &mut executor,
        &mut watcher,
        &mut |line| Ok::<(), Failure>(writer.append(&line)?),
    )?;
    watcher.finish();
    let pause = executor.pause();
    if !pause.is_none() {
        say!("{}", pause_message(pause));
    }
    let elapsed_ns = monotonic().saturating_sub(start);
    let end = End {
        is_interrupted,
        elapsed_ns,
        has_service_ended: false,
        others: watcher.other_tasks(),
    };
    writer.append(&Line::End(end))?;
    writer.sync()?;
    Ok(Some(()))
}

/// Makes a run without preemption, in which signals stop and continue the copies; `None` if the run
/// was stopped. If signals do not reach all child processes, or if copies are to be moved, control
/// groups freeze and thaw the copies. Control groups take longer, and the time varies more.
fn tried(
    (subject, folder): (Subject, &TemporaryFolder),
    instruments: &Instruments,
    plan: Plan,
    executor: &mut ProcessExecutor,
    interrupt: &Interrupt,
) -> Outcome<Option<(Subject, Plan, Undisturbed)>> {
    let mut run = |subject: &Subject| {
        undisturbed(subject, instruments, &plan, executor, &|| {
            interrupt.is_raised()
        })
    };
    if plan.moves_to.is_none() {
        match run(&subject) {
            Err(Fault::LeavesGroup) => (),
            found => return Ok(found?.map(|found| (subject, plan, found))),
        }
    }
    let groups = match (twin_groups(folder), plan.moves_to) {
        (Ok(groups), _) => groups,
        (Err(why), Some(_)) => return Err(missing_groups(&why)),
        (Err(_), None) => return Err(Fault::LeavesGroup.into()),
    };
    let subject = subject.freeze_by_groups(groups);
    let found = run(&subject)?;
    Ok(found.map(|found| {
        (
            subject,
            Plan {
                is_frozen: true,
                ..plan
            },
            found,
        )
    }))
}

fn announce(found: &Undisturbed, plan: &Plan) {
    let several =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let footprints = several(plan.footprints_bytes.len(), "footprint");
    let periods = match plan.further.len() {
        0 => String::new(),
        further => format!(" at {}", several(further + 1, "period")),
    };
    say!(
        "the command takes {} of CPU time: {} has time for at most {} runs of each of {footprints}{periods}",
        Nanos(found.twins[0].cpu_ns.0 / 1_000_000 * 1_000_000),
        plan.budget_ns,
        found.runs_within(plan),
    );
}

/// Returns the CPUs for all other tasks: the allowed CPUs except `taken`. If none is left, CPUs
/// that the measurement uses only at times are returned.
fn remaining_cpus(host: &HostManifest, taken: &[Option<CpuId>]) -> Vec<CpuId> {
    let but = |taken: &[Option<CpuId>]| -> Vec<CpuId> {
        host.cpus_allowed
            .iter()
            .copied()
            .filter(|cpu| !taken.contains(&Some(*cpu)))
            .collect()
    };
    let free = but(taken);
    if free.is_empty() {
        but(&taken[..1])
    } else {
        free
    }
}

/// Returns the clock and the facts about the core's clock, as found on the CPU of the copies.
fn instruments(cpu: CpuId, is_tsc_invariant: bool) -> (Instruments, ClockFacts, CoreClock) {
    let _pin = pin(&[cpu]).ok();
    let (clock, reason) = Clock::choose_for(&[cpu], is_tsc_invariant);
    let (_, rate) = Calibration::begun(clock);
    let core_clock = core_clock::facts(clock);
    (
        Instruments {
            clock,
            rate,
            overhead: core_clock.overhead_ticks,
        },
        clock.facts(rate, reason),
        core_clock,
    )
}
