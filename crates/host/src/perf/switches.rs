//! Reads the kernel's records of task switches (PERF_RECORD_SWITCH). These records need no BPF
//! program, only access to the tasks.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;

use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};
use rustix::process::{Resource, getrlimit};
use switchcost_units::{CpuId, Nanos};

use super::source::OWN_TASKS;
use crate::unavailable::{Unavailable, unavailable};

/// Size of the record buffer of each CPU in bytes. By default any user may lock 512 KiB and a page
/// for each CPU (kernel.perf_event_mlock_kb).
const RING: usize = 256 << 10;

/// Number of open files that counters leave to the rest of the program, which reads the kernel's
/// files while it counts.
const SPARE: usize = 64;

// Number of PERF_RECORD_LOST in linux/perf_event.h.
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SWITCH: u32 = 14;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
const MISC_COMM_EXEC: u16 = 1 << 13;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;

/// A record about a task. Records of one CPU come in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchRecord {
    /// Time of the record, by CLOCK_MONOTONIC.
    pub at: Nanos,
    /// CPU of the record.
    pub cpu: CpuId,
    /// Process ID of the task.
    pub process: u32,
    /// Thread ID of the task.
    pub thread: u32,
    /// Kind of the record.
    pub kind: SwitchKind,
}

/// Kind of a switch record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// A task left its CPU.
    Left {
        /// Whether the task was still runnable. If so, the kernel counts the switch as involuntary.
        could_run: bool,
    },
    /// The task got a CPU.
    Came,
    /// A task was started.
    Started {
        /// Process that started the task.
        by_process: u32,
        /// Thread that started the task.
        by_thread: u32,
    },
    /// A task has a new name.
    Named {
        /// Name of the task up to the first 0. Untrusted: escape it before display.
        name: [u8; 16],
        /// Whether the task has executed another program, by which all other threads of its process
        /// end.
        is_exec: bool,
    },
    /// The task ends. The kernel does not report the task's last switch, which is voluntary.
    Ended,
    /// The buffer of the CPU was full, and records before this one were lost.
    Lost {
        /// Number of lost records.
        records: u64,
    },
}

/// Switch records of some tasks and of all tasks that they start.
pub struct SwitchRecords {
    /// Samplers of this thread's children, by CPU. The counters in `others` write into the same
    /// buffers.
    rings: Vec<(CpuId, Sampler)>,
    /// Counters of other threads, one for each CPU. The kernel ends the records of a thread's
    /// descendants with the thread's counters, so these stay open until all of them have ended.
    others: BTreeMap<AddedThread, Vec<Counter>>,
    last_added: u64,
    /// Number of records lost according to counters that are closed.
    lost_by_closed: u64,
}

/// A thread that was added to the records. Thread IDs are reused, these are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddedThread(u64);

