//! The tables of the BPF program, mapped into this process and read without system calls.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use switchcost_host::shared_file::SharedFile;
use switchcost_units::Nanos;
use zerocopy::{FromBytes, IntoBytes};

use crate::kernel::Kernel;
use crate::layout::{
    COUNTED_WORDS, COUNTING_WORDS, CPU_WORDS, CPUS, Control, Counted, Counting, Cpu,
    IN_SCHEDULER_WORDS, InScheduler, KERNEL_THREAD, MARKS_WORDS, Mark, Marks, TASK_WORDS, TASKS,
    Task, task_state,
};
use crate::totals::Totals;

/// Index of the word of a task that has the process ID in its upper half. The indices of other
/// words follow.
const TGID: usize = 0;
const FLAGS: usize = offset_of!(Task, flags) / 8;
const ON_SINCE: usize = offset_of!(Task, on_since) / 8;
const OFF_SINCE: usize = offset_of!(Task, off_since) / 8;
const VOLUNTARY: usize = offset_of!(Task, voluntary) / 8;
const INVOLUNTARY: usize = offset_of!(Task, involuntary) / 8;
const RUN_NS: usize = offset_of!(Task, run_ns) / 8;
const WAIT_NS: usize = offset_of!(Task, wait_ns) / 8;
const SINCE: usize = offset_of!(Cpu, since) / 8;
const REFUSED: usize = offset_of!(Counting, refused) / 8;

pub(crate) struct Tables {
    tasks: SharedFile,
    cpus: SharedFile,
    marks: SharedFile,
    control: SharedFile,
    /// Times inside the scheduler, by CPU; `None` if they are not measured.
    in_scheduler: Option<SharedFile>,
    /// Sums of hardware counters by task, and the state of the counters by CPU; `None` if they are
    /// not counted.
    counted: Option<(SharedFile, SharedFile)>,
}

impl Tables {
    pub(crate) fn map(kernel: &mut Kernel, has_counters: bool) -> io::Result<Tables> {
        let (in_scheduler, with_marks) = (kernel.has_scheduler_time(), kernel.with_marks());
        let mut map = |name, words| SharedFile::map(kernel.array(name)?, words);
        Ok(Tables {
            in_scheduler: in_scheduler
                .then(|| map("in_scheduler", CPUS * IN_SCHEDULER_WORDS))
                .transpose()?,
            counted: match has_counters {
                true => Some((
                    map("counted", TASKS * COUNTED_WORDS)?,
                    map("counting", CPUS * COUNTING_WORDS)?,
                )),
                false => None,
            },
            tasks: map("tasks", TASKS * TASK_WORDS)?,
            cpus: map("cpus", CPUS * CPU_WORDS)?,
            marks: map("marks", with_marks * MARKS_WORDS)?,
            control: map("control", Control::Count as usize)?,
        })
    }

    /// Reads the counts of a task. The kernel continues to write, so the counts of a running task
    /// may be from slightly different moments.
    pub(crate) fn task(&self, slot: usize) -> Task {
        let mut words = [0; TASK_WORDS];
        copy(
            &self.tasks.u64s()[slot * TASK_WORDS..][..TASK_WORDS],
            &mut words,
        );
        Task::read_from_bytes(words.as_bytes()).expect("as many bytes as it has")
    }

    /// Returns the state of a task's slot, reading only one word.
    pub(crate) fn state(&self, slot: usize) -> u32 {
        // The state is the upper half of the slot's second word.
        (self.tasks.u64s()[slot * TASK_WORDS + 1].load(Relaxed) >> 32) as u32
    }

    /// Returns the process of a slot's task; `None` unless the task is alive and not a kernel
    /// thread. Reads only a part of the slot: with many tasks, full reads would take most of the
    /// observer's time.
    pub(crate) fn process(&self, slot: usize) -> Option<u32> {
        let is_it = self.state(slot) == task_state::IN_USE
            && self.word(slot, FLAGS) as u32 & KERNEL_THREAD == 0;
        is_it.then(|| (self.word(slot, TGID) >> 32) as u32)
    }

    /// Returns the process of a slot's task; `None` unless the task is alive, not a kernel thread,
    /// and has switched. A process that has just started still has its parent's memory.
    pub(crate) fn process_that_switched(&self, slot: usize) -> Option<u32> {
        let has_switched = || self.word(slot, ON_SINCE) + self.word(slot, OFF_SINCE) > 0;
        self.process(slot).filter(|_| has_switched())
    }

