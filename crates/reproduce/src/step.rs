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

impl Effort {
    /// Returns the value for the effort.
    pub(crate) fn choose<T>(self, usual: T, quick: T) -> T {
        match self {
            Effort::Usual => usual,
            Effort::Quick => quick,
        }
    }
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

/// A command line that a reproduction runs, of this program or of a C program. Files of steps are named relative to
/// the folder of the reproduction, as `records/STEP.ENDING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the step, and of its output file without the ending.
    pub name: String,
    /// Arguments of the program. The last one is the output file.
    pub arguments: Vec<String>,
    /// Command line of a program that watches the step, such as perf; empty if none does. Its
    /// output file is `records/STEP.watched.txt`.
    pub watched_by: Vec<String>,
    /// Path in this crate's `src` and text of the C program that the step compiles and runs; `None`
    /// if the step runs switchcost.
    pub source: Option<(&'static str, &'static str)>,
}

impl Step {
    /// Creates a step from a command line, which is split at blanks. The argument for the output
    /// file is added.
    pub(crate) fn new(name: impl Into<String>, line: &str) -> Step {
        let name = name.into();
        let (flag, ending) = match line.split(' ').next() {
            Some("measure") if line.ends_with("--prices") => ("", "json"),
            Some("measure") => ("--record", "jsonl"),
            Some("trace") => ("-o", "sct"),
            _ => ("--record", "parquet"),
        };
        let line = format!("{line} {flag} records/{name}.{ending}");
        Step {
            name,
            arguments: line.split_whitespace().map(str::to_owned).collect(),
            watched_by: Vec::new(),
            source: None,
        }
    }

    /// Returns the step's output file.
    pub fn output(&self) -> &str {
        self.arguments.last().map_or("", String::as_str)
    }

    /// Returns the ending of the step's output file.
    pub fn ending(&self) -> &str {
        self.output().rsplit('.').next().unwrap_or_default()
    }

    /// Returns true if this step names a file of the step `other`, whose output it reads.
    pub fn reads(&self, other: &str) -> bool {
        let file = format!("records/{other}.");
        self.arguments.iter().any(|word| word.starts_with(&file))
    }
}
