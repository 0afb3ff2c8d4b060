//! The attribution of cycles and evictions to other processes and the kernel, to code and data, and
//! to system calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles that lookups took longer in the shared hierarchy than in the private one, by the reason for which the line had left the
/// shared one; see "Cycles lost" in `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostTo {
    /// Cycles for lines that left while another process ran, evicted by a line of that process.
    pub processes: u64,
    /// Cycles for lines that left while another process ran, evicted by a line of the kernel's half
    /// of all address spaces.
    pub kernel: u64,
    /// Cycles for lines that left while the process itself ran, because other processes had aged
    /// the lines or taken their room.
    pub aged: u64,
    /// Cycles for lines that left because a switch emptied the level.
    pub flushed: u64,
    /// Cycles for lines that left while the process itself ran, although no process caused this:
    /// the level does not keep a process's own lines in the order that they would have alone.
    pub state: u64,
    /// Cycles that no lost line explains: a victim cache or stream buffer differs, or a write
    /// buffer or bus is busy.
    pub other: u64,
}

impl LostTo {
    /// Returns the sum of the cycles for all reasons.
    pub fn total(&self) -> u64 {
        [self.to_others(), self.state, self.other]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns the cycles that other processes, or switches that empty a level, caused.
    pub fn to_others(&self) -> u64 {
        [self.processes, self.kernel, self.aged, self.flushed]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// All cycles lost in lookups, by the owner of the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostCycles {
    /// Lookups of addresses of the processes.
    pub programs: LostTo,
    /// Lookups of addresses of the kernel's half of all address spaces.
    pub kernel: LostTo,
}

impl LostCycles {
    /// Returns the sum of programs and kernel.
    pub fn total(&self) -> u64 {
        self.programs.total().saturating_add(self.kernel.total())
    }

    /// Returns the cycles that other processes, or switches that empty a level, caused.
    pub fn to_others(&self) -> u64 {
        self.programs
            .to_others()
            .saturating_add(self.kernel.to_others())
    }

    /// Whether the kernel caused or lost any of the lost cycles.
    pub fn has_kernel(&self) -> bool {
        self.programs.kernel > 0 || self.kernel.total() > 0
    }
}

/// Cycles saved in the shared hierarchy relative to the private one, by the kind of line found; see "Cycles gained" in
/// `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GainedCycles {
    /// Cycles saved by lines that the process had had before, and that another process brought in
    /// again.
    pub others: u64,
    /// Cycles saved by lines of code that another process brought in before the process first
    /// requested them.
    pub first_touches_of_code: u64,
    /// Cycles saved by lines of data that another process brought in before the process first
    /// requested them.
    pub first_touches_of_data: u64,
    /// Cycles saved because the state of replacement, prefetch, buffers or buses differs.
    pub state: u64,
}

impl GainedCycles {
    /// Returns the cycles saved at first touches, which happen once and are no property of
    /// switches.
    pub fn first_touches(&self) -> u64 {
        self.first_touches_of_code
            .saturating_add(self.first_touches_of_data)
    }
}

/// Effect of switches on the lines of processes in one level of the shared hierarchy, summed over all switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingSetLoss {
    /// Name of the level.
    pub level: String,
    /// Number of switches at which a process that had left the CPU gets it again.
    pub returns: u64,
    /// Number of lines that the process had in the level when it left the CPU.
    pub resident_at_departure: u64,
    /// Number of lines that the process had in the level when it left the CPU, and that others
    /// evicted before it returned.
    pub lost: u64,
    /// Number of lost lines that the process brought in again before it next left the CPU.
    pub restored: u64,
}

/// Evictions of one process's lines by another process or the kernel, in one level of the shared
/// hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// Name of the level.
    pub level: String,
    /// Process that brought a line in, as an index into [`crate::result::Simulation::processes`]; `None` for a line of the kernel's
    /// half of all address spaces, whichever process ran.
    pub evictor: Option<u32>,
    /// Process whose line left, as an index into [`crate::result::Simulation::processes`]; `None` for the kernel's.
    pub victim: Option<u32>,
    /// Number of evicted lines.
    pub lines: u64,
}

/// A block of a program's code, or an address of its data, with the excess cycles that arise there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCost {
    /// Name of the program; hostile text until escaped, made UTF-8 with replacement characters.
    pub program: String,
    /// Cause of the task's last switch away before the segment, as an index into [`crate::result::Simulation::causes`].
    pub cause: u32,
    /// Path of the file that is mapped at the address, if there is one; hostile text until escaped.
    pub object: Option<String>,
    /// GNU build ID of the mapped file in hexadecimal, if there is one.
    pub build_id: Option<String>,
    /// Offset of the place in the mapped file; the virtual address if no file is known. 0 stands
    /// for all data of a program outside files: stack, heap, other anonymous memory.
    pub offset: u64,
    /// Name of the function or variable, if known; for kernel memory, what the memory holds.
    pub symbol: Option<String>,
    /// Source file and line of the code, if known.
    pub line: Option<String>,
    /// Excess cycles of the place; negative if the shared hierarchy was faster, because another
    /// process had brought the line in.
    pub excess_cycles: i64,
}

/// A place whose lookups evicted lines of others from one cache of the shared hierarchy. The kernel
/// counts as a process other than the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvictorPlace {
    /// Name of the level.
    pub level: String,
    /// Name of the program whose line came in (hostile text until escaped); `None` for the kernel.
    pub program: Option<String>,
    /// Whether the line that came in is code; otherwise the line is data.
    pub is_code: bool,
    /// Path of the file, as in [`PlaceCost::object`].
    pub object: Option<String>,
    /// Build ID of the file, as in [`PlaceCost::build_id`].
    pub build_id: Option<String>,
    /// Offset of the place, as in [`PlaceCost::offset`].
    pub offset: u64,
    /// Function or variable, as in [`PlaceCost::symbol`].
    pub symbol: Option<String>,
    /// Number of evicted lines of others.
    pub lines: u64,
}

/// Work of all system calls of one name on the shared hierarchy, from the entry into the kernel to
/// the return, with interrupts and faults. The sums cover calls during which the task kept the CPU.
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
    /// Number of misses of the calls, for each level, then for each TLB.
    pub misses: Vec<u64>,
    /// Lines of the calling process that lines of the kernel's half of all address spaces evicted,
    /// for each level.
    pub driven_out: Vec<u64>,
}

/// Work on the shared hierarchy from the first switch of a batch to the first switch of the next
/// batch, if the trace has kernel instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelBatch {
    /// Number of switches in the batch.
    pub switches: u64,
    /// Number of instructions of the kernel in the batch.
    pub instructions: u64,
    /// Cycles lost to other processes, as [`LostTo::processes`].
    pub lost_to_processes: u64,
    /// Cycles lost to the kernel, as [`LostTo::kernel`].
    pub lost_to_kernel: u64,
    /// Number of system calls that kept the CPU, as in [`CallCost`].
    pub calls: u64,
    /// Instructions of the system calls that kept the CPU.
    pub call_instructions: u64,
    /// Cycles of the system calls that kept the CPU.
    pub call_cycles: u64,
    /// Lines that were brought in on demand for addresses of the kernel's half, for each level,
    /// then for each TLB.
    pub fills: Vec<u64>,
}
