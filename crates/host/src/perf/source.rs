//! Sources of counters: the kernel, or a script in tests.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use perf_event::{Counter, Group, ReadFormat};
use switchcost_units::CpuId;

use super::Event;
use crate::unavailable::{Unavailable, WHOLE_CPU, unavailable};

/// Counts of a group of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Counts in the order of the group's events.
    pub values: Vec<u64>,
    /// Time for which the group was enabled.
    pub enabled: Duration,
    /// Time for which the group counted. The time is less than `enabled` if the CPU has too few
    /// counters.
    pub running: Duration,
}

impl Reading {
    /// Whether the group counted only part of the time.
    pub fn is_multiplexed(&self) -> bool {
        self.running < self.enabled
    }
}

/// Counters that are started, stopped and read together.
pub trait CounterGroup {
    /// Starts counting from zero.
    fn start(&mut self) -> io::Result<()>;

    /// Stops counting. The counts remain.
    fn stop(&mut self) -> io::Result<()>;

    /// Reads the counts of the group.
    fn read(&mut self) -> io::Result<Reading>;

    /// Whether the counters include kernel mode.
    fn counts_kernel(&self) -> bool;
}

/// Target of a group of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterTarget {
    /// The counters count one thread, given by its ID.
    Thread(i32),
    /// The counters count everything that runs on a CPU, including kernel mode.
    Cpu(CpuId),
}

/// Source of groups of counters.
pub trait CounterSource {
    /// Opens a group of `events` for a target.
    fn open(
        &self,
        events: &[Event],
        target: CounterTarget,
    ) -> Result<Box<dyn CounterGroup>, Unavailable>;
}

/// Highest level of perf_event_paranoid at which a user may count user mode of own tasks.
pub(super) const OWN_TASKS: i32 = 2;

/// The kernel's counters by perf_event_open.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

pub(super) struct KernelGroup {
    group: Group,
    /// Counters in the order of the events; `None` for the leader.
    members: Vec<Option<Counter>>,
    counts_kernel: bool,
}

impl CounterSource for System {
    fn open(
        &self,
        events: &[Event],
        target: CounterTarget,
    ) -> Result<Box<dyn CounterGroup>, Unavailable> {
        let is_hardware = events.iter().any(|event| event.is_hardware());
        let (first, level) = match target {
            CounterTarget::Cpu(_) => (open(events, target, true), WHOLE_CPU),
            // Kernel mode is excluded: at each switch of the task, the count would include the
            // kernel's work for the counters.
            CounterTarget::Thread(_) => (open(events, target, !is_hardware), OWN_TASKS),
        };
        let group = match first {
            Err(error) if is_permission(&error) && level == OWN_TASKS => {
                open(events, target, false)
            }
            first => first,
        };
        match group {
            Ok(group) => Ok(Box::new(group)),
            Err(error) => Err(unavailable(&error, events.len(), level)),
        }
    }
}

/// Opens a group that the first event leads. A task clock must be first: under another leader,
/// Linux 6.18 reads it as of the last timer tick, which the known-answer test has shown.
pub(super) fn open(
    events: &[Event],
    target: CounterTarget,
    counts_kernel: bool,
) -> io::Result<KernelGroup> {
    let leader = events
        .iter()
        .position(|event| *event == Event::TaskClock)
        .unwrap_or(0);
    let builder = |event: Event| {
        let mut builder = event.builder();
        match target {
            CounterTarget::Thread(thread) => builder.observe_pid(thread).any_cpu(),
            CounterTarget::Cpu(cpu) => builder.any_pid().one_cpu(cpu.0 as usize),
        };
        builder.exclude_kernel(!counts_kernel).exclude_hv(true);
        builder
    };
    let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
    let mut group = builder(events[leader])
        .read_format(ReadFormat::GROUP | ReadFormat::ID | times)
        .build_group()?;
    let mut members = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        members.push(if index == leader {
            None
        } else {
            Some(group.add(&builder(*event))?)
        });
    }
    Ok(KernelGroup {
        group,
        members,
        counts_kernel,
    })
}

impl KernelGroup {
    /// Returns the file descriptors of the counters in the order of the events.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.members.iter().map(|member| match member {
            Some(counter) => counter.as_raw_fd(),
            None => self.group.as_counter().as_raw_fd(),
        })
    }
}

fn is_permission(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

impl CounterGroup for KernelGroup {
    fn start(&mut self) -> io::Result<()> {
        self.group.reset()?;
        self.group.enable()
    }

    fn stop(&mut self) -> io::Result<()> {
        self.group.disable()
    }

    fn read(&mut self) -> io::Result<Reading> {
        let data = self.group.read()?;
        let missing = || io::Error::other("the kernel's reading lacks a counter of the group");
        let counter = |member: &'_ Option<Counter>| match member {
            Some(counter) => data.get(counter),
            None => data.get(self.group.as_counter()),
        };
        let values = self
            .members
            .iter()
            .map(|member| counter(member).map(|entry| entry.value()));
        Ok(Reading {
            values: values.collect::<Option<Vec<_>>>().ok_or_else(missing)?,
            enabled: data.time_enabled().ok_or_else(missing)?,
            running: data.time_running().ok_or_else(missing)?,
        })
    }

    fn counts_kernel(&self) -> bool {
        self.counts_kernel
    }
}
