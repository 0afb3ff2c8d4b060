//! The BPF program that counts switches: loads, attaches and removes it.

use std::io;

use aya::maps::{HashMap, MapData, Queue, RingBuf};
use aya::programs::iter::IterLinkId;
use aya::programs::{BtfTracePoint, Iter, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use rustix::process::{Resource, Rlimit, setrlimit};
use switchcost_host::signals::block_signals;
use switchcost_remedies::limit_remedy;

use crate::container;
use crate::layout::{CPUS, NeighbourWords, TASKS};
use crate::options::Options;

pub(crate) static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/switches.bpf.o"));

/// A function of the BPF program, with the tracepoint that calls it.
struct Hook {
    function: &'static str,
    tracepoint: &'static str,
    /// Whether counting is impossible without this function.
    is_needed: bool,
    /// Whether the function is useful with given options. A function that is not useful would cost
    /// a call at each event.
    is_wanted: fn(Options) -> bool,
}

const fn needed(function: &'static str, tracepoint: &'static str) -> Hook {
    Hook {
        function,
        tracepoint,
        is_needed: true,
        is_wanted: |_| true,
    }
}

const fn wanted(
    function: &'static str,
    tracepoint: &'static str,
    is_wanted: fn(Options) -> bool,
) -> Hook {
    Hook {
        function,
        tracepoint,
        is_needed: false,
        is_wanted,
    }
}

/// Hooks in the order in which they are attached.
const HOOKS: [Hook; 8] = [
    needed("on_fork", "sched_process_fork"),
    needed("on_rename", "task_rename"),
    wanted("on_attach", "cgroup_attach_task", |_| true),
    // Only some processors have this tracepoint. On others a page fault counts as an interrupt.
    wanted("on_fault", "page_fault_user", |_| true),
    wanted("on_waking", "sched_waking", |options| {
        options.wants_wakers || options.wants_events
    }),
    needed("on_switch", "sched_switch"),
    wanted("on_scheduler_entry", "sched_entry_tp", |options| {
        options.wants_scheduler_time
    }),
    wanted(SCHEDULER_EXIT, "sched_exit_tp", |options| {
        options.wants_scheduler_time
    }),
];

/// Name of the function that examines all tasks once. If the kernel cannot run the function, a
/// running task is first seen at its next switch.
const LOOK: &str = "on_look";

const SCHEDULER_EXIT: &str = "on_scheduler_exit";

/// Size in bytes of the ring buffer if no events are requested: the least that the kernel accepts.
const NO_STREAM: u32 = 4096;

/// Why switches cannot be counted by BPF. A message prints the reason after "switches are counted
/// without causes and competing tasks: ".
#[derive(Debug, thiserror::Error)]
pub enum NoBpf {
    /// The caller asked for the kernel's own counters.
    #[error("BPF programs are turned off (--no-bpf)")]
    NotAsked,
    /// The program was built without clang.
    #[error(
        "this program was built without clang; install it (sudo apt-get install clang libbpf-dev) and build again"
    )]
    NotBuilt,
    /// The kernel has no type information (BTF).
    #[error(
        "/sys/kernel/btf/vmlinux cannot be read ({0}); use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions build it"
    )]
    NoBtf(String),
    /// The kernel does not permit this process to load BPF programs.
    #[error(
        "loading BPF programs needs root, or cap_bpf and cap_perfmon; run it with sudo, or give them to the program (sudo \
         setcap cap_bpf,cap_perfmon,cap_sys_resource+ep switchcost)"
    )]
    NotAllowed,
    /// The process is in a PID namespace, and does not know the process IDs that BPF programs use.
    #[error(
        "this process is in another PID namespace, but BPF programs report the machine's PIDs; run switchcost outside of the \
         container, or the container with --pid=host"
    )]
    Inside,
    /// A limit on memory, files or the like is reached.
    #[error("cannot load BPF programs ({why}); {remedy}")]
    Limited {
        /// Error of the operating system.
        why: io::Error,
        /// Remedy for the limit.
        remedy: String,
    },
    /// The kernel lacks a feature, or refuses an operation for another reason.
    #[error(
        "the kernel refuses {what} ({why}); use Linux 5.13 or newer with BPF tracepoints, and no lockdown"
    )]
    Refused {
        /// Operation that was refused.
        what: String,
        /// Error of the kernel.
        why: String,
    },
}

impl NoBpf {
    /// Returns the error for tables that cannot be mapped.
    pub(crate) fn table_error(error: &io::Error) -> NoBpf {
        let refused = || NoBpf::Refused {
            what: "to share the program's tables".to_owned(),
            why: error.to_string(),
        };
        error
            .raw_os_error()
            .and_then(limited)
            .unwrap_or_else(refused)
    }
}

/// The loaded BPF program, with its tables. The program is removed when this value is dropped.
pub(crate) struct Kernel {
    ebpf: Ebpf,
    /// Number of CPUs whose moments are recorded ([`layout::Marks`]).
    with_marks: u32,
}