impl SwitchRecords {
    /// Records the switches of this thread on `cpus`, and of tasks that this thread starts from now
    /// on.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn open_for_own_children(cpus: &[CpuId]) -> Result<SwitchRecords, Unavailable> {
        let ring = |&cpu: &CpuId| {
            let mut counting = event(0, cpu);
            // Before Linux 6.0, the records lost at the end cannot be counted.
            let counter = counting
                .read_format(ReadFormat::LOST)
                .build()
                .or_else(|_| event(0, cpu).build())?;
            Ok((cpu, counter.sampled(RING)?))
        };
        let rings = cpus
            .iter()
            .map(ring)
            .collect::<io::Result<_>>()
            .map_err(|error| explain_unavailable(&error))?;
        Ok(SwitchRecords {
            rings,
            others: BTreeMap::new(),
            last_added: 0,
            lost_by_closed: 0,
        })
    }

    /// Records the switches of another thread, and of tasks that it starts from now on, until
    /// [`SwitchRecords::close`].
    ///
    /// # Errors
    ///
    /// If the kernel refuses, or the limit on open files leaves no room.
    pub fn add(&mut self, thread: u32) -> Result<AddedThread, Unavailable> {
        let thread = i32::try_from(thread).map_err(|error| Unavailable(error.to_string()))?;
        let limit = getrlimit(Resource::Nofile).current;
        if !has_room(
            self.rings.len() * (1 + self.others.len()),
            self.rings.len(),
            limit,
        ) {
            let none_left = io::Error::from_raw_os_error(libc::EMFILE);
            return Err(explain_unavailable(&none_left));
        }
        let mut counters = Vec::new();
        for (cpu, ring) in &self.rings {
            let counter = event(thread, *cpu).read_format(ReadFormat::LOST).build();
            let counter = counter
                .or_else(|_| event(thread, *cpu).build())
                .map_err(|error| explain_unavailable(&error))?;
            // SAFETY: takes two descriptors of this process, and no pointer.
            if unsafe { libc::ioctl(counter.as_raw_fd(), IOC_SET_OUTPUT, ring.as_raw_fd()) } < 0 {
                return Err(explain_unavailable(&io::Error::last_os_error()));
            }
            counters.push(counter);
        }
        self.last_added += 1;
        let added = AddedThread(self.last_added);
        self.others.insert(added, counters);
        Ok(added)
    }

    /// Ends the records of an added thread and of all tasks that it has started.
    pub fn close(&mut self, added: AddedThread) {
        let mut counters = self.others.remove(&added).unwrap_or_default();
        self.lost_by_closed += counters.iter_mut().filter_map(lost_by).sum::<u64>();
    }

    /// Returns the number of records lost so far because a buffer was full, on all CPUs. The kernel
    /// also reports losses in the buffers, but only when the next record finds room.
    pub fn lost(&mut self) -> u64 {
        let rings = self.rings.iter_mut();
        let of_rings: u64 = rings.filter_map(|(_, ring)| lost_by(ring)).sum();
        let others = self.others.values_mut().flatten();
        of_rings + self.lost_by_closed + others.filter_map(lost_by).sum::<u64>()
    }

    /// Passes the records since the last call to `take`, CPU by CPU.
    pub fn read(&mut self, mut take: impl FnMut(SwitchRecord)) {
        for (_, ring) in &mut self.rings {
            while let Some(record) = ring.next_record() {
                if let Some(record) = parse(record.ty(), record.misc(), &record.to_contiguous()) {
                    take(record);
                }
            }
        }
    }
}

/// Returns the number of records that a counter has lost; `None` if the kernel does not count them.
fn lost_by(counter: &mut Counter) -> Option<u64> {
    counter.read_full().ok()?.lost()
}

/// Whether `more` counters can be opened in addition to `open` ones.
fn has_room(open: usize, more: usize, limit: Option<u64>) -> bool {
    limit.is_none_or(|limit| (open + more + SPARE) as u64 <= limit)
}

fn event(thread: i32, cpu: CpuId) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .observe_pid(thread)
        .one_cpu(cpu.0 as usize)
        .inherit(true)
        .enabled(true);
    // Switches are recorded anyway, and not every user may count events of kernel mode.
    builder.exclude_kernel(true).exclude_hv(true);
    builder
        .context_switch(true)
        .task(true)
        .comm(true)
        .comm_exec(true);
    builder
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU)
        .sample_id_all(true);
    // The reader polls, so the kernel need not wake it.
    builder.clockid(Clock::MONOTONIC).wakeup_watermark(RING);
    builder
}

fn explain_unavailable(error: &io::Error) -> Unavailable {
    unavailable(error, 1, OWN_TASKS)
}

