use super::*;
use crate::service::Work;
use switchcost_host::clock::Clock;
use switchcost_host::live::ThreadId;
use switchcost_units::{Bytes, CpuId};

const COST: u64 = 3_000;
const PER_WORK: u64 = 10_000;
const TOOK: u64 = 50_000;

/// A scripted service that always has work, on a CPU with 1 tick per nanosecond. A preemption that
/// touches memory costs [`COST`], and each piece of work takes [`PER_WORK`].
#[derive(Default)]
struct Scripted {
    now: u64,
    cpu: u64,
    debt: u64,
    worked: u64,
    visits: Vec<Arm>,
    ends_at: Option<u64>,
    share: Option<f64>,
}

impl ServiceControl for Scripted {
    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks> {
        self.now += time.0;
        let runs = (time.0 as f64 * self.share.unwrap_or(1.0)) as u64;
        self.cpu += runs;
        self.worked += runs - self.debt.min(runs);
        self.debt = 0;
        Ok(Ticks(time.0))
    }

    fn touch(&mut self, _: usize) -> Ticks {
        self.debt = COST;
        self.visits.push(Arm::Touching);
        self.spin(0)
    }

    fn spin(&mut self, _: usize) -> Ticks {
        self.now += TOOK;
        Ticks(TOOK)
    }

    fn took(&self, _: usize) -> Nanos {
        Nanos(TOOK)
    }

    fn chain(&mut self, _: u32) -> f64 {
        600.0
    }

    fn cpu_time(&mut self) -> Result<Nanos, ServiceFault> {
        Ok(Nanos(self.cpu))
    }

    fn counts(&mut self) -> Result<(u64, KernelSwitches), ServiceFault> {
        match self.ends_at {
            Some(end) if self.now > end => Err(ServiceFault::Ended(7, Nanos(self.now))),
            _ => Ok((self.worked / PER_WORK, KernelSwitches::default())),
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.now)
    }
}

fn order(until: Nanos) -> ServiceOrder {
    ServiceOrder {
        id: ThreadId {
            process: 7,
            thread: 7,
            began: 0,
        },
        work: Work::Command(String::new()),
        cpu: CpuId(0),
        other_cpus: Vec::new(),
        clock: Clock::MonotonicRaw,
        rate: TickRate(1_000_000_000),
        overhead: Ticks(0),
        timings: vec![Timing {
            period_ns: Nanos::micros(500),
            turn_ns: Nanos::millis(20),
        }],
        footprints: vec![Bytes(0), Bytes::kib(256)],
        against_idle: 1,
        touches_nothing: false,
        seed: 3,
        until,
    }
}

fn groups(service: &mut Scripted, order: &ServiceOrder) -> (Vec<Group>, Result<(), ServiceFault>) {
    let mut groups = Vec::new();
    let outcome = run_phases(service, order, &mut |group| {
        groups.push(group);
        Ok(())
    });
    (groups, outcome)
}

/// Returns the groups of a service that works for 5 s.
fn groups_of_5_s() -> Vec<Group> {
    let (groups, outcome) = groups(&mut Scripted::default(), &order(Nanos::seconds(5)));
    outcome.expect("scripted");
    groups
}

/// Returns the first group of phases that compares preemption with no preemption, or with another
/// preemption.
fn comparison(groups: &[Group], is_against_idle: bool) -> &Group {
    let mut found = groups
        .iter()
        .filter(|group| group.is_against_idle() == is_against_idle);
    found.next().expect("one of three")
}

#[test]
fn each_pass_holds_each_comparison_once_in_any_order_from_either_arm() {
    let groups = groups_of_5_s();
    let pass: Vec<&Group> = groups.iter().filter(|group| group.block == 3).collect();
    let mut footprints: Vec<(u32, bool)> = pass
        .iter()
        .map(|group| (group.footprint, group.is_against_idle()))
        .collect();
    footprints.sort_unstable();
    assert_eq!(footprints, [(0, false), (1, false), (1, true)]);
    let first: std::collections::BTreeSet<String> = groups
        .iter()
        .map(|group| format!("{:?}", group.phases[0].arm))
        .collect();
    assert_eq!(first.len(), 3, "{first:?}");
    for group in &groups {
        let arms = group.phases.map(|phase| phase.arm);
        assert!(
            arms[0] == arms[3] && arms[1] == arms[2] && arms[0] != arms[1],
            "{arms:?}"
        );
    }
}

