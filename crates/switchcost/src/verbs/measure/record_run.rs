//! Records a run, from the header to the last line of the record.

use switchcost_host::clock::{Calibration, Clock, monotonic};
use switchcost_host::control::pin;
use switchcost_host::core_clock::{self, CycleEvent};
use switchcost_host::pause::Pause;
use switchcost_host::perf::{System, admit, shares};
use switchcost_host::usage::switches_of_all;
use switchcost_measure::{
    Instruments, ProcessExecutor, Progress, Stop, latency_plan, measure_latencies,
};
use switchcost_record::{
    ClockFacts, Control, ControlOutcome, CoreClock, Cycles, End, Header, HostManifest, Line,
    MEASURE_FORM, Plan, Policy, SealedLog, SelfTest, WriteRecordError,
};
use switchcost_units::{CpuId, Nanos, TickRate};
use time::OffsetDateTime;

use super::runtimes::Runtimes;
use crate::cli::Redaction;
use crate::earlier::Folder;
use crate::messages::{pause_message, say};
use crate::progress::Bar;
use crate::redact;
use crate::runs::{Place, core_sharing, stamp};
use crate::signals::Interrupt;

/// Everything that is decided before a run begins.
pub(super) struct RunToRecord {
    pub(super) host: HostManifest,
    pub(super) controls: Vec<Control>,
    pub(super) plan: Plan,
    /// Longest time of a run, which exceeds the budget while a case lacks an interval; `None`
    /// without a limit.
    pub(super) longest: Option<Nanos>,
    pub(super) runtimes: Runtimes,
    /// Folder with records of earlier runs; `None` if the user names none.
    pub(super) history: Option<Folder>,
    pub(super) seed: u64,
    pub(super) now: OffsetDateTime,
    /// Whether to spend time on the kernel's software counters if the CPU has no hardware counters.
    pub(super) counts_in_software: bool,
    pub(super) redaction: Redaction,
}

impl RunToRecord {
    /// Measures, and writes every sample to the record, however the run ends. `begun` is called
    /// once the record exists.
    pub(super) fn measure(
        self,
        place: &Place,
        interrupt: &Interrupt,
        begun: impl FnOnce(),
    ) -> Result<(), WriteRecordError> {
        let (clock, reason) =
            Clock::choose_for(&self.cpus_with_stamps(), self.host.is_tsc_invariant);
        let (calibration, rate) = Calibration::begun(clock);
        let start = monotonic();
        let counts_in_software = self.counts_in_software;
        let latest_end = self.longest.map(|longest| start + longest);
        let (core_clock, core_counter, core_proof) = self.core_clock(clock);
        let runtimes = self.runtimes.launches.clone();
        let header = self.header(clock.facts(rate, reason), core_clock);
        let mut writer = SealedLog::<Line>::create(place.readers, &place.path, header.clone())?;
        begun();
        let bar = Bar::over(&header.plan);
        bar.say("proving the instruments");
        writer.append(&Line::SelfTest(core_proof))?;
        let counters = prove(&mut writer, &header, clock, rate, counts_in_software)?;
        // This process avoids the measured CPUs if there are others.
        let _away = pin(&remaining_cpus(&header)).ok();
        let mut watcher = Watcher {
            header: &header,
            latest_end,
            bar: &bar,
            interrupt,
        };
        let locks_memory = is_applied(&header.controls, "locked-memory");
        let mut since_sync = monotonic();
        let reason = switchcost_measure::measure(
            &header,
            Instruments {
                clock,
                rate,
                locks_memory,
                core_counter,
                runtimes,
                counters,
            },
            &mut ProcessExecutor,
            &mut watcher,
            &mut |line| append(&mut writer, &line, &mut since_sync),
        )?;
        let elapsed_ns = monotonic().saturating_sub(start);
        let switches = Some(switches_of_all());
        writer.append(&Line::End(End {
            reason,
            elapsed_ns,
            ticks_per_second: calibration.rate(),
            switches,
        }))?;
        writer.sync()?;
        bar.finish();
        Ok(())
    }

    /// Returns the CPUs on which tasks read the clock: all CPUs if some tasks are not pinned.
    fn cpus_with_stamps(&self) -> Vec<CpuId> {
        let is_unpinned = self
            .plan
            .cases
            .iter()
            .any(|case| case.placement.cpus.is_empty());
        if is_unpinned {
            self.host.cpus_allowed.clone()
        } else {
            self.plan.cpus()
        }
    }

