//! Events in the caches of a design, and who is notified of them.
//!
//! The machine calls its listener as events happen, in this order. A lookup that all three
//! hierarchies are known to find makes no event. Any other lookup makes, in the shared hierarchy,
//! `filled`, `left`, `came` and `exchanged` each time they happen, at first and later levels, and
//! then `took` if the lookup differs from the private hierarchy's. If a first level was missed,
//! `reference_missed` follows when all lines of the reference were looked up, and `ran` at the end
//! of a block that took longer or less. Between the lookups of two processes come `switched_out`,
//! the lines that leave flushed levels, and `switched_in`.
//!
//! A listener changes nothing in any cache. A pair of listeners is a listener, so pairs can be
//! nested; `()` is the empty listener, and costs nothing.

use std::fmt::Debug;

use switchcost_design::result::Detail;

use super::plan::Kind;
use super::view_set::ViewSet;
use super::{PRIVATE, RunContext, SHARED};
use crate::address::{Address, KERNEL, owner};
use crate::mappings::Mappings;

/// Process number used while a switch is in progress and no process runs.
pub(crate) const NO_PROCESS: u32 = KERNEL - 1;
/// Flag of requests for an address of the kernel. Process numbers are too low to contain it.
const OF_KERNEL: u32 = 1 << 31;
const _: () = assert!(KERNEL == u32::MAX);

/// Process that makes a request, with its time slice. For a line: the process that brought the line
/// in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requester {
    /// Number of the running process, combined with the flag [`OF_KERNEL`] for the kernel's
    /// addresses.
    by: u32,
    pub(crate) turn: u32,
}

impl Requester {
    pub(super) const NONE: Requester = Requester {
        by: NO_PROCESS,
        turn: 0,
    };

    /// Returns the requester of the next time slice, in which `process` runs.
    pub(super) fn next(self, process: u32) -> Requester {
        Requester {
            by: process,
            turn: self.turn + 1,
        }
    }

    /// Returns the requester with the kernel's flag set according to the requested address.
    #[inline]
    pub(super) fn asking_for(self, address: u64) -> Requester {
        let kernel = if owner(0, address) == KERNEL {
            OF_KERNEL
        } else {
            0
        };
        Requester {
            by: self.process() | kernel,
            ..self
        }
    }

    /// Returns the owner of the requested line: the kernel, or the requesting process.
    #[inline]
    pub(crate) fn owner(self) -> u32 {
        // The mask is all ones if the highest bit is set.
        self.by | (self.by.cast_signed() >> 31).cast_unsigned()
    }

    /// Returns the process that makes the request, also if the address is the kernel's.
    #[inline]
    pub(crate) fn process(self) -> u32 {
        self.by & !OF_KERNEL
    }

    #[inline]
    pub(crate) fn is_kernel(self) -> bool {
        self.by & OF_KERNEL != 0
    }
}

/// A lookup that the program makes in a first level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'a> {
    pub(crate) requester: Requester,
    /// First requested byte in the line or page.
    pub(crate) address: u64,
    pub(crate) is_code: bool,
    pub(crate) is_store: bool,
    /// Address of the last byte of the instruction that loads or stores, if known.
    pub(crate) instruction: Option<u64>,
    /// Index of the first level in which the lookup is made.
    pub(crate) level: usize,
    pub(crate) context: &'a RunContext<'a>,
}

/// A request to a level whose requests are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelRequest {
    /// Views that make the request. The private view is that of the running process.
    pub(crate) views: ViewSet,
    pub(crate) level: usize,
    pub(crate) key: u64,
    /// Kind of the request; `None` for a write-back of a modified line.
    pub(crate) kind: Option<Kind>,
    pub(crate) is_demand: bool,
    pub(crate) address: Address,
}

/// Reason for which a line left a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Another line took the place of the line.
    Replaced,
    /// An inclusive level farther from the processor evicted the line.
    Lost,
    /// A level nearer to the processor took the line out of an exclusive level.
    Taken,
    /// A flush removed all lines.
    Flushed,
}

