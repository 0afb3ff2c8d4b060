use ::observation::{
    Calibration, CpuTime, LongWait, Lost, Moment, Observation, OwnCost, SliceExtensions, Source, Subject, Throttled,
};
use analysis::observation::Findings;
use record::HostManifest;
use serde::Serialize;

use super::OBSERVE_REPORT_SCHEMA;
use crate::for_programs::json;

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
    program_version: &'a str,
    started_at: &'a str,
    host: &'a HostManifest,
    subject: &'a Subject,
    requests: Option<u64>,
    source: Source,
    not_counted_by: &'a [String],
    cpus: &'a [CpuTime],
    longest_waits: &'a [LongWait],
    lost: &'a Lost,
    own_cost: Option<&'a OwnCost>,
    throttled: &'a [Throttled],
    moments: &'a [Moment],
    slice_extensions: Option<SliceExtensions>,
    calibration: Option<&'a Calibration>,
    #[serde(flatten)]
    findings: &'a Findings,
}

pub(super) fn render(observation: &Observation, findings: &Findings) -> String {
    json(&View {
        schema: OBSERVE_REPORT_SCHEMA,
        program_version: &observation.program,
        started_at: &observation.started_at,
        host: &observation.host,
        subject: &observation.subject,
        requests: observation.requests,
        source: observation.source,
        not_counted_by: &observation.not_counted_by,
        cpus: &observation.cpus,
        longest_waits: &observation.longest_waits,
        lost: &observation.lost,
        own_cost: observation.own_cost.as_ref(),
        throttled: &observation.throttled,
        moments: &observation.moments,
        slice_extensions: observation.slice_extensions,
        calibration: observation.calibration.as_ref(),
        findings,
    })
}
