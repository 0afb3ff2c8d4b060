//! Type of a file, which says whether its records can be imported.

use super::numbers::file_type::{
    AARCH64, ARM32, CORE, FILTERED, FILTERED_AT_FIRST, INSTRUCTIONS_ONLY, KERNEL_INSTRUCTIONS_ONLY,
    REGDEPS, TEMPLATES, UNKNOWN, X86_32, X86_64,
};
use crate::import::{ImportError, Imported, Location};

/// Bits of the file type that decide about the import. The other bits announce markers.
const LOOKED_AT: u64 = INSTRUCTIONS_ONLY | KERNEL_INSTRUCTIONS_ONLY | CORE | REGDEPS | UNKNOWN;

const NO_DATA: &str =
    "the trace has only instructions, so all numbers about data are missing, not 0";
const NO_KERNEL_DATA: &str = "the kernel's instructions have no data references in the trace, so all numbers about the kernel's \
    data are missing, not 0";
const SYNTHETIC: &str = "the trace's instructions are of DynamoRIO's synthetic set (regdeps): addresses and lengths are the \
    program's, and its architecture is unknown";
const LATER: &str = "the trace has a file type that this version does not know, and ignores";

/// Words of the error message for a trace whose first part was filtered.
pub(super) const FIRST_PART: &str = "for the first part of the time that";

/// Type of a file that can be imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileType(u64);

impl FileType {
    pub(super) fn new(bits: u64, place: Location) -> Imported<FileType> {
        let architectures = [
            (AARCH64, "aarch64"),
            (ARM32, "32-bit ARM"),
            (X86_32, "32-bit x86"),
        ];
        if let Some((_, found)) = architectures.into_iter().find(|(bit, _)| bits & bit != 0) {
            return Err(ImportError::Architecture { place, found });
        }
        if bits & TEMPLATES != 0 {
            return Err(ImportError::Templates { place });
        }
        if bits & (FILTERED | FILTERED_AT_FIRST) != 0 {
            let until = if bits & FILTERED_AT_FIRST != 0 {
                FIRST_PART
            } else {
                "when"
            };
            return Err(ImportError::Filtered { place, until });
        }
        Ok(FileType(bits))
    }

    /// Whether the file has the records of one core, with any threads.
    pub(super) fn is_core(self) -> bool {
        self.0 & CORE != 0
    }

    /// Checks that the types of two files are equal in all bits that decide about the import.
    pub(super) fn agree(before: Option<FileType>, found: FileType, place: Location) -> Imported {
        match before {
            Some(before) if (before.0 ^ found.0) & LOOKED_AT != 0 => Err(ImportError::Mixed {
                place,
                found: found.0,
                before: before.0,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the architecture of the traced code, if the type names it.
    pub(super) fn arch(self) -> Option<&'static str> {
        [(REGDEPS, "regdeps"), (X86_64, "x86_64")]
            .into_iter()
            .find(|(bit, _)| self.0 & bit != 0)
            .map(|(_, name)| name)
    }

    /// Returns notes on all results from a file of this type: missing data, a synthetic instruction
    /// set, a type that this version does not know.
    pub(super) fn notes(self) -> impl Iterator<Item = &'static str> {
        let notes = [
            (INSTRUCTIONS_ONLY, NO_DATA),
            (KERNEL_INSTRUCTIONS_ONLY, NO_KERNEL_DATA),
            (REGDEPS, SYNTHETIC),
            (UNKNOWN, LATER),
        ];
        notes
            .into_iter()
            .filter(move |(bit, _)| self.0 & bit != 0)
            .map(|(_, note)| note)
    }
}
