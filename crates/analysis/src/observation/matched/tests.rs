//! Synthetic streams of calls with known answers.

use rand::Rng;
use switchcost_record::observation::{
    CallSite, CallSlice, KnownBy, OffCpu, Tasks, ThreadCalls, TracedCalls,
};
use switchcost_units::Nanos;

use super::*;
use crate::testing::{assert_is_near, assert_within, seeded};

/// A simulated server that waits for a request, reads it and answers it. If several requests arrive
/// together, the server waits only for the first.
#[derive(Clone, Copy)]
struct Server {
    seconds: f64,
    /// Share of the waits in which the server blocks.
    blocks: f64,
    /// Cost of a long wait in the code after it; half as much after the next call, and so on.
    cold_ns: f64,
    /// Work that comes with the first of several requests, and that no call reveals.
    first_ns: f64,
    /// Change of the server's speed from call to call.
    drift: f64,
    /// Whether the frequency of waits and the time of a request change together, every 50 ms.
    has_phases: bool,
}

const SERVER: Server = Server {
    seconds: 3.0,
    blocks: 0.3,
    cold_ns: 0.0,
    first_ns: 0.0,
    drift: 0.004,
    has_phases: false,
};

const USER_NS: f64 = 60_000.0;
const CALL_NS: u32 = 900;
const LONG_WAIT_NS: u32 = 120_000;

fn sites() -> Vec<CallSite> {
    let site = |call: &str, address, next: &str| CallSite {
        call: call.to_owned(),
        address,
        result: 1,
        has_woken: false,
        next: next.to_owned(),
    };
    vec![
        site("epoll_wait", 16, "read"),
        site("read", 32, "write"),
        site("write", 48, "epoll_wait"),
    ]
}

impl Server {
    /// Returns the server's calls, at a slowly changing speed.
    fn calls(self, seed: u64) -> TracedCalls {
        let mut random = seeded(seed);
        let mut thread = ThreadCalls::default();
        let (mut at_ns, mut speed, mut cold) = (0.0, 0.0, 0.0);
        let mut since_last = 0.0;
        while at_ns < self.seconds * 1e9 {
            let is_busy = self.has_phases && (at_ns / 5e7) as u64 % 2 == 1;
            let blocks = if is_busy { 0.9 } else { self.blocks };
            let has_blocked = random.random_bool(blocks);
            let is_long = has_blocked && random.random_bool(0.5);
            for site in 0..3 {
                speed = 0.999 * speed + self.drift * (random.random::<f64>() - 0.5);
                let at = thread.site.len() as u32;
                let mut off_ns = 0.0;
                if site == 0 && has_blocked {
                    let others_ns = if is_long { LONG_WAIT_NS } else { 500 };
                    thread.off.push(OffCpu {
                        at,
                        is_in_call: true,
                        has_waited: true,
                        others_ns,
                    });
                    off_ns = f64::from(others_ns);
                    cold = if is_long { self.cold_ns } else { cold };
                }
                let noise = 4_000.0 * (random.random::<f64>() - 0.5);
                let of_first = if site == 0 && has_blocked {
                    self.first_ns
                } else {
                    0.0
                };
                let of_kind = if is_busy { 10_000.0 } else { 0.0 };
                let user_ns = USER_NS * (1.0 + speed) + noise + cold + of_first + of_kind;
                cold /= 2.0;
                thread.site.push(site);
                thread.after_us.push((since_last / 1e3) as u32);
                thread.call_ns.push(CALL_NS);
                thread.user_ns.push(user_ns as u32);
                since_last = f64::from(CALL_NS) + user_ns + off_ns;
                at_ns += since_last;
            }
        }
        TracedCalls {
            traced: thread.site.len() as u64,
            sites: sites(),
            slices: vec![CallSlice {
                began_ns: Nanos(0),
                length_ns: Nanos(at_ns as u64),
                threads: vec![thread],
            }],
            lost: 0,
        }
    }

    fn found(self, seed: u64) -> MatchedIntervals {
        found(&self.calls(seed))
    }
}

fn found(traced: &TracedCalls) -> MatchedIntervals {
    let [found] = find(traced, |_| Some("server")).try_into().expect("one");
    found
}

fn all_waits(found: &MatchedIntervals) -> Interval {
    found.all_waits.as_ref().expect("there are enough").ns
}

fn failed(found: &MatchedIntervals) -> Vec<CheckName> {
    let failed = found
        .checks
        .iter()
        .filter(|check| check.outcome != Outcome::Passed);
    failed.map(|check| check.name).collect()
}

#[test]
fn what_a_wait_costs_is_found_and_passes_all_checks() {
    // The times are 10 us, 5 us and so on after half of the waits, at a nearly constant speed: with
    // a varying speed, one in ten checks by time fails.
    let server = Server {
        cold_ns: 10_000.0,
        drift: 0.0004,
        ..SERVER
    };
    for seed in 0..5 {
        let found = server.found(seed);
        let all = all_waits(&found);
        assert_within(all.estimate, 10_000.0, 1_000.0);
        assert_eq!(failed(&found), [], "{:?}", found.checks);
        assert_eq!(found.unknown_because, None);
        let dose = found.dose.expect("long ones and short ones").ns.estimate;
        assert_within(dose, 20_000.0, 2_000.0);
        assert!(found.covered > 0.95, "{}", found.covered);
    }
}

