use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::observation::Findings;
use switchcost_record::HostManifest;
use switchcost_record::observation::{
    Calibration, CpuTime, LongWait, Lost, Moment, Observation, OlderChildren, OwnCost,
    SliceExtensions, Source, Subject, Throttled,
};

use crate::OutputFormat;

/// Report on an observation.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that observed.
    program_version: &'a str,
    /// Start of the observation (RFC 3339, UTC).
    started_at: &'a str,
    /// Facts about the machine.
    host: &'a HostManifest,
    /// Target of the observation.
    subject: &'a Subject,
    /// Older children of the observed processes, which were not observed; null if there were none.
    older_children: Option<&'a OlderChildren>,
    /// Requests served in the window; null if the number is not known.
    requests: Option<u64>,
    /// Source of the counts, which determines the fields that are known.
    source: Source,
    /// Why no better source of counts was used.
    not_counted_by: &'a [String],
    /// Use of each CPU in the window; empty if the source does not show it.
    cpus: &'a [CpuTime],
    /// The three longest waits for a CPU.
    longest_waits: &'a [LongWait],
    /// Why no system call was traced; null if calls were traced.
    no_calls_because: Option<&'a str>,
    /// Data lost for lack of buffer space.
    lost: &'a Lost,
    /// Cost of observing; null if the source does not show it.
    own_cost: Option<&'a OwnCost>,
    /// Control groups whose quota was used up.
    throttled: &'a [Throttled],
    /// Switches and waits in consecutive intervals of the observation, in order; at most 240.
    moments: &'a [Moment],
    /// Time slices extended in critical sections on the whole machine (rseq); null if the kernel does not count them.
    slice_extensions: Option<SliceExtensions>,
    /// Cost of a switch on this machine; null if it was neither measured nor stored before.
    calibration: Option<&'a Calibration>,
    #[serde(flatten)]
    findings: &'a Findings,
}

impl OutputFormat for Report<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.observe/1";
}

pub(super) fn report<'a>(observation: &'a Observation, findings: &'a Findings) -> Report<'a> {
    Report {
        program_version: &observation.program,
        started_at: &observation.started_at,
        host: &observation.host,
        subject: &observation.subject,
        older_children: observation.older_children.as_ref(),
        requests: observation.requests,
        source: observation.source,
        not_counted_by: &observation.not_counted_by,
        cpus: &observation.cpus,
        longest_waits: &observation.longest_waits,
        no_calls_because: observation.no_calls_because.as_deref(),
        lost: &observation.lost,
        own_cost: observation.own_cost.as_ref(),
        throttled: &observation.throttled,
        moments: &observation.moments,
        slice_extensions: observation.slice_extensions,
        calibration: observation.calibration.as_ref(),
        findings,
    }
}