#[test]
fn at_each_period_each_footprint_is_compared_and_being_held_up_at_the_first() {
    let [long, short] = [1_000, 250].map(|us| Timing {
        period_ns: Nanos::micros(us),
        turn_ns: Nanos::millis(20),
    });
    let order = ServiceOrder {
        timings: vec![long, short],
        ..order(Nanos::seconds(5))
    };
    let (groups, _) = groups(&mut Scripted::default(), &order);
    let pass = groups.iter().filter(|group| group.block == 1);
    let mut compared: Vec<(u32, u32, bool)> = pass
        .map(|group| (group.timing, group.footprint, group.is_against_idle()))
        .collect();
    compared.sort_unstable();
    assert_eq!(
        compared,
        [
            (0, 0, false),
            (0, 1, false),
            (0, 1, true),
            (1, 0, false),
            (1, 1, false)
        ]
    );
    let turns = |timing| {
        let mut of = groups
            .iter()
            .filter(|group| group.timing == timing && !group.is_against_idle());
        of.next().expect("each pass has some").phases[0].turns
    };
    assert_eq!((turns(0), turns(1)), (20, 80));
}

#[test]
fn both_arms_are_away_for_as_long_and_what_comes_out_is_the_cost() {
    let groups = groups_of_5_s();
    let group = comparison(&groups, false);
    let sum = |arm, of: fn(&Phase) -> u64| group.phases(arm).map(of).sum::<u64>() as f64;
    let (touching, spinning) = (Arm::Touching, Arm::Spinning);
    assert_eq!(
        sum(touching, |phase| phase.away_ns.0),
        sum(spinning, |phase| phase.away_ns.0)
    );
    assert_eq!(sum(touching, |phase| phase.turns), 80.0);
    let [each, other] = [touching, spinning]
        .map(|arm| sum(arm, |phase| phase.cpu_ns.0) / sum(arm, |phase| phase.work));
    let cost =
        (each - other) * sum(touching, |phase| phase.work) / sum(touching, |phase| phase.turns_run);
    assert!((cost / COST as f64 - 1.0).abs() < 0.1, "{cost}");
    assert_eq!(group.phases[0].chain_ps, 600_000);
}

#[test]
fn who_is_not_preempted_has_its_cpu_for_as_long_as_the_other_phase_lasts() {
    let groups = groups_of_5_s();
    let group = comparison(&groups, true);
    let walls: Vec<u64> = group.phases.iter().map(|phase| phase.wall_ns.0).collect();
    assert!(walls.iter().all(|wall| *wall == walls[0]), "{walls:?}");
    let idle = group.phases(Arm::Idle).next().expect("two of four");
    assert_eq!((idle.turns, idle.away_ns.0), (1, 0));
    // After an absence longer than a period, the service runs for as long.
    assert_eq!(
        turns(order(Nanos(0)).timings[0], Arm::Touching, Nanos::millis(4)),
        (5, Nanos::millis(4))
    );
}

#[test]
fn what_ends_meanwhile_ends_it_behind_its_last_whole_group() {
    let mut service = Scripted {
        ends_at: Some(Nanos::seconds(1).0),
        ..Scripted::default()
    };
    let (groups, outcome) = groups(&mut service, &order(Nanos::seconds(5)));
    assert!(
        matches!(outcome, Err(ServiceFault::Ended(7, _))),
        "{outcome:?}"
    );
    assert!(groups.len() > 5 && groups.len() < 14, "{}", groups.len());
}

#[test]
fn turns_in_which_it_did_not_run_are_distinguished() {
    let mut service = Scripted {
        share: Some(0.0),
        ..Scripted::default()
    };
    let (groups, _) = groups(&mut service, &order(Nanos::seconds(1)));
    let phase = groups[0].phases[1];
    assert!(
        phase.turns > 0 && phase.turns_run == 0 && phase.chain_ps == 0,
        "{phase:?}"
    );
}
