//! Estimates the precision that the runs of an injection have reached so far, and how many more
//! runs the wanted precision needs.

use switchcost_record::injection::{Group, Header, Injection, Run};

use super::{Findings, analyse};

/// Wanted precision: the half-width of an interval, as a share of the estimate.
const WANTED: f64 = 0.1;

/// Precision that the runs of an injection have reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Half-width of the interval of the least precise cost, as a share of the estimate.
    pub half_width: f64,
    /// Factor by which the number of runs must grow to reach the wanted precision, a half-width of
    /// 10 %.
    pub times_as_many: f64,
}

/// Returns the precision that the runs have reached so far; `None` if a cost has no interval yet,
/// or an interval that contains 0.
pub fn power(header: &Header, runs: &[Run]) -> Option<Power> {
    let half_widths = findings(header, runs, &[])
        .footprints
        .into_iter()
        .map(|found| {
            let cost = found.cost_ns.filter(|cost| cost.low > 0.0)?;
            Some(cost.relative_half_width())
        });
    let half_width = half_widths
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)?;
    // The half-width of an interval is inversely proportional to the square root of the number of
    // runs.
    Some(Power {
        half_width,
        times_as_many: (half_width / WANTED).powi(2),
    })
}

/// Returns the half-width of the interval of a service's cost of cold caches in nanoseconds, from
/// the groups so far. The cost is that of the footprint that reports show first. `None` if there is
/// no interval yet.
pub fn half_width_ns(header: &Header, groups: &[Group]) -> Option<f64> {
    let findings = findings(header, &[], groups);
    let reload = findings.first()?.reload()?;
    Some((reload.high - reload.low) / 2.0)
}

fn findings(header: &Header, runs: &[Run], groups: &[Group]) -> Findings {
    analyse(&Injection {
        header: header.clone(),
        runs: runs.to_vec(),
        groups: groups.to_vec(),
        end: None,
    })
}
