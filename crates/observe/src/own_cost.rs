//! Measures the cost of the BPF programs by the kernel's accounting.
//!
//! The accounting is usually off, and takes two clock readings per call of a program, so it is
//! turned on for samples only.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use aya::programs::ProgramFd;
use aya::sys::{Stats, enable_stats};
use switchcost_units::Nanos;

/// Time in each second for which the accounting is on.
const SAMPLED: Duration = Duration::from_millis(100);
const EACH: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct OwnCost {
    sample: Option<Sample>,
    last: Option<Instant>,
    pub(crate) kernel: Nanos,
    pub(crate) measured: Nanos,
    pub(crate) switches: u64,
}

struct Sample {
    _accounts: OwnedFd,
    began: Instant,
    kernel: u64,
    switches: u64,
}

impl OwnCost {
    /// Begins and ends samples of the run time of the BPF programs. `run_time` returns the run time
    /// so far in nanoseconds; `switches` is the number of switches on all CPUs so far.
    pub(crate) fn tick(&mut self, run_time: impl Fn() -> u64, switches: u64) {
        match &self.sample {
            Some(sample) if sample.began.elapsed() >= SAMPLED => self.end(run_time, switches),
            Some(_) => {}
            None if self.last.is_none_or(|last| last.elapsed() >= EACH) => {
                self.last = Some(Instant::now());
                // If the kernel gives this process no accounts, no cost is reported.
                self.sample = enable_stats(Stats::RunTime).ok().map(|accounts| Sample {
                    _accounts: accounts,
                    began: Instant::now(),
                    kernel: run_time(),
                    switches,
                });
            }
            None => {}
        }
    }

    /// Ends the current sample, if there is one, however short it is.
    pub(crate) fn end(&mut self, run_time: impl Fn() -> u64, switches: u64) {
        let Some(sample) = self.sample.take() else {
            return;
        };
        self.measured.0 += sample.began.elapsed().as_nanos() as u64;
        self.kernel.0 += run_time().saturating_sub(sample.kernel);
        self.switches += switches.saturating_sub(sample.switches);
    }
}

/// Returns the run time of the programs in nanoseconds, for the time in which the kernel accounted
/// it.
pub(crate) fn run_time<'a>(programs: impl Iterator<Item = &'a ProgramFd>) -> u64 {
    programs
        .filter_map(|program| run_time_of(program.as_fd().as_raw_fd()).ok())
        .sum()
}

fn run_time_of(descriptor: i32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}"))?;
    let field = text
        .lines()
        .find_map(|line| line.strip_prefix("run_time_ns:"));
    Ok(field
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0))
}
