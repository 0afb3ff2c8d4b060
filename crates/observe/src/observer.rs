//! An observation at work, by the best way that there is.

use observation::{CpuTime, Event, InScheduler, Lost, OwnCost, Pair, Source, Tasks};
use record::HostManifest;

use crate::by_bpf::ByBpf;
use crate::by_perf::ByPerf;
use crate::by_proc::ByProc;
use crate::container;
use crate::kernel::NoBpf;

/// What is counted besides switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Who woke whom: it makes a switch dearer by a third more.
    pub wants_wakers: bool,
    /// Each switch and wake-up of the observed, one by one: see [`Observer::take_events`].
    pub wants_events: bool,
    /// How long the scheduler takes at each switch, where the kernel has tracepoints at its entry and exit.
    pub wants_scheduler_time: bool,
    /// Counts and causes alone, without a clock: no times off the CPU, no neighbours, no memory.
    pub counts_only: bool,
    /// How much memory is touched, for which the kernel's marks of pages are cleared now and then.
    pub may_mark_pages: bool,
    /// Whether to do without programs in the kernel, even where it would take them.
    pub without_bpf: bool,
}

/// What was counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// How.
    pub source: Source,
    /// Why not in a way that tells more.
    pub not_counted_by: Vec<String>,
    /// What each CPU did.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks.
    pub tasks: Vec<Tasks>,
    /// What others did to them.
    pub pairs: Vec<Pair>,
    /// How long the scheduler took at switches of the observed; none where that was not asked for, or the kernel does not tell.
    pub in_scheduler: Option<InScheduler>,
    /// What found no room.
    pub lost: Lost,
    /// What counting cost in the kernel; the user's side is left at 0. None where it is not known.
    pub own_cost: Option<OwnCost>,
}

/// Counts until it is finished or dropped.
pub struct Observer {
    way: Way,
    /// Why not in a way that tells more, for each of those.
    why_not: Vec<String>,
}

enum Way {
    Bpf(Box<ByBpf>),
    Perf(Box<ByPerf>),
    Proc(ByProc),
}

impl Observer {
    /// Begins to count; nobody is observed yet. Where the kernel takes no programs of ours, its records of switches are read, and
    /// where it gives none, its counters.
    pub fn start(host: &HostManifest, options: Options) -> Observer {
        let by_bpf = if options.without_bpf { Err(NoBpf::NotAsked) } else { ByBpf::start(host, options) };
        let why_not_bpf = match by_bpf {
            Ok(bpf) => {
                let why_not = options.counts_only.then(|| "counts and causes are enough (--counts-only)".to_owned());
                return Observer { way: Way::Bpf(Box::new(bpf)), why_not: why_not.into_iter().collect() };
            }
            Err(why) => why.to_string(),
        };
        match ByPerf::start(host, options.may_mark_pages) {
            Ok(perf) => Observer { way: Way::Perf(Box::new(perf)), why_not: vec![why_not_bpf] },
            Err(why) => Observer { way: Way::Proc(ByProc::default()), why_not: vec![why_not_bpf, why.to_string()] },
        }
    }

    /// Why it is not counted by programs in the kernel.
    pub fn why_not_bpf(&self) -> Option<&str> {
        self.why_not.first().filter(|_| !matches!(self.way, Way::Bpf(_))).map(String::as_str)
    }

    /// Observes these processes, and but for the kernel's counters what they start from here on. Those observed already stay so.
    ///
    /// # Errors
    /// Where the kernel takes no more.
    pub fn add(&mut self, processes: impl IntoIterator<Item = u32>) -> Result<(), NoBpf> {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.add(processes),
            Way::Perf(perf) => {
                let processes: Vec<u32> = processes.into_iter().collect();
                if let Err(why) = perf.add(processes.iter().copied()) {
                    self.count_by_proc(why.to_string()).add(processes);
                }
                Ok(())
            }
            Way::Proc(proc) => {
                proc.add(processes);
                Ok(())
            }
        }
    }

    /// Observes every process that this one starts from here on, or no longer: those started before stay observed. The kernel's
    /// own counters know nobody's children: see [`Observer::add`].
    pub fn adopt_children(&mut self, is_on: bool) {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.adopt_children(is_on),
            Way::Perf(perf) => perf.adopt_children(is_on),
            Way::Proc(_) => {}
        }
    }

    /// Observes all tasks, those of the kernel too.
    pub fn add_all(&mut self) {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.add_all(),
            Way::Perf(_) => self.count_by_proc("its records of switches are of one's own tasks".to_owned()).add_all(),
            Way::Proc(proc) => proc.add_all(),
        }
    }

    /// Counts by the kernel's counters, where nobody has been observed yet.
    fn count_by_proc(&mut self, why: String) -> &mut ByProc {
        self.why_not.push(why);
        self.way = Way::Proc(ByProc::default());
        let Way::Proc(proc) = &mut self.way else { unreachable!("it was made here") };
        proc
    }

    /// Keeps up with tasks that end. To be called several times a second.
    pub fn tick(&mut self) {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.tick(),
            Way::Perf(perf) => perf.tick(),
            Way::Proc(proc) => proc.tick(),
        }
    }

    /// Hands over the switches and wake-ups since the last time, where they were asked for: those of one CPU in order. To be called
    /// several times a second; what finds no room meanwhile is lost and counted. Without programs in the kernel there are none.
    pub fn take_events(&mut self, take: impl FnMut(Event)) {
        if let Way::Bpf(bpf) = &mut self.way {
            bpf.take_events(take);
        }
    }

    /// What was counted so far. The observation goes on.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn so_far(&mut self) -> Result<Counted, NoBpf> {
        let counted = match &mut self.way {
            Way::Bpf(bpf) => bpf.so_far()?,
            Way::Perf(perf) => perf.so_far(),
            Way::Proc(proc) => proc.so_far(),
        };
        Ok(Counted { not_counted_by: self.why_not.clone(), ..counted })
    }

    /// Ends the observation.
    ///
    /// # Errors
    /// Where what was counted cannot be read any more.
    pub fn finish(self) -> Result<Counted, NoBpf> {
        let mut counted = match self.way {
            Way::Bpf(bpf) => bpf.finish()?,
            Way::Perf(perf) => perf.finish(),
            Way::Proc(mut proc) => proc.so_far(),
        };
        container::look_at(&mut counted.tasks);
        Ok(Counted { not_counted_by: self.why_not, ..counted })
    }
}
