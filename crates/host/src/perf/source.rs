//! Where counters come from: the kernel, or a script in tests.

use std::io;
use std::time::Duration;

use perf_event::{Counter, Group, ReadFormat};

use super::Event;
use crate::unavailable::{Unavailable, unavailable};

/// What a group has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// In the order of the group's events.
    pub values: Vec<u64>,
    /// How long the group was asked to count.
    pub enabled: Duration,
    /// How long it did: less where the CPU has fewer counters than were asked for.
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
    /// From zero.
    fn start(&mut self) -> io::Result<()>;

    /// Holds the counts.
    fn stop(&mut self) -> io::Result<()>;

    /// What was counted.
    fn read(&mut self) -> io::Result<Reading>;

    /// Whether the kernel's half is counted too.
    fn counts_kernel(&self) -> bool;
}

/// Opens groups of counters.
pub trait CounterSource {
    /// A group of these events on one thread, by the kernel's number of it.
    fn open(&self, events: &[Event], thread: i32) -> Result<Box<dyn CounterGroup>, Unavailable>;
}

/// The highest level of perf_event_paranoid at which a user may count the user's half of tasks of their own.
pub(super) const OWN_TASKS: i32 = 2;

/// The kernel's perf_event_open.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

struct KernelGroup {
    group: Group,
    /// In the order of the events; `None` is the leader.
    members: Vec<Option<Counter>>,
    counts_kernel: bool,
}

impl CounterSource for System {
    fn open(&self, events: &[Event], thread: i32) -> Result<Box<dyn CounterGroup>, Unavailable> {
        match open(events, thread, true) {
            Ok(group) => Ok(Box::new(group)),
            Err(error) if is_permission(&error) => match open(events, thread, false) {
                Ok(group) => Ok(Box::new(group)),
                Err(error) => Err(unavailable(&error, events.len(), OWN_TASKS)),
            },
            Err(error) => Err(unavailable(&error, events.len(), OWN_TASKS)),
        }
    }
}

/// The first event leads the group. A task clock has to: behind another leader Linux 6.18 reads it as it was at the last
/// timer tick, which the known-answer test has shown.
fn open(events: &[Event], thread: i32, counts_kernel: bool) -> io::Result<KernelGroup> {
    let leader = events
        .iter()
        .position(|event| *event == Event::TaskClock)
        .unwrap_or(0);
    let builder = |event: Event| {
        let mut builder = event.builder();
        builder
            .observe_pid(thread)
            .any_cpu()
            .exclude_kernel(!counts_kernel)
            .exclude_hv(true);
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
