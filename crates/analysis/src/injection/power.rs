//! Estimates the precision of a run so far, and the additional time that the wanted precision
//! needs.

use switchcost_record::injection::{Group, Header, Injection, Run};

use super::{Findings, analyse};

/// Wanted precision: half the interval's length relative to its centre.
const WANTED: f64 = 0.1;

/// Precision of an injection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Half the interval of the least precise cost, relative to its centre.
    pub half_width: f64,
    /// Factor by which the number of runs must grow until the relative half-width is a tenth.
    pub times_as_many: f64,
}

/// Returns the precision of the runs so far; `None` while there is no interval, or while it covers
/// 0.
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
    // An interval becomes half as long with four times as many runs.
    Some(Power {
        half_width,
        times_as_many: (half_width / WANTED).powi(2),
    })
}

/// Returns the half-width of the cold-cache cost's interval for a service at the first footprint,
/// from the groups so far.
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
