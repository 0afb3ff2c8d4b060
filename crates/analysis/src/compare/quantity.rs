use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};

/// Quantity of a subject that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Quantity {
    /// A hand-off of a case without a working set, however many switches it takes.
    HandOff,
    /// A hand-off of a case with a working set, the reload included.
    Total,
    /// Time of the system calls of a hand-off, measured on a task that hands the token to itself.
    Calls,
    /// Time of a hand-off including its system calls, as a program sees it.
    HandOffWithCalls,
    /// Excess cycles of a simulated switch, up to the cut-off of the curve.
    AverageCost,
    /// Average cost of a simulated switch times the number of switches, over all cycles.
    Overhead,
    /// All cycles of a simulated trace over its instructions.
    CyclesPerInstruction,
    /// All cycles of a simulated trace.
    Cycles,
    /// All cycles of a simulated trace converted to time, between the design's shortest and longest
    /// cycle.
    Time,
    /// Excess cycles per simulated switch of one program, to the end of each segment.
    ExcessPerSwitch,
    /// Misses per instruction in one level of the simulated caches.
    MissesPerInstruction,
    /// Cycles that a simulated switch loses to other processes.
    LostToProcesses,
    /// Cycles that a simulated switch loses to the kernel.
    LostToKernel,
    /// The kernel's instructions per simulated switch.
    KernelInstructions,
    /// The kernel's misses per switch in one level of the simulated caches.
    KernelMisses,
    /// Instructions of a traced system call that keeps the CPU.
    CallInstructions,
    /// Simulated cycles of a traced system call that keeps the CPU.
    CallCycles,
    /// Switches per second of live tasks.
    Switches,
    /// Share of the live tasks' switches that are involuntary.
    Involuntary,
    /// Direct cost of switches as a share of the CPU time of live tasks.
    DirectShare,
    /// Likely direct and indirect cost as a share of the CPU time of live tasks.
    CostShare,
    /// Indirect cost as a share of the CPU time of live tasks, between its lower and upper end.
    ColdShare,
    /// Median wait of live tasks for a CPU.
    WaitP50,
    /// 99th percentile of the waits of live tasks for a CPU.
    WaitP99,
    /// Time for which a quota kept control groups from running, as a share of the window.
    Throttled,
    /// Preemptions per second by one other task.
    Preemptions,
    /// Cost of a preemption of a program.
    Preemption,
    /// Part of a preemption's cost that is due to cold caches.
    PreemptionReload,
}

/// Unit of a quantity's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// Time in nanoseconds.
    Ns,
    /// Time in simulated cycles.
    Cycles,
    /// Share of all cycles, or of live tasks' switches, CPU time or window.
    Share,
    /// Number of misses per instruction.
    PerInstruction,
    /// Number of cycles per instruction.
    CyclesPerInstruction,
    /// Number of events per second.
    PerSecond,
    /// Instructions or misses per switch or system call.
    Events,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct WithUnit {
    /// The quantity that is compared.
    quantity: Quantity,
    /// Unit of the numbers.
    unit: Unit,
}

pub(super) fn with_unit<S: Serializer>(
    quantity: &Quantity,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    WithUnit {
        quantity: *quantity,
        unit: quantity.unit(),
    }
    .serialize(serializer)
}

impl Quantity {
    /// Returns the name of the quantity in every format.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the ratio repeats that of cycles per instruction in other units, so that it needs no verdict.
    pub(super) fn is_cycles_in_all(self) -> bool {
        matches!(self, Quantity::Cycles | Quantity::Time)
    }

    /// Returns the unit of the quantity.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::Total
            | Quantity::HandOff
            | Quantity::Calls
            | Quantity::HandOffWithCalls
            | Quantity::Time
            | Quantity::WaitP50
            | Quantity::WaitP99
            | Quantity::Preemption
            | Quantity::PreemptionReload => Unit::Ns,
            Quantity::AverageCost
            | Quantity::Cycles
            | Quantity::ExcessPerSwitch
            | Quantity::LostToProcesses
            | Quantity::LostToKernel
            | Quantity::CallCycles => Unit::Cycles,
            Quantity::KernelInstructions | Quantity::KernelMisses | Quantity::CallInstructions => {
                Unit::Events
            }
            Quantity::Overhead
            | Quantity::Involuntary
            | Quantity::DirectShare
            | Quantity::CostShare
            | Quantity::ColdShare
            | Quantity::Throttled => Unit::Share,
            Quantity::Switches | Quantity::Preemptions => Unit::PerSecond,
            Quantity::MissesPerInstruction => Unit::PerInstruction,
            Quantity::CyclesPerInstruction => Unit::CyclesPerInstruction,
        }
    }
}