impl Kernel {
    /// Loads the BPF program. The program counts nothing until it is attached.
    pub(crate) fn load(options: Options, counters: u8) -> Result<Kernel, NoBpf> {
        if OBJECT.is_empty() {
            return Err(NoBpf::NotBuilt);
        }
        if !container::is_outside() {
            return Err(NoBpf::Inside);
        }
        // Before Linux 5.11 tables count as locked memory. If that limit cannot be raised, loading fails with a message.
        let _ = setrlimit(
            Resource::Memlock,
            Rlimit {
                current: None,
                maximum: None,
            },
        );
        let btf = Btf::from_sys_fs().map_err(|error| btf_error(&error))?;
        let mut loader = EbpfLoader::new();
        let (wants_events, counts_only) = (
            u8::from(options.wants_events),
            u8::from(options.counts_only),
        );
        let (wants_scheduler_time, own_process) =
            (u8::from(options.wants_scheduler_time), std::process::id());
        loader.btf(Some(&btf)).allow_unsupported_maps();
        loader
            .override_global("wants_events", &wants_events, true)
            .override_global("counts_only", &counts_only, true);
        loader.override_global("wants_scheduler_time", &wants_scheduler_time, true);
        loader.override_global("own_process", &own_process, true);
        loader.override_global("counters", &counters, true);
        if counters == 0 {
            for table in ["counter_events", "counted", "counting"] {
                loader.map_max_entries(table, 1);
            }
        }
        if !options.wants_scheduler_time {
            loader.map_max_entries("in_scheduler", 1);
        }
        let with_marks = if options.counts_only {
            1
        } else {
            possible_cpus()
        };
        loader.map_max_entries("marks", with_marks);
        if !options.wants_events {
            loader.map_max_entries(
                "events",
                rustix::param::page_size().max(NO_STREAM as usize) as u32,
            );
        }
        let mut ebpf = loader
            .load(OBJECT)
            .map_err(|error| refused("its tables", &error))?;
        for hook in HOOKS.iter().filter(|hook| (hook.is_wanted)(options)) {
            // The verifier aborts when a signal is pending (EAGAIN), and everything would be
            // repeated several times. So signals are handled between two programs only.
            let blocked = block_signals().ok();
            let loaded = point(&mut ebpf, hook).load(hook.tracepoint, &btf);
            drop(blocked);
            match loaded {
                Err(error) if hook.is_needed => {
                    return Err(refused_program(hook.tracepoint, &error));
                }
                _ => {}
            }
        }
        let look: &mut Iter = ebpf
            .program_mut(LOOK)
            .expect("the program has it")
            .try_into()
            .expect("an iterator");
        let blocked = block_signals().ok();
        let _ = look.load("task", &btf);
        drop(blocked);
        Ok(Kernel { ebpf, with_marks })
    }

    /// Returns the number of CPUs whose moments are recorded.
    pub(crate) fn with_marks(&self) -> usize {
        self.with_marks as usize
    }

