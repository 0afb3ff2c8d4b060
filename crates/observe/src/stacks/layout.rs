//! What the program that samples stacks writes, as `bpf/stacks.bpf.c` lays it out.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Frames of a stack, at most.
pub(crate) const DEPTH: usize = 127;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Sample {
    pub(crate) process: u32,
    pub(crate) waits: u32,
    /// For so many it stands.
    pub(crate) switches: u64,
    depth: u64,
    pub(crate) name: [u8; 16],
    frames: [u64; DEPTH],
}

impl Sample {
    /// Addresses of the program, the innermost first.
    pub(crate) fn frames(&self) -> &[u64] {
        &self.frames[..(self.depth as usize).min(DEPTH)]
    }
}

/// How often it samples, whether of all tasks, and for how many switches there was no room.
pub(crate) type Control = [u64; 3];

// The same in bpf/stacks.bpf.c: who changes one sees the other.
const _: () = assert!(size_of::<Sample>() == 1056 && size_of::<Control>() == 24);
