//! Workloads whose counts are known, one for each event.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};
use units::{Bytes, CpuId, Nanos};
use workload::{Access, Pages, Pattern, WorkingSet, prepare, walk};

use crate::clock::CpuClock;
use crate::control::pin;
use crate::memory::{Memory, Reach};

/// Memory and code of the larger workloads, made when first asked for and kept.
#[derive(Default)]
pub(super) struct Workbench {
    chase: Option<(WorkingSet, Memory)>,
    #[cfg(target_arch = "x86_64")]
    code: Option<(usize, code::JumpChain)>,
}

/// `rounds` rounds of exactly two instructions.
#[cfg(target_arch = "x86_64")]
pub(super) fn counted_loop(rounds: u64) {
    // SAFETY: counts a register down to zero; touches no memory and no stack.
    unsafe {
        std::arch::asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
}

/// Without a loop of known length the count comes out wrong, and the event is refused.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn counted_loop(_: u64) {}

/// Each waits for the one before.
pub(super) fn multiplications(count: u64) {
    let mut value = black_box(3_u64);
    let factor = black_box(5_u64);
    for _ in 0..count {
        value = value.wrapping_mul(factor);
        // Keeps the chain from being folded, at the cost of no instruction in it.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an empty piece of assembly that claims to change the register.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags));
        }
    }
    black_box(value);
}

/// Branches on the bits of a xorshift generator (Marsaglia 2003), which no predictor knows.
pub(super) fn random_branches(count: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    branches(count, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
}

/// Branches that are taken every other time.
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
        // The black boxes keep this a branch: without them a conditional move would do, or two rounds in one.
        if black_box(bits()) & 1 == 1 {
            taken = black_box(taken + 1);
        }
    }
    black_box(taken);
}

/// Touches so many base pages of new memory.
pub(super) fn touch_pages(pages: u64) {
    let Ok(memory) = Memory::map(Bytes(pages * 4096), Reach::Private, Pages::Base) else { return };
    for word in memory.iter().step_by(512) {
        word.store(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Gives up the CPU so many times by the kernel's accounts: a sleep whose end has come before it begins gives up nothing.
pub(crate) fn sleep(times: i64) {
    let Some(start) = voluntary_switches() else { return };
    while voluntary_switches().is_some_and(|now| now - start < times) {
        std::thread::sleep(Duration::from_micros(10));
    }
}

/// Of the calling thread, as the kernel has counted them.
fn voluntary_switches() -> Option<i64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing one rusage.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: of numbers only, and zeroed at first.
    let usage = unsafe { usage.assume_init() };
    (status == 0).then_some(usage.ru_nvcsw)
}

/// Lets itself be moved so many times, an even number, between the first two CPUs that it may run on.
pub(super) fn migrate(times: u32) {
    let [first, second, ..] = allowed_cpus()[..] else { return };
    let _home = pin(&[first]);
    for _ in 0..times / 2 {
        // There, and back when the guard is dropped.
        drop(pin(&[second]));
    }
}

/// The CPUs that the calling thread may run on.
pub(crate) fn allowed_cpus() -> Vec<CpuId> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).map(|cpu| CpuId(cpu as u32)).collect()
}

/// Burns 1 ms as the scheduler counts it.
pub(crate) fn burn_cpu_time() {
    let clock = CpuClock::of_thread(crate::task::current_tid());
    let Ok(start) = clock.read() else { return };
    while clock.read().is_ok_and(|now| now.saturating_sub(start) < Nanos::millis(1)) {}
}

impl Workbench {
    /// One load from each line, in random order.
    pub(super) fn chase_lines(&mut self, size: u64) {
        self.chase(size, 64);
    }

    /// So many loads, a multiple of 64, from the lines of one page.
    pub(super) fn chase_one_page(&mut self, loads: u64) {
        (0..loads / 64).for_each(|_| self.chase(4096, 64));
    }

    /// One load from each page, in random order.
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
            let Ok(memory) = Memory::map(set.size_bytes, Reach::Private, Pages::Base) else { return };
            prepare(&memory, &set, 1);
            self.chase = Some((set, memory));
        }
        if let Some((set, memory)) = &self.chase {
            walk(memory, set);
        }
    }

    /// Runs through so many bytes of code so many times, one jump a line.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn run_code(&mut self, size: usize, times: u32) {
        if self.code.as_ref().is_none_or(|(made, _)| *made != size) {
            self.code = code::JumpChain::new(size).ok().map(|chain| (size, chain));
        }
        if let Some((_, chain)) = &self.code {
            (0..times).for_each(|_| chain.run());
        }
    }

    /// Without code of known length the count comes out wrong, and the event is refused.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn run_code(&mut self, _: usize, _: u32) {}
}

/// Code that jumps from line to line.
#[cfg(target_arch = "x86_64")]
mod code {
    use std::ffi::c_void;
    use std::io;
    use std::ptr::NonNull;

    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

    const LINE: usize = 64;
    /// `jmp` over the rest of this line: opcode EB with a distance of 62 from the next instruction.
    const JUMP: [u8; 2] = [0xeb, (LINE - 2) as u8];
    const RETURN: u8 = 0xc3;

    /// A mapping of nothing but jumps, and a return in its last line; unmapped when dropped.
    pub(super) struct JumpChain {
        start: NonNull<c_void>,
        size: usize,
    }

    impl JumpChain {
        pub(super) fn new(size: usize) -> io::Result<JumpChain> {
            let writable = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new anonymous mapping touches no memory of ours.
            let address = unsafe { mmap_anonymous(std::ptr::null_mut(), size, writable, MapFlags::PRIVATE) }?;
            let start = NonNull::new(address).expect("the kernel maps nothing at address 0 unasked");
            let chain = JumpChain { start, size };
            // SAFETY: the mapping is ours, of this size, and zeroed.
            let bytes = unsafe { std::slice::from_raw_parts_mut(address.cast::<u8>(), size) };
            for line in bytes.chunks_exact_mut(LINE) {
                line[..2].copy_from_slice(&JUMP);
            }
            bytes[size - LINE] = RETURN;
            // SAFETY: the range is our mapping; from here on nobody writes to it.
            unsafe { mprotect(address, size, MprotectFlags::READ | MprotectFlags::EXEC) }?;
            Ok(chain)
        }

        pub(super) fn run(&self) {
            // SAFETY: the mapping holds a function without arguments that follows its jumps and returns.
            let function = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(self.start.as_ptr()) };
            function();
        }
    }

    impl Drop for JumpChain {
        fn drop(&mut self) {
            // SAFETY: the range is the one mapped in `new`.
            let _ = unsafe { munmap(self.start.as_ptr(), self.size) };
        }
    }

    #[test]
    fn the_chain_of_jumps_comes_to_its_end() {
        JumpChain::new(512 << 10).expect("executable memory").run();
    }
}