impl Departure {
    #[inline]
    pub(crate) fn is_eviction(self) -> bool {
        matches!(self, Departure::Replaced | Departure::Lost)
    }
}

/// Reason why the shared hierarchy missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The private hierarchy also missed, so the miss is not due to sharing.
    #[default]
    Intrinsic,
    Flushed,
    ByOthers,
    /// The process evicted the line itself, but would have kept the line if it ran alone.
    Aged,
    ByKernel,
    /// The process evicted the line itself, in a level whose lines are ordered differently than if
    /// it ran alone. So no other process need have caused the miss.
    State,
}

impl Origin {
    pub(crate) const COUNT: usize = 6;

    /// Returns the note on a private copy: why the line left the shared level, and in which time
    /// slice. The number 0 (no note) means [`Origin::Aged`].
    #[inline]
    pub(super) fn note(self, turn: u32) -> u64 {
        (self as u64) << 32 | u64::from(turn)
    }

    #[inline]
    pub(super) fn decode_note(note: u64) -> (Origin, u32) {
        let origin = match note >> 32 {
            1 => Origin::Flushed,
            2 => Origin::ByOthers,
            4 => Origin::ByKernel,
            _ => Origin::Aged,
        };
        (origin, note as u32)
    }

    /// Whether other processes, the kernel or a flush at a switch caused the miss.
    #[inline]
    pub(crate) fn is_others(self) -> bool {
        !matches!(self, Origin::Intrinsic | Origin::State)
    }
}

/// Reason why a lookup was faster in the shared view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gain {
    /// Another process brought the line in for a process that had had the line before.
    FromOthers,
    /// Another process brought in a line that the requesting process had never had; this happens
    /// once per line.
    FirstTouch,
    /// Replacement, prefetchers, buffers or buses were in another state than if the process ran
    /// alone.
    State,
}

/// Difference of one lookup between the shared and the private hierarchy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// Cycles in the shared hierarchy minus cycles in the private one.
    pub(crate) longer: i64,
    /// Origin of the miss in the farthest level; the cause if `longer` is positive.
    pub(crate) lost_to: Origin,
    /// Reason for the shorter time if `longer` is negative.
    pub(crate) gain: Gain,
    /// Later levels that missed, one bit each, in the shared and the private hierarchy.
    pub(super) missed: [u128; 2],
    /// Views that missed in the first level.
    pub(super) missed_first: ViewSet,
}

impl Took {
    #[inline]
    pub(crate) fn is_first_touch(&self) -> bool {
        self.longer < 0 && self.gain == Gain::FirstTouch
    }

    /// Returns the later levels in which exactly one of the two hierarchies missed, each with
    /// whether it was the shared one.
    #[inline]
    pub(crate) fn differences(&self) -> impl Iterator<Item = (usize, bool)> {
        let mut differing = self.missed[SHARED] ^ self.missed[PRIVATE];
        let shared = self.missed[SHARED];
        std::iter::from_fn(move || {
            let level = (differing != 0).then(|| differing.trailing_zeros())?;
            differing &= differing - 1;
            Some((level as usize, shared >> level & 1 != 0))
        })
    }

    /// Returns the levels between which a line was lost, for a lookup that begins in level `first`:
    /// the nearest and the farthest level that missed the line only in the shared hierarchy. `None`
    /// if there is no such level, or if the lookup was not made longer by others.
    pub(crate) fn lost_in(&self, first: usize) -> Option<(usize, usize)> {
        let first_missed = |view| u128::from(self.missed_first.has(view)) << first;
        let [shared, private] =
            [SHARED, PRIVATE].map(|view| self.missed[view] | first_missed(view));
        let alone = shared & !private;
        (self.longer > 0 && self.lost_to.is_others() && alone != 0)
            .then(|| (alone.trailing_zeros() as usize, alone.ilog2() as usize))
    }
}

/// Numbers of a design's caches and TLBs. Caches come first in all arrays by level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    pub(crate) caches: usize,
    pub(crate) all: usize,
}

