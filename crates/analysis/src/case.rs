//! Everything about one case, put together.

use record::{Arm, HostManifest, Plan, Refusal, SelfTest};

use crate::bands::sanity_band_ns;
use crate::bounds::reload_bound_ns;
use crate::counters::counters;
use crate::estimate::estimate;
use crate::findings::{CaseFinding, Verdict};
use crate::flags::{are_suspicious, flags};
use crate::judged::Judged;
use crate::repetition::Quantities;
use crate::stop::confidence;
use crate::tail::tail;
use crate::verdict::no_number;

/// What all cases of a record share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) host: &'a HostManifest,
    pub(crate) self_tests: &'a [SelfTest],
    pub(crate) latencies_ns: &'a [(u64, f64)],
}

/// The finding of a case, with the values behind its numbers; these are empty where the case has none.
pub(crate) fn find(run: &Run<'_>, judged: &Judged<'_>, refusals: &[&Refusal]) -> (CaseFinding, Quantities) {
    let quantities = Quantities::of(judged);
    let confidence = confidence(run.plan);
    let decisive = estimate(quantities.decisive(judged.case), confidence).map(|_| ());
    let mut found = without_numbers(run, judged);
    if let Some(none) = no_number(judged, refusals, decisive) {
        found.verdict = Verdict::NotMeasured { why: none.why };
        found.flags.extend(none.flag);
        return (found, Quantities::default());
    }
    add_numbers(&mut found, &quantities, confidence);
    found.flags = flags(&found, judged, run.plan, refusals);
    if are_suspicious(&found.flags) {
        found.verdict = Verdict::Suspect;
    }
    (found, quantities)
}

/// What can be said whether or not there are estimates.
fn without_numbers(run: &Run<'_>, judged: &Judged<'_>) -> CaseFinding {
    CaseFinding {
        case: judged.case.clone(),
        verdict: Verdict::Measured,
        direct_ns: None,
        total_ns: None,
        indirect_ns: None,
        handoff_ns: None,
        round_trip_ns: None,
        baseline_ns: None,
        switches_per_handoff: judged.switches_per_handoff(Arm::SwitchDirect),
        involuntary_share: judged.involuntary_share(),
        tail: tail(judged),
        counters: counters(judged, run.self_tests),
        reload_bound_ns: reload_bound_ns(judged.case, run.host, run.latencies_ns),
        sanity_band_ns: sanity_band_ns(judged.case),
        excluded: judged.excluded.clone(),
        flags: Vec::new(),
    }
}

fn add_numbers(found: &mut CaseFinding, quantities: &Quantities, confidence: f64) {
    let estimate = |values: &[f64]| estimate(values, confidence).ok();
    found.direct_ns = estimate(&quantities.direct);
    found.total_ns = estimate(&quantities.total);
    found.indirect_ns = estimate(&quantities.indirect);
    found.handoff_ns = estimate(&quantities.handoff);
    found.round_trip_ns = estimate(&quantities.round_trip);
    found.baseline_ns = estimate(&quantities.baseline);
}

#[cfg(test)]
mod tests;
