//! Computes the finding for one case of a measurement.

use switchcost_record::{CostName, Header, Mechanism, Refusal, SelfTest};

use crate::measurement::bands::sanity_band_ns;
use crate::measurement::bounds::reload_bound_ns;
use crate::measurement::counters::counters;
use crate::measurement::deciding::deciding;
use crate::measurement::findings::{CaseFinding, CycleFinding, Shared, Verdict};
use crate::measurement::flags::{are_suspicious, flags, refused};
use crate::measurement::judged::Judged;
use crate::measurement::paired::{self, Choice};
use crate::measurement::repetition::Quantities;
use crate::measurement::run_spread::{RunsDiffer, earlier_of};
use crate::measurement::speed::Speed;
use crate::measurement::stop::confidence;
use crate::measurement::tail::tail;
use crate::measurement::verdict::missing_number;
use crate::statistics::estimate::estimate;

/// Facts about a run that the findings of all cases need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) header: &'a Header,
    pub(crate) self_tests: &'a [SelfTest],
    pub(crate) latencies_ns: &'a [(u64, f64)],
    pub(crate) speed: Option<&'a Speed>,
    /// Largest known ratio of a cost on a shared core to the same cost on an unshared core.
    pub(crate) most_of_sharing: f64,
}

/// Least share of rounds on an unshared core from which the cost on an unshared core is computed. A
/// smaller share may come from erroneous probes.
const LEAST_UNSHARED: f64 = 0.05;

/// Returns the finding for a case, and the values per repetition from which its costs were
/// estimated. There are no values if the case was not measured.
pub(crate) fn find(
    run: &Run<'_>,
    case: usize,
    judged: &Judged<'_>,
    refusals: &[&Refusal],
) -> (CaseFinding, Quantities) {
    let confidence = confidence(&run.header.plan);
    let measured = Measured::new(run.speed, judged, confidence);
    let quantities = measured.quantities;
    let decisive = estimate(quantities.decisive(judged.case), confidence).map(|_| ());
    let mut found = empty_finding(run, judged);
    if let Some(none) = missing_number(judged, refusals, decisive) {
        found.flags.extend(none.flag);
        // Missing repetitions are also reported if the case has no number for another reason.
        found.flags.extend(refused(refusals).filter(|_| {
            refusals
                .iter()
                .all(|refusal| !none.why.contains(&refusal.why))
        }));
        found.verdict = Verdict::NotMeasured { why: none.why };
        return (found, Quantities::default());
    }
    let shared = measured
        .shared
        .as_ref()
        .filter(|shared| !shared.is_left_out);
    let shared = shared.map(|shared| 1.0 + shared.share * (run.most_of_sharing - 1.0));
    // The spread between runs on unshared cores does not apply to a core that was shared
    // throughout.
    let runs_differ = |cost| match shared {
        None => RunsDiffer::known(run.header, case, cost),
        Some(_) => RunsDiffer::assumed(judged.case, cost),
    };
    add_numbers(&mut found, &quantities, confidence, shared, runs_differ);
    found.between_runs = found.deciding().map(|cost| {
        runs_differ(deciding(judged.case)).finding(earlier_of(run.header, case), cost.confidence)
    });
    found.direct_cycles = found
        .direct_ns
        .as_ref()
        .zip(run.speed.and_then(Speed::hertz))
        .map(|(d, hz)| d.scaled(hz / 1e9));
    found.repetitions_ns = quantities.decisive(judged.case).to_vec();
    found.shared = measured.shared;
    found.cycles = measured.cycles;
    found.flags = flags(&found, judged, &run.header.plan, refusals);
    if are_suspicious(&found.flags) {
        found.verdict = Verdict::Suspect;
    }
    (found, quantities)
}

/// Values of a case per repetition, with statistics of core sharing and of rounds.
#[derive(Default)]
struct Measured {
    quantities: Quantities,
    shared: Option<Shared>,
    cycles: Option<CycleFinding>,
}

impl Measured {
    /// Computes the values from rounds on an unshared core if there are enough, else from all
    /// rounds.
    fn new(speed: Option<&Speed>, judged: &Judged<'_>, confidence: f64) -> Measured {
        let Some(speed) = speed.filter(|_| !judged.windows.is_empty()) else {
            return Measured::default();
        };
        let (case, windows) = (judged.case, &judged.windows);
        let switches = judged.switches_per_handoff().unwrap_or(1.0);
        let of = |choice| paired::quantities(case, windows, speed, switches, choice);
        let unshared_share = paired::unshared_share(windows, speed).unwrap_or(0.0);
        let unshared = of(Choice::Unshared);
        // A synthetic switch has a defined length in time, which sharing the core does not change.
        let may_be_shared = case.mechanism != Mechanism::Synthetic;
        let is_enough = may_be_shared
            && unshared_share >= LEAST_UNSHARED
            && estimate(unshared.decisive(case), confidence).is_ok();
        let (quantities, choice) = if is_enough {
            (unshared, Choice::Unshared)
        } else {
            (of(Choice::Every), Choice::Every)
        };
        let shared = || {
            let runs_differ = RunsDiffer::assumed(case, deciding(case));
            let cost_ns = estimate(of(Choice::Shared).decisive(case), confidence).ok();
            Shared {
                share: 1.0 - unshared_share,
                is_left_out: is_enough,
                cost_ns: cost_ns.map(|cost| cost.across(&runs_differ)),
            }
        };
        Measured {
            quantities,
            shared: may_be_shared.then(shared),
            cycles: paired::cycles_seen(case, windows, speed, switches, choice),
        }
    }
}

/// Returns a finding for the case with the counts, bounds and counters, without costs.
fn empty_finding(run: &Run<'_>, judged: &Judged<'_>) -> CaseFinding {
    CaseFinding {
        switches_per_handoff: judged.switches_per_handoff(),
        involuntary_share: judged.involuntary_share(),
        tail_ns: tail(judged),
        counters: counters(judged, run.self_tests),
        reload_bound_ns: reload_bound_ns(judged.case, &run.header.host, run.latencies_ns),
        sanity_band_ns: sanity_band_ns(judged.case),
        excluded: judged.excluded.clone(),
        ..CaseFinding::bare(judged.case.clone())
    }
}

fn add_numbers(
    found: &mut CaseFinding,
    quantities: &Quantities,
    confidence: f64,
    shared: Option<f64>,
    runs_differ: impl Fn(CostName) -> RunsDiffer,
) {
    let estimate = |values: &[f64], cost: CostName| {
        let found = estimate(values, confidence)
            .ok()?
            .across(&runs_differ(cost));
        Some(match shared {
            Some(most) => found.down_to_unshared(most),
            None => found,
        })
    };
    found.direct_ns = estimate(&quantities.direct, CostName::Direct);
    found.total_ns = estimate(&quantities.total, CostName::Total);
    found.indirect_ns = estimate(&quantities.indirect, CostName::Indirect);
    found.indirect_kernel_ns = estimate(&quantities.indirect_kernel, CostName::IndirectKernel);
    found.indirect_reload_ns = estimate(&quantities.indirect_reload, CostName::IndirectReload);
    found.handoff_ns = estimate(&quantities.handoff, CostName::Handoff);
    found.round_trip_ns = estimate(&quantities.round_trip, CostName::RoundTrip);
    found.baseline_ns = estimate(&quantities.baseline, CostName::Baseline);
    found.walk_ns = estimate(&quantities.walk, CostName::Walk);
    found.reload = quantities.reloads.finding(confidence);
}

#[cfg(test)]
mod tests;
