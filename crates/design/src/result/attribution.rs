//! Whom and what cycles and evictions are attributed to: other processes and the kernel, code and data, system calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles that lookups took longer in the shared hierarchy than in the private one, by what the line had left the shared one for; see
/// "Cycles lost" in `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostTo {
    /// Another process ran, and a line of that came in.
    pub processes: u64,
    /// Another process ran, and a line of the kernel's half of all address spaces came in.
    pub kernel: u64,
    /// The process itself ran: others had made the line old or taken its room.
    pub aged: u64,
    /// A flush at a switch.
    pub flushed: u64,
    /// The process itself ran, and the level does not keep a process's own lines in the order that they would have alone: no process caused
    /// it.
    pub state: u64,
    /// No line left that the private hierarchy holds: a victim cache or stream buffer differs, a write buffer or a bus is busy.
    pub other: u64,
}

impl LostTo {
    /// All of them.
    pub fn all(&self) -> u64 {
        [self.to_others(), self.state, self.other]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Those that others, or a flush at a switch, took.
    pub fn to_others(&self) -> u64 {
        [self.processes, self.kernel, self.aged, self.flushed]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// All cycles lost in lookups, by whose they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostCycles {
    /// Lookups of addresses of the processes.
    pub programs: LostTo,
    /// Lookups of addresses of the kernel's half of all address spaces.
    pub kernel: LostTo,
}

impl LostCycles {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.programs.all().saturating_add(self.kernel.all())
    }

    /// Those that others, or a flush at a switch, took.
    pub fn to_others(&self) -> u64 {
        self.programs
            .to_others()
            .saturating_add(self.kernel.to_others())
    }

    /// Whether the kernel has a part in them.
    pub fn has_kernel(&self) -> bool {
        self.programs.kernel > 0 || self.kernel.all() > 0
    }
}

/// Cycles that lookups took less in the shared hierarchy than in the private one, by what it found there; see "Cycles gained" in
/// `docs/method/simulation.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GainedCycles {
    /// A line that another process had brought in, for one that had had it before.
    pub others: u64,
    /// The same for a process that asks for it the first time: code, ...
    pub first_touches_of_code: u64,
    /// ... and data.
    pub first_touches_of_data: u64,
    /// The state of replacement, prefetch, buffers or buses differs.
    pub state: u64,
}

impl GainedCycles {
    /// What happens once, and is no property of switches.
    pub fn first_touches(&self) -> u64 {
        self.first_touches_of_code
            .saturating_add(self.first_touches_of_data)
    }
}

/// What switches do to the lines that a process has in one level of the shared hierarchy. Sums over all switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingSetLoss {
    /// The level's name.
    pub level: String,
    /// Switches counted: those at which a process comes back.
    pub returns: u64,
    /// Lines that the process had there when it left.
    pub resident_at_departure: u64,
    /// Of those, lines that others drove out before it came back.
    pub lost: u64,
    /// Of those, lines that it brought back in before it left again.
    pub restored: u64,
}

/// How often one process or the kernel drove out lines of another from one level of the shared hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// The level's name.
    pub level: String,
    /// Who brought a line in; an index into [`crate::result::Simulation::processes`]. None for a line of the kernel's half of all address spaces,
    /// whichever process ran.
    pub evictor: Option<u32>,
    /// Whose line left for it; an index into [`crate::result::Simulation::processes`], or none for the kernel's.
    pub victim: Option<u32>,
    /// How often.
    pub lines: u64,
}

/// A place at which the excess cycles of the shared hierarchy over the private one arise: one block of one program's code, or one
/// address of its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCost {
    /// Name of the program; hostile data, made UTF-8 with replacement characters.
    pub program: String,
    /// Why the task had left the CPU before the segment in which they arise; an index into [`crate::result::Simulation::causes`].
    pub cause: u32,
    /// Path of the file that is mapped at the address, if any; hostile data.
    pub object: Option<String>,
    /// That file's GNU build ID in hexadecimal, if it has one.
    pub build_id: Option<String>,
    /// Offset in that file; the virtual address if no file is known. 0 is all data of programs behind which there is no file: stack,
    /// heap, other anonymous memory.
    pub offset: u64,
    /// Function or variable, if known; of the kernel's memory what it holds.
    pub symbol: Option<String>,
    /// Source file and line of code, if known.
    pub line: Option<String>,
    /// Excess cycles; negative if the shared hierarchy was faster (another process had brought the line in).
    pub excess_cycles: i64,
}

/// For what lines of others were evicted from one cache of the shared hierarchy: what a lookup was about when they left. The kernel is
/// another process than the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvictorPlace {
    /// The level's name.
    pub level: String,
    /// Whose line came in: name of the program (hostile data), or none for the kernel.
    pub program: Option<String>,
    /// Whether it was code; else data.
    pub is_code: bool,
    /// As [`PlaceCost::object`].
    pub object: Option<String>,
    /// As [`PlaceCost::build_id`].
    pub build_id: Option<String>,
    /// As [`PlaceCost::offset`].
    pub offset: u64,
    /// As [`PlaceCost::symbol`].
    pub symbol: Option<String>,
    /// Lines of others that left.
    pub lines: u64,
}

/// What the system calls of one name take on the shared hierarchy, from their entry into the kernel to their return; interrupts and
/// faults meanwhile included. Sums over those calls during which the task kept the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// The name.
    pub syscall: String,
    /// Calls during which the task kept the CPU.
    pub calls: u64,
    /// Further calls, during which it left the CPU: not in the sums.
    pub with_switch: u64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles, these instructions' own included.
    pub cycles: u64,
    /// Misses, by level, then by TLB.
    pub misses: Vec<u64>,
    /// Lines of the calling process that left for lines of the kernel's half of all address spaces, by level.
    pub driven_out: Vec<u64>,
}

/// What consecutive switches took on the shared hierarchy, if the trace has the kernel's instructions: all that ran from the first of
/// them to the first of the next batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelBatch {
    /// Switches.
    pub switches: u64,
    /// The kernel's instructions.
    pub instructions: u64,
    /// Cycles lost to other processes, as [`LostTo::processes`].
    pub lost_to_processes: u64,
    /// Cycles lost to the kernel, as [`LostTo::kernel`].
    pub lost_to_kernel: u64,
    /// System calls that kept the CPU, as in [`CallCost`].
    pub calls: u64,
    /// Their instructions.
    pub call_instructions: u64,
    /// Their cycles.
    pub call_cycles: u64,
    /// Lines brought in on demand for addresses of the kernel's half, by level, then by TLB.
    pub fills: Vec<u64>,
}
