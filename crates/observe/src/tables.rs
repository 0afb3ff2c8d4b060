//! The tables of the program in the kernel, mapped: reading them takes no call.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use host::shared_file::SharedFile;
use zerocopy::{FromBytes, IntoBytes};

use crate::kernel::Kernel;
use crate::layout::{CPU_WORDS, CPUS, Control, Cpu, TASK_WORDS, TASKS, Task};

pub(crate) struct Tables {
    tasks: SharedFile,
    cpus: SharedFile,
    control: SharedFile,
}

impl Tables {
    pub(crate) fn map(kernel: &mut Kernel) -> io::Result<Tables> {
        let mut map = |name, words| SharedFile::map(kernel.array(name)?, words);
        Ok(Tables {
            tasks: map("tasks", TASKS * TASK_WORDS)?,
            cpus: map("cpus", CPUS * CPU_WORDS)?,
            control: map("control", Control::Count as usize)?,
        })
    }

    /// A task as it is now. The kernel goes on writing: sums of one that runs may be of slightly different times.
    pub(crate) fn task(&self, place: usize) -> Task {
        let mut words = [0; TASK_WORDS];
        copy(&self.tasks.u64s()[place * TASK_WORDS..][..TASK_WORDS], &mut words);
        Task::read_from_bytes(words.as_bytes()).expect("as many bytes as it has")
    }

    /// Whether a place is used, and whether by a task that has ended: without reading all of it.
    pub(crate) fn state(&self, place: usize) -> u32 {
        // The upper half of the second word.
        (self.tasks.u64s()[place * TASK_WORDS + 1].load(Relaxed) >> 32) as u32
    }

    /// Makes a place as it was at first.
    pub(crate) fn clear(&self, place: usize) {
        for word in &self.tasks.u64s()[place * TASK_WORDS..][..TASK_WORDS] {
            word.store(0, Relaxed);
        }
    }

    pub(crate) fn cpu(&self, cpu: usize) -> Cpu {
        let mut words = [0; CPU_WORDS];
        copy(&self.cpus.u64s()[cpu * CPU_WORDS..][..CPU_WORDS], &mut words);
        Cpu::read_from_bytes(words.as_bytes()).expect("as many bytes as it has")
    }

    /// Says who shares a CPU's core and its last-level cache.
    pub(crate) fn set_relatives(&self, cpu: usize, core: u32, cache: u32) {
        self.cpus.u64s()[cpu * CPU_WORDS].store(u64::from(core) | u64::from(cache) << 32, Relaxed);
    }

    pub(crate) fn control(&self, which: Control) -> &AtomicU64 {
        &self.control.u64s()[which as usize]
    }
}

fn copy(from: &[AtomicU64], to: &mut [u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.load(Relaxed);
    }
}
