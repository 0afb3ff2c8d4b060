//! The numbers of drmemtrace's records, markers and file types, from its public header `trace_entry.h`.

/// Types of records in a drmemtrace file.
pub(super) mod kind {
    pub(in crate::import) const READ: u16 = 0;
    pub(in crate::import) const WRITE: u16 = 1;
    pub(in crate::import) const FIRST_PREFETCH: u16 = 2;
    pub(in crate::import) const LAST_PREFETCH: u16 = 9;
    pub(in crate::import) const FIRST_INSTRUCTION: u16 = 10;
    pub(in crate::import) const LAST_INSTRUCTION: u16 = 16;
    pub(in crate::import) const BUNDLE: u16 = 17;
    pub(in crate::import) const FIRST_FLUSH: u16 = 18;
    pub(in crate::import) const LAST_FLUSH: u16 = 21;
    pub(in crate::import) const THREAD: u16 = 22;
    pub(in crate::import) const THREAD_EXIT: u16 = 23;
    pub(in crate::import) const PROCESS: u16 = 24;
    pub(in crate::import) const HEADER: u16 = 25;
    pub(in crate::import) const FOOTER: u16 = 26;
    pub(in crate::import) const HARDWARE_PREFETCH: u16 = 27;
    pub(in crate::import) const MARKER: u16 = 28;
    pub(in crate::import) const NOT_FETCHED: u16 = 29;
    pub(in crate::import) const SYSENTER: u16 = 31;
    pub(in crate::import) const FIRST_LATER_PREFETCH: u16 = 32;
    pub(in crate::import) const LAST_LATER_PREFETCH: u16 = 46;
    pub(in crate::import) const ENCODING: u16 = 47;
    pub(in crate::import) const TAKEN_JUMP: u16 = 48;
    pub(in crate::import) const UNTAKEN_JUMP: u16 = 49;
}

/// Kinds of markers, stored in place of a record's size.
pub(super) mod marker {
    pub(in crate::import) const TIMESTAMP: u16 = 2;
    pub(in crate::import) const CPU: u16 = 3;
    pub(in crate::import) const FILE_TYPE: u16 = 9;
    pub(in crate::import) const WINDOW: u16 = 14;
    pub(in crate::import) const PHYSICAL_ADDRESS: u16 = 15;
    pub(in crate::import) const FILTER_ENDS: u16 = 23;
    pub(in crate::import) const SYSCALL: u16 = 25;
    pub(in crate::import) const MAY_BLOCK: u16 = 26;
    pub(in crate::import) const SYSCALL_TRACE_BEGINS: u16 = 27;
    pub(in crate::import) const SYSCALL_TRACE_ENDS: u16 = 28;
    pub(in crate::import) const CORE_WAITS: u16 = 32;
    pub(in crate::import) const CORE_IDLE: u16 = 33;
    pub(in crate::import) const SWITCH_TRACE_BEGINS: u16 = 34;
    pub(in crate::import) const SWITCH_TRACE_ENDS: u16 = 35;
    /// First number of the markers that later releases define or that the importer does not need.
    /// [`LAST_RESERVED`] is the last; markers of users follow.
    pub(in crate::import) const FIRST_LATER: u16 = 36;
    pub(in crate::import) const LAST_RESERVED: u16 = 100;
}

/// Bits of the file type.
pub(super) mod file_type {
    pub(in crate::import) const INSTRUCTIONS_ONLY: u64 = 0x4;
    pub(in crate::import) const AARCH64: u64 = 0x8;
    pub(in crate::import) const ARM32: u64 = 0x10;
    pub(in crate::import) const X86_32: u64 = 0x20;
    pub(in crate::import) const X86_64: u64 = 0x40;
    /// Bits of file types that were filtered by a cache: of both kinds, of instructions, of data.
    pub(in crate::import) const FILTERED: u64 = 0x1 | 0x80 | 0x100;
    pub(in crate::import) const FILTERED_AT_FIRST: u64 = 0x2000;
    pub(in crate::import) const TEMPLATES: u64 = 0x4000;
    pub(in crate::import) const KERNEL_INSTRUCTIONS_ONLY: u64 = 0x8000;
    pub(in crate::import) const CORE: u64 = 0x10000;
    pub(in crate::import) const REGDEPS: u64 = 0x20000;
    /// Bits above the highest file type that this importer knows.
    pub(in crate::import) const UNKNOWN: u64 = !0x7ffff;
}
