//! Layout of the memory that traced processes share with this process, as in
//! `capture/valgrind/protocol.h`; a test compares the two. Offsets are in bytes.

pub(crate) const MAGIC: u64 = 0x6563_6172_7463_7331;
pub(crate) const VERSION: u32 = 13;
pub(crate) const SCHEDULED: u32 = 0;
pub(crate) const AS_RUN: u32 = 1;
pub(crate) const SYSTEM: u32 = 2;

/// Slot number that stands for no slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;
pub(crate) const NO_PROCESS: u32 = 0;
pub(crate) const NO_BUFFER: u64 = u64::MAX;
/// Order number of a buffer that has no position in the order of submission.
pub(crate) const NO_ORDER: u64 = u64::MAX;

pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    pub(crate) const MODE: usize = 12;
    pub(crate) const CONTROLLER_PID: usize = 16;
    pub(crate) const SLOTS: usize = 20;
    pub(crate) const BUFFERS: usize = 24;
    pub(crate) const BUFFER_WORDS: usize = 28;
    pub(crate) const SLOTS_OFFSET: usize = 32;
    pub(crate) const INFOS_OFFSET: usize = 40;
    pub(crate) const BUFFERS_OFFSET: usize = 48;
    pub(crate) const TOTAL_BYTES: usize = 56;
    pub(crate) const DOORBELL: usize = 64;
    pub(crate) const CONTROLLER_SLEEPS: usize = 68;
    pub(crate) const FREED: usize = 72;
    pub(crate) const IS_CLOSING: usize = 80;
    pub(crate) const FAULT: usize = 84;
    pub(crate) const NEXT_ORDER: usize = 88;
    pub(crate) const CURRENT_BUFFER: usize = 96;
    pub(crate) const CURRENT_WORDS: usize = 104;
    pub(crate) const FAULT_DETAIL: usize = 112;
    pub(crate) const IS_ALONE: usize = 120;
    pub(crate) const IS_STOPPING: usize = 124;
    pub(crate) const CPU: usize = 128;
    pub(crate) const SLOTS_USED: usize = 132;
    pub(crate) const SUBMISSIONS: usize = 136;
    pub(crate) const CONSUMER_SLEEPS: usize = 140;
    pub(crate) const RESTRICTED_PID: usize = 144;
    pub(crate) const UNDECODED_PID: usize = 148;
    pub(crate) const UNDECODED: usize = 152;
    pub(crate) const TRACING_PID: usize = 160;
    pub(crate) const NAMESPACE_PID: usize = 164;
    pub(crate) const RIGHTS_PID: usize = 168;
    pub(crate) const BYTES: usize = 248;
}

pub(crate) mod slot {
    pub(crate) const STATE: usize = 0;
    pub(crate) const GRANT: usize = 4;
    pub(crate) const PID: usize = 8;
    pub(crate) const TID: usize = 12;
    pub(crate) const PARENT: usize = 16;
    pub(crate) const WHY: usize = 20;
    pub(crate) const SYSCALL: usize = 24;
    pub(crate) const PROCESS_SLOT: usize = 28;
    pub(crate) const BUDGET: usize = 32;
    pub(crate) const OPEN_STAMP: usize = 40;
    pub(crate) const BACK: usize = 48;
    pub(crate) const IS_MAKING: usize = 80;
    pub(crate) const BYTES: usize = 128;
}

pub(crate) mod info {
    pub(crate) const STATE: usize = 0;
    pub(crate) const SLOT: usize = 4;
    pub(crate) const WORDS: usize = 8;
    pub(crate) const ORDER: usize = 16;
    pub(crate) const STAMP: usize = 24;
    pub(crate) const BYTES: usize = 32;
}

pub(crate) mod fault {
    pub(crate) const RSEQ: u32 = 2;
    pub(crate) const CPU: u32 = 3;
}

/// Numbers for the reasons why a task stopped executing traced code.
pub(crate) mod left {
    pub(crate) const SYSCALL: u64 = 0;
    pub(crate) const PREEMPTED: u64 = 1;
    pub(crate) const WAITING: u64 = 2;
    pub(crate) const LOCK: u64 = 3;
    pub(crate) const ENDED: u64 = 4;
}

pub(crate) mod state {
    pub(crate) const FREE: u32 = 0;
    pub(crate) const CLAIMED: u32 = 1;
    pub(crate) const QUEUED: u32 = 2;
    pub(crate) const GRANTED: u32 = 3;
    pub(crate) const IN_SYSCALL: u32 = 4;
    pub(crate) const ENDED: u32 = 5;
}

pub(crate) const WHY_QUANTUM: u32 = 2;
pub(crate) const WHY_SYSCALL: u32 = 3;
pub(crate) const WHY_SLEPT: u32 = 4;

pub(crate) mod buffer {
    pub(crate) const EMPTY: u32 = 0;
    pub(crate) const HELD: u32 = 1;
    pub(crate) const FULL: u32 = 2;
}

pub(crate) mod tag {
    pub(crate) const BLOCK: u64 = 0x00;
    pub(crate) const DEFINE: u64 = 0x02;
    pub(crate) const SYSCALL_ENTER: u64 = 0x03;
    pub(crate) const SYSCALL_EXIT: u64 = 0x04;
    pub(crate) const KERNEL_TOUCH: u64 = 0x05;
    pub(crate) const SWITCH: u64 = 0x06;
    pub(crate) const BIRTH: u64 = 0x07;
    pub(crate) const EXEC: u64 = 0x08;
    pub(crate) const EXIT: u64 = 0x09;
    pub(crate) const MAP: u64 = 0x0a;
    pub(crate) const UNMAP: u64 = 0x0b;
    pub(crate) const STAMP: u64 = 0x0c;
    pub(crate) const BORN: u64 = 0x0d;
    pub(crate) const LEAVE: u64 = 0x0e;
    pub(crate) const FORK: u64 = 0x0f;
    pub(crate) const PAGE: u64 = 0x10;
}

/// Numbers for the kinds of a reference's address.
pub(crate) mod how {
    #[cfg(test)]
    pub(crate) const EXPLICIT: u64 = 0;
    pub(crate) const FIXED: u64 = 1;
    pub(crate) const RELATIVE: u64 = 2;
    pub(crate) const GUARDED: u64 = 3;
}

/// Number of the bit that is set in the second word of a block's definition if the block is kernel
/// code.
pub(crate) const KERNEL_BIT: u32 = 47;

/// Address that is recorded for a guarded reference that did not happen.
pub(crate) const NOT_DONE: u64 = u64::MAX;

/// Returns the first word of a record. `words` is the number of further words.
pub(crate) const fn head(tag: u64, words: u64, immediate: u64) -> u64 {
    tag << 56 | words << 48 | immediate & 0xffff_ffff_ffff
}

#[cfg(test)]
mod tests;
