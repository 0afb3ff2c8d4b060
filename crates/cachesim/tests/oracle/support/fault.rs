//! Small faults that can be planted in the oracle, to show that the comparison would notice each.

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter)]
pub(crate) enum Fault {
    /// LRU drives out the line used last.
    LruTakesNewest,
    /// FIFO is refreshed by hits.
    FifoSeesHits,
    /// A new line does not turn the tree's bits.
    TreeForgetsFills,
    /// A new line comes in with 3.
    SrripComesInWithThree,
    /// DRRIP's other sets do not follow those that lead.
    DrripIsSrrip,
    /// Lines that leave without having been found say nothing of their instruction.
    ShipForgivesAll,
    /// Every process fills all ways.
    PartitionIsForgotten,
    /// Strides are those of lines, and not of references.
    StridesSeeEachLine,
    /// A stride shorter than a line leads into the same line.
    ShortStridesStayShort,
    /// A page that is gone through downwards is not followed.
    StreamerGoesUpOnly,
    /// One step gives the direction.
    StreamerStartsAtOnce,
    /// Prefetchers learn from prefetches and stores that go on, too.
    AnyRequestTrains,
    /// A flush leaves what prefetchers know alone.
    FlushKeepsPrefetchers,
    /// One write buffer too many.
    OneBufferMore,
    /// A flush at a switch leaves the TLBs alone.
    FlushForgetsTlbs,
    /// A reference across two absent lines is two misses.
    EachLineIsAMiss,
    /// A line comes back unmodified from the victim cache.
    VictimForgetsModified,
    /// A prefetch goes on beyond the page.
    PrefetchLeavesPage,
    /// An inclusive level leaves the victim caches before it alone.
    InclusiveForgetsVictims,
    /// A write-back stops at a write-through level that holds the line.
    WriteBackStopsAtThrough,
    /// A line found in an exclusive level stays there.
    ExclusiveKeepsLine,
    /// The note on a private copy outlives it.
    NotesOutliveCopies,
    /// A line of the kernel's half belongs to the process that ran when it came.
    KernelOwnsNothing,
    /// What drives a line out of the kernel's half is the process that runs.
    KernelEvictsNothing,
    /// Data and evictors are known by the start of their line.
    PlacesAreLines,
    /// A lookup lost its cycles to what took its line from the nearest level.
    LostInNearestLevel,
    /// What a process drives out itself is lost to others whatever the replacement policy.
    AgedIsLostToOthers,
    /// What another has brought in is gained, even if the process has had it in its own cache since.
    LetGoIsForgotten,
    /// A line that the process has had before is one that it asks for the first time.
    AgainIsTheFirstTime,
    /// A call that a switch divides counts as one without a switch.
    DividedCallsCount,
    /// Lines brought back count as restored whichever absence lost them.
    RestoredFromAnyAbsence,
    /// Cycles of a reference's lookups offset each other before they count as lost.
    ReferencesLoseAsAWhole,
    /// Each line of a reference that one view alone misses in a first level counts as lost or gained.
    LinesDifferOneByOne,
    /// A block belongs to the interval that it ends in.
    IntervalOfBlockEnd,
    /// A segment's cause is why the task before it left.
    CauseOfOtherTask,
    /// An exec is no switch to another address space.
    ExecIsNoDeparture,
    /// The oldest stream buffer is not the one used longest ago but the one with the lowest number.
    FirstStreamIsReused,
    /// A stream begins one fill too early.
    RunsAreShorter,
    /// A flush leaves the runs of fills alone.
    FlushKeepsRuns,
    /// Who asks for a prefetched line before it is there does not wait for it.
    PrefetchedIsThere,
    /// Lines that are written back take no bus.
    WriteBacksTakeNoBus,
    /// Prefetched lines take no bus.
    PrefetchesTakeNoBus,
    /// A request other than a demand takes no time in a level.
    OtherThanDemandTakesNoTime,
    /// A store in a write buffer sets out at once.
    BufferedStoreSetsOutAtOnce,
    /// Every line that is found was prefetched.
    AnyHitIsOfAPrefetch,
    /// A switch to another task of an address space flushes, too.
    ThreadsFlush,
    /// Whoever runs, its misses count for one process.
    MissesAreOfOneProcess,
    /// A store after a fork goes to the page of both.
    ForksShareStores,
}