    /// Returns the facts about the core's clock, a hardware counter of core cycles (`None` if there
    /// is none), and the known-answer test of that clock.
    fn core_clock(&self, clock: Clock) -> (CoreClock, Option<CycleEvent>, SelfTest) {
        let mut facts = core_clock::facts(clock);
        let measured = self.plan.cpus();
        let cpu = measured
            .first()
            .or(self.host.cpus_allowed.first())
            .copied()
            .unwrap_or(CpuId(0));
        let (counter, proof) = core_clock::prove(&core_clock::System, cpu, &mut facts);
        core_sharing::recall(&self.host, &mut facts);
        (facts, counter, proof)
    }

    fn header(self, clock: ClockFacts, core_clock: CoreClock) -> Header {
        let mut header = Header {
            schema: MEASURE_FORM.to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: stamp(self.now),
            command: redact::own_command(self.redaction.redact),
            seed: self.seed,
            host: self.host,
            clock,
            core_clock,
            controls: self.controls,
            runtimes: self.runtimes.facts,
            earlier: None,
            plan: self.plan,
        };
        header.earlier = self.history.map(|folder| folder.runs_before(&header));
        Header {
            host: redact::host(header.host, self.redaction.redact),
            ..header
        }
    }
}

/// Appends a line to the record, and syncs the record to the disk every few seconds.
fn append(
    writer: &mut SealedLog<Line>,
    line: &Line,
    since_sync: &mut Nanos,
) -> Result<(), WriteRecordError> {
    writer.append(line)?;
    if monotonic().saturating_sub(*since_sync) > Nanos::seconds(5) {
        writer.sync()?;
        *since_sync = monotonic();
    }
    Ok(())
}

fn is_applied(controls: &[Control], name: &str) -> bool {
    controls
        .iter()
        .any(|control| control.name == name && control.outcome == ControlOutcome::Applied)
}

fn remaining_cpus(header: &Header) -> Vec<CpuId> {
    let measured = header.plan.cpus();
    header
        .host
        .cpus_allowed
        .iter()
        .copied()
        .filter(|cpu| !measured.contains(cpu))
        .collect()
}

/// Runs the known-answer tests of the clock and the counters, and measures load latencies. Returns
/// the admitted counters in groups.
fn prove(
    writer: &mut SealedLog<Line>,
    header: &Header,
    clock: Clock,
    rate: TickRate,
    counts_in_software: bool,
) -> Result<Vec<Vec<String>>, WriteRecordError> {
    writer.append(&Line::SelfTest(switchcost_host::clock::prove(clock, rate)))?;
    let cpu = header.plan.cpus().first().copied();
    let (admitted, tests) = if header.plan.wants_counters {
        admit(&System, cpu)
    } else {
        Default::default()
    };
    tests
        .into_iter()
        .try_for_each(|test| writer.append(&Line::SelfTest(test)))?;
    if header
        .plan
        .cases
        .iter()
        .any(|case| !case.working_set.is_empty())
    {
        look_at_latencies(writer, header, clock)?;
    }
    if !counts_in_software && !admitted.iter().any(|event| event.is_hardware()) {
        return Ok(Vec::new());
    }
    let names = |share: Vec<_>| share.iter().map(ToString::to_string).collect();
    Ok(shares(&System, &admitted, cpu)
        .into_iter()
        .map(names)
        .collect())
}

fn look_at_latencies(
    writer: &mut SealedLog<Line>,
    header: &Header,
    clock: Clock,
) -> Result<(), WriteRecordError> {
    let cpu = header.plan.cpus().first().copied();
    let mut policies = header.plan.cases.iter().map(|case| case.policy);
    let policy = policies
        .find(|policy| policy.is_real_time())
        .unwrap_or(Policy::Other);
    let latencies = measure_latencies(clock, cpu, policy, &latency_plan(&header.host));
    latencies
        .into_iter()
        .try_for_each(|latency| writer.append(&Line::Latency(latency)))
}

struct Watcher<'a> {
    header: &'a Header,
    latest_end: Option<Nanos>,
    bar: &'a Bar,
    interrupt: &'a Interrupt,
}

impl Stop for Watcher<'_> {
    fn is_precise(&mut self, case: usize, cycles: &[Cycles]) -> bool {
        switchcost_analysis::is_case_done(self.header, case, cycles)
    }

    fn has_interval(&mut self, case: usize, cycles: &[Cycles]) -> bool {
        switchcost_analysis::has_interval(self.header, case, cycles)
    }

    fn latest_end(&self) -> Option<Nanos> {
        self.latest_end
    }

    fn should_stop(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn progress(&mut self, progress: Progress) {
        self.bar.show(progress);
    }

    fn resume(&mut self, pause: Pause) {
        say!("{}", pause_message(pause));
    }
}
