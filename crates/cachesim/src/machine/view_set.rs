//! A set of views: of the shared, the private and the flushed hierarchy.

use super::{PRIVATE, SHARED, VIEWS};

/// A set of views, one bit each. An array of booleans is written byte by byte and compared as a
/// whole, which stalls the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewSet(u8);

impl ViewSet {
    pub(crate) const NONE: ViewSet = ViewSet(0);
    pub(crate) const ALL: ViewSet = ViewSet((1 << VIEWS) - 1);

    /// Returns the set of `view` alone if `is_in`, else the empty set.
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

    /// Returns the set of all other views.
    #[inline]
    pub(crate) fn complement(self) -> ViewSet {
        ViewSet(!self.0 & ViewSet::ALL.0)
    }

    /// Returns true if the set has the shared but not the private view, and false if it has the
    /// private but not the shared view; otherwise `None`.
    #[inline]
    pub(crate) fn is_shared_alone(self) -> Option<bool> {
        (self.has(SHARED) != self.has(PRIVATE)).then(|| self.has(SHARED))
    }
}
