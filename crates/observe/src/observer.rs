//! Observes with the best available source of counts.

use std::collections::BTreeSet;

use switchcost_record::HostManifest;
use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::backend::Backend;
use crate::by_bpf::ByBpf;
use crate::by_perf::ByPerf;
use crate::by_proc::ByProc;
use crate::container;
use crate::kernel::NoBpf;
use crate::options::Options;
use crate::subject::GroupId;
use crate::totals::Totals;

/// The best available source, which counts until it is finished or dropped.
pub struct Observer {
    way: Way,
    /// For each more detailed source, the reason why it is not available.
    unavailable_because: Vec<String>,
    empty: Observation,
}

enum Way {
    Bpf(Box<ByBpf>),
    Perf(Box<ByPerf>),
    Proc(Box<ByProc>),
}

impl Way {
    /// Returns the most detailed source that is available, and why the more detailed ones are not.
    /// The order is: BPF programs, records of switches, counters in /proc.
    fn best(host: &HostManifest, options: Options) -> (Way, Vec<String>) {
        let by_bpf = if options.without_bpf {
            Err(NoBpf::NotAsked)
        } else {
            ByBpf::start(host, options)
        };
        let bpf_unavailable_because = match by_bpf {
            Ok(bpf) => {
                let reason = options
                    .counts_only
                    .then(|| "counts and causes are enough (--counts-only)".to_owned());
                return (Way::Bpf(Box::new(bpf)), reason.into_iter().collect());
            }
            Err(why) => why.to_string(),
        };
        match ByPerf::start(host) {
            Ok(perf) => (Way::Perf(Box::new(perf)), vec![bpf_unavailable_because]),
            Err(why) => (
                Way::Proc(Box::default()),
                vec![bpf_unavailable_because, why.to_string()],
            ),
        }
    }
}

impl Observer {
    /// Starts to count. No task is observed yet. `empty` is the record of this machine without
    /// counts.
    pub fn start(empty: Observation, options: Options) -> Observer {
        let (way, unavailable_because) = Way::best(&empty.host, options);
        Observer {
            way,
            unavailable_because,
            empty: Observation {
                no_calls_because: Some("only BPF programs trace system calls".to_owned()),
                ..empty
            },
        }
    }

    /// Returns why BPF programs are not available; `None` if they are used.
    pub fn bpf_unavailable_because(&self) -> Option<&str> {
        self.unavailable_because
            .first()
            .filter(|_| !matches!(self.way, Way::Bpf(_)))
            .map(String::as_str)
    }

    /// Changes to the counters in /proc, because the source does not work. Nothing may have been
    /// observed yet.
    fn count_by_proc(&mut self, why: String) -> &mut ByProc {
        self.unavailable_because.push(why);
        self.way = Way::Proc(Box::default());
        let Way::Proc(proc) = &mut self.way else {
            unreachable!("it was made here")
        };
        proc
    }
}

impl Backend for Observer {
    fn now(&self) -> Nanos {
        switchcost_host::clock::monotonic()
    }

    fn pause(&mut self, time: Nanos) {
        std::thread::sleep(time.as_duration());
    }

    fn own_cpu_time(&self) -> Nanos {
        Nanos(switchcost_host::usage::own_cpu_time().as_nanos() as u64)
    }

    fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf> {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.add(processes),
            Way::Perf(perf) => {
                if let Err(why) = perf.add(processes) {
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

    fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf> {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.add_threads(threads),
            Way::Perf(perf) => {
                if let Err(why) = perf.add_threads(threads) {
                    self.count_by_proc(why.to_string()).add_threads(threads);
                }
                Ok(())
            }
            Way::Proc(proc) => {
                proc.add_threads(threads);
                Ok(())
            }
        }
    }

    fn add_group(&mut self, group: GroupId) {
        if let Way::Bpf(bpf) = &mut self.way {
            bpf.add_group(group);
        }
    }

    fn add_names(&mut self, names: &[String]) {
        if let Way::Bpf(bpf) = &mut self.way {
            bpf.add_names(names);
        }
    }

    fn add_all(&mut self) {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.add_all(),
            Way::Perf(_) => self
                .count_by_proc("its records of switches are of one's own tasks".to_owned())
                .add_all(),
            Way::Proc(proc) => proc.add_all(),
        }
    }

    fn tick(&mut self) {
        match &mut self.way {
            Way::Bpf(bpf) => bpf.tick(),
            Way::Perf(perf) => perf.tick(),
            Way::Proc(proc) => proc.tick(),
        }
    }

    /// Passes on switches and wake-ups. Only BPF programs report switches and wake-ups.
    fn take_events(&mut self, take: &mut dyn FnMut(Event)) {
        if let Way::Bpf(bpf) = &mut self.way {
            bpf.take_events(take);
        }
    }

    fn processes(&self) -> BTreeSet<u32> {
        match &self.way {
            Way::Bpf(bpf) => bpf.processes(),
            Way::Perf(perf) => perf.processes(),
            Way::Proc(proc) => proc.processes(),
        }
    }

    fn totals(&self) -> Totals {
        match &self.way {
            Way::Bpf(bpf) => bpf.totals(),
            Way::Perf(perf) => perf.totals(),
            Way::Proc(proc) => proc.totals(),
        }
    }

    fn snapshot(&mut self) -> Result<Observation, NoBpf> {
        let counted = match &mut self.way {
            Way::Bpf(bpf) => bpf.snapshot(&self.empty)?,
            Way::Perf(perf) => perf.snapshot(&self.empty),
            Way::Proc(proc) => proc.snapshot(&self.empty),
        };
        Ok(Observation {
            not_counted_by: self.unavailable_because.clone(),
            ..counted
        })
    }

    fn finish(self) -> Result<Observation, NoBpf> {
        let mut counted = match self.way {
            Way::Bpf(bpf) => bpf.finish(&self.empty)?,
            Way::Perf(perf) => perf.finish(&self.empty),
            Way::Proc(mut proc) => proc.snapshot(&self.empty),
        };
        container::look_at(&mut counted.tasks);
        Ok(Observation {
            not_counted_by: self.unavailable_because,
            ..counted
        })
    }
}
