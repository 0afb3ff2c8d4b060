use switchcost_record::observation::{Calibration, Reload};

/// What walking an array takes, over its size.
pub(super) struct Curve<'a> {
    points: &'a [Reload],
}

impl Curve<'_> {
    pub(super) fn of(calibration: &Calibration) -> Option<Curve<'_>> {
        let points = calibration.reloads.as_slice();
        (!points.is_empty()).then_some(Curve { points })
    }

    /// How many bytes are walked in a time.
    pub(super) fn walked_in(&self, ns: f64) -> f64 {
        let (mut before, mut bytes) = (0.0, 0.0);
        for point in self.points {
            let end = point.walk_ns.max(before);
            let size = point.size_bytes.0 as f64;
            if ns <= end && end > before {
                return bytes + (size - bytes) * (ns - before) / (end - before);
            }
            (before, bytes) = (end, size);
        }
        if before > 0.0 {
            bytes * (ns / before)
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use switchcost_record::observation::Cost;
    use switchcost_units::Bytes;

    use super::*;

    fn reload(bytes: u64, walk_ns: f64, ns: f64) -> Reload {
        Reload {
            size_bytes: Bytes(bytes),
            walk_ns,
            cost: Cost {
                ns,
                low_ns: ns / 2.0,
                high_ns: ns * 2.0,
            },
        }
    }

    #[test]
    fn more_time_walks_more_memory() {
        let points = [
            reload(100, 5.0, 10.0),
            reload(200, 10.0, 8.0),
            reload(300, 30.0, 30.0),
        ];
        let curve = Curve { points: &points };
        let walked = [0.0, 2.5, 5.0, 7.5, 20.0, 60.0].map(|ns| curve.walked_in(ns));
        assert_eq!(walked, [0.0, 50.0, 100.0, 150.0, 250.0, 600.0]);
    }
}
