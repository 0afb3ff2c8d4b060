//! Workloads for the known-answer tests.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code;

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::{Access, Pages, Pattern, WorkingSet, prepare, walk};

use crate::clock::CpuClock;
use crate::control::pin;
use crate::memory::{MapType, Memory};

/// Memory and generated code for the larger workloads. Each is made at first use and then kept.
#[derive(Default)]
pub(super) struct Workbench {
    chase: Option<(WorkingSet, Memory)>,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    code: Option<(usize, code::JumpChain)>,
}

/// Runs `rounds` rounds of exactly two instructions.
#[cfg(target_arch = "x86_64")]
pub(super) fn counted_loop(rounds: u64) {
    // SAFETY: counts a register down to zero; touches no memory and no stack.
    unsafe {
        std::arch::asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
}

/// Runs `rounds` rounds of exactly two instructions.
#[cfg(target_arch = "aarch64")]
pub(super) fn counted_loop(rounds: u64) {
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
}

/// Does nothing on architectures other than x86-64 and aarch64. The count is then wrong, and the
/// event is refused.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn counted_loop(_: u64) {}

/// Executes `count` branches that no predictor can foresee: on the bits of a xorshift generator
/// (Marsaglia 2003).
pub(super) fn random_branches(count: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    branches(count, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
}

/// Executes `count` branches that are taken every second time.
pub(super) fn regular_branches(count: u64) {
    let mut state = black_box(0x5555_5555_5555_5555_u64);
    branches(count, || {
        state = state.rotate_left(1);
        state
    });
}

#[inline(always)]
fn branches(count: u64, mut bits: impl FnMut() -> u64) {
    let mut taken = 0_u64;
    for _ in 0..count {
        // The black boxes keep the branch. Without them the compiler could use a conditional move,
        // or merge two rounds.
        if black_box(bits()) & 1 == 1 {
            taken = black_box(taken + 1);
        }
    }
    black_box(taken);
}

/// Touches `pages` base pages of newly mapped memory.
pub(super) fn touch_pages(pages: u64) {
    let page = rustix::param::page_size();
    let Ok(memory) = Memory::map(Bytes(pages * page as u64), MapType::Private, Pages::Base) else {
        return;
    };
    for word in memory.iter().step_by(page / size_of::<u64>()) {
        word.store(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Gives up the CPU `times` times, as the kernel counts it. A sleep that is over before it begins
/// is not counted.
pub(crate) fn sleep(times: i64) {
    let Some(start) = voluntary_switches() else {
        return;
    };
    while voluntary_switches().is_some_and(|now| now - start < times) {
        std::thread::sleep(Duration::from_micros(10));
    }
}

/// Returns the number of voluntary switches of the calling thread, as the kernel counts them.
fn voluntary_switches() -> Option<i64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing one rusage.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of numbers only, and is zeroed first.
    let usage = unsafe { usage.assume_init() };
    (status == 0).then_some(usage.ru_nvcsw)
}

/// Makes the kernel move the thread `times` times (an even number) between the first two CPUs that
/// it may use.
pub(super) fn migrate(times: u32) {
    let [first, second, ..] = allowed_cpus()[..] else {
        return;
    };
    let _home = pin(&[first]);
    for _ in 0..times / 2 {
        // The thread moves to the second CPU here, and back when the guard is dropped.
        drop(pin(&[second]));
    }
}

/// Returns the CPUs that the calling thread may run on.
pub(crate) fn allowed_cpus() -> Vec<CpuId> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .map(|cpu| CpuId(cpu as u32))
        .collect()
}

/// Uses 1 ms of CPU time as the scheduler counts it.
pub(crate) fn burn_cpu_time() {
    let clock = CpuClock::thread_clock(crate::task::current_tid());
    let Ok(start) = clock.read() else { return };
    while clock
        .read()
        .is_ok_and(|now| now.saturating_sub(start) < Nanos::millis(1))
    {}
}

impl Workbench {
    /// Loads once from each line of `size` bytes, in random order.
    pub(super) fn chase_lines(&mut self, size: u64) {
        self.chase(size, 64);
    }

    /// Makes `loads` loads from the lines of one page; the number must be a multiple of 64.
    pub(super) fn chase_one_page(&mut self, loads: u64) {
        (0..loads / 64).for_each(|_| self.chase(4096, 64));
    }

    /// Loads once from each page of `size` bytes, in random order.
    pub(super) fn chase_pages(&mut self, size: u64) {
        self.chase(size, 4096);
    }

    fn chase(&mut self, size: u64, node: u64) {
        let set = WorkingSet {
            size_bytes: Bytes(size),
            stride_bytes: Bytes(node),
            access: Access::Read,
            pattern: Pattern::Chase,
            ..WorkingSet::NONE
        };
        if self.chase.as_ref().is_none_or(|(made, _)| *made != set) {
            let Ok(memory) = Memory::map(set.size_bytes, MapType::Private, Pages::Base) else {
                return;
            };
            prepare(&memory, &set, 1);
            self.chase = Some((set, memory));
        }
        if let Some((set, memory)) = &self.chase {
            walk(memory, set);
        }
    }

    /// Runs `size` bytes of generated code `times` times, with one jump per line.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn run_code(&mut self, size: usize, times: u32) {
        if self.code.as_ref().is_none_or(|(made, _)| *made != size) {
            self.code = code::JumpChain::new(size).ok().map(|chain| (size, chain));
        }
        if let Some((_, chain)) = &self.code {
            (0..times).for_each(|_| chain.run());
        }
    }

    /// Does nothing, because no code can be made on this architecture. The count is then wrong, so
    /// the test refuses the event.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn run_code(&mut self, _: usize, _: u32) {}
}
