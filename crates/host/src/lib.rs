//! Internal to switchcost: facts about the machine, and guards for everything that has to be changed on it.
//!
//! What comes in: questions (what caches? which clock?) and wishes (pin me, lock my memory). What goes out: facts as
//! `record` types, and owned handles that restore what they changed when dropped. The only room with unsafe code and
//! raw system calls: each is wrapped here in a safe handle. No experiments, no statistics, no printing.

mod abandoned;
pub mod clock;
pub mod context;
pub mod control;
pub mod conversation;
pub mod core_clock;
pub mod counting_command;
pub mod cpu_claim;
pub mod cpu_limit;
pub mod doctor;
pub mod draft;
mod errno;
pub mod evidence;
pub mod facts;
mod fixed_addresses;
pub mod held;
pub mod ipc;
pub mod jumps;
pub mod limits;
pub mod live;
pub mod memory;
pub mod noise;
pub mod out_of_memory;
mod own_directory;
pub mod own_proc;
pub mod perf;
pub mod removal;
pub mod restorer;
mod rights;
pub mod secluded;
pub mod shared_file;
mod signal_action;
mod signal_set;
pub mod signals;
pub mod supervisor;
pub mod task;
pub mod temporary;
pub mod timer;
pub mod twin;
pub mod twin_group;
pub mod usage;
pub mod watcher;
mod windows;
