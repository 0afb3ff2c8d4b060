use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};

/// What is compared of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Quantity {
    /// A hand-off of a case without a working set, whatever number of switches it takes.
    HandOff,
    /// A hand-off of a case with one, the reload included.
    Total,
    /// The system calls of a hand-off, by a task that hands the token to itself.
    Calls,
    /// A hand-off with its system calls, as a program sees it.
    HandOffWithCalls,
    /// Excess cycles of a simulated switch up to the cut-off.
    AverageCost,
    /// Average cost times switches over all cycles.
    Overhead,
    /// All cycles of a simulated trace over its instructions.
    CyclesPerInstruction,
    /// All cycles of a simulated trace.
    Cycles,
    /// The same as time, between the shortest and the longest cycle that the design has.
    Time,
    /// Excess cycles of a simulated switch of one program, to the end of each segment.
    ExcessPerSwitch,
    /// Of one level of the simulated caches.
    MissesPerInstruction,
    /// Cycles that a simulated switch loses to other processes.
    LostToProcesses,
    /// Cycles that a simulated switch loses to the kernel.
    LostToKernel,
    /// The kernel's instructions over simulated switches.
    KernelInstructions,
    /// What the kernel misses in one level of the simulated caches, over switches.
    KernelMisses,
    /// Instructions of a traced system call that keeps the CPU.
    CallInstructions,
    /// Its simulated cycles.
    CallCycles,
    /// Switches of live tasks a second.
    Switches,
    /// Their involuntary switches over all.
    Involuntary,
    /// Their direct cost over their CPU time.
    DirectShare,
    /// Their direct and indirect cost over their CPU time, as it is likely.
    CostShare,
    /// The same at most.
    MostCostShare,
    /// Their median wait for a CPU.
    WaitP50,
    /// The wait that 99 of 100 of theirs do not exceed.
    WaitP99,
    /// Time for which a quota kept control groups from running, over the window.
    Throttled,
    /// Preemptions a second by one neighbour.
    Preemptions,
    /// A preemption of a program.
    Preemption,
    /// What of it is bringing data back.
    PreemptionReload,
}

/// What the numbers of a quantity are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Simulated cycles.
    Cycles,
    /// A share: of all cycles; of live tasks, of their switches, CPU time or window.
    Share,
    /// Misses an instruction.
    PerInstruction,
    /// Cycles an instruction.
    CyclesPerInstruction,
    /// Events a second.
    PerSecond,
    /// Instructions or misses, for each switch or system call.
    Events,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct WithUnit {
    /// What is compared.
    quantity: Quantity,
    /// Of its numbers.
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
    /// Its name in every format.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its ratio is that of the cycles an instruction in other units: it needs no verdict of its own.
    pub(super) fn is_cycles_in_all(self) -> bool {
        matches!(self, Quantity::Cycles | Quantity::Time)
    }

    /// The unit of its numbers.
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
            | Quantity::MostCostShare
            | Quantity::Throttled => Unit::Share,
            Quantity::Switches | Quantity::Preemptions => Unit::PerSecond,
            Quantity::MissesPerInstruction => Unit::PerInstruction,
            Quantity::CyclesPerInstruction => Unit::CyclesPerInstruction,
        }
    }
}
