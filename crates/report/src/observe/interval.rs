//! One line for each interval of an observation that goes on, for logs.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::observation::{Findings, ProcessFinding, Range};
use switchcost_record::observation::{Observation, Source};

use crate::for_programs::{Document, OutputFormat, json_line};

/// Programs with a row in each line, those with the most switches.
const PROGRAMS: usize = 20;

/// What happened in one interval of an observation.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Interval<'a> {
    /// When it ended: RFC 3339, UTC.
    at: &'a str,
    /// Its length in nanoseconds.
    window_ns: u64,
    /// How switches were counted.
    source: Source,
    /// All observed tasks together.
    all: Sums,
    /// The 20 programs with the most switches.
    programs: Vec<Program<'a>>,
}

/// A program in an interval.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Program<'a> {
    /// Its name.
    name: &'a str,
    #[serde(flatten)]
    sums: Sums,
}

/// Switches in an interval, and what they took.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Sums {
    /// Switches, as the kernel counts them.
    switches: u64,
    /// Of them, those that the task did not ask for, and calls of sched_yield.
    involuntary: u64,
    /// CPU time in nanoseconds; null where it is not counted.
    cpu_ns: Option<f64>,
    /// What the switches cost, as a share of the CPU time; null where that is not known.
    share: Option<Range>,
    /// The direct cost, as a share of the CPU time; null where that is not known.
    direct_share: Option<Range>,
    /// 99 of 100 waits for a CPU took less, in nanoseconds; null where that is not known.
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
            wait_p99_ns: found.wait.as_ref().and_then(|wait| wait.p99_ns),
        }
    }
}

/// An interval that ended at a moment (RFC 3339), as one line of JSON.
pub fn render_interval(observation: &Observation, findings: &Findings, at: &str) -> String {
    let mut programs: Vec<&ProcessFinding> = findings.names.iter().collect();
    programs.sort_by_key(|found| std::cmp::Reverse(found.switches));
    programs.truncate(PROGRAMS);
    json_line(&Document::new(Interval {
        at,
        window_ns: observation.window_ns.0,
        source: observation.source,
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
