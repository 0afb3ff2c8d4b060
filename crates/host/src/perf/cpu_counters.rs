//! Counters of CPUs that a BPF program reads.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use switchcost_units::CpuId;

use super::source::{KernelGroup, open};
use super::{CounterTarget, Event};
use crate::unavailable::{Unavailable, WHOLE_CPU, unavailable};

/// Number of the command BPF_MAP_UPDATE_ELEM in linux/bpf.h.
const MAP_UPDATE_ELEM: libc::c_int = 2;

/// Counters of everything that runs on some CPUs, including kernel mode. The counters count until
/// dropped.
pub struct CpuCounters {
    _groups: Vec<KernelGroup>,
}

impl CpuCounters {
    /// Opens `events` on each CPU as one group, and stores their descriptors in a BPF map of perf
    /// events. The events of CPU number `c` are at index `places * c` plus the number that is given
    /// with each.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn place(
        events: &[(usize, Event)],
        cpus: &[CpuId],
        table: BorrowedFd<'_>,
        places: usize,
    ) -> Result<CpuCounters, Unavailable> {
        let kinds: Vec<Event> = events.iter().map(|(_, event)| *event).collect();
        let group = |cpu: &CpuId| {
            let mut group = open(&kinds, CounterTarget::Cpu(*cpu), true)?;
            super::CounterGroup::start(&mut group)?;
            for ((place, _), fd) in events.iter().zip(group.descriptors()) {
                set_element(table, (cpu.0 as usize * places + place) as u32, fd as u32)?;
            }
            Ok(group)
        };
        let groups = cpus.iter().map(group).collect::<io::Result<Vec<_>>>();
        match groups {
            Ok(_groups) => Ok(CpuCounters { _groups }),
            Err(error) => Err(unavailable(&error, events.len(), WHOLE_CPU)),
        }
    }
}

/// Part of the kernel's `union bpf_attr` that this call uses (bpf(2)).
#[repr(C)]
struct Element {
    table: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

fn set_element(table: BorrowedFd<'_>, key: u32, value: u32) -> io::Result<()> {
    let element = Element {
        table: table.as_raw_fd() as u32,
        unused: 0,
        key: &raw const key as u64,
        value: &raw const value as u64,
        flags: 0,
    };
    // SAFETY: reads the structure of that length, and a key and a value of 4 bytes each, which all live until it returns.
    let status = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            MAP_UPDATE_ELEM,
            &raw const element,
            size_of::<Element>(),
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
