//! Renders each reporting period of a continuing observation as one line of JSON, for logs.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::observation::{Findings, ProcessFinding, Range, UnknownBecause};
use switchcost_record::observation::{Lost, Observation, Source};

use crate::for_programs::json_line;
use crate::{Document, OutputFormat};

/// Maximum number of programs in each line. Programs with the most switches come first.
const PROGRAMS: usize = 20;

/// Activity in one reporting period of an observation.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Interval<'a> {
    /// End of the reporting period (RFC 3339, UTC).
    at: &'a str,
    /// Length of the reporting period, in nanoseconds.
    window_ns: u64,
    /// Source of the counts.
    source: Source,
    /// Data lost in the reporting period, but tasks that were not observed since the start.
    lost: &'a Lost,
    /// Sums over all observed tasks.
    all: Sums,
    /// The 20 programs with the most switches.
    programs: Vec<Program<'a>>,
}

/// Sums of one program in a reporting period.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Program<'a> {
    /// Name of the program.
    name: &'a str,
    #[serde(flatten)]
    sums: Sums,
}

/// Switches in a reporting period, and their cost.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Sums {
    /// Number of switches, by the kernel's count.
    switches: u64,
    /// Number of involuntary switches and calls of sched_yield.
    involuntary: u64,
    /// CPU time in nanoseconds; null if it is not counted.
    cpu_ns: Option<f64>,
    /// Cost of the switches as a share of the CPU time; null if it is not known.
    share: Option<Range>,
    /// Direct cost as a share of the CPU time; null if it is not known.
    direct_share: Option<Range>,
    /// Indirect cost as a share of the CPU time, by the calls traced since the start; null if it is not known.
    indirect_share: Option<Range>,
    /// Why the traced calls do not show the indirect cost; null if they do, or if it is known.
    indirect_unknown_because: Option<UnknownBecause>,
    /// 99th percentile of the waits for a CPU, in nanoseconds; null if it is not known.
    wait_p99_ns: Option<f64>,
}

impl OutputFormat for Interval<'_> {
    const NAME: &'static str = "switchcost.observe-interval/1";
}

impl Sums {
    fn new(found: &ProcessFinding) -> Sums {
        Sums {
            switches: found.switches,
            involuntary: found.involuntary,
            cpu_ns: found.cpu_ns,
            share: found.share,
            direct_share: found.direct_share,
            indirect_share: found.indirect_share,
            indirect_unknown_because: found.indirect_unknown_because,
            wait_p99_ns: found.wait.as_ref().and_then(|wait| wait.p99_ns),
        }
    }
}

/// Renders a reporting period that ended at `at` (RFC 3339, UTC) as one line of JSON.
pub fn render_interval(observation: &Observation, findings: &Findings, at: &str) -> String {
    let mut programs: Vec<&ProcessFinding> = findings.names.iter().collect();
    programs.sort_by_key(|found| std::cmp::Reverse(found.switches));
    programs.truncate(PROGRAMS);
    json_line(&Document::new(Interval {
        at,
        window_ns: observation.window_ns.0,
        source: observation.source,
        lost: &observation.lost,
        all: Sums::new(&findings.all),
        programs: programs
            .into_iter()
            .map(|found| Program {
                name: &found.name,
                sums: Sums::new(found),
            })
            .collect(),
    }))
}