macro_rules! listener {
    ($($(#[$doc:meta])* fn $event:ident($($argument:ident: $type:ty),*);)+) => {
        /// Receiver of a machine's events. The module's documentation gives their order. A level is
        /// an index, with TLBs after caches.
        pub(crate) trait Listener: Debug {
            /// Whether the listener needs the difference of the shared and the private hierarchy,
            /// which takes time to compute.
            const COMPARES: bool = false;

            /// Makes a listener at the start of a trace.
            fn new(levels: Levels) -> Self;

            $($(#[$doc])* #[inline] fn $event(&mut self, $($argument: $type),*) { $(let _ = $argument;)* })+

            /// Reports that a line was replaced by another in the same set of both the shared and
            /// the private hierarchy; called instead of `left` and `came`.
            #[inline]
            fn exchanged(&mut self, lookup: &Lookup<'_>, level: usize, left: Requester, came: Requester) {
                self.left(lookup, level, left, Departure::Replaced);
                self.came(level, came);
            }
        }

        impl Listener for () {
            fn new(_: Levels) -> Self {}
        }

        impl<A: Listener, B: Listener> Listener for (A, B) {
            const COMPARES: bool = A::COMPARES || B::COMPARES;

            fn new(levels: Levels) -> Self {
                (A::new(levels), B::new(levels))
            }

            $(#[inline] fn $event(&mut self, $($argument: $type),*) {
                self.0.$event($($argument),*);
                self.1.$event($($argument),*);
            })+

            #[inline]
            fn exchanged(&mut self, lookup: &Lookup<'_>, level: usize, left: Requester, came: Requester) {
                self.0.exchanged(lookup, level, left, came);
                self.1.exchanged(lookup, level, left, came);
            }
        }
    };
}

listener! {
    /// Reports that a process leaves the CPU for another; `requester` has its last time slice.
    fn switched_out(requester: Requester);
    /// Reports that a process gets the CPU.
    fn switched_in(process: u32);
    /// Reports that a demanded line is filled. If the origin is another process, that process
    /// caused the loss in time slice `turn`.
    fn filled(lookup: &Lookup<'_>, level: usize, origin: Origin, turn: u32);
    /// Reports that a line came into the sets of a level.
    fn came(level: usize, line: Requester);
    /// Reports that a line left the sets of a level.
    fn left(lookup: &Lookup<'_>, level: usize, line: Requester, how: Departure);
    /// Reports the end of a lookup in which the shared and the private hierarchy differed, in
    /// cycles or in misses of later levels.
    fn took(lookup: &Lookup<'_>, took: &Took);
    /// Reports that some hierarchies missed in a first level with a reference, or with part of one.
    fn reference_missed(level: usize, missed: ViewSet);
    /// Reports that a block of code took `longer` cycles more in the shared hierarchy than in the
    /// private one (fewer if negative). The gain of first touches is left out.
    fn ran(address: u64, longer: i64, context: &RunContext<'_>);
    /// Reports that instructions were executed.
    fn executed(instructions: u64);
    /// Reports that all lines of a block of code were looked up.
    fn block_ended(address: u64);
    /// Reports that some views made a request to a watched level, or wrote a modified line back to
    /// that level.
    fn requested(request: LevelRequest);
    /// Reports that the mappings of the running process are about to change.
    fn mappings_change(mappings: &Mappings);
    /// Reports that the running task enters the kernel. `counted` has instructions, cycles, and
    /// misses by level.
    fn call_entered(number: u16, counted: &[u64]);
    /// Reports the end of a system call: the task returned from the kernel, or left the CPU.
    fn call_ended(counted: &[u64], is_switch: bool);
    /// Reports a switch from one task to another. The arguments are the numbers of switches and of
    /// kernel instructions before this switch.
    fn task_switched(switches: u64, kernel_instructions: u64);
    /// Reports that the number of instructions has doubled since the last such report.
    fn instructions_doubled(instructions: u64);
    /// Reports that the first part of the trace begins. Counts that cannot be subtracted later are
    /// reset.
    fn parts_begin();
    /// Adds the listener's counts to the result. `levels` are the names of all levels, TLBs after
    /// caches.
    fn report(levels: &[String], detail: &mut Detail);
}
