//! The real preemptor of a service. The preemptor runs in its own process, which does nothing else.

use std::io::{self, Write};

use switchcost_host::clock::monotonic;
use switchcost_host::control::{StepsBelowTop, lock_memory, pin, set_policy};
use switchcost_host::live::LiveThread;
use switchcost_record::injection::Group;
use switchcost_record::{KernelSwitches, Policy};
use switchcost_units::{Bytes, Nanos, Ticks};

use super::phases::{ServiceControl, run_phases};
use super::work::Counter;
use super::{Reply, ServiceFault, ServiceOrder};
use crate::ask::refusal;
use crate::preemptor::Preemptor;

/// Number of touches in the running average, about as many as in ten phases. The first touches of a
/// phase take longest, because the service has used the caches in between. If the preemptor spun
/// for the time of the last touches, it would be away for too short a time.
const LATELY: f64 = 512.0;

/// Preempts the service until the order is done, and writes each group of phases immediately.
pub(crate) fn preempt(order: &ServiceOrder, output: &mut dyn Write) -> io::Result<()> {
    let outcome = perform(order, &mut |group| {
        say(output, &Reply::Group(Box::new(group)))
    });
    let last = match outcome {
        Ok(()) => Reply::Over,
        Err(ServiceFault::Ended(..)) => Reply::Ended,
        Err(fault) => Reply::Refused(fault.to_string()),
    };
    say(output, &last)
}

fn say(output: &mut dyn Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn perform(
    order: &ServiceOrder,
    say: &mut dyn FnMut(Group) -> io::Result<()>,
) -> Result<(), ServiceFault> {
    let refused = |error: io::Error| {
        let what = "the preemptor cannot have real-time priority";
        ServiceFault::Refused(refusal(what, &error))
    };
    // Before this process gets its real-time policy and its CPU.
    let counter = Counter::start(&order.work, order.id.thread, &order.other_cpus)?;
    let thread = LiveThread::open(order.id).map_err(|_| ended(order))?;
    let _pin = pin(&[order.cpu]).map_err(refused)?;
    let largest = order.footprints.iter().copied().max().unwrap_or(Bytes(0));
    let preemptor = Preemptor::new(order.clock, order.overhead, largest).map_err(refused)?;
    let _lock = lock_memory().ok();
    Preemptor::limit().map_err(refused)?;
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(1)).map_err(refused)?;
    let mut service = OnCpu {
        order,
        preemptor,
        counter,
        thread,
        took: Vec::new(),
    };
    // The first touch loads the memory into the caches.
    (0..2).for_each(|_| {
        service.took = order
            .footprints
            .iter()
            .map(|size| Took::new(service.preemptor.touch(*size)))
            .collect()
    });
    run_phases(&mut service, order, &mut |group| {
        say(group).map_err(|error| {
            ServiceFault::Refused(refusal("the results are no longer read", &error))
        })
    })
}

fn ended(order: &ServiceOrder) -> ServiceFault {
    ServiceFault::Ended(order.id.process, Nanos(0))
}

struct OnCpu<'a> {
    order: &'a ServiceOrder,
    preemptor: Preemptor,
    counter: Counter,
    thread: LiveThread,
    /// Recent average time for touching each footprint.
    took: Vec<Took>,
}

impl ServiceControl for OnCpu<'_> {
    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks> {
        self.preemptor.give_cpu(time)
    }

    fn touch(&mut self, footprint: usize) -> Ticks {
        if self.order.touches_nothing {
            return self.spin(footprint);
        }
        let took = self.preemptor.touch(self.order.footprints[footprint]);
        self.took[footprint].add(took);
        took
    }

    fn spin(&mut self, footprint: usize) -> Ticks {
        self.preemptor.spin(self.took[footprint].lately())
    }

    fn took(&self, footprint: usize) -> Nanos {
        self.order.rate.nanos(self.took[footprint].lately())
    }

    fn chain(&mut self, probes: u32) -> f64 {
        self.preemptor.chain(probes)
    }

    fn cpu_time(&mut self) -> Result<Nanos, ServiceFault> {
        self.thread.cpu_time().map_err(|_| ended(self.order))
    }

    fn counts(&mut self) -> Result<(u64, KernelSwitches), ServiceFault> {
        Ok((
            self.counter.read(&|| false)?,
            self.thread.switches().map_err(|_| ended(self.order))?,
        ))
    }

    fn now(&self) -> Nanos {
        monotonic()
    }
}

/// Running average of the time of touching a footprint, in ticks.
#[derive(Clone, Copy, Debug)]
struct Took {
    mean: f64,
    times: f64,
}

impl Took {
    fn new(first: Ticks) -> Took {
        Took {
            mean: first.0 as f64,
            times: 1.0,
        }
    }

    fn add(&mut self, time: Ticks) {
        self.times = (self.times + 1.0).min(LATELY);
        self.mean += (time.0 as f64 - self.mean) / self.times;
    }

    fn lately(self) -> Ticks {
        Ticks(self.mean.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows that a preemptor that spins does so for as long as all touches of a phase take; in
    /// each phase of 40 touches the first ten take twice as long.
    #[test]
    fn who_spins_does_so_for_as_long_as_all_touches_of_a_phase_take_in_the_mean() {
        let mut took = Took::new(Ticks(1_000));
        let phase = (0..40).map(|number| if number < 10 { 2_000 } else { 1_000 });
        (0..50)
            .flat_map(|_| phase.clone())
            .for_each(|time| took.add(Ticks(time)));
        let off = took.lately().0 as f64 / 1_250.0 - 1.0;
        assert!(off.abs() < 0.02, "{off}");
    }
}
