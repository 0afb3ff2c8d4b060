//! Attribution of cycles and evictions: to other processes and the kernel, to code and data, and to
//! system calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles that lookups took longer in the shared hierarchy than in the private one, by the reason
/// why the shared one had lost the line; see "Cycles lost" in `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostTo {
    /// Cycles for lines that were evicted while another process ran, by a line of that process.
    pub processes: u64,
    /// Cycles for lines that were evicted while another process ran, by a line of the kernel's half
    /// of all address spaces.
    pub kernel: u64,
    /// Cycles for lines that were evicted while the process itself ran, because other processes had
    /// made the lines older or occupied their ways.
    pub aged: u64,
    /// Cycles for lines that were lost when a switch emptied the level.
    pub flushed: u64,
    /// Cycles for lines that were evicted while the process itself ran, although no other process
    /// caused the eviction: the level's replacement policy orders a process's lines differently
    /// with and without other processes.
    pub state: u64,
    /// Cycles that no lost line explains: a difference in a victim cache or stream buffer, or a
    /// busy write buffer or bus.
    pub other: u64,
}

impl LostTo {
    /// Returns the sum over all reasons, in cycles.
    pub fn total(&self) -> u64 {
        [self.to_others(), self.state, self.other]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns the cycles caused by other processes, or by switches that empty a level.
    pub fn to_others(&self) -> u64 {
        [self.processes, self.kernel, self.aged, self.flushed]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// Cycles lost in all lookups, by the owner of the looked-up address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostCycles {
    /// Cycles lost in lookups of the programs' own addresses.
    pub programs: LostTo,
    /// Cycles lost in lookups of addresses in the kernel's half of all address spaces.
    pub kernel: LostTo,
}

impl LostCycles {
    /// Returns the sum over programs and kernel and over all reasons, in cycles.
    pub fn total(&self) -> u64 {
        self.programs.total().saturating_add(self.kernel.total())
    }

    /// Returns the cycles caused by other processes, or by switches that empty a level, for
    /// programs and kernel.
    pub fn to_others(&self) -> u64 {
        self.programs
            .to_others()
            .saturating_add(self.kernel.to_others())
    }

    /// Whether any lost cycles were caused by the kernel, or lost in lookups of the kernel's
    /// addresses.
    pub fn has_kernel(&self) -> bool {
        self.programs.kernel > 0 || self.kernel.total() > 0
    }
}

/// Cycles saved in the shared hierarchy relative to the private one, by the reason why the line was
/// found; see "Cycles gained" in `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GainedCycles {
    /// Cycles saved by lines that the process had used before, and that another process brought in
    /// again.
    pub others: u64,
    /// Cycles saved by lines of code that another process brought in before the process first
    /// requested them.
    pub first_touches_of_code: u64,
    /// Cycles saved by lines of data that another process brought in before the process first
    /// requested them.
    pub first_touches_of_data: u64,
    /// Cycles saved because replacement, prefetchers, buffers or buses were in another state than
    /// in the private hierarchy.
    pub state: u64,
}

impl GainedCycles {
    /// Returns the cycles saved at first touches of code and data. These savings occur once per
    /// line, and are not caused by switches.
    pub fn first_touches(&self) -> u64 {
        self.first_touches_of_code
            .saturating_add(self.first_touches_of_data)
    }
}

/// Lines that processes lost from one level of the shared hierarchy while they were away from the
/// CPU, summed over all switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingSetLoss {
    /// Name of the cache in the design.
    pub level: String,
    /// Number of switches to a process that had run before.
    pub returns: u64,
    /// Sum over all returns: number of lines that the process had in the level when it left the
    /// CPU.
    pub resident_at_departure: u64,
    /// Sum over all returns: number of lines that the process had in the level when it left the
    /// CPU, and that other processes or the kernel evicted before its return.
    pub lost: u64,
    /// Number of lost lines that a process brought in again before it next left the CPU.
    pub restored: u64,
}