    /// Attaches the BPF programs, so that counting begins.
    pub(crate) fn attach(&mut self) -> Result<(), NoBpf> {
        for hook in &HOOKS {
            match point(&mut self.ebpf, hook).attach() {
                Err(error) if hook.is_needed => {
                    return Err(refused_program(hook.tracepoint, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets the BPF program examine all tasks that run or wait for a CPU. These tasks are then
    /// observed from now on, not only from their next switch. Fails if the kernel does not support
    /// such an examination.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let look: &mut Iter = self
            .ebpf
            .program_mut(LOOK)
            .expect("the program has it")
            .try_into()
            .expect("an iterator");
        let link = look
            .attach()
            .and_then(|link: IterLinkId| look.take_link(link))
            .map_err(io::Error::other)?;
        io::copy(
            &mut link.into_file().map_err(io::Error::other)?,
            &mut io::sink(),
        )
        .map(drop)
    }

    /// Whether the time inside the scheduler is measured.
    pub(crate) fn has_scheduler_time(&self) -> bool {
        self.ebpf
            .program(SCHEDULER_EXIT)
            .is_some_and(|program| program.fd().is_ok())
    }

    /// Stops counting. The tables remain readable.
    pub(crate) fn detach(&mut self) {
        for hook in &HOOKS {
            // Nothing stays attached even if this fails: the kernel releases the program with its
            // last descriptor, at the latest when this process ends.
            let _ = point(&mut self.ebpf, hook).unload();
        }
    }

    /// Returns the loaded BPF programs.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &aya::programs::ProgramFd> {
        self.ebpf
            .programs()
            .filter_map(|(_, program)| program.fd().ok())
    }

    /// Returns a file descriptor of the BPF map `name`, an array.
    pub(crate) fn array(&mut self, name: &str) -> io::Result<std::os::fd::OwnedFd> {
        use std::os::fd::AsFd;
        match self.ebpf.map(name) {
            Some(aya::maps::Map::Array(array) | aya::maps::Map::PerfEventArray(array)) => {
                array.fd().as_fd().try_clone_to_owned()
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn targets(&mut self) -> Result<HashMap<&mut MapData, u32, u32>, NoBpf> {
        HashMap::try_from(map(&mut self.ebpf, "targets"))
            .map_err(|error| refused("targets", &error.into()))
    }

    pub(crate) fn names(&mut self) -> Result<HashMap<&mut MapData, [u8; 16], u8>, NoBpf> {
        HashMap::try_from(map(&mut self.ebpf, "names"))
            .map_err(|error| refused("names", &error.into()))
    }

    pub(crate) fn pairs(
        &mut self,
    ) -> Result<HashMap<&mut MapData, [u32; 2], NeighbourWords>, NoBpf> {
        HashMap::try_from(map(&mut self.ebpf, "pairs"))
            .map_err(|error| refused("pairs", &error.into()))
    }

    /// Returns the ring buffer `name`, which the BPF program fills.
    pub(crate) fn take_ring(&mut self, name: &str) -> Result<RingBuf<MapData>, NoBpf> {
        let ring = self.ebpf.take_map(name).expect("the program has it");
        RingBuf::try_from(ring).map_err(|error| refused(name, &error.into()))
    }

    /// Returns the queue of free slots for tasks. At first the queue contains all slots except 0,
    /// which stands for no slot.
    pub(crate) fn take_free_slots(&mut self) -> Result<Queue<MapData, u32>, NoBpf> {
        let slots = self
            .ebpf
            .take_map("free_slots")
            .expect("the program has it");
        let full = |error| refused("free_slots", &EbpfError::from(error));
        let mut slots: Queue<MapData, u32> = Queue::try_from(slots).map_err(full)?;
        // Slot 0 stands for no slot.
        for slot in 1..TASKS as u32 {
            slots.push(slot, 0).map_err(full)?;
        }
        Ok(slots)
    }
}

fn map<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut aya::maps::Map {
    ebpf.map_mut(name).expect("the program has it")
}

fn point<'a>(ebpf: &'a mut Ebpf, hook: &Hook) -> &'a mut BtfTracePoint {
    let program = ebpf.program_mut(hook.function).expect("the program has it");
    program.try_into().expect("a function at a tracepoint")
}

pub(crate) fn refused_program(what: &str, error: &ProgramError) -> NoBpf {
    name_error(what, error, error.to_string())
}

pub(crate) fn refused(what: &str, error: &EbpfError) -> NoBpf {
    name_error(what, error, error.to_string())
}

fn limited(number: i32) -> Option<NoBpf> {
    let why = io::Error::from_raw_os_error(number);
    limit_remedy(&why).map(|remedy| NoBpf::Limited { why, remedy })
}

pub(crate) fn btf_error(error: &BtfError) -> NoBpf {
    system_number(error)
        .and_then(limited)
        .unwrap_or_else(|| NoBpf::NoBtf(error.to_string()))
}

/// Returns the number of CPUs that may come online, at most [`CPUS`].
fn possible_cpus() -> u32 {
    aya::util::nr_cpus().map_or(CPUS, |cpus| cpus.min(CPUS)) as u32
}

/// Returns the system error number that is the source of an error; `None` if there is none.
fn system_number(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
    })
}

/// Converts an error by the system error that caused it. `what` is the operation that failed,
/// `words` the error's text.
fn name_error(what: &str, error: &(dyn std::error::Error + 'static), words: String) -> NoBpf {
    let system = system_number(error);
    // For a program that the verifier rejects, the kernel answers EACCES, even to root.
    if system == Some(rustix::io::Errno::PERM.raw_os_error()) {
        return NoBpf::NotAllowed;
    }
    if let Some(limited) = system.and_then(limited) {
        return limited;
    }
    // The verifier's log follows the first line. The log ends with the fault, and then with
    // statistics.
    let is_spent = |line: &&str| {
        ["processed ", "stack depth ", "verification time "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let mut lines = words.lines();
    let (first, last) = (
        lines.next().unwrap_or_default(),
        lines.rev().find(|line| !is_spent(line)),
    );
    let mut why = [Some(first), last]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ... ");
    // An error of a table does not contain the system's error.
    if let Some(error) = system.filter(|_| !words.contains("os error")) {
        why = format!("{why}: {}", io::Error::from_raw_os_error(error));
    }
    NoBpf::Refused {
        what: what.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_is_not_the_kernels_fault() {
        let refused =
            |number| NoBpf::table_error(&io::Error::from_raw_os_error(number)).to_string();
        assert_eq!(
            refused(rustix::io::Errno::MFILE.raw_os_error()),
            "cannot load BPF programs (Too many open files (os error 24)); raise the limit on this process's open \
             files: ulimit -n 4096 (permanently: nofile in /etc/security/limits.d)"
        );
        assert_eq!(
            refused(rustix::io::Errno::OPNOTSUPP.raw_os_error()),
            "the kernel refuses to share the program's tables (Operation not supported (os error 95)); use Linux 5.13 or newer \
             with BPF tracepoints, and no lockdown"
        );
        let table = aya::maps::MapError::CreateError {
            name: "cpus".to_owned(),
            io_error: io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error()),
        };
        assert_eq!(
            super::refused("its tables", &table.into()).to_string(),
            "the kernel refuses its tables (map error: failed to create map `cpus`: Permission denied (os error 13)); use \
             Linux 5.13 or newer with BPF tracepoints, and no lockdown"
        );
    }
}
