use switchcost_record::HostManifest;
use switchcost_record::observation::{Calibration, Cost, KnownBy, KnownLines, KnownReload, Tasks};
use switchcost_units::Nanos;

use super::bound::{AtMost, Bound, Footprint, Limit, Prices};
use super::cost::{Costs, Range, direct};
use super::curve::Curve;
use super::known::{self, Away, Known};
use super::turns::{self, Limited, Returns};
use End::{Least, Most, Usual};

/// What is known of reloading on this machine.
pub(super) struct Reloading<'a> {
    calibration: &'a Calibration,
    curve: Curve<'a>,
    bound: Option<Bound>,
}

/// What reloading costs tasks, and what limits the upper end of it.
pub(super) struct Reloaded {
    pub(super) cost: Range,
    pub(super) by: Option<KnownBy>,
    pub(super) limited: Vec<Limited>,
}

impl Reloading<'_> {
    /// None where the machine's costs are not known.
    pub(super) fn new<'a>(
        calibration: &'a Calibration,
        host: &HostManifest,
    ) -> Option<Reloading<'a>> {
        Some(Reloading {
            calibration,
            curve: Curve::of(calibration)?,
            bound: Bound::of(calibration, host),
        })
    }

    pub(super) fn prices(&self) -> Option<&Prices> {
        self.bound.as_ref().map(Bound::prices)
    }

    /// What reloading costs the tasks after their switches. A task that did not come back in the window has not reloaded anything in it.
    pub(super) fn cost(&self, tasks: &Tasks, known: Known<'_>) -> Option<Reloaded> {
        let direct = direct(
            tasks,
            Costs {
                calibration: self.calibration,
                preemption: known.likely.and_then(|known| known.preemption),
            },
        )?;
        let (cost, limited) = match known.likely {
            Some(known) if known.by == KnownBy::Inject => self.as_injected(tasks, direct, known),
            profile => {
                let likely =
                    profile.map(|known| self.as_known(tasks, direct, known, Usual, |cost| cost.ns));
                let each = direct.over(tasks.switches().max(1) as f64);
                let limited = self.at_most(tasks, each, known.most);
                let most = turns::sum(&limited);
                let cost = Range {
                    low: 0.0,
                    likely: likely.or((most == 0.0).then_some(0.0)),
                    high: most.max(likely.unwrap_or(0.0)),
                };
                (cost, limited)
            }
        };
        let most = turns::sum(&limited);
        // What the tasks did not run for, they did not reload in.
        let room = (tasks.run_ns.0 as f64 - direct.low).max(0.0);
        let cost = cost.up_to(room);
        Some(Reloaded {
            limited: within(limited, most, cost.high),
            by: known.likely.map(|known| known.by),
            cost,
        })
    }

    /// The interval that `inject` found, where others touched what its preemptor did in the time that they had.
    fn as_injected(
        &self,
        tasks: &Tasks,
        direct: Range,
        known: &KnownReload,
    ) -> (Range, Vec<Limited>) {
        let likely = self.as_known(tasks, direct, known, Usual, |cost| cost.ns);
        let low = self.as_known(tasks, direct, known, Least, |cost| cost.low_ns.max(0.0));
        let high = self.as_known(tasks, direct, known, Most, |cost| cost.high_ns.max(0.0));
        let cost = Range {
            low: low.min(likely),
            likely: Some(likely),
            high: high.max(likely),
        };
        let limited = Limited {
            by: Limit::Inject,
            switches: tasks.switches(),
            ns: cost.high,
        };
        (cost, vec![limited])
    }

    /// The most that returns may have cost, whatever the task did then; or if it runs as its profile does, where there is one and that is
    /// less. The kernel's own way, of the switch away and of that back, evicts as others do.
    fn at_most(&self, tasks: &Tasks, direct: Range, profile: &[KnownLines]) -> Vec<Limited> {
        let bytes = tasks
            .resident_bytes
            .map_or(f64::INFINITY, |bytes| bytes.0 as f64);
        let behind = |others_ns: f64, lines: f64| match &self.bound {
            Some(bound) => bound.at_most(Footprint { bytes, lines }, others_ns + 2.0 * direct.high),
            None => AtMost {
                ns: f64::INFINITY,
                limit: Limit::Turn,
            },
        };
        let limited = |at_most: &dyn Fn(f64, f64) -> AtMost| {
            turns::limited(returns(tasks), &tasks.turns, at_most)
        };
        let whatever = limited(&|others_ns, turn_ns| {
            turns::up_to_the_turn(behind(others_ns, f64::INFINITY), turn_ns, direct.low)
        });
        let profiled =
            limited(&|others_ns, turn_ns| behind(others_ns, known::most_lines(profile, turn_ns)));
        if turns::sum(&profiled) < turns::sum(&whatever) {
            profiled
        } else {
            whatever
        }
    }

    /// As it is known of the program, where others touched memory for as long as they had: as fast as `inject` does, or walking in order.
    /// At most the time until the next switch takes nothing from it.
    fn as_known(
        &self,
        tasks: &Tasks,
        direct: Range,
        known: &KnownReload,
        end: End,
        of: fn(&Cost) -> f64,
    ) -> f64 {
        let run = (tasks.run_ns.0 as f64 - direct.likely.unwrap_or(direct.low)).max(0.0);
        let turn = match end {
            Most => f64::INFINITY,
            Usual | Least => run / tasks.switches().max(1) as f64,
        };
        let is_timed = known.points.iter().all(|point| point.away_ns.is_some());
        cost_after_all(tasks, end, |others| {
            let away = if is_timed {
                Away::Ns(others)
            } else {
                Away::Bytes(self.curve.walked_in(others))
            };
            known::cost(&known.points, away, turn, of)
        })
    }
}

