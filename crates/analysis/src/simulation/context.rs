//! Facts that all designs of a record have in common.

use std::collections::HashMap;

use switchcost_design::result::Simulation;

use super::lengths::{Lengths, Turns};

/// Options of the analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Share of the segments at which curves are cut off.
    pub cut_share: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl Default for Options {
    /// Returns a share of a tenth, as in Mogul and Borg 1990 (section 5.1), and intervals of 90 %.
    fn default() -> Self {
        Options {
            cut_share: 0.1,
            confidence: 0.9,
        }
    }
}

/// Facts that each design's findings need besides the design's own sums.
pub(crate) struct Context<'a> {
    pub(crate) head: &'a Simulation,
    pub(crate) options: Options,
    pub(crate) names: &'a ProgramNames,
    pub(crate) lengths: &'a Lengths,
    pub(crate) turns: &'a Turns,
    /// Number of segments by program, begun by a switch or by an exec; empty if no design
    /// distinguishes segments.
    pub(crate) program_turns: &'a [u64],
}

/// Name of the kernel as an owner of lines.
pub(crate) const THE_KERNEL: &str = "the kernel";

/// Names of programs: processes of one name are one program.
pub(crate) struct ProgramNames {
    pub(crate) names: Vec<String>,
    /// Index of the program for each process.
    pub(crate) programs: Vec<usize>,
}

impl ProgramNames {
    pub(crate) fn new(head: &Simulation) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut names = Vec::new();
        let mut number = |name: &'_ str| -> usize {
            names.push(name.to_owned());
            names.len() - 1
        };
        let programs = head.processes.iter().map(|process| {
            *numbers
                .entry(process.name.as_str())
                .or_insert_with(|| number(&process.name))
        });
        let programs = programs.collect();
        ProgramNames { names, programs }
    }

    pub(crate) fn program(&self, process: u32) -> Option<usize> {
        self.programs.get(process as usize).copied()
    }

    /// Returns the owner of a line as an index: a program, or the kernel after all programs.
    pub(crate) fn owner(&self, process: Option<u32>) -> Option<usize> {
        process.map_or(Some(self.names.len()), |process| self.program(process))
    }

    pub(crate) fn name_of(&self, owner: usize) -> String {
        self.names
            .get(owner)
            .cloned()
            .unwrap_or_else(|| THE_KERNEL.to_owned())
    }
}
