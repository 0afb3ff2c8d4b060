//! Internal to switchcost: physical quantities as types, so that nanoseconds cannot be added to bytes.
//!
//! What comes in: integers from clocks, files and flags. What goes out: the same integers with their unit.
//! No I/O, no floats: floats begin in `analysis`. [`Bytes`] and [`Nanos`] also parse and print the way flags write them.

mod bytes;
mod cpu;
mod time;

pub use bytes::{Bytes, ParseBytesError};
pub use cpu::{CpuId, ParseCpuListError, format_cpu_list, parse_cpu_list};
pub use time::{Nanos, ParseNanosError, TickRate, Ticks};
