//! Costs for a program that `inject` has measured.

use switchcost_record::observation::{Cost, KnownBy, KnownPoint, KnownReload, Observation, Tasks};

use super::cost::Costs;

/// Returns the result of `inject` for these tasks; `None` if there is none, or if the result does
/// not say for how long other tasks ran.
pub(super) fn injected<'a>(observation: &'a Observation, tasks: &Tasks) -> Option<&'a KnownReload> {
    let is_timed = |known: &KnownReload| known.points.iter().all(|point| point.away_ns.is_some());
    observation.known.iter().find(|known| {
        known.by == KnownBy::Inject
            && !known.points.is_empty()
            && is_timed(known)
            && known.is_of(tasks.process, &tasks.name)
    })
}

/// Returns the costs of a switch for these tasks; `None` without a calibration of the machine.
pub(super) fn costs<'a>(observation: &'a Observation, tasks: &Tasks) -> Option<Costs<'a>> {
    Some(Costs {
        calibration: observation.calibration.as_ref()?,
        preemption: injected(observation, tasks).and_then(|known| known.preemption),
    })
}

/// Returns the cost of a switch in nanoseconds, if other tasks ran for `others_ns` before the
/// program continued and ran for `ran_ns`. The cost is interpolated linearly between the known
/// points and 0, and constant beyond the last point.
pub(super) fn cost(
    points: &[KnownPoint],
    others_ns: f64,
    ran_ns: f64,
    of: fn(&Cost) -> f64,
) -> f64 {
    let mut of_away: Vec<(f64, f64)> = Vec::new();
    for same in points.chunk_by(|a, b| a.away_bytes == b.away_bytes) {
        let over_time: Vec<(f64, f64)> = same
            .iter()
            .map(|point| (point.ran_ns.0 as f64, of(&point.cost)))
            .collect();
        let away = same[0].away_ns.map_or(f64::INFINITY, |ns| ns.0 as f64);
        of_away.push((away, between(&over_time, ran_ns)));
    }
    between(&of_away, others_ns)
}

fn between(points: &[(f64, f64)], at: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(end, value) in points {
        if at <= end && end > before.0 {
            return before.1 + (value - before.1) * (at - before.0) / (end - before.0);
        }
        before = (end, value);
    }
    before.1
}

#[cfg(test)]
mod tests {
    use switchcost_units::{Bytes, Nanos};

    use super::*;

    fn point(kib: u64, us: u64, ns: f64) -> KnownPoint {
        KnownPoint {
            away_bytes: Bytes::kib(kib),
            away_ns: Some(Nanos(kib * 10)),
            ran_ns: Nanos(us * 1_000),
            cost: Cost {
                ns,
                low_ns: ns,
                high_ns: ns,
            },
        }
    }

    #[test]
    fn what_is_known_is_reported_between_its_points_and_not_beyond() {
        let points = [
            point(0, 100, 0.0),
            point(64, 100, 1_000.0),
            point(64, 200, 1_500.0),
            point(128, 200, 3_500.0),
        ];
        let of = |kib: f64, us: f64| cost(&points, kib * 10.0, us * 1_000.0, |cost| cost.ns);
        assert_eq!(
            [
                of(64.0, 100.0),
                of(64.0, 150.0),
                of(64.0, 50.0),
                of(32.0, 100.0)
            ],
            [1_000.0, 1_250.0, 500.0, 500.0]
        );
        assert_eq!(
            (of(96.0, 200.0), of(1e6, 1e6), of(0.0, 200.0)),
            (2_500.0, 3_500.0, 0.0)
        );
        assert_eq!(cost(&[], 1.0, 1.0, |cost| cost.ns), 0.0);
    }
}
