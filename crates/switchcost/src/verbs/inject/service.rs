//! Preempts a running service in phases: finds its thread, pins it to a CPU, and restores its
//! allowed CPUs afterwards.

use std::io;

use switchcost_analysis::injection::headline;
use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_host::live::{Placed, allowed_cpus};
use switchcost_host::machine::manifest;
use switchcost_inject::Instruments;
use switchcost_inject::service::{
    Followed, Found, ProcessFollower, ServiceFault, ServiceOrder, Work, find, follow,
};
use switchcost_measure::PlacementChoice;
use switchcost_record::injection::{End, Header, INJECTION_FORM, Line, Plan, Service, TwinRun};
use switchcost_record::{HostManifest, SealedLog};
use switchcost_units::{CpuId, Nanos};
use time::OffsetDateTime;

use super::progress::Watcher;
use super::{
    Claims, Interrupt, check_others, check_rights, footprints, instruments, remaining_cpus, show,
    timings, work,
};
use crate::cli::inject::InjectArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::say;
use crate::output::Output;
use crate::program_id::{self, ProgramId};
use crate::redact;
use crate::runs::{self, Place};

/// Default period of the preemptions of a service. A server that answers in microseconds does many
/// pieces of work in one period.
const PERIOD: Nanos = Nanos::micros(500);

/// Least length of a phase, in periods of preemptions.
const LEAST_TURNS: u64 = 8;

pub(super) fn run(arguments: &InjectArguments, number: u32, work: &str) -> Outcome<Exit> {
    switchcost_host::own_proc::check().map_err(Failure::foreign_proc)?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let host = manifest(&Root::system());
    check_others(arguments, &host, "the CPU of the service")?;
    let counted = work::parse(work, number)?;
    check_rights(host.cpus_allowed.first().copied().unwrap_or(CpuId(0)))?;
    let found = find(number, &counted, work, &host.cpus_allowed, &|| {
        interrupt.is_raised()
    });
    if let Some(exit) = interrupt.exit() {
        return Ok(exit);
    }
    let found = found?;
    let mut claims = Claims::default();
    let plan = plan(arguments, &host, &found, &counted, &mut claims)?;
    check_time(&plan)?;
    let place = Place::choose(arguments.record.as_deref(), kinds::INJECTION)?;
    claims.report();
    record(
        &Run {
            arguments,
            found,
            counted,
            work,
        },
        host,
        plan,
        &place,
        &interrupt,
    )?;
    drop(claims);
    show(arguments, &place.path, output)
}

/// An injection into a service: its arguments, the thread found, and the unit of work.
struct Run<'a> {
    arguments: &'a InjectArguments,
    found: Found,
    counted: Work,
    work: &'a str,
}

fn plan(
    arguments: &InjectArguments,
    host: &HostManifest,
    found: &Found,
    counted: &Work,
    claims: &mut Claims,
) -> Outcome<Plan> {
    let phase = |period: Nanos| found.phase(counted).max(Nanos(period.0 * LEAST_TURNS));
    let (first, further) = timings(&arguments.period, PERIOD, phase);
    Ok(Plan {
        cpu: cpu(arguments, host, found, claims)?,
        period_ns: first.period_ns,
        turn_ns: first.turn_ns,
        footprints_bytes: footprints(&arguments.footprint, host)?,
        budget_ns: arguments.budget,
        preempts_nobody: arguments.no_preemption,
        checks_output: false,
        settings: Vec::new(),
        further,
        moves_to: None,
        is_apart: false,
        is_frozen: false,
    })
}

/// Returns the CPU named by the user, the service's current CPU, or another CPU. Both the service
/// and this process must be allowed to use the CPU.
fn cpu(
    arguments: &InjectArguments,
    host: &HostManifest,
    found: &Found,
    claims: &mut Claims,
) -> Outcome<CpuId> {
    let of_thread = allowed_cpus(found.id.thread).unwrap_or_default();
    let both: Vec<CpuId> = of_thread
        .into_iter()
        .filter(|cpu| host.cpus_allowed.contains(cpu))
        .collect();
    let cpu = match arguments.cpu {
        Some(cpu) if both.contains(&cpu) => cpu,
        None if both.contains(&found.cpu) => found.cpu,
        None if !both.is_empty() => both[0],
        wanted => {
            let wanted = wanted.map_or("no CPU is".to_owned(), |cpu| format!("--cpu {cpu} is not"));
            return Err(Failure::usage(format!(
                "{wanted} allowed for both the service and this process (allowed: {}); taskset -pc PID shows those of a process",
                switchcost_units::format_cpu_list(&both)
            )));
        }
    };
    claims.named(&PlacementChoice::One(cpu));
    Ok(cpu)
}

