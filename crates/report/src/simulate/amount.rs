//! Formats numbers of cycles and other results of simulations.

use switchcost_analysis::simulation::{Cost, LevelFinding};
use switchcost_design::result::PrivateBy;

use crate::quantity::{NO_NUMBER, range, rounded, share, time};

/// Formats a number with three significant digits; a placeholder for `None`.
pub(super) fn perhaps(value: Option<f64>) -> String {
    value.map_or(NO_NUMBER.to_owned(), rounded)
}

/// Form in which a simulated cost is shown.
enum Shown {
    /// The estimate without its interval, because the interval does not cover 0 or is unknown.
    Centre(f64),
    /// Exactly 0.
    Nothing,
    /// An upper limit, because the interval covers 0 and the centre is above 0.
    LessThan(f64),
    /// The interval instead of a cost, because the interval covers 0 and the centre is below 0.
    EitherWay,
}

fn reported(cost: &Cost) -> Option<Shown> {
    let estimate = cost.estimate?;
    Some(match cost.interval {
        Some((0.0, 0.0)) => Shown::Nothing,
        Some(_) if cost.is_covering_zero() && estimate < 0.0 => Shown::EitherWay,
        Some((_, high)) if cost.is_covering_zero() => Shown::LessThan(high),
        _ => Shown::Centre(estimate),
    })
}

/// Formats a cost in cycles as its centre, or as its upper limit if the interval covers 0.
pub(super) fn with_bound(cost: &Cost) -> String {
    match reported(cost) {
        None => NO_NUMBER.to_owned(),
        Some(Shown::Nothing) => rounded(0.0),
        Some(Shown::LessThan(high)) => format!("< {}", rounded(high)),
        Some(Shown::EitherWay) => "covers 0".to_owned(),
        Some(Shown::Centre(estimate)) => rounded(estimate),
    }
}

/// Formats a cost in cycles like [`with_bound`]; empty if it was not counted.
pub(super) fn known(cost: &Cost) -> String {
    cost.estimate.map(|_| with_bound(cost)).unwrap_or_default()
}

/// Returns the singular for the owner of a private hierarchy: `process` or `task`.
pub(super) fn one(private_by: PrivateBy) -> &'static str {
    match private_by {
        PrivateBy::Process => "process",
        PrivateBy::Task => "task",
    }
}

/// Returns the plural for the owners of private hierarchies: `processes` or `tasks`.
pub(super) fn ones(private_by: PrivateBy) -> &'static str {
    match private_by {
        PrivateBy::Process => "processes",
        PrivateBy::Task => "tasks",
    }
}

/// Formats a cost in cycles with the ends of its interval, or as its upper limit. The notes say why
/// a cost has no interval.
pub(super) fn cycles(cost: &Cost) -> String {
    match reported(cost) {
        None => format!("{} cycles (no interval)", perhaps(None)),
        Some(Shown::Nothing) => "0 cycles".to_owned(),
        Some(Shown::LessThan(high)) => format!("less than {} cycles", rounded(high)),
        Some(Shown::EitherWay) => format!("about 0 cycles ({})", ends(cost)),
        Some(Shown::Centre(estimate)) if cost.interval.is_some() => {
            format!("{} cycles ({})", rounded(estimate), ends(cost))
        }
        Some(Shown::Centre(estimate)) => format!("{} cycles (no interval)", rounded(estimate)),
    }
}

/// Formats the ends of a cost's interval in cycles; empty if there is no interval.
pub(super) fn ends(cost: &Cost) -> String {
    cost.interval
        .map(|ends| range(ends, rounded))
        .unwrap_or_default()
}

/// Formats the largest share of a level's lines that the trace filled.
pub(super) fn filled(level: &LevelFinding) -> String {
    share(level.filled())
}

/// Formats cycles as time, given the least and the largest time of a cycle in ns: `412 us`, `49.0
/// us to 98.0 us`; empty if a cycle's time is unknown.
pub(super) fn as_time(cycles: f64, cycle_ns: Option<[f64; 2]>) -> String {
    match cycle_ns {
        None => String::new(),
        Some([short, long]) if short == long => time(cycles * short),
        Some([short, long]) => range((cycles * short, cycles * long), time),
    }
}

/// Returns a note on what the simulated time omits on a core that overlaps loads and prefetches;
/// `None` if no design has a known clock of at least 1 GHz. The ratios were measured with arrays.
pub(super) fn time_note(
    cycles: impl IntoIterator<Item = Option<[f64; 2]>>,
) -> Option<&'static str> {
    cycles.into_iter().flatten().any(|[_, long]| long <= 1.0).then_some(
        "time: assumes that misses do not overlap; page walks through caches, mixed page sizes and hashed slices are not \
         modelled. On one \
         server, measured reloads took 1/2.7 of this time to all of it for pointer chases, and 1/120 to 1/30 for data that \
         the hardware prefetches",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::count;

    #[test]
    fn what_may_be_nothing_has_a_bound() {
        for (estimate, interval, text, bound) in [
            (
                5000.0,
                Some((4000.0, 6000.0)),
                "5,000 cycles (4,000 to 6,000)",
                "5,000",
            ),
            (
                5000.0,
                Some((-1.0, 9000.0)),
                "less than 9,000 cycles",
                "< 9,000",
            ),
            // What is exactly nothing is 0.
            (0.0, Some((0.0, 0.0)), "0 cycles", "0"),
            (0.0, None, "0 cycles (no interval)", "0"),
            // A likely gain is no upper limit of a cost: "less than 1,650" would suggest a cost.
            (
                -6800.0,
                Some((-15_250.0, 1650.0)),
                "about 0 cycles (-15,200 to 1,650)",
                "covers 0",
            ),
        ] {
            let cost = Cost {
                estimate: Some(estimate),
                interval,
                ..Cost::default()
            };
            assert_eq!((&cycles(&cost)[..], &with_bound(&cost)[..]), (text, bound));
        }
    }

    #[test]
    fn only_cores_of_today_overlap() {
        assert!(time_note([None, Some([0.27, 0.5])]).is_some());
        assert!(time_note([None, Some([20.0, 40.0])]).is_none());
    }

    #[test]
    fn numbers_have_three_digits_and_commas() {
        for (value, text) in [
            (0.0, "0"),
            (186.4, "186"),
            (999.6, "1,000"),
            (10_342.0, "10,300"),
            (-10_342.0, "-10,300"),
            (1_234_567.0, "1,230,000"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(rounded(value), text);
        }
        assert_eq!(
            (count(0), count(1000), count(u64::MAX)),
            (
                "0".into(),
                "1,000".into(),
                "18,446,744,073,709,551,615".into()
            )
        );
    }

    #[test]
    fn shares_are_percentages() {
        let texts = [0.0, 0.00001, 0.0051, 0.0714, 0.5, -0.02].map(share);
        assert_eq!(
            texts,
            ["0 %", "<0.01 %", "0.51 %", "7.1 %", "50 %", "-2.0 %"]
        );
        assert_eq!(share(None), "-");
    }

    #[test]
    fn times_follow_the_design() {
        assert_eq!(as_time(10_300.0, Some([40.0, 40.0])), "412 us");
        assert_eq!(as_time(24_500.0, Some([2.0, 4.0])), "49.0 us to 98.0 us");
        assert_eq!(as_time(1.0, None), "");
    }
}
