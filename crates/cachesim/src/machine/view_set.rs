//! Which of the three views something is true of.

use super::{PRIVATE, SHARED, VIEWS};

/// A bit for each view. An array of booleans would be written byte by byte and compared as a whole, for which the processor waits until
/// all of them are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewSet(u8);

impl ViewSet {
    pub(crate) const NONE: ViewSet = ViewSet(0);
    pub(crate) const ALL: ViewSet = ViewSet((1 << VIEWS) - 1);

    /// `view` alone, if `is_in`.
    #[inline]
    pub(crate) fn single(view: usize, is_in: bool) -> ViewSet {
        ViewSet(u8::from(is_in) << view)
    }

    #[inline]
    pub(crate) fn has(self, view: usize) -> bool {
        self.0 >> view & 1 != 0
    }

    #[inline]
    pub(crate) fn and(self, other: ViewSet) -> ViewSet {
        ViewSet(self.0 | other.0)
    }

    /// All other views.
    #[inline]
    pub(crate) fn complement(self) -> ViewSet {
        ViewSet(!self.0 & ViewSet::ALL.0)
    }

    /// Whether only the shared view is in the set (true), or only the private one (false).
    #[inline]
    pub(crate) fn is_shared_alone(self) -> Option<bool> {
        (self.has(SHARED) != self.has(PRIVATE)).then(|| self.has(SHARED))
    }
}
