//! One value of each quantity from each repetition: the difference of its arms. Here of batches, as in records of version 1;
//! those of cycles are in `paired`.

use std::collections::BTreeMap;

use switchcost_record::{Arm, Case, Sample};
use switchcost_units::TickRate;

use crate::judged::{Judged, prices_switches, switches_per_handoff};
use crate::order_statistics::median;
use crate::reload::Reloads;

/// The values of a case by quantity, one for each repetition that has what the quantity needs, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantities {
    /// A switch: c1 = t1 - t2 of Li, Ding and Shen 2007, section 2.2, each per hand-off, over counted switches.
    /// Empty across CPUs.
    pub(crate) direct: Vec<f64>,
    /// A switch with its working set: c2 = s1 - s2, section 2.3. Across CPUs, a hand-off with it.
    pub(crate) total: Vec<f64>,
    /// c2 - c1 of the same repetition.
    pub(crate) indirect: Vec<f64>,
    /// Of it, what the hand-off itself takes longer behind a walk. Only from cycles, where it is timed by itself.
    pub(crate) indirect_kernel: Vec<f64>,
    /// Of it, what the walk takes longer behind a switch. Only from cycles.
    pub(crate) indirect_reload: Vec<f64>,
    /// t1 - t2, not divided.
    pub(crate) handoff: Vec<f64>,
    /// tasks x t1.
    pub(crate) round_trip: Vec<f64>,
    /// t2.
    pub(crate) baseline: Vec<f64>,
    /// A walk of the baseline arm: of the same array without a switch. Only from cycles.
    pub(crate) walk: Vec<f64>,
    /// Walk by walk behind a switch, where a case is about that.
    pub(crate) reloads: Reloads,
}

impl Quantities {
    /// From the clean samples of a case.
    pub(crate) fn of(judged: &Judged<'_>) -> Self {
        let mut quantities = Quantities::default();
        for arms in arms_by_repetition(judged).into_values() {
            quantities.add(judged.case, &arms);
        }
        quantities
    }

    /// The values that say whether a case is precise enough.
    pub(crate) fn decisive(&self, case: &Case) -> &[f64] {
        match (case.working_set.is_empty(), prices_switches(case)) {
            (false, _) => &self.total,
            (true, true) => &self.direct,
            (true, false) => &self.handoff,
        }
    }

    fn add(&mut self, case: &Case, arms: &[Option<ArmReading>; 4]) {
        let direct = difference(arms, Arm::BaselineDirect, Arm::SwitchDirect);
        let total = difference(arms, Arm::BaselineTotal, Arm::SwitchTotal);
        if let Some(direct) = &direct {
            self.handoff.push(direct.per_handoff);
            self.round_trip.push(f64::from(case.tasks) * direct.switching);
            self.baseline.push(direct.baseline);
        }
        let prices_switches = prices_switches(case);
        let priced =
            |difference: Difference| if prices_switches { difference.per_switch } else { Some(difference.per_handoff) };
        let (direct, total) = (direct.and_then(priced), total.and_then(priced));
        self.direct.extend(direct.filter(|_| prices_switches));
        self.total.extend(total);
        self.indirect.extend(total.zip(direct).map(|(total, direct)| total - direct));
    }
}

/// One arm in one repetition.
#[derive(Clone, Copy, Debug)]
struct ArmReading {
    /// Time of a hand-off: the median over the batches.
    ns: f64,
    /// Counted switches a hand-off over the same batches.
    switches: f64,
}

#[derive(Clone, Copy, Debug)]
struct Difference {
    baseline: f64,
    switching: f64,
    per_handoff: f64,
    /// `None` where no switch was counted.
    per_switch: Option<f64>,
}

fn difference(arms: &[Option<ArmReading>; 4], baseline: Arm, switching: Arm) -> Option<Difference> {
    let (baseline, switching) = arms[baseline as usize].zip(arms[switching as usize])?;
    let per_handoff = switching.ns - baseline.ns;
    let per_switch = (switching.switches > 0.0).then(|| per_handoff / switching.switches);
    Some(Difference { baseline: baseline.ns, switching: switching.ns, per_handoff, per_switch })
}

/// In the order of the repetitions, whatever the order of the samples.
fn arms_by_repetition(judged: &Judged<'_>) -> BTreeMap<u32, [Option<ArmReading>; 4]> {
    let mut batches: BTreeMap<u32, [Vec<&Sample>; 4]> = BTreeMap::new();
    for sample in &judged.clean {
        batches.entry(sample.repetition).or_default()[sample.arm as usize].push(sample);
    }
    let read = |batches: Vec<&Sample>| read_arm(judged.case, judged.rate, &batches);
    batches.into_iter().map(|(repetition, arms)| (repetition, arms.map(read))).collect()
}

fn read_arm(case: &Case, rate: TickRate, batches: &[&Sample]) -> Option<ArmReading> {
    let times = batches.iter().map(|sample| ns_per_handoff(sample, rate));
    let ns = median(&mut times.collect::<Vec<_>>()).filter(|ns| ns.is_finite())?;
    Some(ArmReading { ns, switches: switches_per_handoff(case, batches.iter().copied())? })
}

/// Ticks over hand-offs, in nanoseconds.
pub(crate) fn ns_per_handoff(sample: &Sample, rate: TickRate) -> f64 {
    sample.ticks.0 as f64 / sample.handoffs as f64 * 1e9 / rate.0 as f64
}
