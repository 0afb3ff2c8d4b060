//! Facts that the findings for all designs of a record need.

use std::collections::HashMap;

use switchcost_design::result::Simulation;

use super::lengths::{Lengths, Turns};

/// Options of the analysis of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Share of segments that are longer than the cut-off, at which curves end.
    pub cut_share: f64,
    /// Confidence of the intervals, such as 0.9.
    pub confidence: f64,
}

impl Default for Options {
    /// Returns a share of one tenth, as in Mogul and Borg 1990 (section 5.1), and a confidence of
    /// 90 %.
    fn default() -> Self {
        Options {
            cut_share: 0.1,
            confidence: 0.9,
        }
    }
}

/// Facts that the findings for a design need, besides the sums of the design.
pub(crate) struct Context<'a> {
    pub(crate) head: &'a Simulation,
    pub(crate) options: Options,
    pub(crate) names: &'a ProgramNames,
    pub(crate) lengths: &'a Lengths,
    pub(crate) turns: &'a Turns,
    /// Number of segments of each program, whether they begin with a switch or with an exec. Empty
    /// if no design distinguishes segments.
    pub(crate) program_turns: &'a [u64],
}

/// Name of the kernel in lists of owners of lines.
pub(crate) const THE_KERNEL: &str = "the kernel";

/// Names of programs. All processes of one name are one program.
pub(crate) struct ProgramNames {
    pub(crate) names: Vec<String>,
    /// For each process, the index of its program in `names`.
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

    /// Returns the index of a line's owner: the index of the process's program, or for the kernel
    /// (without a process) the number of programs. `None` if `process` is invalid.
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
