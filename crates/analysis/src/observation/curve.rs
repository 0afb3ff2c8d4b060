use switchcost_record::observation::{Calibration, Reload};

/// What walking an array takes, and what it takes longer behind a switch, over its size.
pub(super) struct Curve<'a> {
    points: &'a [Reload],
}

impl Curve<'_> {
    pub(super) fn of(calibration: &Calibration) -> Option<Curve<'_>> {
        let points = calibration.reloads.as_slice();
        (!points.is_empty()).then_some(Curve { points })
    }

    /// A time over a size in bytes: in a straight line between two sizes, and beyond the last as steeply as from nothing to it, by
    /// the byte. More memory does not cost less, and nothing costs less than nothing.
    pub(super) fn at(&self, bytes: f64, of: impl Fn(&Reload) -> f64) -> f64 {
        let (mut before, mut value) = (0.0, 0.0);
        for point in self.points {
            let (end, next) = (point.size_bytes.0 as f64, of(point).max(value));
            if bytes <= end {
                return value + (next - value) * (bytes - before) / (end - before);
            }
            (before, value) = (end, next);
        }
        if value > 0.0 {
            value * (bytes / before)
        } else {
            0.0
        }
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
    fn a_reload_grows_with_the_memory_touched() {
        let points = [
            reload(100, 5.0, 10.0),
            reload(200, 10.0, 8.0),
            reload(300, 30.0, 30.0),
        ];
        let curve = Curve { points: &points };
        let at = |bytes| curve.at(bytes, |reload| reload.cost.ns);
        assert_eq!(
            [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 600.0].map(at),
            [0.0, 5.0, 10.0, 10.0, 10.0, 20.0, 60.0]
        );
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
