use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::Histogram;

/// Quantiles of a time, in nanoseconds. Each is the upper end of its bucket, so no less than the time itself, and less than half
/// as much again; none where it lies in the last bucket, which has no end.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Latency {
    /// How many times.
    pub count: u64,
    /// Half of them took less.
    pub p50_ns: Option<f64>,
    /// 99 of 100 took less.
    pub p99_ns: Option<f64>,
    /// All took less.
    pub max_ns: Option<f64>,
    /// Where the last bucket begins: a quantile that is none is no less.
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
