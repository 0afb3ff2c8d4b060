//! Tables 1 and 2: six runs of three sizes, with and without isolation, with and without noise.

use record::{Arm, MeasureRecord};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};
use units::Bytes;

use super::steps::{SETTINGS, Setting};
use crate::exhibit::Cell;
use crate::published::{LiRow, li_tables};
use crate::text::percent;
use crate::{Claim, Exhibit, Records, Shape, Table};

/// The mean over runs with its 90 % interval, in nanoseconds a half round trip: the time of the switching arm, its walks
/// included, over its hand-offs, as the paper's s1/20000.
#[derive(Clone, Copy, Debug)]
struct Mean {
    size: u64,
    low: f64,
    high: f64,
}

impl Mean {
    fn centre(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    fn relative_half_width(self) -> f64 {
        (self.high - self.low) / 2.0 / self.centre()
    }
}

/// Each size of a record; every cycle counts, disturbed or not: disturbance is what is looked for.
fn means(record: &MeasureRecord) -> Vec<Mean> {
    let ns_per_tick = 1e9 / record.header.clock.ticks_per_second.0 as f64;
    let cases = record.header.plan.cases.iter().enumerate();
    let mut means: Vec<Mean> = cases
        .filter(|(_, case)| !case.working_set.is_empty())
        .filter_map(|(number, case)| {
            let runs = runs(record, number as u32, ns_per_tick);
            mean(&runs, case.working_set.size_bytes.0)
        })
        .collect();
    means.sort_by_key(|mean| mean.size);
    means
}

/// Nanoseconds a hand-off in each repetition.
fn runs(record: &MeasureRecord, case: u32, ns_per_tick: f64) -> Vec<f64> {
    let mut sums: std::collections::BTreeMap<u32, (f64, f64)> = std::collections::BTreeMap::new();
    for window in record.cycles.iter().filter(|window| window.case == case) {
        let sum = sums.entry(window.repetition).or_default();
        for batch in window.batches.iter().filter(|batch| batch.arm == Arm::SwitchTotal) {
            sum.0 += (batch.handoff_ticks.0 as f64 + batch.walk_ticks.0 as f64) * ns_per_tick;
            sum.1 += f64::from(batch.handoffs);
        }
    }
    sums.into_values().filter(|(_, handoffs)| *handoffs > 0.0).map(|(ns, handoffs)| ns / handoffs).collect()
}

/// The t-interval of the mean at 90 %, as in the paper (t of 5 degrees of freedom: 2.015).
fn mean(runs: &[f64], size: u64) -> Option<Mean> {
    let n = runs.len() as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.95);
    let centre = runs.iter().sum::<f64>() / n;
    let variance = runs.iter().map(|run| (run - centre).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t * (variance / n).sqrt();
    Some(Mean { size, low: centre - half, high: centre + half })
}

fn found(records: &Records, setting: Setting) -> Result<Vec<Mean>, String> {
    let (record, _) = records.measured(&setting.step())?;
    let means = means(record);
    if means.len() == 3 { Ok(means) } else { Err(format!("{} of 3 sizes were measured", means.len())) }
}

fn published_setting(setting: Setting) -> (&'static str, &'static str) {
    let environment = if setting.is_noisy { "network interference" } else { "quiet" };
    (environment, if setting.is_isolated { "dual-processor" } else { "single-processor" })
}

const COLUMNS: [&str; 10] = [
    "environment",
    "setting",
    "size published",
    "published low",
    "published high",
    "published +-%",
    "size here",
    "here low us",
    "here high us",
    "here +-%",
];

pub(super) fn tables(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Tables 1 and 2", "90 % intervals of six runs, isolated or not, quiet or with noise");
    let mut table = Table::new(&COLUMNS);
    let published = li_tables();
    for setting in SETTINGS {
        let (environment, name) = published_setting(setting);
        let rows: Vec<&LiRow> =
            published.iter().filter(|row| row.environment == environment && row.setting == name).collect();
        let means = found(records, setting);
        for (place, row) in rows.iter().enumerate() {
            let half = (row.ci90_high - row.ci90_low) / (row.ci90_high + row.ci90_low) * 100.0;
            let mut cells: Vec<Cell> = vec![
                environment.into(),
                if setting.is_isolated { "isolated".into() } else { "not isolated".into() },
                format!("{} KB", row.array_kb).into(),
                Cell::number(row.ci90_low, 2),
                Cell::number(row.ci90_high, 2),
                Cell::number(half, 2),
            ];
            match &means {
                Ok(means) => {
                    let mean = means[place];
                    cells.extend([
                        Cell::Text(Bytes(mean.size).to_string()),
                        Cell::number(mean.low / 1e3, 2),
                        Cell::number(mean.high / 1e3, 2),
                        Cell::number(mean.relative_half_width() * 100.0, 2),
                    ]);
                }
                Err(why) => cells.extend((0..4).map(|_| Cell::Missing { why: why.clone() })),
            }
            table.row(cells);
        }
        exhibit.steps.push(setting.step());
    }
    exhibit.table = table;
    exhibit.claims = vec![steady(records), wider(records), shifted(records)];
    exhibit.notes = vec![
        "The paper prints no unit. Microseconds a half round trip, walks included, is the only reading that agrees with \
         its Figure 1, and is what stands here. Sizes are half, three quarters and all of the second level here as there."
            .into(),
        "Isolated: on the CPU with the fewest interrupts, with real-time priority; the noise is made on another CPU. Not \
         isolated: everything on that other CPU, without priority, which stands for the paper's machine of one \
         processor. The noise is bursts of messages over the loopback device with pauses of up to 200 ms; the paper's \
         came over a wire."
            .into(),
    ];
    exhibit
}

fn mean_width(means: &[Mean]) -> f64 {
    means.iter().map(|mean| mean.relative_half_width()).sum::<f64>() / means.len() as f64
}

const ISOLATED_NOISY: Setting = Setting { is_isolated: true, is_noisy: true };
const ISOLATED_QUIET: Setting = Setting { is_isolated: true, is_noisy: false };
const SHARED_NOISY: Setting = Setting { is_isolated: false, is_noisy: true };
const SHARED_QUIET: Setting = Setting { is_isolated: false, is_noisy: false };

fn both(records: &Records, a: Setting, b: Setting) -> Result<(Vec<Mean>, Vec<Mean>), String> {
    Ok((found(records, a)?, found(records, b)?))
}

/// Where a processor is shared with a hypervisor's guests, six runs may differ by more than the noise does to them.
const NEIGHBOURS: &str = "the two CPUs may be hardware threads of one core, so that noise on one slows the other; and other \
                          guests of the hypervisor widen intervals as the noise does: see the \
                          excluded samples of the records";

fn steady(records: &Records) -> Claim {
    let outcome = both(records, ISOLATED_QUIET, ISOLATED_NOISY).map(|(quiet, noisy)| {
        let (shift, ends) = shift(&quiet, &noisy);
        let found = format!(
            "half-widths {} quiet, {} with noise; means shift by {}",
            percent(mean_width(&quiet)),
            percent(mean_width(&noisy)),
            percent(shift)
        );
        (found, Shape::of_interval(ends, -0.05..0.05, NEIGHBOURS))
    });
    Claim::decided("Isolated: noise hardly changes the results (means within 5 %)", outcome)
}

/// Mean over the sizes of the relative change, and the ends that the intervals of the means leave possible.
fn shift(before: &[Mean], after: &[Mean]) -> (f64, (f64, f64)) {
    let mean = |ratio: fn(&Mean, &Mean) -> f64| {
        before.iter().zip(after).map(|(before, after)| ratio(before, after) - 1.0).sum::<f64>() / before.len() as f64
    };
    let ends = (mean(|before, after| after.low / before.high), mean(|before, after| after.high / before.low));
    (mean(|before, after| after.centre() / before.centre()), ends)
}

/// The 90 % interval of a ratio of two spreads, each of three sizes with six runs: by the F distribution of the variances.
fn spread_interval(ratio: f64) -> Option<(f64, f64)> {
    let factor = FisherSnedecor::new(FREEDOM, FREEDOM).ok()?.inverse_cdf(0.95).sqrt();
    Some((ratio / factor, ratio * factor))
}

/// Three sizes, five degrees of freedom each.
const FREEDOM: f64 = 15.0;

fn wider(records: &Records) -> Claim {
    let outcome = both(records, SHARED_QUIET, SHARED_NOISY).and_then(|(quiet, noisy)| {
        let ratio = mean_width(&noisy) / mean_width(&quiet);
        let found =
            format!("half-widths {} quiet, {} with noise", percent(mean_width(&quiet)), percent(mean_width(&noisy)));
        let ends = spread_interval(ratio).ok_or("the intervals have no length")?;
        Ok((found, Shape::of_interval(ends, 1.5..f64::INFINITY, NEIGHBOURS)))
    });
    Claim::decided("Not isolated: noise widens the intervals (2 to 7 times in the paper)", outcome)
}

fn shifted(records: &Records) -> Claim {
    let outcome = both(records, SHARED_QUIET, SHARED_NOISY).map(|(quiet, noisy)| {
        let (shift, ends) = shift(&quiet, &noisy);
        (format!("means shift by {}", percent(shift)), Shape::of_interval(ends, 0.02..f64::INFINITY, NEIGHBOURS))
    });
    Claim::decided("Not isolated: noise makes the results larger (by 14 % at 384 KB in the paper)", outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F(0.95; 15, 15) is 2.4034 in every table of it.
    #[test]
    fn spreads_of_six_runs_are_hardly_known() {
        let (low, high) = spread_interval(1.0).expect("degrees of freedom");
        assert!((high - 2.4034_f64.sqrt()).abs() < 1e-3 && (low * high - 1.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn a_shift_has_the_ends_that_both_intervals_allow() {
        let mean = |low, high| Mean { size: 1, low, high };
        let (shift, (low, high)) = shift(&[mean(90.0, 110.0)], &[mean(108.0, 132.0)]);
        assert!((shift - 0.2).abs() < 1e-9 && (low - (108.0 / 110.0 - 1.0)).abs() < 1e-9, "{shift} {low}");
        assert!((high - (132.0 / 90.0 - 1.0)).abs() < 1e-9, "{high}");
    }

    /// scipy.stats.t.interval(0.9, 5, mean, sem) of 10, 11, 12, 13, 14, 15.
    #[test]
    fn the_interval_is_that_of_students_t() {
        let found = mean(&[10.0, 11.0, 12.0, 13.0, 14.0, 15.0], 1).expect("six runs");
        assert!((found.low - 10.960_981).abs() < 1e-5 && (found.high - 14.039_019).abs() < 1e-5, "{found:?}");
        assert!(mean(&[1.0], 1).is_none());
    }
}