/// Number of lines of one process that one other process or the kernel evicted, in one level of the
/// shared hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// Name of the cache in the design.
    pub level: String,
    /// Process whose line was filled, as an index into [`crate::result::Simulation::processes`];
    /// `None` for a line of the kernel's half of all address spaces, whichever process ran.
    pub evictor: Option<u32>,
    /// Process whose line was evicted, as an index into [`crate::result::Simulation::processes`];
    /// `None` for a line of the kernel.
    pub victim: Option<u32>,
    /// Number of the victim's lines that the evictor evicted.
    pub lines: u64,
}

/// A block of a program's code, or an address of its data, with the excess cycles of references
/// there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCost {
    /// Name of the program; untrusted text that must be escaped before it is shown. Invalid UTF-8
    /// is replaced.
    pub program: String,
    /// Reason why the task last left the CPU before the segment, as an index into
    /// [`crate::result::Simulation::causes`].
    pub cause: u32,
    /// Path of the file that is mapped at the address, if there is one; untrusted text that must be
    /// escaped before it is shown.
    pub object: Option<String>,
    /// GNU build ID of the mapped file in hexadecimal, if there is one.
    pub build_id: Option<String>,
    /// Offset of the place in the mapped file in bytes; the virtual address if no file is known. 0
    /// stands for all data of a program outside files: stack, heap, other anonymous memory.
    pub offset: u64,
    /// Name of the function or variable, if known. For kernel memory, a description of what the
    /// memory holds.
    pub symbol: Option<String>,
    /// Source file and line of the code, if known.
    pub line: Option<String>,
    /// Cycles in the shared hierarchy minus those in the private one. Negative if the shared
    /// hierarchy was faster, because another process had brought the line in.
    pub excess_cycles: i64,
}

/// A place whose lookups evicted lines of other processes from one cache of the shared hierarchy.
/// The kernel counts as a separate process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvictorPlace {
    /// Name of the cache in the design.
    pub level: String,
    /// Name of the program whose line was filled (untrusted text that must be escaped before it is
    /// shown); `None` for the kernel.
    pub program: Option<String>,
    /// Whether the filled line is code; otherwise it is data.
    pub is_code: bool,
    /// Path of the mapped file, as in [`PlaceCost::object`].
    pub object: Option<String>,
    /// Build ID of the mapped file, as in [`PlaceCost::build_id`].
    pub build_id: Option<String>,
    /// Offset of the place in the mapped file in bytes, as in [`PlaceCost::offset`].
    pub offset: u64,
    /// Name of the function or variable, as in [`PlaceCost::symbol`].
    pub symbol: Option<String>,
    /// Number of lines of other processes that the place's lookups evicted.
    pub lines: u64,
}

/// Work in the shared hierarchy during the calls of one system call in which the task kept the CPU,
/// from the entry into the kernel to the return, including interrupts and faults. Other calls are
/// only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// Name of the system call.
    pub syscall: String,
    /// Number of calls during which the task kept the CPU.
    pub calls: u64,
    /// Number of calls during which the task left the CPU; the sums do not include them.
    pub with_switch: u64,
    /// Number of instructions of the calls.
    pub instructions: u64,
    /// Number of cycles of the calls, including one per instruction.
    pub cycles: u64,
    /// Number of misses during the calls, for each cache and then each TLB.
    pub misses: Vec<u64>,
    /// Number of the calling process's lines that were evicted by lines of the kernel's half of all
    /// address spaces, for each cache.
    pub driven_out: Vec<u64>,
}

/// Work in the shared hierarchy during a batch of consecutive switches, for traces with kernel
/// instructions. A batch ends at the first switch of the next batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelBatch {
    /// Number of switches in the batch.
    pub switches: u64,
    /// Number of kernel instructions in the batch.
    pub instructions: u64,
    /// Cycles lost to other processes in the batch, as in [`LostTo::processes`].
    pub lost_to_processes: u64,
    /// Cycles lost to the kernel in the batch, as in [`LostTo::kernel`].
    pub lost_to_kernel: u64,
    /// Number of system calls during which the task kept the CPU, as in [`CallCost`].
    pub calls: u64,
    /// Number of instructions of the system calls counted in `calls`.
    pub call_instructions: u64,
    /// Number of cycles of the system calls counted in `calls`.
    pub call_cycles: u64,
    /// Number of lines filled on demand for addresses of the kernel's half, for each cache and then
    /// each TLB.
    pub fills: Vec<u64>,
}