/// Parses a record. The last fields of a record are the process ID and thread ID (32 bits each),
/// the time (64 bits), and the CPU (32 bits, then 32 unused bits).
fn parse(kind: u32, misc: u16, bytes: &[u8]) -> Option<SwitchRecord> {
    let (body, id) = bytes.split_at_checked(bytes.len().checked_sub(24)?)?;
    let small =
        |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(*bytes.get(4 * at..)?.first_chunk()?));
    let large =
        |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(*bytes.get(8 * at..)?.first_chunk()?));
    let mut record = SwitchRecord {
        at: Nanos(large(id, 1)?),
        cpu: CpuId(small(id, 4)?),
        process: small(id, 0)?,
        thread: small(id, 1)?,
        kind: SwitchKind::Came,
    };
    record.kind = match kind {
        SWITCH if misc & MISC_SWITCH_OUT != 0 => SwitchKind::Left {
            could_run: misc & MISC_SWITCH_OUT_PREEMPT != 0,
        },
        SWITCH => SwitchKind::Came,
        FORK => {
            (record.process, record.thread) = (small(body, 0)?, small(body, 2)?);
            SwitchKind::Started {
                by_process: small(body, 1)?,
                by_thread: small(body, 3)?,
            }
        }
        EXIT => {
            (record.process, record.thread) = (small(body, 0)?, small(body, 2)?);
            SwitchKind::Ended
        }
        COMM => {
            (record.process, record.thread) = (small(body, 0)?, small(body, 1)?);
            let mut name = [0; 16];
            name.iter_mut()
                .zip(body.get(8..)?)
                .for_each(|(to, from)| *to = *from);
            SwitchKind::Named {
                name,
                is_exec: misc & MISC_COMM_EXEC != 0,
            }
        }
        LOST => SwitchKind::Lost {
            records: large(body, 1)?,
        },
        _ => return None,
    };
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(body: &[u8]) -> Vec<u8> {
        let id = [7u32.to_ne_bytes(), 8u32.to_ne_bytes()].concat();
        let rest = [
            &1234u64.to_ne_bytes()[..],
            &3u32.to_ne_bytes(),
            &0u32.to_ne_bytes(),
        ]
        .concat();
        [body, &id, &rest].concat()
    }

    fn parsed(kind: u32, misc: u16, body: &[u8]) -> (u32, u32, SwitchKind) {
        let record = parse(kind, misc, &bytes(body)).expect("it is whole");
        assert_eq!((record.at, record.cpu), (Nanos(1234), CpuId(3)));
        (record.process, record.thread, record.kind)
    }

    #[test]
    fn counters_leave_room_for_other_files() {
        assert!(has_room(900, 60, Some(1024)) && has_room(1 << 20, 64, None));
        assert!(!has_room(901, 60, Some(1024)) && !has_room(2, 2, Some(64)));
    }

    #[test]
    fn records_are_those_of_the_kernels_header() {
        let out = MISC_SWITCH_OUT;
        assert_eq!(parsed(SWITCH, 0, &[]), (7, 8, SwitchKind::Came));
        assert_eq!(
            parsed(SWITCH, out, &[]),
            (7, 8, SwitchKind::Left { could_run: false })
        );
        assert_eq!(
            parsed(SWITCH, out | MISC_SWITCH_OUT_PREEMPT, &[]),
            (7, 8, SwitchKind::Left { could_run: true })
        );
        let of = |numbers: &[u32]| {
            numbers
                .iter()
                .flat_map(|number| number.to_ne_bytes())
                .collect::<Vec<u8>>()
        };
        let started = SwitchKind::Started {
            by_process: 7,
            by_thread: 8,
        };
        assert_eq!(
            parsed(FORK, 0, &of(&[20, 7, 21, 8, 1234, 0])),
            (20, 21, started)
        );
        assert_eq!(
            parsed(EXIT, 0, &of(&[20, 7, 21, 8, 1234, 0])),
            (20, 21, SwitchKind::Ended)
        );
        let named = [&of(&[20, 21])[..], b"sleep\0\0\0"].concat();
        let name = *b"sleep\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(
            parsed(COMM, MISC_COMM_EXEC, &named),
            (
                20,
                21,
                SwitchKind::Named {
                    name,
                    is_exec: true
                }
            )
        );
        assert_eq!(
            parsed(LOST, 0, &of(&[1, 0, 99, 0])),
            (7, 8, SwitchKind::Lost { records: 99 })
        );
        assert_eq!(
            (
                parse(SWITCH, 0, &[0; 23]),
                parse(FORK, 0, &bytes(&[0; 4])),
                parse(1, 0, &bytes(&[]))
            ),
            (None, None, None)
        );
    }
}
