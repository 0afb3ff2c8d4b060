//! Observes with BPF programs that the kernel's tracepoints call.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{Relaxed, Release};

use aya::maps::{MapData, Queue, RingBuf};
use switchcost_facts::Root;
use switchcost_host::perf::CpuCounters;
use switchcost_record::HostManifest;
use switchcost_record::observation::{
    CpuTime, Event, EventKind, Histogram, InScheduler, Lost, Observation, OwnCost, Source, Thread,
};
use switchcost_units::{CpuId, Nanos};
use zerocopy::{FromBytes, IntoBytes};

use crate::calls::{Calls, Observed};
use crate::counters::Counters;
use crate::cpus::Cpus;
use crate::in_flight::InFlight;
use crate::kernel::{Kernel, NoBpf};
use crate::layout::{self, Control, Neighbour, TASKS, target, task_state};
use crate::longest;
use crate::memory::{self, Memory};
use crate::options::Options;
use crate::own_cost;
use crate::relatives::relatives;
use crate::stacks::Stacks;
use crate::subject::{GroupId, name_in_kernel};
use crate::sums::Sums;
use crate::tables::Tables;
use crate::totals::Totals;

/// A source that counts until it is dropped. Nothing remains in the kernel afterwards, however this
/// process ends.
pub(crate) struct ByBpf {
    counters: Counters,
    _cpu_counters: Option<CpuCounters>,
    kernel: Kernel,
    tables: Tables,
    free_slots: Queue<MapData, u32>,
    ended: RingBuf<MapData>,
    events: RingBuf<MapData>,
    sums: Sums,
    /// Totals of ended tasks whose slots have been freed.
    ended_totals: Totals,
    own_cost: own_cost::OwnCost,
    memory: Memory,
    /// First slot of the next search for processes whose memory is read.
    first_with_memory: usize,
    counts_only: bool,
    cpus: Cpus,
    /// Counts of each CPU at the moment when the program had been attached to all tracepoints.
    cpus_before: Vec<CpuTime>,
    stacks: Option<Stacks>,
    calls: Calls,
}

impl ByBpf {
    /// Starts to count. No task is observed yet.
    pub(crate) fn start(host: &HostManifest, options: Options) -> Result<ByBpf, NoBpf> {
        let mut counters = if options.counts_only {
            Counters::default()
        } else {
            Counters::prove(host.cpus_allowed.first().copied())
        };
        let mut kernel = Kernel::load(options, counters.bits())?;
        let tables = Tables::map(&mut kernel, counters.bits() > 0)
            .map_err(|error| NoBpf::table_error(&error))?;
        let (free_slots, ended, events) = (
            kernel.take_free_slots()?,
            kernel.take_ring("ended")?,
            kernel.take_ring("events")?,
        );
        let cpus = Cpus::new(&host.cpus_online);
        set_relatives(&tables, &cpus);
        let stacks = options.stacks_per_second.map(Stacks::start).transpose()?;
        if !options.counts_only {
            let now = switchcost_host::clock::monotonic();
            cpus.known()
                .iter()
                .for_each(|cpu| tables.begin(cpu.0 as usize, now));
        }
        let cpu_counters = counters
            .open(&mut kernel, cpus.known())
            .unwrap_or_else(|why| {
                counters.refuse(&why);
                None
            });
        kernel.attach()?;
        let mut by_bpf = ByBpf {
            counters,
            _cpu_counters: cpu_counters,
            kernel,
            tables,
            free_slots,
            ended,
            events,
            sums: Sums::default(),
            ended_totals: Totals::default(),
            own_cost: own_cost::OwnCost::default(),
            memory: Memory::default(),
            first_with_memory: 0,
            counts_only: options.counts_only,
            cpus,
            cpus_before: Vec::new(),
            stacks,
            calls: Calls::new(options.calls, switchcost_host::clock::monotonic()),
        };
        by_bpf.cpus_before = by_bpf.cpus(&by_bpf.read_in_flight());
        Ok(by_bpf)
    }

