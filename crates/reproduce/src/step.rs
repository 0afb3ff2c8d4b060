use switchcost_record::HostManifest;
use switchcost_units::CpuId;

/// Time that the steps may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Enough time for the papers' claims.
    #[default]
    Usual,
    /// The least possible time, for a smoke test: fewer sizes, shorter runs, one trial.
    Quick,
}

/// Facts about the machine for the steps.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Facts about the machine.
    pub host: &'a HostManifest,
    /// The CPU with the fewest interrupts, for isolated runs.
    pub quiet_cpu: CpuId,
    /// Another CPU, for noise; `None` if there is only one.
    pub noisy_cpu: Option<CpuId>,
    /// Time that the steps may take.
    pub effort: Effort,
    /// Seed of random choices: the order of runs, inputs of programs. Another seed gives another result.
    pub seed: u64,
    /// Whether programs should run in a guest with its kernel, too.
    pub has_guest: bool,
}

/// A command line of this program to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the step, and of its file.
    pub name: String,
    /// Arguments of switchcost, without the path of its record.
    pub arguments: Vec<String>,
    /// Program that watches the step, with its arguments; its output is stored in the file named by
    /// the word `WORDS`.
    pub watched_by: Vec<String>,
    /// Step whose trace is read, at the word `TRACE`.
    pub trace_of: Option<String>,
}

impl Step {
    /// Placeholder for a trace that a step keeps next to its record, for others to read by its
    /// name.
    pub const OWN_TRACE: &'static str = "OWN-TRACE";

    /// Creates a step from a command line without quoted words.
    pub(crate) fn new(name: impl Into<String>, line: &str) -> Step {
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        Step {
            name: name.into(),
            arguments,
            watched_by: Vec::new(),
            trace_of: None,
        }
    }

    /// Returns the ending of the step's file.
    pub fn ending(&self) -> &'static str {
        match self.arguments.first().map(String::as_str) {
            Some("measure") => "jsonl",
            Some("trace") => "sct",
            _ => "parquet",
        }
    }
}
