//! Samples the stacks of observed tasks at one of every N switches, with a separate BPF program.
//!
//! Addresses are converted to places in files immediately, while the processes live. Names of
//! functions are looked up later, if symbols are known.

mod layout;
mod mappings;
mod runtime_code;
mod sums;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use switchcost_record::observation::SampledStacks;
use zerocopy::FromBytes;

use crate::kernel::{NoBpf, btf_error, refused, refused_program};
use layout::{Control, Sample};
use sums::Sums;

pub(crate) static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stacks.bpf.o"));

/// Time between two adjustments of the sampling rate.
const EACH: Duration = Duration::from_millis(100);

/// Number of switches per sample at the start, when the rate of switches is not known. The number
/// is so large that even the fastest programs do not fill the buffer between two reads.
const FIRST: u64 = 16;

/// A sampler of stacks, which works until it is dropped.
pub(crate) struct Stacks {
    ebpf: Ebpf,
    control: Array<MapData, Control>,
    processes: HashMap<MapData, u32, u32>,
    samples: RingBuf<MapData>,
    known: BTreeSet<u32>,
    per_second: u64,
    rate: Rate,
    sums: Sums,
}

impl Stacks {
    /// Loads the sampler for `per_second` switches per second. No task is sampled yet.
    pub(crate) fn start(per_second: u32) -> Result<Stacks, NoBpf> {
        if OBJECT.is_empty() {
            return Err(NoBpf::NotBuilt);
        }
        let btf = Btf::from_sys_fs().map_err(|error| btf_error(&error))?;
        let (mut loader, own_process) = (EbpfLoader::new(), std::process::id());
        loader
            .btf(Some(&btf))
            .override_global("own_process", &own_process, true);
        let mut ebpf = loader
            .load(OBJECT)
            .map_err(|error| refused("stacks", &error))?;
        let tables = |error: aya::maps::MapError| refused("the tables of stacks", &error.into());
        let control = Array::try_from(ebpf.take_map("control").expect("the program has it"))
            .map_err(tables)?;
        let processes = HashMap::try_from(ebpf.take_map("processes").expect("the program has it"))
            .map_err(tables)?;
        let samples = RingBuf::try_from(ebpf.take_map("samples").expect("the program has it"))
            .map_err(tables)?;
        let program: &mut BtfTracePoint = ebpf
            .program_mut("on_switch")
            .expect("the program has it")
            .try_into()
            .expect("a function at a tracepoint");
        let refused_stacks = |error| refused_program("to sample stacks", &error);
        program.load("sched_switch", &btf).map_err(refused_stacks)?;
        program.attach().map_err(refused_stacks)?;
        let per_second = u64::from(per_second);
        let (known, rate, sums) = (BTreeSet::new(), Rate::new(per_second), Sums::default());
        let mut stacks = Stacks {
            ebpf,
            control,
            processes,
            samples,
            known,
            per_second,
            rate,
            sums,
        };
        stacks.change(|control| control[0] = FIRST);
        Ok(stacks)
    }

    /// Samples the stacks of `processes` from now on.
    pub(crate) fn add(&mut self, processes: impl IntoIterator<Item = u32>) {
        for process in processes {
            if self.known.insert(process) {
                // A process for which the map has no room has no samples.
                let _ = self.processes.insert(process, 1, 0);
            }
        }
    }

    /// Samples the stacks of all tasks.
    pub(crate) fn add_all(&mut self) {
        self.change(|control| control[1] = 1);
    }

    /// Collects the samples, and adjusts the rate to the requested one. Must be called several
    /// times per second. `processes` returns the live observed processes.
    pub(crate) fn tick(&mut self, processes: impl FnOnce() -> BTreeSet<u32>) {
        self.take();
        let Some(every) = self.rate.look() else {
            return;
        };
        self.change(|control| control[0] = every);
        let alive = processes();
        for gone in self.known.difference(&alive) {
            // The kernel may give this process ID to another process.
            let _ = self.processes.remove(gone);
            self.sums.forget(*gone);
        }
        self.known.retain(|process| alive.contains(process));
        self.add(alive);
    }

    fn take(&mut self) {
        while let Some(item) = self.samples.next() {
            if let Ok(sample) = Sample::read_from_bytes(&item) {
                self.rate.taken += 1;
                self.sums.add(&sample);
            }
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Control)) {
        let mut control = self.control.get(&0, 0).unwrap_or_default();
        change(&mut control);
        let _ = self.control.set(0, control, 0);
    }

    /// Returns the loaded BPF programs. The run time of these programs is a cost of the
    /// observation.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &aya::programs::ProgramFd> {
        self.ebpf
            .programs()
            .filter_map(|(_, program)| program.fd().ok())
    }

    /// Ends the sampling, and returns all samples.
    pub(crate) fn finish(mut self) -> SampledStacks {
        self.take();
        let lost = self.control.get(&0, 0).unwrap_or_default()[2];
        self.sums.into_stacks(self.per_second, lost)
    }
}

/// Control of the number of switches per sample, which keeps the requested rate.
struct Rate {
    per_second: u64,
    every: u64,
    taken: u64,
    since: Instant,
}

impl Rate {
    fn new(per_second: u64) -> Rate {
        Rate {
            per_second,
            every: FIRST,
            taken: 0,
            since: Instant::now(),
        }
    }

    /// Returns the new number of switches per sample, if an adjustment is due.
    fn look(&mut self) -> Option<u64> {
        let elapsed = self.since.elapsed();
        let are_many = self.taken > self.per_second;
        if elapsed < EACH && !are_many {
            return None;
        }
        self.every = next(self.every, self.taken, self.per_second, elapsed);
        (self.taken, self.since) = (0, Instant::now());
        Some(self.every)
    }
}

/// Returns the number of switches per sample that would have given the requested rate. `taken`
/// samples were taken in `elapsed`, one at every `every` switches.
fn next(every: u64, taken: u64, per_second: u64, elapsed: Duration) -> u64 {
    let wanted = (per_second as f64 * elapsed.as_secs_f64()).max(1.0);
    ((every as f64 * taken as f64 / wanted).round() as u64)
        .max(1)
        .max(every / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_as_often_as_was_asked_for() {
        let second = Duration::from_secs(1);
        assert_eq!(next(1, 50_000, 100, second), 500);
        assert_eq!(next(500, 100, 100, second), 500);
        assert_eq!(next(500, 50, 100, second), 250);
        assert_eq!(next(500, 0, 100, second), 125, "a pause is not the end");
        assert_eq!(next(1, 3, 100, second), 1);
    }
}
