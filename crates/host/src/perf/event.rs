use perf_event::Builder;
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software};
use strum::{Display, EnumIter, EnumString};

/// An event that can be counted. The names are perf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are perf's own")]
pub enum Event {
    Cycles,
    Instructions,
    #[strum(serialize = "L1-dcache-load-misses")]
    L1dLoadMisses,
    #[strum(serialize = "L1-icache-load-misses")]
    L1iLoadMisses,
    #[strum(serialize = "dTLB-load-misses")]
    DtlbLoadMisses,
    #[strum(serialize = "LLC-load-misses")]
    LlcLoadMisses,
    BranchMisses,
    StalledCyclesFrontend,
    StalledCyclesBackend,
    ContextSwitches,
    PageFaults,
    CpuMigrations,
    TaskClock,
}

impl Event {
    /// Whether the CPU counts the event. Other events are counted by the kernel.
    pub fn is_hardware(self) -> bool {
        !matches!(
            self,
            Event::ContextSwitches | Event::PageFaults | Event::CpuMigrations | Event::TaskClock
        )
    }

    /// Whether the event occurs in kernel mode only, so that a count of user mode is always 0.
    pub(super) fn happens_in_kernel(self) -> bool {
        matches!(self, Event::ContextSwitches | Event::CpuMigrations)
    }

    pub(super) fn builder(self) -> Builder<'static> {
        let load_misses = |which| Cache {
            which,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        };
        match self {
            Event::Cycles => Builder::new(Hardware::CPU_CYCLES),
            Event::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            Event::L1dLoadMisses => Builder::new(load_misses(CacheId::L1D)),
            Event::L1iLoadMisses => Builder::new(load_misses(CacheId::L1I)),
            Event::DtlbLoadMisses => Builder::new(load_misses(CacheId::DTLB)),
            Event::LlcLoadMisses => Builder::new(load_misses(CacheId::LL)),
            Event::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
            Event::StalledCyclesFrontend => Builder::new(Hardware::STALLED_CYCLES_FRONTEND),
            Event::StalledCyclesBackend => Builder::new(Hardware::STALLED_CYCLES_BACKEND),
            Event::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
            Event::PageFaults => Builder::new(Software::PAGE_FAULTS),
            Event::CpuMigrations => Builder::new(Software::CPU_MIGRATIONS),
            Event::TaskClock => Builder::new(Software::TASK_CLOCK),
        }
    }
}
