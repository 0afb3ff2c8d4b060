//! Estimates the cost of cold caches for a service that is preempted on its own CPU.
//!
//! Each group of four phases gives one value. In two phases the preempting task touches memory, and
//! in two it only spins for the same time. The core cycles per unit of work are compared between
//! the two kinds. The difference for the work done is divided by the number of time slices in which
//! the thread ran.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::injection::{Arm, Group, Injection, Phase, Service};
use switchcost_units::Bytes;

use super::{Findings, FootprintFinding, chains, findings, judged, mean, mean_chain_ns};
use crate::statistics::Estimate;

/// Least number of units of work in the phases of one kind (touching memory, or only spinning) of a
/// group. With fewer, one unit more or less would matter too much.
const LEAST_WORK: u64 = 10;

/// Findings for a service, besides the cost of cold caches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "ServiceFound")]
pub struct ServiceFindings {
    /// The service that was preempted, with its activity before the injection.
    pub preempted: Service,
    /// Cost in nanoseconds of a preemption that touches no memory and lasts as long as one with the
    /// first footprint, compared with no preemption. The cost is negative if the delay lets the
    /// service handle several requests together.
    pub held_up_ns: Option<Estimate>,
    /// Mean length of a preemption that touches no memory, in nanoseconds.
    pub held_up_for_ns: Option<f64>,
    /// CPU time per unit of work during the injection, in phases in which no memory was touched, in
    /// nanoseconds.
    pub cpu_per_work_ns: Option<f64>,
    /// CPU time per unit of work before the injection, when the service could use all its CPUs, in
    /// nanoseconds.
    pub cpu_per_work_before_ns: Option<f64>,
    /// Number of units of work per second before the injection.
    pub work_per_second: f64,
    /// CPU time of the service before the injection, as a share of one CPU.
    pub cpu_share: f64,
    /// Number of preemptions of the service per second of wall time before the injection, by the
    /// kernel's count.
    pub preemptions_per_second: f64,
    /// Cost of cold caches due to the service's own preemptions before the injection, as a share of
    /// its CPU time. Each preemption is assumed to cost as much as one with the footprint that
    /// reports show first.
    pub share_of_own: Option<f64>,
    /// Number of groups that were left out, because the thread did not run in one phase, or did too
    /// little work in the phases of one kind (touching memory, or only spinning).
    pub without_work: usize,
    /// Number of groups that compare preemptions that touch no memory with no preemption.
    pub held_up_groups: usize,
}

/// Largest factor by which the CPU time per unit of work may differ from that before the injection.
/// Beyond this factor, the thread probably did different work. The value was chosen by judgement.
const CHANGED: f64 = 1.5;

impl ServiceFindings {
    /// Whether the CPU time per unit of work is within a factor of 1.5 of that before the
    /// injection; `None` if one of the times is unknown.
    pub fn is_as_before(&self) -> Option<bool> {
        let ratio = self.cpu_per_work_ns? / self.cpu_per_work_before_ns?;
        Some((1.0 / CHANGED..=CHANGED).contains(&ratio))
    }
}

pub(super) fn analyse(record: &Injection, service: &Service) -> Findings {
    let groups = &record.groups;
    let phases = groups.iter().flat_map(|group| &group.phases);
    let chain_ns = mean_chain_ns(phases.map(|phase| (phase.cpu_ns, phase.chain_ps)));
    let sizes = &record.header.plan.footprints_bytes;
    let findings = findings(
        &record.header,
        chain_ns,
        |timing, footprint| {
            let own = touching_groups(groups, timing, footprint);
            finding(&own, sizes[footprint], chain_ns)
        },
        |timing, footprint| {
            let own = touching_groups(groups, timing, footprint).into_iter();
            own.filter_map(|group| Some((group.block, cost(group, chain_ns?)?)))
                .collect()
        },
        |timing| per_second(groups, timing).unwrap_or(0.0),
    );
    let price = findings.first().and_then(FootprintFinding::reload);
    Findings {
        service: Some(service_findings(record, service, chain_ns, price)),
        ..findings
    }
}

