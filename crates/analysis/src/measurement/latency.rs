//! Load latencies by memory size, from the pointer chases in a record.

use switchcost_record::Latency;
use switchcost_units::TickRate;

use crate::statistics::order_statistics::median;

/// Returns pairs of memory size in bytes and time per load in nanoseconds, smallest size first.
/// Sizes without a usable walk are left out.
pub(crate) fn sort_by_size(latencies: &[Latency], rate: TickRate) -> Vec<(u64, f64)> {
    let mut curve: Vec<_> = latencies
        .iter()
        .filter_map(|latency| Some((latency.size_bytes.0, ns(latency, rate)?)))
        .collect();
    curve.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    curve.dedup_by_key(|point| point.0);
    curve
}

/// Returns the time per load of the median walk in nanoseconds. The minimum would be that of the
/// walk with the most favourable pages.
fn ns(latency: &Latency, rate: TickRate) -> Option<f64> {
    let mut ticks: Vec<f64> = latency
        .walk_ticks
        .iter()
        .map(|ticks| ticks.0 as f64)
        .collect();
    let ns = median(&mut ticks)? / latency.loads as f64 * 1e9 / rate.0 as f64;
    (ns.is_finite() && latency.size_bytes.0 > 0).then_some(ns)
}

/// Returns the latency at `size` bytes in nanoseconds, interpolated between measured sizes over the
/// logarithm of the size, and constant outside of them. `curve` is sorted by size. `None` if
/// `curve` is empty.
pub(crate) fn interpolate(curve: &[(u64, f64)], size: f64) -> Option<f64> {
    let above = curve.partition_point(|(measured, _)| (*measured as f64) < size);
    let (Some(high), Some(low)) = (
        curve.get(above),
        above.checked_sub(1).and_then(|below| curve.get(below)),
    ) else {
        return curve.get(above).or(curve.last()).map(|point| point.1);
    };
    let place = (size / low.0 as f64).log2() / (high.0 as f64 / low.0 as f64).log2();
    Some(low.1 + place * (high.1 - low.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_units::{Bytes, Ticks};

    fn chase(size: u64, loads: u64, ticks: &[u64]) -> Latency {
        Latency {
            size_bytes: Bytes(size),
            loads,
            walk_ticks: ticks.iter().map(|ticks| Ticks(*ticks)).collect(),
            emptied: None,
            emptied_by_page: None,
            in_order: None,
        }
    }

    #[test]
    fn a_load_is_the_median_walk_over_its_loads() {
        let rate = TickRate(2_000_000_000);
        let chases = [
            chase(65_536, 100, &[900, 800, 2_000]),
            chase(4_096, 10, &[20]),
            chase(8_192, 0, &[20]),
            chase(9, 1, &[]),
        ];
        assert_eq!(sort_by_size(&chases, rate), [(4_096, 1.0), (65_536, 4.5)]);
    }

    #[test]
    fn between_two_sizes_the_latency_is_interpolated_over_the_logarithm() {
        let curve = [(1_024, 1.0), (4_096, 3.0)];
        assert_eq!(interpolate(&curve, 2_048.0), Some(2.0));
        assert_eq!(interpolate(&curve, 4_096.0), Some(3.0));
        assert_eq!(interpolate(&curve, 1.0), Some(1.0));
        assert_eq!(interpolate(&curve, 1e9), Some(3.0));
        assert_eq!(interpolate(&[], 1e9), None);
    }
}