    /// Observes `processes` and their future children.
    pub(crate) fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf> {
        if let Some(stacks) = &mut self.stacks {
            stacks.add(processes.iter().copied());
        }
        self.add_targets(processes, target::PROCESS)
    }

    /// Observes single threads.
    pub(crate) fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf> {
        self.add_targets(threads, target::THREAD)
    }

    fn add_targets(&mut self, numbers: &[u32], kind: u32) -> Result<(), NoBpf> {
        let mut targets = self.kernel.targets()?;
        let mut is_new = false;
        for number in numbers {
            let before = targets.get(number, 0).unwrap_or(0);
            if before & kind == 0 {
                is_new |= targets.insert(number, before | kind, 0).is_ok();
            }
        }
        if is_new {
            self.begin_new_targets();
        }
        Ok(())
    }

    fn begin_new_targets(&mut self) {
        self.tables
            .control(Control::Generation)
            .fetch_add(1, Relaxed);
        // If the kernel cannot do this, tasks are observed from their next switch on.
        let _ = self.kernel.look();
    }

    /// Returns the observed processes that have a live task.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        (1..TASKS)
            .filter_map(|slot| self.tables.process(slot))
            .collect()
    }

    /// Returns the sums over all observed tasks.
    pub(crate) fn totals(&self) -> Totals {
        let (mut totals, in_flight) = (self.ended_totals, self.read_in_flight());
        (1..TASKS)
            .filter(|&slot| self.tables.state(slot) != task_state::FREE)
            .for_each(|slot| totals.add(in_flight.with_run(slot, self.tables.totals(slot))));
        totals
    }

    fn read_in_flight(&self) -> InFlight {
        InFlight::look(
            &self.tables,
            self.cpus.known().iter().map(|cpu| cpu.0 as usize),
        )
    }

    /// Observes each task as soon as it enters the control group or a descendant of that group.
    pub(crate) fn add_group(&mut self, group: GroupId) {
        self.tables
            .control(Control::Hierarchy)
            .store(group.hierarchy, Relaxed);
        self.tables
            .control(Control::Group)
            .store(group.number, Release);
    }

    /// Observes each process as soon as it gets one of these names. Names for which there is no
    /// room are found by polling.
    pub(crate) fn add_names(&mut self, names: &[String]) {
        if let Ok(mut table) = self.kernel.names() {
            for name in names {
                let _ = table.insert(name_in_kernel(name.as_bytes()), 1, 0);
            }
        }
    }

    /// Observes all tasks, including the kernel's.
    pub(crate) fn add_all(&mut self) {
        if let Some(stacks) = &mut self.stacks {
            stacks.add_all();
        }
        self.tables.control(Control::All).store(1, Relaxed);
        self.begin_new_targets();
    }

    /// Collects the sums of ended tasks, and frees their slots. Must be called several times per
    /// second.
    pub(crate) fn tick(&mut self) {
        while let Some(item) = self.ended.next() {
            let slot = item
                .first_chunk()
                .map(|bytes| u32::from_ne_bytes(*bytes) as usize);
            drop(item);
            let Some(slot) = slot.filter(|slot| (1..TASKS).contains(slot)) else {
                continue;
            };
            let counted = self.counters.turns(&self.tables, slot);
            self.sums.add(
                &self.tables.task(slot),
                counted.as_ref(),
                Nanos(0),
                &self.memory,
            );
            self.ended_totals.add(self.tables.totals(slot));
            self.tables.clear(slot);
            // The queue has room for this slot, which was taken from it.
            let _ = self.free_slots.push(slot as u32, 0);
        }
        if self.cpus.have_come(&Root::system()) {
            set_relatives(&self.tables, &self.cpus);
        }
        if let Some(stacks) = &mut self.stacks {
            let tables = &self.tables;
            stacks.tick(|| {
                (1..TASKS)
                    .filter_map(|slot| tables.process_that_switched(slot))
                    .collect()
            });
        }
        self.trace_calls();
        let run_time = || run_time(&self.kernel, self.stacks.as_ref(), &self.calls);
        self.own_cost.tick(run_time, self.switches());
        self.memory
            .tick(|| processes(&self.tables, &mut self.first_with_memory));
    }

    fn trace_calls(&mut self) {
        let mut calls = std::mem::take(&mut self.calls);
        calls.tick(switchcost_host::clock::monotonic(), self);
        self.calls = calls;
    }

    /// Passes on the switches and wake-ups since the last call.
    pub(crate) fn take_events(&mut self, take: &mut dyn FnMut(Event)) {
        while let Some(item) = self.events.next() {
            if let Ok(event) = layout::Event::read_from_bytes(&item) {
                take(event_of(&event));
            }
        }
    }

    fn switches(&self) -> u64 {
        self.cpus
            .known()
            .iter()
            .map(|cpu| self.tables.cpu(cpu.0 as usize).switches)
            .sum()
    }

    /// Ends the observation, and returns its record. `empty` is the record without counts.
    pub(crate) fn finish(mut self, empty: &Observation) -> Result<Observation, NoBpf> {
        // The program must still be attached here, and is detached afterwards.
        let _ = self.kernel.look();
        let in_flight = self.read_in_flight();
        let switches = self.switches();
        self.own_cost.end(
            || run_time(&self.kernel, self.stacks.as_ref(), &self.calls),
            switches,
        );
        self.kernel.detach();
        let stacks = self.stacks.take().map(Stacks::finish);
        let calls = std::mem::take(&mut self.calls);
        let (calls, no_calls_because) = calls.finish(switchcost_host::clock::monotonic());
        Ok(Observation {
            stacks,
            calls,
            no_calls_because,
            ..self.read(&in_flight, empty)?
        })
    }

    /// Returns the counts so far, with the system calls of finished slices. `empty` is the record
    /// without counts.
    pub(crate) fn snapshot(&mut self, empty: &Observation) -> Result<Observation, NoBpf> {
        let _ = self.kernel.look();
        let in_flight = self.read_in_flight();
        let counted = self.read(&in_flight, empty)?;
        Ok(Observation {
            calls: self.calls.clone_ended(),
            no_calls_because: self.calls.missing_because(false),
            ..counted
        })
    }

    fn read(&mut self, in_flight: &InFlight, empty: &Observation) -> Result<Observation, NoBpf> {
        self.tick();
        let refused = |cpu: &CpuId| self.tables.refused_readings(cpu.0 as usize);
        let has_refused = self.cpus.known().iter().any(|cpu| refused(cpu) > 0);
        if has_refused {
            self.counters
                .refuse("the CPU's counters are taken: they counted only part of the time");
        }
        let mut sums = self.sums.clone();
        if has_refused {
            sums.forget_counted();
        }
        let mut waits = Vec::new();
        for slot in 1..TASKS {
            if self.tables.state(slot) != task_state::FREE {
                let mut task = self.tables.task(slot);
                let wait = in_flight.add_wait(slot, &mut task, &self.tables);
                in_flight.add_run(slot, &mut task);
                let counted = self.counters.turns(&self.tables, slot);
                sums.add(&task, counted.as_ref(), in_flight.now, &self.memory);
                if let Some((wait, shares)) = wait {
                    shares
                        .iter()
                        .for_each(|share| sums.add_neighbour(task.tgid, share));
                    waits.push(wait);
                }
            }
        }
        for ([process, _], words) in self.kernel.pairs()?.iter().flatten() {
            if let Ok(neighbour) = Neighbour::read_from_bytes(words.as_bytes()) {
                sums.add_neighbour(process, &neighbour);
            }
        }
        let longest_waits = longest::longest_waits(self.waits().chain(waits));
        let (pairs, waits) = (sums.take_pairs(), sums.take_waits());
        let control = |which| self.tables.control(which).load(Relaxed);
        let lost = Lost {
            tasks: control(Control::NoRoom),
            causes: control(Control::NoCause) + sums.lost_causes,
            pairs: control(Control::NoPair) + sums.lost_pairs,
            events: control(Control::NoEvent),
            ..Lost::default()
        };
        let own_cost = OwnCost {
            kernel_ns: self.own_cost.kernel,
            measured_ns: self.own_cost.measured,
            switches: self.own_cost.switches,
            user_ns: Nanos(0),
        };
        Ok(Observation {
            source: if self.counts_only {
                Source::BpfCounts
            } else {
                Source::Bpf
            },
            cpus: if self.counts_only {
                Vec::new()
            } else {
                self.cpus(in_flight)
            },
            tasks: sums.into_tasks(),
            pairs,
            waits,
            longest_waits,
            in_scheduler: self.scheduler_time(),
            lost,
            own_cost: Some(own_cost),
            counter_tests: self.counters.tests().to_vec(),
            ..empty.clone()
        })
    }

    /// Returns the longest waits that the tables have for each CPU.
    fn waits(&self) -> impl Iterator<Item = layout::Wait> {
        self.cpus
            .known()
            .iter()
            .flat_map(|cpu| self.tables.cpu(cpu.0 as usize).longest)
    }

    fn scheduler_time(&self) -> Option<InScheduler> {
        let mut sum = InScheduler::default();
        for cpu in self.cpus.known() {
            let counted = self.tables.scheduler_time(cpu.0 as usize)?;
            sum.ns.0 += counted.ns;
            sum.times.add(&Histogram::new(counted.times.map(u64::from)));
        }
        Some(sum)
    }

    fn cpus(&self, in_flight: &InFlight) -> Vec<CpuTime> {
        let time = |cpu: &CpuId| {
            let counted = self.tables.cpu(cpu.0 as usize);
            let (busy, idle) = in_flight.cpu_counts(&counted);
            let all = CpuTime {
                cpu: *cpu,
                switches: counted.switches,
                busy_ns: Nanos(counted.busy_ns + busy),
                idle_ns: Nanos(counted.idle_ns + idle),
            };
            let before = self.cpus_before.iter().find(|before| before.cpu == *cpu);
            before.map_or(all.clone(), |before| all.since(before))
        };
        self.cpus.known().iter().map(time).collect()
    }
}