fn service_findings(
    record: &Injection,
    service: &Service,
    chain_ns: Option<f64>,
    price: Option<&Estimate>,
) -> ServiceFindings {
    let seconds = service.look.wall_ns.0.max(1) as f64 / 1e9;
    let against_idle: Vec<&Group> = record
        .groups
        .iter()
        .filter(|group| group.is_against_idle())
        .collect();
    let held_up: Vec<f64> = against_idle
        .iter()
        .filter_map(|group| cost(group, chain_ns?))
        .collect();
    let spinning = || {
        record
            .groups
            .iter()
            .flat_map(|group| group.phases(Arm::Spinning))
    };
    let work: u64 = spinning().map(|phase| phase.work).sum();
    let chains: f64 = spinning().filter_map(phase_chains).sum();
    let cpu_share = service.look.cpu_ns.0 as f64 / 1e9 / seconds;
    let preemptions_per_second = service.look.involuntary as f64 / seconds;
    let share = |price: &Estimate| {
        (cpu_share > 0.0).then(|| price.estimate * preemptions_per_second / 1e9 / cpu_share)
    };
    ServiceFindings {
        preempted: service.clone(),
        held_up_groups: held_up.len(),
        held_up_ns: judged(held_up.into_iter()).ok(),
        held_up_for_ns: away(
            against_idle
                .iter()
                .flat_map(|group| group.phases(Arm::Spinning)),
        ),
        cpu_per_work_ns: chain_ns
            .filter(|_| work > 0)
            .map(|chain| chains * chain / work as f64),
        cpu_per_work_before_ns: (service.look.work > 0)
            .then(|| service.look.cpu_ns.0 as f64 / service.look.work as f64),
        work_per_second: service.look.work as f64 / seconds,
        cpu_share,
        preemptions_per_second,
        share_of_own: price.and_then(share),
        without_work: record
            .groups
            .iter()
            .filter(|group| chain_ns.and_then(|chain| cost(group, chain)).is_none())
            .count(),
    }
}

/// Returns the groups at this timing and footprint that compare touching memory with spinning.
fn touching_groups(groups: &[Group], timing: usize, footprint: usize) -> Vec<&Group> {
    let is_of =
        |group: &&Group| group.timing as usize == timing && group.footprint as usize == footprint;
    groups
        .iter()
        .filter(is_of)
        .filter(|group| !group.is_against_idle())
        .collect()
}

fn finding(own: &[&Group], footprint_bytes: Bytes, chain_ns: Option<f64>) -> FootprintFinding {
    let touching = || own.iter().flat_map(|group| group.phases(Arm::Touching));
    let sum = |of: fn(&Phase) -> u64| touching().map(of).sum::<u64>();
    let (turns, turns_run) = (sum(|phase| phase.turns), sum(|phase| phase.turns_run));
    let used = own
        .iter()
        .filter_map(|group| Some((group, cost(group, chain_ns?)?)));
    let (used, costs): (Vec<&&Group>, Vec<f64>) = used.unzip();
    let preempted = used.iter().flat_map(|group| group.phases(Arm::Touching));
    FootprintFinding {
        footprint_bytes,
        runs: costs.len(),
        preemptions: preempted.map(|phase| phase.turns_run).sum(),
        away_ns: away(touching()),
        hit: (turns > 0).then(|| turns_run as f64 / turns as f64),
        cost_ns: None,
        reload_ns: Some(judged(costs.into_iter())),
        share_at_usual_rate: None,
        why_not_measured: Some(
            "a service is preempted in both arms, and what the switch costs cancels".to_owned(),
        ),
    }
}

/// Returns the mean length of a preemption in nanoseconds. The last preemption of each phase is
/// left out, because the phase ends in it.
fn away<'a>(phases: impl Iterator<Item = &'a Phase>) -> Option<f64> {
    mean(
        phases
            .filter(|phase| phase.turns > 1)
            .map(|phase| phase.away_ns.0 as f64 / (phase.turns - 1) as f64),
    )
}