    /// Whether the task of a slot has not left its CPU since it was first observed.
    pub(crate) fn has_left_none(&self, slot: usize) -> bool {
        self.word(slot, VOLUNTARY) + self.word(slot, INVOLUNTARY) == 0
    }

    fn word(&self, slot: usize, at: usize) -> u64 {
        self.tasks.u64s()[slot * TASK_WORDS + at].load(Relaxed)
    }

    /// Reads the totals of the task in a slot, without the rest of the slot.
    pub(crate) fn totals(&self, slot: usize) -> Totals {
        let word = |at| self.word(slot, at);
        Totals {
            voluntary: word(VOLUNTARY),
            involuntary: word(INVOLUNTARY),
            run: Nanos(word(RUN_NS)),
            wait: Nanos(word(WAIT_NS)),
        }
    }

    /// Sets the start of the busy or idle time of a CPU that has not switched yet.
    pub(crate) fn begin(&self, cpu: usize, now: Nanos) {
        self.cpus.u64s()[cpu * CPU_WORDS + SINCE].store(now.0, Relaxed);
    }

    /// Sets all words of a task's slot to 0.
    pub(crate) fn clear(&self, slot: usize) {
        for word in &self.tasks.u64s()[slot * TASK_WORDS..][..TASK_WORDS] {
            word.store(0, Relaxed);
        }
        let counted = self.counted.iter();
        for word in
            counted.flat_map(|(tasks, _)| &tasks.u64s()[slot * COUNTED_WORDS..][..COUNTED_WORDS])
        {
            word.store(0, Relaxed);
        }
    }

    /// Reads the sums of hardware counters of a task; `None` if they are not counted.
    pub(crate) fn counted(&self, slot: usize) -> Option<Counted> {
        let mut words = [0; COUNTED_WORDS];
        let (tasks, _) = self.counted.as_ref()?;
        copy(
            &tasks.u64s()[slot * COUNTED_WORDS..][..COUNTED_WORDS],
            &mut words,
        );
        Some(Counted::read_from_bytes(words.as_bytes()).expect("as many bytes as it has"))
    }

    /// Returns the number of readings of a CPU's counters that were discarded because the counters
    /// had not counted all the time.
    pub(crate) fn refused_readings(&self, cpu: usize) -> u64 {
        let of_cpu = |(_, cpus): &(SharedFile, SharedFile)| {
            cpus.u64s()[cpu * COUNTING_WORDS + REFUSED].load(Relaxed)
        };
        self.counted.as_ref().map_or(0, of_cpu)
    }

    pub(crate) fn cpu(&self, cpu: usize) -> Cpu {
        let mut words = [0; CPU_WORDS];
        copy(
            &self.cpus.u64s()[cpu * CPU_WORDS..][..CPU_WORDS],
            &mut words,
        );
        Cpu::read_from_bytes(words.as_bytes()).expect("as many bytes as it has")
    }

    /// Returns the first recorded moment of a CPU at or after a time; `None` if there is none.
    pub(crate) fn first_mark(&self, cpu: usize, moment: Nanos) -> Option<Mark> {
        let mut words = [0; MARKS_WORDS];
        let all = self.marks.u64s().get(cpu * MARKS_WORDS..)?;
        copy(all.get(..MARKS_WORDS)?, &mut words);
        let marks = Marks::read_from_bytes(words.as_bytes()).expect("as many bytes as it has");
        let since = marks.marks.into_iter().filter(|mark| mark.at >= moment.0);
        since.min_by_key(|mark| mark.at)
    }

    /// Reads the times inside the scheduler on a CPU; `None` if they are not measured.
    pub(crate) fn scheduler_time(&self, cpu: usize) -> Option<InScheduler> {
        let mut words = [0; IN_SCHEDULER_WORDS];
        copy(
            &self.in_scheduler.as_ref()?.u64s()[cpu * IN_SCHEDULER_WORDS..][..IN_SCHEDULER_WORDS],
            &mut words,
        );
        Some(InScheduler::read_from_bytes(words.as_bytes()).expect("as many bytes as it has"))
    }

    /// Sets the core and the last-level cache of a CPU.
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
