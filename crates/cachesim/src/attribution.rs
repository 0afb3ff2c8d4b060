//! Attributes a design's cycles and misses to their causes: the program's code and data, the
//! process or the kernel that evicted a line, the system call, and the kernel as a whole by batches
//! of switches.
//!
//! The input is the events of a machine; the output is the parts of a result that explain it. Each
//! listener here answers one question, independently of the others; a new question is a new file,
//! and a place in [`Attribution`].

mod by_place;
mod calls;
mod evictions;
mod kernel_batches;
mod kernel_code;
mod kernel_use;
mod lost_lines;
mod miss_differences;
mod origins;
mod places;
mod working_sets;

pub(crate) use by_place::ByPlace;
use evictions::Evictions;
pub(crate) use kernel_code::KernelBlocks;
use kernel_use::KernelUse;
use lost_lines::LostLines;
use miss_differences::MissDifferences;
use origins::Origins;
pub use places::{Names, Object};
use working_sets::WorkingSets;

use crate::machine::LevelRequests;

/// All listeners of a design that is simulated alone, or that is the first of a
/// [`Family`](crate::sweep::Family). One of these listeners records the requests to levels that are
/// also simulated elsewhere, in other sizes.
pub(crate) type Attribution = (
    (
        (
            ((Origins, MissDifferences), LostLines),
            (WorkingSets, Evictions),
        ),
        (KernelUse, ByPlace),
    ),
    LevelRequests,
);

/// Returns the attributions to places in memory.
pub(crate) fn group_by_place(all: Attribution) -> ByPlace {
    all.0.1.1
}

/// Returns the column of an owner in a list: the kernel first, then the processes.
#[inline]
fn column(owner: u32) -> usize {
    owner.wrapping_add(1) as usize
}