fn has_work(group: &Group) -> bool {
    [Arm::Touching, Arm::Spinning, Arm::Idle].iter().all(|arm| {
        let mut phases = group.phases(*arm).peekable();
        phases.peek().is_none() || phases.map(|phase| phase.work).sum::<u64>() >= LEAST_WORK
    })
}

/// Returns the cost per time slice of the touching arm, compared with the same work in the spinning
/// arm. The unit is nanoseconds at the core clock with which a chain takes `chain_ns`. For a group
/// with idle phases, compares the spinning arm with the idle arm. `None` if the thread did not run
/// or did too little work.
fn cost(group: &Group, chain_ns: f64) -> Option<f64> {
    let (base, arm) = if group.is_against_idle() {
        (Arm::Idle, Arm::Spinning)
    } else {
        (Arm::Spinning, Arm::Touching)
    };
    let sums = |arm: Arm| -> Option<(f64, f64)> {
        let spent: f64 = group.phases(arm).map(phase_chains).sum::<Option<f64>>()?;
        Some((
            spent,
            group.phases(arm).map(|phase| phase.work).sum::<u64>() as f64,
        ))
    };
    let ((base_spent, base_work), (spent, work)) = (sums(base)?, sums(arm)?);
    let turns = group.phases(arm).map(|phase| phase.turns_run).sum::<u64>();
    (has_work(group) && turns > 0)
        .then(|| (spent - base_spent / base_work * work) * chain_ns / turns as f64)
}

fn phase_chains(phase: &Phase) -> Option<f64> {
    chains(phase.cpu_ns, phase.chain_ps)
}