impl Observed for ByBpf {
    fn cpu_time(&self) -> Nanos {
        self.totals().run
    }

    fn processes(&self) -> BTreeSet<u32> {
        (1..TASKS)
            .filter_map(|slot| self.tables.process_that_switched(slot))
            .collect()
    }
}

/// Returns the run time of all BPF programs in nanoseconds, for the time in which the kernel
/// accounted it.
fn run_time(kernel: &Kernel, stacks: Option<&Stacks>, calls: &Calls) -> u64 {
    own_cost::run_time(
        kernel
            .programs()
            .chain(stacks.into_iter().flat_map(Stacks::programs))
            .chain(calls.programs()),
    )
}

fn event_of(event: &layout::Event) -> Event {
    let thread = |thread: &layout::Thread| Thread {
        thread: thread.pid,
        process: thread.tgid,
        priority: thread.priority,
        name: thread.name,
    };
    let kind = if event.is_wakeup == 0 {
        EventKind::Switch {
            state: event.from.state,
        }
    } else {
        EventKind::Wakeup
    };
    Event {
        at: Nanos(event.at),
        cpu: CpuId(event.cpu),
        kind,
        from: thread(&event.from),
        to: thread(&event.to),
    }
}

/// Returns the observed processes that have switched. The kernel's own tasks are left out, because
/// they have no user memory. If there are too many processes, each call continues at another slot.
fn processes(tables: &Tables, first: &mut usize) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for slot in (*first..TASKS).chain(0..*first) {
        let Some(process) = tables.process_that_switched(slot) else {
            continue;
        };
        if found.len() == memory::PROCESSES && !found.contains(&process) {
            *first = slot;
            break;
        }
        found.insert(process);
    }
    found
}

fn set_relatives(tables: &Tables, cpus: &Cpus) {
    for (cpu, (core, cache)) in relatives(cpus.known()) {
        tables.set_relatives(cpu.0 as usize, core, cache);
    }
}