#[test]
fn where_nothing_is_lost_nine_of_ten_intervals_hold_zero() {
    const TRIALS: u64 = 100;
    let holds = |seed: &u64| {
        let traced = SERVER.calls(100 + seed);
        let calls = Calls::new(&traced, |_| true);
        let effect = compare(&calls, &Anchors::waits(&calls), true);
        effect.expect("there are enough").ns.contains(0.0)
    };
    let held = (0..TRIALS).filter(holds).count();
    // The range contains 99 % of draws from a binomial distribution of 0.9.
    assert!((82..=97).contains(&held), "{held} of {TRIALS}");
}

#[test]
fn more_work_for_the_first_request_gives_a_range_that_holds_what_switches_cost() {
    for cold_ns in [0.0, 5_000.0] {
        let server = Server {
            first_ns: 25_000.0,
            cold_ns,
            ..SERVER
        };
        for seed in 0..5 {
            let found = server.found(seed);
            assert!(all_waits(&found).estimate > 20_000.0);
            assert_eq!(failed(&found), [CheckName::Intercept], "{:?}", found.checks);
            let wait = found.wait_ns.expect("a range");
            // Half of the waits are long, and cost twice as much in the end.
            let is_in = (wait.low..=wait.high).contains(&cold_ns);
            assert!(is_in && wait.likely.is_none(), "{wait:?}");
        }
    }
}

#[test]
fn load_that_changes_together_with_the_kind_of_requests_is_no_cost_of_switches() {
    let server = Server {
        has_phases: true,
        ..SERVER
    };
    for seed in 0..5 {
        let found = server.found(seed);
        assert!(found.wait_ns.is_none(), "{:?}", found.wait_ns);
    }
}

#[test]
fn where_every_call_blocks_there_is_only_the_dose() {
    let server = Server {
        blocks: 1.0,
        cold_ns: 10_000.0,
        ..SERVER
    };
    let found = server.found(1);
    assert_eq!((&found.all_waits, found.unknown_because), (&None, None));
    // Half of the waits are long, and each costs more than a short one, whose cost is not known.
    let wait = found.wait_ns.expect("at least");
    let is_half = (7_000.0..10_000.0).contains(&wait.low);
    assert!(is_half && wait.high == f64::INFINITY, "{wait:?}");
    // A lower bound of 0 is none.
    let server = Server {
        cold_ns: 0.0,
        drift: 0.0004,
        ..server
    };
    let found: Vec<MatchedIntervals> = (0..10).map(|seed| server.found(seed)).collect();
    let is_too_few = |found: &MatchedIntervals| {
        found.dose.is_some() && found.unknown_because == Some(UnknownBecause::TooFew)
    };
    assert!(found.iter().any(is_too_few), "{found:?}");
}

#[test]
fn inject_gives_the_number_within_the_ends_of_matched_intervals() {
    use crate::observation::{reloading::Reloaded, tests};
    let found = Server {
        blocks: 1.0,
        cold_ns: 10_000.0,
        ..SERVER
    }
    .found(1);
    let tasks = Tasks {
        run_ns: Nanos::seconds(1),
        ..tests::blocked(100)
    };
    let cost = |ns| {
        let injected = tests::known(KnownBy::Inject, 7, ns);
        let cost = Reloaded::new(&tasks, Range::NOTHING, Some(&found), Some(&injected));
        let Reloaded { cost, by } = cost.expect("a cost");
        (by, cost.likely.map(f64::round))
    };
    assert_eq!(cost(20_000.0), (KnownBy::Inject, Some(2_000_000.0)));
    assert_eq!(cost(900.0), (KnownBy::Matched, None));
}

#[test]
fn a_call_with_another_result_is_no_match() {
    let mut traced = Server {
        cold_ns: 10_000.0,
        ..SERVER
    }
    .calls(1);
    // Makes the records look as if each wait that blocks had its own result.
    let mut other = traced.sites[0].clone();
    other.result = 2;
    traced.sites.push(other);
    let thread = &mut traced.slices[0].threads[0];
    for off in &thread.off {
        thread.site[off.at as usize] = 3;
    }
    assert_eq!(found(&traced).all_waits, None);
}

#[test]
fn a_wait_may_be_longer_than_its_field() {
    let mut traced = SERVER.calls(1);
    for off in &mut traced.slices[0].threads[0].off {
        off.others_ns = u32::MAX;
    }
    let found = found(&traced);
    assert_eq!(found.short_wait_ns, u32::MAX);
    assert!(found.all_waits.is_some() && found.dose.is_none());
}

#[test]
fn preemptions_that_were_not_compared_cost_as_much_as_waits_or_leave_no_upper_end() {
    use crate::observation::{reloading::reload_by_calls, tests::blocked};
    let server = Server {
        cold_ns: 10_000.0,
        drift: 0.0004,
        ..SERVER
    };
    let found = server.found(0);
    let wait = found.wait_ns.expect("a cost");
    assert_eq!(found.preemption_ns, None);
    let cost = |voluntary, involuntary| {
        let tasks = Tasks {
            voluntary,
            involuntary,
            ..blocked(0)
        };
        reload_by_calls(&tasks, &found).expect("a cost")
    };
    assert_is_near(cost(95, 5).high, 100.0 * wait.high, 1e-9);
    let many = cost(90, 10);
    assert_is_near(many.low, 90.0 * wait.low, 1e-9);
    assert_eq!((many.likely, many.high), (None, f64::INFINITY));
}
