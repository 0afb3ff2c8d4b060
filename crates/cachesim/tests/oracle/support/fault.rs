//! Small faults that can be planted in the oracle, to show that the comparison detects each.

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter)]
pub(crate) enum Fault {
    /// LRU evicts the line used last.
    LruTakesNewest,
    /// FIFO is refreshed by hits.
    FifoSeesHits,
    /// A new line does not turn the tree's bits.
    TreeForgetsFills,
    /// SRRIP inserts a new line with prediction 3.
    SrripComesInWithThree,
    /// DRRIP's follower sets do not follow the leaders.
    DrripIsSrrip,
    /// SHiP ignores lines that leave without having been found.
    ShipForgivesAll,
    /// Every process may fill all ways, in spite of the partition.
    PartitionIsForgotten,
    /// Strides are computed from lines, not from references.
    StridesSeeEachLine,
    /// A stride shorter than a line stays within the line.
    ShortStridesStayShort,
    /// The streamer does not follow a page that is traversed downwards.
    StreamerGoesUpOnly,
    /// The streamer takes a single step as a direction.
    StreamerStartsAtOnce,
    /// Prefetchers learn also from prefetches and from stores that are passed on.
    AnyRequestTrains,
    /// A flush does not reset the prefetchers.
    FlushKeepsPrefetchers,
    /// A level has one write buffer too many.
    OneBufferMore,
    /// A flush at a switch does not flush the TLBs.
    FlushForgetsTlbs,
    /// A reference across two absent lines counts as two misses.
    EachLineIsAMiss,
    /// A line returns unmodified from the victim cache.
    VictimForgetsModified,
    /// A prefetch continues beyond the page.
    PrefetchLeavesPage,
    /// An inclusive level does not invalidate lines in the victim caches before it.
    InclusiveForgetsVictims,
    /// A write-back stops at a write-through level that holds the line.
    WriteBackStopsAtThrough,
    /// A line found in an exclusive level stays there.
    ExclusiveKeepsLine,
    /// The note on a private copy is kept after the copy is gone.
    NotesOutliveCopies,
    /// A line of the kernel's half belongs to the process that ran when the line came in.
    KernelOwnsNothing,
    /// Evictions by lines of the kernel's half are attributed to the running process.
    KernelEvictsNothing,
    /// Data and evictors are attributed to the start of their line.
    PlacesAreLines,
    /// A lookup's lost cycles are attributed to the loss from the nearest level.
    LostInNearestLevel,
    /// Misses on lines that a process evicted itself count as lost to others for any replacement
    /// policy.
    AgedIsLostToOthers,
    /// A line that another process brought in counts as gained, even if the process has had the
    /// line in its own cache since.
    LetGoIsForgotten,
    /// A line that the process had before counts as requested for the first time.
    AgainIsTheFirstTime,
    /// A call that a switch divides counts as one without a switch.
    DividedCallsCount,
    /// Lines brought back count as restored whichever absence lost them.
    RestoredFromAnyAbsence,
    /// Cycles of a reference's lookups are summed before they count as lost.
    ReferencesLoseAsAWhole,
    /// Each line of a reference that only one view misses in a first level counts as lost or
    /// gained.
    LinesDifferOneByOne,
    /// A block of the trace is counted in the interval of the first instruction after the block,
    /// not in that of the block's first instruction.
    IntervalOfBlockEnd,
    /// A segment's cause is that of the preceding task's departure.
    CauseOfOtherTask,
    /// An exec does not count as a switch to another address space.
    ExecIsNoDeparture,
    /// The stream buffer with the lowest number is reused, not the least recently used one.
    FirstStreamIsReused,
    /// A stream begins one fill too early.
    RunsAreShorter,
    /// A flush does not reset the runs of fills.
    FlushKeepsRuns,
    /// A request for a prefetched line in transfer does not wait for the line.
    PrefetchedIsThere,
    /// Lines that are written back do not occupy the bus.
    WriteBacksTakeNoBus,
    /// Prefetched lines do not occupy the bus.
    PrefetchesTakeNoBus,
    /// A request other than a demand takes no time in a level.
    OtherThanDemandTakesNoTime,
    /// A store in a write buffer leaves for the next level immediately.
    BufferedStoreSetsOutAtOnce,
    /// Every hit counts as a hit on a prefetched line.
    AnyHitIsOfAPrefetch,
    /// A switch to another task of the same address space flushes, too.
    ThreadsFlush,
    /// Misses of all processes count for one process.
    MissesAreOfOneProcess,
    /// A store after a fork goes to the page of both processes.
    ForksShareStores,
}
