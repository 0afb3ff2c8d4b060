use switchcost_record::HostManifest;
use switchcost_units::CpuId;

/// Amount of work in the steps of a reproduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Enough work to judge the claims of the papers.
    #[default]
    Usual,
    /// The least possible work, for a smoke test: fewer sizes, shorter runs, one trial.
    Quick,
}

/// The machine on which steps are run, and options of the run.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// CPUs, kernel and settings of the machine.
    pub host: &'a HostManifest,
    /// CPU with the fewest interrupts, for isolated runs.
    pub quiet_cpu: CpuId,
    /// Another CPU, for runs with noise; `None` on a machine with one CPU.
    pub noisy_cpu: Option<CpuId>,
    /// Amount of work in the steps.
    pub effort: Effort,
    /// Seed of random choices, such as the order of runs and the inputs of programs. Another seed
    /// gives an independent result.
    pub seed: u64,
    /// Whether steps may run programs in a virtual machine with its kernel.
    pub has_guest: bool,
}

/// A command line of this program that a reproduction runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the step, and of its output file without the ending.
    pub name: String,
    /// Arguments of switchcost, without the path of the output file.
    pub arguments: Vec<String>,
    /// Command line of a program that watches the step, such as perf; empty if none does. The
    /// argument `WORDS` stands for the file that receives its output.
    pub watched_by: Vec<String>,
    /// Name of the step whose trace replaces the argument `TRACE`; `None` if no trace is read.
    pub trace_of: Option<String>,
}

impl Step {
    /// Argument that stands for a trace file kept next to the step's record. Other steps read the
    /// trace by the step's name.
    pub const OWN_TRACE: &'static str = "OWN-TRACE";

    /// Creates a step from a command line, which is split at blanks.
    pub(crate) fn new(name: impl Into<String>, line: &str) -> Step {
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        Step {
            name: name.into(),
            arguments,
            watched_by: Vec::new(),
            trace_of: None,
        }
    }

    /// Returns the ending of the step's output file.
    pub fn ending(&self) -> &'static str {
        match self.arguments.first().map(String::as_str) {
            Some("measure") => "jsonl",
            Some("trace") => "sct",
            _ => "parquet",
        }
    }
}
