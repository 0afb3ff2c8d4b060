//! Layout of the data that the tracing BPF program writes, as in `bpf/calls.bpf.c`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum number of processes that are traced.
pub(crate) const PROCESSES: usize = 8;

pub(crate) const HAS_WOKEN: u8 = 1;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Call {
    /// Time of entry to the call, in nanoseconds on CLOCK_MONOTONIC.
    pub(crate) at: u64,
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) address: u32,
    pub(crate) result: i32,
    pub(crate) number: u16,
    pub(crate) next: u16,
    pub(crate) in_call_ns: u32,
    pub(crate) in_user_ns: u32,
    pub(crate) call_others_ns: u32,
    pub(crate) user_others_ns: u32,
    pub(crate) waits: u8,
    pub(crate) preemptions: u8,
    pub(crate) user_switches: u8,
    pub(crate) flags: u8,
}

/// Words that control the tracing: the number of the current slice, and the number of calls in all
/// slices that were lost because the buffer was full.
pub(crate) type Control = [u64; 2];

// Must match bpf/calls.bpf.c.
const _: () = assert!(size_of::<Call>() == 48 && size_of::<Control>() == 16);
