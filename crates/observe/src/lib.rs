//! Observes live tasks: how often they are switched, why, by whom, and how long they are off their CPUs.
//!
//! What comes in: who is to be observed. What goes out: an [`observation::Observation`] without the cost of a switch, which
//! nobody here knows. The program in `bpf/` counts inside the kernel; this crate loads it, says whom it observes, takes the sums
//! of tasks that end before their places are needed again, and reads the rest. No statistics, no printing.
//!
//! ```text
//!  Observer ──> ByBpf ──(targets)──> the kernel's tracepoints: bpf/switches.bpf.c
//!     │           ^                               │
//!     │           └───(tasks, cpus: mapped; pairs)┘──> Sums ──> Counted
//!     ├──> ByPerf, where the kernel takes no programs of ours: its records of switches ──> Sums
//!     └──> ByProc, where it gives none of those: its own counters in /proc
//! ```

mod by_bpf;
mod by_perf;
mod by_proc;
mod container;
mod kernel;
mod layout;
mod memory;
mod observer;
mod own_cost;
mod relatives;
mod subject;
mod sums;
mod tables;

pub use kernel::NoBpf;
pub use observer::{Counted, Observer, Options};
pub use subject::{SubjectError, folder_of_group, processes_of};
