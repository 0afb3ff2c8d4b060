//! Observes live tasks: number and causes of their switches, the other tasks involved, and times
//! off the CPU. Internal to switchcost.
//!
//! The input is the target and a duration; the output is an
//! [`switchcost_record::observation::Observation`]. This crate does not know the cost of a switch.
//! The program in `bpf/` counts inside the kernel; the crate loads it, sets its targets, collects
//! the sums of tasks that end before their slots are reused, and reads the rest. The crate has no
//! statistics and no printing.
//!
//! ```text
//!  observe (the loop) <──> Listener: informed during the run
//!     │  Target, Quotas, Moments, Requests
//!     v
//!  Backend: Observer ──> ByBpf ──(targets)──> the kernel's tracepoints: bpf/
//!     │                    ^                               │
//!     │                    └───(tasks, cpus: mapped; pairs)┘──> Sums
//!     ├──> ByPerf, if the kernel accepts no BPF programs: its records of switches ──> Sums
//!     └──> ByProc, if the kernel gives no such records: its own counters in /proc
//! ```

mod backend;
mod by_bpf;
mod by_perf;
mod by_proc;
mod calls;
mod command;
mod container;
mod counters;
mod cpus;
mod end;
mod error;
mod in_flight;
mod kernel;
mod kernel_counts;
mod layout;
mod longest;
mod looks;
mod memory;
mod moments;
mod notice;
mod observer;
mod older;
mod options;
mod own_cost;
mod processes;
mod quotas;
mod relatives;
mod requests;
mod run;
#[cfg(test)]
mod stack_depth;
mod stacks;
mod subject;
mod sums;
mod tables;
mod target;
mod totals;

pub use backend::Backend;
pub use command::{Command, Streams};
pub use error::ObserveError;
pub use kernel::NoBpf;
pub use looks::Looks;
pub use notice::Notice;
pub use observer::Observer;
pub use options::{CallTracing, Options};
pub use processes::Processes;
pub use requests::Requests;
pub use run::{Listener, Task, observe};
pub use subject::{GroupId, SubjectError};
pub use target::{Group, Target};
pub use totals::Totals;
