use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};

/// Quantity that is compared between base and new records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Quantity {
    /// Time of a hand-off without a working set minus the baseline, however many switches the
    /// hand-off takes.
    HandOff,
    /// Time of a hand-off with a working set minus the baseline, including the reload.
    Total,
    /// Time of a hand-off's system calls, measured with a task that hands the token to itself.
    Calls,
    /// Time of a hand-off including its system calls.
    HandOffWithCalls,
    /// Excess cycles of a simulated switch up to the cut-off.
    AverageCost,
    /// Excess cycles of simulated switches, without a cut-off, as a share of all cycles.
    Overhead,
    /// All cycles of a simulated trace divided by its instructions.
    CyclesPerInstruction,
    /// Number of cycles of a whole simulated trace.
    Cycles,
    /// Duration of a whole simulated trace in nanoseconds. The length of a cycle is the geometric
    /// mean of the shortest and the longest that the design states.
    Time,
    /// Excess cycles per simulated switch of one program, up to the end of each segment.
    ExcessPerSwitch,
    /// Misses in one simulated cache or TLB, per instruction.
    MissesPerInstruction,
    /// Cycles lost to other processes per simulated switch.
    LostToProcesses,
    /// Cycles lost to the kernel per simulated switch.
    LostToKernel,
    /// Instructions of the kernel per simulated switch.
    KernelInstructions,
    /// Misses of the kernel in one simulated cache or TLB, per switch.
    KernelMisses,
    /// Instructions per traced system call that keeps the CPU.
    CallInstructions,
    /// Simulated cycles per traced system call that keeps the CPU.
    CallCycles,
    /// Switches of observed tasks per second.
    Switches,
    /// Involuntary switches of observed tasks, as a share of their switches.
    Involuntary,
    /// Direct cost of switches as a share of the observed tasks' CPU time.
    DirectShare,
    /// Likely direct and indirect cost as a share of the observed tasks' CPU time.
    CostShare,
    /// Likely indirect cost as a share of the observed tasks' CPU time. The interval of its ratio
    /// includes the uncertainty of this cost.
    ColdShare,
    /// Median wait of observed tasks for a CPU, in nanoseconds.
    WaitP50,
    /// 99th percentile of the waits of observed tasks for a CPU, in nanoseconds.
    WaitP99,
    /// Time for which CPU quotas kept control groups from running, as a share of the window.
    Throttled,
    /// Preemptions of observed tasks per second by one other program.
    Preemptions,
    /// Whole cost of a preemption of a program, in nanoseconds.
    Preemption,
    /// Part of the cost of a preemption that is due to cold caches, in nanoseconds.
    PreemptionReload,
}

/// Unit of a compared quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// Time in nanoseconds, or cost as a time in nanoseconds.
    Ns,
    /// Time in simulated cycles, or cost as a number of simulated cycles.
    Cycles,
    /// Share of all cycles, of the observed tasks' switches or CPU time, or of the window.
    Share,
    /// Number of misses per instruction.
    PerInstruction,
    /// Number of cycles per instruction.
    CyclesPerInstruction,
    /// Number of events per second.
    PerSecond,
    /// Number of instructions or misses per switch or system call.
    Events,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct WithUnit {
    /// Quantity that is compared.
    quantity: Quantity,
    /// Unit of the quantity's numbers.
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
    /// Returns the quantity's name, which is the same in all output formats.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the quantity repeats cycles per instruction in another unit. Then its ratio needs no
    /// separate verdict.
    pub(super) fn is_cycles_in_all(self) -> bool {
        matches!(self, Quantity::Cycles | Quantity::Time)
    }

    /// Returns the unit in which the quantity is given.
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
