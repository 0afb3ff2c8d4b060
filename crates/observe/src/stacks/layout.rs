//! Layout of the data that the sampling BPF program writes, as in `bpf/stacks.bpf.c`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum number of frames in a stack.
pub(crate) const DEPTH: usize = 127;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Sample {
    pub(crate) process: u32,
    pub(crate) waits: u32,
    /// Number of switches that the sample represents.
    pub(crate) switches: u64,
    depth: u64,
    pub(crate) name: [u8; 16],
    frames: [u64; DEPTH],
}

impl Sample {
    /// Returns the addresses of the user stack, the innermost frame first.
    pub(crate) fn frames(&self) -> &[u64] {
        &self.frames[..(self.depth as usize).min(DEPTH)]
    }
}

/// Words that control the sampling: number of switches per sample, whether all tasks are sampled,
/// and number of switches lost because the buffer was full.
pub(crate) type Control = [u64; 3];

// Must match bpf/stacks.bpf.c.
const _: () = assert!(size_of::<Sample>() == 1056 && size_of::<Control>() == 24);
