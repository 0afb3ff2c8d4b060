//! Internal to switchcost: physical quantities as types, so that nanoseconds cannot be added to bytes.
//!
//! The input is integers from clocks, files and flags. The output is the same integers with their
//! unit. This crate does no I/O. All values are integers; floating-point numbers occur only where
//! [`Nanos`] is parsed or printed. [`Bytes`] and [`Nanos`] also parse and print the notation of
//! flags.

mod bytes;
mod cpu;
mod time;

pub use bytes::{Bytes, ParseBytesError};
pub use cpu::{CpuId, ParseCpuListError, format_cpu_list, parse_cpu_list};
pub use time::{Nanos, ParseNanosError, TickRate, Ticks};
