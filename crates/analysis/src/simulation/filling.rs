//! Extrapolates the number of instructions after which a level would be full, from the growth of
//! the number of its lines.

use switchcost_design::result::{Detail, TraceFacts};

use super::findings::FULL_FROM;

/// Result of the extrapolation for a level that was not full at the end of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filling {
    /// The level would be full after this number of instructions.
    At(f64),
    /// The level would not become full: the number of its lines has not grown in the last part of
    /// the trace, or has grown too slowly.
    Never,
}

/// Largest multiple of the trace's length to which the growth is extrapolated.
const FARTHEST: f64 = 1000.0;

/// Latest position in the trace, as a share, of the earlier of the two points from which the growth
/// is computed.
const EARLIER: f64 = 0.6;

/// Extrapolates when a level would be full ([`FULL_FROM`] of its lines). The number of lines is
/// assumed to grow as a power of the instructions (Heaps's law), whose exponent comes from the last
/// part of the trace. `None` for a level that was full, for a part of a trace, and for a record
/// without the growth curve.
pub(crate) fn filling(
    detail: &Detail,
    trace: &TraceFacts,
    place: usize,
    lines: u64,
) -> Option<Filling> {
    let held = *detail.most_held.get(place)? as f64;
    let instructions = trace.instructions as f64;
    let wanted = FULL_FROM * lines as f64;
    if trace.part.is_some() || held >= wanted || held == 0.0 {
        return None;
    }
    let earlier = detail
        .fill_curve
        .iter()
        .rfind(|point| point.instructions as f64 <= EARLIER * instructions)?;
    let before = *earlier.most_held.get(place).filter(|before| **before > 0)? as f64;
    if before == held {
        return Some(Filling::Never);
    }
    let power = (held / before).ln() / (instructions / earlier.instructions as f64).ln();
    let times = (wanted / held).powf(1.0 / power);
    Some(if times <= FARTHEST {
        Filling::At(times * instructions)
    } else {
        Filling::Never
    })
}

#[cfg(test)]
mod tests {
    use switchcost_design::result::{FillPoint, TracePart};

    use super::super::testing::Run;
    use super::*;

    /// Makes the filling of a level of 4,000 lines, of which `before` were held after a million
    /// instructions, and `held` after four million.
    fn of(before: u64, held: u64) -> Option<Filling> {
        filling(&detail(before, held), &trace(), 0, 4000)
    }

    fn detail(before: u64, held: u64) -> Detail {
        let point = |instructions, most_held| FillPoint {
            instructions,
            most_held: vec![most_held],
        };
        let fill_curve = vec![point(1_000_000, before), point(3_000_000, held)];
        Detail {
            most_held: vec![held],
            fill_curve,
            ..Detail::default()
        }
    }

    fn trace() -> TraceFacts {
        TraceFacts {
            instructions: 4_000_000,
            ..Run::turns(&[0]).head.trace
        }
    }

    fn is_at(found: Option<Filling>, wanted: f64) -> bool {
        matches!(found, Some(Filling::At(found)) if (found / wanted - 1.0).abs() < 1e-9)
    }

    #[test]
    fn lines_that_come_as_a_power_of_the_instructions_fill_it_where_that_says() {
        // 3,000 lines are three quarters of the level.
        assert!(
            is_at(of(250, 1000), 12e6),
            "in proportion: {:?}",
            of(250, 1000)
        );
        assert!(
            is_at(of(500, 1000), 36e6),
            "as their square root: {:?}",
            of(500, 1000)
        );
    }

    #[test]
    fn a_level_that_grows_no_more_is_not_filled_by_more_of_the_same() {
        assert_eq!(of(1000, 1000), Some(Filling::Never));
        assert_eq!(
            of(990, 1000),
            Some(Filling::Never),
            "in 10^66 times as many"
        );
    }

    #[test]
    fn nothing_is_foretold_of_what_is_full_or_not_known() {
        assert_eq!((of(500, 3000), of(0, 0), of(0, 10)), (None, None, None));
        let older = Detail {
            fill_curve: Vec::new(),
            ..detail(250, 1000)
        };
        assert_eq!(filling(&older, &trace(), 0, 4000), None);
        let part = TraceFacts {
            part: Some(TracePart::default()),
            ..trace()
        };
        assert_eq!(filling(&detail(250, 1000), &part, 0, 4000), None);
    }
}