/// Preempts the service, and records every group of phases.
fn record(
    run: &Run<'_>,
    host: HostManifest,
    plan: Plan,
    place: &Place,
    interrupt: &Interrupt,
) -> Outcome {
    let now = OffsetDateTime::now_utc();
    let others = remaining_cpus(&host, &[Some(plan.cpu)]);
    let (instruments, clock, core_clock) = instruments(plan.cpu, host.is_tsc_invariant);
    let _away = switchcost_host::control::pin(&others).ok();
    let redaction = run.arguments.redaction.redact;
    let allowed =
        allowed_cpus(run.found.id.thread).map_err(|error| placement_failure(&run.found, error))?;
    let process = run.found.id.process;
    let (build_id, script) = ProgramId::identify_process(process)
        .map(ProgramId::into_parts)
        .unzip();
    let header = Header {
        schema: INJECTION_FORM.to_owned(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: runs::stamp(now),
        command: redact::shown(command(&run.found), redaction),
        build_id,
        script: script.flatten(),
        seed: run.arguments.seed.unwrap_or_else(crate::verbs::seed_of_now),
        host: redact::host(host, redaction),
        clock,
        core_clock,
        plan,
        undisturbed: [TwinRun::default(); 2],
        service: Some(service(run, allowed, redaction)),
    };
    announce(&run.found, &header.plan);
    let mut writer = SealedLog::<Line>::create(place.readers, &place.path, header.clone())?;
    let start = monotonic();
    let mut watcher = Watcher::new(&header, Some(run.found.id), interrupt);
    let followed = preempt(
        run,
        &header,
        &instruments,
        others,
        &mut watcher,
        &mut |line| Ok(writer.append(&line)?),
    );
    watcher.finish();
    let Followed {
        is_interrupted,
        has_service_ended,
    } = followed?;
    let elapsed_ns = monotonic().saturating_sub(start);
    writer.append(&Line::End(End {
        is_interrupted,
        elapsed_ns,
        has_service_ended,
        others: watcher.other_tasks(),
    }))?;
    writer.sync()?;
    Ok(())
}

/// Returns the name of the service, and for an interpreter also the words that identify its script.
fn command(found: &Found) -> Vec<String> {
    let script = program_id::script_of_process(found.id.process);
    let script = script
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    [found.name.clone()].into_iter().chain(script).collect()
}

fn service(run: &Run<'_>, allowed: Vec<CpuId>, is_redacted: bool) -> Service {
    let Found { id, name, look, .. } = &run.found;
    // A command may contain secrets.
    let work = match run.counted {
        Work::Command(_) if is_redacted => switchcost_record::LEFT_OUT,
        _ => run.work,
    };
    Service {
        process: id.process,
        thread: id.thread,
        name: name.clone(),
        work: work.to_owned(),
        allowed,
        look: *look,
    }
}

/// Preempts the service on one CPU until the plan is complete.
fn preempt(
    run: &Run<'_>,
    header: &Header,
    instruments: &Instruments,
    others: Vec<CpuId>,
    watcher: &mut Watcher<'_>,
    sink: &mut dyn FnMut(Line) -> Outcome,
) -> Outcome<Followed> {
    let plan = &header.plan;
    let _placed = Placed::place(run.found.id, plan.cpu)
        .map_err(|error| placement_failure(&run.found, error))?;
    let order = ServiceOrder {
        id: run.found.id,
        work: run.counted.clone(),
        cpu: plan.cpu,
        other_cpus: others,
        clock: instruments.clock,
        rate: instruments.rate,
        overhead: instruments.overhead,
        timings: plan.timings(),
        footprints: plan.footprints_bytes.clone(),
        against_idle: headline(&plan.footprints_bytes, &header.host.caches),
        touches_nothing: plan.preempts_nobody,
        seed: header.seed,
        until: monotonic() + plan.budget_ns,
    };
    follow(&mut ProcessFollower::start(order)?, watcher, sink)
}

fn placement_failure(found: &Found, error: io::Error) -> Failure {
    let (process, name) = (found.id.process, found.name.clone());
    Failure::from(match error.kind() {
        io::ErrorKind::PermissionDenied => ServiceFault::NotOurs { process, name },
        _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            ServiceFault::Ended(process, found.look.wall_ns)
        }
        _ => ServiceFault::NotPlaced(error),
    })
}

fn announce(found: &Found, plan: &Plan) {
    let per_second = |count: u64| count as f64 * 1e9 / found.look.wall_ns.0.max(1) as f64;
    say!(
        "thread {} ({}) does {:.0} pieces of work per second, and is preempted {:.0} times per second; it stays on CPU {} for \
         {}, which is enough for at most {} groups of phases per footprint",
        found.id.thread,
        switchcost_record::printable(&found.name),
        per_second(found.look.work),
        per_second(found.look.involuntary),
        plan.cpu,
        plan.budget_ns,
        plan.budget_ns.0 / pass(plan).0.max(1)
    );
}

/// Returns the duration of one pass without the preemptor's part. A pass has four phases for each
/// footprint at each period, and four phases for delays.
fn pass(plan: &Plan) -> Nanos {
    let phases = plan
        .timings()
        .iter()
        .map(|timing| timing.turn_ns.0 * plan.footprints_bytes.len() as u64)
        .sum::<u64>();
    Nanos(4 * (phases + plan.turn_ns.0))
}

/// Least number of groups that gives a confidence interval.
const LEAST_GROUPS: u64 = 5;

/// Checks that the budget has room for enough groups.
fn check_time(plan: &Plan) -> Outcome {
    let needed = Nanos(pass(plan).0 * LEAST_GROUPS * 3 / 2);
    if plan.budget_ns.0 >= pass(plan).0 * LEAST_GROUPS {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--budget {:#} is too short: each footprint needs {LEAST_GROUPS} groups of four phases of {}; name fewer footprints, put \
         the service under more load, or use --budget {}s",
        plan.budget_ns,
        plan.turn_ns,
        needed.0.div_ceil(1_000_000_000)
    )))
}
