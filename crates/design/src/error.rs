use std::fmt;

use crate::{Design, Level, TlbLevel};

/// The result of a check of a design.
pub(crate) type Checked = Result<(), UnrealisableDesign>;

/// Error for a design that cannot exist in hardware or cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}; {remedy}")]
pub struct UnrealisableDesign {
    /// Part of the design with the impossible field: `design "mogul-1a"`, `level "L1D"`, `tlb
    /// "DTLB"`.
    pub place: String,
    /// Description of the impossible field and its value.
    pub problem: String,
    /// Description of a change that makes the design possible.
    pub remedy: String,
}

/// Name of a part of a design as error messages show it: `level "L1D"`.
#[derive(Clone)]
pub(crate) struct Part(String);

impl Part {
    pub(crate) fn design(design: &Design) -> Self {
        Part(format!("design {}", quoted(&design.name)))
    }

    pub(crate) fn level(level: &Level) -> Self {
        Part(format!("level {}", quoted(&level.name)))
    }

    pub(crate) fn tlb(tlb: &TlbLevel) -> Self {
        Part(format!("tlb {}", quoted(&tlb.name)))
    }

    /// Returns an error with `problem` and `remedy` unless `holds` is true.
    pub(crate) fn require(
        &self,
        holds: bool,
        problem: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> Result<(), UnrealisableDesign> {
        match holds {
            true => Ok(()),
            false => Err(UnrealisableDesign {
                place: self.0.clone(),
                problem: problem.to_string(),
                remedy: remedy.to_string(),
            }),
        }
    }
}

/// Returns `name` in quotes, escaped, and shortened if it is long.
pub(crate) fn quoted(name: &str) -> String {
    const SHOWN_CHARACTERS: usize = 64;
    match name.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}
