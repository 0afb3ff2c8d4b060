//! Computes one value per quantity and repetition: the trimmed mean over the repetition's rounds of
//! the difference between the two arms. (The code's name for a round is *cycle*.)

use std::collections::BTreeMap;

use switchcost_record::{Arm, Batch, Case, Cycles, Mechanism};

use crate::measurement::deciding::prices_switches;
use crate::measurement::findings::CycleFinding;
use crate::measurement::reload::Visit;
use crate::measurement::repetition::Quantities;
use crate::measurement::speed::{Sharing, Speed};
use crate::measurement::turns::Turns;
use crate::statistics::order_statistics::trimmed_mean;

/// Least number of rounds of the chosen kind in a repetition, unless the repetition has fewer
/// rounds in total. A smaller number of such rounds may be due to an erroneous probe.
const FEWEST: usize = 5;

/// Times of one round in nanoseconds at the reference core clock.
#[derive(Clone, Debug, PartialEq)]
enum Cycle {
    /// Times of a switching arm and of its baseline, without and with working set.
    Arms { direct: Level, total: Option<Level> },
    /// Times of a switch and of the walks after the switch.
    Visit(Visit),
}

impl Cycle {
    fn new(batches: &[Batch], speed: &Speed, case: &Case) -> Option<Cycle> {
        if case.away.is_some() {
            return Visit::new(batches, speed).map(Cycle::Visit);
        }
        let level = |arms| level(batches, speed, case, arms);
        let total = level([Arm::BaselineTotal, Arm::SwitchTotal]);
        if !case.mechanism.hands_over() {
            // A concurrent case hands over no token.
            return Some(Cycle::Arms {
                direct: Level::default(),
                total: Some(total?),
            });
        }
        Some(Cycle::Arms {
            direct: level([Arm::BaselineDirect, Arm::SwitchDirect])?,
            total,
        })
    }

    /// Returns the deciding cost of the round in nanoseconds; `None` if it has no batches with the
    /// working set. `is_without_set` says that the case has no working set.
    fn deciding(&self, is_without_set: bool) -> Option<f64> {
        match self {
            Cycle::Visit(visit) => Some(visit.total()),
            Cycle::Arms { direct, .. } if is_without_set => Some(direct.handoff()),
            Cycle::Arms { total, .. } => total.map(|total| total.handoff() + total.reload),
        }
    }
}

/// Times of the two arms of a round, either without or with working set, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Level {
    /// Time of a hand-off in the switching arm, in nanoseconds at the reference clock.
    switching: f64,
    baseline: f64,
    /// Time of a walk in the switching arm minus that in the baseline. The time is not scaled to
    /// the reference clock, because memory does not follow the core's clock.
    reload: f64,
    /// Time of a walk in the baseline, not scaled to the reference clock.
    walk: f64,
}

impl Level {
    fn handoff(&self) -> f64 {
        self.switching - self.baseline
    }
}

/// Kind of rounds from which a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Rounds in which the core was not shared.
    Unshared,
    /// Rounds in which the other hardware thread of the core was busy.
    Shared,
    /// All rounds, on a shared or an unshared core.
    Every,
}

/// Returns the values of all quantities of a case, one per repetition, from rounds of the kind
/// `choice`.
pub(crate) fn quantities(
    case: &Case,
    windows: &[&Cycles],
    speed: &Speed,
    switches_per_handoff: f64,
    choice: Choice,
) -> Quantities {
    let mut quantities = Quantities::default();
    let turns = Turns::new(case, windows, speed);
    for cycles in cycles_by_repetition(case, windows, speed, choice, turns.as_ref()) {
        add(&mut quantities, case, &cycles, switches_per_handoff);
    }
    quantities
}

