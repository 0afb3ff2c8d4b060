use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Bytes;

/// Size of one element in bytes: a double, as in Li, Ding and Shen 2007.
pub const ELEMENT_BYTES: u64 = 8;

/// Operation of a walk on each element.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Access {
    /// The walk loads the element and adds it to a sum.
    Read,
    /// The walk overwrites the element.
    Write,
    /// The walk loads the element, adds one, and stores the sum (`a[j]++`).
    Rmw,
}

/// Order in which a walk visits the elements.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Pattern {
    /// Strided order, which visits every element exactly once, whatever the stride: `for i in 0..s
    /// { for j in (i..n).step_by(s) { touch(a[j]) } }`.
    Strided,
    /// Pointer chase along a random cycle through nodes as large as the stride. No prefetcher can
    /// predict the cycle.
    Chase,
}

/// Whether each task has its own array.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Sharing {
    /// Each task has its own array.
    Private,
    /// All tasks share one array.
    Shared,
}

/// Kind of pages of an array.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Pages {
    /// The machine's base pages, which have 4 KiB on x86-64.
    Base,
    /// Transparent huge pages, which have 2 MiB on x86-64. If the kernel does not grant huge pages,
    /// the walk is refused.
    Huge,
}

/// The memory that each task touches between two switches, and the kind of walk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
pub struct WorkingSet {
    /// Size of one array in bytes; 0 for no memory.
    pub size_bytes: Bytes,
    /// Distance between two consecutively touched elements, or size of a node of a chase, in bytes.
    pub stride_bytes: Bytes,
    /// Operation of the walk on each element.
    pub access: Access,
    /// Order in which the walk visits the elements.
    pub pattern: Pattern,
    /// Whether tasks have private arrays or share one.
    pub sharing: Sharing,
    /// Kind of pages of the array: base or huge.
    pub pages: Pages,
}

/// Why a working set cannot be walked. A message prints the reason after "cannot measure a working
/// set: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitWorkingSet {
    /// The size is not a whole number of elements.
    #[error("a size of {0} is not a multiple of one element (8 B); round it to a multiple of 8")]
    Size(Bytes),
    /// The stride is not a positive whole number of elements.
    #[error("a stride of {0} is not a multiple of one element (8 B); use 8B, 16B, 64B or the like")]
    Stride(Bytes),
    /// The stride is larger than the array.
    #[error(
        "a stride of {stride} is larger than the array of {size}; make the array larger or the stride smaller"
    )]
    StrideAboveSize {
        /// Size of the array.
        size: Bytes,
        /// Stride that was requested.
        stride: Bytes,
    },
    /// The nodes of a chase have no room for a link beside their data, or do not fill the array.
    #[error(
        "a chase cannot have nodes of {stride} in an array of {size}; use a --stride of at least 16B that divides the array \
         into two or more nodes (64B: one node per cache line)"
    )]
    Chase {
        /// Size of the array.
        size: Bytes,
        /// Requested size of a node.
        stride: Bytes,
    },
}

impl WorkingSet {
    /// The working set without memory, with which a direct cost is measured.
    pub const NONE: WorkingSet = WorkingSet {
        size_bytes: Bytes(0),
        stride_bytes: Bytes(ELEMENT_BYTES),
        access: Access::Rmw,
        pattern: Pattern::Strided,
        sharing: Sharing::Private,
        pages: Pages::Base,
    };

    /// Whether the working set has no memory.
    pub const fn is_empty(&self) -> bool {
        self.size_bytes.0 == 0
    }

    /// Describes the sharing and the kind of pages in words, if they differ from those of
    /// [`WorkingSet::NONE`].
    pub fn unusual(&self) -> impl Iterator<Item = String> {
        let usual = WorkingSet::NONE;
        let words = [
            (self.sharing != usual.sharing).then(|| format!("{} array", self.sharing)),
            (self.pages != usual.pages).then(|| format!("{} pages", self.pages)),
        ];
        words.into_iter().flatten()
    }

    /// Returns the number of doubles in one array.
    pub const fn elements(&self) -> usize {
        (self.size_bytes.0 / ELEMENT_BYTES) as usize
    }

    /// Returns the stride in doubles.
    pub const fn stride_elements(&self) -> usize {
        (self.stride_bytes.0 / ELEMENT_BYTES) as usize
    }

    /// Returns the number of touches of one walk: one per element, or one per node of a chase.
    pub const fn touches(&self) -> usize {
        match self.pattern {
            Pattern::Strided => self.elements(),
            Pattern::Chase => self.elements() / self.stride_elements(),
        }
    }

    /// Checks that the walk is possible.
    pub fn check(&self) -> Result<(), UnfitWorkingSet> {
        let (size, stride) = (self.size_bytes, self.stride_bytes);
        if !size.0.is_multiple_of(ELEMENT_BYTES) {
            return Err(UnfitWorkingSet::Size(size));
        }
        if stride.0 == 0 || !stride.0.is_multiple_of(ELEMENT_BYTES) {
            return Err(UnfitWorkingSet::Stride(stride));
        }
        if self.is_empty() {
            return Ok(());
        }
        if stride > size {
            return Err(UnfitWorkingSet::StrideAboveSize { size, stride });
        }
        let is_chase = self.pattern == Pattern::Chase;
        if is_chase && (stride.0 < 16 || !size.0.is_multiple_of(stride.0) || size.0 / stride.0 < 2)
        {
            return Err(UnfitWorkingSet::Chase { size, stride });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(size: u64, stride: u64, pattern: Pattern) -> WorkingSet {
        WorkingSet {
            size_bytes: Bytes(size),
            stride_bytes: Bytes(stride),
            pattern,
            ..WorkingSet::NONE
        }
    }

    #[test]
    fn says_what_is_wrong_with_an_unfit_set() {
        let message = |size, stride, pattern| {
            set(size, stride, pattern)
                .check()
                .expect_err("unfit")
                .to_string()
        };
        assert_eq!(
            message(12, 8, Pattern::Strided),
            "a size of 12 B is not a multiple of one element (8 B); round it to a multiple of 8"
        );
        assert_eq!(
            message(64, 0, Pattern::Strided),
            "a stride of 0 B is not a multiple of one element (8 B); use 8B, 16B, 64B or the like"
        );
        assert_eq!(
            message(64, 128, Pattern::Strided),
            "a stride of 128 B is larger than the array of 64 B; make the array larger or the stride smaller"
        );
        assert_eq!(
            message(64, 8, Pattern::Chase),
            "a chase cannot have nodes of 8 B in an array of 64 B; use a --stride of at least 16B that divides the array into \
             two or more nodes (64B: one node per cache line)"
        );
        assert!(
            set(64, 64, Pattern::Chase).check().is_err(),
            "a cycle needs two nodes"
        );
        assert_eq!(
            set(0, 4096, Pattern::Strided).check(),
            Ok(()),
            "an empty set has no stride to exceed"
        );
    }
}
