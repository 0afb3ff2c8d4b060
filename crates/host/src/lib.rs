//! Reads clocks and counters, and changes settings of the machine by guards that restore them.
//! Internal to switchcost.
//!
//! The input is queries (a clock, the number of switches) and requests (pin a thread, lock memory);
//! the output is `record` types, and owned handles that restore what they changed when dropped.
//! This is the only crate with unsafe code and raw system calls: each is wrapped in a safe handle.
//! The crate has no experiments, no statistics, no printing.

pub mod abandoned;
mod audit;
pub mod bounded;
pub mod cleanup;
pub mod cleanup_steps;
pub mod clock;
pub mod context;
pub mod control;
pub mod conversation;
pub mod core_clock;
pub mod counting_command;
pub mod cpu_claim;
pub mod cpu_limit;
pub mod draft;
mod errno;
pub mod evidence;
mod fixed_addresses;
pub mod foreign_file;
pub mod held;
pub mod ipc;
pub mod jumps;
pub mod live;
pub mod machine;
pub mod memory;
pub mod namespace_init;
pub mod noise;
pub mod out_of_memory;
mod own_directory;
pub mod own_environment;
pub mod own_proc;
pub mod pause;
pub mod perf;
mod scheduling;
pub mod setup;
pub mod shared_file;
mod signal_action;
mod signal_set;
pub mod signals;
pub mod stopped;
pub mod supervisor;
pub mod task;
pub mod temporary;
pub mod timer;
pub mod twin;
pub mod twin_group;
mod unavailable;
pub mod usage;
pub mod vector_state;
mod windows;