/// Returns the number of preemptions per second of wall time in the groups with the timing
/// `timing`; `None` if there are none.
fn per_second(groups: &[Group], timing: usize) -> Option<f64> {
    let own = || {
        groups
            .iter()
            .filter(|group| group.timing as usize == timing)
    };
    let phases = || {
        own()
            .flat_map(|group| &group.phases)
            .filter(|phase| phase.arm != Arm::Idle)
    };
    let wall: u64 = phases().map(|phase| phase.wall_ns.0).sum();
    (wall > 0).then(|| phases().map(|phase| phase.turns).sum::<u64>() as f64 * 1e9 / wall as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::of_service;
    use super::super::{analyse, power};
    use super::*;
    use crate::testing::{assert_is_near, assert_within, normal, seeded};
    use switchcost_record::injection::Look;
    use switchcost_units::Nanos;

    const CHAIN_PS: u64 = 600_000;
    const TURNS: u64 = 40;

    /// Makes a phase with 20 ms of CPU time: 10 us per 100 units of work, and `more` ns per time
    /// slice, on a core whose chain takes `chain_ps`.
    fn phase(arm: Arm, more: f64, chain_ps: u64) -> Phase {
        let (cpu, speed) = (20e6, chain_ps as f64 / CHAIN_PS as f64);
        let work = (cpu / speed - more * TURNS as f64) / 10e3;
        Phase {
            arm,
            wall_ns: Nanos::millis(20),
            cpu_ns: Nanos(cpu as u64),
            chain_ps,
            work: work.round() as u64 * 100,
            turns: TURNS,
            turns_run: TURNS,
            away_ns: Nanos(10_000 * (TURNS - 1)),
            voluntary: 0,
            involuntary: TURNS,
        }
    }

    fn group(footprint: u32, arms: [(Arm, f64); 2], chain_ps: u64) -> Group {
        let [first, second] = arms.map(|(arm, more)| phase(arm, more, chain_ps));
        Group {
            block: 0,
            footprint,
            timing: 0,
            since_start_ns: Nanos(0),
            phases: [first, second, second, first],
        }
    }

    /// Makes a group that compares touching memory, at `cost` ns per time slice, with spinning.
    fn touching(cost: f64) -> Group {
        group(1, [(Arm::Touching, cost), (Arm::Spinning, 0.0)], CHAIN_PS)
    }

    fn record(groups: Vec<Group>) -> Injection {
        let mut record = of_service();
        record.header.service.as_mut().expect("a service").look = Look {
            wall_ns: Nanos::seconds(2),
            cpu_ns: Nanos::seconds(1),
            work: 200_000,
            involuntary: 1_800,
            ..Look::default()
        };
        Injection { groups, ..record }
    }

    fn reload(findings: &Findings, place: usize) -> &Estimate {
        findings.footprints[place].reload().expect("enough groups")
    }

    #[test]
    fn what_was_put_in_comes_out_whatever_the_core_does_meanwhile() {
        let mut dice = seeded(4);
        let mut groups = Vec::new();
        for number in 0..40 {
            let cost = 1_500.0 + 1_000.0 * normal(&mut dice);
            let chain_ps = CHAIN_PS + 10_000 * (number % 5);
            for (footprint, arms) in [
                (1, [(Arm::Touching, cost), (Arm::Spinning, 0.0)]),
                (0, [(Arm::Spinning, 0.0), (Arm::Touching, 0.0)]),
                (1, [(Arm::Spinning, -2_000.0), (Arm::Idle, 0.0)]),
            ] {
                groups.push(group(footprint, arms, chain_ps));
            }
        }
        let found = analyse(&record(groups));
        let cost = reload(&found, 1);
        assert!(
            cost.low < 1_530.0 && cost.high > 1_470.0 && cost.high - cost.low < 900.0,
            "{cost:?}"
        );
        assert_eq!(reload(&found, 0).estimate.round(), 0.0);
        assert_eq!(
            (found.footprints[1].hit, found.footprints[1].away_ns),
            (Some(1.0), Some(10_000.0))
        );
        let service = found.service.as_ref().expect("a service");
        let held_up = service.held_up_ns.as_ref().expect("40 groups").estimate;
        assert_within(held_up, -2_000.0, 150.0);
        assert_eq!(
            (
                service.preemptions_per_second,
                service.cpu_share,
                service.without_work
            ),
            (900.0, 0.5, 0)
        );
        // There are 900 per second, half of which belong to the service.
        let share = service.share_of_own.expect("it runs");
        assert_is_near(share, cost.estimate * 900.0 * 2.0 / 1e9, 1e-9);
        assert!(!found.footprints[2].is_measured() && found.footprints[1].is_measured());
    }

    #[test]
    fn phases_without_work_are_counted_and_left_out() {
        let mut idle = touching(1_000.0);
        idle.phases.iter_mut().for_each(|phase| phase.work = 4);
        let found = analyse(&record(vec![idle; 10]));
        let why = found.footprints[1]
            .reload_ns
            .clone()
            .expect("of a service")
            .expect_err("nothing to see");
        assert!(why.starts_with("only 0 usable"), "{why}");
        assert_eq!(found.service.expect("a service").without_work, 10);
        let mut gone = touching(1_000.0);
        gone.phases[2].chain_ps = 0;
        assert!(!analyse(&record(vec![gone; 10])).footprints[1].is_measured());
        assert_eq!(analyse(&record(Vec::new())).core_hertz, None);
    }

    /// Shows that about 90 of 100 intervals contain 0 if touching memory costs nothing on average.
    #[test]
    fn nothing_is_called_a_cost_as_often_as_is_reported() {
        let mut dice = seeded(5);
        let mut call = || {
            let groups = (0..24).map(|_| touching(3_000.0 * normal(&mut dice)));
            let found = analyse(&record(groups.collect()));
            let cost = reload(&found, 1);
            u32::from(cost.low > 0.0 || cost.high < 0.0)
        };
        let calls: u32 = (0..100).map(|_| call()).sum();
        assert!(calls <= 18, "{calls} of 100");
    }

    #[test]
    fn how_precise_it_is_so_far_is_reported_of_the_first_footprint() {
        let groups: Vec<Group> = (0..20)
            .map(|number| touching(1_000.0 + 1_000.0 * f64::from(number % 4)))
            .collect();
        let header = record(Vec::new()).header;
        let precision = power::half_width_ns(&header, &groups).expect("20 groups");
        assert!((200.0..1_200.0).contains(&precision), "{precision}");
        assert_eq!(power::half_width_ns(&header, &[]), None);
    }
}
