use switchcost_record::observation::{
    Cost, KnownLines, KnownPoint, KnownReload, Observation, Tasks,
};

use super::cost::Costs;

/// What is known of some tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// What a switch costs them, known in the best way.
    pub(super) likely: Option<&'a KnownReload>,
    /// How many lines they use at most within some time; empty where that is not known.
    pub(super) most: &'a [KnownLines],
}

pub(super) fn of<'a>(observation: &'a Observation, tasks: &Tasks) -> Known<'a> {
    let all = || {
        observation
            .known
            .iter()
            .filter(|known| known.is_of(tasks.process, &tasks.name))
    };
    Known {
        likely: all()
            .filter(|known| !known.points.is_empty())
            .min_by_key(|known| known.by),
        most: all()
            .map(|known| known.most_lines.as_slice())
            .find(|most| !most.is_empty())
            .unwrap_or_default(),
    }
}

/// What switches cost these tasks directly; none where that of the machine is not known.
pub(super) fn costs<'a>(observation: &'a Observation, tasks: &Tasks) -> Option<Costs<'a>> {
    Some(Costs {
        calibration: observation.calibration.as_ref()?,
        preemption: of(observation, tasks)
            .likely
            .and_then(|known| known.preemption),
    })
}

/// The most lines that are used within so long, where that is known.
pub(super) fn most_lines(most: &[KnownLines], ran_ns: f64) -> f64 {
    most.iter()
        .find(|most| most.ran_ns.0 as f64 >= ran_ns)
        .map_or(f64::INFINITY, |most| most.lines)
}

/// What others did meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Away {
    /// They had the CPU for so long, in nanoseconds.
    Ns(f64),
    /// They touched so much.
    Bytes(f64),
}

/// What a switch costs, by what others did and how long the program then ran: in straight lines between what is known, from nothing on. Who
/// runs for shorter than any that is known has lost as much less; beyond the last it is as there.
pub(super) fn cost(points: &[KnownPoint], away: Away, ran_ns: f64, of: fn(&Cost) -> f64) -> f64 {
    let mut of_away: Vec<(f64, f64)> = Vec::new();
    for same in points.chunk_by(|a, b| a.away_bytes == b.away_bytes) {
        let over_time: Vec<(f64, f64)> = same
            .iter()
            .map(|point| (point.ran_ns.0 as f64, of(&point.cost)))
            .collect();
        let at = match away {
            Away::Ns(_) => same[0].away_ns.map_or(f64::INFINITY, |ns| ns.0 as f64),
            Away::Bytes(_) => same[0].away_bytes.0 as f64,
        };
        of_away.push((at, between(&over_time, ran_ns)));
    }
    let (Away::Ns(at) | Away::Bytes(at)) = away;
    between(&of_away, at)
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
        let of = |kib: f64, us: f64| {
            let [bytes, ns] = [Away::Bytes(kib * 1_024.0), Away::Ns(kib * 10.0)]
                .map(|away| cost(&points, away, us * 1_000.0, |cost| cost.ns));
            assert_eq!(bytes, ns);
            bytes
        };
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
        assert_eq!(cost(&[], Away::Bytes(1.0), 1.0, |cost| cost.ns), 0.0);
    }

    #[test]
    fn lines_within_a_time_are_those_of_the_next_longer_one_and_of_a_longer_than_any_nothing_is_known()
     {
        let most = [(10, 5.0), (20, 8.0)].map(|(ns, lines)| KnownLines {
            ran_ns: Nanos(ns),
            lines,
        });
        assert_eq!(
            [0.0, 10.0, 11.0, 20.0].map(|ns| most_lines(&most, ns)),
            [5.0, 5.0, 8.0, 8.0]
        );
        assert_eq!(
            (most_lines(&most, 21.0), most_lines(&[], 1.0)),
            (f64::INFINITY, f64::INFINITY)
        );
    }
}
