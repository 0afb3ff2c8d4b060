use switchcost_record::HostManifest;
use switchcost_units::CpuId;

/// How much time the steps may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// As the papers did: enough for their claims.
    #[default]
    Usual,
    /// To see it work: fewer sizes, shorter runs, one trial.
    Quick,
}

/// What the steps need to know of the machine they run on.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The machine.
    pub host: &'a HostManifest,
    /// The CPU with the fewest interrupts: where tests are kept apart.
    pub quiet_cpu: CpuId,
    /// Another one, where there are two: where noise is made.
    pub noisy_cpu: Option<CpuId>,
    /// How much time they may take.
    pub effort: Effort,
    /// Decides what is drawn: the order of runs, inputs of programs. Another seed is another result.
    pub seed: u64,
    /// Whether programs are to run in a guest with its kernel, too.
    pub has_guest: bool,
}

/// Something to be run: a command line of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Names it, and the file that it leaves.
    pub name: String,
    /// The arguments of switchcost, without where its record goes.
    pub arguments: Vec<String>,
    /// The program that watches it, with its arguments: its own words are kept, too, in the file at the word `WORDS`.
    pub watched_by: Vec<String>,
    /// The step whose trace it reads; it takes the trace's place, at the word `TRACE`.
    pub trace_of: Option<String>,
}

impl Step {
    /// Stands for a trace of its own that a step keeps beside its record, for others to read by its name.
    pub const OWN_TRACE: &'static str = "OWN-TRACE";

    /// A command line, as one would type it; no word of it holds a space.
    pub(crate) fn new(name: impl Into<String>, line: &str) -> Step {
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        Step {
            name: name.into(),
            arguments,
            watched_by: Vec::new(),
            trace_of: None,
        }
    }

    /// How the file ends that it leaves.
    pub fn ending(&self) -> &'static str {
        match self.arguments.first().map(String::as_str) {
            Some("measure") => "jsonl",
            Some("trace") => "sct",
            _ => "parquet",
        }
    }
}