fn returns(tasks: &Tasks) -> Returns {
    let behind = |(_, to, count): (Nanos, Option<Nanos>, u64)| {
        (to.map_or(f64::INFINITY, |to| to.0 as f64), count)
    };
    // A core that was left keeps what is in its own caches; its other thread shares them.
    let moves = tasks.moved[1].saturating_add(tasks.moved[2]);
    tasks
        .others
        .buckets()
        .map(behind)
        .chain((moves > 0).then_some((f64::INFINITY, moves)))
        .collect()
}

/// Which end of a bucket.
#[derive(Clone, Copy)]
enum End {
    Least,
    Usual,
    Most,
}

/// The sum over all returns of a cost by how long others ran, which after a move to another core is none.
fn cost_after_all(tasks: &Tasks, end: End, cost: impl Fn(f64) -> f64) -> f64 {
    let behind = |(from, to, count): (Nanos, Option<Nanos>, u64)| {
        let from = from.0 as f64;
        let others = match (end, to) {
            (Least, _) => from,
            (Usual, to) => to.map_or(from, |to| (from + to.0 as f64) / 2.0),
            (Most, to) => to.map_or(f64::INFINITY, |to| to.0 as f64),
        };
        count as f64 * cost(others)
    };
    let moves = tasks.moved[1].saturating_add(tasks.moved[2]);
    let moved = if moves > 0 {
        moves as f64 * cost(f64::INFINITY)
    } else {
        0.0
    };
    tasks.others.buckets().map(behind).sum::<f64>() + moved
}

/// The same limits where all of it can be no more than the CPU time: what is beyond is the CPU time's.
fn within(limited: Vec<Limited>, most: f64, high: f64) -> Vec<Limited> {
    if most <= high {
        return limited;
    }
    let switches = limited
        .iter()
        .fold(0u64, |sum, limited| sum.saturating_add(limited.switches));
    vec![Limited {
        by: Limit::Turn,
        switches,
        ns: high,
    }]
}
