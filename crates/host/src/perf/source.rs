//! Where counters come from: the kernel, or a script in tests.

use std::io;
use std::time::Duration;

use perf_event::{Counter, Group, ReadFormat};

use super::Event;

/// Why an event cannot be counted, with what helps where something does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

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
    let leader = events.iter().position(|event| *event == Event::TaskClock).unwrap_or(0);
    let builder = |event: Event| {
        let mut builder = event.builder();
        builder.observe_pid(thread).any_cpu().exclude_kernel(!counts_kernel).exclude_hv(true);
        builder
    };
    let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
    let mut group = builder(events[leader]).read_format(ReadFormat::GROUP | ReadFormat::ID | times).build_group()?;
    let mut members = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        members.push(if index == leader { None } else { Some(group.add(&builder(*event))?) });
    }
    Ok(KernelGroup { group, members, counts_kernel })
}

fn is_permission(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// Why so many events cannot be counted together, where the kernel allows it up to this level of perf_event_paranoid.
pub(crate) fn unavailable(error: &io::Error, events: usize, level: i32) -> Unavailable {
    Unavailable(match error.raw_os_error() {
        Some(libc::EINVAL) if events > 1 => {
            "found fewer counters on this CPU than events asked for together".to_owned()
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) => {
            "no such counter on this CPU, as in most virtual machines".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => needs_level(level),
        Some(libc::EMFILE | libc::ENFILE) => "found no file descriptor left; ulimit -n raises the limit".to_owned(),
        _ => format!("perf_event_open: {error}"),
    })
}

/// What to do about a kernel that refuses, where `needed` is the highest level at which it would not.
pub(super) fn needs_level(needed: i32) -> String {
    refused(&std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default(), needed)
}

fn refused(level: &str, needed: i32) -> String {
    let level = level.trim();
    if level.parse::<i32>().is_ok_and(|level| level <= needed) {
        return format!(
            "found perf_event_open refused, though kernel.perf_event_paranoid is {level}, need a process that may call \
             it; run outside the container, or start it with --cap-add=PERFMON and a seccomp profile that allows \
             perf_event_open"
        );
    }
    format!(
        "found kernel.perf_event_paranoid at {level}, need {needed} or less; sudo sysctl -w \
         kernel.perf_event_paranoid=1, and to make it last echo kernel.perf_event_paranoid=1 | sudo tee \
         /etc/sysctl.d/99-switchcost.conf"
    )
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
        let values = self.members.iter().map(|member| counter(member).map(|entry| entry.value()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paranoid_kernel_is_named_with_the_setting_that_helps() {
        assert_eq!(
            refused("4\n", 2),
            "found kernel.perf_event_paranoid at 4, need 2 or less; sudo sysctl -w kernel.perf_event_paranoid=1, and to \
             make it last echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/99-switchcost.conf"
        );
    }

    #[test]
    fn a_refusal_that_is_not_the_settings_says_so() {
        assert_eq!(
            refused("2\n", 2),
            "found perf_event_open refused, though kernel.perf_event_paranoid is 2, need a process that may call it; \
             run outside the container, or start it with --cap-add=PERFMON and a seccomp profile that allows \
             perf_event_open"
        );
    }

    #[test]
    fn every_other_refusal_is_put_into_words() {
        for (number, text) in [
            (libc::ENOENT, "no such counter on this CPU, as in most virtual machines"),
            (libc::EOPNOTSUPP, "no such counter on this CPU, as in most virtual machines"),
            (libc::EINVAL, "no such counter on this CPU, as in most virtual machines"),
            (libc::EMFILE, "found no file descriptor left; ulimit -n raises the limit"),
            (libc::ESRCH, "perf_event_open: No such process (os error 3)"),
        ] {
            assert_eq!(unavailable(&io::Error::from_raw_os_error(number), 1, OWN_TASKS).to_string(), text);
        }
        let too_many = unavailable(&io::Error::from_raw_os_error(libc::EINVAL), 2, OWN_TASKS);
        assert_eq!(too_many.to_string(), "found fewer counters on this CPU than events asked for together");
    }
}
