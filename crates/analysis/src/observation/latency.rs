use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::Histogram;

/// Quantiles of a time in nanoseconds. Each value is the upper end of a histogram bucket: at least
/// the true quantile, and less than 1.5 times as long. `None` if the quantile is in the last
/// bucket, which has no end.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Latency {
    /// Number of times that the histogram counts.
    pub count: u64,
    /// Median time in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of the times, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// Longest time in nanoseconds.
    pub max_ns: Option<f64>,
    /// Lower end of the histogram's last bucket. A quantile that is `None` is at least this long.
    pub last_ns: f64,
}

pub(super) fn find<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Option<Latency> {
    let mut sum = Histogram::default();
    histograms.for_each(|histogram| sum.add(histogram));
    let end = |share| {
        sum.quantile(share)
            .and_then(|(_, to)| to)
            .map(|to| to.0 as f64)
    };
    (sum.count() > 0).then(|| Latency {
        count: sum.count(),
        p50_ns: end(0.5),
        p99_ns: end(0.99),
        max_ns: end(1.0),
        last_ns: sum.last().0 as f64,
    })
}