/// Returns statistics of a case's rounds, in addition to the trimmed means that give the cost;
/// `None` without rounds.
pub(crate) fn cycles_seen(
    case: &Case,
    windows: &[&Cycles],
    speed: &Speed,
    switches_per_handoff: f64,
    choice: Choice,
) -> Option<CycleFinding> {
    let per_switch = if prices_switches(case) && case.away.is_none() {
        switches_per_handoff
    } else {
        1.0
    };
    let cost = |cycle: &Cycle| Some(cycle.deciding(case.working_set.is_empty())? / per_switch);
    let repetitions: Vec<Vec<f64>> = cycles_by_repetition(case, windows, speed, choice, None)
        .iter()
        .map(|cycles| cycles.iter().filter_map(cost).collect())
        .collect();
    let n = repetitions.iter().map(Vec::len).sum();
    let means: Vec<f64> = repetitions.iter().filter_map(|costs| mean(costs)).collect();
    Some(CycleFinding {
        n,
        mean_ns: mean(&means)?,
        autocorrelation: autocorrelation(&repetitions),
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the correlation of each value with the one before, about the mean of each repetition
/// (Box and Jenkins, "Time series analysis", 1970); `None` if the values do not vary.
fn autocorrelation(repetitions: &[Vec<f64>]) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for costs in repetitions {
        let mean = mean(costs).unwrap_or_default();
        squares += costs.iter().map(|cost| (cost - mean).powi(2)).sum::<f64>();
        products += costs
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum::<f64>();
    }
    (squares > 0.0).then(|| products / squares)
}

/// Returns the rounds of the kind `choice`, one list for each repetition with enough such rounds.
/// With `turns`, rounds with time slices of other tasks are left out.
fn cycles_by_repetition(
    case: &Case,
    windows: &[&Cycles],
    speed: &Speed,
    choice: Choice,
    turns: Option<&Turns>,
) -> Vec<Vec<Cycle>> {
    let mut repetitions: BTreeMap<u32, (usize, Vec<Cycle>)> = BTreeMap::new();
    for window in windows {
        let (all, chosen) = repetitions.entry(window.repetition).or_default();
        for batches in cycles_of(window) {
            let is_whole = turns.is_none_or(|turns| !turns.are_within(&batches, speed));
            *all += usize::from(is_whole);
            if is_whole && is_chosen(speed.sharing(&batches), choice) {
                chosen.extend(Cycle::new(&batches, speed, case));
            }
        }
    }
    let is_enough = |(all, chosen): &(usize, Vec<Cycle>)| chosen.len() >= FEWEST.min(*all).max(1);
    repetitions
        .into_values()
        .filter(is_enough)
        .map(|(_, chosen)| chosen)
        .collect()
}

/// Returns the number of rounds on an unshared core as a share of the rounds at steady core clock;
/// `None` if there are none.
pub(crate) fn unshared_share(windows: &[&Cycles], speed: &Speed) -> Option<f64> {
    let (mut unshared, mut steady) = (0.0, 0.0);
    for sharing in windows
        .iter()
        .flat_map(|window| cycles_of(window))
        .map(|batches| speed.sharing(&batches))
    {
        unshared += f64::from(u8::from(sharing == Sharing::Unshared));
        steady += f64::from(u8::from(sharing != Sharing::Unsteady));
    }
    (steady > 0.0).then(|| unshared / steady)
}

/// Returns the mean sharing ratio (time of the probe's additions divided by time of its
/// multiplications) of rounds on a shared core; `None` if there are none.
pub(crate) fn shared_ratio(windows: &[&Cycles], speed: &Speed) -> Option<f64> {
    let cycles = windows.iter().flat_map(|window| cycles_of(window));
    let shared = cycles.filter(|batches| speed.sharing(batches) == Sharing::Shared);
    mean(
        &shared
            .map(|batches| speed.ratio(&batches))
            .collect::<Vec<_>>(),
    )
}

fn is_chosen(sharing: Sharing, choice: Choice) -> bool {
    match choice {
        Choice::Unshared => sharing == Sharing::Unshared,
        Choice::Shared => sharing == Sharing::Shared,
        Choice::Every => true,
    }
}

/// Returns the batches of each complete round of a window.
fn cycles_of(window: &Cycles) -> impl Iterator<Item = Vec<Batch>> {
    let batches: Vec<Batch> = window.batches.iter().collect();
    let length = window.batches_per_cycle.max(1) as usize;
    batches
        .chunks_exact(length)
        .map(<[Batch]>::to_vec)
        .collect::<Vec<_>>()
        .into_iter()
}

fn level(
    batches: &[Batch],
    speed: &Speed,
    case: &Case,
    [baseline, switching]: [Arm; 2],
) -> Option<Level> {
    let mean = |arm: Arm, read: fn(&Speed, &Batch) -> f64| {
        let of_arm = || batches.iter().filter(move |batch| batch.arm == arm);
        let handoffs: f64 = of_arm().map(|batch| f64::from(batch.handoffs)).sum();
        let sum: f64 = of_arm().map(|batch| read(speed, batch)).sum();
        (handoffs > 0.0)
            .then(|| sum / handoffs)
            .filter(|mean| mean.is_finite())
    };
    // A synthetic switch has a defined length in time, which does not scale with the core clock.
    let handoff: fn(&Speed, &Batch) -> f64 = match case.mechanism {
        Mechanism::Synthetic => |speed, batch| speed.ns(batch.handoff_ticks),
        _ => |speed, batch| speed.scaled_ns(batch.handoff_ticks, batch),
    };
    let walk: fn(&Speed, &Batch) -> f64 = |speed, batch| speed.ns(batch.walk_ticks);
    let alone = mean(baseline, walk)?;
    Some(Level {
        switching: mean(switching, handoff)?,
        baseline: mean(baseline, handoff)?,
        reload: mean(switching, walk)? - alone,
        walk: alone,
    })
}

fn add(quantities: &mut Quantities, case: &Case, cycles: &[Cycle], switches_per_handoff: f64) {
    let arms = cycles.iter().filter_map(|cycle| match cycle {
        Cycle::Arms { direct, total } => Some((*direct, *total)),
        Cycle::Visit(_) => None,
    });
    let arms: Vec<(Level, Option<Level>)> = arms.collect();
    if arms.is_empty() {
        return add_visits(quantities, cycles);
    }
    type Arms = (Level, Option<Level>);
    let of =
        |read: &dyn Fn(&Arms) -> Option<f64>| trimmed_mean(arms.iter().filter_map(read).collect());
    quantities
        .walk
        .extend(of(&|(_, total)| total.as_ref().map(|level| level.walk)));
    if !case.mechanism.hands_over() {
        let slower = of(&|(_, total)| total.as_ref().map(|level| level.reload));
        quantities.total.extend(slower);
        quantities.indirect_reload.extend(slower);
        return;
    }
    let direct = of(&|(direct, _)| Some(direct.handoff()));
    quantities.handoff.extend(direct);
    quantities
        .baseline
        .extend(of(&|(direct, _)| Some(direct.baseline)));
    quantities.round_trip.extend(of(&|(direct, _)| {
        Some(direct.switching * f64::from(case.tasks))
    }));
    let prices_switches = prices_switches(case);
    let per_handoff = if prices_switches {
        switches_per_handoff
    } else {
        1.0
    };
    if per_handoff <= 0.0 {
        return;
    }
    let per_switch = |value: Option<f64>| value.map(|ns| ns / per_handoff);
    quantities
        .direct
        .extend(per_switch(direct).filter(|_| prices_switches));
    let total = |read: fn(&Level) -> f64| per_switch(of(&|(_, total)| total.as_ref().map(read)));
    let kernel = |(direct, total): &Arms| Some(total.as_ref()?.handoff() - direct.handoff());
    quantities
        .total
        .extend(total(|level| level.handoff() + level.reload));
    quantities
        .indirect
        .extend(per_switch(of(&|arms| Some(kernel(arms)? + arms.1?.reload))));
    quantities.indirect_kernel.extend(per_switch(of(&kernel)));
    quantities
        .indirect_reload
        .extend(total(|level| level.reload));
}

/// Adds the values of a repetition that measures the reload. A round of such a repetition (a visit)
/// has a single switch, the return to the task, whatever the mechanism.
fn add_visits(quantities: &mut Quantities, cycles: &[Cycle]) {
    let visits = cycles.iter().filter_map(|cycle| match cycle {
        Cycle::Visit(visit) => Some(visit.clone()),
        Cycle::Arms { .. } => None,
    });
    let visits: Vec<Visit> = visits.collect();
    let of = |read: fn(&Visit) -> f64| trimmed_mean(visits.iter().map(read).collect());
    quantities.handoff.extend(of(|visit| visit.handoff));
    quantities
        .baseline
        .extend(of(|visit| visit.settled_handoff));
    quantities.total.extend(of(Visit::total));
    quantities.indirect_reload.extend(of(Visit::reload));
    quantities.reloads.add(&visits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlagName;
    use crate::analyse;
    use crate::measurement::findings::{CaseFinding, Flag, Part};
    use crate::testing::{
        Core, SHARED_COST, UNSHARED_PER_MILLE, assert_near, assert_within, fake_record,
        fake_record_on, is_near, only, pipe, seeded,
    };
    use rand::Rng;
    use switchcost_record::{CountedHandoffs, KernelSwitches, MeasureRecord};
    use switchcost_units::Ticks;

    fn has_flag(flags: &[Flag], name: FlagName) -> bool {
        flags.iter().any(|flag| flag.name == name)
    }

    #[test]
    fn the_indirect_cost_comes_in_its_two_parts() {
        let mut case = pipe().sized_kib(64);
        case.colder_ns = 500.0;
        let found = only(&fake_record(vec![case], 8));
        assert_near(&found.direct_ns, 1_700.0, 0.01);
        assert_near(&found.total_ns, 6_200.0, 0.01);
        assert_near(&found.indirect_kernel_ns, 500.0, 0.02);
        assert_near(&found.indirect_reload_ns, 4_000.0, 0.01);
        assert_eq!(found.larger_part(), Some(Part::Reload));
        assert_near(&found.indirect_ns, 4_500.0, 0.01);
        let both = Some(found.indirect_ns.clone().expect("an estimate"));
        let blurred = CaseFinding {
            indirect_kernel_ns: both.clone(),
            indirect_reload_ns: both,
            ..found
        };
        assert_eq!(
            blurred.larger_part(),
            None,
            "equal parts are not distinguished"
        );
    }

    /// In a third of the windows a core cycle takes 1 to 1.4 times as long as at the fastest clock,
    /// in the others 1.2 times. Costs are expected at the most frequent clock.
    #[test]
    fn costs_are_reported_at_the_speed_that_the_core_mostly_had() {
        let mut random = seeded(3);
        let core = || {
            let other = 1.0 + 0.4 * random.random::<f64>();
            Core::slow(if random.random_ratio(1, 3) {
                other
            } else {
                1.2
            })
        };
        let record = fake_record_on(vec![pipe()], 12, core);
        let findings = analyse(&record);
        let direct = findings.results[0].direct_ns.clone().expect("an estimate");
        assert!(
            is_near(direct.estimate, 1_700.0 * 1.2, 0.01)
                && direct.relative_half_width_within_run() < 0.005,
            "{direct:?}"
        );
        let core = findings.core.expect("cycles");
        assert!(is_near(core.hertz.expect("known"), 2.5e9, 0.01), "{core:?}");
        assert!(core.fastest_hertz > core.hertz, "{core:?}");
    }

    /// The window has 13 % more switches than hand-offs, all for commands that run the commanded
    /// task immediately; the tasks themselves count one switch per hand-off.
    #[test]
    fn switches_by_commands_are_no_part_of_a_hand_off() {
        let mut record = fake_record(vec![pipe()], 8);
        record.header.plan.cases[0].switches = Some(switchcost_record::SwitchPlan {
            low_per_mille: 1000,
            high_per_mille: 2500,
        });
        for window in &mut record.cycles {
            let of_commands = window.switching_handoffs * 13 / 100;
            let handoffs = window.switching_handoffs;
            let switches = KernelSwitches {
                voluntary: handoffs * 3 / 4,
                involuntary: handoffs - handoffs * 3 / 4,
            };
            window.kernel_switches.voluntary += of_commands;
            window.counted = Some(CountedHandoffs { handoffs, switches });
        }
        let found = only(&record);
        assert_eq!(found.switches_per_handoff, Some(1.0));
        assert_near(&found.direct_ns, 1_700.0, 0.01);
        assert!(is_near(
            found.involuntary_share.expect("counted"),
            0.25,
            0.01
        ));
        for window in &mut record.cycles {
            window.counted = None;
        }
        let guessed = only(&record).switches_per_handoff.expect("a number");
        assert!(
            is_near(guessed, 1.13, 0.01),
            "where the tasks did not count"
        );
    }

    /// A chain of 1200 ticks at 2 GHz takes 600 ns for 1800 cycles: 3 GHz.
    #[test]
    fn core_cycles_follow_from_the_chain() {
        let record = fake_record(vec![pipe()], 8);
        let findings = analyse(&record);
        assert_eq!(findings.core.and_then(|core| core.hertz), Some(3e9));
        assert_near(&findings.results[0].direct_cycles, 5_100.0, 0.01);
    }

    /// The core is 30 % slower between the probes than during them, which only a cycle counter can
    /// show.
    #[test]
    fn cycles_counted_over_a_batch_are_its_clock_where_there_are_some() {
        let mut record = fake_record_on(vec![pipe()], 8, || Core::slow(1.3));
        for batches in record.cycles.iter_mut().map(|window| &mut window.batches) {
            let as_if_fast =
                |ticks: &mut Ticks| ticks.0 = 40 + ((ticks.0 - 40) as f64 / 1.3).round() as u64;
            batches.chain_ticks.iter_mut().for_each(as_if_fast);
        }
        let by_probes = only(&record);
        assert_near(&by_probes.direct_ns, 1_700.0 * 1.3, 0.01);
        for batches in record.cycles.iter_mut().map(|window| &mut window.batches) {
            // 1800 cycles take 1200 ticks at the highest clock.
            (0..batches.len()).for_each(|_| batches.push_count(18_000, Ticks(15_600)));
        }
        let counted = only(&record);
        assert_near(&counted.direct_ns, 1_700.0, 0.01);
        assert_near(&counted.direct_cycles, 5_100.0, 0.01);
    }

    #[test]
    fn a_shared_core_is_distinguished_by_its_probes() {
        let mut random = seeded(4);
        let core = || Core::shared(random.random_bool(0.6));
        let found = only(&fake_record_on(vec![pipe()], 12, core));
        let shared = found.shared.expect("cycles");
        assert_near(&found.direct_ns, 1_700.0, 0.01);
        assert!(
            shared.is_left_out && is_near(shared.share, 0.6, 0.2),
            "{shared:?}"
        );
        assert_near(&shared.cost_ns, 1_700.0 * SHARED_COST, 0.01);
    }

    /// Equal rounds do not show that the core was shared in all of them; the least sharing ratio of
    /// earlier runs does.
    #[test]
    fn a_core_that_was_shared_throughout_is_judged_by_what_is_known_of_it() {
        let share = |record: &MeasureRecord| only(record).shared.map(|shared| shared.share);
        let mut record = fake_record_on(vec![pipe()], 12, || Core::shared(true));
        assert_eq!(share(&record), Some(0.0), "nothing shows it");
        let mut own = fake_record(vec![pipe()], 8);
        own.header.core_clock.unshared_per_mille = Some(UNSHARED_PER_MILLE);
        assert_eq!(share(&own), Some(0.0), "a core of one's own");
        record.header.core_clock.unshared_per_mille = Some(UNSHARED_PER_MILLE);
        let found = only(&record);
        let (direct, sharing) = (
            found.direct_ns.expect("an estimate"),
            found.shared.expect("cycles"),
        );
        assert!(sharing.share == 1.0 && !sharing.is_left_out, "{sharing:?}");
        assert!(is_near(direct.estimate, 1_700.0 * SHARED_COST, 0.01));
        assert!(
            direct.low < 1_700.0 && 1_700.0 * SHARED_COST <= direct.high,
            "{direct:?}"
        );
        assert!(has_flag(&found.flags, FlagName::SharedCore));
    }

    #[test]
    fn a_made_up_switch_is_made_of_time_and_no_neighbour_lengthens_it() {
        let case = pipe().change(|case| case.mechanism = Mechanism::Synthetic);
        let found = only(&fake_record_on(vec![case], 12, || Core::shared(true)));
        assert!(
            found.shared.is_none() && found.direct_ns.is_some(),
            "{found:?}"
        );
    }

    #[test]
    fn few_unshared_cycles_are_not_trusted() {
        let mut windows = 0;
        let core = || {
            windows += 1;
            Core::shared(windows % 40 != 0)
        };
        let found = only(&fake_record_on(vec![pipe()], 12, core));
        let shared = found.shared.expect("cycles");
        assert!(
            !shared.is_left_out && is_near(shared.share, 0.975, 0.01),
            "{shared:?}"
        );
        assert_near(&found.direct_ns, 1_700.0 * SHARED_COST, 0.02);
    }

    #[test]
    fn a_heavy_tail_is_not_hidden_by_trimming() {
        let found = |record: &MeasureRecord| {
            let found = only(record);
            let direct = found.direct_ns.expect("an estimate").estimate;
            let mean = found.cycles.expect("cycles").mean_ns;
            (direct, mean, has_flag(&found.flags, FlagName::HeavyTail))
        };
        let mut record = fake_record(vec![pipe()], 8);
        let (direct, mean, is_heavy) = found(&record);
        assert!(is_near(mean, direct, 0.005) && !is_heavy, "{mean}");
        for window in record.cycles.iter_mut().step_by(5) {
            // One switching batch of a cycle in 25 took a hundred times as long.
            let batch = window
                .batches
                .iter()
                .position(|batch| batch.arm == Arm::SwitchDirect)
                .expect("one");
            window.batches.handoff_ticks[batch].0 *= 100;
        }
        let (direct, mean, is_heavy) = found(&record);
        assert!(is_near(direct, 1_700.0, 0.02), "{direct}");
        assert!(mean > 2.0 * direct && is_heavy, "{mean}");
    }

    /// About the means, 2.5 and 3, the products add up to 0.75 and -1, the squares to 5 and 6.
    #[test]
    fn neighbours_in_time_are_correlated_within_their_repetition() {
        let found =
            autocorrelation(&[vec![1.0, 2.0, 4.0, 3.0], vec![2.0, 2.0, 5.0]]).expect("they vary");
        assert_within(found, -0.25 / 11.0, 1e-12);
        assert_eq!(autocorrelation(&[vec![1.0, 1.0]]), None);
    }
}
